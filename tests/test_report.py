"""Diagnostics as text: whole messages as goldens, alignment and safety as properties."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from compiler.diagnostics import Diagnostic, Label, Severity, Span, error, warning
from compiler.explain import codes, page
from compiler.report.cells import cells, laid_out, shown
from compiler.report.counting import summary_line
from compiler.report.prose import NARROWEST, broken, refilled
from compiler.report.text import render_text
from compiler.source import Source
from examples import examples


class TextFile(SingleFileSnapshotExtension):
    """Goldens that are read as they are printed."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The golden files of this module."""
    return snapshot.use_extension(TextFile)


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(150))

SGR = re.compile(r"\x1b\[[0-9;]*m")

LIST = Source(
    "profiles/base/sglang.toml",
    """\
schema = 1

[flags]
allowed = [
  "a", # first
  "b",
  "c",
  "d",
  "e",
  "f",
]
[[pair]]
  k = [
    1,
  ]
text = \"""
  one
  two
\"""
""",
)


def at(source: Source, start: str, text: str = "", *, upto: str = "") -> Label:
    """A label at the first place that reads `start`, and on to `upto`."""
    first = source.text.index(start)
    last = source.text.index(upto, first) + len(upto) if upto else first + len(start)
    return Label(source.span(first, last), text)


def point(*numbers: int, text: str = "", file: str = "a.toml") -> Label:
    """A label at `line, column, end_line, end_column`."""
    line, column, end_line, end_column = numbers
    span = Span(file=file, line=line, column=column, end_line=end_line, end_column=end_column)
    return Label(span, text)


def text_of(*diagnostics: Diagnostic, sources: tuple[Source, ...] = (), width: int = 80) -> str:
    """The diagnostics without colour."""
    by_name = {each.name: each for each in sources}
    return render_text(diagnostics, sources=by_name, colour=False, width=width)


def constraint() -> tuple[Diagnostic, tuple[Source, ...]]:
    """A pool that is too small, with the places that decided it in two files."""
    profile = Source(
        "profiles/k2.6-200k.toml",
        "\n" * 20
        + "context = 200_000\nconcurrency = 1\nmax_running_requests = 8\n\n[memory]\nfraction = 0.92\n",
    )
    base = Source("profiles/base/sglang-ddtree.toml", "\n" * 8 + 'build = "ddtree"\n')
    refusal = error(
        "pool-likely-short",
        "the KV pool is likely too small for the promised context",
        at(profile, "200_000", "one full request needs 200,005 slots"),
        secondary=(
            at(profile, "0.92", "gives a pool of 192,671 (up to 201,675)"),
            at(
                base,
                '"ddtree"',
                "not known whether it prices the draft's layers: 77,184 or 70,272 B a token",
            ),
        ),
        notes=(
            (
                "rest = 94.0 x 0.92 - 72.63 = 13.85 GiB    weights carried from boots/ct200-0.85 (pool 101,134)\n"
                "pool = 13.85 GiB / 77,184 B = 192,671 tokens; short by 7,334"
            ),
            "the reserve is not the short side: 7.52 GiB for 4.7 to 6.6",
        ),
        help=(
            "any one of these passes over the whole range",
            "memory.fraction = 0.926          reserve 7.52 -> 6.96 GiB",
            'memory.kv_dtype = "fp8_e4m3"     pool 385,342; costs accuracy, check answers',
            "serve.context = 192_600          a request holds 192,598 tokens",
            "for more: poolproof fit k2.6-200k, poolproof explain pool-likely-short",
        ),
    )
    return refusal, (profile, base)


def test_a_constraint_error_shows_every_place(golden: SnapshotAssertion) -> None:
    """All places of a constraint error are quoted, file by file, with formulas and remedies aligned."""
    refusal, sources = constraint()
    assert text_of(refusal, sources=sources) == golden(name="constraint")


def test_labels_of_one_line_are_stacked(golden: SnapshotAssertion) -> None:
    """Labels of one line hang on threads from right to left, the last one beside its carets."""
    source = Source("a.toml", 'x = { append = ["a"], remove = ["zz"], prepend = ["q"] }\n')
    stacked = error(
        "list-edit",
        "`zz` is not in the list",
        at(source, "remove", "nothing to remove"),
        secondary=(
            at(source, "append", "adds"),
            at(source, "prepend", "stands first"),
            at(source, "x", "this list"),
            at(source, '"zz"'),
            at(source, "remove", "also this"),
        ),
    )
    assert text_of(stacked, sources=(source,)) == golden(name="same-line")


def test_spans_over_lines_have_bars(golden: SnapshotAssertion) -> None:
    """A span over lines shows its first and last line with a bar; inner spans stand right of outer ones."""
    nested = warning(
        "list-long",
        "the list runs over many lines",
        at(LIST, "[\n", "the whole list", upto="\n]"),
        secondary=(
            at(
                LIST, '"c"', "the trouble is here, and its label is so long that it must be wrapped"
            ),
            at(LIST, "allowed", "the key"),
            at(LIST, "[\n    1", "all of it", upto="  ]"),
            at(LIST, "k =", "a part", upto="1"),
            at(LIST, "text", "from the line's start", upto='two\n"""'),
        ),
    )
    assert text_of(nested, sources=(LIST,)) == golden(name="multi-line")


def test_wide_characters_and_tabs_line_up(golden: SnapshotAssertion) -> None:
    """Carets stand under wide characters, emoji, accents and tabs; control characters are pictures."""
    source = Source("名前.toml", 'k = "漢字🚀"\te\u0301 = 1\t# \x1b[31mred\u202e\x00\n')
    wide = error(
        "wide",
        "`\x1b[31m` is no name",
        at(source, "字", "han"),
        secondary=(
            at(source, "🚀", "emoji"),
            at(source, "e\u0301", "accent"),
            at(source, "1", "after a tab"),
            at(source, "red", "after an escape"),
        ),
    )
    assert text_of(wide, sources=(source,)) == golden(name="wide")


def test_without_a_source_positions_are_shown(golden: SnapshotAssertion) -> None:
    """A file that cannot be quoted shows its positions and what the labels say."""
    source = Source("a.toml", "x = 1\n")
    gone = error(
        "parent-missing",
        "there is no profile `base/gone`",
        point(3, 4, 3, 9, text="named here", file="gone.toml"),
        secondary=(point(7, 1, 7, 2, file="gone.toml"), at(source, "1", "and here")),
        notes=("a profile's name is its path below `profiles/` without the suffix",),
    )
    nowhere = error("tree-missing", "there is no `profiles/` here", help=("run it in a tree",))
    assert text_of(gone, nowhere, sources=(source,)) == golden(name="no-source")


def test_long_help_and_prose_wrap(golden: SnapshotAssertion) -> None:
    """Prose wraps below its first word and never inside backticks; tables, formulas and lists keep their lines."""
    long = warning(
        "flag-replaced",
        "`--cuda-graph-max-bs` has another name in 0.5.15",
        notes=(
            (
                "the engine still starts with the old name, but it prints a warning a rank and takes the "
                "default, so the graphs are larger than `memory.cuda_graph_max_batch = 8` asked for"
            ),
            (
                "need = 3 x (61 x 576 x 2 B) + 8 x 2 GiB + whatever the workspace of the attention backend takes\n\n"
                "   item          low    best    high     what the figure rests on, in words that are many"
            ),
        ),
        help=(
            (
                "set `memory.cuda_graph_max_batch` and leave the spelling to the compiler, which knows each "
                "release's own name"
            ),
            "run `poolproof explain flag-replaced`",
        ),
    )
    assert text_of(long, width=60) == golden(name="long-help")


def test_long_lines_are_cut_around_labels(golden: SnapshotAssertion) -> None:
    """Of a line longer than the terminal, what stands around each label is kept."""
    source = Source("a.toml", f'args = "{"abc " * 60}NEEDLE{" def" * 60}" # end\n')
    cut = error(
        "flag-unknown",
        "no flag `NEEDLE`",
        at(source, "NEEDLE", "here"),
        secondary=(at(source, "args", "in this setting"), at(source, '"', "its value", upto='" #')),
    )
    alone = error("flag-unknown", "no flag `NEEDLE`", at(source, "NEEDLE", "here"))
    assert text_of(cut, alone, sources=(source,)) == golden(name="long-line")


def test_the_order_given_is_kept_and_equals_are_shown_once() -> None:
    """Diagnostics stay in their order, and an equal one is left out of the text and the count."""
    first, second = warning("b", "two"), error("a", "one")
    text = text_of(first, second, warning("b", "two"))
    assert text == "warning[b]: two\n\nerror[a]: one\n"
    assert summary_line([first, second, warning("b", "two")]) == "1 error, 1 warning"


@pytest.mark.parametrize(
    ("errors", "warnings", "line"),
    [
        (2, 1, "2 errors, 1 warning"),
        (0, 2, "2 warnings"),
        (1, 0, "1 error"),
        (0, 0, "no errors, no warnings"),
    ],
)
def test_summary_line(errors: int, warnings: int, line: str) -> None:
    """The summary counts each severity, with its plural, and leaves out what there is none of."""
    found = [error(f"e{number}", "x") for number in range(errors)]
    found += [warning(f"w{number}", "x") for number in range(warnings)]
    assert summary_line(found) == line


def test_no_diagnostics_give_no_text() -> None:
    """Nothing to say prints nothing, not even an empty line."""
    assert text_of() == ""


@pytest.mark.parametrize(
    ("source", "label", "quoted"),
    [
        ("", point(1, 1, 1, 1, text="empty"), ["1 |", "  | ^ empty"]),
        ("abc\n", point(1, 40, 1, 50, text="past"), ["1 | abc", "  |    ^ past"]),
        ("abc\n", point(1, 2, 1, 50, text="over"), ["1 | abc", "  |  ^^ over"]),
        ("abc\n", point(9, 2, 9, 3, text="no line"), ["9 |", "  | ^ no line"]),
        ("abc\nd\n", point(1, 1, 2, 1, text="line"), ["1 | abc", "  | ^^^ line"]),
        ("abc\r\nd\r\n", point(1, 3, 1, 4, text="crlf"), ["1 | abc", "  |   ^ crlf"]),
        ("abc\n", point(1, 3, 1, 1, text="turned"), ["1 | abc", "  |   ^ turned"]),
        ("abc\n", point(0, 0, 0, 0, text="zero"), ["1 | abc", "  | ^ zero"]),
        ("abc\nde", point(1, 2, 9, 9), ["1 |   abc", "  |  __^", "2 | | de", "  | |__^"]),
    ],
)
def test_spans_that_do_not_fit_are_drawn_nearest(
    source: str, label: Label, quoted: list[str]
) -> None:
    """A span past the end of its line or file, or in no order, still has a caret at the nearest place."""
    text = text_of(error("x", "y", label), sources=(Source("a.toml", source),))
    assert text.splitlines()[3:] == quoted


def test_a_line_alone_between_two_is_shown() -> None:
    """One line between two labels is quoted; more are dots."""
    source = Source("a.toml", "a\nb\nc\nd\ne\nf\n")
    near = error("x", "y", point(1, 1, 1, 2), secondary=(point(3, 1, 3, 2), point(6, 1, 6, 2)))
    quoted = text_of(near, sources=(source,)).splitlines()[3:]
    assert quoted == ["1 | a", "  | ^", "2 | b", "3 | c", "  | -", "...", "6 | f", "  | -"]


def test_a_short_span_over_lines_is_shown_whole() -> None:
    """A span of five lines is shown whole, one of six as its first and last."""
    source = Source("a.toml", "a\nb\nc\nd\ne\nf\n")
    five, six = (
        text_of(error("x", "y", point(1, 1, last, 2)), sources=(source,)) for last in (5, 6)
    )
    assert [line[4:] for line in five.splitlines()[3:]] == [
        "/ a",
        "| b",
        "| c",
        "| d",
        "| e",
        "|_^",
    ]
    assert [line[4:] for line in six.splitlines()[3:]] == ["/ a", "|", "| f", "|_^"]


def test_labels_that_overlap_all_hang() -> None:
    """A label beside carets would read as the inner one's where spans overlap, so both hang."""
    source = Source("a.toml", "abcdef")
    found = error(
        "x", "y", point(1, 1, 1, 7, text="outer"), secondary=(point(1, 3, 1, 5, text="inner"),)
    )
    assert text_of(found, sources=(source,)).splitlines()[3:] == [
        "1 | abcdef",
        "  | ^^--^^",
        "  | | |",
        "  | | inner",
        "  | outer",
    ]


def test_spans_over_lines_that_meet_have_lanes_of_their_own() -> None:
    """Bars that end or begin on one line do not run into each other, and inner ones end first."""
    source = Source("a.toml", "a\nb\nc\nd\n")
    found = error(
        "x",
        "y",
        point(1, 1, 3, 2, text="outer"),
        secondary=(point(2, 1, 3, 2, text="inner"), point(3, 1, 4, 2, text="next")),
    )
    assert text_of(found, sources=(source,)).splitlines()[3:] == [
        "1 | /     a",
        "2 | | /   b",
        "3 | | | / c",
        "  | | |_|_- inner",
        "  | |___|_^ outer",
        "4 |     | d",
        "  |     |_- next",
    ]


@pytest.mark.parametrize("width", [40, 44, 60])
@pytest.mark.parametrize(
    "spans",
    [
        ((1, 25, 1, 30),),
        ((1, 3, 1, 5), (1, 25, 1, 30)),
        ((1, 3, 1, 5), (1, 9, 1, 10), (1, 25, 1, 30)),
        ((1, 25, 1, 30), (1, 25, 1, 30), (1, 25, 1, 27)),
        ((1, 3, 2, 27),),
    ],
)
def test_labels_keep_to_a_narrow_terminal(
    spans: tuple[tuple[int, int, int, int], ...], width: int
) -> None:
    """A label far to the right begins left of its carets rather than run over the edge, and crosses no thread."""
    source = Source("a.toml", "abcdefghij klmnop qrstuvwxyz 01\nabcdefghij klmnop qrstuvwxyz 01\n")
    said = [f"words of label {at} that take more than one line" for at, _ in enumerate(spans)]
    first, *rest = (point(*span, text=text) for span, text in zip(spans, said, strict=True))
    text = text_of(error("x", "y", first, secondary=tuple(rest)), sources=(source,), width=width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.replace("|", " ").split())
    assert all(each in words for each in said)


def test_a_label_given_twice_is_drawn_once() -> None:
    """A secondary label that equals the primary one adds nothing."""
    source = Source("a.toml", "abc")
    label = point(1, 1, 1, 4, text="here")
    twice = text_of(error("x", "y", label, secondary=(label, label)), sources=(source,))
    assert twice == text_of(error("x", "y", label), sources=(source,))


def test_colour_adds_only_escape_sequences() -> None:
    """Colour changes no character and no column; the head and the primary carets share the severity's colour."""
    refusal, sources = constraint()
    by_name = {each.name: each for each in sources}
    coloured = render_text([refusal], sources=by_name, colour=True, width=80)
    assert SGR.sub("", coloured) == text_of(refusal, sources=sources)
    assert "\x1b[1;31merror[pool-likely-short]\x1b[0m" in coloured
    assert "\x1b[1;31m^^^^^^^\x1b[0m" in coloured
    assert "\x1b[1;34m----\x1b[0m" in coloured


def test_control_characters_of_every_part_are_harmless() -> None:
    """No escape sequence reaches the terminal from a summary, label, note, help, file name or quoted line."""
    evil = "\x1b]0;owned\x07\x9b31m\u202e\ud800\u2028\u2029\r\x7f"
    source = Source(f"{evil}.toml", f"x = '{evil}'")
    label = Label(source.span(0, len(source.text)), evil)
    for known in ((source,), ()):
        text = text_of(
            error("x", evil, label, secondary=(label,), notes=(evil,), help=(evil,)), sources=known
        )
        assert all(char == "\n" or char.isprintable() for char in text)
        assert "␛]0;owned␇\ufffd31m\ufffd\ufffd\ufffd\ufffd␍␡" in text


def test_text_is_cheap_to_start() -> None:
    """Showing a message imports no module that is dear to import: the start of `check` stays short."""
    program = """
import sys
from compiler.diagnostics import Label, Span, error
from compiler.report.text import render_text
from compiler.source import Source
span = Span(file="a", line=1, column=1, end_line=1, end_column=2)
found = error("x", "y", Label(span, "z"), notes=("a note " * 20,))
print(render_text([found], sources={"a": Source("a", "b")}, colour=True, width=80))
dear = {"json", "textwrap", "difflib", "compiler.plan", "compiler.profile"}
sys.exit(", ".join(dear & set(sys.modules)) or 0)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.returncode == 0


ANYTHING = st.text(
    alphabet=st.one_of(
        st.sampled_from("abc =\"'`\n\n\t\r\x1b\x00漢🚀\u0301\u200d\ufe0f\u1160\u202e"),
        st.characters(codec=None),
    ),
    max_size=120,
)
NUMBER = st.integers(min_value=-1, max_value=14)
SPANS = st.builds(
    Span,
    file=st.sampled_from(["a.toml", "b.toml", "missing.toml"]),
    line=NUMBER,
    column=st.integers(min_value=-1, max_value=130),
    end_line=NUMBER,
    end_column=st.integers(min_value=-1, max_value=130),
)
LABELS = st.builds(Label, SPANS, ANYTHING)
DIAGNOSTICS = st.builds(
    Diagnostic,
    code=st.just("code"),
    severity=st.sampled_from(Severity),
    summary=ANYTHING,
    primary=st.none() | LABELS,
    secondary=st.lists(LABELS, max_size=4).map(tuple),
    notes=st.lists(ANYTHING, max_size=2).map(tuple),
    help=st.lists(ANYTHING, max_size=2).map(tuple),
)


@PROPERTY
@given(DIAGNOSTICS, ANYTHING, ANYTHING, st.integers(min_value=0, max_value=130))
def test_any_spans_in_any_text_can_be_shown(
    diagnostic: Diagnostic, first: str, second: str, width: int
) -> None:
    """Whatever the spans, the files and the width, the text is printable, ends its lines cleanly and has no surprise."""
    sources = {"a.toml": Source("a.toml", first), "b.toml": Source("b.toml", second)}
    plain = render_text([diagnostic], sources=sources, colour=False, width=width)
    coloured = render_text([diagnostic], sources=sources, colour=True, width=width)
    assert SGR.sub("", coloured) == plain
    assert "\x1b" not in plain
    assert plain.encode()
    assert shown(plain.replace("\n", "")) == plain.replace("\n", "")
    assert not any(line.endswith(" ") for line in plain.split("\n"))


def carets_under(source: Source, span: Span, *, width: int) -> tuple[str, str]:
    """The quoted line and the line of carets below it, without their frame."""
    lines = text_of(error("x", "y", Label(span)), sources=(source,), width=width).splitlines()
    at_line = next(number for number, line in enumerate(lines) if re.match(r" *\d+ \|", line))
    code, carets = lines[at_line : at_line + 2]
    frame = code.index("|") + 2
    return code[frame:], carets[frame:]


@st.composite
def ascii_spans(draw: st.DrawFn) -> tuple[Source, Span]:
    """A source of printable ASCII lines and a span that is not empty within one of them."""
    line = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=1)
    lines = draw(st.lists(st.builds(" ".join, st.lists(line, min_size=1)), min_size=1))
    number = draw(st.integers(min_value=0, max_value=len(lines) - 1))
    start = draw(st.integers(min_value=0, max_value=len(lines[number]) - 1))
    end = draw(st.integers(min_value=start + 1, max_value=len(lines[number])))
    source = Source("a.toml", "\n".join(lines))
    first = source.line_starts[number]
    return source, source.span(first + start, first + end)


@PROPERTY
@given(ascii_spans())
def test_carets_stand_exactly_under_ascii(drawn: tuple[Source, Span]) -> None:
    """In an ASCII line that fits, the characters above the carets are the span's."""
    source, span = drawn
    code, carets = carets_under(source, span, width=10_000)
    start, end = span.column - 1, span.end_column - 1
    assert code == source.line(span.line)
    assert carets == " " * start + "^" * (end - start)


@PROPERTY
@given(
    ascii_spans(),
    st.integers(min_value=0, max_value=300),
    st.integers(min_value=40, max_value=100),
)
def test_carets_stand_under_the_span_in_a_cut_line(
    drawn: tuple[Source, Span], padding: int, width: int
) -> None:
    """In a line cut to the terminal, the carets cover the span's two ends and the row fits."""
    source, span = drawn
    before, after = "(" * padding, ")" * padding
    padded = Source("a.toml", before + source.line(span.line) + after)
    start, end = padding + span.column - 1, padding + span.end_column - 1
    code, carets = carets_under(padded, padded.span(start, end), width=width)
    above = code[len(carets) - len(carets.lstrip(" ")) : len(carets)]
    said = padded.text[start:end]
    head, _, tail = above.partition("...") if len(above) < len(said) else (above, "", "")
    assert said.startswith(head)
    assert said.endswith(tail)
    assert len(code) <= width - len("1 | ")
    assert set(carets) <= {" ", "^"}


CELLS = {
    "a": 1,
    " ": 1,
    "漢": 2,
    "\uff57": 2,
    "🚀": 2,
    "é": 1,
    "\t": 4,
    "\x1b": 1,
    "\u202e": 1,
    "€": 1,
}


@PROPERTY
@given(
    st.text(alphabet=st.sampled_from("".join(CELLS)), min_size=1, max_size=30),
    st.data(),
)
def test_carets_cover_the_cells_of_wide_text(line: str, data: st.DataObject) -> None:
    """Carets begin at the sum of the cells before the span and are as many as its cells."""
    start = data.draw(st.integers(min_value=0, max_value=len(line) - 1))
    end = data.draw(st.integers(min_value=start + 1, max_value=len(line)))
    source = Source("a.toml", line + "|")  # a line's blanks at its end are not printed
    _, carets = carets_under(source, source.span(start, end), width=500)
    before, within = (sum(CELLS[char] for char in part) for part in (line[:start], line[start:end]))
    assert carets == " " * before + "^" * within


def test_a_combining_mark_shares_its_base() -> None:
    """A span that is only a combining mark has its caret under the character the mark stands on."""
    source = Source("a.toml", "xe\u0301y")
    assert carets_under(source, source.span(2, 3), width=80) == ("xe\u0301y", " ^")
    assert carets_under(source, source.span(1, 2), width=80) == ("xe\u0301y", " ^")
    assert carets_under(source, source.span(3, 4), width=80) == ("xe\u0301y", "  ^")


def test_letters_that_join_take_no_cells() -> None:
    """Accents and the later letters of a Korean syllable take no cells of their own."""
    assert [cells(text) for text in ("e\u0301", "\u1112\u1161\u11ab", "漢", "a\u200db")] == [
        1,
        2,
        2,
        2,
    ]


def test_a_cut_does_not_part_a_letter_from_its_accents() -> None:
    """What is shown after `...` never begins with an accent, which would then stand on the dots."""
    for padding in range(80, 90):
        line = "e\u0301" * padding + "!" + "e\u0301" * padding
        row = laid_out(line, focus=[(2 * padding, 2 * padding + 1)], room=40)
        assert "!" in row.text
        assert "...\u0301" not in row.text
        assert row.text.startswith("...")
        assert row.text.endswith("...")


@PROPERTY
@given(ANYTHING.map(lambda text: text * 4), st.data(), st.integers(min_value=30, max_value=90))
def test_a_row_fits_its_room(line: str, data: st.DataObject, room: int) -> None:
    """A line with one focus never takes more than its room, and says truly how wide it is."""
    start = data.draw(st.integers(min_value=0, max_value=len(line)))
    end = data.draw(st.integers(min_value=start, max_value=len(line)))
    row = laid_out(line, focus=[(start, end)], room=room)
    assert row.width == cells(row.text) <= room
    assert len(row.starts) == len(row.ends) == len(line)
    assert list(row.starts) == sorted(row.starts)


@PROPERTY
@given(st.lists(st.sampled_from(["a", "word", "`x = 1`", "longer-word", "漢字", "x" * 50])))
def test_wrapping_loses_no_word(words: list[str]) -> None:
    """Wrapped prose has the same words in the same order, and only a single word is wider than the room."""
    lines = broken(" ".join(words), room=40)
    assert " ".join(lines) == " ".join(words)
    assert all(cells(line) <= 40 or line in words for line in lines)


@pytest.mark.parametrize("line", [" indented", "  - `a = b`"], ids=repr)
def test_lines_laid_out_with_care_are_kept(line: str) -> None:
    """An indent keeps a line whole, however long it is."""
    long = line + " word" * 20
    assert broken(long, room=40) == [shown(long)]


def test_a_formula_breaks_where_it_is_asked_for() -> None:
    """An equals sign outside backticks keeps a line whole, unless formulas break: then the rows after the first are indented."""
    formula = "x = 1 +" + " word" * 20
    assert broken(formula, room=40) == [formula]
    first, *more = broken(formula, room=40, formulas=True)
    assert " ".join([first, *(line.strip() for line in more)]) == formula
    assert all(line.startswith("  ") and cells(line) <= 40 for line in more)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_page_is_filled_anew(width: int) -> None:
    """A page on a terminal has the same words, keeps its code and headings to the byte, and its prose fits."""
    for text in filter(None, map(page, codes())):
        rows = list(refilled(text, width=width))
        assert " ".join(rows).split() == text.split()
        fenced = False
        for row in rows:
            if fenced or row.startswith(("```", "    ", "#")):
                assert row in text.splitlines()
            else:  # what stands in backticks is one word
                assert cells(row) <= width or row.count("`") == 2 or " " not in row
            fenced ^= row.startswith("```")


def test_what_was_found_is_broken_on_a_terminal_alone() -> None:
    """On a terminal a headline breaks between words; in a file it is one line, to be searched for."""
    found = error("pool-too-small", "word " * 30 + "end")
    whole = render_text([found], sources={}, colour=False, width=60)
    narrow = render_text([found], sources={}, colour=False, width=60, terminal=True)
    assert len(whole.splitlines()) == 1
    assert narrow.split() == whole.split()
    assert max(map(cells, narrow.splitlines())) <= 60


@pytest.mark.parametrize("left", ["a", "memory.fraction = 0.926", "x" * 50])
@pytest.mark.parametrize("room", [30, 60, 100])
def test_the_second_column_of_a_row_wraps(left: str, room: int) -> None:
    """What stands after a gap wraps under itself, or under its row where there is no room beside the first column."""
    text = "fewer requests make room; reserve 14.47 -> 7.68 GiB for 3.9 to 6.3, and so on to the end of the line"
    first, *more = broken(f"{left}  {text}", room=room)
    assert " ".join([first, *more]).split() == [*left.split(), *text.split()]
    assert all(cells(line) <= room for line in more)
    beside = room - len(left) - 2 >= NARROWEST
    assert {len(line) - len(line.lstrip()) for line in more} == {len(left) + 2 if beside else 2}


def test_code_in_a_sentence_does_not_keep_it_whole() -> None:
    """An equals sign within backticks is part of a sentence, which wraps."""
    assert len(broken("set `x = 1`" + " word" * 20, room=40)) > 1


def test_wrapping_stops_at_the_narrowest() -> None:
    """A terminal too narrow for text gets lines of a readable width."""
    (first, *_) = broken("word " * 20, room=3)
    assert first == ("word " * (len(first) // 5 + 1)).strip()
    assert NARROWEST - len("word ") <= len(first) <= NARROWEST
