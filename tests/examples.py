"""How many examples a property is tried on: a few, or all where the slow tests run as well."""

from __future__ import annotations

from hypothesis import settings


THOROUGH = "thorough"
"""The profile that `conftest.py` loads where `-m` asks for more than the quick tests."""
FEWEST = 20

settings.register_profile(THOROUGH)


def examples(count: int) -> int:
    """So many where all tests run, as in `.ci/run`; a fifth by default. Read while a module is imported."""
    thorough = settings.default is settings.get_profile(THOROUGH)
    return count if thorough else min(count, max(FEWEST, count // 5))
