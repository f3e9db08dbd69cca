"""The files that a launch is read from: bytes in, a text out, or what is wrong with it. No file is opened here."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePosixPath

from attrs import frozen

from compiler.adopt.programming import language_of
from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.source import Source
from compiler.value import Value


class FileKind(StrEnum):
    """What a file is."""

    UNIT = "systemd unit"
    QUADLET = "quadlet"
    COMPOSE = "compose file"
    MANIFEST = "manifest"
    DOCKERFILE = "Dockerfile"
    SUPERVISOR = "supervisor file"
    PAGE = "page"
    MAKEFILE = "Makefile"
    JUSTFILE = "justfile"
    PROGRAM = "program"
    SCRIPT = "script"


@frozen(kw_only=True, eq=False, repr=False)
class Files(Value):
    """How other files are read that a launch names.

    Attributes:
        read: the bytes of a file by its path; `None` when there is none, or it cannot be read.
        beside: the names in a folder, sorted; none when there is no such folder.
        moved: where a path stands on the host, of which a container may have another; `None` where that is not known.
        here: the folder that a path is told from which is not absolute; `None` where that is not known.
        is_private: whether a file is kept from all but its owner and group; `None` where that is not known.
    """

    read: Callable[[str], bytes | None]
    beside: Callable[[str], tuple[str, ...]]
    is_private: Callable[[str], bool | None] = lambda _: None
    here: str | None = None
    moved: Callable[[str], str | None] = lambda path: path


NO_FILES = Files(read=lambda _: None, beside=lambda _: ())
"""Where a launch was pasted."""

LARGEST_BYTES = 2**20
_COMMENT = r"(?:[ \t]*(?:[#;].*)?\n)*"
# A script may hold the text of a unit, so that what comes first counts.
_UNIT = re.compile(_COMMENT + r"[ \t]*\[(?:Service|Unit|Install)\][ \t]*$", re.MULTILINE)
_SECTION = re.compile(_COMMENT + r"[ \t]*\[\w[\w: .-]*\][ \t]*(?:;.*)?$", re.MULTILINE)
_QUADLET = re.compile(r"^[ \t]*\[Container\][ \t]*$", re.MULTILINE)
_PROGRAM = re.compile(r"^\[program:[^\]\n]+\]", re.MULTILINE)
_COMPOSE = re.compile(r"^services:[ \t]*(#.*)?$", re.MULTILINE)
_MANIFEST = re.compile(r"^(?:apiVersion:|\{[ \t\n]*\"apiVersion\")", re.MULTILINE)
_DOCKERFILE = re.compile(_COMMENT + r"(?:ARG [^\n]*\n|" + _COMMENT + r")*FROM[ \t:]", re.IGNORECASE)
_SHEBANG = "#!"
_SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".sub", ".job"})
_TABLES = frozenset({".yml", ".yaml", ".json"})
_DOCKER_NAMES = ("dockerfile", "containerfile")
_MAKE_NAMES = ("makefile", "gnumakefile")
_JUST_NAMES = frozenset({"justfile", ".justfile"})
NOTEBOOK = ".ipynb"
_PAGES = frozenset({".md", ".markdown", ".mdx", NOTEBOOK})
_TEMPLATES = frozenset({".j2", ".jinja", ".tmpl", ".tpl", ".gotmpl", ".erb", ".example", ".sample"})
"""Of a template the name in front of its ending says what it becomes."""


def is_template(name: str) -> bool:
    """Whether a file is one that others are made from."""
    return PurePosixPath(name).suffix in _TEMPLATES


def kind_of(source: Source) -> FileKind:
    """What a file is: by its name where that says so, else by its text."""
    path = PurePosixPath(source.name)
    while path.suffix in _TEMPLATES and path.stem:
        path = path.with_suffix("")
    told = (kind for kind, holds in _KINDS if holds(path, source.text))
    return next(told, FileKind.SCRIPT)


# The first that holds counts.
_KINDS: tuple[tuple[FileKind, Callable[[PurePosixPath, str], bool]], ...] = (
    (FileKind.PAGE, lambda path, _: path.suffix in _PAGES),
    (FileKind.PROGRAM, lambda path, text: language_of(path, text) is not None),
    (FileKind.MAKEFILE, lambda path, _: path.name.lower().startswith(_MAKE_NAMES)),
    (FileKind.MAKEFILE, lambda path, _: path.suffix == ".mk"),
    (FileKind.JUSTFILE, lambda path, _: path.name.lower() in _JUST_NAMES),
    (FileKind.JUSTFILE, lambda path, _: path.suffix == ".just"),
    (FileKind.SCRIPT, lambda path, text: path.suffix in _SCRIPTS or text.startswith(_SHEBANG)),
    (FileKind.QUADLET, lambda _, text: bool(_SECTION.match(text) and _QUADLET.search(text))),
    (FileKind.UNIT, lambda path, text: path.suffix == ".service" or bool(_UNIT.match(text))),
    (FileKind.SUPERVISOR, lambda _, text: bool(_SECTION.match(text) and _PROGRAM.search(text))),
    (FileKind.QUADLET, lambda path, _: path.suffix == ".container"),
    (FileKind.COMPOSE, lambda path, text: bool(_COMPOSE.search(text)) or "compose" in path.name),
    (FileKind.MANIFEST, lambda path, text: path.suffix in _TABLES or bool(_MANIFEST.search(text))),
    (FileKind.DOCKERFILE, lambda path, _: path.name.lower().startswith(_DOCKER_NAMES)),
    (FileKind.DOCKERFILE, lambda path, _: path.name.lower().endswith(_DOCKER_NAMES)),
    (FileKind.DOCKERFILE, lambda _, text: bool(_DOCKERFILE.match(text))),
)


def as_source(name: str, data: bytes) -> tuple[Source | None, tuple[Diagnostic, ...]]:
    """The text of a file. Errors: `launch-unreadable`."""
    if not data.strip():
        return None, (unreadable(name, "the file is empty"),)
    if len(data) > LARGEST_BYTES:
        return None, (
            unreadable(
                name, f"the file holds more than {LARGEST_BYTES // 2**20} MiB; no launch does"
            ),
        )
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        column = (
            len(data[data.rfind(b"\n", 0, fault.start) + 1 : fault.start].decode(errors="replace"))
            + 1
        )
        span = Span(file=name, line=line, column=column, end_line=line, end_column=column + 1)
        summary = "the file is not UTF-8"
        byte = f"byte 0x{data[fault.start]:02x}"
        return None, (
            error("launch-unreadable", summary, Label(span, byte), help=("save it as UTF-8",)),
        )
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return None, (
            unreadable(name, "the file holds a NUL character, as no text does", line=line),
        )
    return Source(name, text), ()


def unreadable(name: str, summary: str, *, line: int = 1) -> Diagnostic:
    """A file that cannot be read, at one of its lines."""
    span = Span(file=name, line=line, column=1, end_line=line, end_column=1)
    return error("launch-unreadable", f"`{name}`: {summary}", Label(span))
