"""The reader of plan.json: what it takes, what it tells apart, and how it names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compiler.writtenplan import WrittenFacts, WrittenPlan, WrittenTarget, read_plan


FILE = Path(__file__).parents[1] / "out" / "k2.6-200k" / "plan.json"


def content() -> dict[str, Any]:
    """What the story's file holds."""
    values: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return values


def read(values: Mapping[str, object]) -> WrittenPlan:
    """A file that is a plan."""
    plan = read_plan(json.dumps(values).encode())
    assert isinstance(plan, WrittenPlan), plan
    return plan


def test_what_a_compile_wrote() -> None:
    """Every part has its type; the figures are those of the file."""
    plan = read(content())
    facts, target = plan.facts, plan.targets["ct200"]
    assert isinstance(facts, WrittenFacts)
    assert isinstance(target, WrittenTarget)
    assert (facts.context, facts.concurrency, facts.gpus.count) == (200_000, 1, 8)
    assert [item for item, _ in facts.static][:2] == ["weights", "KV pool"]
    assert (target.unit, target.start_timeout_s) == ("kimi-k2.6.service", 1800)


def test_what_an_older_one_did_not_write() -> None:
    """The draft and the names of the GPU may be missing; the required slots are then those of the pool."""
    values = content()
    del values["draft"], values["gpus"]["names"], values["promise"]["required_tokens"]
    facts = read(values).facts
    assert isinstance(facts, WrittenFacts)
    assert (facts.draft, facts.gpus.names) == (None, None)
    assert facts.required_tokens == values["pool"]["required_tokens"]


def test_a_later_one_may_say_more() -> None:
    """A key that nobody knows is passed over."""
    assert isinstance(read({**content(), "colour": "blue"}).facts, WrittenFacts)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"gpus": {"kind": "h100"}}, "it does not say `count`: an older Poolproof wrote it"),
        ({"argv": ["a", 1]}, "`argv` is not as a compile writes it"),
        ({"free_before_load_gib": {"low": 2, "best": 1, "high": 3}}, "`best` is not as a compile"),
        ({"fraction": float("nan")}, "`fraction` is not as a compile writes it"),
    ],
)
def test_facts_that_cannot_be_read(changes: Mapping[str, object], why: str) -> None:
    """They are told by their key, and the target is read all the same: a switch back needs no more."""
    plan = read({**content(), **changes})
    assert isinstance(plan.facts, str)
    assert plan.facts.startswith(why)
    assert isinstance(plan.targets["ct200"], WrittenTarget)


def test_a_target_that_cannot_be_read() -> None:
    """It is told by its key, and neither the facts nor the other targets are lost for it."""
    values = content()
    values["targets"]["ct300"] = {**values["targets"]["ct200"], "stop_timeout_s": -1}
    plan = read(values)
    assert plan.targets["ct300"] == "`stop_timeout_s` is not as a compile writes it"
    assert isinstance(plan.targets["ct200"], WrittenTarget)
    assert isinstance(plan.facts, WrittenFacts)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"{", "it is no JSON (line 1)"),
        (b"\xff", "it is not UTF-8"),
        (b"[" * 100_000, "it is no JSON that can be read"),
        (b"[]", "it is no plan"),
        (b'{"schema": 2}', "it has schema 2, this Poolproof reads 1"),
        (b'{"schema": true, "targets": {}}', "it is no plan"),
        (b'{"schema": 1, "targets": null}', "it is no plan"),
    ],
)
def test_what_is_no_plan(text: bytes, why: str) -> None:
    """The reason is the end of a sentence about the file."""
    assert read_plan(text) == why
