"""One merged profile goes in; the typed `Profile` comes out, or everything that is wrong with it, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from compiler.diagnostics import Diagnostic, Label, Span, error, printable
from compiler.language import settings
from compiler.language.freenames import NAME_FAULTS, flag_name
from compiler.language.merge import Resolved
from compiler.language.scalars import Key
from compiler.language.shapes import any_of, is_list, item_of
from compiler.language.typed import Fault, FaultKind, structure_value
from compiler.near import near
from compiler.origins import SettingPath, dotted
from compiler.profile import Profile


_FLAGS_HINT = "a flag of the engine that has no setting goes under `[flags]`, without its dashes"
BY_FILE_HINT = 'a secret is given by the file that holds it: `api_key = { file = "/PATH.yaml" }`'


_OPEN = frozenset({"secrets", "targets"})
"""Tables whose keys have meanings of their own: another table's `name`, `host` or `path` is none of theirs."""
_MISSING = "setting-missing"
_SHORTEST = 3
"""Letters of a word that may be short for another."""


def structure_profile(resolved: Resolved) -> tuple[Profile | None, tuple[Diagnostic, ...]]:
    """The typed profile, or every fault of it in the order of the files.

    Errors: `unknown-key`, `wrong-type`, `bad-value`, and `setting-missing`.
    """
    profile, faults = structure_value(resolved.values, Profile)
    diagnostics = _diagnose(resolved, faults)
    return (None if diagnostics else profile), diagnostics


def check_fragment(resolved: Resolved) -> tuple[Diagnostic, ...]:
    """The faults of a profile that only others extend; there a required setting may be missing."""
    _, faults = structure_value(resolved.values, Profile)
    return _diagnose(resolved, [each for each in faults if each.kind is not FaultKind.MISSING])


def _diagnose(resolved: Resolved, faults: Iterable[Fault]) -> tuple[Diagnostic, ...]:
    several = tuple(_with_near(each, resolved) for each in faults)
    # A required setting under a misspelt key, or in a misspelt table, is one mistake.
    misspelt: set[tuple[Key, ...]] = set()
    for each in several:
        if each.near is not None:
            meant = (*each.path[:-1], each.near)
            held = _value_at(each.path, resolved)
            inside = held if isinstance(held, Mapping) else ()
            misspelt |= {meant, *((*meant, key) for key in inside)}
    found = _name_faults(resolved)
    # What is not extended for a key that is none may set all that is missing.
    inherits = any(each.kind is FaultKind.UNKNOWN_KEY for each in several) and _inherits(resolved)
    for fault in several:
        if fault.kind is FaultKind.MISSING:
            found += [] if inherits or fault.path in misspelt else _missing(fault, resolved)
        elif fault.kind is FaultKind.UNKNOWN_KEY:
            found.append(_unknown(fault, resolved))
        else:
            found.append(_wrong(fault, resolved))
    return tuple(sorted(found, key=_place))


def _with_near(fault: Fault, resolved: Resolved) -> Fault:
    """The same, with the key that an unknown one is short for (`mem`), or the table that has all that is in it."""
    if fault.kind is not FaultKind.UNKNOWN_KEY or fault.near is not None:
        return fault
    *above, key = _keys(fault.path)
    known = [each for each in settings.known_keys(tuple(above)) if each != settings.ANY_KEY]
    longer = [each for each in known if len(key) >= _SHORTEST and each.startswith(key.lower())]
    named = _called_here(_keys(fault.path))
    if named is not None and named[:-1] == tuple(above):
        return evolve(fault, near=named[-1])
    held = None if above else _value_at((key,), resolved)
    if not longer and isinstance(held, Mapping) and held:
        longer = [each for each in known if held.keys() <= {*settings.known_keys((each,))}]
    return evolve(fault, near=longer[0]) if len(longer) == 1 else fault


def _inherits(resolved: Resolved) -> bool:
    from compiler.language.misspelt import extends_elsewhere  # noqa: PLC0415 - only a mistake pays for it

    return extends_elsewhere(resolved.values)


def _called_here(path: SettingPath) -> SettingPath | None:
    from compiler.language.elsewhere import called_here  # noqa: PLC0415 - only a mistake pays for it

    return called_here(path)


def _place(diagnostic: Diagnostic) -> tuple[bool, Span | tuple[()], str]:
    """What is not set comes last: it may stand under a name that is not known."""
    is_missing = diagnostic.code == _MISSING
    return (is_missing, diagnostic.primary.span if diagnostic.primary else (), diagnostic.summary)


def _unknown(fault: Fault, resolved: Resolved) -> Diagnostic:
    path = _keys(fault.path)
    is_table = path in resolved.tables
    similar = _similar(path, fault.near, is_table=is_table)
    advice: tuple[str | None, ...]
    covered: tuple[Label, ...] = ()
    if path[0] == "secrets":
        advice = (similar, BY_FILE_HINT)
        covered = (Label(_value_span(resolved, path), "not shown", secret=True),)
    elif similar is not None:
        advice = (similar,)
    else:
        advice = (_may_hold(path[:-1]), None if is_table or path[0] == "targets" else _FLAGS_HINT)
    return error(
        "unknown-key",
        f"unknown {'table' if is_table else 'setting'} `{_shown(path)}`",
        Label(_key_span(resolved, path)),
        secondary=covered,
        help=tuple(each for each in advice if each is not None),
        path=dotted(path),
    )


def _similar(path: SettingPath, in_table: str | None, *, is_table: bool) -> str | None:
    """Where the setting probably belongs; the same word in another table comes before a similar one in this."""
    *above, key = path
    word = key.lower().replace("-", "_")
    if above and word in settings.FILE_KEYS:
        return f"`{word}` belongs at the top of the file, in front of its first table"
    named = None if is_table else _called_here(path)
    if named is not None and (in_table == named[-1] or in_table is None):
        return f"here it is called `{dotted(named)}`"
    for setting in settings.all_settings() if path[0] not in _OPEN else ():
        if setting.path[-1] == word and settings.ANY_KEY not in setting.path:
            return f"a setting of this name exists: `{dotted(setting.path)}`"
    if not above and in_table is None:
        in_table = near(key, (*settings.known_keys(()), *settings.FILE_KEYS))
    if in_table is None:
        return None
    meant = dotted((*above, in_table))
    if not is_table:
        return f"a setting with a similar name exists: `{meant}`"
    if in_table.startswith(word[:_SHORTEST]) or near(key, (in_table,)):
        return f"a table with a similar name exists: `{meant}`"
    return f"all that is in it belongs under `[{meant}]`"


def _may_hold(table: SettingPath) -> str:
    beside = () if table else settings.FILE_KEYS
    names = ", ".join(f"`{each}`" for each in (*beside, *settings.known_keys(table)))
    return f"`[{_shown(table)}]` may hold {names}" if table else f"there are {names}"


def _wrong(fault: Fault, resolved: Resolved) -> Diagnostic:
    advice: list[str] = []
    named = _value_here(fault, resolved)
    if named is not None:
        advice.append(named)
    elif fault.near is not None:
        advice.append(f"a similar word exists: `{fault.near}`")
    if fault.path[0] == "env" and fault.kind is FaultKind.WRONG_TYPE and len(fault.path) > 1:
        advice.append("a variable's value is text; write it in quotes")
    if fault.path[0] == "secrets":
        advice.append(BY_FILE_HINT)
    if not advice:
        meant = [f"`{each}`" for each in _plainly(fault, resolved)]
        advice += [f"write {any_of(meant)}"] if meant else []
    if not advice and fault.passes is not None:
        advice.append(f"write `{fault.passes}`")
    return error(
        str(fault.kind),
        f"`{_shown(fault.path)}`: {fault.message}",
        Label(_value_span(resolved, fault.path), secret=fault.path[0] == "secrets"),
        help=tuple(advice),
        path=dotted(_keys(fault.path)),
    )


def _value_here(fault: Fault, resolved: Resolved) -> str | None:
    from compiler.language.elsewhere import value_here  # noqa: PLC0415 - only a mistake pays for it

    return value_here(_keys(fault.path), _value_at(fault.path, resolved))


def _plainly(fault: Fault, resolved: Resolved) -> tuple[str, ...]:
    """What was plainly meant by a value, as TOML writes it."""
    from compiler.language.plainly import plainly_meant  # noqa: PLC0415 - only a mistake pays for it

    value = _value_at(fault.path, resolved)
    setting = settings.find_setting(_keys(fault.path))
    if setting is None:
        return ()
    is_item = isinstance(fault.path[-1], int) and is_list(setting.kind)
    return plainly_meant(value, item_of(setting.kind) if is_item else setting.kind)


def _value_at(path: tuple[Key, ...], resolved: Resolved) -> object:
    value: object = resolved.values
    for key in path:
        value = value[key] if isinstance(value, Mapping | list | tuple) else None  # type: ignore[index]
    return value


def _missing(fault: Fault, resolved: Resolved) -> list[Diagnostic]:
    """A diagnostic for the setting; for a table that is not there, one for each setting it has to have."""
    above = _keys(fault.path)
    found: list[Diagnostic] = []
    for setting in settings.required_below(above):
        path = (*above, *setting.path[len(above) :])
        key = path[-1]
        where = f"under `[{_shown(path[:-1])}]`, in this profile or in one it extends"
        found.append(
            error(
                _MISSING,
                f"required setting `{_shown(path)}` is not set",
                _missing_label(resolved, path),
                notes=(f"`{key}` is {setting.type}: {setting.help}",),
                help=(f"put `{key} = ...` {where}",),
                path=dotted(path),
            )
        )
    return found


def _missing_label(resolved: Resolved, path: SettingPath) -> Label:
    """At its removal, else at the table it belongs to, else at the profile."""
    for length in range(len(path), 0, -1):
        removal = resolved.removed.get(path[:length])
        if removal is not None:
            return Label(removal.winner.value_span, "unset here")
    table = resolved.tables.get(path[:-1])
    if table is not None:
        return Label(table, f"`{path[-1]}` is missing here")
    return Label(resolved.origins.document, "set neither here nor in what it extends")


def _name_faults(resolved: Resolved) -> list[Diagnostic]:
    """Names in the open tables that cannot be what they name; placed at the key, not at the value."""
    found: list[Diagnostic] = []
    for table, fault_of in NAME_FAULTS.items():
        entries = resolved.values.get(table)
        for key in entries if isinstance(entries, Mapping) else ():
            message = fault_of(key)
            if message is None:
                continue
            path = (table, key)
            place = Label(_key_span(resolved, path))
            summary = f"`{_shown(path)}`: {message}"
            meant = flag_name(key) if table == "flags" else None
            advice = (f"write `{meant}`",) if meant else ()
            found.append(error("bad-value", summary, place, help=advice, path=dotted(path)))
    return found


def _key_span(resolved: Resolved, path: SettingPath) -> Span:
    origin = resolved.origins.by_path.get(path)
    if origin is not None:
        return origin.winner.key
    return resolved.tables.get(path, resolved.origins.document)


def _value_span(resolved: Resolved, path: tuple[Key, ...]) -> Span:
    """Where a value stands, or the innermost one around it that has a place."""
    keys = _keys(path)
    for length in range(len(keys), 0, -1):
        origin = resolved.origins.by_path.get(keys[:length])
        index = path[length] if length < len(path) else None
        if origin is not None and isinstance(index, int) and index < len(origin.items):
            return origin.items[index].span
        if origin is not None:
            return origin.winner.value_span
        if keys[:length] in resolved.tables:
            return resolved.tables[keys[:length]]
    return resolved.origins.document


def _keys(path: tuple[Key, ...]) -> SettingPath:
    """The path down to where list items begin."""
    return tuple(key for key in path if isinstance(key, str))


def _shown(path: tuple[Key, ...]) -> str:
    items = "".join(f"[{key}]" for key in path if isinstance(key, int))
    return printable(dotted(_keys(path))) + items
