"""`fit`, and the fraction "fit", where layers have states: their pool admits so many requests, and takes its share."""

from __future__ import annotations

import re
from pathlib import Path

from checkouts import Checkout
from compiler.remedy.states import state_levers
from deployments import check_text, only_plan


SLOTS = "flags.max-mamba-cache-size"
FILE = """\
schema = 1

[model]
id = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8"
path = "/srv/models/nemotron"

[gpus]
kind = "h100"
count = 1

[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"

[serve]
context = 32_768
concurrency = 64

[memory]
fraction = 0.6

[targets.box]
kind = "systemd"
user = "sglang"
"""


def changes(tree: Checkout, text: str) -> dict[str, tuple[str, int]]:
    """What is offered alone of a profile with this text."""
    tree.write("states", text)
    return tree.offered("states")


def test_slots_for_the_states_of_the_promise(tree: Checkout) -> None:
    """Where the states admit too few a larger budget and the slots of all are offered, in the refusal too, and both pass."""
    offered = changes(tree, FILE)
    assert offered[SLOTS][0] == str(64 * 3)
    refused = " ".join(tree.run("check", "states").err.split())
    for setting in (SLOTS, "memory.fraction"):
        value, number = offered[setting]
        assert f"{setting} = {value} " in refused
        tree.write("states", FILE)
        assert tree.run("fit", "states", "--write", str(number)).code == 0
        assert tree.run("check", "states", "--strict").code == 0
    assert "max_running_requests" not in refused
    tree.write("states", f"{FILE}[flags]\nmax-mamba-cache-size = {64 * 3 - 1}\n")
    assert tree.run("check", "states").code == 1


def test_fewer_slots_make_room_for_tokens(tree: Checkout) -> None:
    """Where the pool of tokens is short the fewest slots less that mend it are offered, down to those of the promise."""
    text = FILE.replace("concurrency = 64", "concurrency = 16").replace("32_768", "262_144")
    value, number = changes(tree, text)[SLOTS]
    assert int(value) > 16 * 3
    assert tree.run("fit", "states", "--write", str(number)).code == 0
    assert tree.run("check", "states", "--strict").code == 0
    more = tree.profile("states").read_text("utf-8").replace(f"= {value}", f"= {int(value) + 1}")
    tree.write("states", more)
    assert tree.run("check", "states", "--strict").code == 1


def test_the_least_fraction_admits_the_promise(tree: Checkout) -> None:
    """`fraction = "fit"` is the least at which the states admit as many as are promised, too, over the whole range, and hardly higher."""
    tree.write("states", FILE.replace("0.6", '"fit"'))
    done = tree.run("check", "states", "--json")
    assert done.code == 0, done.err
    fitted = done.json["plans"][0]["fraction"]
    codes = []
    for fraction in (fitted, round(fitted - 0.01, 3)):
        tree.write("states", FILE.replace("0.6", str(fraction)))
        codes.append(tree.run("check", "states").code)
    assert codes == [0, 1]


def test_both_limits_are_named_where_both_are_low(tmp_path: Path) -> None:
    """Where the requests that may run are fewer still, neither limit is raised alone, and the refusal names that one first."""
    text = FILE.replace("concurrency = 64", "concurrency = 64\nmax_running_requests = 4")
    short = check_text(tmp_path / "a", text)
    (told,) = [each for each in short.all_diagnostics if each.code == "concurrency-beyond-limit"]
    assert "`serve.max_running_requests` to 64 or more" in told.help[0]
    assert SLOTS in told.help[0]


def test_nothing_is_tried_where_no_layer_has_a_state(tmp_path: Path) -> None:
    """A plan without states has no such lever."""
    plain = FILE.replace("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8", "Qwen/Qwen3-8B")
    names = [
        [each.setting for each in state_levers(only_plan(check_text(tmp_path / "p", text)))]
        for text in (FILE, plain)
    ]
    assert names == [["memory.fraction", SLOTS], []]


def test_a_review_says_what_bounds_the_requests(tree: Checkout) -> None:
    """The plan names the slots of states where these decide how many run at once."""
    tree.write("states", FILE.replace("0.6", '"fit"'))
    assert tree.run("compile", "states").code == 0
    told = (tree.root / "out/states/PLAN.md").read_text("utf-8")
    assert re.search(
        r"\| requests running at once \| .* by 19\d slots of states, 3 a request \|", told
    )


def test_the_most_at_once_is_not_bound_by_the_states_of_now(tree: Checkout) -> None:
    """With `fraction = "fit"` the states grow with what is asked for: the most is refused by the reserve, one beyond it."""
    text = FILE.replace("0.6", '"fit"').replace("concurrency = 64", "concurrency = 1")
    tree.write("states", text)
    most = tree.run("fit", "states", "--max", "concurrency", "--json").json["changes"][0]
    number = int(most["settings"][0]["value"])
    assert number > 100
    codes = []
    for asked in (number, number + 1):
        tree.write("states", text.replace("concurrency = 1", f"concurrency = {asked}"))
        codes.append(tree.run("check", "states", "--strict").code)
    assert codes == [0, 1]


def test_a_fitted_fraction_is_not_fitted_again(tmp_path: Path) -> None:
    """Where "fit" finds no fraction that admits them all, none is offered in its place."""
    text = FILE.replace("0.6", '"fit"').replace("concurrency = 64", "concurrency = 400")
    plan = only_plan(check_text(tmp_path / "p", text))
    fraction = next(each for each in state_levers(plan) if each.setting == "memory.fraction")
    assert fraction.moves(plan) == "it is the least already"


COMPRESSED = """\
schema = 1

[model]
id = "deepseek-ai/DeepSeek-V4-Flash-0731"
path = "/srv/models/flash"

[gpus]
kind = "rtx-pro-6000-blackwell"
count = 2

[parallel]
tensor = 2

[engine]
name = "sglang"
version = "0.5.23"
python = "/opt/sglang/bin/python"

[serve]
context = 131_072
concurrency = 1

[speculative]
algorithm = "dspark"

[memory]
fraction = 0.94

[flags]
disable-custom-all-reduce = true

[targets.box]
kind = "systemd"
user = "sglang"
"""


def test_requests_that_nobody_asked_for_are_fewer(tree: Checkout) -> None:
    """Where windows of the requests that a server takes by itself leave no pool, fewer are tried from there, and pass."""
    value, number = changes(tree, COMPRESSED)["serve.max_running_requests"]
    assert 1 < int(value) < 256
    assert tree.run("fit", "states", "--write", str(number)).code == 0
    assert tree.run("check", "states", "--strict").code == 0
