"""Linking a profile to what it extends: what is found, and every way in which that fails."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.diagnostics import Diagnostic
from compiler.language.graph import MOST_FILES, link
from compiler.language.load import Loaded
from examples import examples
from memory_reader import MemoryReader, linked, places


def extends(*names: str) -> str:
    """A profile that extends these, one a line."""
    return "extends = [\n" + "".join(f'  "{name}",\n' for name in names) + "]\n"


def faults(files: Mapping[str, str | bytes], root: str = "root") -> tuple[Diagnostic, ...]:
    """What is wrong with a profile that cannot be linked."""
    graph, diagnostics = link(MemoryReader(files), root)
    assert graph is None
    assert diagnostics
    return diagnostics


def test_a_diamond_is_loaded_once() -> None:
    """A parent of two parents is read once, and is an ancestor of all below it."""
    files = {
        "root": extends("base/b", "base/c"),
        "base/b": extends("base/a"),
        "base/c": extends("base/a"),
        "base/a": "",
        "other": "",
    }
    reader = MemoryReader(files)
    graph, diagnostics = link(reader, "root")
    assert graph is not None
    assert not diagnostics
    assert sorted(reader.read_names) == ["base/a", "base/b", "base/c", "root"]
    assert graph.root == "root"
    assert graph.documents.keys() == {"root", "base/a", "base/b", "base/c"}
    assert graph.ancestors == {
        "root": {"base/a", "base/b", "base/c"},
        "base/b": {"base/a"},
        "base/c": {"base/a"},
        "base/a": frozenset(),
    }


def test_a_cache_spares_reading_what_profiles_share() -> None:
    """With one cache a shared file is read once, and a file that is missing is asked for once."""
    reader = MemoryReader({"a": extends("base"), "b": extends("base", "gone"), "base": ""})
    cache: dict[str, Loaded] = {}
    for name in ("a", "b", "a", "b"):
        link(reader, name, cache=cache)
    assert sorted(reader.read_names) == ["a", "b", "base", "gone"]


def test_a_missing_parent_is_shown_where_it_is_named() -> None:
    """A parent that is not there is one finding, at every place that names it, with the name that was meant."""
    (diagnostic,) = faults(
        {
            "root": extends("mid", "base/kimi-26"),
            "mid": extends("base/kimi-26"),
            "base/kimi-2.6": "",
        }
    )
    assert diagnostic.code == "profile-missing"
    assert places(diagnostic) == ["mid.toml:2:3", "root.toml:3:3"]
    assert diagnostic.help == ("a profile with a similar name exists: `base/kimi-2.6`",)


def test_a_name_with_its_suffix() -> None:
    """Somebody who wrote `.toml` is told to leave it out."""
    (diagnostic,) = faults({"root": extends("base/a.toml"), "base/a": ""})
    assert diagnostic.help == ("names are written without `.toml`: `base/a`",)


def test_a_missing_root_has_no_place() -> None:
    """The profile that was asked for need not exist; then there is no file to point into."""
    (diagnostic,) = faults({"rood": ""}, "root")
    assert (diagnostic.code, diagnostic.primary) == ("profile-missing", None)
    assert diagnostic.help == ("a profile with a similar name exists: `rood`",)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "a//b", "a\\\\b", "a\\u0000b"])
def test_a_name_that_leads_elsewhere(name: str) -> None:
    """A name that no profile can have is refused at its place, and nothing is read for it."""
    reader = MemoryReader({"root": extends(name)})
    _, (diagnostic,) = link(reader, "root")
    assert diagnostic.code == "profile-name"
    assert places(diagnostic) == ["root.toml:2:3"]
    assert reader.read_names == ["root"]


def test_a_root_whose_name_is_not_utf8() -> None:
    """A file name from the disk that is no UTF-8 is refused in a message that can be printed."""
    (diagnostic,) = faults({}, "a\udcff")
    assert diagnostic.code == "profile-name"
    assert diagnostic.summary.encode()


@pytest.mark.parametrize(
    ("files", "chain", "where"),
    [
        ({"root": extends("root")}, "`root` -> `root`", ["root.toml:2:3"]),
        (
            {"root": extends("a"), "a": extends("b"), "b": extends("root")},
            "`a` -> `b` -> `root` -> `a`",
            ["a.toml:2:3", "b.toml:2:3", "root.toml:2:3"],
        ),
        (
            {"root": extends("c"), "c": extends("x", "b"), "b": extends("c"), "x": ""},
            "`b` -> `c` -> `b`",
            ["b.toml:2:3", "c.toml:3:3"],
        ),
    ],
)
def test_a_cycle_is_shown_whole(files: dict[str, str], chain: str, where: list[str]) -> None:
    """A cycle is one finding, whichever of its profiles was asked for: the chain with every entry."""
    (diagnostic,) = faults(files)
    assert diagnostic.code == "extends-cycle"
    assert diagnostic.summary == f"profiles extend each other in a circle: {chain}"
    assert places(diagnostic) == where


def test_a_chain_that_is_too_long() -> None:
    """Of thousands of files only as many are read as there may be, and the profile that asks for them is told."""
    names = ["root", *(f"a{number}" for number in range(5000))]
    files = {name: extends(above) for name, above in pairwise(names)} | {names[-1]: ""}
    read: dict[str, Loaded] = {}
    graph, (diagnostic,) = link(MemoryReader(files), "root", cache=read)
    assert graph is None
    assert diagnostic.code == "extends-limit"
    assert diagnostic.summary == "`root` extends more files than 255, near and far"
    assert places(diagnostic) == ["root.toml:1:11"]
    assert len(read) == MOST_FILES + 1


def test_separate_cycles_are_all_found() -> None:
    """Cycles that share no file are each reported, and what only leads to them is not."""
    files = {
        "root": extends("a", "c"),
        "a": extends("b"),
        "b": extends("a"),
        "c": extends("d"),
        "d": extends("d"),
    }
    assert [each.summary.partition(": ")[2] for each in faults(files)] == [
        "`a` -> `b` -> `a`",
        "`d` -> `d`",
    ]


def test_the_same_parent_twice() -> None:
    """A parent that stands twice in one list is an error at its second place."""
    (diagnostic,) = faults({"root": extends("a", "b", "a"), "a": "", "b": ""})
    assert diagnostic.code == "extends-duplicate"
    assert places(diagnostic) == ["root.toml:4:3", "root.toml:2:3"]


def test_a_deployable_parent() -> None:
    """A profile with a target cannot be extended; the message shows who does, and the target."""
    (diagnostic,) = faults({"root": extends("a"), "a": "x = 1\n[targets.ct200]\n"})
    assert diagnostic.code == "extends-deployable"
    assert places(diagnostic) == ["root.toml:2:3", "a.toml:2:2"]


def test_a_deployable_profile_in_a_cycle() -> None:
    """Of a profile that has a target and extends itself, only the cycle is reported."""
    (diagnostic,) = faults({"root": extends("root") + "[targets.x]"})
    assert diagnostic.code == "extends-cycle"


def test_a_deployable_root_is_fine() -> None:
    """The profile at the end of the line may have targets."""
    graph = linked({"root": extends("a") + "[targets.ct200]\n", "a": ""}, "root")
    assert graph.documents["root"].directives.is_deployable


def test_everything_wrong_is_found_at_once() -> None:
    """A fault of one file does not hide those of others; findings come in the order of the files."""
    files: dict[str, str | bytes] = {
        "root": extends("broken", "gone", "latin", "typed", "target"),
        "broken": "a =",
        "latin": b"\xe9",
        "typed": "extends = 1",
        "target": "[targets.x]",
    }
    assert [each.code for each in faults(files)] == [
        "toml-syntax",
        "not-utf8",
        "profile-missing",
        "extends-deployable",
        "wrong-type",
    ]


def test_a_broken_parent_is_reported_once() -> None:
    """A file that two extend and that cannot be parsed is one finding, not three."""
    files = {"root": extends("a", "b"), "a": extends("c"), "b": extends("c"), "c": "x"}
    assert [each.code for each in faults(files)] == ["toml-syntax"]


def test_names_that_cannot_be_listed() -> None:
    """When the disk does not list the profiles, the missing one is still named."""

    class Unlisted:
        def read(self, name: str) -> bytes | None:
            return None if name else b""

        def names(self) -> tuple[str, ...]:
            raise PermissionError

    _, (diagnostic,) = link(Unlisted(), "root")
    assert (diagnostic.code, diagnostic.help) == ("profile-missing", ())


@pytest.mark.parametrize("length", [MOST_FILES - 1])
def test_a_long_chain(length: int) -> None:
    """A chain as long as there may be is linked, and its cycle found."""
    files = {f"p{number}": extends(f"p{number + 1}") for number in range(length)}
    graph = linked({**files, f"p{length}": ""}, "p0")
    assert len(graph.ancestors["p0"]) == length
    (diagnostic,) = faults({**files, f"p{length}": extends("p0")}, "p0")
    assert len(places(diagnostic)) == length + 1


_NAMES = ("a", "b", "c", "d", "root")
_PARENTS = st.lists(st.sampled_from([*_NAMES, "gone", "../x"]), max_size=3)


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(st.fixed_dictionaries(dict.fromkeys(_NAMES, _PARENTS)), st.randoms(use_true_random=False))
def test_the_order_of_extends_means_nothing(parents: dict[str, list[str]], random: Random) -> None:
    """In whatever order parents are written, the same is found, or the same is wrong."""
    shuffled = {name: sorted(each, key=lambda _: random.random()) for name, each in parents.items()}
    found = []
    for given_parents in (parents, shuffled):
        files = {name: extends(*each) for name, each in given_parents.items()}
        graph, diagnostics = link(MemoryReader(files), "root")
        assert (graph is None) is bool(diagnostics)
        ancestors = graph.ancestors if graph else None
        found.append((ancestors, sorted((each.code, each.summary) for each in diagnostics)))
    assert found[0] == found[1]
