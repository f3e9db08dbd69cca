"""Rules of DFlash and of DDTree, which rides on it (SGLang 0.5.11 server_args.py, lines 3311-3438)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.rules.places import labels
from compiler.engines.sglang.speculation import TREE, draft_width, drafts_blocks
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Speculative
from compiler.rules import rule


def _blocks(plan: Plan) -> Speculative | None:
    """The speculation settings when they are of the DFlash family."""
    return plan.profile.speculative if drafts_blocks(plan.profile) else None


def _name(speculative: Speculative) -> str:
    return "DDTree" if speculative.algorithm == TREE else "DFlash"


@rule("draft-path-missing")
def needs_a_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """DFlash does not start without a draft model."""
    speculative = _blocks(plan)
    if speculative is None or speculative.draft or speculative.draft_path:
        return
    yield error(
        "draft-path-missing",
        f"{_name(speculative)} needs a draft model",
        where.primary("speculative.algorithm", text="drafts with a model of its own"),
        notes=("the server refuses to start without `--speculative-draft-model-path`",),
        help=(
            "set `speculative.draft` to the draft's id, and `speculative.draft_path` to its directory",
        ),
        path="speculative.draft",
    )


@rule("draft-pipeline")
def no_pipeline(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """DFlash needs all layers of the target in one pipeline stage."""
    speculative = _blocks(plan)
    stages = plan.profile.parallel.pipeline
    if speculative is None or stages == 1:
        return
    yield error(
        "draft-pipeline",
        f"{_name(speculative)} runs with pipeline parallel size 1 only, not {stages}",
        where.primary("parallel.pipeline", text=f"{stages} stages"),
        secondary=labels(where, speculative__algorithm="needs one stage"),
        notes=("the server refuses to start",),
        help=(
            f"set `parallel.pipeline = 1` and `parallel.tensor = {plan.profile.parallel.tensor * stages}`",
        ),
        path="parallel.pipeline",
    )


@rule("draft-dp-attention")
def no_dp_attention(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """DFlash does not run with data parallel attention; the server drops the latter where data parallel size is 1."""
    speculative, parallel = _blocks(plan), plan.profile.parallel
    if speculative is None or not parallel.dp_attention or parallel.data == 1:
        return
    yield error(
        "draft-dp-attention",
        f"{_name(speculative)} does not run with data parallel attention",
        where.primary("parallel.dp_attention", text="data parallel attention"),
        secondary=labels(where, speculative__algorithm="does not support it"),
        notes=("the server refuses to start",),
        help=(
            "set `parallel.dp_attention = false` and `parallel.data = 1`",
            "or leave `[speculative]` out",
        ),
        path="parallel.dp_attention",
    )


@rule("draft-block-size")
def block_size(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The block must be one the draft was trained for; more draws from untrained positions."""
    speculative = _blocks(plan)
    if speculative is None:
        return
    block, planned = speculative.block_size, draft_width(plan.profile, plan.draft)
    tokens = plan.profile.flags.get("speculative-num-draft-tokens")
    if isinstance(tokens, int) and tokens != planned:
        yield error(
            "draft-block-size",
            f"the block size is {planned} and `--speculative-num-draft-tokens` is {tokens}; they must be the same",
            where.primary("flags.speculative-num-draft-tokens", text=f"{tokens} tokens"),
            secondary=labels(where, speculative__block_size=f"a block of {planned}"),
            notes=(
                "the server refuses to start"
                if block is not None
                else "the plan takes the draft's own block size, and the server would take the flag",
            ),
            help=("remove the flag, and set `speculative.block_size`: it sets both",),
            path="speculative.block_size",
        )
    if block is not None and plan.draft is not None and block != plan.draft.block_size:
        yield warning(
            "draft-block-size",
            f"the block size is {block}, the draft was made for {plan.draft.block_size}",
            where.primary("speculative.block_size", text=f"a block of {block}"),
            notes=(
                "the server starts with a warning; drafts beyond the trained block are seldom accepted",
            ),
            help=(f"set `speculative.block_size = {plan.draft.block_size}`",),
            path="speculative.block_size",
        )


@rule("draft-window")
def window(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The draft's window must hold at least one block."""
    speculative = _blocks(plan)
    if speculative is None or speculative.draft_window is None:
        return
    block = draft_width(plan.profile, plan.draft)
    if speculative.draft_window >= block:
        return
    yield error(
        "draft-window",
        f"the draft's window of {speculative.draft_window} tokens is smaller than its block of {block}",
        where.primary("speculative.draft_window", text=f"{speculative.draft_window} tokens"),
        secondary=labels(where, speculative__block_size=f"a block of {block}"),
        notes=("the server refuses to start",),
        help=(f"set `speculative.draft_window` to {block} or more",),
        path="speculative.draft_window",
    )


@rule("draft-heads")
def draft_heads(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The draft's heads must divide over the tensor parallel ranks, or its KV heads be copied evenly."""
    draft, ranks = plan.draft, plan.profile.parallel.tensor
    if _blocks(plan) is None or draft is None:
        return
    heads, kv_heads = draft.heads, draft.attention.kv_heads
    if heads % ranks == 0 and (kv_heads % ranks == 0 or ranks % kv_heads == 0):
        return
    yield error(
        "draft-heads",
        f"the draft's {heads} heads and {kv_heads} KV heads do not divide over {ranks} tensor parallel ranks",
        where.primary("parallel.tensor", text=f"{ranks} ranks"),
        secondary=labels(where, speculative__draft=f"{heads} heads, {kv_heads} KV heads"),
        notes=("the draft's layers stop with an assertion while loading",),
        help=("choose a tensor parallel size that divides both, or is a multiple of the KV heads",),
        path="parallel.tensor",
    )


@rule("draft-target")
def draft_target(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A draft reads hidden states of the model it was trained on."""
    draft = plan.draft
    if _blocks(plan) is None or draft is None or plan.profile.model.id in draft.targets:
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
