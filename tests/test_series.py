"""One file for all releases of an engine: which rows hold for one of them, and how tables become rows."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.catalog import open_catalog
from compiler.catalog.flags import FlagMap, flag_table, make_flag
from compiler.catalog.series import Series, read_series, write_series, write_table
from compiler.catalog.shelves import EntryFile
from compiler.diagnostics import Diagnostic
from compiler.facts import Action, Flag
from examples import examples


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(60))
RELEASES = ("0.1.0", "0.2.0", "0.2.0.post1", "0.10.0")

SERIES = """{"engine": "acme",
"source": "https://example.org/{version}",
"releases": ["0.1.0", "0.2.0", "0.10.0"],
"flags": [
{"name": "--always"},
{"name": "--kind", "until": "0.1.0", "takes": "str", "choices": ["a"]},
{"name": "--kind", "since": "0.2.0", "takes": "str", "choices": ["a", "b"]},
{"name": "--late", "since": "0.10.0", "aliases": ["--l"], "action": "pair", "default": true},
{"name": "--middle", "since": "0.2.0", "until": "0.2.0", "takes": "str", "nargs": "+", "default": []}
]}
"""


def read(text: str, *, shipped: bool = False) -> tuple[Series | None, tuple[Diagnostic, ...]]:
    file = EntryFile(data=text.encode(), shown="flags.json", shipped=shipped)
    return read_series(file, engine="acme")


def series() -> Series:
    found, faults = read(SERIES)
    assert faults == ()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("version", "names", "choices"),
    [
        ("0.1.0", ["--always", "--kind"], ("a",)),
        ("0.2.0", ["--always", "--kind", "--middle"], ("a", "b")),
        ("0.10.0", ["--always", "--kind", "--late"], ("a", "b")),
    ],
)
def test_a_release_has_the_rows_that_hold_for_it(
    version: str, names: list[str], choices: tuple[str, ...]
) -> None:
    """A row holds from `since` to `until`, both included, by the order of releases and not of texts."""
    flags = series().table(version).flags
    assert list(flags) == names
    assert flags["--kind"].choices == choices


def test_a_row_says_what_a_table_of_one_release_says() -> None:
    """Lists become tuples, the action a word of ours, and the `--no-` form of a pair another name."""
    table = series().table("0.10.0")
    late = Flag(name="--late", aliases=("--l",), action=Action.PAIR, default=True)
    assert table.flags["--late"] == late
    assert table.aliases == {"--l": "--late", "--no-late": "--late", "--no-l": "--late"}
    assert series().table("0.2.0").flags["--middle"].default == ()


def test_a_table_of_one_release_keeps_a_no_form_of_its_own() -> None:
    """A table that lists the `--no-` form of a flag by itself has it as a flag, not as another name."""
    rows = {"--x": {"name": "--x", "action": "pair"}, "--no-x": {"name": "--no-x"}}
    table = flag_table(FlagMap(rows))
    assert set(table.flags) == {"--x", "--no-x"}
    assert table.aliases == {}


@pytest.mark.parametrize(
    ("old", "new", "line", "wording"),
    [
        ('"acme"', '"other"', 1, "expected the flags of `acme`"),
        ('"releases": [', '"versions": [', 1, "the key `releases` is missing"),
        ('["0.1.0", "0.2.0", "0.10.0"]', "[]", 1, "expected releases"),
        ('["0.1.0", "0.2.0", "0.10.0"]', '["0.1.0", "x"]', 1, "expected releases"),
        ('["0.1.0", "0.2.0", "0.10.0"]', '["0.10.0", "0.2.0"]', 1, "the oldest release first"),
        ('"until": "0.1.0"', '"until": "0.1.1"', 7, "`0.1.1` is not among `releases`"),
        ('"until": "0.1.0"', '"until": "0.2.0"', 7, "`--kind` has two rows for `0.2.0`"),
        ('"until": "0.2.0"', '"until": "0.1.0"', 9, "expected `since` before `until`"),
        ('"until": "0.2.0"', '"unto": "0.2.0"', 9, "unknown key `unto`"),
        ('"pair"', '"pear"', 8, "unknown action `pear`"),
        ('"nargs": "+"', '"nargs": 1', 9, "`nargs` has the wrong type"),
        ('"--middle"', "middle", 9, "invalid JSON"),
        (SERIES, "[]", 1, "expected an object"),
    ],
)
def test_a_broken_file_is_shown_where_it_is_wrong(
    old: str, new: str, line: int, wording: str
) -> None:
    """What is wrong with the file of a team is an error at the flag, or at the file's start."""
    found, faults = read(SERIES.replace(old, new, 1))
    assert found is None
    (fault,) = faults
    assert fault.code == "catalogue-invalid"
    assert wording in fault.summary
    assert fault.primary is not None
    assert fault.primary.span.line == line


TEXTS = st.text('ab-_ "\\é', min_size=1, max_size=4)
FLAGS = st.builds(
    Flag,
    name=st.just("--x"),
    aliases=st.sampled_from([(), ("--y",), ("--y", "--z")]),
    dest=st.none() | TEXTS,
    takes=st.sampled_from([None, "str", "int"]),
    nargs=st.sampled_from([None, "+"]),
    choices=st.lists(TEXTS, max_size=2).map(tuple),
    default=st.none()
    | st.booleans()
    | st.integers()
    | TEXTS
    | st.lists(TEXTS, max_size=2).map(tuple),
    const=st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.just(""),
    action=st.none() | st.sampled_from(Action),
    required=st.booleans(),
    deprecated=st.none() | TEXTS,
    custom=st.booleans(),
)


@PROPERTY
@given(st.lists(st.none() | FLAGS, min_size=4, max_size=4), st.booleans())
def test_tables_come_back_from_the_file_they_make(flags: list[Flag | None], shipped: bool) -> None:  # noqa: FBT001
    """Whatever a flag was in each release, reading the file gives every release its flag back, and no row too many."""
    tables: Mapping[str, Mapping[str, Flag]] = {
        version: {flag.name: flag} if flag else {}
        for version, flag in zip(RELEASES, flags, strict=True)
    }
    text = write_series(tables, engine="acme", source="https://example.org")
    found, faults = read(text, shipped=shipped)
    assert faults == ()
    assert found is not None
    assert {each: dict(found.table(each).flags) for each in RELEASES} == tables
    changes = sum(one != other for one, other in zip([None, *flags], flags, strict=False) if other)
    assert len(found.rows) == changes


@PROPERTY
@given(FLAGS)
def test_a_table_of_one_release_comes_back(flag: Flag) -> None:
    """A flag written for one release is read as it was."""
    text = write_table({flag.name: flag}, engine="acme", version="0.1.0", source="x")
    values = json.loads(text)
    assert [make_flag(row) for row in values["flags"]] == [flag]
    assert (values["engine"], values["version"]) == ("acme", "0.1.0")


def test_a_release_that_changes_nothing_adds_no_row() -> None:
    """A new release shows in the diff as its name, and as what it changed."""
    tables = {"0.1.0": {"--a": Flag(name="--a")}}
    before = write_series(tables, engine="acme", source="x")
    after = write_series({**tables, "0.2.0": tables["0.1.0"]}, engine="acme", source="x")
    assert after == before.replace('["0.1.0"]', '["0.1.0", "0.2.0"]')


def test_the_shipped_file_is_sound() -> None:
    """The file that comes with the compiler, which is not looked at when it is loaded, has nothing wrong with it."""
    catalog = open_catalog()
    shown = "compiler/catalog/data/engines/sglang/flags.json"
    source = catalog.source(shown)
    assert source is not None
    file = EntryFile(data=source.text.encode(), shown=shown, shipped=False)
    found, faults = read_series(file, engine="sglang")
    assert faults == ()
    assert found is not None
    assert found.releases == catalog.versions("sglang")
    assert (
        write_series(
            {each: found.table(each).flags for each in found.releases},
            engine="sglang",
            source=found.source,
        )
        == source.text
    )
