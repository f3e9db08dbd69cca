"""The canonical layout: what it looks like, and that it never says anything else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.edit.layout import lay_out
from compiler.edit.proof import values_differ
from compiler.edit.spelling import spell_value
from compiler.edit.statements import statements
from compiler.language.spans import index_spans
from compiler.source import Source
from documents import VALUES, documents
from examples import examples


REPOSITORY = Path(__file__).parents[1]
QUIET = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
NOTE = re.compile(r"note \d+")


def format_text(text: str) -> str:
    source = Source("x", text)
    return lay_out(source, index_spans(source))


@QUIET
@given(documents())
def test_statements_are_the_whole_text(text: str) -> None:
    """Every character of a document belongs to one statement, in order."""
    source = Source("x", text)
    found = statements(source, index_spans(source))
    assert "".join(text[each.start : each.end] for each in found) == text


@QUIET
@given(documents())
def test_a_layout_says_the_same(text: str) -> None:
    """Every value stays what it was, of the same type, and every comment is there just once."""
    after = format_text(text)
    assert not values_differ(tomllib.loads(text), tomllib.loads(after))
    assert sorted(NOTE.findall(after)) == sorted(NOTE.findall(text))


@QUIET
@given(documents())
def test_a_layout_is_laid_out(text: str) -> None:
    """What was laid out once stays as it is."""
    once = format_text(text)
    assert format_text(once) == once


@pytest.mark.slow
@settings(QUIET, max_examples=1000)
@given(documents())
def test_a_thousand_layouts(text: str) -> None:
    """The same of many more documents: nothing said otherwise, no comment lost, laid out once for all."""
    after = format_text(text)
    assert not values_differ(tomllib.loads(text), tomllib.loads(after))
    assert sorted(NOTE.findall(after)) == sorted(NOTE.findall(text))
    assert format_text(after) == after


@QUIET
@given(documents())
def test_a_layout_is_tidy(text: str) -> None:
    """No blank line at the start or the end, none doubled, and no blanks before a line's end, but for strings."""
    after = format_text(text)
    if '"""' in after or "'''" in after:
        return
    assert not after.startswith("\n")
    assert not after.endswith("\n\n")
    assert "\n\n\n" not in after
    assert all(line == line.rstrip() for line in after.split("\n"))


@QUIET
@given(VALUES)
def test_a_value_keeps_its_value(value: str) -> None:
    """One value alone, in one line or in many, keeps what it says."""
    before, after = (
        tomllib.loads(f"x = {each}") for each in (value, spell_value(value, counts=False))
    )
    assert not values_differ(before, after)


MESSY = """# Kimi on eight cards.

[memory]
fraction=0.93
# kv_dtype = "fp8_e4m3"

# what is promised
[ serve ]   # the promise

context    = 200000   # tokens
concurrency=1


port = 30000
schema_of_nobody = [ 1,2, ]
[targets.ct200]
kind = 'systemd'
start_timeout='30min' # slow disks
[env]
LIST = {a=1,b=[ ],c={ }}
[model]
id = 'a\\b'
# the end
"""
TIDY = """# Kimi on eight cards.

[model]
id = 'a\\b'
# the end

# what is promised
[serve]  # the promise
context = 200_000  # tokens
concurrency = 1

port = 30000
schema_of_nobody = [1, 2]

[memory]
fraction = 0.93
# kv_dtype = "fp8_e4m3"

[env]
LIST = { a = 1, b = [], c = {} }

[targets.ct200]
kind = "systemd"
start_timeout = "30min"  # slow disks
"""
TOP = """description = "x"
extends = ["b", # why b
 'c',
    # why not d
]
schema = 1
"""
TIDY_TOP = """schema = 1
extends = ["b",  # why b
    "c",
    # why not d
]
description = "x"
"""


@pytest.mark.parametrize(
    ("before", "after"), [(MESSY, TIDY), (TOP, TIDY_TOP), ("", ""), ("\n\n", "")]
)
def test_a_layout_by_example(before: str, after: str) -> None:
    """Tables in the order of the settings, comments with what they belong to, nothing aligned."""
    assert format_text(before) == after


@pytest.mark.parametrize(
    ("value", "counts", "spelled"),
    [
        ("200000", True, "200_000"),
        ("20_0000", True, "200_000"),
        ("8192", True, "8192"),
        ("30000", False, "30000"),
        ("-1", True, "-1"),
        ("0x1F4FF", True, "0x1F4FF"),
        ("'it'", False, '"it"'),
        ("'a \"b\"'", False, "'a \"b\"'"),
        ("[ ]", False, "[]"),
        ("[1,[2 , 3],]", False, "[1, [2, 3]]"),
        ("{  }", False, "{}"),
        ("[1\n,2 # c\n, ]", False, "[1\n    , 2,  # c\n]"),
        ("1979-05-27 07:32:00", False, "1979-05-27 07:32:00"),
        ("[\n1,\n\n{a=1}]", False, "[\n    1,\n    { a = 1 }]"),
    ],
)
def test_a_value_by_example(value: str, counts: bool, spelled: str) -> None:  # noqa: FBT001 - a table of cases
    """Numbers that count something are grouped, strings have double quotes where that costs no escape."""
    assert spell_value(value, counts=counts) == spelled


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, True),
        ({"a": float("nan")}, {"a": float("nan")}, False),
        ({"a": 0.0}, {"a": -0.0}, True),
        ({"a": {}, "b": 1}, {"b": 1, "a": {}}, False),
        ({"a": {}}, {}, True),
        ({"a": [1, 2]}, {"a": [2, 1]}, True),
        ({"a": "1"}, {"a": 1}, True),
    ],
)
def test_the_proof_tells_values_apart(one: object, other: object, differ: bool) -> None:  # noqa: FBT001 - a table of cases
    """The proof sees a change of type that `==` does not, and none in the order of keys."""
    assert values_differ(one, other) == differ


@given(st.sampled_from(sorted((REPOSITORY / "tests" / "rules").rglob("*.toml"))))
@settings(derandomize=True, deadline=None, max_examples=examples(60))
def test_real_files_say_the_same(path: Path) -> None:
    """The files of the rules' cases keep all that they say, and their assertions in their comments."""
    text = path.read_text("utf-8")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    after = format_text(text)
    assert not values_differ(values, tomllib.loads(after))
    assert format_text(after) == after
    assert sorted(re.findall(r"#[^\n]*", after)) == sorted(
        each.rstrip() for each in re.findall(r"#[^\n]*", text)
    )
