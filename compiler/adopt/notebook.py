"""A notebook goes in; its cells of code come out as files of their own, with their places in it.

nbformat.readthedocs.io, "Code cells"; ipython.readthedocs.io, "System shell access" (`!`) and "Cell magics" (`%%bash`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import cast

from compiler.adopt.launch import Document, Sheet, Word
from compiler.adopt.parts import MOST_PARTS, PROGRAM, SCRIPT, speaks_of_engine
from compiler.adopt.placeholders import placeholders
from compiler.diagnostics import Span
from compiler.source import Source


_SET = re.compile(
    r"""([A-Za-z_]\w*) *= *(?:"([^"\\{}\n]*)"|'([^'\\{}\n]*)'|(\d[\w.]*)) *(?:#.*)?"""
)
_USE = re.compile(r"(?<![$\\{])\{([A-Za-z_]\w*)\}(?!\})")
_OF_A_SHELL = ("%%bash", "%%sh", "%%script bash", "%%script sh", "%%shell")
_WRITES = "%%writefile"


def read_notebook(source: Source) -> Sheet:
    """The cells that speak of an engine; nothing where it is no notebook."""
    try:
        told: object = json.loads(source.text)
    except (ValueError, RecursionError):
        told = None
    documents = islice(_documents(told, source), MOST_PARTS)
    return Sheet(documents=tuple(documents), sources={source.name: source})


def _documents(told: object, source: Source) -> Iterator[Document]:
    at = 0
    cells = list(_cells(told))
    known = _known(cells)
    for lines in cells:
        at, span = _place(lines, source, at)
        for name, kept in _parts(lines, known):
            text = "\n".join(kept) + "\n"
            if speaks_of_engine(text):
                word = Word(text=text, span=span, unknown=placeholders(text))
                yield Document(name=name, text=word, is_exact=False)


def _cells(told: object) -> Iterator[list[str]]:
    """The lines of each cell of code."""
    cells = cast("dict[str, object]", told).get("cells") if isinstance(told, dict) else None
    for cell in cast("list[object]", cells) if isinstance(cells, list) else []:
        if not isinstance(cell, dict):
            continue
        about = cast("dict[str, object]", cell)
        source = about.get("source")
        parts = cast("list[object]", source) if isinstance(source, list) else [source]
        texts = [each for each in parts if isinstance(each, str)]
        if about.get("cell_type") == "code" and any(each.strip() for each in texts):
            yield "".join(texts).split("\n")


def _known(cells: Iterable[list[str]]) -> dict[str, str]:
    """What the program's names hold that are set once, to a text or a number."""
    told: dict[str, list[str]] = {}
    for found in (found for lines in cells for each in lines if (found := _SET.fullmatch(each))):
        name, *values = found.groups()
        told.setdefault(name, []).append(next(each for each in values if each is not None))
    return {name: values[0] for name, values in told.items() if len(values) == 1}


def _place(lines: list[str], source: Source, at: int) -> tuple[int, Span]:
    """Where a cell stands, behind the cell before; mostly each of its lines is one of the file."""
    blank = next((number for number, each in enumerate(lines) if each.strip()), 0)
    written = (json.dumps(lines[blank], ensure_ascii=plain)[1:-1] for plain in (True, False))
    places = (source.text.find(each, at) for each in written)
    found = next((each for each in places if each >= 0), at)
    place = source.span(found, found + 1)
    return found, Span(
        file=source.name,
        line=max(1, place.line - blank),
        column=1,
        end_line=place.line + len(lines) - 1,
        end_column=2,
    )


def _parts(lines: list[str], known: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """A cell as the script and the program that it is, each on the lines where it stands."""
    if lines[0].startswith((*_OF_A_SHELL, _WRITES)):
        yield SCRIPT, ["", *lines[1:]]
    elif not lines[0].startswith("%%"):
        script, program = list[str](), list[str]()
        goes_on = False
        for line in lines:
            bare = line.lstrip()
            is_shell = goes_on or bare.startswith(("!", "%"))
            # `!!` keeps what a command prints; `%env A=b` is a variable of all commands below.
            typed = line if goes_on else _typed(bare)
            # In such a line `{name}` is what the program's name holds.
            typed = _USE.sub(lambda use: known.get(use[1], f"${{{use[1]}}}"), typed)
            script.append(typed if is_shell else "")
            program.append("" if is_shell else line)
            goes_on = is_shell and line.endswith("\\")
        yield SCRIPT, script
        yield PROGRAM, program


def _typed(line: str) -> str:
    """What a shell is given of a line that is not of Python."""
    if line.startswith("!"):
        return line.lstrip("!")
    magic, _, rest = line.partition(" ")
    if magic == "%env" and "=" in rest:
        return f"export {rest}"
    return rest if magic in {"%sx", "%system"} else ""
