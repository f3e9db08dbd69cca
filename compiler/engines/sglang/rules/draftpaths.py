"""Rules of where a draft comes from: an algorithm that needs one, and none named.

Sources: 0.5.11 server_args.py, lines 3311-3438; 0.5.13 to 0.5.23 arg_groups/speculative_hook.py. What DSpark's checkpoint may
bring is in `dspark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.draftlimits import names_another
from compiler.engines.sglang.given import ALGORITHM
from compiler.engines.sglang.speculation import (
    DSPARK,
    STEPWISE,
    algorithm_name,
    drafts_blocks,
)
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


@rule("draft-path-missing", flags=(ALGORITHM,))
def needs_a_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """DFlash does not start without a draft model."""
    speculative = plan.profile.speculative
    if speculative is None or not drafts_blocks(plan.profile):
        return
    if speculative.draft or speculative.draft_path:
        return
    if speculative.algorithm == DSPARK:
        return  # the checkpoint may bring it: `stages_or_a_draft`
    yield _without_a_draft(
        error,
        f"{algorithm_name(speculative)} needs a draft model",
        where,
        because="the server refuses to start without `--speculative-draft-model-path`",
    )


@rule("draft-path-missing", flags=(ALGORITHM,))
def drafts_with_the_target(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """What drafts token by token takes the target itself for a draft where none is named, and it has no layers that draft.

    0.5.16 to 0.5.23: managers/tp_worker.py gives the draft's path, which is `None`, or is set to the target's own
    (`_handle_eagle_family`), to configs/model_config.py, `from_server_args`, which takes `model_path` in its place.
    """
    speculative = plan.profile.speculative
    if speculative is None or speculative.algorithm not in STEPWISE or names_another(plan.profile):
        return
    own = speculative.algorithm in _BY_LAYERS
    if own and (plan.model is None or plan.model.nextn is not None):
        return
    yield _without_a_draft(
        warning,
        f"{algorithm_name(speculative)} needs a draft model"
        + (", and this model has no extra layers that draft" if own else ""),
        where,
        because="without the path of another in `--speculative-draft-model-path` the server loads the target once more as its own draft, and stops, or drafts no faster than the target runs",
    )


_BY_LAYERS = frozenset({"eagle", "nextn"})
"""The algorithms that extra layers of the model itself draft for."""


def _without_a_draft(
    make: Callable[..., Diagnostic], summary: str, where: Origins, *, because: str
) -> Diagnostic:
    return make(
        "draft-path-missing",
        summary,
        where.primary("speculative.algorithm", text="drafts with a model of its own"),
        notes=(because,),
        help=(
            "set `speculative.draft` to the draft's id, and `speculative.draft_path` to its directory",
        ),
        path="speculative.draft",
    )
