"""The readers of environment files and scripts; `test_quoting_real` asks systemd and bash themselves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.quoting.shellfile import read_env_file, read_script
from examples import examples


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1\nB = 2 \n\n  C=3", {"A": "1", "B": "2", "C": "3"}),
        ("A=a b  # c ", {"A": "a b  # c"}),
        (r"A=back\slash\ ", {"A": "backslash "}),
        ('A=a"b"c', {"A": 'a"b"c'}),
        (r"A='a\b'", {"A": r"a\b"}),
        (r"A='it'\''s'", {"A": "it''s'"}),
        (r'A="\"\\\$\` \n\x41"', {"A": '"\\$` \\n\\x41'}),
        ('A="one\ntwo"\nB=3', {"A": "one\ntwo", "B": "3"}),
        ('A="one\\\ntwo"', {"A": "onetwo"}),
        ("A=one\\\ntwo\nB=3", {"A": "onetwo", "B": "3"}),
        ('A="a" "b"', {"A": "ab"}),
        ('A="x" # c', {"A": "x# c"}),
        ("A=$X 50%", {"A": "$X 50%"}),
        ("# c\n; c\n A=1", {"A": "1"}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=\nB=", {"A": "", "B": ""}),
        ("A=1\rB=2", {"A": "1", "B": "2"}),
        ("A=x \\", {"A": "x "}),
        ('A="x\\', {"A": "x"}),
        ("", {}),
    ],
)
def test_env_files(text: str, values: dict[str, str]) -> None:
    """Environment files mean what they mean to systemd, which is neither what a unit nor what a shell makes of them."""
    read = read_env_file(text)
    assert (read.values, read.fault) == (values, None)


@pytest.mark.parametrize(
    ("text", "values", "line", "remark"),
    [
        ("export A=1\nB=2", {"B": "2"}, 1, "`export A` is no name for a variable and is ignored"),
        ("\ufeffA=1\nB=2", {"B": "2"}, 1, "`\ufeffA` is no name for a variable and is ignored"),
        ("A=1\nword\nB=2", {"A": "1", "B": "2"}, 2, "`word` has no `=` and is ignored"),
        (
            'A=1\n\nB="2\nC=3\n',
            {"A": "1", "B": "2\nC=3\n"},
            3,
            "the quote in `B` is left open and takes the rest of the file",
        ),
        ("# c \\\nA=1", {"A": "1"}, 1, "systemd before 254 takes the next line into this comment"),
    ],
)
def test_env_files_with_remarks(text: str, values: dict[str, str], line: int, remark: str) -> None:
    """What systemd ignores or takes otherwise than people expect is told with its line."""
    read = read_env_file(text)
    assert read.values == values
    assert [(each.line, each.text) for each in read.remarks] == [(line, remark)]


@pytest.mark.parametrize("bad", ["\0", "\udcff", "\ufffe"])
def test_env_files_that_systemd_refuses(bad: str) -> None:
    """One bad character in a value makes the unit fail to start; in a comment it does no harm."""
    read = read_env_file(f"A=1\nB={bad}\nC=3")
    assert read.values == {"A": "1"}
    assert read.fault is not None
    assert read.fault.line == 2
    if bad != "\0":
        assert read_env_file(f"# {bad}\nA=1").fault is None


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a b\n\n  c\td\n", [(1, "a", "b"), (3, "c", "d")]),
        ("#!/bin/sh\n# c\na #c\nb#c", [(3, "a"), (4, "b#c")]),
        ("a \\\n  b \\\n\nc", [(1, "a", "b"), (4, "c")]),
        ("a 'b c'\"d \\\" \\x\"\\e ''", [(1, "a", 'b cd " \\xe', "")]),
        ("a 'b\nc' d\\\ne", [(1, "a", "b\nc", "de")]),
        ("", []),
    ],
)
def test_scripts(text: str, commands: list[tuple[object, ...]]) -> None:
    """Commands made of plain words, quotes and joined lines are read as a shell reads them."""
    read = read_script(text)
    assert read.fault is None
    assert [(each.line, *each.words) for each in read.commands] == commands


@pytest.mark.parametrize(
    "text",
    ["b $x", "b `c`", 'b "$x"', "b | c", "b; c", "b > c", "b *", "b 'c", "b ~", "b {c,d}", "b \\"],
)
def test_scripts_that_are_more_than_plain(text: str) -> None:
    """Whatever a shell would expand or do ends the reading with its place."""
    read = read_script(f"a\n{text}")
    assert [each.words for each in read.commands] == [("a",)]
    assert read.fault is not None
    assert read.fault.line == 2


@given(
    st.lists(
        st.tuples(st.text("ab-/=%.:@,+_", min_size=1), st.sampled_from([" ", "\t", " \\\n  "])),
        min_size=1,
    )
)
@settings(derandomize=True, deadline=None, max_examples=examples(100))
def test_plain_words_are_those_in_quotes(words: list[tuple[str, str]]) -> None:
    """Words without a sign that means anything are read at once, and as they are read one by one in quotes."""
    plain = read_script("".join(f"{word}{gap}" for word, gap in words))
    quoted = read_script("".join(f"'{word}'{gap}" for word, gap in words))
    assert plain == quoted
