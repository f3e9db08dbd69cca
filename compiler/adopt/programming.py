"""A file that is no launch but a program, or for another shell, goes in; what is said of it comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.engines.known import ENGINES
from compiler.source import Source


PYTHON = "Python"
_LANGUAGES = {
    ".py": PYTHON,
    ".ps1": "PowerShell",
    ".bat": "batch",
    ".cmd": "batch",
    ".js": "JavaScript",
    ".ts": "TypeScript",
    ".go": "Go",
    ".rs": "Rust",
    ".nix": "Nix",
    ".tf": "Terraform",
}
_PYTHON = re.compile(
    r"from [\w.]+ import [\w(*]|import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*[ \t]*$|[rf]?\"\"\""
)
_OF_PYTHON = re.compile(r"#!.*\bpython")


def language_of(path: PurePosixPath, text: str) -> str | None:
    """The language that a program is written in; `None` for what is read as a launch."""
    told = _LANGUAGES.get(path.suffix)
    if told is not None or _OF_PYTHON.match(text):
        return told or PYTHON
    lines = (each for each in text.split("\n") if each.strip() and not each.startswith("#"))
    return PYTHON if _PYTHON.match(next(lines, "")) else None


def not_run(source: Source) -> Diagnostic:
    """`launch-unreadable`: what a program starts is known when it runs."""
    language = language_of(PurePosixPath(source.name), source.text)
    places = _mentions(source)
    first = next(places, None)
    return error(
        "launch-unreadable",
        f"`{source.name}` is a program in {language}, which is not run to learn what it starts",
        Label(first, "speaks of the engine") if first is not None else None,
        help=(
            "write its command out, and give that: `poolproof adopt -- python -m sglang.launch_server ...`",
            "or adopt what runs: `xargs -0 poolproof adopt -- < /proc/PID/cmdline`",
        ),
    )


def _mentions(source: Source) -> Iterator[Span]:
    """Where an engine is spoken of: its entry rather than its name."""
    names = [word for engine in ENGINES.values() for word in engine.entry if "." in word]
    for word in (*names, *ENGINES):
        at = source.text.find(word)
        if at >= 0:
            yield source.span(at, at + len(word))
