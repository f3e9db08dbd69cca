"""The options of a container go in; the variables that it gets come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from attrs import evolve, frozen

from compiler.adopt.files import Files, as_source
from compiler.adopt.launch import Change, Kept, Word
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


_FILE = "--env-file"
VARIABLES = frozenset({"-e", "--env", _FILE})
"""The options that say them."""


@frozen(kw_only=True, eq=False, repr=False)
class Variables(Value):
    """What a container gets.

    Attributes:
        told: with what is known of them.
        passed: those that have the caller's own value.
    """

    told: Mapping[str, Word]
    passed: tuple[str, ...]
    changes: tuple[Change, ...]


def container_variables(options: Iterable[tuple[str, Word | None]], *, files: Files) -> Variables:
    """The variables of `-e` and `--env-file`; of a name the last `-e` counts, and before any file."""
    own: dict[str, Word] = {}
    filed: dict[str, Word] = {}
    changes: list[Change] = []
    for name, value in options:
        if value is None or name not in VARIABLES:
            continue
        if name != _FILE:
            own |= (_pair(value),)
            continue
        read = _read(value, files)
        filed |= read or {}
        if read is None:
            where = " or ".join(f"`{each}`" for each in _places(value))
            looked = f" ({where} would be read)" if where else ""
            text = f"the variables of the file `{value.text}` are not known: it is not here{looked}"
            changes.append(Change(kind=ChangeKind.UNKNOWN, text=text, span=value.span))
    told = {**filed, **own}
    return Variables(
        told=told,
        passed=tuple(name for name, word in told.items() if word.unknown == (f"${name}",)),
        changes=tuple(changes),
    )


def _pair(word: Word) -> tuple[str, Word]:
    name, equals, text = word.text.partition("=")
    # Without a value the caller's own variable is passed on.
    return name, evolve(word, text=text) if equals else _passed(name, word)


def _passed(name: str, word: Word) -> Word:
    return Word(text=f"${name}", span=word.span, unknown=(f"${name}",))


def _read(path: Word, files: Files) -> Mapping[str, Word] | None:
    """The variables of a file; `None` where it cannot be read."""
    told = ((each, files.read(each)) for each in _places(path))
    place, data = next((each for each in told if each[1] is not None), ("", None))
    if data is None:
        return None
    source, _ = as_source(place, data) if data.strip() else (None, ())
    kept = Kept(path=path.text, is_private=files.is_private(place), is_apart=True)
    return {
        name: _passed(name, path) if value is None else Word(text=value, span=path.span, kept=kept)
        for name, value in (_lines(source.text) if source is not None else ())
    }


def _places(path: Word) -> list[str]:
    """Where a file is looked for: where it is named, from here and from beside the script, and there under its own name."""
    folder = PurePosixPath(path.span.file).parent if path.span is not None else PurePosixPath()
    beside = str(folder / PurePosixPath(path.text).name)
    if path.unknown:
        name = PurePosixPath(path.text).name
        return [] if any(each in name for each in path.unknown) else [beside]
    return list(dict.fromkeys((str(PurePosixPath(path.text)), str(folder / path.text), beside)))


def _lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Each line as it is, without quotes or escapes (docs.docker.com, `docker container run --env-file`)."""
    for line in text.split("\n"):
        told = line.removesuffix("\r").lstrip()
        if told and not told.startswith("#"):
            name, equals, value = told.partition("=")
            yield name, value if equals else None
