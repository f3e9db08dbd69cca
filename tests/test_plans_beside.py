"""What a service's own files say of those beside it, whichever profiles are named, and what orders their starts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from checkouts import Checkout
from compiler.ranges import said
from compiler.render.review import render_review
from compiler.writtenplan import read_plan
from deployments import check_texts, help_of
from repositories import commit, git
from test_neighbours import SHARED, qwen, service


RULES = SHARED.parent
CAP = ", max_pool_tokens = 4093"
SHARING = {name: qwen(name, more=CAP) for name in "ab"}


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """A tree of two services that share a GPU, and keep their promises one after the other."""
    made = Checkout(tmp_path / "tree")
    shutil.copytree(SHARED, made.root / "profiles")
    (made.root / "poolproof.toml").write_text("", "utf-8")
    for name, text in SHARING.items():
        made.write(name, text)
    return made


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """A folder of profiles with what the cases share."""
    return Path(shutil.copytree(SHARED, tmp_path / "profiles"))


def review(tree: Checkout, name: str) -> str:
    return (tree.out / name / "PLAN.md").read_text("utf-8")


def neighbours(tree: Checkout, name: str) -> list[dict[str, object]]:
    found = json.loads((tree.out / name / "plan.json").read_text("utf-8"))["neighbours"]
    assert isinstance(found, list)
    return found


def test_a_plan_names_who_shares_its_gpus(tree: Checkout) -> None:
    """PLAN.md has the finding with the other's name, and says that verdict and budgets are of the service alone."""
    tree.compile()
    for name, other in ("ab", "ba"):
        text = review(tree, name)
        verdict = next(line for line in text.splitlines() if line.startswith("**Verdict"))
        assert verdict.endswith(f"; it is judged by itself, and `{other}` shares its GPUs.")
        assert "\n- warning `gpu-shared`: `a` and `b` share GPU 0 of `one`\n" in text
        assert "The verdict and both budgets are those of this service by itself." in text
        assert neighbours(tree, name) == [
            {"code": "gpu-shared", "severity": "warning", "target": "one", "others": [other]}
        ]


def test_a_plan_has_the_figures_of_the_second_to_start(profiles: Path, tree: Checkout) -> None:
    """The pool and the reserve beside what the other holds, which each is judged by."""
    tree.compile()
    judged = check_texts(profiles, SHARING).judged
    for each in judged:
        second = each.second
        assert second is not None
        assert second.left is not None
        pool = said(second.left.pool.tokens, ",.0f")
        reserve = second.left.reserve.available_gib
        (line,) = (
            line
            for line in review(tree, each.profile_name).splitlines()
            if line.startswith("Started on")
        )
        assert f"after `{second.others[0]}`, which may hold " in line
        assert f"a pool of {pool} tokens for 4,093" in line
        assert f"a reserve of {reserve.low:.1f} to {reserve.high:.1f} GiB for " in line


def test_a_service_that_may_not_fit_beside_is_named_in_both_plans(profiles: Path) -> None:
    """`promise-uncertain-beside` of one of them concerns the other as well: who signs either plan reads it."""
    folder = RULES / "promise-uncertain-beside" / "one-slot"
    texts = {name: (folder / f"{name}.toml").read_text("utf-8") for name in "ab"}
    checked = check_texts(profiles, texts)
    for each in checked.judged:
        codes = [found.code for found in each.neighbours]
        assert codes == ["promise-uncertain-beside"]
        assert "- warning `promise-uncertain-beside`: `a` beside `b` on" in render_review([each])


MANY = {
    **SHARING,
    # On two hosts, one of which it shares; its port is drawn there.
    "c": service(gpu=1, port=33000, unit="c")
    + 'targets.two = { kind = "systemd", unit = "c" }\nflags.nccl-port = 34000\n',
    # Replaces another by accident.
    "d": service(gpu=2, port=35000, unit="x").replace(', unit = "x"', ""),
    "e": service(gpu=3, port=36000, unit="x").replace(', unit = "x"', ""),
    # On the GPU of another host, and on two of the first.
    "f": service(gpu=1, port=37000, unit="f").replace("one =", "two ="),
    "g": service(gpu=0, port=38000, unit="g").replace("indices = [0]", "indices = [1]"),
}


def test_the_same_is_written_whichever_profiles_are_named(tree: Checkout) -> None:
    """A profile that is compiled by its name has the bytes that it has in the whole tree, and `--check` says so of each."""
    for name, text in MANY.items():
        tree.write(name, text)
    tree.compile()
    whole = {path: path.read_bytes() for path in tree.out.rglob("*") if path.is_file()}
    assert neighbours(tree, "c") == [
        {"code": "gpu-shared", "severity": "warning", "target": "one", "others": ["g"]},
        {"code": "gpu-shared", "severity": "warning", "target": "two", "others": ["f"]},
    ]
    assert [each["code"] for each in neighbours(tree, "e")] == ["unit-shared"]
    for name in MANY:
        assert tree.compared(name)[0] == 0
    shutil.rmtree(tree.out)
    for names in (["b"], ["g", "a"], ["c"], ["f", "d", "e"]):
        tree.compile(*names)
    assert {path: path.read_bytes() for path in tree.out.rglob("*") if path.is_file()} == whole
    assert tree.compared() == (0, {})


def test_who_shares_no_gpu_has_its_budgets_for_itself(tree: Checkout) -> None:
    """A finding about a unit's name is told in both plans, and nothing is taken back of their verdicts."""
    for name in "de":
        tree.write(name, MANY[name])
    tree.compile()
    for name in "de":
        text = review(tree, name)
        assert "- warning `unit-shared`: `d` and `e` replace each other on `one`" in text
        assert "by itself" not in text


def test_what_is_left_beside_an_unknown_model_is_not_known(tree: Checkout) -> None:
    """A service beside one whose memory nobody knows has no figures for its start as the second, and its plan says so."""
    tree.write("c", service(gpu=0, port=33000, unit="c"))
    tree.profile("b").unlink()
    tree.compile()
    assert "Started on `one` after `c`: what it gets is not known" in review(tree, "a")


def test_a_new_neighbour_changes_no_more_than_the_plan(tree: Checkout) -> None:
    """`diff` tells what was found between them and the files that say it, and nothing else of those that were there."""
    text = tree.profile("b").read_text("utf-8")
    tree.profile("b").unlink()
    tree.write("c", service(gpu=1, port=33000, unit="c"))
    git(tree.root, "init", "--quiet")
    commit(tree)
    tree.write("b", text)
    (change,) = (
        each
        for each in tree.run("diff", "--format", "json").json["services"]
        if each["profile"] != "b"
    )
    assert change["profile"] == "a"
    assert change["change"] == "changed"
    assert change["restart"] is None
    assert {each["path"] for each in change["files"]} == {"out/a/PLAN.md", "out/a/plan.json"}
    assert change["findings_new"] == ["warning gpu-shared"]
    assert change["settings"] == change["findings_gone"] == []
    commit(tree)
    # Beside the same others the old side is what was compiled then: the unit alone differs.
    text = tree.profile("a").read_text("utf-8")
    tree.write("a", text.replace('unit = "a"', 'unit = "a", restarts = 2'))
    (change,) = tree.run("diff", "--format", "json").json["services"]
    assert change["profile"] == "a"


def test_a_written_plan_tells_its_neighbours(tree: Checkout) -> None:
    """What a host has is held against the same findings, by the target; a plan of an older Poolproof has none."""
    assert tree.run("compile").code == 0
    content = (tree.root / "out" / "a" / "plan.json").read_bytes()
    plan = read_plan(content)
    assert not isinstance(plan, str)
    assert not isinstance(plan.facts, str)
    assert plan.facts.neighbours == (("one", "warning gpu-shared"),)
    older = {name: each for name, each in json.loads(content).items() if name != "neighbours"}
    plan = read_plan(json.dumps(older).encode())
    assert not isinstance(plan, str)
    assert not isinstance(plan.facts, str)
    assert plan.facts.neighbours == ()


def test_a_line_about_neighbours_is_made_by_them(tree: Checkout) -> None:
    """`why` of such a line names the finding, the other service, and the settings of its own that it shows."""
    tree.compile()
    for file, word in (("PLAN.md", "- warning `gpu-shared`"), ("plan.json", '"gpu-shared"')):
        lines = (tree.out / "a" / file).read_text("utf-8").splitlines()
        number = next(place for place, line in enumerate(lines, 1) if word in line)
        told = tree.run("why", f"out/a/{file}:{number}")
        assert told.code == 0, told.err
        assert "the finding `gpu-shared`, between it and `b`" in told.out
        assert "gpus.indices = [0]" in told.out


def order_of(profiles: Path, texts: Mapping[str, str]) -> str:
    first, *_ = help_of(check_texts(profiles, texts), "gpu-shared").split("\n")
    return first


def test_the_help_says_how_starts_are_ordered(profiles: Path) -> None:
    """A drop-in of each unit but the first, with those before it: systemd waits for their probes."""
    assert order_of(profiles, SHARING) == (
        "where it is meant, order their starts on the host: `systemctl edit UNIT` adds `After=a.service` to `b.service`, "
        "below `[Unit]`; it starts when the other has loaded, after a reboot too"
    )
    three = {name: qwen(name, more=CAP) for name in "abc"}
    told = order_of(profiles, three)
    assert re.findall(r"`(After=[^`]*)` to `([^`]*)`", told) == [
        ("After=a.service", "b.service"),
        ("After=a.service b.service", "c.service"),
    ]
    assert "those have loaded" in told


def test_what_one_manager_cannot_order_is_not_offered(profiles: Path) -> None:
    """A user's units are ordered by the user's manager, and those of two managers by none."""
    user = {
        name: text.replace('unit = "', f'manager = "user", state_dir = "/srv/{name}", unit = "')
        for name, text in SHARING.items()
    }
    assert "`systemctl --user edit UNIT`" in order_of(profiles, user)
    mixed = {"a": user["a"], "b": SHARING["b"]}
    assert order_of(profiles, mixed).startswith("give each its own `gpus.indices`, such as ")


def large(requests: int, context: int) -> Mapping[str, str]:
    return {
        name: qwen(name, context=context)
        .replace("concurrency = 1,", f"concurrency = {requests},")
        .replace("requests = 8,", "requests = 12,")
        for name in "ab"
    }


@pytest.mark.parametrize(
    ("requests", "context", "result"),
    [
        (12, 32_768, "cannot fit together"),
        (7, 32_000, "do not fit together by the best estimate"),
        (7, 31_500, "may not fit together"),
    ],
)
def test_what_no_cap_can_mend_is_told_in_figures(
    profiles: Path, requests: int, context: int, result: str
) -> None:
    """What each takes with a pool of its promise alone, what that comes to, what is free, and how sure it is."""
    checked = check_texts(profiles, large(requests, context))
    found = [each for each in checked.all_diagnostics if each.is_error and each.between]
    assert found
    for each in found:
        assert each.help[0].startswith("give each its own `gpus.indices`, such as ")
        (note,) = (note for note in each.notes if note.startswith("no cap is enough"))
        assert note.endswith(f"are free: they {result}")
        one, other, both, free = (
            (float(low), float(high)) for low, high in re.findall(r"([\d.]+) to ([\d.]+) GiB", note)
        )
        assert both == pytest.approx((one[0] + other[0], one[1] + other[1]), abs=0.11)
        assert both[1] > free[0]


def test_where_caps_are_enough_nothing_is_said_not_to_fit(profiles: Path) -> None:
    """The help names them, and no note contradicts it."""
    checked = check_texts(profiles, large(6, 32_768))
    (found,) = (each for each in checked.all_diagnostics if each.is_error and each.between)
    assert "max_pool_tokens" in found.help[0]
    assert not [note for note in found.notes if "no cap" in note]
