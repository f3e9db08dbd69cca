"""The text of a file that a launch names, where it is here: the engine's own, such as that of `--config`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from compiler.engines.engine import NoText, ReadFile


if TYPE_CHECKING:
    from compiler.adopt.launch import Launch


_LARGEST_BYTES = 2**20
"""Of a file with a flag on each line."""


def named_text(path: str, *, folder: Path = Path()) -> str | NoText:
    """What a file holds; a relative path is one below `folder`, and an absolute one may be of the host.

    A pipe or a device is not read: it may have no end, or nothing to say.
    """
    place = folder / path
    try:
        mode = place.stat().st_mode
        if not S_ISREG(mode):
            return NoText.FOLDER if S_ISDIR(mode) else NoText.DEVICE
        with place.open("rb") as file:
            # One byte more tells that a file is too large: what is cut off would count as not set.
            data = file.read(_LARGEST_BYTES + 1)
        return NoText.LARGE if len(data) > _LARGEST_BYTES else data.decode()
    except (FileNotFoundError, NotADirectoryError):
        return NoText.HOST if Path(path).is_absolute() else NoText.ABSENT
    except UnicodeDecodeError:
        return NoText.BINARY
    except (OSError, ValueError):  # a name of no file: too long, or with a zero in it
        return NoText.UNREADABLE


def text_beside(launch: Launch, *, written: Mapping[str, str]) -> ReadFile:
    """What reads a file that a launch names; its relative path is one beside the file that holds the launch.

    One that is `written` before the launch is that.
    """
    from compiler.adopt.launchfaults import entry_span  # noqa: PLC0415 - only a verb that reads launches has it

    span = entry_span(launch)
    folder = Path(span.file).parent if span is not None else Path()
    read = partial(named_text, folder=folder)
    return lambda path: written[path] if path in written else read(path)
