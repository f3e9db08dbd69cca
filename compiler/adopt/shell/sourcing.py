"""`source FILE` goes in; the text of the file comes out, where it is here, or what it means that it is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from attrs import evolve

from compiler.adopt.files import Files, as_source
from compiler.adopt.launch import Change, Kept, Word
from compiler.adopt.shell.known import Known
from compiler.engines.adopting import ChangeKind
from compiler.source import Source


_SOURCING = frozenset({"source", "."})
# How a script says the folder that it is in: `$(dirname "$0")`, `$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)`, `${0%/*}`.
_OWN_FOLDER = re.compile(
    r"\$\(.*dirname\b.*(?:\$0|\$\{0\}|BASH_SOURCE).*\)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}",
    re.DOTALL,
)
_START_UP = frozenset(
    {
        *(".bashrc", ".bash_profile", ".profile", ".zshrc", "bashrc", "profile"),
        *("activate", "conda.sh", "mamba.sh", "nvm.sh", "modules.sh", "setvars.sh", "set_env.sh"),
    }
)
"""Scripts of a shell, of environments for Python, of modules, of oneAPI, and of Ascend: they set paths, and no setting."""


def sourced(words: Sequence[Word]) -> Word | None:
    """The file whose settings a command takes over; `None` for one that sets paths only, and for any other command."""
    if len(words) < 2 or words[0].text not in _SOURCING:  # noqa: PLR2004 - the command, and the file
        return None
    return None if PurePosixPath(words[1].text).name in _START_UP else words[1]


def find_sourced(path: Word, *, script: str, files: Files) -> Source | None:
    """The file where it is named, below the folder of the script, or beside it under its own name."""
    folder = PurePosixPath(script).parent
    for place in _places(path, folder, files):
        data = files.read(place)
        if data is not None:
            source, _ = as_source(place, data) if data.strip() else (Source(place, ""), ())
            return source
    return None


def _places(path: Word, folder: PurePosixPath, files: Files) -> list[str]:
    text, unknown = path.text, []
    for part in path.unknown:
        if _OWN_FOLDER.fullmatch(part):
            text = text.replace(part, str(folder))
        else:
            unknown.append(part)
    name = PurePosixPath(text).name
    beside = [] if any(part in name for part in unknown) or not name else [str(folder / name)]
    if unknown:
        return beside
    if text == path.text and not text.startswith("/"):
        return [str(folder / text), *beside]
    there = files.moved(text) if text == path.text else text
    # A folder that a container has may be named from the file that says so.
    return [*([str(folder / there)] if there is not None else []), *beside]


def is_sourced(path: Word, script: Source) -> bool:
    """Whether a script takes over a file of this name somewhere."""
    name = re.escape(PurePosixPath(path.text).name)
    return re.search(rf"(?:^|[\s;&|({{])(?:source|\.)[ \t][^\n]*{name}", script.text) is not None


def taken_from(path: Word, source: Source) -> Change | None:
    """What is said of a file that was read elsewhere than it is named."""
    if source.name == path.text or path.unknown or not path.text.startswith("/"):
        return None
    text = f"`{path.text}` is taken to be `{source.name}`"
    return Change(kind=ChangeKind.ASSUMED, text=text, span=path.span)


def not_here(path: Word) -> Change:
    """What is said of a file that cannot be read."""
    name = PurePosixPath(path.text).name
    if not all(_OWN_FOLDER.fullmatch(part) for part in path.unknown):
        told = "is known at the start only"
    elif name:
        told = f"is not here (a copy beside the script, `{name}`, would be read)"
    else:
        told = "is not here"
    text = f"which variables `{path.text}` sets: the file {told}, and what is used behind it may have another value"
    return Change(kind=ChangeKind.UNKNOWN, text=text, span=path.span)


def kept_by(known: Known, before: Known, *, source: Source, files: Files) -> Known:
    """What is known behind a file: its variables stay in it on the host."""
    kept = Kept(path=source.name, is_private=files.is_private(source.name))
    texts = {
        name: evolve(word, kept=kept)
        if word is not before.texts.get(name)
        and word.span is not None
        and word.span.file == source.name
        else word
        for name, word in known.texts.items()
    }
    return evolve(known, texts=texts)
