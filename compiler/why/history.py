"""A setting of a merged profile goes in; who set it, who lost, and why comes out."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from compiler.diagnostics import Span
from compiler.language.merge import Resolved
from compiler.language.settings import find_setting, known_keys
from compiler.language.written import written
from compiler.origins import Definition, Level, Origin, SettingPath, dotted
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Step(Value):
    """One definition of a setting.

    Attributes:
        span: where it stands.
        value: as a profile writes it; empty for an edit's items, whose places are their own.
        reason: what became of it: `sets it; nothing else does`, `wins`, `agrees`, `overridden by base/x`.
    """

    span: Span
    value: str
    reason: str


@frozen(kw_only=True, eq=False, repr=False)
class History(Value):
    """A setting with all its definitions.

    Attributes:
        value: the merged value; `None` when no file sets it, or one took it away.
        default: its value when nobody sets it; `None` for a required one, and for one without.
        steps: the winner first, then what agrees with it, then the losers, nearest first.
        items: for a list, each item with its place.
    """

    setting: str
    value: str | None
    default: str | None = None
    steps: tuple[Step, ...] = ()
    items: tuple[tuple[str, Span], ...] = ()


def histories(resolved: Resolved, path: SettingPath) -> tuple[History, ...]:
    """The histories of a setting, or of every setting below a table, sorted; nothing for what the language does not know."""
    below = [each for each in resolved.origins.by_path if each[: len(path)] == path]
    removed = [
        each
        for each in resolved.removed
        if (each[: len(path)] == path or path[: len(each)] == each) and each not in below
    ]
    found = [
        *(_of(each, resolved.origins.by_path[each], resolved) for each in below),
        *(_removed(each, resolved.removed[each]) for each in removed),
    ]
    if not found and (find_setting(path) is not None or known_keys(path)):
        found.append(History(setting=dotted(path), value=None, default=_default(path)))
    return tuple(sorted(found, key=lambda each: each.setting))


def _of(path: SettingPath, origin: Origin, resolved: Resolved) -> History:
    key = path[-1]
    return History(
        setting=dotted(path),
        value=written(resolved.value_at(path), key=key),
        default=_default(path),
        steps=tuple(_steps(origin, key=key)),
        items=tuple((written(each.value, key=key), each.span) for each in origin.items),
    )


def _removed(path: SettingPath, origin: Origin) -> History:
    return History(
        setting=dotted(path),
        value=None,
        default=_default(path),
        steps=tuple(_steps(origin, key=path[-1])),
    )


def _steps(origin: Origin, *, key: str) -> Iterator[Step]:
    alone = not origin.agreeing and not origin.losers
    verb = "takes it away" if origin.winner.removes else "sets it" if alone else "wins"
    level = "" if origin.winner.removes else _LEVELS[origin.winner.level]
    rest = "; nothing else does" if alone and not origin.winner.removes else ""
    yield _step(origin.winner, f"{verb}{level}{rest}", key=key)
    for each in origin.agreeing:
        yield _step(each, f"agrees{_LEVELS[each.level]}", key=key)
    for loser in origin.losers:
        yield _step(loser.definition, loser.reason, key=key)


_LEVELS = {Level.DEFAULTS: ", as a default", Level.PLAIN: "", Level.FORCE: ", by force"}


def _step(definition: Definition, reason: str, *, key: str) -> Step:
    value = "" if definition.removes else written(definition.value, key=key)
    return Step(span=definition.value_span, value=value, reason=reason)


def _default(path: SettingPath) -> str | None:
    setting = find_setting(path)
    if setting is None or setting.required or setting.default is None:
        return None
    default = setting.default
    return written(
        str(default) if not isinstance(default, bool | int | float | str | tuple) else default,
        key=path[-1],
    )
