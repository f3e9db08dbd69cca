"""Code that was compiled once, kept where Python keeps that of modules, and by Python's own switches."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType


_SEAL = sha256().digest_size


def kept_code(
    source: Path, *, kind: str, depends: bytes, compiled: Callable[[], CodeType]
) -> CodeType:
    """What `compiled` gives for a file, from the last time where nothing in `depends` has changed since.

    Kept in `__pycache__` beside the file, or below `PYTHONPYCACHEPREFIX`; with `PYTHONDONTWRITEBYTECODE` nothing is
    written. A kept file that is cut off, damaged, or not ours is as good as none, and nobody misses what cannot be kept.

    `kind`: letters that no other compiler of such files uses.
    """
    place = _place(source, kind)
    if place is None:
        return compiled()
    key = MAGIC_NUMBER + depends
    code = _read(place, key)
    if code is None:
        code = compiled()
        if not sys.dont_write_bytecode:
            _write(place, key, code)
    return code


def _place(source: Path, kind: str) -> Path | None:
    try:
        return Path(cache_from_source(source, optimization=kind))
    except NotImplementedError:  # an interpreter that keeps no bytecode
        return None


def _read(place: Path, key: bytes) -> CodeType | None:
    """The code, only where its hash is right: this finds damage. Whoever may write here may write Python's own `.pyc` as well."""
    try:
        kept = place.read_bytes()
    except OSError:
        return None
    seal, content = kept[:_SEAL], kept[_SEAL:]
    if seal != _seal(key, content):
        return None
    code: CodeType = marshal.loads(content)  # noqa: S302 - as Python reads its own
    return code


def _write(place: Path, key: bytes, code: CodeType) -> None:
    """Whole or not at all, whoever writes the same meanwhile."""
    content = marshal.dumps(code)
    own = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with own.open("xb") as file:
            file.write(_seal(key, content) + content)
        own.replace(place)
    except OSError:
        with suppress(OSError):
            own.unlink()


def _seal(key: bytes, content: bytes) -> bytes:
    return sha256(sha256(key).digest() + content).digest()
