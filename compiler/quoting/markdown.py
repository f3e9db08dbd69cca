"""Encoders for Markdown: text that stays text, a table's cell, inline code, and a block of code."""

from __future__ import annotations

import re
from functools import lru_cache

from compiler.quoting.encoders import Encoded
from compiler.quoting.markup import markup_text


# What CommonMark or GitHub's tables would read as markup; text in backticks is kept as code.
_MARKUP = re.compile(r"[\\*_\[\]<>|~#`]")
_CODE = re.compile(r"(`[^`\n]+`)")
_RUN = re.compile(r"`+")


def markdown_text(value: str) -> Encoded:
    """One line of prose; what stands in single backticks stays code, all else is no markup."""
    return Encoded(_prose(" ".join(value.split())))


@lru_cache(maxsize=4096)  # the tables of a tree's services say much the same
def markdown_cell(value: str) -> Encoded:
    """The same for a table's cell, where a bar ends it even in code."""
    return Encoded(_prose(" ".join(value.split())).replace("\\|", "|").replace("|", "\\|"))


def markdown_code(value: str) -> Encoded:
    """Inline code, its fence longer than any run of backticks inside."""
    line = " ".join(value.split("\n"))
    fence = "`" * (max((len(run) for run in _RUN.findall(line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return Encoded(f"{fence}{pad}{line}{pad}{fence}")


def markdown_code_cell(value: str) -> Encoded:
    """Inline code for a table's cell, where a bar ends the cell even in code (GitHub Flavored Markdown, "Tables")."""
    return Encoded(markdown_code(value).replace("|", "\\|"))


def html_text(value: str) -> Encoded:
    """One line of text inside an HTML element, such as `<summary>`, where no Markdown is read."""
    return markup_text(" ".join(value.split()))


def markdown_lines(value: str) -> Encoded:
    """Lines for the inside of a fenced block of four backticks; a line that would close it is indented."""
    return Encoded(
        "\n".join(f" {line}" if line.startswith("````") else line for line in value.split("\n"))
    )


def _prose(value: str) -> str:
    if "`" not in value:
        return _escaped(value)
    parts = _CODE.split(value)
    return "".join(
        part if part.startswith("`") and len(part) > 1 else _escaped(part) for part in parts
    )


def _escaped(part: str) -> str:
    return _MARKUP.sub(_behind_backslash, part)


def _behind_backslash(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
