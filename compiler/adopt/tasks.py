"""A table of a manifest goes in; the script or the command that it holds comes out, and the files that a manifest writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from attrs import evolve

from compiler.adopt.files import FileKind, kind_of
from compiler.adopt.launch import Document, Word
from compiler.adopt.parts import speaks_of_engine
from compiler.adopt.shell import read_shell
from compiler.adopt.shell.known import starts_engine
from compiler.diagnostics import Span
from compiler.source import Source
from compiler.yamltext import Yaml


_PROSE = frozenset({"name", "description", "title", "comment", "help", "summary", "message", "msg"})
_PLACES = ("dest", "path", "name")
"""Where a module says the name of the file that it writes (docs.ansible.com, `copy`; cloud-init, `write_files`)."""
_FILES = frozenset({FileKind.UNIT, FileKind.QUADLET, FileKind.SUPERVISOR})
"""What a text in a manifest may be that is no script."""


def script_of(node: Yaml) -> tuple[str, Yaml] | None:
    """The shell script of a task, and where it stands."""
    told = node.get("run")
    if told is not None and told.text and not told.is_null:
        return told.text, told
    several = node.get("commands")
    texts = [each.text for each in several.items if each.text] if several is not None else []
    if several is not None and texts:
        return "\n".join(texts), several
    # Whatever a tool calls it: `shell`, `cmd`, `start_command`.
    for key, value in node.pairs:
        if key.text in _PROSE or not value.text or not starts_engine(value.text):
            continue
        if file_name(node, key, value.text) is None:
            return value.text, value
    return None


def file_name(node: Yaml, key: Yaml, text: str) -> str | None:
    """What a text of a table is called where it is a file for systemd or supervisor; `None` where it is none."""
    if "\n" not in text.strip():
        return None
    named = (node.get(each) for each in _PLACES)
    names = [each.text for each in named if each is not None and each.text]
    for name in (*names, key.text or ""):
        if kind_of(Source(PurePosixPath(name).name, text)) in _FILES:
            return name
    return None


def files_of(node: Yaml, source: Source, *, seen: set[int]) -> Iterator[Document]:
    """The files of other kinds that stand in a manifest: units in a playbook, a ConfigMap, or the data of a cloud's host."""
    if id(node) in seen:
        return
    seen.add(id(node))
    for key, value in node.pairs:
        if not value.text or not speaks_of_engine(value.text):
            yield from files_of(value, source, seen=seen)
            continue
        name = file_name(node, key, value.text)
        # The text of a block begins on the line behind its sign.
        is_block = source.text[value.start : value.start + 1] in {"|", ">"}
        start = source.text.find("\n", value.start) + 1 if is_block else value.start
        span = source.span(start, max(start, value.end))
        if name is not None:
            yield Document(name=name, text=Word(text=value.text, span=span), is_exact=False)
        elif "<<" in value.text:
            yield from _written_by(value.text, span)
    for each in node.items:
        yield from files_of(each, source, seen=seen)


def _written_by(script: str, span: Span) -> Iterator[Document]:
    """The files that a script in a manifest writes, on the manifest's lines."""
    for each in read_shell(Source(span.file, script), given={}).documents:
        line = span.line + (each.text.span.line - 1 if each.text.span is not None else 0)
        at = evolve(span, line=line, column=1, end_line=line, end_column=1)
        yield evolve(each, text=evolve(each.text, span=at), is_exact=False)
