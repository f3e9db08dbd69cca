"""Two texts go in, or a comparison of `out/` with what is produced; the unified diff comes out."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.tree.manifest import mode
from compiler.tree.states import Comparison, Difference, Version


_NOWHERE = "/dev/null"
_NO_LINE_END = "\\ No newline at end of file\n"


def unified_diff(comparison: Comparison, *, prefix: str = "out") -> str:
    """What a compile would change in `out/`, file by file; empty when that is nothing.

    Files that are nobody's have no part in it. A changed executable bit is a line of its own, `mode 644 -> 755`.
    """
    return "".join(
        line for difference in comparison.differences for line in _diff(difference, prefix=prefix)
    )


def _diff(difference: Difference, *, prefix: str) -> Iterator[str]:
    before, after = difference.standing, difference.wanted
    if before == after or (after is None and not difference.is_unwanted):
        return
    name = f"{prefix}/{difference.path}"
    names = (name if before else _NOWHERE, name if after else _NOWHERE)
    if before and after and before.executable != after.executable:
        bits = (mode(executable=each.executable) for each in (before, after))
        yield f"--- {names[0]}\n+++ {names[1]}\nmode {' -> '.join(bits)}\n"
    yield from changed_lines(_text(before), _text(after), names=names)


def _text(version: Version | None) -> str:
    return "" if version is None else version.content.decode("utf-8", "backslashreplace")


def changed_lines(before: str, after: str, *, names: tuple[str, str]) -> Iterator[str]:
    """The unified diff of two texts, line by line, each with its end; `names` are what both are called."""
    from difflib import unified_diff as diff_lines  # noqa: PLC0415 - few runs show a difference

    for line in diff_lines(_lines(before), _lines(after), *names):
        yield line if line.endswith("\n") else f"{line}\n{_NO_LINE_END}"


def _lines(text: str) -> list[str]:
    r"""The lines with their ends; only `\n` ends a line, as in systemd and TOML."""
    rows = text.split("\n")
    return [f"{row}\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])
