"""A page in Markdown goes in; its fenced blocks come out as files of their own, with their places in the page.

spec.commonmark.org, "Fenced code blocks"; the word behind a fence says the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from attrs import evolve, field, frozen

from compiler.adopt.launch import Document, Sheet, Word
from compiler.adopt.parts import MOST_PARTS, PROGRAM, SCRIPT, speaks_of_engine
from compiler.adopt.placeholders import filled, placeholders
from compiler.adopt.shell.known import starts_engine
from compiler.diagnostics import Span
from compiler.source import Source
from compiler.value import Value


_FENCE = re.compile(
    r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*\{?(?P<language>[\w+.-]*+)[^`]*+"
)
_BEFORE = r"[ \t]*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+:\S* ?)?"
"""An environment, and who works where: `(venv) root@node-1:/work`."""
_PROMPT = re.compile(f"{_BEFORE}[$#>%] ")
_DOLLAR = re.compile(f"{_BEFORE}[$>] ")
_SHELL = frozenset({"", "sh", "bash", "shell", "zsh", "text", "cmd", "command"})
_SESSIONS = frozenset({"console", "shell-session", "terminal", "sh-session"})
"""What a terminal showed: commands behind a prompt, and what they printed."""
_NAMES = {
    **dict.fromkeys(_SHELL | _SESSIONS, SCRIPT),
    **dict.fromkeys(("yaml", "yml", "json"), "page.yaml"),
    **dict.fromkeys(("dockerfile", "docker"), "Dockerfile"),
    **dict.fromkeys(("makefile", "make"), "Makefile"),
    **dict.fromkeys(("python", "py", "python3"), PROGRAM),
    # Of these the text itself says what it is.
    **dict.fromkeys(("ini", "systemd", "service", "unit", "conf", "toml", "quadlet"), "page"),
}


@frozen(kw_only=True, eq=False, repr=False)
class _Block(Value):
    """One fenced block; `first` is the number of its first line."""

    language: str
    indent: str
    first: int
    lines: tuple[str, ...] = field(factory=tuple)


def read_page(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The blocks of languages that hold launches; `given` are values for what is to be filled in (`<MODEL>`)."""
    documents = (
        _document(each, source, given)
        for each in _blocks(source.text)
        if each.language in _NAMES and speaks_of_engine("\n".join(each.lines))
    )
    return Sheet(documents=tuple(islice(documents, MOST_PARTS)), sources={source.name: source})


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    fence, lines = "", list[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        if block is None:
            found = _FENCE.fullmatch(line)
            if found is not None:
                fence, lines = found["fence"], []
                language = found["language"].lower()
                block = _Block(language=language, indent=found["indent"], first=number + 1)
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            yield evolve(block, lines=tuple(lines))
            block = None
        else:
            lines.append(line)
    if block is not None:
        yield evolve(block, lines=tuple(lines))


def _document(block: _Block, source: Source, given: Mapping[str, str]) -> Document:
    lines = [each.removeprefix(block.indent) for each in block.lines]
    prompt = _prompt(block.language, lines) if _NAMES[block.language] == SCRIPT else None
    if prompt is not None:
        lines = list(_typed(lines, prompt))
    whole = "\n".join(lines) + "\n"
    text = filled(whole, given)
    left = placeholders(text)
    last = block.first + len(lines) - 1
    span = Span(
        file=source.name,
        line=block.first,
        column=1,
        end_line=last,
        end_column=len(block.lines[-1]) + 1,
    )
    return Document(
        name=_NAMES[block.language],
        text=Word(text=text, span=span, unknown=left),
        is_exact=lines == list(block.lines) and text == whole and not left,
    )


def _prompt(language: str, lines: Sequence[str]) -> re.Pattern[str] | None:
    """What stands before each command where a block shows a terminal; `None` where it is a script."""
    if language in _SESSIONS:
        return _PROMPT if any(map(_PROMPT.match, lines)) else None
    if _DOLLAR.match(next(filter(str.strip, lines), "")):
        return _DOLLAR if language else _PROMPT
    # `#` is a prompt where an engine is started behind it and nowhere else; of a script it is a comment.
    typed = list(_typed(lines, _PROMPT))
    left = (line for line, told in zip(lines, typed, strict=True) if not told)
    is_typed = not language and starts_engine(" ".join(typed))
    return _PROMPT if is_typed and not starts_engine(" ".join(left)) else None


def _typed(lines: Sequence[str], prompt: re.Pattern[str]) -> Iterator[str]:
    """What somebody typed, each on its line; what was printed is left out."""
    goes_on = False
    for line in lines:
        found = prompt.match(line)
        told = line[found.end() :] if found is not None else line if goes_on else ""
        goes_on = told.endswith("\\")
        yield told
