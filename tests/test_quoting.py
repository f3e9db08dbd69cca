"""The encoders against our own readers, which were written from systemd's rules and not from the encoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.quoting import encoders as quoting
from compiler.quoting.encoders import Encoded, Place, Unrepresentable, refusal
from compiler.quoting.shellfile import read_env_file, read_script
from compiler.quoting.unitfile import read_unit
from compiler.quoting.unitvalue import (
    read_command_line,
    read_environment,
    read_environment_file,
    read_text,
)
from examples import examples
from nasty import any_texts, names, texts


thorough = settings(derandomize=True, deadline=None, max_examples=examples(120))
environments = st.dictionaries(names, texts, max_size=5)

ENCODERS: Mapping[Place, Callable[[str], Encoded]] = {
    Place.PROGRAM: lambda text: quoting.exec_command([text]),
    Place.WORD: quoting.exec_word,
    Place.VARIABLE_NAME: lambda text: quoting.env_file_line(text, value=""),
    Place.VARIABLE: lambda text: quoting.env_file_line("A", value=text),
    Place.TEXT: quoting.unit_text,
    Place.ENVIRONMENT_FILE: quoting.environment_file_path,
    Place.COMMENT: quoting.comment,
}


@thorough
@given(st.lists(texts, max_size=8), st.booleans())
def test_words_survive_a_command_line(words: list[str], one_a_line: bool) -> None:  # noqa: FBT001 - hypothesis passes it
    """Any words come back from a command line, on one line or one a line with comments between."""
    glue = " \\\n  # a remark \\\n  " if one_a_line else " "
    line = glue.join([quoting.exec_command(["/bin/x"]), *map(quoting.exec_word, words)])
    unit = read_unit(f"[Service]\nExecStart={line}\n[Install]\nWantedBy=x\n")
    (value,) = unit.values("Service", key="ExecStart")
    read = read_command_line(value)
    assert (unit.remarks, unit.fault, read.remarks, read.fault) == ((), None, (), None)
    assert [(each.prefix, each.argv) for each in read.commands] == [(":", ("/bin/x", *words))]
    assert unit.values("Install", key="WantedBy") == ("x",)


@thorough
@given(environments)
def test_variables_survive_a_unit(environment: dict[str, str]) -> None:
    """Any values come back from `Environment=`, which people write and we do not: its items are words."""
    value = quoting.exec_words(f"{name}={text}" for name, text in environment.items())
    read = read_environment(value)
    assert (dict(read.pairs), read.remarks) == (environment, ())


@thorough
@given(environments, texts)
def test_variables_survive_an_env_file(environment: dict[str, str], remark: str) -> None:
    """Any values come back from an environment file, whatever a comment before them says."""
    assume(refusal(remark, place=Place.COMMENT) is None)
    lines = [f"# {quoting.comment(remark)}"]
    lines += [quoting.env_file_line(name, value=text) for name, text in environment.items()]
    read = read_env_file("\n".join(lines) + "\n")
    assert (read.values, read.remarks, read.fault) == (environment, (), None)


@thorough
@given(st.lists(texts, min_size=1, max_size=8), environments)
def test_words_and_variables_survive_a_script(
    words: list[str], environment: dict[str, str]
) -> None:
    """Any words and values come back from a script."""
    lines = [
        f"export {quoting.shell_assignment(name, value=text)}" for name, text in environment.items()
    ]
    lines.append("exec " + " \\\n  ".join(map(quoting.shell_word, words)))
    read = read_script("\n".join(lines) + "\n")
    assert read.fault is None
    assert [each.words for each in read.commands] == [
        *(("export", f"{name}={text}") for name, text in environment.items()),
        ("exec", *words),
    ]


@thorough
@given(texts)
def test_text_survives_a_unit(text: str) -> None:
    """A description and the path of a file come back, or are refused because they cannot."""
    if refusal(text, place=Place.TEXT) is None:
        unit = read_unit(f"[Unit]\nDescription={quoting.unit_text(text)}\nAfter=x\n")
        read = read_text(unit.values("Unit", key="Description")[0])
        assert (read.text, read.remarks, unit.values("Unit", key="After")) == (text, (), ("x",))
    path = f"/a{text}"
    if refusal(path, place=Place.ENVIRONMENT_FILE) is None:
        unit = read_unit(
            f"[Service]\nEnvironmentFile={quoting.environment_file_path(path)}\nAfter=x\n"
        )
        file = read_environment_file(unit.values("Service", key="EnvironmentFile")[0])
        assert (file.path, file.optional, file.is_pattern, file.remarks) == (path, False, False, ())
        assert unit.values("Service", key="After") == ("x",)


@thorough
@given(any_texts, st.sampled_from(Place))
def test_a_refusal_is_told_beforehand(text: str, place: Place) -> None:
    """An encoder raises exactly when `refusal` gives a reason, with that reason."""
    reason = refusal(text, place=place)
    if reason is None:
        assert isinstance(ENCODERS[place](text), Encoded)
    else:
        with pytest.raises(Unrepresentable) as raised:
            ENCODERS[place](text)
        assert str(raised.value).endswith(f"it {reason}")


@pytest.mark.parametrize(
    ("place", "text", "reason"),
    [
        (Place.WORD, "a\0", "holds a NUL character"),
        (Place.WORD, "\ud800", "holds half of a surrogate pair, which is no text"),
        (Place.COMMENT, "\ufdd0", "holds a Unicode noncharacter, which systemd refuses"),
        (Place.WORD, "é" * 65_536, "is 131,072 bytes long; the limit is 131,071"),
        (Place.TEXT, "one\ntwo", "holds a line break"),
        (Place.TEXT, "a ", "begins or ends with a blank, which systemd drops"),
        (Place.TEXT, "C:\\", "ends in a backslash, which would join the next line to it"),
        (Place.ENVIRONMENT_FILE, "etc/x", "is no absolute path"),
        (Place.ENVIRONMENT_FILE, "/" + "x" * 4_095, "is 4,096 bytes long; the limit is 4,095"),
        (Place.ENVIRONMENT_FILE, "/a\r", "holds a line break"),
        (
            Place.PROGRAM,
            "/opt/it's/python",
            "holds a quote, a backslash or a control character, which systemd refuses there",
        ),
        (Place.PROGRAM, "/opt/", "is neither the absolute path of a file nor a plain name"),
        (Place.PROGRAM, "bin/python", "is neither the absolute path of a file nor a plain name"),
        (Place.PROGRAM, "..", "is neither the absolute path of a file nor a plain name"),
        (Place.PROGRAM, "@python", "is neither the absolute path of a file nor a plain name"),
        (Place.PROGRAM, "", "is neither the absolute path of a file nor a plain name"),
        (
            Place.VARIABLE_NAME,
            "9A",
            "may hold letters, digits and `_` only, and not begin with a digit",
        ),
        (Place.VARIABLE_NAME, "SHLVL", "belongs to the shell, which lets no script pass it on"),
        (Place.COMMENT, "see \\", "ends in a backslash, which would join the next line to it"),
    ],
)
def test_reasons(place: Place, text: str, reason: str) -> None:
    """Each kind of refusal says what is in the way."""
    assert refusal(text, place=place) == reason


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place.TEXT, ""),
        (Place.TEXT, "C:\\\\"),
        (Place.TEXT, "tab\tinside"),
        (Place.ENVIRONMENT_FILE, "/ends in\\"),
        (Place.PROGRAM, "/opt/a b%/$python;é"),
        (Place.PROGRAM, "python3.12"),
        (Place.WORD, "x" * 131_071),
        (Place.COMMENT, "50% off; \\o/ \\\\"),
    ],
)
def test_what_is_just_possible(place: Place, text: str) -> None:
    """A text that looks odd but can be written is not refused."""
    assert refusal(text, place=place) is None


def test_a_variable_and_its_name_share_the_limit() -> None:
    """The kernel counts `NAME=value`, so the longest value leaves room for the name."""
    fits = "x" * (quoting.ARGUMENT_BYTES - 2)
    assert quoting.shell_assignment("A", value=fits)
    for encoder in (quoting.shell_assignment, quoting.env_file_line):
        with pytest.raises(Unrepresentable, match="131,072 bytes long"):
            encoder("A", value=fits + "x")


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        (
            quoting.exec_command(["/opt/sglang/bin/python", "-m", "x"]),
            ":/opt/sglang/bin/python -m x",
        ),
        (quoting.exec_command(["/opt/a b/python"]), ':"/opt/a b/python"'),
        (
            quoting.exec_words(["--port", "30000", "fp8_e4m3", "10.0.0.1:80,x@y+z=/p"]),
            "--port 30000 fp8_e4m3 10.0.0.1:80,x@y+z=/p",
        ),
        (quoting.exec_words(["", ";", "#", "50%", "$HOME"]), '"" ";" "#" "50%%" "$HOME"'),
        (quoting.exec_word('{"a": "b\\c"}\n\x1b'), r'"{\"a\": \"b\\c\"}\n\x1b"'),
        (quoting.exec_word("日本"), '"日本"'),
        (quoting.env_file_line("NCCL_P2P_LEVEL", value="SYS"), 'NCCL_P2P_LEVEL="SYS"'),
        (
            quoting.env_file_line("A", value='$x "y" `z` \\ 50%'),
            'A="\\$x \\"y\\" \\`z\\` \\\\ 50%"',
        ),
        (quoting.unit_text('100% "as is" $x \\n'), '100%% "as is" $x \\n'),
        (
            quoting.environment_file_path("/srv/[a]*?\\ b/50%.env"),
            "/srv/\\[a\\]\\*\\?\\\\ b/50%%.env",
        ),
        (quoting.comment("as `it` is: 100%"), "as `it` is: 100%"),
        (quoting.shell_words(["--port", "30000", "it's", ""]), "--port 30000 'it'\"'\"'s' ''"),
        (quoting.shell_assignment("A", value="b c"), "A='b c'"),
    ],
)
def test_spelling(encoded: Encoded, expected: str) -> None:
    """The text that reviewers read is quoted only where it must be."""
    assert encoded == expected


def test_joined_text_counts_as_not_encoded() -> None:
    """Only an encoder's own result is `Encoded`, so that a template cannot build values."""
    assert type(quoting.exec_word("a") + quoting.exec_word("b")) is str
    assert type(quoting.exec_word("a").upper()) is str
