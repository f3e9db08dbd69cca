"""Removing what is inherited: what goes, what stays, and when it is a mistake."""

from __future__ import annotations

import pytest

from memory_reader import losers, merge_faults, merged, places


BASE = {"a": "[s]\nk = 1\nl = { m = 2 }\n[env]\n'A.B' = 'x'\n"}


@pytest.mark.parametrize(
    ("unset", "values"),
    [
        ("s", {"env": {"A.B": "x"}}),
        ("s.k", {"s": {"l": {"m": 2}}, "env": {"A.B": "x"}}),
        ("s.l", {"s": {"k": 1}, "env": {"A.B": "x"}}),
        ("s.l.m", {"s": {"k": 1, "l": {}}, "env": {"A.B": "x"}}),
        (' env . "A.B"', {"s": {"k": 1, "l": {"m": 2}}, "env": {}}),
    ],
)
def test_a_removal_takes_what_is_below_it_and_nothing_else(
    unset: str, values: dict[str, object]
) -> None:
    """A setting goes alone, a table with all that is in it; the table that held it stays."""
    assert merged({"root": f"extends = ['a']\nunset = ['{unset}']", **BASE}).values == values


def test_what_was_removed_is_remembered() -> None:
    """For each path that is gone there is the removal, and what it did away with."""
    resolved = merged({"root": "extends = ['a']\nunset = ['s']", **BASE})
    assert set(resolved.removed) == {("s",), ("s", "k"), ("s", "l"), ("s", "l", "m")}
    origin = resolved.removed["s", "k"]
    assert origin.winner.removes
    assert (origin.winner.value_span.line, origin.winner.value_span.column) == (2, 10)
    assert losers(origin) == [("a", "unset by root")]
    assert ("s", "k") not in resolved.origins.by_path
    assert ("s",) not in resolved.tables


def test_a_later_file_may_set_it_again() -> None:
    """What a parent removed a child may set; of a table only that comes back."""
    files = {
        "root": "extends = ['b']\n[s]\nk = 7",
        "b": "extends = ['a']\nunset = ['s']",
        **BASE,
    }
    resolved = merged(files)
    assert resolved.values["s"] == {"k": 7}
    assert losers(resolved.origins.by_path["s", "k"]) == [
        ("b", "set again by root"),
        ("a", "unset by b"),
    ]


def test_a_removal_reaches_through_a_diamond() -> None:
    """The side that says nothing does not bring back what the other removed."""
    files = {
        "root": "extends = ['b', 'c']",
        "b": "extends = ['a']\nunset = ['s']",
        "c": "extends = ['a']",
        **BASE,
    }
    assert "s" not in merged(files).values


def test_a_removal_against_a_value_is_a_conflict() -> None:
    """One side that removes and one that sets do not agree; two that remove do."""
    files = {
        "root": "extends = ['b', 'c']",
        "b": "extends = ['a']\nunset = ['s.k']",
        "c": "extends = ['a']\ns.k = 3",
        **BASE,
    }
    (diagnostic,) = merge_faults(files)
    assert (diagnostic.code, diagnostic.path) == ("merge-conflict", "s.k")
    assert places(diagnostic) == ["b.toml:2:10", "c.toml:2:7"]
    assert diagnostic.primary is not None
    assert diagnostic.primary.text == "`b` unsets it"
    assert "k" not in merged({**files, "c": "extends = ['a']\nunset = ['s.k']"}).values["s"]


def test_a_removal_is_a_plain_definition() -> None:
    """It beats a default of any file, and gives way to what an unrelated file forces."""
    files = {"b": "extends = ['a']\nunset = ['s.k']", **BASE}
    root = "extends = ['b', 'c']"
    assert "k" not in merged({"root": root, "c": "defaults.s.k = 5", **files}).values["s"]
    resolved = merged({"root": root, "c": "force.s.k = 5", **files})
    assert resolved.values["s"]["k"] == 5
    assert losers(resolved.origins.by_path["s", "k"]) == [
        ("b", "forced by c"),
        ("a", "unset by b"),
    ]


@pytest.mark.parametrize(
    ("unset", "files", "where"),
    [
        ("z", BASE, ["root.toml:2:10"]),
        ("s.k.deeper", BASE, ["root.toml:2:10"]),
        ("defaults.s", BASE, ["root.toml:2:10"]),
        ("extends", BASE, ["root.toml:2:10"]),
        (
            "s",
            {"a": "extends = ['b']\nunset = ['s']", "b": "s = 1"},
            ["root.toml:2:10", "a.toml:2:10"],
        ),
        (
            "s.k",
            {"a": "extends = ['b']\nunset = ['s']", "b": "s.k = 1"},
            ["root.toml:2:10", "a.toml:2:10"],
        ),
    ],
)
def test_removing_nothing(unset: str, files: dict[str, str], where: list[str]) -> None:
    """A removal of what is not inherited, or was removed already, is an error."""
    (diagnostic,) = merge_faults({"root": f"extends = ['a']\nunset = ['{unset}']", **files})
    assert diagnostic.code == "unset-nothing"
    assert places(diagnostic) == where


def test_removing_nothing_names_what_was_meant() -> None:
    """The advice is a path that is inherited, not one of an unrelated file."""
    files = {
        "root": "extends = ['mid', 'other']",
        "mid": "extends = ['a']\nunset = ['memory.fractoin']",
        "a": "memory.fraction = 0.9",
        "other": "memory.fractoim = 1",
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.help == ("a setting with a similar name is inherited: `memory.fraction`",)


@pytest.mark.parametrize(
    ("unsets", "where"),
    [
        ("'s.k', 's.k'", ["root.toml:2:17", "root.toml:2:10"]),
        ("'s', 's.k'", ["root.toml:2:15", "root.toml:2:10"]),
        ("'s.k', 's'", ["root.toml:2:10", "root.toml:2:17"]),
    ],
)
def test_removing_the_same_twice_in_one_file(unsets: str, where: list[str]) -> None:
    """An entry that another entry of the file makes superfluous is an error that shows both."""
    (diagnostic,) = merge_faults({"root": f"extends = ['a']\nunset = [{unsets}]", **BASE})
    assert diagnostic.code == "unset-nothing"
    assert places(diagnostic) == where


def test_removing_what_is_left_of_a_table() -> None:
    """A table of which a parent removed a part can still be removed, and a table that a child filled again."""
    files = {"b": "extends = ['a']\nunset = ['s.k']", **BASE}
    assert "s" not in merged({"root": "extends = ['b']\nunset = ['s']", **files}).values
    files = {"b": "extends = ['a']\nunset = ['s']", "c": "extends = ['b']\ns.k = 2", **BASE}
    assert "s" not in merged({"root": "extends = ['c']\nunset = ['s']", **files}).values


def test_removing_what_an_ancestor_forces() -> None:
    """What is forced cannot be removed; the place that forces it is shown, and nothing else is said."""
    files = {
        "root": "extends = ['b']\nunset = ['s']",
        "b": "extends = ['a']\nforce.s.k = 5",
        **BASE,
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "unset-forced"
    assert places(diagnostic) == ["root.toml:2:10", "b.toml:2:13"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("s.k = 3", ["root.toml:2:10", "root.toml:3:7"]),
        ("[s]", ["root.toml:2:10", "root.toml:3:1"]),
        ("defaults.s.k = 3", ["root.toml:2:10", "root.toml:3:16"]),
    ],
)
def test_setting_and_removing_in_one_file(text: str, where: list[str]) -> None:
    """A file that removes and sets the same, or something in it, contradicts itself."""
    (diagnostic,) = merge_faults({"root": f"extends = ['a']\nunset = ['s']\n{text}", **BASE})
    assert diagnostic.code == "unset-and-set"
    assert places(diagnostic) == where


def test_a_wrong_removal_in_a_parent_is_found() -> None:
    """Every file's removals are judged by what that file inherits."""
    files = {"root": "extends = ['b', 'a']", "b": "unset = ['s']", **BASE}
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "unset-nothing"
    assert places(diagnostic) == ["b.toml:1:10"]
