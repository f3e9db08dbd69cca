"""The header of one safetensors file in; its tensors out, or what is wrong with it. Weights are never read.

The format: eight bytes with the header's length, then JSON that gives each tensor's number format, shape, and place.
"""

from __future__ import annotations

import errno
import math
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from compiler.catalog.shelves import whole_file
from compiler.diagnostics import Diagnostic, Label, error, reason_of
from compiler.value import Value


LENGTH_BYTES = 8
LARGEST_HEADER = 100_000_000
"""The format's own limit (safetensors, `MAX_HEADER_SIZE`)."""

LARGEST_TENSOR = 2**63 - 1
"""Bits and elements beyond this overflow in every reader."""

DTYPE_BITS: Mapping[str, int] = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F4": 4,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
}


@frozen(eq=False, repr=False)
class Header(Value):
    """The tensors of one file: name -> bits of an element, and shape."""

    tensors: Mapping[str, tuple[int, tuple[int, ...]]]


def checkpoint_fault(shown: str, summary: str, *notes: str) -> Diagnostic:
    """A finding about one file of a checkpoint."""
    return error("checkpoint-invalid", summary, Label(whole_file(shown)), notes=notes)


def read_header(path: Path, *, shown: str) -> tuple[Header | None, tuple[Diagnostic, ...]]:
    """Read the header of one file; `shown` is its name in messages. Only the bytes of the header are read."""
    try:
        size = regular_size(path)
        with path.open("rb") as file:
            start = file.read(LENGTH_BYTES)
            length = int.from_bytes(start, "little")
            wrong = _length_fault(start, length, size)
            data = b"" if wrong else file.read(length)
    except OSError as fault:
        reason = reason_of(fault)
        return None, (checkpoint_fault(shown, f"the file cannot be read: {reason}"),)
    if wrong is not None:
        return None, (checkpoint_fault(shown, wrong),)
    values = parse_json(data)
    if isinstance(values, str):
        return None, (checkpoint_fault(shown, f"the header is no JSON: {values}"),)
    beside = values.pop("__metadata__", None)
    tensors, wrongs = _tensors(values, room=size - LENGTH_BYTES - length)
    if beside is not None and not _is_texts(beside):
        wrongs.append("`__metadata__` is no table of texts")
    if wrongs:
        return None, tuple(_told(shown, wrongs))
    return Header(tensors), ()


_MOST_TOLD = 5
"""Of the faults of one file; where one entry is broken they often all are, and a file has thousands."""


def _told(shown: str, wrongs: list[str]) -> Iterator[Diagnostic]:
    """The first faults of a file; the last of them says how many more there are."""
    *first, last = wrongs[:_MOST_TOLD]
    for each in first:
        yield checkpoint_fault(shown, each)
    more = len(wrongs) - _MOST_TOLD
    yield checkpoint_fault(shown, last, *((f"{more:,} more of this file",) if more > 0 else ()))


def _is_texts(values: object) -> bool:
    """What the format wants of the table beside the tensors (safetensors, `HashMap<String, String>`)."""
    return isinstance(values, dict) and all(isinstance(each, str) for each in values.values())


def regular_size(path: Path) -> int:
    """The bytes of a file. Raises `OSError`, also for a pipe or a device, which would be read without end."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return found.st_size


_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""What a JSON text writes for characters beyond the first plane, two at a time; one alone is no character."""


def _is_text(values: object) -> bool:
    import json  # noqa: PLC0415 - as below

    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_json(data: bytes) -> dict[str, Any] | str:
    """The table of a JSON text, or what is wrong with it in words."""
    import json  # noqa: PLC0415 - a run that reads no checkpoint does without it

    if data.startswith(_POINTER):
        return _IS_POINTER
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    del data  # an index of 200,000 names is 25 MB, and is not wanted twice
    try:
        values = json.loads(text)
    except json.JSONDecodeError as fault:
        return f"{fault.msg[:1].lower()}{fault.msg[1:]} at line {fault.lineno}"
    except (RecursionError, ValueError):
        return "it nests too deep, or holds a number that is too long"
    if _HALF.search(text) and not _is_text(values):
        return "it holds half a surrogate pair, which is no text"
    return values if isinstance(values, dict) else "expected an object"


_POINTER = b"version https://git-lfs"
"""What a clone without Git LFS has in place of a large file."""
_IS_POINTER = "it is a pointer of Git LFS, and `git lfs pull` fetches the file"


def _length_fault(start: bytes, length: int, size: int) -> str | None:
    if start == _POINTER[:LENGTH_BYTES]:
        return f"the file is no weight file: {_IS_POINTER}"
    if len(start) < LENGTH_BYTES:
        return f"the file has {len(start)} bytes, too few for the length of a header"
    if length > LARGEST_HEADER:
        return (
            f"the header claims {length:,} bytes, more than the format allows ({LARGEST_HEADER:,})"
        )
    if LENGTH_BYTES + length > size:
        return f"the header claims {length:,} bytes, and the file has {size - LENGTH_BYTES:,} behind its length"
    return None


def _tensors(
    values: Mapping[str, Any], *, room: int
) -> tuple[dict[str, tuple[int, tuple[int, ...]]], list[str]]:
    """The tensors, and the first fault of each broken entry. Most are like one before, so shapes are worked out once."""
    tensors: dict[str, tuple[int, tuple[int, ...]]] = {}
    faults: list[str] = []
    beyond: list[tuple[int, str]] = []
    at, in_order = 0, True
    sizes: dict[tuple[object, ...], tuple[int, tuple[int, tuple[int, ...]]]] = {}
    for name, entry in values.items():
        try:
            dtype, shape = entry["dtype"], entry["shape"]
            start, end = entry["data_offsets"]
            known = sizes.get((dtype, *shape))
            if known is None:
                known = sizes[dtype, *shape] = _size(dtype, shape)
            size, tensors[name] = known
            whole = type(start) is type(end) is int
            if not (whole and start >= 0 and end - start == size):
                faults.append(f"`{name}`: {_place_fault(start, end, size=size)}")
            elif end > room:
                beyond.append((end, name))
            if start != at:
                in_order = False
            at = end
        except _WrongError as wrong:
            faults.append(f"`{name}`: {wrong}")
        except (KeyError, TypeError, ValueError):
            faults.append(f"`{name}`: expected `dtype`, `shape`, and two `data_offsets`")
    if beyond:
        faults.append(_cut(beyond, room=room))
    if not faults and not (in_order and at == room):
        faults += _gap(values, room=room)
    return tensors, faults


def _gap(values: Mapping[str, Any], *, room: int) -> Iterator[str]:
    """The first place where tensors overlap or leave a hole, which the format refuses (safetensors, `Metadata::validate`)."""
    at, before = 0, "the header"
    for name in sorted(values, key=lambda name: values[name]["data_offsets"]):
        start, end = values[name]["data_offsets"]
        if start < at:
            yield f"`{name}` begins at byte {start:,}, and {before} ends at {at:,}: they overlap"
            return
        if start > at:
            yield f"`{name}` begins at byte {start:,}, and {before} ends at {at:,}: nothing is between them"
            return
        at, before = end, f"`{name}`"
    if at < room:
        yield f"the last tensor ends at byte {at:,}, and the file has {room:,} behind its header"


class _WrongError(Exception):
    """One entry of a header cannot be; the text says why."""


def _size(dtype: object, shape: object) -> tuple[int, tuple[int, tuple[int, ...]]]:
    """Bytes of a tensor, and its bits and shape."""
    bits = DTYPE_BITS.get(str(dtype))
    if bits is None:
        raise _WrongError(f"the number format `{dtype}` is not known")
    if not isinstance(shape, list) or not all(type(e) is int and e >= 0 for e in shape):
        raise _WrongError("`shape` is no list of whole numbers")
    if math.prod(shape) * bits > LARGEST_TENSOR:
        raise _WrongError("its size overflows")
    if math.prod(shape) * bits % 8:
        raise _WrongError("its last byte is not whole")
    return math.prod(shape) * bits // 8, (bits, tuple(shape))


def _place_fault(start: object, end: object, *, size: int) -> str:
    if not (type(start) is int and type(end) is int and 0 <= start <= end):
        return "`data_offsets` are no stretch of the file"
    return f"its shape comes to {size:,} bytes, its `data_offsets` to {end - start:,}"


def _cut(beyond: list[tuple[int, str]], *, room: int) -> str:
    """What ends behind the file: of a download that broke off that is every tensor from there on, and one fault."""
    end, name = max(beyond)
    several = f"; so do {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
    return (
        f"`{name}`: it ends at byte {end:,}, and the file has {room:,} behind its header{several}"
    )
