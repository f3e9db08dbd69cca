"""A file and what it is go in; its sheet comes out. What reads one kind is loaded for a file of that kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from compiler.adopt.files import NOTEBOOK, FileKind, Files
from compiler.adopt.launch import Sheet
from compiler.adopt.programming import PYTHON, language_of
from compiler.source import Source


_Given = Mapping[str, str]


def read_sheet_of(kind: FileKind, source: Source, *, files: Files, given: _Given) -> Sheet:
    """The commands of a file; `given` are the variables that whoever adopts it says."""
    return _READERS[kind](source, files, given)


def _unit(source: Source, files: Files, given: _Given) -> Sheet:
    from compiler.adopt.unit import read_unit_file  # noqa: PLC0415 - of one kind of file

    return read_unit_file(source, files=files, given=given)


def _quadlet(source: Source, files: Files, given: _Given) -> Sheet:
    from compiler.adopt.quadlet import read_quadlet  # noqa: PLC0415 - as above

    return read_quadlet(source, files=files, given=given)


def _compose(source: Source, files: Files, given: _Given) -> Sheet:
    from compiler.adopt.compose import read_compose  # noqa: PLC0415 - as above

    return read_compose(source, files=files, given=given)


def _manifest(source: Source, _: Files, given: _Given) -> Sheet:
    from compiler.adopt.manifest import read_manifest  # noqa: PLC0415 - as above

    return read_manifest(source, given=given)


def _dockerfile(source: Source, _: Files, given: _Given) -> Sheet:
    from compiler.adopt.dockerfile import read_dockerfile  # noqa: PLC0415 - as above

    return read_dockerfile(source, given=given)


def _supervisor(source: Source, _: Files, given: _Given) -> Sheet:
    from compiler.adopt.supervisor import read_supervisor  # noqa: PLC0415 - as above

    return read_supervisor(source, given=given)


def _makefile(source: Source, _: Files, given: _Given) -> Sheet:
    from compiler.adopt.makefile import read_makefile  # noqa: PLC0415 - as above

    return read_makefile(source, given=given)


def _justfile(source: Source, _: Files, given: _Given) -> Sheet:
    from compiler.adopt.justfile import read_justfile  # noqa: PLC0415 - as above

    return read_justfile(source, given=given)


def _page(source: Source, _: Files, given: _Given) -> Sheet:
    if PurePosixPath(source.name).suffix == NOTEBOOK:
        from compiler.adopt.notebook import read_notebook  # noqa: PLC0415 - as above

        return read_notebook(source)
    from compiler.adopt.page import read_page  # noqa: PLC0415 - as above

    return read_page(source, given=given)


def _program(source: Source, _: Files, given: _Given) -> Sheet:
    if language_of(PurePosixPath(source.name), source.text) != PYTHON:
        return Sheet(sources={source.name: source})  # no other is read
    from compiler.adopt.python import read_python  # noqa: PLC0415 - as above

    return read_python(source, given=given)


def _script(source: Source, files: Files, given: _Given) -> Sheet:
    from compiler.adopt.shell import read_shell  # noqa: PLC0415 - as above

    return read_shell(source, given={}, said=given, files=files)


_READERS: Mapping[FileKind, Callable[[Source, Files, _Given], Sheet]] = {
    FileKind.UNIT: _unit,
    FileKind.QUADLET: _quadlet,
    FileKind.COMPOSE: _compose,
    FileKind.MANIFEST: _manifest,
    FileKind.DOCKERFILE: _dockerfile,
    FileKind.SUPERVISOR: _supervisor,
    FileKind.MAKEFILE: _makefile,
    FileKind.JUSTFILE: _justfile,
    FileKind.PAGE: _page,
    FileKind.PROGRAM: _program,
    FileKind.SCRIPT: _script,
}
