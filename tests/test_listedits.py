"""List edits: what they apply to, what they give, and when they are mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from memory_reader import losers, merge_faults, merged, places


BASE = {"a": "[flags]\nx = ['1', '2', '1', '3']"}


def edited(edit: str, **files: str) -> Any:  # noqa: ANN401 - whatever the value is
    """The value of `flags.x` in a profile that edits what it extends."""
    text = {**BASE, **files}
    return merged({"root": f"extends = ['a']\n[flags]\nx = {edit}", **text}).values["flags"]["x"]


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        ("{ append = ['4'] }", ["1", "2", "1", "3", "4"]),
        ("{ prepend = ['4', '5'] }", ["4", "5", "1", "2", "1", "3"]),
        ("{ remove = ['1'] }", ["2", "3"]),
        ("{ remove = ['2'], append = ['2'], prepend = ['0'] }", ["0", "1", "1", "3", "2"]),
        ("{ append = ['1'] }", ["1", "2", "1", "3", "1"]),
        ("{ remove = ['1', '2', '3'] }", []),
        ("{ append = [] }", ["1", "2", "1", "3"]),
        ("['9']", ["9"]),
    ],
)
def test_what_an_edit_gives(edit: str, result: list[str]) -> None:
    """Every equal item is removed first; what is put before or after may be there already."""
    assert edited(edit) == result


def test_an_edit_is_a_table_however_it_is_written() -> None:
    """Dotted keys and headers are edits as well as inline tables."""
    header = "[flags.x]\nappend = ['4']"
    dotted = "flags.x.append = ['4']"
    for text in (header, dotted):
        values = merged({"root": f"extends = ['a']\n{text}", **BASE}).values
        assert values["flags"]["x"] == ["1", "2", "1", "3", "4"]


def test_items_keep_their_places() -> None:
    """Of an edited list every item is traced to the file that gave it, through other edits."""
    files = {
        "root": "extends = ['b']\n[flags]\nx = { append = ['4'] }",
        "b": "extends = ['a']\n[flags]\nx = { prepend = ['0'], remove = ['1'] }",
        **BASE,
    }
    origin = merged(files).origins.by_path["flags", "x"]
    items = [(each.value, each.profile, each.span.column) for each in origin.items]
    assert items == [("0", "b", 18), ("2", "a", 11), ("3", "a", 21), ("4", "root", 17)]
    assert losers(origin) == [("b", "edited by root"), ("a", "edited by b")]


def test_a_plain_edit_of_a_default() -> None:
    """An edit takes what it inherits from whatever level is there."""
    assert edited("{ append = ['4'] }", a="[defaults.flags]\nx = ['1']") == ["1", "4"]
    files = {"root": "[flags]\nx = { append = ['4'] }\n[defaults.flags]\nx = ['1']"}
    resolved = merged(files)
    assert resolved.values == {"flags": {"x": ["1", "4"]}}
    assert losers(resolved.origins.by_path["flags", "x"]) == [("root", "a default; root edits it")]


def test_an_edit_loses_to_force() -> None:
    """A list that is forced is not edited by a plain edit."""
    assert edited("{ append = ['4'] }", a="[force.flags]\nx = ['1']") == ["1"]


def test_an_edit_that_is_overridden_is_not_looked_at() -> None:
    """A file that gives the list anew has no need of what is wrong below."""
    files = {"b": "extends = ['a']\nflags.x.remove = ['nope']", **BASE}
    values = merged({"root": "extends = ['b']\nflags.x = ['0']", **files}).values
    assert values == {"flags": {"x": ["0"]}}
    assert len(merge_faults({"root": "extends = ['b']", **files})) == 1


def test_two_edits_side_by_side_must_agree() -> None:
    """Files that do not extend each other and edit the same list are a conflict, unless the results are the same."""
    files = {
        "root": "extends = ['b', 'c']",
        "b": "extends = ['a']\nflags.x.append = ['4']",
        "c": "extends = ['a']\nflags.x.append = ['5']",
        **BASE,
    }
    (diagnostic,) = merge_faults(files)
    assert (diagnostic.code, diagnostic.path) == ("merge-conflict", "flags.x")
    assert places(diagnostic) == ["b.toml:2:7", "c.toml:2:7"]
    agreeing = {**files, "c": "extends = ['a']\nflags.x = ['1', '2', '1', '3', '4']"}
    origin = merged(agreeing).origins.by_path["flags", "x"]
    assert [each.profile for each in origin.agreeing] == ["c"]


def test_an_edit_does_not_settle_a_conflict_below_it() -> None:
    """A child that edits what two parents set differently leaves their conflict, which is told once."""
    files = {
        "root": "extends = ['b', 'c']\nflags.x.append = ['4']",
        "b": "flags.x = ['1']",
        "c": "flags.x = ['2']",
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "merge-conflict"
    assert places(diagnostic) == ["b.toml:1:11", "c.toml:1:11"]


def test_edits_of_the_same_conflict_tell_it_once() -> None:
    """Two edits that rest on one conflict do not report it twice."""
    files = {
        "root": "extends = ['d', 'e']",
        "d": "extends = ['b', 'c']\nflags.x.append = ['4']",
        "e": "extends = ['b', 'c']\nflags.x.append = ['5']",
        "b": "flags.x = ['1']",
        "c": "flags.x = ['2']",
    }
    (diagnostic,) = merge_faults(files)
    assert places(diagnostic) == ["b.toml:1:11", "c.toml:1:11"]


def test_an_edit_of_what_one_side_removed() -> None:
    """When one parent removes the list and another gives it anew, the edit rests on their conflict."""
    files = {
        "root": "extends = ['b', 'c']\nflags.x.append = ['4']",
        "b": "extends = ['a']\nunset = ['flags.x']",
        "c": "extends = ['a']\nflags.x = ['2']",
        **BASE,
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "merge-conflict"
    assert places(diagnostic) == ["b.toml:2:10", "c.toml:2:11"]


def test_an_edit_of_an_edit_that_failed() -> None:
    """An edit that rests on a wrong one adds no finding of its own."""
    files = {
        "root": "extends = ['mid']\nflags.x.append = ['5']",
        "mid": "flags.x.append = ['4']",
    }
    (diagnostic,) = merge_faults(files)
    assert places(diagnostic) == ["mid.toml:1:7"]
    assert diagnostic.notes == ()


def test_an_empty_table_is_no_edit() -> None:
    """A table without keys edits nothing, so where a list belongs it stays a table."""
    assert merged({"root": "flags.x = {}"}).values == {"flags": {"x": {}}}


def test_a_list_and_a_value_are_a_conflict_of_values() -> None:
    """An edit beside a value that is no list is a conflict like any other."""
    files = {
        "root": "extends = ['b', 'c']",
        "b": "extends = ['a']\nflags.x.append = ['4']",
        "c": "extends = ['a']\nflags.x = 1",
        **BASE,
    }
    assert [each.code for each in merge_faults(files)] == ["merge-conflict"]


def test_removing_what_is_not_there() -> None:
    """Each item that is not in the list is an error at that item; types count."""
    files = {
        "root": "extends = ['a']\nflags.x.remove = ['1', '7', 1]",
        **BASE,
    }
    first, second = merge_faults(files)
    assert (first.code, second.code) == ("list-edit-nothing", "list-edit-nothing")
    assert places(first) == ["root.toml:2:24", "a.toml:2:5"]
    assert places(second) == ["root.toml:2:29", "a.toml:2:5"]


def test_removing_the_same_twice() -> None:
    """All equal items go at once, so the second mention removes nothing."""
    files = {"root": "extends = ['a']\nflags.x.remove = ['1', '1']", **BASE}
    (diagnostic,) = merge_faults(files)
    assert places(diagnostic)[0] == "root.toml:2:24"


def test_editing_a_list_that_nobody_gave() -> None:
    """An edit of nothing is an error, and says who gives the list without being extended."""
    files = {
        "root": "extends = ['b', 'a']",
        "b": "flags.x.append = ['4']",
        **BASE,
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "list-edit-nothing"
    assert places(diagnostic) == ["b.toml:1:7"]
    assert diagnostic.notes == ("`a` sets it, but `b` does not extend `a`",)


def test_editing_a_list_that_was_unset() -> None:
    """When the list was there and was removed, the removal is shown."""
    files = {
        "root": "extends = ['b']\nflags.x.append = ['4']",
        "b": "extends = ['a']\nunset = ['flags.x']",
        **BASE,
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "list-edit-nothing"
    assert places(diagnostic) == ["root.toml:2:7", "b.toml:2:10"]
    assert diagnostic.notes == ()


def test_editing_what_is_no_list() -> None:
    """An edit of a single value is an error that shows it."""
    files = {"root": "extends = ['a']\nflags.x.append = ['4']", "a": "flags.x = 5"}
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "merge-shape"
    assert places(diagnostic) == ["root.toml:2:7", "a.toml:1:11"]


@pytest.mark.parametrize("part", ["append", "prepend", "remove"])
def test_the_parts_of_an_edit_are_lists(part: str) -> None:
    """A part that is no list is an error where it stands."""
    files = {"root": f"extends = ['a']\nflags.x.{part} = '4'", **BASE}
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "wrong-type"
    assert diagnostic.summary == f"`flags.x.{part}` is a list of items, not text"
    assert places(diagnostic) == [f"root.toml:2:{len(f'flags.x.{part} = ') + 1}"]


def test_other_tables_are_no_edits() -> None:
    """Where the setting is no list, or the table holds another key, it is a table like any other."""
    files = {
        "root": "env.append = ['1']\n[memory.kv]\nremove = 2\n[flags.x]\nappend = [1]\nother = 2"
    }
    assert merged(files).values == {
        "env": {"append": ["1"]},
        "flags": {"x": {"append": [1], "other": 2}},
        "memory": {"kv": {"remove": 2}},
    }


def test_a_list_setting_with_a_fixed_name() -> None:
    """A setting is a list by its whole path as well as by a pattern."""
    files = {"root": "extends = ['a']\ngpus.indices.remove = [0]", "a": "gpus.indices = [0, 1]"}
    assert merged(files).values == {"gpus": {"indices": [1]}}
