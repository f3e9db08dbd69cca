"""What a checkpoint says is not quantized: names, stars, and regular expressions that could take for ever."""

from __future__ import annotations

import time

import pytest

from compiler.checkpoint.exceptions import fault_of, faults_of, matches


LAYER = "model.layers.5.mlp.experts.7.down_proj"


@pytest.mark.parametrize(
    ("exception", "covers"),
    [
        ("down_proj", True),
        ("", False),
        ("model.layers.5*", True),
        ("*down_proj", True),
        ("*mlp*proj", True),
        ("*proj*mlp*", False),
        ("model*model*", False),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", False),
        ("re:.*experts\\.\\d+\\.(gate|up|down)_proj$", True),
        ("re:^(?!.*mlp\\.experts).*", False),
        ("re:model\\.layers\\.(?:4|5)?", True),
        ("re:(", False),
    ],
)
def test_what_an_exception_covers(exception: str, *, covers: bool) -> None:
    """A name stands anywhere in a module's, a star for any text, and an expression begins with it."""
    assert matches(exception, LAYER) is covers


HOSTILE = {
    "(a+)+$": "a repetition stands around a choice",
    "(.*)*x": "a repetition stands around a choice",
    "(a|a)*b": "a repetition stands around a choice",
    "(?:(?:m|o)?)+x": "a repetition stands around a choice",
    "(\\w{1,50}){1,50}x": "a repetition stands around a choice",
    "(m|m)(o|o)(d|d)(e|e)(l|l)(\\.|\\.)(l|l)(a|a)(y|y)x": "it may match in too many ways",
    ".*.*.*.*.*x": "it may match in too many ways",
    "m?m?o?o?d?d?e?e?l?x": "it may match in too many ways",
    "m" * 201: "it has more than 200 characters",
    "(": "it is no regular expression",
}


@pytest.mark.parametrize("pattern", HOSTILE)
def test_an_expression_that_could_take_for_ever(pattern: str) -> None:
    """It is not tried, and it is said why."""
    began = time.process_time()
    assert fault_of(f"re:{pattern}") == HOSTILE[pattern]
    assert not matches(f"re:{pattern}", LAYER * 3)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "pattern",
    ["[(+*]*x", "\\(a+\\)+", "(?P<n>mo)del", "(?:a|b)c*", ".*q?r?s?", "[]a+]*b", "a{2}(?:b)+"],
)
def test_an_expression_that_is_tame(pattern: str) -> None:
    """What stands in brackets or behind a backslash is no repetition."""
    assert fault_of(f"re:{pattern}") is None


def test_the_worst_that_is_tried_takes_no_time() -> None:
    """Every expression that is let through, over a long name."""
    began = time.process_time()
    for _ in range(50):
        matches("re:.*.*.*.*x", LAYER)
    assert time.process_time() - began < 2


def test_too_many_expressions() -> None:
    """Each may take a while: a checkpoint has a few."""
    (said,) = faults_of([f"re:layer{number}" for number in range(201)])
    assert "more than 200 regular expressions" in said
    assert list(faults_of(["a", "a*", "re:a"])) == []
