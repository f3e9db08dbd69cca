"""Which releases count memory in which way. A release whose way was not written down here is not priced."""

from __future__ import annotations

from compiler.versions import version_key


AFTER_POOL = "draft-after-pool"
"""0.5.11 to 0.5.13: draft weights load after the pool; a DFlash draft's pool is in the cell by the layer ratio."""

# (first release, first release after it, name)
_MODELS = (("0.5.11", "0.5.14", AFTER_POOL),)


def memory_model(version: str) -> str | None:
    """The name of the way a release counts memory; `None` when we did not write it down."""
    key = version_key(version)
    if key is None:
        return None
    for first, end, name in _MODELS:
        if _key(first) <= key < _key(end):
            return name
    return None


def _key(version: str) -> tuple[tuple[int, ...], int, int]:
    key = version_key(version)
    if key is None:
        raise ValueError(version)
    return key
