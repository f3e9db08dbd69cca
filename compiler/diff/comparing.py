"""Two snapshots of one service go in; what changes for those who run it comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from attrs import frozen

from compiler.consequence import Action, decide
from compiler.diff.snapshot import Figures, Place, Shown, Snapshot, Start
from compiler.value import Value


class Fate(StrEnum):
    """What becomes of a service."""

    NEW = "new"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    """Its unit, its manager, or its folder of generations is another, so that it stands beside what is installed."""
    BROKEN = "broken"
    """It does not compile any more."""
    MENDED = "mended"
    """It did not compile before, so there is nothing to compare it with."""


class FileState(StrEnum):
    """What becomes of a file of `out/`."""

    NEW = "new"
    REMOVED = "removed"
    CHANGED = "changed"


@frozen(kw_only=True, eq=False, repr=False)
class Difference(Value):
    """A value that is another; `None` where there is none. The places are those that set it."""

    name: str
    old: str | None
    new: str | None
    old_place: str | None = None
    new_place: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Restart(Value):
    """That the service has to be restarted.

    Attributes:
        reasons: what of it differs: `engine`, `command line`, `environment`, `unit`.
        start: how long the new one takes to start.
        install: what has to be installed before, in words: another engine for the interpreter that there was.
    """

    reasons: tuple[str, ...]
    start: Start
    install: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class ServiceChange(Value):
    """What changes for one service.

    Attributes:
        identity: of the new service; of the old one when it is removed.
        identity_before: the parts of it that were others.
        settings, options, environment: what differs, by name; flags and variables only where settings are not known.
        before, after: the figures, when either differs.
        verdicts: before and after.
        found, gone: findings that are new, and that are no more.
        restart: `None` when the running service is not concerned.
        files: the paths below `out/`.
        why: why a side did not compile, as codes with their places.
        refused: whether nothing of the new one is written.
        profile_before: the profile that gave it before, where that is another.
        place: where a host has it from now on; `None` of one that is no more.
        left: where what is installed stays, of a service that moved or is removed.
        others: the profiles that give the same unit now: that of what is new, or that of what is left.
    """

    profile: str
    target: str
    kind: Fate
    identity: Mapping[str, str]
    identity_before: Mapping[str, str]
    settings: tuple[Difference, ...] = ()
    options: tuple[Difference, ...] = ()
    environment: tuple[Difference, ...] = ()
    before: Figures | None = None
    after: Figures | None = None
    verdicts: tuple[str | None, str | None] = (None, None)
    found: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    restart: Restart | None = None
    files: tuple[tuple[str, FileState], ...] = ()
    why: tuple[str, ...] = ()
    refused: bool = False
    profile_before: str | None = None
    place: Place | None = None
    left: Place | None = None
    others: tuple[str, ...] = ()

    @property
    def promises_more(self) -> bool:
        """Whether more tokens are promised than before."""
        before, after = self.before, self.after
        if before is None or after is None:
            return False
        return after.required_tokens > before.required_tokens

    @property
    def name(self) -> str:
        """As verdicts are told."""
        return f"{self.profile} on {self.target}" if self.target else self.profile


def compare(old: Snapshot, new: Snapshot) -> ServiceChange | None:
    """What differs between two snapshots of a service; `None` when nothing does."""
    known = old.settings is not None and new.settings is not None
    moved = old.place != new.place
    change = ServiceChange(
        profile=new.profile,
        target=new.target,
        kind=Fate.MOVED if moved else Fate.CHANGED,
        identity=new.identity,
        identity_before={
            name: value for name, value in old.identity.items() if new.identity.get(name) != value
        },
        settings=tuple(_differing(old.settings or {}, new.settings or {})) if known else (),
        options=() if known else tuple(_differing(_plain(old.options), _plain(new.options))),
        environment=()
        if known
        else tuple(_differing(_plain(old.environment), _plain(new.environment))),
        before=old.figures,
        after=new.figures,
        verdicts=(old.verdict, new.verdict),
        found=tuple(each for each in new.findings if each not in old.findings),
        gone=tuple(each for each in old.findings if each not in new.findings),
        # What runs in another place is not touched.
        restart=None if new.files is None or moved else _restart(old, new),
        files=tuple(_files(old, new)),
        refused=new.files is None,
        profile_before=None if old.profile == new.profile else old.profile,
        place=new.place,
        left=old.place if moved else None,
    )
    return change if _is_any(change, old, new) else None


def appeared(new: Snapshot, *, kind: Fate = Fate.NEW, why: tuple[str, ...] = ()) -> ServiceChange:
    """A service that there was not, or that did not compile."""
    return ServiceChange(
        profile=new.profile,
        target=new.target,
        kind=kind,
        identity=new.identity,
        identity_before={},
        place=new.place,
        after=new.figures,
        verdicts=(None, new.verdict),
        found=new.findings,
        files=tuple((path, FileState.NEW) for path in sorted(new.files or {})),
        why=why,
    )


def vanished(
    old: Snapshot, *, kind: Fate = Fate.REMOVED, why: tuple[str, ...] = ()
) -> ServiceChange:
    """A service that there is no more, or that does not compile any more."""
    removed = old.files if kind is Fate.REMOVED else None
    return ServiceChange(
        profile=old.profile,
        target=old.target,
        kind=kind,
        identity=old.identity,
        identity_before={},
        left=old.place if kind is Fate.REMOVED else None,
        before=old.figures,
        verdicts=(old.verdict, None),
        files=tuple((path, FileState.REMOVED) for path in sorted(removed or {})),
        why=why,
    )


def _plain(values: Mapping[str, str]) -> Mapping[str, Shown]:
    return {name: Shown(value) for name, value in values.items()}


def _differing(old: Mapping[str, Shown], new: Mapping[str, Shown]) -> Iterator[Difference]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if (before.value if before else None) != (after.value if after else None):
            yield Difference(
                name=name,
                old=before.value if before else None,
                new=after.value if after else None,
                old_place=before.place if before else None,
                new_place=after.place if after else None,
            )


def _restart(old: Snapshot, new: Snapshot) -> Restart | None:
    before, after = old.identity["engine"], new.identity["engine"]
    reasons = {
        # An upgrade in its place leaves every byte of the unit as it was, and the old engine running.
        "engine": before != after,
        "command line": old.command != new.command,
        "environment": old.environment != new.environment,
        "unit": _needs_restart(old, new),
    }
    named = tuple(name for name, differs in reasons.items() if differs)
    if not named:
        return None
    install = None
    if before != after and old.command[:1] == new.command[:1] and new.command:
        install = f"{after} for `{new.command[0]}`, which ran {before}"
    return Restart(reasons=named, start=new.start, install=install)


def _needs_restart(old: Snapshot, new: Snapshot) -> bool:
    """Whether the unit changes for the process that runs, as a switch decides it: a comment or the probe does not."""
    before, after, unit = _unit(old), _unit(new), new.identity["unit"]
    if before is None or after is None or before == after:
        return False
    change = decide({unit: before.encode()}, {unit: after.encode()}, unit=unit)
    return change.action is Action.RESTART


def _unit(snapshot: Snapshot) -> str | None:
    """The text of its unit; `None` for one that is not known, or not written since it is refused."""
    path = f"{snapshot.profile}/{snapshot.target}/{snapshot.identity['unit']}"
    return (snapshot.files or {}).get(path)


def _files(old: Snapshot, new: Snapshot) -> Iterator[tuple[str, FileState]]:
    """Nothing where a side is refused: its files are not written, and what stands in `out/` stays."""
    if old.files is None or new.files is None:
        return
    before, after = old.files, new.files
    for path in sorted(before.keys() | after.keys()):
        if path not in before:
            yield path, FileState.NEW
        elif path not in after:
            yield path, FileState.REMOVED
        elif before[path] != after[path]:
            yield path, FileState.CHANGED


def _is_any(change: ServiceChange, old: Snapshot, new: Snapshot) -> bool:
    return bool(
        change.identity_before
        or change.left
        or change.profile_before
        or change.settings
        or change.options
        or change.environment
        or old.figures != new.figures
        or old.verdict != new.verdict
        or change.found
        or change.gone
        or change.restart
        or change.files
    )
