"""A finding about what `init` would write goes in; the same in words of its options comes out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve

from compiler.adopt.advice import only_in_flags
from compiler.diagnostics import Diagnostic, Label
from compiler.memory.outcome import MEMORY_CODES


_OPTIONS: Mapping[str, str] = {
    "serve.context": "--context",
    "serve.concurrency": "--concurrency",
    "gpus.count": "--count",
    "engine.version": "--engine",
    "engine.python": "--python",
    "gpus.kind": "--gpu",
    "model.id": "--model",
    "memory.kv_dtype": "--kv-dtype",
}


_TYPED: Mapping[str, str] = {
    "id": "--model",
    "kind": "--gpu",
    "count": "--count",
    "version": "--engine",
    "python": "--python",
    "context": "--context",
    "concurrency": "--concurrency",
}
"""The option that a line of the new profiles was made of, by its key."""


def in_options(
    found: Diagnostic, texts: Mapping[str, str], most: Mapping[str, int] | None = None
) -> Diagnostic:
    """A finding in words of the options of `init`: no file is written that it could point into.

    One that is about a file that stands keeps its place.

    Args:
        found: of the profiles that would have been written.
        texts: these, by the path that a finding names.
        most: what passes of an option, which may be less than what this finding alone allows.
    """
    if found.primary is not None and found.primary.span.file not in texts:
        return found
    labels = (found.primary, *found.secondary)
    told = (_note(each, texts) for each in labels if each is not None and each.text)
    notes = tuple(dict.fromkeys(filter(None, told)))
    bare = evolve(found, primary=None, secondary=(), notes=(*notes, *found.notes))
    if found.code in MEMORY_CODES:
        return evolve(bare, help=())
    # A flag of the engine is no option of `init`: it is set in what is written.
    later = tuple(line for line in bare.help if "flags." in line or "`[flags]`" in line)
    now = tuple(line for line in bare.help if line not in later)
    asked = only_in_flags(evolve(bare, help=now), _OPTIONS)
    now = tuple(_at_most(line, most or {}) for line in asked.help)
    return evolve(asked, help=(*now, *(_later(line, first=not now) for line in later)))


def _later(line: str, *, first: bool) -> str:
    """What is changed in what is written, as one of several ways where it is one."""
    way = line.removeprefix("or ")
    return f"{'' if way == line or first else 'or, '}once it is written, {way}"


_LIMIT = re.compile(r"`(?P<option>--[a-z-]+) (?P<most>\d+)` or less")


def _at_most(line: str, most: Mapping[str, int]) -> str:
    """The same with the number that passes, where that is less than what one finding asks for."""

    def told(match: re.Match[str]) -> str:
        option, limit = match["option"], int(match["most"])
        return f"`{option} {min(limit, most.get(option, limit))}` or less"

    return _LIMIT.sub(told, line)


def _note(label: Label, texts: Mapping[str, str]) -> str | None:
    lines = texts.get(label.span.file, "").splitlines()
    if not 0 < label.span.line <= len(lines):
        return None
    key, _, value = lines[label.span.line - 1].partition(" = ")
    said = value.partition("  #")[0].replace("_", "").strip('"')
    if key in _TYPED:
        return f"`{_TYPED[key]} {said}`: {label.text}"
    if key in {"tensor", "pipeline", "data", "expert"}:
        return f"`{key} = {said}`: {label.text}"
    if key != "fraction":
        return None
    # Where nothing holds the promise, it was raised as far as it goes.
    most = label.text.removeprefix("comes to ")
    if most != label.text:
        return f"the fraction of the memory, raised as far as it goes to {most}"
    return f"the fraction of the memory {label.text}"
