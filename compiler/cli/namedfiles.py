"""The text of a file that a launch names, where it is here: the engine's own, such as that of `--config`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.engines.engine import NoText, ReadFile


if TYPE_CHECKING:
    from compiler.adopt.launch import Launch


_LARGEST_BYTES = 2**20
"""Of a file with a flag on each line; a device has no end."""


def named_text(path: str, *, folder: Path = Path()) -> str | NoText:
    """What a file holds; a relative path is one below `folder`, and an absolute one may be of the host."""
    try:
        with (folder / path).open("rb") as file:
            return file.read(_LARGEST_BYTES).decode()
    except FileNotFoundError:
        return NoText.ELSEWHERE if Path(path).is_absolute() else NoText.ABSENT
    except (OSError, ValueError):
        return NoText.ELSEWHERE


def text_beside(launch: Launch) -> ReadFile:
    """What reads a file that a launch names; its relative path is one beside the file that holds the launch."""
    from compiler.adopt.launchfaults import entry_span  # noqa: PLC0415 - only a verb that reads launches has it

    span = entry_span(launch)
    folder = Path(span.file).parent if span is not None else Path()
    return partial(named_text, folder=folder)
