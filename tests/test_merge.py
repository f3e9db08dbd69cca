"""Merging: which definition wins, what is a conflict, and where every value is from."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from compiler.language.merge import merge_graph
from compiler.origins import Level, Origin, SettingPath
from memory_reader import LIST_SETTINGS, linked, losers, merge_faults, merged, places


DIAMOND = {"root": "extends = ['b', 'c']", "c": "extends = ['a']", "a": "x = 1\ny = 1"}


def test_the_most_derived_definition_wins() -> None:
    """A file wins over what it extends; what neither touches comes through."""
    assert merged({**DIAMOND, "b": "extends = ['a']\nx = 2"}).values == {"x": 2, "y": 1}


def test_a_file_wins_through_another() -> None:
    """In a diamond the side that says nothing does not bring the old value back."""
    files = {**DIAMOND, "b": "extends = ['a']\nx = 2", "c": "extends = ['a']\nz = 3"}
    assert merged(files).values == {"x": 2, "y": 1, "z": 3}


def test_files_that_do_not_extend_each_other_must_agree() -> None:
    """Two sides that set a value differently are a conflict that shows both places and values."""
    files = {
        **DIAMOND,
        "b": "extends = ['a']\nx = 0x2",
        "c": "extends = ['a']\n\nx = 3",
    }
    (diagnostic,) = merge_faults(files)
    assert diagnostic.code == "merge-conflict"
    assert diagnostic.path == "x"
    assert places(diagnostic) == ["b.toml:2:5", "c.toml:3:5"]
    assert diagnostic.primary is not None
    assert diagnostic.primary.text == "`b` sets it to `0x2`"
    assert [each.text for each in diagnostic.secondary] == ["`c` sets it to `3`"]
    assert diagnostic.help == ("set `x` in `root`; a file wins over those it extends",)


def test_the_child_settles_a_conflict() -> None:
    """What the profile itself says wins over all that it extends, so no conflict is left."""
    files = {
        "root": "extends = ['b', 'c']\nx = 9",
        "b": "x = 2",
        "c": "x = 3",
    }
    resolved = merged(files)
    assert resolved.values == {"x": 9}
    assert losers(resolved.origins.by_path["x",]) == [
        ("b", "overridden by root"),
        ("c", "overridden by root"),
    ]


def test_one_place_is_worked_out_where_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding has a place or two, and a profile hundreds of settings."""
    resolved = merged({"root": "".join(f"k{each} = 1\n" for each in range(50))})
    history = type(resolved.origins.by_path)
    asked: list[object] = []
    get = history.__getitem__

    def counted(paths: Mapping[SettingPath, Origin], path: SettingPath) -> Origin:
        asked.append(path)
        return get(paths, path)

    monkeypatch.setattr(history, "__getitem__", counted)
    assert resolved.origins.find("k49") is not None
    assert asked == [("k49",)]


@pytest.mark.parametrize(
    "value",
    ["2", "'2'", "2.5", "nan", "true", "[1, [2, 'x']]", "[{a = 1, b = [nan]}]", "2026-01-01"],
)
def test_the_same_value_twice_is_agreement(value: str) -> None:
    """Two sides that say the same agree; both are remembered."""
    resolved = merged({"root": "extends = ['c', 'b']", "b": f"x = {value}", "c": f"x = {value}"})
    origin = resolved.origins.by_path["x",]
    assert (origin.winner.profile, [each.profile for each in origin.agreeing]) == ("b", ["c"])
    assert not origin.losers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "true"),
        ("0.0", "false"),
        ("1", "'1'"),
        ("[1]", "[1.0]"),
        ("[1]", "[1, 1]"),
        ("[{a = 1}]", "[{a = true}]"),
        ("[{a = 1}]", "[{b = 1}]"),
        ("2026-01-01", "2026-01-01T00:00:00"),
        ("nan", "1.0"),
    ],
)
def test_values_of_other_types_do_not_agree(one: str, other: str) -> None:
    """Equality is that of TOML: a whole number is no float and no boolean, in lists too."""
    files = {"root": "extends = ['b', 'c']", "b": f"x = {one}", "c": f"x = {other}"}
    assert [each.code for each in merge_faults(files)] == ["merge-conflict"]


def test_a_default_loses_to_a_plain_value_anywhere() -> None:
    """A default gives way even to a file that its own file extends."""
    resolved = merged({"root": "extends = ['b']\n[defaults]\nx = 1\ny = 1", "b": "x = 2"})
    assert resolved.values == {"x": 2, "y": 1}
    assert losers(resolved.origins.by_path["x",]) == [("root", "a default; b sets it")]


def test_force_wins_over_a_plain_value_anywhere() -> None:
    """What a file forces, a file that extends it does not change, unless it forces it too."""
    files = {"root": "extends = ['b']\nx = 2", "b": "x = 1\n[force]\nx = 0"}
    resolved = merged(files)
    assert resolved.values == {"x": 0}
    origin = resolved.origins.by_path["x",]
    assert (origin.winner.profile, origin.winner.level) == ("b", Level.FORCE)
    assert losers(origin) == [("root", "forced by b"), ("b", "overridden by root")]
    assert merged({**files, "root": "extends = ['b']\n[force]\nx = 3"}).values == {"x": 3}


def test_defaults_that_differ_are_a_conflict_too() -> None:
    """Inside a level the same rule holds."""
    files = {"root": "extends = ['b', 'c']", "b": "[defaults]\nx = 1", "c": "[defaults]\nx = 2"}
    (diagnostic,) = merge_faults(files)
    assert places(diagnostic) == ["b.toml:2:5", "c.toml:2:5"]
    assert merged({**files, "root": "extends = ['b', 'c']\n[defaults]\nx = 3"}).values == {"x": 3}


def test_a_conflict_of_forces_says_where_to_settle_it() -> None:
    """The advice names the level that is needed."""
    files = {"root": "extends = ['b', 'c']\nx = 3", "b": "force.x = 1", "c": "force.x = 2"}
    (diagnostic,) = merge_faults(files)
    assert diagnostic.help[0].startswith("set `x` in `root` under `force`;")


def test_tables_are_merged_by_key() -> None:
    """Keys of a table come from different files, however the table is written; keys come out sorted."""
    resolved = merged(
        {"root": "extends = ['b']\n[m]\nb = 2\nd.e = 4", "b": "m = { a = 1, b = 1, d = { f = 5 } }"}
    )
    assert resolved.values == {"m": {"a": 1, "b": 2, "d": {"e": 4, "f": 5}}}
    assert list(resolved.values["m"]) == ["a", "b", "d"]


def test_an_empty_table_is_there() -> None:
    """A table that nobody fills is a value with an origin; any table has a place."""
    resolved = merged(
        {"root": "extends = ['b']\n[targets.ct200]\n[m]\na = 1", "b": "speculative = {}\n"}
    )
    assert resolved.values == {"m": {"a": 1}, "speculative": {}, "targets": {"ct200": {}}}
    assert set(resolved.origins.by_path) == {
        ("m", "a"),
        ("speculative",),
        ("targets", "ct200"),
    }
    assert {path: span.line for path, span in resolved.tables.items()} == {
        ("m",): 3,
        ("speculative",): 1,
        ("targets",): 2,
        ("targets", "ct200"): 2,
    }


def test_directives_are_no_settings() -> None:
    """Of the directives only the description of the profile itself is a value."""
    resolved = merged(
        {
            "root": "schema = 1\nextends = ['b']\ndescription = 'mine'\nunset = ['x']\n[defaults]\n[force]",
            "b": "schema = 1\ndescription = 'its own'\nx = 1",
        }
    )
    assert resolved.name == "root"
    assert resolved.values == {"description": "mine"}
    assert resolved.origins.by_path["description",].winner.value_span.line == 3
    assert "description" not in merged({"root": "extends = ['b']", "b": "description = 'x'"}).values


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (
            {"root": "extends = ['b', 'c']", "b": "x = 1", "c": "x.k = 1"},
            ["b.toml:1:5", "c.toml:1:1"],
        ),
        (
            {"root": "extends = ['b']\nx = false", "b": "[x]\nk = 1"},
            ["root.toml:2:5", "b.toml:1:1"],
        ),
        ({"root": "extends = ['b']\n[x]", "b": "[force]\nx = 1"}, ["root.toml:2:1", "b.toml:2:5"]),
        ({"root": "x = 1\n[defaults.x]\ny = 1"}, ["root.toml:1:5", "root.toml:2:1"]),
    ],
)
def test_a_value_against_a_table(files: dict[str, str], where: list[str]) -> None:
    """A setting that is a value here and a table there is one error with both places, whoever extends whom."""
    (diagnostic,) = merge_faults(files)
    assert (diagnostic.code, diagnostic.path) == ("merge-shape", "x")
    assert places(diagnostic) == where


def test_a_removal_makes_way_for_another_shape() -> None:
    """Once a table is unset, a value may take its place."""
    files = {
        "root": "extends = ['b']\nx = 1",
        "b": "extends = ['a']\nunset = ['x']",
        "a": "x.k = 1",
    }
    assert merged(files).values == {"x": 1}


def test_one_mistake_is_one_finding() -> None:
    """Below a path that cannot be settled nothing more is reported; beside it, everything is."""
    files = {
        "root": "extends = ['b', 'c']",
        "b": "extends = ['a']\nunset = ['s']\nz = 1",
        "c": "z = 2\n[s]\nk = 2\nl.m = 2",
        "a": "[s]\nk = 1\nl.m = 1",
    }
    assert [(each.code, each.path) for each in merge_faults(files)] == [
        ("merge-conflict", "s"),
        ("merge-conflict", "z"),
    ]


def test_the_whole_history_is_kept() -> None:
    """Losers come nearest first, each with what it lost to."""
    files = {
        "root": "extends = ['mid', 'side']\nx = 5",
        "side": "[defaults]\nx = 0",
        "mid": "extends = ['low']\nx = 4",
        "low": "extends = ['base']\nunset = ['x']",
        "base": "x = 1",
    }
    origin = merged(files).origins.by_path["x",]
    assert origin.winner.value == 5
    assert losers(origin) == [
        ("mid", "overridden by root"),
        ("side", "a default; root sets it"),
        ("low", "set again by mid"),
        ("base", "unset by low"),
    ]
    assert [each.definition.removes for each in origin.losers] == [False, False, True, False]


def test_a_loser_names_what_it_really_lost_to() -> None:
    """A weaker definition in between does not count as what a stronger one lost to."""
    files = {
        "root": "extends = ['mid']\nforce.x = 3",
        "mid": "extends = ['base']\nx = 2",
        "base": "force.x = 1",
    }
    assert losers(merged(files).origins.by_path["x",]) == [
        ("mid", "forced by root"),
        ("base", "overridden by root"),
    ]


def test_the_longest_way_counts() -> None:
    """A file that is also extended from nearby still comes after every file that extends it."""
    files = {
        "root": "extends = ['far', 'near']\nx = 0",
        "far": "extends = ['z']",
        "z": "extends = ['a', 'y']\nx = 1",
        "near": "extends = ['a']\nx = 2",
        "a": "x = 3",
        "y": "",
    }
    assert [name for name, _ in losers(merged(files).origins.by_path["x",])] == ["near", "z", "a"]


def test_a_list_knows_where_its_items_are() -> None:
    """A list replaces a list, and each item has its own place."""
    resolved = merged({"root": "extends = ['b']\nx = [\n 'a', 'b' ]", "b": "x = ['c']"})
    items = resolved.origins.by_path["x",].items
    assert [(each.value, each.profile, each.span.line, each.span.column) for each in items] == [
        ("a", "root", 3, 2),
        ("b", "root", 3, 7),
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("secrets.api_key", "'sk-{}'"),
        ("env.HF_TOKEN", "'sk-{}'"),
        ("env.AWS_SECRET_ACCESS_KEY", "'sk-{}'"),
        ("env.PLAIN", "'sk-{}bcdefghijklmno'"),
        ("flags.api-key", "'sk-{}'"),
        ("flags.header", "['x', 'sk-{}bcdefghijklmno']"),
    ],
)
def test_a_secret_is_not_repeated(path: str, value: str) -> None:
    """A conflict over what is probably a secret does not print it, nor lets the report quote it."""
    setting = {name: f"{path} = {value.format(number)}" for number, name in enumerate("bc")}
    files = {"root": "extends = ['b', 'c']", **setting}
    (diagnostic,) = merge_faults(files)
    assert diagnostic.primary is not None
    labels = (diagnostic.primary, *diagnostic.secondary)
    assert all(each.secret and "sk-" not in each.text for each in labels)


def test_the_document_stands_for_what_no_file_sets() -> None:
    """A rule that looks for a setting nobody gives is pointed at the profile."""
    label = merged({"root": "x = 1"}).origins.primary("memory.fraction")
    assert (label.span.file, label.span.line, label.span.column) == ("profiles/root.toml", 1, 1)


def test_a_result_does_not_share_lists_with_the_files() -> None:
    """Whoever gets a result does not get the files' own lists and tables to change."""
    graph = linked({"root": "x = [1]\n[t]"}, "root")
    resolved, _ = merge_graph(graph, list_settings=LIST_SETTINGS)
    assert resolved is not None
    for key, value in graph.documents["root"].values.items():
        assert resolved.values[key] == value
        assert resolved.values[key] is not value


def test_the_longest_chain() -> None:
    """As many profiles as one may be made of, which all set the same, are merged without deep recursion."""
    last = 255
    files = {f"p{number}": f"extends = ['p{number + 1}']\nx = {number}" for number in range(last)}
    resolved = merged({**files, f"p{last}": "x = -1"}, "p0")
    assert resolved.values == {"x": 0}
    reasons = losers(resolved.origins.by_path["x",])
    assert (reasons[0], reasons[-1]) == (
        ("p1", "overridden by p0"),
        (f"p{last}", f"overridden by p{last - 1}"),
    )
