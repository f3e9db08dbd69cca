"""What a profile accepts with a reason, wherever its verdict is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import STORY, Checkout, checkout
from compiler.writtenplan import WrittenFacts, WrittenPlan, read_plan


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """The story's tree, its pool one token short by the best estimate, and that accepted."""
    made = checkout(tmp_path / "tree")
    text = made.profile(STORY).read_text("utf-8")
    short = text.replace("context = 200_000", "context = 192_745").replace("0.93", "0.92")
    made.write(STORY, short)
    assert "error[pool-likely-short]" in made.run("check", STORY).err
    made.write(STORY, f'{short}\n[accept]\npool-likely-short = "seen to hold"\n')
    return made


def test_a_row_says_what_is_accepted(tree: Checkout) -> None:
    """A service whose promise is short passes with a reason, and its row does not read as one that holds."""
    done = tree.run("check", STORY)
    assert done.code == 0
    assert "uncertain  accepted: pool-likely-short; pool 192,439" in done.out
    (plan,) = tree.run("check", STORY, "--json").json["plans"]
    assert (plan["verdict"], plan["outcome"]) == ("uncertain", "uncertain")


def test_a_reviewer_reads_what_is_short(tree: Checkout) -> None:
    """PLAN.md says by how much the promise is short, and that it is accepted; not that it holds by the best estimate."""
    assert tree.run("compile", STORY).code == 0
    review = (tree.root / "out" / STORY / "PLAN.md").read_text("utf-8")
    assert (
        "**Verdict: uncertain**, by the best estimate the pool is 40 tokens short; accepted"
        in review
    )
    assert "holds by the best estimate" not in review


def test_a_change_shows_what_became_accepted(tree: Checkout) -> None:
    """`diff` tells a finding that is accepted from a warning, and so does a plan that was written."""
    assert tree.run("compile", STORY).code == 0
    tree.copy(tree.root.parent / "before")
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.partition("\n[accept]")[0].replace("0.92", "0.93"))
    done = tree.run("diff", "../before", STORY)
    assert "accepted pool-likely-short" in done.out, done.err
    assert "warning pool-likely-short" not in done.out
    written = read_plan((tree.root / "out" / STORY / "plan.json").read_bytes())
    assert isinstance(written, WrittenPlan)
    assert isinstance(written.facts, WrittenFacts)
    assert "accepted pool-likely-short" in written.facts.findings


@pytest.mark.parametrize(
    ("accepted", "said"),
    [
        (
            "pool-uncertain",
            "remove `accept.pool-uncertain`, or accept what is found: `pool-likely-short`",
        ),
        (
            "pool-too-small",
            "remove `accept.pool-too-small`: nothing of that kind is found, or accept what is found: `pool-likely-short`",
        ),
        ("reserve-likely-short", "remove `accept.reserve-likely-short`\n"),
    ],
)
def test_a_waiver_of_something_else_is_told_what_is_found(
    tree: Checkout, accepted: str, said: str
) -> None:
    """A waiver of what is not found names what is found of the same budget, where that may be accepted."""
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("pool-likely-short", accepted))
    told = " ".join(tree.run("check", STORY, COLUMNS="200").err.split())
    assert f"help: {said}".strip() in told


def test_a_certain_finding_that_is_there_is_mended_by_settings(tree: Checkout) -> None:
    """What is certain and found is not waived: its own settings mend it."""
    text = tree.profile(STORY).read_text("utf-8").replace("192_745", "262_144")
    tree.write(STORY, text.replace("pool-likely-short", "pool-too-small"))
    said = tree.run("check", STORY).err
    assert "error[pool-too-small]" in said
    assert "help: change the settings that the finding names" in said
