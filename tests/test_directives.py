"""What a file says to the compiler: read in full, or each fault with its place."""

from __future__ import annotations

import tomllib

import pytest

from compiler.language.directives import Directives, read_directives
from compiler.source import Source
from memory_reader import places


def read(text: str) -> tuple[Directives, list[tuple[str, list[str]]]]:
    """The directives of a text, with the code and the places of each fault."""
    directives, faults = read_directives(tomllib.loads(text), source=Source("f", text))
    return directives, [(each.code, places(each)) for each in faults]


def test_all_directives() -> None:
    """Parents and removals come with their places, and keys of removals are split as TOML splits them."""
    directives, faults = read(
        'schema = 1\nextends = ["a", "b/c"]\ndescription = "d"\nunset = ["x.y", \'env."A.B"\']\n'
    )
    assert not faults
    assert [(each.name, each.at) for each in directives.extends] == [
        ("a", ("extends", 0)),
        ("b/c", ("extends", 1)),
    ]
    assert [(each.path, each.at) for each in directives.unset] == [
        (("x", "y"), ("unset", 0)),
        (("env", "A.B"), ("unset", 1)),
    ]


def test_a_file_without_directives() -> None:
    """Every directive may be missing; without `schema` the file is read as schema 1."""
    assert read("[model]\nid = 'x'\n") == (Directives(), [])


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("schema = 2", "schema-unknown", "f:1:10"),
        ("schema = 0", "schema-unknown", "f:1:10"),
        ("schema = true", "wrong-type", "f:1:10"),
        ("schema = 1.0", "wrong-type", "f:1:10"),
        ('schema = "1"', "wrong-type", "f:1:10"),
        ('extends = "a"', "wrong-type", "f:1:11"),
        ('extends = ["a", 1]', "wrong-type", "f:1:17"),
        ("extends = [['a']]", "wrong-type", "f:1:12"),
        ("[extends]\na = 1", "wrong-type", "f:1:1"),
        ("[[extends]]\na = 1", "wrong-type", "f:1:1"),
        ("description = 1", "wrong-type", "f:1:15"),
        ("unset = 'a'", "wrong-type", "f:1:9"),
        ("unset = [false]", "wrong-type", "f:1:10"),
        ("unset = ['a..b']", "unset-key", "f:1:10"),
        ("unset = ['']", "unset-key", "f:1:10"),
        ("defaults = 1", "wrong-type", "f:1:12"),
        ("[[force]]\nx = 1", "wrong-type", "f:1:1"),
        ("[force]\nextends = ['a']", "misplaced-key", "f:2:1"),
        ("[defaults]\nunset = ['a']", "misplaced-key", "f:2:1"),
        ("[defaults.force]\na = 1", "misplaced-key", "f:1:11"),
        ("force.description = 'x'", "misplaced-key", "f:1:7"),
    ],
)
def test_a_wrong_directive(text: str, code: str, place: str) -> None:
    """A directive of the wrong type, value or place is one fault, where it stands."""
    _, faults = read(text)
    assert faults == [(code, [place])]


def test_every_fault_is_found() -> None:
    """One wrong directive does not hide another, and what is right is still read."""
    directives, faults = read("schema = 2\nextends = [1, 'a']\nunset = ['b', '=']\ndefaults = 3\n")
    assert [code for code, _ in faults] == [
        "schema-unknown",
        "wrong-type",
        "wrong-type",
        "unset-key",
    ]
    assert [each.name for each in directives.extends] == ["a"]
    assert [each.path for each in directives.unset] == [("b",)]


@pytest.mark.parametrize(
    ("text", "is_deployable"),
    [
        ("[targets.a]", True),
        ("[targets.a]\nkind = 'systemd'", True),
        ("[force.targets.a]", True),
        ("defaults.targets.a.kind = 'systemd'", True),
        ("targets = 1", True),
        ("[targets]", False),
        ("[force]\nx = 1", False),
        ("", False),
    ],
)
def test_a_file_with_a_target_is_deployable(text: str, *, is_deployable: bool) -> None:
    """A target at any level makes a file deployable; an empty table of targets does not."""
    directives, _ = read(text)
    assert directives.is_deployable is is_deployable
