"""A profile that is asked for by name: judged beside what runs on its hosts, and no other file is planned for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import FP8, SHORT, STORY, Checkout, checkout
from compiler.cli.neighbours import names_beside
from compiler.inputs import Inputs
from compiler.language.load import DiskReader


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """A service alone on its host, and one that shares nothing with it."""
    made = checkout(tmp_path / "tree")
    for name in (FP8, SHORT):
        made.profile(name).unlink()
    made.write("elsewhere", text_of(made).replace("[targets.ct200]", "[targets.ct201]"))
    return made


def text_of(tree: Checkout) -> str:
    return tree.profile(STORY).read_text("utf-8")


def write_beside(tree: Checkout, host: str = "ct200") -> None:
    """Another unit on the same GPUs and port."""
    text = text_of(tree).replace("[targets.ct200]", f'[targets.{host}]\nunit = "beside"')
    tree.write("beside", text)


@pytest.mark.parametrize("verb", ["check", "compile", "report"])
def test_a_named_profile_is_refused_by_its_neighbour(tree: Checkout, verb: str) -> None:
    """What `check` of the tree refuses between two services, it refuses of each by its name; others pass."""
    assert tree.run(verb, STORY).code == 0
    write_beside(tree)
    for name in (STORY, "beside"):
        done = tree.run(verb, name)
        assert done.code == 1
        assert "error[port-clash]" in done.err
        assert "error[gpu-overcommitted]" in done.err
    assert tree.run(verb, "elsewhere").code == 0


def test_a_named_profile_is_told_what_the_tree_is_told(tree: Checkout) -> None:
    """The words are those of the whole tree, and what neighbours do among themselves is not told."""
    write_beside(tree)
    whole = tree.run("check", "--json").json["diagnostics"]
    assert tree.run("check", STORY, "--json").json["diagnostics"] == whole
    third = text_of(tree).replace("[targets.ct200]", '[targets.ct200]\nunit = "third"')
    tree.write("third", third.replace("[serve]", "[serve]\nport = 30100", 1))
    told = tree.run("check", "third", "--json").json["diagnostics"]
    assert not [each for each in told if each["code"] == "port-clash"]
    assert [each["profile"] for each in tree.run("check", "third", "--json").json["plans"]] == [
        "third"
    ]


def test_only_what_shares_a_host_is_parsed(tree: Checkout) -> None:
    """Files without the name of the host are not even parsed; a name with escapes is found."""
    write_beside(tree, host='"ct\\u0032\\u0030\\u0030"')
    from compiler.catalog import open_catalog  # noqa: PLC0415 - beside its reader

    inputs = Inputs(reader=DiskReader(tree.root / "profiles"), catalog=open_catalog())
    assert names_beside((STORY,), inputs) == ("beside",)
    assert set(inputs.documents) == {STORY, "beside"}


def test_a_neighbour_that_cannot_be_planned_is_said(tree: Checkout) -> None:
    """Nothing is claimed of what cannot be looked at."""
    tree.write("beside", text_of(tree).replace("context = 200_000", 'context = "long"'))
    done = tree.run("check", STORY)
    assert done.code == 0
    assert "`beside` names the same host and cannot be planned" in done.err


@pytest.mark.parametrize("broken", ["[broken\n", 'x = "\\q"\n'])
def test_a_neighbour_that_nobody_can_read_is_said(tree: Checkout, broken: str) -> None:
    """A file that names the host and is no TOML may be a neighbour: text, JSON, and `fit` say that it was not looked at."""
    tree.write("beside", text_of(tree) + broken)
    said = "`beside` names the same host and cannot be planned"
    assert said in tree.run("check", STORY).err
    assert tree.run("check", STORY, "--json").json["unseen"] == ["beside"]
    assert said in tree.run("fit", STORY).err
    tree.write("beside", broken)
    assert said not in tree.run("check", STORY).err


def test_alternatives_are_told_as_in_the_whole_tree(tree: Checkout) -> None:
    """Another profile of the same unit is outlined only, and the same is said of the two as when both are planned."""
    text = text_of(tree)
    tree.write("beside", text.replace("[serve]", "[serve]\nport = 30555", 1))
    whole = tree.run("check", "--json").json["diagnostics"]
    assert [each["code"] for each in whole] == ["unit-shared"]
    assert tree.run("check", STORY, "--json").json["diagnostics"] == whole
    assert tree.run("check", "beside", "--json").json["diagnostics"] == whole
    tree.run("compile")
    assert tree.run("compile", "--check", STORY).code == 0


def test_a_plan_names_the_neighbour_that_nobody_could_read(tree: Checkout) -> None:
    """What a team signs says that one was not looked at, and is stale once it can be."""
    mended = text_of(tree)
    tree.write("beside", f"{mended}[broken\n")
    assert tree.run("compile", STORY).code == 0
    plan = (tree.root / "out" / STORY / "PLAN.md").read_text("utf-8")
    assert "\n- `beside` names the same host and could not be planned: " in plan
    assert tree.run("compile", "--check", STORY).code == 0
    tree.write("beside", mended)
    assert tree.run("compile", "--check", STORY).code == 3
