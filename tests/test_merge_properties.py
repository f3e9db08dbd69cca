"""What holds for the merge of any profiles, tried on graphs made at random."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from random import Random
from typing import Any

from attrs import evolve, field, frozen
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from compiler.diagnostics import Diagnostic
from compiler.language.merge import Resolved, merge_graph
from compiler.language.spans import text_at
from examples import examples
from memory_reader import LIST_SETTINGS, linked


PROPERTY = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)

LEVELS = ("defaults", "", "force")
SETTINGS = ("x", "t.a", "t.u.b", "flags.l")
AGREEABLE = ("1", "1", "1", "2", "1.0")
QUARRELSOME = ("1", "2", "1.0", "true")
LISTS = (
    "[1]",
    "[2, 1]",
    "{ append = [3] }",
    "{ prepend = [2] }",
    "{ remove = [1] }",
    "{ remove = [1], append = [1] }",
)

Setting = tuple[str, str]
"""A level and the path of a setting."""


@frozen(kw_only=True)
class File:
    """A profile that is still to be written."""

    parents: tuple[str, ...] = ()
    values: Mapping[Setting, str] = field(factory=dict)
    unset: tuple[str, ...] = ()

    def text(self) -> str:
        """The file."""
        lines = [f"extends = {list(self.parents)}", f"unset = {list(self.unset)}"]
        lines += [
            f"{'.'.join(filter(None, setting))} = {value}" for setting, value in self.values.items()
        ]
        return "\n".join(lines)


Files = Mapping[str, File]


@st.composite
def graphs(
    draw: st.DrawFn,
    *,
    paths: tuple[str, ...] = SETTINGS,
    scalars: tuple[str, ...] = AGREEABLE,
) -> dict[str, File]:
    """Up to five profiles, each of which extends some of those before it; the last is the root.

    Removals and list edits are made where they have something to work on, so that most graphs can be merged.
    """
    files: dict[str, File] = {}
    for name in "abcde"[: draw(st.integers(1, 5))]:
        above = st.sampled_from(sorted(files) or [""])
        parents = draw(st.lists(above, unique=True, max_size=min(2, len(files))))
        inherited = [
            files[each]
            for each in {*parents}.union(*(ancestors_of(files, each) for each in parents))
        ]
        known = {setting for each in inherited for setting in each.values}
        values: dict[Setting, str] = {}
        for path in paths:
            level = draw(st.sampled_from([None, None, None, "", "", *LEVELS]))
            if level is not None and path == "flags.l":
                is_known = any(setting == path for _, setting in known)
                values[level, path] = draw(st.sampled_from(LISTS if is_known else LISTS[:2]))
            elif level is not None:
                values[level, path] = draw(st.sampled_from(scalars))
        removable = [
            path
            for path in (*paths, "t", "t.u")
            if any(holds(path, setting) for _, setting in known)
            and not any(holds(path, setting) for _, setting in values)
            and not any(holds(path, setting) for level, setting in known if level == "force")
            and not any(holds(gone, path) for each in inherited for gone in each.unset)
        ]
        unset = draw(st.lists(st.sampled_from(removable), max_size=1)) if removable else []
        files[name] = File(parents=tuple(parents), values=values, unset=tuple(unset))
    return files


def root_of(files: Files) -> str:
    """The profile that was made last."""
    return max(files)


def merge(files: Files) -> tuple[Resolved | None, tuple[Diagnostic, ...]]:
    """Merge the last profile with what it extends."""
    graph = linked({name: each.text() for name, each in files.items()}, root_of(files))
    return merge_graph(graph, list_settings=LIST_SETTINGS)


def ancestors_of(files: Files, name: str) -> set[str]:
    """Everything that a profile extends."""
    return {
        name for parent in files[name].parents for name in {parent} | ancestors_of(files, parent)
    }


def leaves(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """Every value that is no table, and every empty table, by its dotted path."""
    for key, value in values.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, dict) and value:
            yield from leaves(value, path)
        else:
            yield path, value


def holds(path: str, other: str) -> bool:
    """Whether the second path is the first, or below it."""
    return other == path or other.startswith(f"{path}.")


@PROPERTY
@given(graphs(scalars=QUARRELSOME), st.randoms(use_true_random=False))
def test_the_order_of_extends_means_nothing(files: dict[str, File], random: Random) -> None:
    """Values, origins and findings are the same in whatever order parents are written."""
    files = {
        **files,
        "z": File(parents=tuple(files)),
    }  # says nothing itself, so that conflicts stay
    turned = {
        name: evolve(each, parents=tuple(random.sample(each.parents, len(each.parents))))
        for name, each in files.items()
    }
    result = merge(files)
    assert merge(turned) == result
    event("fine" if result[0] else "faults")


@frozen
class Said:
    """What the rule, read word by word, makes of one setting."""

    value: str | None
    disputed_by: frozenset[str] = frozenset()


def rule(files: Files, path: str) -> Said:
    """The rule of the design for a single value: no dominated definition, the highest level, agreement."""
    root = root_of(files)
    everybody = {root} | ancestors_of(files, root)
    found = [
        (name, LEVELS.index(level), value)
        for name in everybody
        for (level, setting), value in files[name].values.items()
        if setting == path
    ]
    found += [
        (name, 1, "unset")
        for name in everybody
        if any(holds(each, path) for each in files[name].unset)
    ]
    live = [
        (name, level, value)
        for name, level, value in found
        if not any(
            name in ancestors_of(files, other) and above >= level for other, above, _ in found
        )
    ]
    top = [each for each in live if each[1] == max(level for _, level, _ in live)]
    values = {value for _, _, value in top}
    if len(values) > 1:
        return Said(None, frozenset(name for name, _, _ in top))
    return Said(None if values in ({"unset"}, set()) else values.pop())


@PROPERTY
@given(graphs(paths=SETTINGS[:3], scalars=QUARRELSOME))
def test_the_result_is_that_of_the_rule(files: dict[str, File]) -> None:
    """Every value is what the rule says, every conflict is found, and shows all the places it is between."""
    files = {
        **files,
        "z": File(parents=tuple(files)),
    }  # says nothing itself, so that conflicts stay
    resolved, diagnostics = merge(files)
    assume(not any(each.code.startswith("unset-") for each in diagnostics))
    said = {path: rule(files, path) for path in SETTINGS[:3]}
    if resolved is not None:
        values = dict(leaves(resolved.values))
        for path, each in said.items():
            assert not each.disputed_by
            expected = None if each.value is None else tomllib.loads(f"x = {each.value}")["x"]
            assert repr(values.get(path)) == repr(expected), path
    for diagnostic in diagnostics:
        assert diagnostic.code == "merge-conflict"
        if diagnostic.path in said:
            labels = [each for each in (diagnostic.primary, *diagnostic.secondary) if each]
            shown = {
                each.span.file.removeprefix("profiles/").removesuffix(".toml") for each in labels
            }
            assert shown == said[diagnostic.path].disputed_by
    disputed = {path for path, each in said.items() if each.disputed_by}
    assert {
        path for path in disputed if not any(holds(str(each.path), path) for each in diagnostics)
    } == set()
    event("conflict" if diagnostics else "fine")


@PROPERTY
@given(graphs(), st.sampled_from(SETTINGS[:3]), st.sampled_from(LEVELS))
def test_a_child_wins_over_what_it_extends(files: dict[str, File], path: str, level: str) -> None:
    """A value that a child sets stands, unless something it extends has that setting at a higher level."""
    child = File(parents=tuple(files), values={(level, path): "9"})
    resolved, _ = merge({**files, "z": child})
    assume(resolved is not None)
    assert resolved is not None
    stronger = any(
        LEVELS.index(other) > LEVELS.index(level) and setting == path
        for each in files.values()
        for other, setting in each.values
    ) or (
        level == "defaults"
        and any(holds(gone, path) for each in files.values() for gone in each.unset)
    )
    value = dict(leaves(resolved.values)).get(path)
    assert value == 9 or stronger
    event("stronger" if stronger else "wins")


@PROPERTY
@given(graphs(), st.data())
def test_a_removal_removes_exactly_what_is_below_it(
    files: dict[str, File], data: st.DataObject
) -> None:
    """A child that unsets a path has all that its parent has, but for that path and what is below it."""
    before, _ = merge(files)
    assume(before is not None and before.values)
    assert before is not None
    paths = [path for path, _ in leaves(before.values)]
    paths += [".".join(path) for path in before.tables]
    path = data.draw(st.sampled_from(sorted(set(paths))))
    child = File(parents=(root_of(files),), unset=(path,))
    after, diagnostics = merge({**files, "z": child})
    forced = any(
        level == "force" and holds(path, setting)
        for each in files.values()
        for level, setting in each.values
    )
    if after is None:
        assert [each.code for each in diagnostics] == ["unset-forced"]
        assert forced
        return
    left = {each: value for each, value in leaves(before.values) if not holds(path, each)}
    gone = {each: value for each, value in leaves(after.values) if value != {}}
    assert repr(gone) == repr({each: value for each, value in left.items() if value != {}})
    assert {".".join(each) for each in after.tables} == {
        ".".join(each) for each in before.tables if not holds(path, ".".join(each))
    }


@PROPERTY
@given(graphs())
def test_every_value_is_found_where_its_origin_says(files: dict[str, File]) -> None:
    """The text at the place of every value, or of every item of an edited list, is that value."""
    graph = linked({name: each.text() for name, each in files.items()}, root_of(files))
    resolved, _ = merge_graph(graph, list_settings=LIST_SETTINGS)
    assume(resolved is not None)
    assert resolved is not None
    origins = {".".join(path): origin for path, origin in resolved.origins.by_path.items()}
    found = dict(leaves(resolved.values))
    assert origins.keys() == found.keys()
    for path, value in found.items():
        origin = origins[path]
        if isinstance(value, list):
            places = [(each.profile, each.span, each.value) for each in origin.items]
            assert [each for _, _, each in places] == value
        elif value == {}:
            continue
        else:
            places = [(origin.winner.profile, origin.winner.value_span, value)]
        for profile, span, expected in places:
            written = text_at(span, source=graph.documents[profile].source)
            assert repr(tomllib.loads(f"x = {written}")["x"]) == repr(expected)


@PROPERTY
@given(graphs())
def test_losers_come_nearest_first(files: dict[str, File]) -> None:
    """No loser stands before one that extends its file."""
    resolved, _ = merge(files)
    assume(resolved is not None)
    assert resolved is not None
    for origin in (*resolved.origins.by_path.values(), *resolved.removed.values()):
        for one, other in pairwise(origin.losers):
            assert one.definition.profile not in ancestors_of(files, other.definition.profile)


SCRIPT = """
from memory_reader import LIST_SETTINGS, linked
from compiler.language.merge import merge_graph
files = {"root": "extends = ['a', 'b', 'c', 'd']", **{
    name: f"u = 1\\nv = {{ w = 1 }}\\nx = {number}\\nt.y = {number % 2}\\nflags.l = [{number}]"
    for number, name in enumerate("abcd")
}}
print(merge_graph(linked(files, "root"), list_settings=LIST_SETTINGS))
files["root"] += "\\nx = 1\\nt.y = 2\\nflags.l = []"
print(merge_graph(linked(files, "root"), list_settings=LIST_SETTINGS))
"""


def test_the_seed_of_hashes_means_nothing() -> None:
    """The result is the same, to the order of everything in it, whatever the seed of Python's hashes."""
    path = os.pathsep.join(each for each in sys.path if each)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    (output,) = outputs
    assert "merge-conflict" in output
    assert "overridden by root" in output
