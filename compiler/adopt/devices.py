"""What a container is told of devices goes in; which GPUs of the host its launch has comes out.

docs.docker.com (`docker run --gpus`, Compose's `gpus` and `device_ids`), podman-run(1) and the Container Device
Interface (`nvidia.com/gpu=0`), and the NVIDIA container toolkit (`NVIDIA_VISIBLE_DEVICES`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import evolve

from compiler.adopt.launch import Devices, Word


_INDEX = re.compile(r"\d+")
_INTERFACE = re.compile(r"nvidia\.com/gpu=(?P<which>[^:]+)")
_NODE = re.compile(r"/dev/nvidia(?P<index>\d+)(?::.*)?")
_BY_DEVICE = frozenset({"device", "adddevice", "devices"})
VISIBLE_INSIDE = "NVIDIA_VISIBLE_DEVICES"
"""Which GPUs the NVIDIA runtime gives a container."""


def devices_of(option: str, word: Word) -> Devices | None:
    """The GPUs that one option asks for; `None` where it asks for none, or for some that have no index."""
    if word.unknown:
        return None
    name = option.lstrip("-").lower()
    if name == "gpus":
        return _request(word)
    if name in _BY_DEVICE:
        found = _INTERFACE.fullmatch(word.text)
        node = _NODE.fullmatch(word.text)
        which = found["which"] if found else node["index"] if node else ""
        return _listed([which], word) if which else None
    if option == VISIBLE_INSIDE:
        return _listed(word.text.split(","), word)
    return None


def all_of(several: Iterable[Devices]) -> Devices | None:
    """What several options ask for together."""
    told = list(several)
    if not told:
        return None
    indices = tuple(dict.fromkeys(at for each in told for at in each.indices))
    unbound = next((each for each in told if not each.indices), None)
    return unbound or evolve(told[0], indices=indices)


def listed(words: Iterable[Word], *, shown: Word) -> Devices | None:
    """The GPUs of a list of their indices."""
    several = list(words)
    if any(each.unknown for each in several):
        return None
    return _listed([each.text for each in several], shown)


def _request(word: Word) -> Devices | None:
    """`all`, `2`, `count=2`, `device=4,5`, `"device=4,5",capabilities=utility`."""
    which: list[str] = []
    count: str | None = None
    in_list = False
    for part in word.text.replace('"', "").replace("'", "").split(","):
        key, equals, value = part.strip().partition("=")
        if equals:
            in_list = key == "device"
            which += [value] if in_list else []
            count = value if key == "count" else count
        elif in_list:
            which.append(key)
        else:
            count = key
    if which:
        return _listed(which, word)
    return counted(evolve(word, text=count)) if count is not None else None


def counted(word: Word) -> Devices | None:
    """So many GPUs, or all."""
    if word.text in {"all", "-1"}:
        return Devices(span=word.span)
    is_count = _INDEX.fullmatch(word.text) is not None and int(word.text) > 0
    return Devices(count=int(word.text), span=word.span) if is_count else None


def _listed(which: list[str], word: Word) -> Devices | None:
    names = [each.strip() for each in which]
    if names == ["all"]:
        return Devices(span=word.span)
    if not names or not all(_INDEX.fullmatch(each) for each in names):
        return None
    indices = tuple(dict.fromkeys(int(each) for each in names))
    return Devices(indices=indices, span=word.span)
