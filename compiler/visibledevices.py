"""A value of `CUDA_VISIBLE_DEVICES` goes in; the GPUs that CUDA shows a program come out, and why they are not all it names."""

from __future__ import annotations

import re

from attrs import frozen

from compiler.value import Value


VISIBLE = "CUDA_VISIBLE_DEVICES"

_NUMBER = re.compile(r"\+?([0-9]{1,9})(?![0-9])")
_BY_NAME = ("GPU-", "MIG-")


@frozen(kw_only=True, eq=False, repr=False)
class Shown(Value):
    """What a program sees.

    Attributes:
        gpus: indices, or names that begin with `GPU-` or `MIG-`, in the order in which CUDA counts them.
        because: why it is less than the value names, or nothing; `None` where it is all.
    """

    gpus: tuple[str, ...]
    because: str | None = None

    @property
    def indices(self) -> tuple[int, ...] | None:
        """The same as numbers; `None` where one is a name."""
        return tuple(map(int, self.gpus)) if all(map(str.isdigit, self.gpus)) else None


def shown_by(value: str) -> Shown:
    """What CUDA shows: the GPUs before the first word that is none, and none at all where one is named twice.

    CUDA programming guide, "CUDA Environment Variables": an empty value shows no device, and an index that is none ends
    the list. PyTorch's torch/cuda/__init__.py, `_parse_visible_devices`, follows the driver in what is not said there: one
    that is named twice leaves none, a list is of numbers or of names of one kind, and what follows a number in its word is
    not read.
    """
    if not value.strip():
        return Shown(gpus=(), because="it is empty, and CUDA shows no GPU then")
    kind = next((each for each in _BY_NAME if value.strip().startswith(each)), None)
    gpus, odd = list[str](), list[str]()
    for word in map(str.strip, value.split(",")):
        found = _device(word, kind)
        if found is None:
            ends = f"`{word}`" if word else "an empty word"
            because = f"CUDA reads it up to {ends}, which names no GPU"
            return Shown(gpus=tuple(gpus), because=because)
        if found in gpus:
            return Shown(gpus=(), because=f"it names `{word}` twice, and CUDA shows no GPU then")
        gpus.append(found)
        odd += [f"of `{word}` it reads `{found}`"] if kind is None and not word.isdigit() else []
    return Shown(
        gpus=tuple(gpus), because=f"CUDA takes numbers only: {', '.join(odd)}" if odd else None
    )


def _device(word: str, kind: str | None) -> str | None:
    if kind is not None:
        return word if word.startswith(kind) else None
    number = _NUMBER.match(word)
    return None if number is None else str(int(number[1]))
