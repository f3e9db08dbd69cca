"""The words that every form of a change has in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from compiler.diff.comparing import Difference, Fate, Restart, ServiceChange
from compiler.diff.snapshot import Figures, Place
from compiler.quantities import Duration, counted
from compiler.ranges import said


NOTHING = "not set"
"""Stands for a setting, flag, or variable that a side does not have."""

_UNKNOWN = "not known"
_BROKEN = "does not compile"
_MINUTE_S = 60
_MOST_NAMES = 3
"""Of several profiles that one unit is given by, these are named."""


def headline(changes: Sequence[ServiceChange]) -> str:
    """How much changes, as one sentence."""
    if not changes:
        return "no service changes"
    counts = {kind: sum(1 for each in changes if each.kind is kind) for kind in Fate}
    restarting = [
        (each.target, each.identity.get("unit", each.name)) for each in changes if each.restart
    ]
    restarts = len(set(restarting))
    words = {
        Fate.CHANGED: ("service changes", "services change"),
        Fate.NEW: ("is new", "are new"),
        Fate.MOVED: ("moves beside what is installed", "move beside what is installed"),
        Fate.REMOVED: ("is removed", "are removed"),
        Fate.BROKEN: (_BROKEN, "do not compile"),
        Fate.MENDED: ("compiles that did not before", "compile that did not before"),
    }
    parts = [f"{count} {words[kind][count > 1]}" for kind, count in counts.items() if count]
    if not counts[Fate.CHANGED]:
        # Who they are is said once, by the first.
        number, _, verb = parts[0].partition(" ")
        parts[0] = f"{counted(int(number), 'service')} {verb}"
    text = ", ".join([*parts, *([f"with {counted(restarts, 'restart')}"] if restarts else [])])
    return "; ".join([text, *_alternatives(restarting)])


def _alternatives(restarting: Sequence[tuple[str | None, str]]) -> Iterator[str]:
    """Of services that give one unit of one host only one runs, and is restarted."""
    for (target, unit), count in Counter(restarting).items():
        if count > 1:
            yield f"{count} are alternatives for {unit} on {target}, where one runs"


def outcome(change: ServiceChange) -> str:
    """What becomes of a service, in a word or two."""
    match change.kind:
        case Fate.NEW:
            return f"new{_alternative(change)}"
        case Fate.REMOVED:
            return f"removed; {_stays(change, change.left)}" if change.left else "removed"
        case Fate.BROKEN:
            return _BROKEN
        case Fate.MENDED:
            return "compiles, and did not before"
        case Fate.CHANGED | Fate.MOVED:
            before = f"in the place of {change.profile_before}; " if change.profile_before else ""
            return f"{before}{_becomes(change)}"


def _becomes(change: ServiceChange) -> str:
    """What becomes of one that is on both sides."""
    if change.refused:
        return "refused, so nothing of it is written"
    if change.left is not None and change.place is not None:
        moved = _moved(change.left, change.place)
        return moved if "; " in moved else f"{moved}; {_stays(change, change.left)}"
    if change.restart is None:
        return f"no restart{_if_kept(change)}"
    return "restart, once its engine is installed" if change.restart.install else "restart"


def _several(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMES
    return f"{', '.join(names[:_MOST_NAMES])}, and {rest} more" if rest > 0 else ", ".join(names)


def _alternative(change: ServiceChange) -> str:
    """That others give the unit as well."""
    if not change.others:
        return ""
    return f", an alternative to {_several(change.others)} for {change.identity['unit']}"


def _moved(left: Place, place: Place) -> str:
    """What is another of the place of a service, and what becomes of what is installed."""
    if left.unit != place.unit and left.state_dir == place.state_dir:
        return (
            f"a new unit; a switch refuses it while {left.state_dir} holds the generations of {left.unit}: "
            f"first `poolproof retire {_name(left.unit)} --delete`, or give it another state_dir"
        )
    if left.unit != place.unit:
        return "a new unit"
    if left.manager != place.manager:
        return f"a new unit, of the {place.manager} manager"
    return (
        f"another state_dir; a switch refuses it while the generations in {left.state_dir} have the unit: "
        f"first `poolproof retire {left.state_dir}`, or keep the state_dir"
    )


def _stays(change: ServiceChange, left: Place) -> str:
    """That a switch takes away nothing of what was installed, and what does."""
    if change.others:
        gives = "gives" if len(change.others) == 1 else "give"
        return f"{_several(change.others)} still {gives} {left.unit}"
    if change.kind is Fate.REMOVED:
        return f"what is installed stays until `poolproof retire {_name(left.unit)}`"
    place = change.place or left
    if left.unit != place.unit:
        return f"{left.unit} stays until `poolproof retire {_name(left.unit)}`"
    return f"that of the {left.manager} manager stays until `poolproof retire {left.state_dir}`"


def _name(unit: str) -> str:
    return unit.removesuffix(".service")


def _if_kept(change: ServiceChange) -> str:
    """What a switch asks where only the promise grows."""
    return ", if what runs keeps the larger promise" if change.promises_more else ""


def identity(change: ServiceChange) -> str:
    """What tells the service from others; a part that was another with what it was."""
    parts = (
        f"{name} {value}{_was(change, name)}" for name, value in change.identity.items() if value
    )
    return ", ".join(parts)


def _was(change: ServiceChange, name: str) -> str:
    return f" (was {change.identity_before[name]})" if name in change.identity_before else ""


def arrow(each: Difference) -> tuple[str, str]:
    """Before and after, in words for what is not there."""
    return _word(each.old), _word(each.new)


def _word(value: str | None) -> str:
    """A flag that is given by itself has no words, and a variable may be empty."""
    return NOTHING if value is None else value or "set"


def between(old: str, new: str, *, by: str) -> str:
    """Before and after; one alone of what was not before, or is no more."""
    return f" {by} ".join(filter(None, (old, new)))


def where(each: Difference) -> str:
    """The place that sets it now; the place that did, for one that is gone."""
    return each.new_place or (f"was {each.old_place}" if each.old_place else "")


def verdicts(change: ServiceChange) -> tuple[str, str]:
    """Before and after; what did not compile, or does not any more, has none."""
    old, new = (each or "" for each in change.verdicts)
    if change.kind is Fate.BROKEN:
        return old, _BROKEN
    return (_BROKEN, new) if change.kind is Fate.MENDED else (old, new)


def sides(change: ServiceChange, show: Callable[[Figures], str]) -> tuple[str, str]:
    """A figure before and after, empty on the side where there was no such service, and on both where neither is known."""
    old, new = change.before, change.after
    if old is None and new is None:
        return "", ""
    fresh = "" if change.kind in {Fate.NEW, Fate.MENDED} else _UNKNOWN
    gone = "" if change.kind is Fate.REMOVED else _UNKNOWN
    return fresh if old is None else show(old), gone if new is None else show(new)


def figure_lines(change: ServiceChange) -> Iterator[tuple[str, str, str]]:
    """The figures that differ: what, before, after; an empty text on the side where there was no such service."""
    rows: tuple[tuple[str, Callable[[Figures], str]], ...] = (
        ("pool, tokens", lambda each: each.on_each(said(each.pool, ",.0f"))),
        ("needed, tokens", lambda each: each.on_each(f"{each.required_tokens:,}")),
        ("reserve's margin, GiB", lambda each: said(each.margin, ".2f")),
        ("static fraction", lambda each: f"{each.fraction:g}"),
    )
    for what, show in rows:
        before, after = sides(change, show)
        if before != after:
            yield what, before, after


def downtime(restart: Restart) -> str:
    """How long it is down, and that it is an estimate."""
    start = restart.start
    limit = f"at most {Duration(start.limit_s)}, its start timeout"
    stop = (
        f"; before that up to {Duration(start.stop_s)} for running requests" if start.stop_s else ""
    )
    if start.expected_s is None:
        return f"for how long is not known: {limit}{stop}"
    return f"for about {minutes(start.expected_s)} by estimate ({start.basis}), {limit}{stop}"


def minutes(seconds: int) -> str:
    """A length of time that is only an estimate, in whole minutes."""
    return f"{max(1, round(seconds / _MINUTE_S))} min"
