"""The file of `--config`, as each release reads it: YAML text in, words for the parser out.

The entries are put before the command line, so that it counts where both set something. Rules by release, all of them odd:

- `--config` counts as a word of its own only: written as `--config=FILE`, or abbreviated, it is taken and not looked at.
- Before 0.5.8 `true` gives the flag and `false` nothing, whatever the flag takes.
- From 0.5.8 on a switch is given for `true`; any other flag gets the word `true` or `false`. Flags that are neither
  switches nor store their value are refused.
- A table is JSON from 0.5.14 on; before, it was Python's own notation, which no flag reads.
- A key stands for the flag by its setting's name, so that one by another name is not known for a switch. From 0.5.23 on
  every name of a flag counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from attrs import frozen

from compiler.engines.engine import NoText
from compiler.engines.sglang.arguments.actions import RefusedError
from compiler.engines.sglang.arguments.parsed import Refusal, RefusalKind
from compiler.engines.sglang.arguments.words import CONFIG, Word, at_least
from compiler.facts import Action, Flag, Release
from compiler.value import Value
from compiler.yamltext import parse_yaml


_SWITCHES = frozenset({Action.TRUE, Action.TRUE_OR_UNSET})


def config_path(words: Sequence[Word], *, release: Release) -> str | None:
    """The path of the file; `None` when there is none to read. Raises `RefusedError` as the engine does."""
    places = [place for place, word in enumerate(words) if word.text == CONFIG]
    if not places or CONFIG not in release.flags:
        return None
    if len(places) > 1:
        raise _refused("Multiple config files specified! Only one allowed.")
    if places[0] == len(words) - 1:
        raise _refused("No config file specified after --config flag!")
    path = words[places[0] + 1].text
    suffix = PurePosixPath(path).suffix
    if suffix.lower() not in {".yaml", ".yml"}:
        raise _refused(f"Config file must be YAML format, got: {suffix}")
    return path


def without_config(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words without `--config` and its path."""
    at = next(place for place, word in enumerate(words) if word.text == CONFIG)
    return (*words[:at], *words[at + 2 :])


def no_config(path: str) -> str:
    """Why a server stops at a directory, as a sentence."""
    return f"`{path}`, which `{CONFIG}` names, {NoText.FOLDER.value}"


def unread_config(path: str, why: NoText) -> str:
    """What is taken for granted of a file that could not be read."""
    return f"`{path}`, which `{CONFIG}` names, {why.value}: nothing of it counts here"


def config_words(text: str | None, *, path: str, release: Release) -> tuple[Word, ...]:
    """The words for a file's entries; raises `RefusedError` for a file, or an entry, that the engine stops at."""
    if text is None:
        raise _refused(f"Config file not found: {path}")
    values, fault = parse_yaml(text)
    if fault is not None:
        raise _refused(f"{path} is no YAML: {fault}")
    if values is None:
        return ()
    if not isinstance(values, Mapping):
        raise _refused("Config file must contain a dictionary at root level")
    known = _keys(release) if at_least(release, "0.5.8") else None
    return tuple(
        Word(text)
        for key, value in values.items()
        for text in _entry(key, value, known, dicts_are_json=at_least(release, "0.5.14"))
    )


@frozen(eq=False, repr=False)
class _Keys(Value):
    """What keys may stand for.

    Attributes:
        switches: those that give a flag for `true` and nothing for `false`.
        refused: those of flags that the file cannot set.
    """

    switches: frozenset[str]
    refused: frozenset[str]


def _keys(release: Release) -> _Keys:
    every_name = at_least(release, "0.5.23")
    switches: set[str] = set()
    supported: set[str] = set()
    refused: set[str] = set()
    for flag in release.flags.values():
        if flag.name == CONFIG:
            continue
        keys = {flag.destination}
        if every_name:
            keys |= {each[2:].replace("-", "_") for each in flag.spellings}
        plain = not flag.custom
        if plain and flag.effect in _SWITCHES:
            switches |= keys
            supported |= keys
        elif (plain and flag.effect is Action.STORE) or (every_name and _takes_one(flag)):
            supported |= keys
        else:
            refused |= keys
    return _Keys(frozenset(switches), frozenset(refused - supported if every_name else refused))


def _takes_one(flag: Flag) -> bool:
    return flag.takes is not None and flag.nargs is None


def _entry(
    key: object, value: object, known: _Keys | None, *, dicts_are_json: bool
) -> Iterator[str]:
    """The words for one entry."""
    if known is not None:
        if not isinstance(key, str):
            raise _refused(f"the key {key!r} of the file is no text")
        name = key.replace("-", "_")
        if name in known.refused:
            raise _refused(f"`{key}` cannot be set in the file, only on the command line")
        if isinstance(value, bool) and name not in known.switches:
            yield from (f"--{key}", str(value).lower())
            return
    if isinstance(value, bool):
        yield from (f"--{key}",) if value else ()
    elif isinstance(value, list):
        yield from (f"--{key}", *(str(each) for each in value)) if value else ()
    elif isinstance(value, dict) and known is not None and dicts_are_json:
        yield from (f"--{key}", json.dumps(value))
    else:
        yield from (f"--{key}", str(value))


def _refused(message: str) -> RefusedError:
    return RefusedError(Refusal(kind=RefusalKind.CONFIG, message=message))
