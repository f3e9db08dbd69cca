"""Engine releases in order: `0.4.6.post5` < `0.5.3rc0` < `0.5.3` < `0.5.11`."""

from __future__ import annotations

import re
from functools import cache


# A local part (`+cu129`) says how it was built, not when it was released.
_PARTS = re.compile(r"(\d+(?:\.\d+)*)(?:(\.dev|rc|\.post)(\d+))?(?:\+[A-Za-z0-9.]+)?")
_LEAST = 3  # numbers: `0.5` names a series
_RANK = {".dev": -2, "rc": -1, None: 0, ".post": 1}


@cache
def version_key(text: str) -> tuple[tuple[int, ...], int, int] | None:
    """A key that sorts releases; `None` when the text is no release number."""
    match = _PARTS.fullmatch(text.removeprefix("v"))
    if match is None:
        return None
    numbers = tuple(int(part) for part in match[1].split("."))
    return numbers, _RANK[match[2]], int(match[3] or 0)


def is_release(text: str) -> bool:
    """Whether a text names one release, as an index of packages has it: no branch, no tag with `v`, no series."""
    match = _PARTS.fullmatch(text)
    return match is not None and match[1].count(".") + 1 >= _LEAST


def release_in(text: str) -> str | None:
    """The release that a text holds, such as a tag or a range; `None` where it holds none, or several."""
    found = [each[0] for each in _PARTS.finditer(text) if is_release(each[0])]
    return found[0] if len(found) == 1 else None
