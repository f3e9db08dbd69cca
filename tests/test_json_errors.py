"""What `--json` prints where something is wrong: one object, with what was found in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from checkouts import STORY, Checkout, compiled_checkout, run
from compiler.cli.commands import VERBS, poolproof


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree; not to be changed."""
    return compiled_checkout(tmp_path_factory.mktemp("once") / "tree")


WRONG: Mapping[str, tuple[str, ...]] = {
    "adopt": ("nosuch.service", "--check"),
    "affected": ("nosuch",),
    "check": ("nosuch",),
    "diff": ("nosuch-revision",),
    "fit": ("nosuch",),
    "gc": ("nosuch", "--root", "."),
    "generations": ("nosuch", "--root", "."),
    "predict": ("--count", "1", "--gpu", "nosuch", "--", "python", "-m", "sglang.launch_server"),
    "retire": ("nosuch", "--root", "."),
    "rollback": ("nosuch", "--root", "."),
    "show": ("nosuch",),
    "status": ("nosuch", "--root", "."),
    "switch": ("nosuch", "--root", "."),
    "verify": ("--profile", "nosuch", "--log", "nosuch.log"),
}
"""For each verb that prints JSON, words that it can do nothing with."""


def asks_for_json(verb: str) -> str | None:
    """The option that asks a verb for JSON."""
    command = poolproof.get_command(click.Context(poolproof), verb)
    assert command is not None
    options = [each for each in command.params if isinstance(each, click.Option)]
    if any("--json" in each.opts for each in options):
        return "--json"
    formats = [each.type for each in options if "--format" in each.opts]
    has = any(isinstance(each, click.Choice) and "json" in each.choices for each in formats)
    return "--format=json" if has else None


def test_every_verb_with_json_is_tried() -> None:
    """A new verb that prints JSON prints what is wrong in it, too."""
    assert {verb for verb in VERBS if asks_for_json(verb)} - {"compile"} == WRONG.keys()


def found(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The findings of an object: those of the run, and those that belong to a plan of it."""
    own = told["findings"] if "findings" in told else told["diagnostics"]
    return [*own, *(each for plan in told.get("plans", ()) for each in plan["diagnostics"])]


@pytest.mark.parametrize("verb", WRONG)
def test_what_is_wrong_is_in_the_object(tree: Checkout, verb: str) -> None:
    """Standard output is one object with an error in it, and the exit code says that it is wrong."""
    option = asks_for_json(verb)
    assert option is not None
    done = tree.run(verb, option, *WRONG[verb])
    assert done.code in (1, 5)
    assert "error" in {each["severity"] for each in found(done.json)}


@pytest.mark.parametrize("words", [("show", STORY), ("affected", STORY), ("fit", STORY)])
def test_outside_a_tree_there_is_an_object_too(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Where there is no tree at all that is what the object says."""
    done = run(*words, "--json", here=tmp_path)
    assert done.code == 1
    assert [each["code"] for each in done.json["diagnostics"]] == ["tree-missing"]


@pytest.mark.parametrize("words", [("show", STORY), ("affected", STORY)])
def test_what_is_fine_has_no_findings(tree: Checkout, words: tuple[str, ...]) -> None:
    """The key is always there."""
    assert tree.run(*words, "--json").json["diagnostics"] == []


def test_notes_of_a_diff_are_in_its_object(tree: Checkout, tmp_path: Path) -> None:
    """What a person reads on stderr about `out/` and fragments stands in `notes`."""
    copy = tree.copy(tmp_path / "tree")
    for each in sorted(copy.out.rglob("*"), reverse=True):
        each.unlink() if each.is_file() else each.rmdir()
    copy.out.rmdir()
    notes = copy.run("diff", str(tree.root), "base/service", "--format", "json").json["notes"]
    assert [note for note in notes if "there is no `out/` yet" in note]
    assert [note for note in notes if "`base/service` is a fragment" in note]
