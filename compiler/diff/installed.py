"""The folder of an installed generation, or of a profile in `out/`, as snapshots: all that its `plan.json` says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from attrs import evolve

from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.diff.comparing import ServiceChange, appeared, compare
from compiler.diff.sides import Side
from compiler.diff.snapshot import Figures, Place, Snapshot, Start, gpus_said
from compiler.diff.trees import TreeChange, snapshots_of
from compiler.judged import Checked
from compiler.visibledevices import VISIBLE, shown_by
from compiler.writtenplan import PLAN, WrittenFacts, WrittenTarget, read_plan


def read_installed(folder: Path, *, target: str | None = None) -> tuple[Snapshot, ...] | Diagnostic:
    """The services that a folder with a `plan.json` holds: those whose unit is there, else all of its plan; or one target's.

    Errors: `plan-unreadable`.
    """
    try:
        plan = read_plan((folder / PLAN).read_bytes())
    except OSError as fault:
        return _unreadable(folder, reason_of(fault))
    facts = plan if isinstance(plan, str) else plan.facts
    if isinstance(plan, str) or isinstance(facts, str):
        return _unreadable(folder, str(facts))
    unread = [each for each in plan.targets.values() if isinstance(each, str)]
    if unread:
        return _unreadable(folder, unread[0])
    targets = {name: each for name, each in plan.targets.items() if not isinstance(each, str)}
    if target is not None and target not in targets:
        return _unreadable(folder, f"it has no target `{target}`")
    present = [name for name, each in targets.items() if _unit_file(folder, name, each) is not None]
    chosen = present or list(targets) if target is None else [target]
    return tuple(_snapshot(facts, targets[name], name, folder=folder) for name in chosen)


def _unreadable(folder: Path, reason: str) -> Diagnostic:
    return error(
        "plan-unreadable",
        f"`{folder / PLAN}` cannot be read: {reason}",
        help=(
            "name a folder that holds `profiles/`, or the `plan.json` of an installed generation",
        ),
    )


def no_plan(folder: Path) -> Diagnostic:
    """A folder that holds nothing to compare with."""
    return _unreadable(folder, "there is none, and no `profiles/` beside it")


def _unit_file(folder: Path, name: str, target: WrittenTarget) -> Path | None:
    places = (folder / target.unit, folder / name / target.unit)
    return next((each for each in places if each.is_file()), None)


def _snapshot(facts: WrittenFacts, target: WrittenTarget, name: str, *, folder: Path) -> Snapshot:
    engine, gpus, profile = facts.engine, facts.gpus, facts.profile
    build = f" with {engine.build}" if engine.build else ""
    unit = _unit_file(folder, name, target)
    visible = facts.env.get(VISIBLE, "")
    return Snapshot(
        profile=profile,
        target=name,
        place=Place(
            host=name, unit=target.unit, manager=target.manager, state_dir=target.state_dir
        ),
        verdict=facts.verdict,
        identity={
            "model": facts.model,
            "host": name,
            "GPUs": gpus_said(gpus.count, gpus.kind, shown_by(visible).indices or ()),
            "unit": target.unit,
            "engine": f"{engine.name} {engine.version}{build}",
        },
        settings=None,
        command=facts.argv,
        options=dict(_options(facts.argv)),
        environment=facts.env,
        figures=_figures(facts),
        findings=tuple(
            dict.fromkeys((*facts.findings, *(each for on, each in facts.neighbours if on == name)))
        ),
        start=Start(limit_s=target.start_timeout_s),
        files=None if unit is None else dict(_texts(unit.parent, f"{profile}/{name}")),
    )


def _figures(facts: WrittenFacts) -> Figures | None:
    pool, margin, fraction = facts.pool, facts.margin_gib, facts.fraction
    if pool is None or margin is None or fraction is None or facts.required_tokens is None:
        return None
    given = dict(_options(facts.argv))
    replicas = next((given[each] for each in _REPLICAS if each in given), "1")
    return Figures(
        fraction=fraction,
        required_tokens=facts.required_tokens,
        pool=pool,
        margin=margin,
        replicas=int(replicas) if replicas.isdecimal() else 1,
    )


_REPLICAS = ("--data-parallel-size", "--dp-size")
"""What plan.json has no key for stands in its command."""


def _options(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The flags of a command line with their words; what stands before them is the program."""
    starts = [place for place, word in enumerate(argv) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(argv)], strict=True):
        yield argv[start], " ".join(argv[start + 1 : end])


def _texts(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name not in (PLAN, "PLAN.md", "MANIFEST"):
            yield f"{name}/{path.name}", path.read_bytes().decode("utf-8", "replace")


def compare_installed(
    installed: tuple[Snapshot, ...],
    new: Side,
    *,
    checked: Checked,
    label: str,
    only: Collection[str] = (),
) -> TreeChange:
    """What installing the tree's service in the place of an installed one would change.

    The tree's service is that of the same unit and host: of the same profile if there is one, or of the one asked for. Where
    the unit of its profile is another now, it is that one, which would stand beside it.
    """
    candidates = snapshots_of(checked, new)
    changes: list[ServiceChange] = []
    notes: list[str] = []
    for old in installed:
        same = [each for each in candidates if _place(each) == _place(old)]
        asked = [each for each in same if each.profile in only] if only else []
        named = [each for each in same if each.profile == old.profile]
        moved = [
            each
            for each in candidates
            if (each.profile, each.target) == (old.profile, old.target)
            and (not only or each.profile in only)
        ]
        found = asked or ([] if only else named) or ([] if same else moved)
        if found:
            change = _beside(old, found[0])
            changes += [] if change is None else [change]
            continue
        others = ", ".join(f"`{each.profile}`" for each in same)
        instead = f"; {others} would take its place: name it" if others else ""
        notes.append(
            f"no profile asked for gives `{old.identity['unit']}` of `{old.profile}` on `{old.target}`{instead}"
        )
    changes += [
        appeared(each)
        for each in candidates
        if each.profile in only
        and _place(each) not in {_place(old) for old in installed}
        and (each.profile, each.target)
        not in {(change.profile, change.target) for change in changes}
    ]
    return TreeChange(old=label, new=new.label, services=tuple(changes), notes=tuple(notes))


def _beside(old: Snapshot, new: Snapshot) -> ServiceChange | None:
    """Compare what both have: paths and files by the installed service's own set of files."""
    mine, theirs = f"{new.profile}/{new.target}/", f"{old.profile}/{old.target}/"
    files = renamed = None
    if old.files is not None:
        files = {path: text for path, text in (new.files or {}).items() if path.startswith(mine)}
        renamed = {f"{mine}{path.removeprefix(theirs)}": text for path, text in old.files.items()}
    return compare(evolve(old, files=renamed, profile=new.profile), evolve(new, files=files))


def _place(snapshot: Snapshot) -> tuple[str, str]:
    return snapshot.target, snapshot.identity["unit"]
