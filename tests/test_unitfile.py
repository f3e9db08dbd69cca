"""The reader of units, on what systemd 252 was seen to make of each; `test_quoting_real` asks systemd itself."""

from __future__ import annotations

import pytest

from compiler.quoting.unitfile import Assignment, is_clean, read_unit


def pairs(text: str) -> list[tuple[str, str]]:
    """Keys and values of a text that stands in one section."""
    return [(each.key, each.value) for each in read_unit(f"[S]\n{text}").assignments]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1\n  B = 2 \n\tC\t=\t3", [("A", "1"), ("B", "2"), ("C", "3")]),
        ("A=1=2", [("A", "1=2")]),
        ("A=", [("A", "")]),
        ("# c\n ; c\nA=1 # 2 ; 3", [("A", "1 # 2 ; 3")]),
        ("A=1 \\\n  2", [("A", "1    2")]),
        ("A=1 \\\n# c \\\n ; c\n2", [("A", "1  2")]),
        ("A=1 \\\n\nB=2", [("A", "1"), ("B", "2")]),
        ("A=1\\\\\nB=2", [("A", "1\\\\"), ("B", "2")]),
        ("A=1\\\\\\\nB=2", [("A", "1\\\\ B=2")]),
        ("A=1 \\\n[T]\nB=2", [("A", "1  [T]"), ("B", "2")]),
        ("A=1 \\", [("A", "1")]),
        (
            "A=1\rB=2\r\nC=3\n\rD=4\0E=5",
            [("A", "1"), ("B", "2"), ("C", "3"), ("D", "4"), ("E", "5")],
        ),
        ("A=\u2028\u0085\x0b\x0c", [("A", "\u2028\u0085\x0b\x0c")]),
    ],
)
def test_lines(text: str, expected: list[tuple[str, str]]) -> None:
    """Lines end, join, and are skipped where systemd does so."""
    assert pairs(text) == expected


def test_sections_and_lines_are_told() -> None:
    """Each assignment knows its section and the line it begins on."""
    text = "\ufeff[A]\n\n# c\nX=1 \\\n  2\n [B] \nX-Y=3\n[]\nZ=\n[A]\nX=4\n"
    unit = read_unit(text)
    assert unit.assignments == (
        Assignment(section="A", key="X", value="1    2", line=4),
        Assignment(section="B", key="X-Y", value="3", line=7),
        Assignment(section="", key="Z", value="", line=9),
        Assignment(section="A", key="X", value="4", line=11),
    )
    assert (unit.remarks, unit.fault) == ((), None)
    assert unit.values("A", key="X") == ("1    2", "4")
    assert unit.values("B", key="X") == ()


def test_what_systemd_ignores_is_remarked() -> None:
    """Lines that say nothing to systemd are told with their place."""
    unit = read_unit("A=1\n[S]\nword\n=2\nB=3\n")
    assert [(each.key, each.value) for each in unit.assignments] == [("B", "3")]
    assert [(each.line, each.text) for each in unit.remarks] == [
        (1, "the line stands before any section and is ignored"),
        (3, "the line has no `=` and is ignored"),
        (4, "the line has no key and is ignored"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[S", "`[S` is no section header; systemd refuses the file"),
        ("B=\udcff", "the line is no valid UTF-8; systemd refuses the file"),
        ("B=\ufdd0", "the line is no valid UTF-8; systemd refuses the file"),
        ("B=" + "x" * (1 << 20), "the line is longer than 1 MiB; systemd refuses the file"),
    ],
)
def test_what_systemd_refuses_ends_the_reading(line: str, reason: str) -> None:
    """A file that systemd refuses is read up to the fault."""
    unit = read_unit(f"[S]\nA=1\n{line}\nC=3\n")
    assert [each.key for each in unit.assignments] == ["A"]
    assert unit.fault is not None
    assert (unit.fault.line, unit.fault.text) == (3, reason)


def test_undecodable_comments_do_no_harm() -> None:
    """A comment may hold anything."""
    assert pairs("# \udcff\nA=1") == [("A", "1")]


def test_clean_text() -> None:
    """Half surrogates and noncharacters are not clean; every other character is."""
    assert is_clean("é日😀\u2028\ufffd\x01")
    assert not any(map(is_clean, ("\ud800", "\udcff", "\ufdd0", "\ufdef", "\ufffe", "\U0010ffff")))
