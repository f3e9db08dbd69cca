"""The GPUs of a container and `CUDA_VISIBLE_DEVICES` go in; which of the host's a launch sees comes out."""

from __future__ import annotations

from compiler.adopt.launch import Change, Devices, Setting, Word
from compiler.engines.adopting import ChangeKind
from compiler.quantities import counted
from compiler.visibledevices import VISIBLE, Shown, shown_by


def visible_gpus(
    devices: Devices | None, visible: Word | None, *, count: int, in_order: bool
) -> tuple[Setting | None, tuple[Change, ...]]:
    """`gpus.indices`, and what is to be said about it; `count` GPUs are what the layout takes, the first ones if `in_order`.

    Inside of a container the variable counts the GPUs that it was given.
    """
    given = devices.indices if devices is not None else ()
    if visible is not None:
        shown = Shown(gpus=()) if visible.unknown else shown_by(visible.text)
        told = shown.indices
        if not told:
            return None, ()
        if not given:
            return _of_variable(told, shown, visible, count=count if in_order else len(told))
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


def _of_variable(
    told: tuple[int, ...], shown: Shown, visible: Word, *, count: int
) -> tuple[Setting, tuple[Change, ...]]:
    """The GPUs that ranks are put on, of those that the variable shows."""
    changes = []
    if shown.because is not None:
        text = f"`{VISIBLE}={visible.text}` shows the server {counted(len(told), 'GPU')}: {shown.because}"
        changes.append(Change(kind=ChangeKind.ASSUMED, text=text, span=visible.span))
    if len(told) > count:
        text = f"of the {counted(len(told), 'GPU')} of `{VISIBLE}={visible.text}` the layout takes the first {count}: `gpus.indices = {list(told[:count])}`"
        changes.append(Change(kind=ChangeKind.ASSUMED, text=text, span=visible.span))
    return _setting(list(told[:count]), visible), tuple(changes)


def _first(
    given: tuple[int, ...], devices: Devices, *, count: int
) -> tuple[Setting, tuple[Change, ...]]:
    """The GPUs that ranks are put on, of those that a container has."""
    setting = Setting(path=("gpus", "indices"), value=list(given[:count]), span=devices.span)
    if len(given) <= count:
        return setting, ()
    text = f"of the container's {counted(len(given), 'GPU')} the layout takes the first {count}: `gpus.indices = {list(given[:count])}`"
    return setting, (Change(kind=ChangeKind.ASSUMED, text=text, span=devices.span),)


def _setting(indices: list[int], word: Word) -> Setting:
    return Setting(path=("gpus", "indices"), value=indices, span=word.span)
