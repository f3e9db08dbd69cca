"""Where `adopt` reads launches from: the disk, standard input, or its own command line."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from compiler.adopt.files import LARGEST_BYTES, NO_FILES, Files, as_source
from compiler.adopt.reading import Read, read_file, read_words
from compiler.adopt.shell.known import starts_engine
from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.engines import DEFAULT
from compiler.engines.known import ENGINES
from compiler.secrecy import given_secrets, without_secrets


STDIN = "-"


def read_launch(words: Sequence[str], *, given: Mapping[str, str], line: int | None) -> Read:
    """The launch that a command line names: a file, stdin, or the words themselves.

    Errors: those of `adopt.reading`.
    """
    if len(words) > 1:
        return _with_unused(lambda told: read_words(words, files=files_here(), given=told), given)
    name = words[0]
    if name == STDIN:
        source, faults = as_source("stdin", sys.stdin.buffer.read(LARGEST_BYTES + 1))
        files = NO_FILES
    else:
        data, fault = _bytes(name)
        source, faults = (
            as_source(name, data) if data is not None else (None, (fault,) if fault else ())
        )
        files = files_here()
    if source is None:
        return Read(launch=None, diagnostics=faults)
    return _with_unused(lambda told: read_file(source, files=files, given=told, line=line), given)


def _with_unused(read: Callable[[Mapping[str, str]], Read], given: Mapping[str, str]) -> Read:
    """What is read, with a word about each variable that was given for nothing."""
    told = read(given)
    if not given:
        return told
    from compiler.adopt.unused import unused_variables  # noqa: PLC0415 - only where some are given

    return evolve(told, diagnostics=(*told.diagnostics, *unused_variables(read, given)))


def is_whole_command(word: str) -> bool:
    """Whether one word holds a launch with all of its flags, as quotes make it."""
    return len(word.split()) > 1 and starts_engine(word)


def one_word(code: str, *, start: str) -> Diagnostic:
    """That a whole command came as one word; it is not shown, since it may hold a key. `start`: what stands before it."""
    return error(
        code,
        "the whole command is one word",
        notes=("the shell hands over what stands in quotes as one word",),
        help=(f"leave the quotes out: `{start} COMMAND`",),
    )


def _bytes(name: str) -> tuple[bytes | None, Diagnostic | None]:
    """The bytes of a file, or why there are none."""
    path = Path(name)
    try:
        if path.is_dir():
            return None, error("launch-unreadable", f"`{name}` is a directory; name the file in it")
        if not path.is_file() and path.exists():
            return None, error("launch-unreadable", f"`{name}` is no regular file")
        with path.open("rb") as file:
            # One byte more tells that a file is too large for a launch.
            return file.read(LARGEST_BYTES + 1), None
    except (OSError, ValueError) as fault:
        return None, _unreadable(name, fault)


def _unreadable(name: str, fault: OSError | ValueError) -> Diagnostic:
    """Why there are no bytes; what is no file may be a command, which is longer than a name may be, and holds a key."""
    if is_whole_command(name):
        return one_word("launch-unreadable", start="poolproof adopt --")
    shown = without_secrets(name, given_secrets(name.split(), flags=()))
    if isinstance(fault, FileNotFoundError):
        launch = ENGINES[DEFAULT].launches[0]
        advice = f"a command is given behind `--`: `poolproof adopt -- {launch}`"
        return error("launch-unreadable", f"there is no file `{shown}`", help=(advice,))
    return error("launch-unreadable", f"`{shown}` cannot be read: {reason_of(fault)}")


def files_here() -> Files:
    """What else a launch may name, on this machine."""

    def read(path: str) -> bytes | None:
        try:
            if not Path(path).is_file():
                return None
            with Path(path).open("rb") as file:
                return file.read(LARGEST_BYTES + 1)
        except (OSError, ValueError):
            return None

    def beside(folder: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(each.name for each in Path(folder).iterdir()))
        except OSError:
            return ()

    def is_private(path: str) -> bool | None:
        try:
            return not Path(path).stat().st_mode & stat.S_IROTH
        except (OSError, ValueError):
            return None

    return Files(read=read, beside=beside, is_private=is_private, here=_here())


def _here() -> str:
    """The working directory; the root where it is not there any more, which has nothing that a name could mean."""
    try:
        return str(Path.cwd())
    except OSError:
        return "/"
