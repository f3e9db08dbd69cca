"""The name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` most like `name`, or `None` when none is close; ties go to the first in order."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for the import

    candidates = {each.lower().replace("-", "_"): each for each in sorted(names, reverse=True)}
    found = get_close_matches(name.lower().replace("-", "_"), candidates, n=1, cutoff=0.6)
    return candidates[found[0]] if found else None
