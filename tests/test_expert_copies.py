"""Experts and their copies over expert parallel groups: what divides, and which number of copies is advised."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.diagnostics import Diagnostic
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
KIMI, MIXTRAL = "moonshotai/Kimi-K2.6", "mistralai/Mixtral-8x7B-Instruct-v0.1"


def undivided(model: str, flags: str, *, version: str = "0.5.11") -> Diagnostic | None:
    words = f"python -m sglang.launch_server --model-path {model} {flags}".split()
    predictor = make_predictor(CATALOG, engine="sglang", version=version)
    question = Question(gpu="h200", count=8, engine="sglang", version=version)
    found = predictor.predict(words, question).diagnostics
    return next((each for each in found if each.code == "experts-not-divisible"), None)


@pytest.mark.parametrize(
    ("model", "flags", "version", "summary"),
    [
        (KIMI, "--tp 8 --ep 8", "0.5.11", None),
        (KIMI, "--tp 8 --ep 8 --ep-num-redundant-experts 16", "0.5.11", None),
        (
            KIMI,
            "--tp 8 --ep 8 --ep-num-redundant-experts 10",
            "0.5.11",
            "384 experts and 10 copies do not divide over expert parallel size 8",
        ),
        # one group holds any number
        (KIMI, "--tp 8 --ep-num-redundant-experts 10", "0.5.11", None),
        # a backend that exchanges tokens deals them out over all ranks
        (
            KIMI,
            "--tp 8 --moe-a2a-backend deepep --ep-num-redundant-experts 10",
            "0.5.11",
            "384 experts and 10 copies do not divide over expert parallel size 8",
        ),
        # before 0.5.10 this class says nothing of its experts, and none are copied
        (KIMI, "--tp 8 --ep 8 --ep-num-redundant-experts 10", "0.5.9", None),
        # a class that makes no copies
        (MIXTRAL, "--tp 8 --ep 8 --ep-num-redundant-experts 10", "0.5.11", None),
    ],
)
def test_copies_are_dealt_out_with_the_experts(
    model: str, flags: str, version: str, summary: str | None
) -> None:
    """Experts and copies together divide over the groups, for a class that makes copies."""
    found = undivided(model, flags, version=version)
    assert (found and found.summary) == summary


@pytest.mark.parametrize(
    ("copies", "advice"),
    [
        (
            4,
            (
                "set `ep-num-redundant-experts = 8`",
                "or leave `ep-num-redundant-experts = 4` out",
            ),
        ),
        (12, ("set `ep-num-redundant-experts` to 8 or 16",)),
    ],
)
def test_the_nearest_numbers_are_advised(copies: int, advice: tuple[str, ...]) -> None:
    """The number of copies below and above that divides; none where what there is without them does."""
    found = undivided(KIMI, f"--tp 8 --ep 8 --ep-num-redundant-experts {copies}")
    assert found is not None
    assert found.help == advice
