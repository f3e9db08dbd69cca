"""The readers of unit values, on what systemd 252 was seen to make of each; `test_quoting_real` asks systemd itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.quoting.unitvalue import (
    Command,
    read_command_line,
    read_environment,
    read_environment_file,
    read_text,
)
from examples import examples


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a  b\tc ", ["a", "b", "c"]),
        ('a"b c"d', ["ab cd"]),
        ("'' \"\"", ["", ""]),
        (r"""'it\'s' "say \"x\"" """, ["it's", 'say "x"']),
        (r"\a\b\f\n\r\t\v\\\s", ["\a\b\f\n\r\t\v\\ "]),
        (r"\x41\101\u00e9\U0001f600 '\x41'", ["AAé😀", "A"]),
        (r"\303\251 \xff", ["é", "\udcff"]),
        (r"\ud800", ["\udced\udca0\udc80"]),
        ("a # b", ["a", "#", "b"]),
        (r"a \; ; b", ["a", ";"]),
        ('";" a; ;;', [";", "a;", ";;"]),
        ("50%% 100% %_", ["50%", "100%", "%_"]),
        ("$HOME ${X} $$", ["$HOME", "${X}", "$$"]),
    ],
)
def test_words(value: str, words: list[str]) -> None:
    """Quotes, escapes and separators mean what they mean to systemd."""
    read = read_command_line(f"/x {value}")
    assert (read.commands[0].argv, read.remarks, read.fault) == (("/x", *words), (), None)


@pytest.mark.parametrize(
    "escape",
    [r"\q", r"\x0", r"\x00", r"\000", r"\400", r"\u0000", r"\U00110000", r"\U0000d800", r"\8"],
)
def test_unknown_escapes_stay(escape: str) -> None:
    """An escape that is none stays as it is, and is told."""
    read = read_command_line(f"/x a{escape}z")
    assert read.commands[0].argv == ("/x", f"a{escape}z")
    assert read.remarks == (f"`{escape[:2]}` is no known escape and is left as it is",)


def test_an_escaped_blank_is_part_of_the_word() -> None:
    """A backslash before a blank is no escape, but it keeps the word together."""
    assert read_command_line(r"/x a\ b c").commands[0].argv == ("/x", r"a\ b", "c")


def test_specifiers_stay() -> None:
    """A specifier stays as it is and is told apart from a doubled percent sign."""
    read = read_command_line('/x %h "%%h" %5')
    assert read.commands[0].argv == ("/x", "%h", "%h", "%5")
    assert read.remarks == (
        "`%h` is a specifier and is left as it is",
        "`%5` is a specifier and is left as it is",
    )


@pytest.mark.parametrize(
    ("value", "prefix", "program", "argv"),
    [
        ("/x a", "", "/x", ("/x", "a")),
        (":/x a", ":", "/x", ("/x", "a")),
        ('":/x y" a', ":", "/x y", ("/x y", "a")),
        ("-@/x name a", "-@", "/x", ("name", "a")),
        ("!!/x", "!!", "/x", ("/x",)),
        ("+:/x", "+:", "/x", ("/x",)),
        ("python3 a", "", "python3", ("python3", "a")),
        ("/a/./b//c/../d", "", "/a/./b//c/../d", ("/a/./b//c/../d",)),
    ],
)
def test_programs(value: str, prefix: str, program: str, argv: tuple[str, ...]) -> None:
    """Prefixes come off the program, quoted or not."""
    assert read_command_line(value).commands == (
        Command(prefix=prefix, program=program, argv=argv),
    )


def test_only_a_colon_keeps_variables() -> None:
    """Without the `:` prefix systemd expands variables when it starts the command."""
    assert [read_command_line(value).commands[0].expands_variables for value in ("/x", "-:/x")] == [
        True,
        False,
    ]


def test_several_commands() -> None:
    """A lone `;` separates commands; more of them separate nothing."""
    read = read_command_line('; /a 1 ; ; -/b ";" ; ";" /c ;')
    assert [each.argv for each in read.commands] == [("/a", "1"), ("/b", ";"), ("/c",)]


def test_an_empty_value_has_no_command() -> None:
    """An empty value, which resets the setting, is no fault."""
    assert read_command_line("") == read_command_line("  ")
    assert (read_command_line("").commands, read_command_line("").fault) == ((), None)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ('/x "a', 'a quote is left open in `"a`'),
        ("/x ; :", "the program is missing"),
        ("bin/x", "the program `bin/x` is neither an absolute path nor a plain name"),
        ("..", "the program `..` is neither an absolute path nor a plain name"),
        ("/bin/", "the program `/bin/` is a directory"),
        (r"/a\"b", 'the program `/a"b` holds a quote, a backslash or a control character'),
        ("!+/x", "the program `+/x` is neither an absolute path nor a plain name"),
        ("@/x", "`@/x` is followed by no name for the program"),
    ],
)
def test_faults(value: str, fault: str) -> None:
    """What systemd refuses is a fault; behind a `-` it only loses the rest of the line."""
    assert read_command_line(value).fault == fault
    if not value.startswith("/x ;"):
        tolerant = read_command_line(f"-{value}")
        assert (tolerant.commands, tolerant.fault) == ((), None)
        assert tolerant.remarks[-1].endswith("; the rest of the line is ignored")


def test_an_open_quote_in_the_first_word_loses_the_line() -> None:
    """Systemd drops a line whose first word it cannot read, and keeps the commands before."""
    read = read_command_line('/a ; "/b')
    assert ([each.argv for each in read.commands], read.fault) == ([("/a",)], None)
    assert read.remarks == ('a quote is left open in `"/b`; the rest of the line is ignored',)


@pytest.mark.parametrize(
    ("value", "pairs", "remarks"),
    [
        ('A=1 "B=x y" C="%%h"', [("A", "1"), ("B", "x y"), ("C", "%h")], 0),
        (r'A=\x41 "B=a\tb"', [("A", "A"), ("B", "a\tb")], 0),
        ("A=$X A=2", [("A", "$X"), ("A", "2")], 0),
        ("A=", [("A", "")], 0),
        ("A=one two B=3", [("A", "one"), ("B", "3")], 1),
        ("9=1 A-B=2 =3", [], 3),
        (r"A=1 B=C:\dir C=2", [("A", "1")], 1),
        ('A=1 "B=2', [("A", "1")], 1),
        (r"A=\xff B=1", [("B", "1")], 1),
        ("A=%h", [("A", "%h")], 1),
        ("", [], 0),
    ],
)
def test_environments(value: str, pairs: list[tuple[str, str]], remarks: int) -> None:
    """`Environment=` is stricter than a command: an unknown escape loses the rest of the line."""
    read = read_environment(value)
    assert (list(read.pairs), len(read.remarks)) == (pairs, remarks)


def test_text() -> None:
    """Descriptions and paths have neither quotes nor escapes."""
    assert read_text(r'100%% "as" \n').text == r'100% "as" \n'
    assert read_text("%%h %h").remarks == ("`%h` is a specifier and is left as it is",)


@pytest.mark.parametrize(
    ("value", "path", "optional", "is_pattern"),
    [
        ("/a b.env", "/a b.env", False, False),
        ("-/a.env", "/a.env", True, False),
        (r"/\[a\]\*\\%%", "/[a]*\\%", False, False),
        ("/a*.env", "/a*.env", False, True),
        (r"/a\\*.env", r"/a\\*.env", False, True),
        ("/a[1].env", "/a[1].env", False, True),
        ('"/a"', '"/a"', False, False),
    ],
)
def test_environment_files(value: str, path: str, *, optional: bool, is_pattern: bool) -> None:
    """The path of an environment file is a pattern, unless its wildcards are escaped."""
    read = read_environment_file(value)
    assert (read.path, read.optional, read.is_pattern) == (path, optional, is_pattern)


@given(st.lists(st.text("ab-/=%.:@[]{}#$&", min_size=1), min_size=1))
@settings(derandomize=True, deadline=None, max_examples=examples(100))
def test_plain_words_are_those_in_quotes(words: list[str]) -> None:
    """Words without a sign that means anything are read at once, and as they are read one by one in quotes."""
    plain = read_command_line("/x " + " \t".join(words))
    quoted = read_command_line("/x " + " ".join(f'"{each}"' for each in words))
    assert plain == quoted
