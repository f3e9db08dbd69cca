"""The GPUs of a container and `CUDA_VISIBLE_DEVICES` go in; which of the host's a launch sees comes out."""

from __future__ import annotations

import re

from compiler.adopt.launch import Change, Devices, Setting, Word
from compiler.engines.adopting import ChangeKind
from compiler.quantities import counted


_INDICES = re.compile(r"\d+(,\d+)*")


def visible_gpus(
    devices: Devices | None, visible: Word | None, *, count: int, in_order: bool
) -> tuple[Setting | None, tuple[Change, ...]]:
    """`gpus.indices`, and what is to be said about it; `count` GPUs are what the layout takes, the first ones if `in_order`.

    Inside of a container the variable counts the GPUs that it was given.
    """
    told = _named(visible) if visible is not None else None
    given = devices.indices if devices is not None else ()
    if visible is not None and told is None:
        return None, ()
    if told is not None and visible is not None:
        if not given:
            return _setting(told, visible), ()
        if max(told) < len(given):
            return _setting([given[at] for at in told], visible), ()
        text = f"`CUDA_VISIBLE_DEVICES={visible.text}` names a GPU that the container with {counted(len(given), 'GPU')} does not have"
        return _setting(list(given), visible), (
            Change(kind=ChangeKind.DROPPED, text=text, span=visible.span),
        )
    if devices is None:
        return None, ()
    if given:
        return _first(given, devices, count=count if in_order else len(given))
    if devices.count == count:
        return None, ()
    has = "all GPUs of the host" if devices.count is None else counted(devices.count, "GPU")
    text = f"the container is given {has}; `gpus.count` is what the layout takes: {count}"
    return None, (Change(kind=ChangeKind.ASSUMED, text=text, span=devices.span),)


def _first(
    given: tuple[int, ...], devices: Devices, *, count: int
) -> tuple[Setting, tuple[Change, ...]]:
    """The GPUs that ranks are put on, of those that a container has."""
    setting = Setting(path=("gpus", "indices"), value=list(given[:count]), span=devices.span)
    if len(given) <= count:
        return setting, ()
    text = f"of the container's {counted(len(given), 'GPU')} the layout takes the first {count}: `gpus.indices = {list(given[:count])}`"
    return setting, (Change(kind=ChangeKind.ASSUMED, text=text, span=devices.span),)


def _named(visible: Word) -> list[int] | None:
    """The indices of the variable, where they are written as `gpus.indices` writes them."""
    if _INDICES.fullmatch(visible.text) is None:
        return None
    indices = [int(each) for each in visible.text.split(",")]
    return indices if ",".join(map(str, indices)) == visible.text else None


def _setting(indices: list[int], word: Word) -> Setting:
    return Setting(path=("gpus", "indices"), value=indices, span=word.span)
