"""The arithmetic of a token's price, as it is shown, comes to the price."""

from __future__ import annotations

import re

import pytest

from benchmarks.asking import Case, predictor, question, read_cases


_WORDS = re.compile(
    r"(?<=\d) (layers|heads?|B|keys that choose|keys of the indexer)\b|"
    r" (of the draft|of windows|dealt out|for the draft's layers(?:, priced as the target's)?|on the stage with most of the \d+)"
)
_KINDS = {
    "nested windows": "0.8 x 25 layers x 8 heads",
    "windows dealt out": "dealt out",
    "an indexer": "keys of the indexer",
    "a selector": "keys that choose",
    "a draft by layers": "for the draft's layers",
    "a stage": "on the stage with most",
}


def shown() -> dict[str, str]:
    """The line of the cell of each public boot that is priced."""
    lines = {}
    for case in read_cases():
        line = _line(case) if case.is_named else None
        if line is not None:
            lines[case.id] = line
    return lines


def _line(case: Case) -> str | None:
    plan = predictor(case.version).predict(case.command, question(case)).plan
    return None if plan is None or plan.memory is None else plan.memory.pool.best_formula[0]


@pytest.fixture(scope="module")
def lines() -> dict[str, str]:
    return shown()


def test_the_terms_come_to_the_price(lines: dict[str, str]) -> None:
    """What stands before the last `=` is an expression, and its value is what stands behind it."""
    wrong = {}
    for name, line in lines.items():
        formula, _, size = line.removeprefix("cell = ").removesuffix(" B a token").rpartition(" = ")
        if not formula:
            continue  # a number alone
        expression = _WORDS.sub("", formula).replace(",", "").replace(" x ", " * ")
        assert re.fullmatch(r"[\d.()+*/ ]+", expression), line
        value = eval(expression)  # figures and signs, as the line above holds
        if abs(value - int(size.replace(",", ""))) > 1:
            wrong[name] = line
    assert wrong == {}


@pytest.mark.parametrize("kind", _KINDS)
def test_kinds_of_layers_have_terms_of_their_own(kind: str, lines: dict[str, str]) -> None:
    """Each kind of layer, and each way to count it, is told in some boot's line."""
    assert any(_KINDS[kind] in line for line in lines.values())
