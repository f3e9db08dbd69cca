"""A script that is one word of a command goes in; its commands come out, with places where the word stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attrs import evolve

from compiler.adopt.files import Files
from compiler.adopt.launch import Command, Sheet, Word
from compiler.adopt.masking import masked, unmasked
from compiler.adopt.places import locate
from compiler.adopt.shell import read_shell
from compiler.source import Source


SHELL_OPTION = re.compile(r"-[a-z]*c[a-z]*")
"""What a shell is told a script by."""
EVAL = "eval"


def nested_sheet(
    words: Sequence[Word],
    script: int,
    *,
    sources: Mapping[str, Source],
    outer: Command,
    files: Files,
    said: Mapping[str, str],
) -> Sheet:
    """A script in a word; its places are looked for where the word stands.

    What it is started with, it can use: the variables that it gets, and the words behind it.
    """
    word, arguments = words[script], None
    if words[0].text == EVAL:
        word = evolve(
            word,
            text=" ".join(each.text for each in words[1:]),
            unknown=tuple(part for each in words[1:] for part in each.unknown),
        )
    elif script and SHELL_OPTION.fullmatch(words[script - 1].text):
        arguments = words[script + 2 :]
    given = {name: each.text for name, each in outer.environment.items() if not each.unknown}
    span = word.span
    # Its caller has replaced these parts before it is read: no quote holds them back.
    text, signs = masked(word)
    inside = Source(span.file if span else "", text)
    sheet = read_shell(inside, given=given, said=said, arguments=arguments, files=files)
    # Places in it are none of the file's.
    sheet = evolve(
        sheet,
        commands=unmasked(sheet.commands, signs, lambda each: span or each),
        diagnostics=unmasked(sheet.diagnostics, signs, lambda each: span or each),
    )
    source = sources.get(span.file) if span is not None else None
    if source is None or span is None:
        return sheet
    start, end = source.extent(span)
    commands: list[Command] = []
    for command in sheet.commands:
        spans = list(locate(source, [each.text for each in command.words], start=start, end=end))
        told = tuple(evolve(each, span=at) for each, at in zip(command.words, spans, strict=True))
        environment = {name: evolve(each, span=span) for name, each in command.environment.items()}
        commands.append(
            evolve(
                command,
                words=told,
                environment=environment,
                called=span if command.called else None,
            )
        )
        start = source.extent(spans[-1])[1] if spans else start
    return Sheet(commands=tuple(commands), diagnostics=sheet.diagnostics)
