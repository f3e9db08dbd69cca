"""Positions in TOML text: every value is found where it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.diagnostics import Span
from compiler.language.spans import Entry, TomlPath, index_spans, split_key, text_at
from compiler.source import Source
from examples import examples


REPOSITORY = Path(__file__).parent.parent

NASTY = {
    "every kind of value": r"""
string = "with # and \" and ] and }" # comment
literal = 'C:\no\escape # here'
integer = +1_000
hex = 0xDEAD_beef
octal = 0o755
binary = 0b1101
float = -3.14e-2
infinite = -inf
nothing = nan
yes = true
moment = 1979-05-27T07:32:00.999-07:00
spaced = 1979-05-27 07:32:00
day = 1979-05-27
hour = 07:32:00
""",
    "strings over lines": r'''
basic = """
first \
    joined "quoted" ""two"" # no comment
a = 1
[x]
last"""
quotes_at_end = """a"""""
only_quotes = """"""
escaped = """\""""
literal = \'\'\'
'one' ''two''
[y]\'\'\'
literal_end = \'\'\'it''\'\'\'
after = 1
'''.replace("\\'", "'"),
    "keys": r"""
bare-key_1 = 1
1234 = 2
"quoted.dot" = 3
'literal \key' = 4
"" = 5
"esc\u0061pe\t\"" = 6
"ʎǝʞ" = 7
a.b.c = 8
a . "d e" . 'f' = 9
3.14 = 10
site."x.y".z = 11
true = 12
""",
    "tables": """
[a]
x = 1
[ b . "c.d" ]
x = 2
[a.sub]
x = 3
[b]
y = 4
[empty]
[deep.er.still] # comment
x = 5
[deep]
y.z = 6
""",
    "inline": """
point = { x = 1, y = { z.w = "}" }, "k,]" = [ { a = 1 }, { } ] }
none = {}
list = [ [ 1, 2 ], [ "a]", 'b#' ], [ ] ]
long = [
    1, # one ]
    { q = [ 3,
        4 ] },
    "five"
    ,
]
packed=[1,2,{a=1,b=[true]},1979-05-27]
""",
    "arrays of tables": """
[[fruit]]
name = "apple"
[fruit.physical]
colour = "red"
[[fruit.variety]]
name = "red delicious"
[[fruit.variety]]
name = "granny smith"
[between]
x = 1
[[fruit]]
name = "banana"
[[fruit.variety]]
name = "plantain"
[fruit.variety.more]
x = 2
[[a.b]]
[[a.b]]
x.y = 3
""",
    "no newline at the end": "a = 1\n[b]\nc = 'x'",
    "nothing": "",
    "only a comment": "# [a]\n\t# b = 1",
}
CORPUS = [
    *(pytest.param(text, id=name) for name, text in NASTY.items()),
    *(pytest.param(text.replace("\n", "\r\n"), id=f"{name}, CRLF") for name, text in NASTY.items()),
]


def walk(value: object, path: TomlPath = ()) -> Iterator[tuple[TomlPath, object]]:
    """Everything in a parsed file, with its path."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, below in value.items():
            yield from walk(below, (*path, key))
    if isinstance(value, list):
        for index, below in enumerate(value):
            yield from walk(below, (*path, index))


def check_all(text: str) -> int:
    """Hold every path of a file against its span; the result is how many values were compared."""
    source = Source("f.toml", text)
    spans = index_spans(source)
    parsed = dict(walk(tomllib.loads(text)))
    assert spans.keys() == parsed.keys()
    compared = 0
    for path, value in parsed.items():
        written = text_at(spans[path].value, source=source)
        opened_elsewhere = isinstance(value, dict) and not written.startswith("{")
        if opened_elsewhere or written.startswith("[["):
            continue
        again = tomllib.loads(f"x = {written}")["x"]
        assert repr(again) == repr(value), path  # tells 1 from 1.0, and NaN is NaN
        compared += 1
    return compared


def at(span: Span | None) -> tuple[int, int, int, int] | None:
    """A span as numbers."""
    return None if span is None else (span.line, span.column, span.end_line, span.end_column)


@pytest.mark.parametrize("text", CORPUS)
def test_every_value_parses_again_from_its_own_span(text: str) -> None:
    """What stands at a value's span is that value, in every form of TOML 1.0 and with either line end."""
    check_all(text)


def test_the_corpus_is_compared_and_not_skipped() -> None:
    """The nasty corpus holds over eighty values that are compared."""
    assert sum(check_all(text) for text in NASTY.values()) > 80


def test_every_toml_file_of_this_repository() -> None:
    """Every value of every valid TOML file that we ship or test with parses again from its own span."""
    compared = 0
    for folder in (".", "compiler", "profiles", "tests"):
        pattern = "*.toml" if folder == "." else "**/*.toml"
        for file in sorted((REPOSITORY / folder).glob(pattern)):
            try:
                text = file.read_bytes().decode()
                tomllib.loads(text)
            except ValueError:
                continue  # a case of bad input
            compared += check_all(text)
    assert compared > 50


_NAMES = st.sampled_from(["a", "b-c", "a.b", "é", 'q"q', "it's", "", "x y", "\t", "\\"])
_SCALARS = st.one_of(
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.floats(allow_nan=True),
    st.sampled_from(["", "]", "}", "#", "a, b", "'", '"', "\n", '"""', "\r\n", "é\t"]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=3)
    ),
    max_leaves=12,
)


def key_text(name: str) -> str:
    """A key as TOML writes it."""
    return value_text(name)


def value_text(value: Any) -> str:  # noqa: ANN401 - whatever TOML can hold
    """A value as TOML writes it."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            escaped = "".join(
                f"\\u{ord(each):04x}" if each in '"\\' or ord(each) < 32 else each for each in value
            )
            return f'"{escaped}"'
        case list():
            return "[\n" + ", # ]\n ".join(map(value_text, value)) + "\n]"
        case _:
            return (
                "{" + ", ".join(f"{key_text(k)} ={value_text(v)}" for k, v in value.items()) + "}"
            )


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(st.dictionaries(_NAMES, _VALUES, max_size=4), st.lists(_NAMES, max_size=3))
def test_any_file(values: dict[str, object], header: list[str]) -> None:
    """Every value of a file made at random parses again from its own span."""
    pairs = "".join(
        f"\t{key_text(key)}\t=  {value_text(each)} # x\n" for key, each in values.items()
    )
    name = " . ".join(key_text(part) for part in header)
    check_all((f"[{name}]\n" if header else "") + pairs)


def test_positions_counted_by_hand() -> None:
    """Keys and values are where an editor shows them, counted in characters from 1."""
    text = '"é" = "ü" # c\n[m . n]\n  k.l = [ 10,\n\t{ q = 2 } ]\n'
    spans = index_spans(Source("f.toml", text))
    assert {path: (at(entry.key), at(entry.value)) for path, entry in spans.items()} == {
        ("é",): ((1, 1, 1, 4), (1, 7, 1, 10)),
        ("m",): ((2, 2, 2, 3), (2, 2, 2, 3)),
        ("m", "n"): ((2, 6, 2, 7), (2, 1, 2, 8)),
        ("m", "n", "k"): ((3, 3, 3, 4), (3, 3, 3, 4)),
        ("m", "n", "k", "l"): ((3, 5, 3, 6), (3, 9, 4, 13)),
        ("m", "n", "k", "l", 0): (None, (3, 11, 3, 13)),
        ("m", "n", "k", "l", 1): (None, (4, 2, 4, 11)),
        ("m", "n", "k", "l", 1, "q"): ((4, 4, 4, 5), (4, 8, 4, 9)),
    }


def test_a_line_ends_with_its_newline_only() -> None:
    """A carriage return is no part of a value, and U+2028 in a string ends no line."""
    spans = index_spans(Source("f.toml", "a = 1\r\nb = 'x\u2028y'\r\nc = 2"))
    assert at(spans["a",].value) == (1, 5, 1, 6)
    assert at(spans["c",].value) == (3, 5, 3, 6)


def test_the_first_header_of_an_array_stands_for_it() -> None:
    """An array of tables is where it begins; each element has its own header, and no key."""
    spans = index_spans(Source("f.toml", "[[a]]\n[[a]]\n"))
    first, second = at(spans["a",].value), at(spans["a", 1].value)
    assert (first, second) == ((1, 1, 1, 6), (2, 1, 2, 6))
    assert spans["a", 0] == Entry(None, spans["a",].value)


def test_a_header_counts_before_a_mention() -> None:
    """A table is where its own header is, even when a longer one named it before."""
    spans = index_spans(Source("f.toml", "[a.b]\n[a]\n"))
    assert at(spans["a",].value) == (2, 1, 2, 4)


def test_depth_costs_no_recursion() -> None:
    """Text that nests thousands deep is indexed as any other."""
    deep = 5_000
    spans = index_spans(Source("f.toml", "a = " + "[" * deep + "]" * deep))
    assert at(spans[("a", *[0] * (deep - 1))].value) == (1, 5 + deep - 1, 1, 5 + deep + 1)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ("a",)),
        ("memory.fraction", ("memory", "fraction")),
        (' env . "A.B" ', ("env", "A.B")),
        ("env.'A.B'", ("env", "A.B")),
        (r'"\u00e9"."\""', ("é", '"')),
        ("flags.enable-metrics", ("flags", "enable-metrics")),
        ("", None),
        ("  ", None),
        ("a.", None),
        (".a", None),
        ("a..b", None),
        ("a b", None),
        ("é", None),
        ('"open', None),
        (r'"\q"', None),
        ("a = 1", None),
        ("a\n", None),
        ("[a]", None),
    ],
)
def test_a_dotted_key_in_a_string(text: str, parts: tuple[str, ...] | None) -> None:
    """A dotted key is split as TOML splits it; text that is no key is told apart."""
    assert split_key(text) == parts
