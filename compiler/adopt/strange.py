"""A text in which no command starts an engine that is known goes in; what is said of one that is not comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compiler.adopt.container import read_container
from compiler.adopt.launch import Command, Sheet
from compiler.adopt.lostflags import behind_flag
from compiler.adopt.programs import PASSING, RAISING, SAYING
from compiler.diagnostics import Diagnostic, Label, Span, error, listed
from compiler.engines import DEFAULT
from compiler.engines.known import ENGINES
from compiler.engines.strangers import Stranger, strange_image, strange_program
from compiler.secrecy import is_secret
from compiler.source import Source


IS_STRANGE = "whose launches are not read here"
"""What is said of an engine that is none of ours."""

_IMAGE = re.compile(
    r"(?m)^[ \t-]*(?:(?:image|repository)[ \t]*:|Image[ \t]*=|(?:FROM|from)(?:[ \t]+--platform=\S+)?[ \t])[ \t]*[\"']?(?P<image>[^\s\"'#]+)"
)
"""Where a compose file, a manifest, a quadlet, or a Dockerfile names an image."""


def strange_finding(whole: Source, sheet: Sheet, *, top: Span) -> Diagnostic | None:
    """`launch-missing`, for a text that starts a server of another engine; `None` where it starts none that is known."""
    for command in sheet.commands:
        told = _by_words(command)
        if told is not None:
            return _finding(told, _span_of(told, command) or top, model=_model(told, command))
    for found in _IMAGE.finditer(whole.text):
        image = strange_image(found["image"])
        if image is not None:
            return _finding(image, whole.span(*found.span("image")))
    return None


def _by_words(command: Command) -> Stranger | None:
    texts = [word.text for word in command.words]
    several = [texts, *(each.split() for each in texts if " " in each)]
    if _is_saying(texts):
        return None
    programs = (strange_program(each) for each in several if not _is_saying(each))
    program = next((each for each in programs if each is not None), None)
    if program is not None:
        return program
    images = (strange_image(each) for each in _images(command))
    return next((each for each in images if each is not None), None)


def _is_saying(texts: Sequence[str]) -> bool:
    """Whether words are only said, or looked for."""
    names = (each.rpartition("/")[2] for each in texts)
    first = next((each for each in names if each not in RAISING and each not in PASSING), "")
    return first in SAYING


def _images(command: Command) -> Iterator[str]:
    container = read_container(command.words)
    if container is not None:
        yield container.image.text
    if command.image is not None:
        yield command.image.text
    for word in command.words:
        if word.text.startswith(("docker://", "--image=")):
            yield word.text.removeprefix("--image=")


def _span_of(told: Stranger, command: Command) -> Span | None:
    """The place of the word that tells it."""
    if told.is_image and command.image is not None and told.words in command.image.text:
        return command.image.span
    first, *rest = told.words.split()
    named = rest[0] if first == "-m" else first
    return next((word.span for word in command.words if named in word.text), None)


_MODEL = re.compile(r"[\w./-]+")
"""What a model's id or path is of; nothing else of a command is repeated."""


def _model(told: Stranger, command: Command) -> str | None:
    """The model that stands behind no flag, right behind the words that start the server."""
    start = told.words.split()
    if told.is_image or start[0] == "-m":
        return None
    for texts in (
        [word.text for word in command.words],
        *(word.text.split() for word in command.words),
    ):
        for at in range(len(texts) - len(start)):
            first, *others = texts[at : at + len(start)]
            if [first.rpartition("/")[2], *others] == start:
                word = texts[at + len(start)]
                is_model = _MODEL.fullmatch(word) and not word.startswith("-")
                return word if is_model and not is_secret("model", word) else None
    return None


def _finding(told: Stranger, span: Span, *, model: str | None = None) -> Diagnostic:
    is_ = "is an image of" if told.is_image else "starts"
    launches = listed([f"`{each}`" for engine in ENGINES.values() for each in engine.launches])
    flags = "its flags"
    if model is not None:
        flags = f"`{behind_flag(model, DEFAULT)}` and its flags"
    advice = (
        f"to run its model on `{DEFAULT}`, write {flags} behind `{ENGINES[DEFAULT].launches[0]}`: "
        f"`poolproof predict` says of each flag of {told.name} what it is called there"
    )
    return error(
        "launch-missing",
        f"`{told.words}` {is_} {told.name}, {IS_STRANGE}",
        Label(span, "another engine"),
        notes=(f"read are those of {listed([f'`{each}`' for each in ENGINES])}: {launches}",),
        help=(advice,) if told.is_known else (),
    )
