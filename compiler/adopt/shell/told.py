"""A command that sets variables by their names goes in, with its input; what a script has said behind it comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import evolve

from compiler.adopt.launch import Word
from compiler.adopt.shell.known import Known, forgotten, more_word
from compiler.adopt.shell.pieces import fields
from compiler.adopt.shell.printing import formatted


_LISTING = frozenset({"mapfile", "readarray"})
READING = frozenset({"read", *_LISTING, "getopts"})
"""They set variables from what is known at the start only, unless it stands beside them."""
_HARMLESS = re.compile(r"-[ersa]+")
_NAME = re.compile(r"[A-Za-z_]\w*")


def behind_reading(
    known: Known, words: Sequence[Word], text: Word | None, *, ifs: str | None
) -> Known:
    """Behind `read` and its like; `ifs` separates the words of a line."""
    texts = [each.text for each in words]
    names = {known.named(each) for each in texts[1:] if not each.startswith("-")}
    lists = {each for each in names if each in known.arrays} | set(_list_names(texts))
    known = forgotten(known, names)
    for name in names & known.said.keys():
        known = known.with_text(name, known.unsure(name))
    for name in lists:
        known = known.with_list(name, (more_word(name),))
    to_the_end = any(one[:1] == "-" and one[-1:] == "d" and not end for one, end in pairwise(texts))
    if texts[0] == "read" and text is not None and to_the_end and not lists:
        return known.with_text(texts[-1], evolve(text, text=text.text.strip()))
    if text is None or text.unknown:
        return known
    return _filled(known, texts, text, ifs=ifs)


def _list_names(texts: Sequence[str]) -> Iterator[str]:
    """The lists that a command fills."""
    if texts[0] in _LISTING:
        yield texts[-1] if len(texts) > 1 and not texts[-1].startswith("-") else "MAPFILE"
    elif texts[0] == "read":
        for option, name in pairwise(texts):
            if re.fullmatch(r"-[ers]*a", option):
                yield name


def _filled(known: Known, texts: Sequence[str], text: Word, *, ifs: str | None) -> Known:
    """With the words of a known text, by the options that change nothing else."""
    options = [each for each in texts[1:] if each.startswith("-")]
    names = [each for each in texts[1:] if not each.startswith("-")]
    if texts[0] in _LISTING and options in ([], ["-t"]) and len(names) == 1:
        lines = text.text.removesuffix("\n").split("\n") if text.text else []
        end = "" if options else "\n"
        return known.with_list(names[0], tuple(evolve(text, text=f"{each}{end}") for each in lines))
    is_plain = texts[0] == "read" and all(_HARMLESS.fullmatch(each) for each in options)
    line, _, _ = text.text.partition("\n")
    if not is_plain or ifs is None or not all(map(_NAME.fullmatch, names)):
        return known
    if "\\" in line and not any("r" in each for each in options):
        return known
    parts = fields(line, ifs)
    if any("a" in each for each in options):
        told = tuple(evolve(text, text=each) for each in parts)
        return known.with_list(names[0], told) if len(names) == 1 else known
    if len(parts) > len(names) and len(names) != 1:
        # What is left over keeps its separators, and nobody needs it.
        return known
    if len(names) == 1:
        blanks = "".join(each for each in ifs if each in " \t\n")
        parts = [line.strip(blanks)]
    for name, part in zip(names, [*parts, *[""] * len(names)], strict=False):
        known = known.with_text(known.named(name), evolve(text, text=part))
    return known


def behind_printf(known: Known, words: Sequence[Word]) -> Known:
    """Behind `printf -v NAME FORMAT ...`."""
    name = known.named(words[2].text)
    if _NAME.fullmatch(name) is None:
        # An element of a list.
        name = known.named(re.sub(r"\W.*", "", name, flags=re.DOTALL))
        return known.with_list(name, (more_word(name),))
    text = formatted([each.text for each in words[3:]])
    if text is None:
        return known.with_text(name, known.unsure(name))
    told = Word(
        text=text,
        span=words[0].span,
        unknown=tuple(part for each in words[3:] for part in each.unknown),
        changes=tuple(change for each in words[3:] for change in each.changes),
        names=tuple(name for each in words[3:] for name in each.names),
    )
    return known.with_text(name, told)
