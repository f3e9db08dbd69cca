"""The folder of a checkpoint in; its config and all its tensors out, or everything that is wrong with it.

Read are `config.json`, the index, and the headers of the weight files: a second for 200,000 tensors.
"""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from compiler.checkpoint.headers import (
    Header,
    checkpoint_fault,
    parse_json,
    read_header,
    regular_size,
)
from compiler.checkpoint.shards import absent_shards, files_like, unread_weights
from compiler.diagnostics import Diagnostic, reason_of
from compiler.value import Value


INDEX = "model.safetensors.index.json"
CONFIG = "config.json"
_LARGEST_TABLE = 2**28
"""Of a config or an index; the index of two hundred thousand tensors has 20 MB."""
_SINGLE = "model.safetensors"
_MODELOPT = "hf_quant_config.json"
_SUFFIX = ".safetensors"
_NUMBER = re.compile(r"\.\d+(?=\.|$)")
_STACKS = (".layers.", ".blocks.")


@frozen(eq=False, repr=False)
class Kind(Value):
    """Tensors that are alike: one name with its numbers left out, one number format, one shape, one layer.

    Attributes:
        name: with `N` for every number.
        bits: of an element.
        layer: `None` outside the layers.
    """

    name: str
    bits: int
    shape: tuple[int, ...]
    layer: int | None

    @property
    def elements(self) -> int:
        """Elements of one such tensor."""
        elements = 1
        for each in self.shape:
            elements *= each
        return elements


@frozen(kw_only=True, eq=False, repr=False)
class Checkpoint(Value):
    """What a folder holds.

    Attributes:
        config: the values of its `config.json`.
        kinds: how many tensors of each kind there are.
        tensors: how many there are in all.
        bytes: what the weight files hold, without their headers.
    """

    config: Mapping[str, Any]
    kinds: Mapping[Kind, int] = field(repr=False)
    tensors: int
    bytes: int


def read_checkpoint(
    folder: Path, *, shown: str | None = None
) -> tuple[Checkpoint | None, tuple[Diagnostic, ...]]:
    """Read a folder; `shown` is its name in messages. All faults of all files are found. Code: `checkpoint-invalid`."""
    with _uncollected():
        return _read(folder, shown if shown is not None else folder.as_posix())


def read_config(
    folder: Path, *, shown: str
) -> tuple[Mapping[str, Any] | None, tuple[Diagnostic, ...]]:
    """The config of a folder without any weight files; `shown` is its name in messages. Code: `checkpoint-invalid`."""
    return _config(folder, shown)


def has_weights(folder: Path) -> bool:
    """Whether there is any weight file, or an index that names some."""
    return _exists(folder / INDEX) or bool(_loose(folder))


def _exists(path: Path) -> bool:
    """Whether there is such a file; no, too, where it cannot be looked at: reading the config says why."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises for a name that is too long


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without a search for cycles: headers are a million small values without any, and it would take a sixth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(folder: Path, name: str) -> tuple[Checkpoint | None, tuple[Diagnostic, ...]]:
    config, faults = _config(folder, name)
    index, found = _index(folder, name)
    faults = (*faults, *found)
    if index is None:
        return None, faults
    expected = Counter(index.values())
    files = sorted(expected) if index else _loose(folder)
    if not files:
        others = tuple(f"`{each}` is not read" for each in unread_weights(folder)[:1])
        none = checkpoint_fault(name, f"the folder has no `*{_SUFFIX}` files", *others)
        return None, (*faults, none)
    if not index:
        faults = (*faults, *_absent(files, name))
    counts: Counter[_Likeness] = Counter()
    names: dict[str, str] = {}
    for file in files:
        header, found = read_header(folder / file, shown=f"{name}/{file}")
        faults = (*faults, *found)
        if header is not None:
            _count(header, counts, names)
            if index:
                faults = (*faults, *_disagreements(header, index, file, expected[file], name))
    if faults or config is None:
        return None, faults
    kinds = _kinds(counts)
    return Checkpoint(
        config=config,
        kinds=kinds,
        tensors=counts.total(),
        bytes=sum(kind.elements * kind.bits * count for kind, count in kinds.items()) // 8,
    ), ()


def _config(folder: Path, name: str) -> tuple[dict[str, Any] | None, tuple[Diagnostic, ...]]:
    """The config; older exports of ModelOpt keep what they quantized in a file beside it."""
    config, faults = _table(folder / CONFIG, shown=f"{name}/{CONFIG}")
    if config is None or "quantization_config" in config or not _exists(folder / _MODELOPT):
        return config, faults
    beside, found = _table(folder / _MODELOPT, shown=f"{name}/{_MODELOPT}")
    stored = None if beside is None else beside.get("quantization")
    if isinstance(stored, dict):
        config["quantization_config"] = {"quant_method": "modelopt", **stored}
    elif stored is not None:
        found = (checkpoint_fault(f"{name}/{_MODELOPT}", "`quantization` is no table"),)
    return config, (*faults, *found)


def _table(path: Path, *, shown: str) -> tuple[dict[str, Any] | None, tuple[Diagnostic, ...]]:
    try:
        if regular_size(path) > _LARGEST_TABLE:
            return None, (checkpoint_fault(shown, "the file holds more than 256 MiB; none does"),)
        values = parse_json(path.read_bytes())
    except OSError as fault:
        reason = reason_of(fault)
        return None, (checkpoint_fault(shown, f"the file cannot be read: {reason}"),)
    if isinstance(values, str):
        return None, (checkpoint_fault(shown, f"the file is no JSON: {values}"),)
    return values, ()


def _index(folder: Path, name: str) -> tuple[dict[str, str] | None, tuple[Diagnostic, ...]]:
    """Which file holds which tensor; nothing when there is no index, `None` when it is broken."""
    path, shown = folder / INDEX, f"{name}/{INDEX}"
    if not _exists(path):
        return {}, ()
    values, faults = _table(path, shown=shown)
    if values is None:
        return None, faults
    places = values.get("weight_map")
    if not isinstance(places, dict) or not places:
        return None, (checkpoint_fault(shown, "`weight_map` is no table of names"),)
    # There are many tensors to a file: each name of one is looked at once.
    texts = set(map(type, places.values())) == {str}
    if not texts or not all(map(_is_plain, set(places.values()))):
        tensor = next(name for name, file in places.items() if not _is_plain(file))
        return None, (
            checkpoint_fault(shown, f"`weight_map.{tensor}` names no file of the folder"),
        )
    return places, ()


def _is_plain(file: object) -> bool:
    """Whether it is the name of a weight file in the folder itself."""
    return (
        isinstance(file, str)
        and file.endswith(_SUFFIX)
        and "/" not in file
        and "\\" not in file
        and "\0" not in file
        and not file.startswith(".")
    )


def _loose(folder: Path) -> list[str]:
    """The weight files of a folder without an index."""
    names = files_like(folder, f"*{_SUFFIX}")
    return [_SINGLE] if _SINGLE in names else names


def _absent(files: list[str], shown: str) -> Iterator[Diagnostic]:
    for first, there, total in absent_shards(files):
        rest = total - there
        more = (f"{rest:,} files in all",) if rest > 1 else ()
        summary = f"the file is missing: the names of its set count {total:,}, and the folder has {there:,}"
        yield checkpoint_fault(f"{shown}/{first}", summary, *more)


def _disagreements(
    header: Header, index: Mapping[str, str], file: str, expected: int, shown: str
) -> Iterator[Diagnostic]:
    """Where the index and a file say something else; the index expects so many tensors in it."""
    places = list(map(index.get, header.tensors))
    if places.count(file) == len(places) == expected:
        return
    beyond = [name for name in header.tensors if index.get(name) != file]
    if beyond:
        summary = f"`weight_map.{beyond[0]}` should name `{file}`, which holds it"
        yield checkpoint_fault(f"{shown}/{INDEX}", summary, *_more(beyond))
    if expected + len(beyond) > len(header.tensors):
        lost = [name for name, place in index.items() if place == file]
        lost = [name for name in lost if name not in header.tensors]
        summary = f"`{lost[0]}` is not in the file, and the index says that it is"
        yield checkpoint_fault(f"{shown}/{file}", summary, *_more(lost))


def _more(names: list[str]) -> tuple[str, ...]:
    return (f"{len(names):,} tensors in all",) if len(names) > 1 else ()


_Likeness = tuple[str, str, tuple[int, tuple[int, ...]]]
"""What tensors that are alike have in common: layer, name without numbers, and bits with shape."""


def _count(header: Header, counts: Counter[_Likeness], names: dict[str, str]) -> None:
    """Count the tensors of a file by their likeness; `names` remembers names without numbers, which layers share."""
    usual = _STACKS[0]
    for name, form in header.tensors.items():
        before, _, after = name.partition(usual)
        layer, point, rest = after.partition(".")
        if point and layer.isdigit():
            rest = f"{before}{usual}N.{rest}"
        else:
            layer, rest = _layer_of(name)
        plain = names.get(rest)
        if plain is None:
            plain = names[rest] = _NUMBER.sub(".N", rest)
        counts[layer, plain, form] += 1


def _layer_of(name: str) -> tuple[str, str]:
    """The number of a tensor's layer, and its name with `N` for it; no number outside the layers."""
    for stack in _STACKS:
        # A stack may be what the name begins with.
        before, found, after = f".{name}".partition(stack)
        layer, point, rest = after.partition(".")
        if found and point and layer.isdigit():
            return layer, f"{before}{stack}N.{rest}"[1:]
    return "", name


def _kinds(counts: Mapping[_Likeness, int]) -> dict[Kind, int]:
    return {
        Kind(name, bits, shape, int(layer) if layer else None): count
        for (layer, name, (bits, shape)), count in counts.items()
    }
