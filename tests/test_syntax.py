"""Every way in which a text can fail to be TOML, each with its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.language.spans import text_at
from compiler.language.syntax import DEEPEST, parse_toml
from compiler.source import Source
from examples import examples
from memory_reader import places


def fault(text: str) -> tuple[str, str, list[str]]:
    """The code, the summary and the places of the first fault of a text."""
    values, diagnostics = parse_toml(Source("f", text))
    assert values is None
    return diagnostics[0].code, diagnostics[0].summary, places(diagnostics[0])


TWICE = "a key is set twice, or is both a value and a table"


@pytest.mark.parametrize(
    ("text", "said", "where"),
    [
        ("a = 1\nb == 2", "invalid value", ["f:2:4"]),
        ("a = 1\r\nb == 2\r\n", "invalid value", ["f:2:4"]),
        ("a b = 1", "expected `=` after a key in a key/value pair", ["f:1:3"]),
        ("a = [1,\n  2\nb = 3\n", "unclosed array", ["f:3:1", "f:1:5"]),
        ("a = [1, '[', # [\n", "invalid value", ["f:1:17", "f:1:5"]),
        ("a = { b = 1", "unclosed inline table", ["f:1:12", "f:1:5"]),
        ("a = 1\nb = 'x\n", "a string does not end on its line", ["f:2:5"]),
        ("a = ['x', 'y\nb = 'z'\n", "a string does not end on its line", ["f:1:11"]),
        ('a = "x" # "\nb = "y\r\n', "a string does not end on its line", ["f:2:5"]),
        ("a = '''\nx\n\n", "a string does not end", ["f:1:5"]),
        ('a = """b"""\nc = """\nx"\n', "a string does not end", ["f:2:5"]),
        ("[a.b]\n[a.b]", "cannot declare `a.b` twice", ["f:2:5", "f:1:1"]),
        ("  a = 1\n  a = 2", TWICE, ["f:2:3", "f:1:3"]),
        ("[a]\nb = 1\n[a.b]", TWICE, ["f:3:1", "f:2:1"]),
        ("\ufeffa = 1", "the file starts with a byte order mark", ["f:1:1"]),
        ("a = 'b\0'", "found invalid character `\\x00`", ["f:1:7"]),
        ('a = "\\ud800"', "escaped character is not a Unicode scalar value", ["f:1:12"]),
        ("a = 1 b = 2", "expected newline or end of document after a statement", ["f:1:7"]),
        ("a = 2026-02-30", "invalid date or datetime", ["f:1:5"]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str, where: list[str]) -> None:
    """The first fault is told in plain words at its line and column, and where an open bracket began."""
    assert fault(text) == ("toml-syntax", f"invalid TOML: {said}", where)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a = 1\n[a]", "a"),
        ("a = 1\na = { b = 1 }", "a"),
        ("x = 0\n[a]\n[b]\n['a']", "[a]"),
        ("a.b = 1\n[a]", "a"),
        ("a.b = 1\na.b = 2", "b"),
        ("a = 1\na.b = 2", "a"),
        ("a = { b = 1 }\n[a.c]", "a"),
        ("a = { b = 1 }\na.c = 2", "a"),
        ("a = []\n[[a]]", "a"),
        ("[[a]]\n[a]", "[[a]]"),
        ("[[a]]\nb = 1\n[[a]]\nc = 2\nb = 1\nb = 2", "b"),
        ("[[a]]\n[a.b]\n[[a]]\n[a.b]\n[a.b]", "[a.b]"),
        ("[a.b]\n[a]\nb.c = 1", "[a.b]"),
        ("[a]\nb.c = 1\n[a.b.c]", "c"),
        ("a = { b = 1, 'b' = 2 }", "b"),
        ("a = { b = 1, b = { c = 1, b = 2 } }", "b"),
        ("a = { b = { c = 1 }, b = { c = 2 } }", "b"),
        ("a = { b.c = 1, b.d = 2, c = 1, c = 2 }", "c"),
        ("a.b = 1\na.c = { d = { e = 1 }, d.f = 2 }", "d"),
        ('x = 1\na = { b = """\n[a]\nx = 2\n""", b = 3 }', "b"),
    ],
)
def test_what_is_set_twice_is_shown_where_it_stands_first(text: str, first: str) -> None:
    """A key or a table that a file has again is shown at both places, however either is written."""
    source = Source("f", text)
    _, (diagnostic,) = parse_toml(source)
    (label,) = diagnostic.secondary
    assert label.text == "first here"
    assert text_at(label.span, source=source) == first
    assert diagnostic.primary is not None
    assert diagnostic.primary.text == "again here"
    assert label.span < diagnostic.primary.span


def test_a_caret_stays_on_its_line() -> None:
    """A fault at the end of a line is shown there, one character wide."""
    _, (diagnostic,) = parse_toml(Source("f", "a = {\nb = 1\n"))
    assert diagnostic.primary is not None
    span = diagnostic.primary.span
    assert (span.line, span.column, span.end_line, span.end_column) == (1, 6, 1, 7)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a = " + "[" * 5_000 + "]" * 5_000, [f"f:1:{5 + DEEPEST}"]),
        ("# [[\na = '[' # [\nb = " + "[" * 5_000 + "]" * 5_000, [f"f:3:{5 + DEEPEST}"]),
        ("a = " + "[" * 5_000, [f"f:1:{5 + DEEPEST}"]),
        ("a = " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), [f"f:1:{5 + DEEPEST}"]),
        ("a = " + "{b=" * 5_000 + "1" + "}" * 5_000, [f"f:1:{5 + 3 * DEEPEST}"]),
        ("a" + ".a" * 3_000 + " = 1", [f"f:1:{1 + 2 * DEEPEST}"]),
        ("[a" + ".a" * 3_000 + "]", [f"f:1:{2 + 2 * DEEPEST}"]),
    ],
)
def test_nesting_has_a_limit(text: str, where: list[str]) -> None:
    """Tables and lists that nest without end are refused at the first that is too deep, by whatever way they nest."""
    assert fault(text) == (
        "toml-limit",
        f"tables and lists are nested more than {DEEPEST} deep",
        where,
    )


def test_nesting_up_to_the_limit_is_read() -> None:
    """The limit itself is allowed."""
    values, diagnostics = parse_toml(Source("f", "a = " + "[" * DEEPEST + "]" * DEEPEST))
    assert values is not None
    assert not diagnostics


@pytest.mark.parametrize(
    "before", ["", f"# {'.' * 2_000}\n", f"x = '''{'a.' * 2_000}\n'''\n"], ids=["none", "#", "text"]
)
@pytest.mark.parametrize(
    ("line", "deep"),
    [
        (".".join("a" * (DEEPEST + 1)) + " = 1", False),
        (".".join("a" * (DEEPEST + 2)) + " = 1", True),
        (" . ".join(["'a.b'"] * (DEEPEST + 2)) + " = 1", True),
        (f"[{'.'.join('a' * DEEPEST)}]", False),
        (f"[{'.'.join('a' * (DEEPEST + 1))} ]", True),
    ],
)
def test_a_file_of_many_dots_has_the_same_limit(before: str, line: str, *, deep: bool) -> None:
    """Keys are looked at before the parser has them where there are many dots: the same are refused, on their line."""
    values, found = parse_toml(Source("f", before + line))
    assert (values is None) is deep
    assert [each.code for each in found] == ["toml-limit"] * deep
    last = before.count("\n") + 1
    assert all(places(each)[0].startswith(f"f:{last}:") for each in found)


def test_endless_keys_end_at_once() -> None:
    """Hundreds of keys of hundreds of parts are refused before the parser takes the square of them."""
    lines = (".".join([f"k{number}"] * 900) for number in range(200))
    assert fault("".join(f"{each} = 1\n" for each in lines))[0] == "toml-limit"


@pytest.mark.parametrize(
    "number",
    [
        "9223372036854775808",
        "-9223372036854775809",
        "0x8000000000000000",
        "9" * 5_000,
        "1_" * 5_000 + "0",
    ],
)
def test_whole_numbers_have_64_bits(number: str) -> None:
    """A number that TOML does not promise to keep is refused where it stands, however long."""
    summary = "a whole number has more than 64 bits"
    assert fault(f"b = 1\na = [ {number} ]") == ("toml-limit", summary, ["f:2:7"])


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_numbers_of_64_bits_are_read(number: int) -> None:
    """The largest and the smallest number are read."""
    assert parse_toml(Source("f", f"a = {number}")) == ({"a": number}, ())


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(
    st.lists(
        st.sampled_from(
            [*"ab=.,[]{}#'\"\\\n\r\t\0 é", "'''", '"""', "[[", "]]", "1", "0x", "07:32", "\\u"]
        ),
        max_size=14,
    ).map("".join)
)
def test_no_text_raises(text: str) -> None:
    """Whatever the text, there are values, or exactly one fault with a place in the text."""
    values, diagnostics = parse_toml(Source("f", text))
    if values is None:
        (diagnostic,) = diagnostics
        assert diagnostic.primary is not None
        assert 1 <= diagnostic.primary.span.line <= text.count("\n") + 1
    else:
        assert not diagnostics


MERGE = "a = 1\n<<<<<<< HEAD\nb = 2\n||||||| 0a1b2c3\n=======\nb = 3\n>>>>>>> theirs (my token)\n"
UNMERGED = "invalid TOML: the file holds an unfinished merge of git"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (MERGE, ["f:2:1", "f:2:9"]),
        (MERGE.replace("\n", "\r\n"), ["f:2:1", "f:2:9"]),
        ("a = [\n  1,\n<<<<<<< HEAD\n  2,\n=======\n  3,\n>>>>>>> b\n]\n", ["f:3:1", "f:3:9"]),
        ("a = 1\n>>>>>>> b\n", ["f:2:1", "f:2:9"]),
        ("a = 1\n=======\nb = 2\n>>>>>>> b", ["f:2:1"]),
        ("<<<<<<<\n", ["f:1:1"]),
        (f'x = """\n{MERGE}"""\n{MERGE}', ["f:11:1", "f:11:9"]),
    ],
)
def test_an_unfinished_merge_is_told(text: str, where: list[str]) -> None:
    """Git's markers are told as such at the first of them, in a list, too; what stands behind them is not repeated."""
    assert fault(text) == ("toml-syntax", UNMERGED, where)
    found = parse_toml(Source("f", text))[1][0]
    assert all(each.secret for each in found.secondary)
    assert "my token" not in f"{found.summary}{found.notes}{found.help}"


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\n=======\nb = 2\n",
        "a = 1\n<<<<<<<<\n",
        f"a = 0,5\n{MERGE}",
        f'a = """\n{MERGE}"""\nb = 0,5\n',
        f'a = """\n{MERGE}',
    ],
)
def test_what_is_no_unfinished_merge(text: str) -> None:
    """A line that merely looks like one marker, markers in a text, and a mistake before the first are told as before."""
    assert fault(text)[1] != UNMERGED


def test_very_many_markers_take_no_time() -> None:
    """A file of nothing else is refused as fast as one is read."""
    assert fault("<<<<<<< a\n" * 50_000)[1] == UNMERGED
