"""`fit` moves the fraction as far as the other budget bears before anything that a client sees is given up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from checkouts import REPOSITORY, STORY, Checkout
from test_fit_attention import write


QWEN = """schema = 1
[model]
id = "Qwen/Qwen3-235B-A22B-FP8"
path = "/srv/models/qwen"
[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"
[gpus]
kind = "h100"
count = 4
[parallel]
tensor = 4
[serve]
context = 40_960
concurrency = {concurrency}
[memory]
fraction = 0.8
[targets.a]
kind = "systemd"
user = "sglang"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """An empty tree."""
    (tmp_path / "profiles").mkdir()
    return Checkout(tmp_path)


def settings_of(change: dict[str, Any]) -> list[str]:
    """What a change sets, in its order."""
    return [each["setting"] for each in change["settings"]]


def test_less_is_given_up_beside_a_higher_fraction(tree: Checkout) -> None:
    """Context and concurrency are offered with the room that the reserve has, alone only where that is as much; each passes."""
    tree.write("a", QWEN.format(concurrency=12))
    told = tree.run("fit", "a", "--json").json
    offered = [settings_of(each) for each in told["changes"]]
    for setting in ("serve.context", "serve.concurrency"):
        assert [setting, "memory.fraction"] in offered
        assert [setting] not in offered
        (alone,) = [each for each in told["unhelpful"] if each["setting"] == setting]
        assert "of the promise is given up" in alone["why"]
    before = tree.profile("a").read_text("utf-8")
    for number in range(1, len(offered) + 1):
        tree.run("fit", "a", "--write", str(number))
        assert tree.run("check", "a").code == 0
        tree.write("a", before)


def test_a_refusal_names_them_too(tree: Checkout) -> None:
    """The help of the finding offers the same, and nothing that gives up more."""
    tree.write("a", QWEN.format(concurrency=12))
    told = tree.run("check", "a").err.partition("keeps the promise")[2]
    lines = [each.strip() for each in told.splitlines()]
    assert any(
        each.startswith("serve.context = ") and " and memory.fraction = " in each for each in lines
    )
    assert not any(re.match(r"serve.context = [0-9_]+  ", each) for each in lines)


def test_fewer_requests_are_a_price(tree: Checkout) -> None:
    """Beside a lower fraction no more requests are taken than are needed, and it is said that others wait."""
    for path in (REPOSITORY / "profiles").rglob("*.toml"):
        copy = tree.root / path.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text("utf-8"), "utf-8")
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("max_running_requests = 8", "max_running_requests = 64"))
    (found,) = [
        each
        for each in tree.run("fit", STORY, "--json").json["changes"]
        if settings_of(each) == ["memory.fraction", "serve.max_running_requests"]
    ]
    requests = found["settings"][1]["value"]
    assert int(requests) > 1
    assert f"{requests} requests run at once, not 64; others wait" in found["costs"]


def test_the_most_says_what_the_fraction_ends(tree: Checkout) -> None:
    """A fraction by its number is what stops a pool; whoever asks for the most is told where to ask for more of it."""
    tree.write("a", QWEN.format(concurrency=3))
    last = tree.run("fit", "a", "--max", "concurrency").out.splitlines()[-1]
    assert (
        "memory.fraction stays at 0.8, and a higher one leaves more: poolproof fit a --max pool"
        in last
    )
    tree.write("a", QWEN.format(concurrency=3).replace("0.8", '"fit"'))
    assert "memory.fraction stays" not in tree.run("fit", "a", "--max", "concurrency").out


def test_what_is_asked_for_now_is_no_change(tree: Checkout) -> None:
    """Where the most is what the profile has, nothing is offered to be written."""
    tree.write("a", QWEN.format(concurrency=1))
    done = tree.run("fit", "a", "--max", "context")
    assert "\nnothing to change: the first one is what the profile asks for" in done.out
    assert "--write" not in done.out


def test_a_promise_by_force_that_holds_is_not_called_broken(tree: Checkout) -> None:
    """Where another file sets it by force, the most of it is not looked for, and the promise still holds."""
    tree.write("base", "schema = 1\n[force.serve]\ncontext = 8192\n")
    tree.write(
        "a", QWEN.format(concurrency=1).replace("schema = 1", 'schema = 1\nextends = ["base"]')
    )
    done = tree.run("fit", "a", "--max", "context")
    assert "`--in base` moves it there" in done.out
    assert "the context stays as it is, with which the promise holds" in done.out


def test_more_gpus_are_more_groups(tree: Checkout) -> None:
    """Attention in groups stays in groups of as many GPUs, so that more GPUs are more pools."""
    write(tree)
    text = tree.profile("a").read_text("utf-8")
    text = text.replace("data = 1", "data = 8\ndp_attention = true")
    tree.write("a", text.replace("concurrency = 16", "concurrency = 24"))
    offered = [each["settings"] for each in tree.run("fit", "a", "--json").json["changes"]]
    (more,) = [each for each in offered if each[0]["setting"] == "gpus.count" and len(each) == 3]
    assert {each["setting"]: each["value"] for each in more} == {
        "gpus.count": "16",
        "parallel.tensor": "16",
        "parallel.data": "16",
    }


def test_half_the_gpus_with_a_higher_fraction(tree: Checkout) -> None:
    """Where GPUs alone are enough at sixteen, eight with a higher fraction come before them, and pass as they are written."""
    text = QWEN.format(concurrency=2).replace("h100", "a100-40gb").replace("0.5.11", "0.5.18")
    tree.write("a", text.replace("40_960", "40_000").replace("0.8\n", "0.85\n"))
    changes = tree.run("fit", "a", "--json").json["changes"]
    values = [{each["setting"]: each["value"] for each in change["settings"]} for change in changes]
    assert [each["gpus.count"] for each in values] == ["8", "16"]
    assert "memory.fraction" in values[0]
    assert "memory.fraction" not in values[1]
    assert tree.run("fit", "a", "--write", "1").code == 0
    assert tree.run("check", "--strict", "a").code == 0
