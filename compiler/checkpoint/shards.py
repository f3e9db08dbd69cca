"""The names of weight files in; which of a numbered set is not among them, and which are of a format that is not read, out.

A folder without an index tells what it should hold by its names alone: `model-00003-of-00004.safetensors`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path


_NUMBERED = re.compile(r"(?P<set>.*?)(?P<number>[0-9]{1,9})-of-(?P<total>[0-9]{1,9})(?P<end>\.\w+)")


def absent_shards(names: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Of each set that is not whole its first absent file, how many there are, and how many there should be.

    Sets are counted from 1; one that has a file 0 is counted from 0.
    """
    sets: dict[tuple[str, str, str, int], set[int]] = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found is not None:
            key = (found["set"], found["total"], found["end"], len(found["number"]))
            sets.setdefault(key, set()).add(int(found["number"]))
    for (start, total, end, digits), numbers in sets.items():
        if len(numbers) < int(total):
            first = next(each for each in count(0 if 0 in numbers else 1) if each not in numbers)
            yield f"{start}{first:0{digits}}-of-{total}{end}", len(numbers), int(total)


_UNREAD = ("*.gguf", "pytorch_model*.bin", "consolidated*.pth")
"""Weights whose headers are not read: a pickle runs code, and GGUF has number formats of its own."""


def unread_weights(folder: Path) -> tuple[str, ...]:
    """The weight files of a folder in other formats, GGUF first."""
    return tuple(name for pattern in _UNREAD for name in files_like(folder, pattern))


def files_like(folder: Path, pattern: str) -> list[str]:
    """The names of a folder that a pattern is of, sorted; none of a folder that cannot be looked at."""
    try:
        return sorted(each.name for each in folder.glob(pattern))
    except OSError:  # a name that is too long; reading the config says so
        return []
