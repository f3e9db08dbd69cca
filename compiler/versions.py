"""Engine releases in order: `0.4.6.post5` < `0.5.3rc0` < `0.5.3` < `0.5.11`."""

from __future__ import annotations

import re
from functools import cache


# A local part (`+cu129`) says how it was built, not when it was released.
_PARTS = re.compile(r"(\d+(?:\.\d+)*)(?:(\.dev|rc|\.post)(\d+))?(?:\+[A-Za-z0-9.]+)?")
_RANK = {".dev": -2, "rc": -1, None: 0, ".post": 1}


@cache
def version_key(text: str) -> tuple[tuple[int, ...], int, int] | None:
    """A key that sorts releases; `None` when the text is no release number."""
    match = _PARTS.fullmatch(text.removeprefix("v"))
    if match is None:
        return None
    numbers = tuple(int(part) for part in match[1].split("."))
    return numbers, _RANK[match[2]], int(match[3] or 0)
