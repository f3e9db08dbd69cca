"""The name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` most like `name`, or `None` when none is close; ties go to the first in order."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for the import

    candidates = {each.lower().replace("-", "_"): each for each in sorted(names, reverse=True)}
    found = get_close_matches(name.lower().replace("-", "_"), candidates, n=1, cutoff=0.6)
    return candidates[found[0]] if found else None


def near_part(name: str, names: Iterable[str]) -> str | None:
    """The first of `names` that has `name` as one of its parts (`3090` of `rtx-3090`), else the one most like it."""
    asked = name.lower().replace("_", "-")
    ordered = sorted(names)
    return next((each for each in ordered if asked in each.lower().split("-")), None) or near(
        name, ordered
    )
