"""Counted words, as people write them."""

from __future__ import annotations

import pytest

from compiler.quantities import counted


@pytest.mark.parametrize(
    ("count", "more", "said"),
    [
        (1, {}, "1 token"),
        (0, {}, "0 tokens"),
        (1024, {}, "1,024 tokens"),
        (1, {"does": "run"}, "1 token runs"),
        (2, {"does": "run"}, "2 tokens run"),
        (1, {"plural": "tokina"}, "1 token"),
        (2, {"plural": "tokina"}, "2 tokina"),
    ],
)
def test_a_counted_word(count: int, more: dict[str, str], said: str) -> None:
    """One of them stands alone, and so does what it does."""
    assert counted(count, "token", **more) == said
