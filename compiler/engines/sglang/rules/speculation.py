"""Rules of the draft model and its block: DFlash, DDTree, which rides on it, and DSpark; what is DSpark's alone is in `dspark`.

Sources: 0.5.11 server_args.py, lines 3311-3438; 0.5.16 to 0.5.23 arg_groups/speculative_hook.py, `_handle_dspark`.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.given import ALGORITHM, given_by
from compiler.engines.sglang.rules.places import at, caution, labels, line, refusal
from compiler.engines.sglang.speculation import (
    BLOCK_DRAFTED,
    BLOCK_FLAGS,
    DSPARK,
    algorithm_name,
    draft_width,
    drafts_blocks,
    own_stages,
)
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Speculative
from compiler.quantities import counted
from compiler.rules import rule


def _blocks(plan: Plan) -> Speculative | None:
    """The speculation settings when they are of the DFlash family."""
    return plan.profile.speculative if drafts_blocks(plan.profile) else None


@rule("draft-pipeline", flags=(ALGORITHM,))
def no_pipeline(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Speculation needs all layers of the target in one pipeline stage.

    DFlash: 0.5.11 to 0.5.23. The others: `check_server_args` from 0.4.6.post5; from 0.5.20 (validation_hook.py) EAGLE runs on
    servers that only prefill, and by `SGLANG_ENABLE_PP_SPEC`. DSpark: 0.5.16 to 0.5.20, and later on servers that do not only
    prefill.
    """
    given, speculative = given_by(plan), plan.profile.speculative
    stages = plan.profile.parallel.pipeline
    if speculative is None or stages == 1:
        return
    prefills = given.word("disaggregation-mode") == "prefill"
    staged = prefills or given.switched_on("SGLANG_ENABLE_PP_SPEC")
    if speculative.algorithm in {"eagle", "nextn"} and not given.before("0.5.20") and staged:
        return
    if speculative.algorithm == DSPARK and not given.before("0.5.21") and prefills:
        return
    name = algorithm_name(speculative)
    yield refusal(
        given,
        "draft-pipeline",
        f"{name} runs with pipeline parallel size 1 only, not {stages}",
        at(
            given,
            where,
            "parallel.pipeline",
            text=f"{stages} stages",
            beside={"speculative.algorithm": "needs one stage"},
        ),
        help=(
            f"set `parallel.pipeline = 1` and `parallel.tensor = {plan.profile.parallel.tensor * stages}`",
        ),
    )


_ATTENTION_SINCE = {"standalone": "0.5.2", "ngram": "0.5.3"}


@rule("draft-dp-attention", flags=(ALGORITHM,))
def no_dp_attention(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Some drafts do not run with data parallel attention, which the server drops where data parallel size is 1.

    DFlash: refused 0.5.11 to 0.5.22, and 0.5.23 wants a data parallel head, as DSpark always does; STANDALONE: from 0.5.2;
    NGRAM: from 0.5.3 (server_args.py, from 0.5.13 speculative_hook.py).
    """
    given, speculative, parallel = given_by(plan), plan.profile.speculative, plan.profile.parallel
    if speculative is None or not parallel.dp_attention or parallel.data == 1:
        return
    block = speculative.algorithm in BLOCK_DRAFTED
    head = block and (speculative.algorithm == DSPARK or not given.before("0.5.23"))
    since = _ATTENTION_SINCE.get(speculative.algorithm)
    refused = block or (since is not None and given.since(since))
    if not refused or (head and given.on("enable-dp-lm-head")):
        return
    yield refusal(
        given,
        "draft-dp-attention",
        f"{algorithm_name(speculative)} does not run with data parallel attention"
        + (" without a data parallel head" if head else ""),
        at(
            given,
            where,
            "parallel.dp_attention",
            text="data parallel attention",
            beside={"speculative.algorithm": "does not support it"},
        ),
        help=(
            *(("set `enable-dp-lm-head = true` under `[flags]`",) if head else ()),
            "set `parallel.dp_attention = false` and `parallel.data = 1`",
            "or leave `[speculative]` out",
        ),
    )


@rule("draft-block-size", flags=(ALGORITHM,))
def block_size(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The block must be one the draft was trained for; more draws from untrained positions."""
    speculative = _blocks(plan)
    if speculative is None:
        return
    trained = plan.draft or own_stages(plan.profile, plan.draft, plan.model)
    block, planned = speculative.block_size, draft_width(plan.profile, trained)
    tokens = given_by(plan).whole("speculative-num-draft-tokens")
    more = 1 if speculative.algorithm == DSPARK else 0
    told = block is not None or trained is not None
    stops = block is not None or more == 1
    if tokens is not None and told and tokens != planned + more:
        must = (
            f"with the token before the block they are {planned + 1}"
            if more
            else "they must be the same"
        )
        yield (error if stops else warning)(
            "draft-block-size",
            f"the block size is {planned} and `--speculative-num-draft-tokens` is {tokens}; {must}",
            where.primary("flags.speculative-num-draft-tokens", text=counted(tokens, "token")),
            secondary=labels(where, speculative__block_size=f"a block of {planned}"),
            notes=(
                "the server refuses to start"
                if stops
                else f"the server takes the flag, with a warning in its log; the draft was made for {planned}",
            ),
            help=(
                f"set `speculative-num-draft-tokens = {planned + more}`",
                f"or leave `speculative-num-draft-tokens = {tokens}` out: the block sets it",
            ),
            path="speculative.block_size",
        )
    if block is not None and trained is not None and block != trained.block_size:
        yield warning(
            "draft-block-size",
            f"the block size is {block}, the draft was made for {trained.block_size}",
            where.primary("speculative.block_size", text=f"a block of {block}"),
            notes=(
                "the server starts with a warning; drafts beyond the trained block are seldom accepted",
            ),
            help=(f"set `speculative.block_size = {trained.block_size}`",),
            path="speculative.block_size",
        )


@rule("setting-ineffective", flags=BLOCK_FLAGS)
def block_of_another(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each algorithm that drafts a block has a flag of its own for it, and no other algorithm has one (0.5.16 to 0.5.23)."""
    given, asked = given_by(plan), plan.profile.speculative
    if asked is None:
        return
    own = next((name for name, read in BLOCK_FLAGS.items() if asked.algorithm in read), None)
    for name in BLOCK_FLAGS:
        if name == own or given.value(name) is None:
            continue
        leave = f"leave {line(given, name)} out"
        yield caution(
            "setting-ineffective",
            f"`--{name}` does nothing with {algorithm_name(asked)}",
            at(
                given,
                where,
                name,
                text="without effect",
                beside={"speculative.algorithm": "does not read it"},
            ),
            because="the server takes the flag and does not use it"
            + ("" if own is None else f"; {algorithm_name(asked)} reads `--{own}`"),
            help=(f"set `speculative.block_size = {given.whole(name)}` in its place", f"or {leave}")
            if own is not None and given.value(own) is None
            else (leave,),
        )


@rule("draft-window", flags=(ALGORITHM,))
def window(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The draft's window must hold at least one block."""
    speculative = _blocks(plan)
    if speculative is None or speculative.draft_window is None:
        return
    if speculative.algorithm == DSPARK:
        return  # it has no such window
    block = draft_width(plan.profile, plan.draft)
    if speculative.draft_window >= block:
        return
    yield error(
        "draft-window",
        f"the draft's window of {counted(speculative.draft_window, 'token')} is smaller than its block of {block}",
        where.primary("speculative.draft_window", text=counted(speculative.draft_window, "token")),
        secondary=labels(where, speculative__block_size=f"a block of {block}"),
        notes=("the server refuses to start",),
        help=(f"set `speculative.draft_window = {block}` or more",),
        path="speculative.draft_window",
    )


@rule("draft-heads", flags=(ALGORITHM,))
def draft_heads(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The draft's heads must divide over the tensor parallel ranks, or its KV heads be copied evenly."""
    draft, speculative, parallel = plan.draft, _blocks(plan), plan.profile.parallel
    if speculative is None or draft is None:
        return
    # DSpark's draft runs on the ranks of one replica (`_draft_context` of its worker).
    replicas = parallel.data if parallel.dp_attention and speculative.algorithm == DSPARK else 1
    ranks = max(1, parallel.tensor // replicas)
    heads, kv_heads = draft.heads, draft.attention.kv_heads
    if heads % ranks == 0 and (kv_heads % ranks == 0 or ranks % kv_heads == 0):
        return
    yield error(
        "draft-heads",
        f"the draft's {counted(heads, 'head')} and {counted(kv_heads, 'KV head')} do not divide over {ranks} tensor parallel ranks",
        where.primary("parallel.tensor", text=f"{ranks} ranks"),
        secondary=labels(
            where, speculative__draft=f"{counted(heads, 'head')}, {counted(kv_heads, 'KV head')}"
        ),
        notes=("the draft's layers stop with an assertion while loading",),
        help=("choose a tensor parallel size that divides both, or is a multiple of the KV heads",),
        path="parallel.tensor",
    )


@rule("draft-target", flags=(ALGORITHM,))
def draft_target(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A draft reads hidden states of the model it was trained on."""
    draft = plan.draft
    if _blocks(plan) is None or draft is None or not draft.targets:
        return
    if plan.profile.model.id in draft.targets:
        return
    yield warning(
        "draft-target",
        f"the draft `{draft.id}` was made for {', '.join(f'`{each}`' for each in draft.targets)}",
        where.primary("speculative.draft", text="this draft"),
        secondary=labels(where, model__id="serves this model"),
        notes=(
            "with another target few drafted tokens are accepted, and shapes may not fit at all",
        ),
        help=("use the draft of this model",),
        path="speculative.draft",
    )
