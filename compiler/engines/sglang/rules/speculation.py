"""Rules of DFlash and of DDTree, which rides on it (SGLang 0.5.11 server_args.py, lines 3311-3438)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.diagnostics import Diagnostic, Label, error, warning
from compiler.engines.sglang.launch import TREE, draft_width, drafts_blocks
from compiler.rules import rule


if TYPE_CHECKING:
    from collections.abc import Iterator

    from compiler.origins import Origins
    from compiler.plan import Plan
    from compiler.profile import Speculative


def _blocks(plan: Plan) -> Speculative | None:
    """The speculation settings when they are of the DFlash family."""
    return plan.profile.speculative if drafts_blocks(plan.profile) else None


def _name(speculative: Speculative) -> str:
    return "DDTree" if speculative.algorithm == TREE else "DFlash"


def _labels(where: Origins, **texts: str) -> tuple[Label, ...]:
    found = (where.label(setting.replace("__", "."), text) for setting, text in texts.items())
    return tuple(label for label in found if label is not None)


@rule("ddtree-needs-build")
def tree_needs_a_build(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """No release has DDTree: it takes a build that adds it."""
    speculative = plan.profile.speculative
    if speculative is None or speculative.algorithm != TREE:
        return
    build = plan.release.build if plan.release else None
    if build is not None and TREE in build.algorithms:
        return
    engine = plan.profile.engine
    named = f"the build `{engine.build}` does not add it" if build else "no release has it"
    yield error(
        "ddtree-needs-build",
        f"{engine.name} {engine.version} does not know the algorithm `ddtree`",
        where.primary("speculative.algorithm", text=named),
        secondary=_labels(where, engine__version="this release"),
        notes=("the server would stop at once: its parser refuses the value",),
        help=(
            'set `engine.build = "ddtree"` and install that build',
            'or set `speculative.algorithm = "dflash"`, and unset `speculative.tree_budget` and `speculative.tree_topk`',
        ),
        path="speculative.algorithm",
    )


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
        secondary=_labels(where, speculative__algorithm="needs one stage"),
        notes=("the server refuses to start",),
        help=(
            f"set `parallel.pipeline = 1` and `parallel.tensor = {plan.profile.parallel.tensor * stages}`",
        ),
        path="parallel.pipeline",
    )


@rule("draft-dp-attention")
def no_dp_attention(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """DFlash does not run with data parallel attention in the releases whose rules we have."""
    speculative = _blocks(plan)
    if speculative is None or not plan.profile.parallel.dp_attention:
        return
    yield error(
        "draft-dp-attention",
        f"{_name(speculative)} does not run with data parallel attention",
        where.primary("parallel.dp_attention", text="data parallel attention"),
        secondary=_labels(where, speculative__algorithm="does not support it"),
        notes=("the server refuses to start",),
        help=("set `parallel.dp_attention = false`", "or leave `[speculative]` out"),
        path="parallel.dp_attention",
    )


@rule("draft-block-size")
def block_size(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The block must be one the draft was trained for; more draws from untrained positions."""
    speculative = _blocks(plan)
    if speculative is None:
        return
    block = speculative.block_size
    tokens = plan.profile.flags.get("speculative-num-draft-tokens")
    if block is not None and isinstance(tokens, int) and tokens != block:
        yield error(
            "draft-block-size",
            f"the block size is {block} and `--speculative-num-draft-tokens` is {tokens}; they must be the same",
            where.primary("flags.speculative-num-draft-tokens", text=f"{tokens} tokens"),
            secondary=_labels(where, speculative__block_size=f"a block of {block}"),
            notes=("the server refuses to start",),
            help=("remove the flag: the block size sets both",),
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
        secondary=_labels(where, speculative__block_size=f"a block of {block}"),
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
        secondary=_labels(where, speculative__draft=f"{heads} heads, {kv_heads} KV heads"),
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
        secondary=_labels(where, model__id="serves this model"),
        notes=(
            "with another target few drafted tokens are accepted, and shapes may not fit at all",
        ),
        help=("use the draft of this model",),
        path="speculative.draft",
    )


@rule("draft-page-size")
def page_size(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A build may run its tree with one page size and one attention backend only."""
    speculative = plan.profile.speculative
    build = plan.release.build if plan.release else None
    if speculative is None or build is None or speculative.algorithm not in build.algorithms:
        return
    needed, page = build.needs.get("page_size"), plan.profile.memory.page_size or 1
    if needed is None or str(page) == needed:
        return
    yield error(
        "draft-page-size",
        f"{_name(speculative)} of the build `{build.id}` needs page size {needed}, not {page}",
        where.primary("memory.page_size", text=f"pages of {page} tokens"),
        secondary=_labels(where, speculative__algorithm="its tree is stored token by token"),
        help=(f"set `memory.page_size = {needed}`, or unset it",),
        path="memory.page_size",
    )


@rule("draft-backend")
def backend(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A build may run its tree with one attention backend only."""
    speculative = plan.profile.speculative
    build = plan.release.build if plan.release else None
    if speculative is None or build is None or speculative.algorithm not in build.algorithms:
        return
    needed, chosen = build.needs.get("attention_backend"), plan.attention_backend
    if needed is None or chosen in (None, needed):
        return
    yield error(
        "draft-backend",
        f"{_name(speculative)} of the build `{build.id}` needs the attention backend `{needed}`, not `{chosen}`",
        where.primary("engine.attention_backend", "gpus.kind", text=f"gives `{chosen}`"),
        secondary=_labels(where, speculative__algorithm=f"needs `{needed}`"),
        help=(f'set `engine.attention_backend = "{needed}"`',),
        path="engine.attention_backend",
    )


@rule("tree-budget", "tree-topk")
def tree(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A tree cannot have more nodes than its depth and its children allow, nor more children than nodes."""
    speculative = plan.profile.speculative
    if speculative is None:
        return
    if speculative.algorithm != TREE:
        yield from _tree_without_tree(speculative, where)
        return
    depth = draft_width(plan.profile, plan.draft) - 1
    budget, topk = speculative.tree_budget or depth, speculative.tree_topk
    most = _most_nodes(depth=depth, topk=topk) if topk else None
    if most is not None and budget > most:
        yield error(
            "tree-budget",
            f"a tree of depth {depth} with at most {topk} children a node has {most:,} nodes, fewer than the budget of {budget:,}",
            where.primary("speculative.tree_budget", text=f"{budget:,} nodes"),
            secondary=_labels(
                where,
                speculative__tree_topk=f"{topk} children a node",
                speculative__block_size=f"{depth} levels below the root",
            ),
            notes=("the verify step would be padded with nodes that cannot exist",),
            help=(f"set `speculative.tree_budget` to {most:,} or less",),
            path="speculative.tree_budget",
        )
    if topk is not None and topk > budget:
        yield error(
            "tree-topk",
            f"a node may have {topk} children, but the whole tree only {budget} nodes",
            where.primary("speculative.tree_topk", text=f"{topk} children"),
            secondary=_labels(where, speculative__tree_budget=f"{budget} nodes"),
            help=(f"set `speculative.tree_topk` to {budget} or less",),
            path="speculative.tree_topk",
        )
    if budget < depth:
        yield warning(
            "tree-budget",
            f"a budget of {budget} nodes is less than the {depth} tokens that plain DFlash verifies",
            where.primary("speculative.tree_budget", text=f"{budget} nodes"),
            secondary=_labels(
                where, speculative__block_size=f"drafts {depth} tokens beyond the first"
            ),
            help=(f"set `speculative.tree_budget` to {depth} or more",),
            path="speculative.tree_budget",
        )


def _most_nodes(*, depth: int, topk: int) -> int:
    """Nodes of the full tree without its root: topk + topk^2 + ... + topk^depth, cut where no budget reaches."""
    nodes, level = 0, 1
    for _ in range(depth):
        level *= topk
        nodes += level
        if nodes > 2**31:
            break
    return nodes


def _tree_without_tree(speculative: Speculative, where: Origins) -> Iterator[Diagnostic]:
    for setting, value in (
        ("tree_budget", speculative.tree_budget),
        ("tree_topk", speculative.tree_topk),
    ):
        if value is not None:
            yield error(
                setting.replace("_", "-"),
                f"`speculative.{setting}` belongs to the algorithm `ddtree`, not `{speculative.algorithm}`",
                where.primary(f"speculative.{setting}", text="no tree here"),
                secondary=_labels(where, speculative__algorithm="verifies a line of tokens"),
                help=(
                    f'unset it: `unset = ["speculative.{setting}"]`',
                    'or set `speculative.algorithm = "ddtree"`',
                ),
                path=f"speculative.{setting}",
            )
