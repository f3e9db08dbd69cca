"""Rules of DSpark alone: where its draft comes from, what data parallel attention takes, and how wide a block states hold.

Sources: 0.5.16 to 0.5.23 arg_groups/speculative_hook.py, `_handle_dspark`, and speculative/dspark_components/dspark_worker_v2.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.given import ALGORITHM, given_by
from compiler.engines.sglang.rules.places import at, caution, refusal
from compiler.engines.sglang.speculation import DSPARK, draft_width, own_stages
from compiler.facts import Compressed, Stages
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


def _stages(plan: Plan) -> Stages | None:
    return own_stages(plan.profile, plan.draft, plan.model)


def _asked(plan: Plan) -> bool:
    return plan.profile.speculative is not None and plan.profile.speculative.algorithm == DSPARK


# From here on it also looks for a folder `dspark` in the checkpoint (`_target_checkpoint_dspark_subfolder`).
_LOOKS_SINCE = "0.5.23"


@rule("draft-path-missing", flags=(ALGORITHM,))
def stages_or_a_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Without stages in the checkpoint DSpark does not start unless a draft is named."""
    asked = plan.profile.speculative
    if asked is None or not _asked(plan) or asked.draft or asked.draft_path:
        return
    if plan.model is None or _stages(plan) is not None:
        return
    given = given_by(plan)
    looks = not given.before(_LOOKS_SINCE)
    yield (warning if looks else error)(
        "draft-path-missing",
        "DSpark needs a draft model, and this checkpoint brings none",
        where.primary("speculative.algorithm", text="drafts with a model of its own"),
        notes=(
            "the server refuses to start without `--speculative-draft-model-path`"
            + (", unless the checkpoint has a folder `dspark`" if looks else ""),
        ),
        help=(
            "set `speculative.draft` to the draft's id, and `speculative.draft_path` to its directory",
        ),
        path="speculative.draft",
    )


@rule("draft-dp-attention", flags=(ALGORITHM,))
def stages_on_one_rank(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Stages of experts draft with data parallel attention only where each rank has an attention of its own (0.5.16 to 0.5.23)."""
    given, parallel = given_by(plan), plan.profile.parallel
    if not parallel.dp_attention or parallel.data in {1, parallel.tensor}:
        return
    if not _asked(plan) or _stages(plan) is None:
        return
    yield refusal(
        given,
        "draft-dp-attention",
        f"DSpark's stages do not draft on the {parallel.tensor // parallel.data} ranks that share one attention",
        at(
            given,
            where,
            "parallel.data",
            text=counted(parallel.data, "replica"),
            beside={"parallel.tensor": f"{parallel.tensor} ranks"},
        ),
        help=(
            f"set `parallel.data = {parallel.tensor}`",
            "or `parallel.dp_attention = false` and `parallel.data = 1`",
        ),
    )


# What a ring of 16 tokens holds beside two groups of 4 (0.5.18 mem_cache/deepseek_v4_memory_pool.py,
# `get_compress_state_write_pad`; `_assert_ring_serves_draft_tokens` of the pool's configurator, 0.5.18 to 0.5.23).
_MOST_VERIFIED, _RATIO, _HELD_SINCE = 10, 4, "0.5.18"


@rule("draft-block-size", flags=(ALGORITHM,))
def states_hold_the_block(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The states of attention that compresses over time hold ten drafted tokens."""
    given, model = given_by(plan), plan.model
    if model is None or not isinstance(model.attention, Compressed) or not _asked(plan):
        return
    verified = 1 + draft_width(plan.profile, _stages(plan))
    if verified <= _MOST_VERIFIED or _RATIO not in model.attention.ratios:
        return
    if given.before(_HELD_SINCE):
        return
    yield refusal(
        given,
        "draft-block-size",
        f"{verified} tokens are verified at once, and the states of compressed attention hold {_MOST_VERIFIED}",
        at(
            given,
            where,
            "speculative.block_size",
            text="and the token before the block",
        ),
        because="the server stops with an assertion when it sizes its pool",
        help=(f"set `speculative.block_size` to {_MOST_VERIFIED - 1} or less",),
    )


@rule("setting-ineffective", flags=(ALGORITHM,))
def no_window_of_its_own(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A window of the draft is one of DFlash and EAGLE3 (0.5.16 to 0.5.23, `handle_speculative_decoding`: a warning)."""
    asked, given = plan.profile.speculative, given_by(plan)
    if asked is None or not _asked(plan) or asked.draft_window is None:
        return
    yield caution(
        "setting-ineffective",
        "`speculative.draft_window` does nothing with DSpark",
        at(given, where, "speculative.draft_window", text="without effect"),
        because="the server takes the flag and does not use it; a draft of DSpark has the windows that its config says",
        help=("leave `speculative.draft_window` out",),
    )
