"""A budget with no room for the states of one request."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.predict import Question, make_predictor


VERSION = "0.5.12"
PREDICTOR = make_predictor(open_catalog(), engine="sglang", version=VERSION)


@pytest.mark.parametrize(
    ("fraction", "said"),
    [
        (0.78, "no request runs: there is room for 1 slot of states"),
        (0.81, "1 request runs at once, not 2"),
        (0.86, None),
    ],
)
def test_a_pool_of_states_that_admits_nobody(fraction: float, said: str | None) -> None:
    """One request holds three slots: with fewer the server stops at start, and with fewer than six a second one waits."""
    words = (
        "python -m sglang.launch_server --model-path Frozenlock/Qwen3.8-27B-int4-AutoRound"
        f" --max-running-requests 2 --context-length 8192 --mem-fraction-static {fraction}"
    ).split()
    question = Question(
        gpu="custom", count=1, engine="sglang", version=VERSION, gpu_memory_gib=23.99, public=False
    )
    found = PREDICTOR.predict(words, question).diagnostics
    states = [each.summary for each in found if each.code == "state-slots"]
    assert states == [] if said is None else states[0].startswith(said)
