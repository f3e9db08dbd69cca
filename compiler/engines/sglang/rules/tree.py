"""Rules of DDTree, which verifies a tree of drafted tokens: the build that adds it, and the tree's own numbers."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.given import ALGORITHM
from compiler.engines.sglang.rules.places import labels, removal
from compiler.engines.sglang.speculation import TREE, draft_width
from compiler.facts import Build
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Speculative
from compiler.quantities import counted
from compiler.rules import rule


def _build(plan: Plan) -> Build | None:
    """The build whose tree this profile runs."""
    speculative = plan.profile.speculative
    build = plan.release.build if plan.release else None
    if speculative is None or build is None or speculative.algorithm not in build.algorithms:
        return None
    return build


@rule("ddtree-needs-build", flags=(ALGORITHM,))
def tree_needs_a_build(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """No release has DDTree: it takes a build that adds it."""
    speculative = plan.profile.speculative
    if speculative is None or speculative.algorithm != TREE:
        return
    engine = plan.profile.engine
    build = plan.release.build if plan.release else None
    # A build that nobody described may add it; that it is not known is said elsewhere.
    if build is None and engine.build is not None:
        return
    if build is not None and TREE in build.algorithms:
        return
    named = f"the build `{build.id}` does not add it" if build else "no release has it"
    tree = _tree_settings(speculative)
    yield error(
        "ddtree-needs-build",
        f"{engine.name} {engine.version} does not know the algorithm `ddtree`",
        where.primary("speculative.algorithm", text=named),
        secondary=labels(where, engine__version="this release"),
        notes=("the server would stop at once: its parser refuses the value",),
        help=(
            _with_build(plan),
            ", and ".join(
                (
                    'or set `speculative.algorithm = "dflash"`',
                    *((removal(plan, where, *tree),) if tree else ()),
                )
            ),
        ),
        path="speculative.algorithm",
    )


BUILD, BUILT_ON, NEEDS = "ddtree", "0.5.11", ("triton", "1")
"""The build of the catalogue that adds it, the release it is of, and the attention backend and page size it needs."""


def _with_build(plan: Plan) -> str:
    """All that the build asks for and the profile does not have yet."""
    (backend, page), profile = NEEDS, plan.profile
    wanted = [f'`engine.build = "{BUILD}"`']
    if profile.engine.version != BUILT_ON:
        wanted.append(f'`engine.version = "{BUILT_ON}"`')
    if plan.attention_backend not in (None, backend):
        wanted.append(f'`engine.attention_backend = "{backend}"`')
    if profile.memory.page_size is not None and str(profile.memory.page_size) != page:
        wanted.append(f"`memory.page_size = {page}`")
    return f"set {', '.join(wanted)}, and install that build"


@rule("draft-page-size", flags=(ALGORITHM,))
def page_size(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A build may run its tree with one page size only."""
    build = _build(plan)
    if build is None:
        return
    needed, page = build.needs.get("page_size"), plan.profile.memory.page_size or 1
    if needed is None or str(page) == needed:
        return
    yield error(
        "draft-page-size",
        f"DDTree of the build `{build.id}` needs page size {needed}, not {page}",
        where.primary("memory.page_size", text=f"pages of {counted(page, 'token')}"),
        secondary=labels(where, speculative__algorithm="its tree is stored token by token"),
        help=(f"set `memory.page_size = {needed}`",),
        path="memory.page_size",
    )


@rule("draft-backend", flags=(ALGORITHM,))
def backend(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A build may run its tree with one attention backend only."""
    build = _build(plan)
    if build is None:
        return
    needed, chosen = build.needs.get("attention_backend"), plan.attention_backend
    if needed is None or chosen in (None, needed):
        return
    yield error(
        "draft-backend",
        f"DDTree of the build `{build.id}` needs the attention backend `{needed}`, not `{chosen}`",
        where.primary("engine.attention_backend", "gpus.kind", text=f"gives `{chosen}`"),
        secondary=labels(where, speculative__algorithm=f"needs `{needed}`"),
        help=(f'set `engine.attention_backend = "{needed}"`',),
        path="engine.attention_backend",
    )


@rule("tree-budget", "tree-topk", flags=(ALGORITHM,))
def tree(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A tree cannot have more nodes than its depth and its children allow, nor more children than nodes."""
    speculative = plan.profile.speculative
    if speculative is None:
        return
    if speculative.algorithm != TREE:
        yield from _tree_without_tree(plan, where, speculative)
        return
    depth = draft_width(plan.profile, plan.draft) - 1
    budget, topk = speculative.tree_budget or depth, speculative.tree_topk
    most = _most_nodes(depth=depth, topk=topk) if topk else None
    if most is not None and budget > most:
        yield error(
            "tree-budget",
            f"a tree of depth {depth} with at most {topk} children a node has {counted(most, 'node')}, fewer than the budget of {budget:,}",
            where.primary("speculative.tree_budget", text=counted(budget, "node")),
            secondary=labels(
                where,
                speculative__tree_topk=f"{counted(topk or 0, 'child', plural='children')} a node",
                speculative__block_size=f"{counted(depth, 'level')} below the root",
            ),
            notes=("the verify step would be padded with nodes that cannot exist",),
            help=(f"set `speculative.tree_budget = {most:_}` or less",),
            path="speculative.tree_budget",
        )
    if topk is not None and topk > budget:
        yield warning(
            "tree-topk",
            f"a node may have {counted(topk, 'child', plural='children')}, but the whole tree only {counted(budget, 'node')}",
            where.primary("speculative.tree_topk", text=counted(topk, "child", plural="children")),
            secondary=labels(where, speculative__tree_budget=counted(budget, "node")),
            help=(f"set `speculative.tree_topk = {budget}` or less",),
            path="speculative.tree_topk",
        )
    if budget < depth:
        yield warning(
            "tree-budget",
            f"a budget of {counted(budget, 'node')} is less than the {counted(depth, 'token')} that plain DFlash verifies",
            where.primary("speculative.tree_budget", text=counted(budget, "node")),
            secondary=labels(
                where, speculative__block_size=f"drafts {counted(depth, 'token')} beyond the first"
            ),
            help=(f"set `speculative.tree_budget = {depth}` or more",),
            path="speculative.tree_budget",
        )


def _tree_settings(speculative: Speculative) -> tuple[str, ...]:
    """The settings of a tree that are set."""
    values = {"tree_budget": speculative.tree_budget, "tree_topk": speculative.tree_topk}
    return tuple(f"speculative.{name}" for name, value in values.items() if value is not None)


def _most_nodes(*, depth: int, topk: int) -> int:
    """Nodes of the full tree without its root: topk + topk^2 + ... + topk^depth, cut where no budget reaches."""
    nodes, level = 0, 1
    for _ in range(depth):
        level *= topk
        nodes += level
        if nodes > 2**31:
            break
    return nodes


def _tree_without_tree(
    plan: Plan, where: Origins, speculative: Speculative
) -> Iterator[Diagnostic]:
    build = plan.release.build if plan.release else None
    has_trees = build is not None and TREE in build.algorithms
    for setting in _tree_settings(speculative):
        yield error(
            setting.rpartition(".")[2].replace("_", "-"),
            f"`{setting}` belongs to the algorithm `{TREE}`, not `{speculative.algorithm}`",
            where.primary(setting, text="no tree here"),
            secondary=labels(where, speculative__algorithm="has no such setting"),
            help=(
                removal(plan, where, setting),
                *((f'or set `speculative.algorithm = "{TREE}"`',) if has_trees else ()),
            ),
            path=setting,
        )
