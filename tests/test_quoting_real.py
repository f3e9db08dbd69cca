"""The encoders and our own readers before the real judges: systemd's parser, glob(3), bash and dash.

Each program is asked about many texts at once. Where a machine lacks one, its tests are skipped with the reason.
"""

from __future__ import annotations

import ctypes
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.quoting import encoders as quoting
from compiler.quoting.encoders import Place, refusal
from compiler.quoting.shellfile import read_env_file, read_script
from compiler.quoting.unitfile import read_unit
from compiler.quoting.unitvalue import read_command_line, read_environment, read_text
from judges import OS_RELEASE_KEYS, env_file_by_systemd, program, understood_by_systemd
from nasty import PIECES, draw


ALONE = (
    ";",
    "-",
    "@",
    "+",
    "!",
    "",
    " ",
    "$",
    "$$",
    "%",
    "\\",
    '"',
    "'",
    "#",
    "~",
    "${",
    "${}",
    "\\;",
    "--",
    "é",
    "\n",
)
WORDS = (*ALONE, *PIECES, *draw(400, seed=1))
VALUES = {f"T_{number}": text for number, text in enumerate((*ALONE, *PIECES, *draw(300, seed=2)))}
DUMP = "import json, os, sys; print(json.dumps([sys.argv[1:], {k: v for k, v in os.environ.items() if k[:2] == 'T_'}]))"
# Specifiers would be replaced by systemd and are left alone by our reader, so raw text has only those that mean nothing.
RAW = (
    *(each for each in PIECES if each not in {"%n", "%h", "\n[Unit]\n", "\n", "\r", "\\\n"}),
    *(
        "\\x",
        "\\xe9",
        "\\303\\251",
        "\\400",
        "\\u00e9",
        "\\ud800",
        "\\U0001f600",
        "\\U00110000",
        "\\x00",
        "\\q",
    ),
    *(
        "\\;",
        "\\s",
        "\\t",
        "\\'",
        " ; ",
        " ;",
        " ; -",
        ' ";" ',
        "''",
        '""',
        "/bin/x",
        "@",
        "A=b",
        "B=",
        "9=x",
    ),
)


def raw(count: int, *, seed: int) -> list[str]:
    """Lines nobody encoded, as a stranger's file may hold them; `%` only where it names no specifier."""
    dice = random.Random(seed)
    lines = ("".join(dice.choice(RAW) for _ in range(dice.randint(0, 10))) for _ in range(count))
    return [line for line in lines if read_text(line).remarks == ()]


def service(body: str, *, description: str = "x") -> str:
    """A unit that depends on nothing."""
    return f"[Unit]\nDefaultDependencies=no\nDescription={description}\n[Service]\nType=oneshot\n{body}\n"


def test_systemd_reads_the_words_we_wrote() -> None:
    """Nasty words reach a program through systemd unchanged, one a line, with remarks between."""
    glue = " \\\n  # a remark \\\n  "
    line = glue.join([quoting.exec_command(["/bin/x y/50%"]), *map(quoting.exec_word, WORDS)])
    told = understood_by_systemd(
        service(f"ExecStart={line}\nExecStartPost={quoting.exec_command(['/bin/true', '$A'])}")
    )
    assert told.complaints == ()
    assert told.commands == {
        "ExecStart": (("/bin/x y/50%", *WORDS),),
        "ExecStartPost": (("/bin/true", "$A"),),
    }


def test_systemd_reads_the_environment_we_wrote() -> None:
    """Nasty values reach the environment through `Environment=` unchanged: its items are words."""
    lines = [f"Environment={quoting.exec_word(f'{name}={text}')}" for name, text in VALUES.items()]
    told = understood_by_systemd(service("\n".join([*lines, "ExecStart=/bin/true"])))
    assert told.complaints == ()
    assert told.environment == VALUES


def test_systemd_reads_the_text_we_wrote() -> None:
    """Descriptions and paths arrive unchanged, the blanks inside them too."""
    texts = [
        text
        for text in (*PIECES, *draw(60, seed=3))
        if text and refusal(text, place=Place.TEXT) is None
    ]
    for text in texts[:: len(texts) // 12]:
        path = f"/a{text}b"
        body = f"WorkingDirectory={quoting.unit_text(path)}\nExecStart=/bin/true"
        told = understood_by_systemd(service(body, description=quoting.unit_text(text)))
        assert (told.complaints, told.properties["Description"]) == ((), text)
        assert Path(told.properties["WorkingDirectory"]) == Path(path)


def test_systemd_reads_the_env_files_we_wrote() -> None:
    """Nasty values come out of an environment file unchanged, whatever the remark before them says."""
    texts = list(VALUES.values())
    for start in range(0, 60, len(OS_RELEASE_KEYS)):
        wanted = dict(zip(OS_RELEASE_KEYS, texts[-1 - start :: -1], strict=False))
        lines = [quoting.env_file_line(name, value=text) for name, text in wanted.items()]
        assert env_file_by_systemd("# a remark\n" + "\n".join(lines) + "\n") == wanted


def test_the_path_of_an_env_file_matches_that_file_only(tmp_path: Path) -> None:
    """Systemd takes the path for a pattern: glob(3) finds the file we mean, and not a neighbour."""
    names = [
        text.replace("/", "|")
        for text in draw(60, seed=4)
        if refusal(f"/{text}", place=Place.ENVIRONMENT_FILE) is None
    ]
    libc = ctypes.CDLL(None, use_errno=True)
    for neighbour in ("a", "b", "ab", "["):
        (tmp_path / neighbour).touch()
    for name in names:
        (tmp_path / f"{name}.env").touch()
        pattern = quoting.environment_file_path(f"{tmp_path}/{name}.env").replace("%%", "%")
        assert _glob(libc, pattern) == [f"{tmp_path}/{name}.env"]


def _glob(libc: ctypes.CDLL, pattern: str) -> list[str]:
    """What glob(3) finds; `glob_t` begins with a count and a list of strings."""
    found = (ctypes.c_byte * 256)()
    if libc.glob(pattern.encode(), 0, None, found) != 0:
        return []
    count = ctypes.c_size_t.from_buffer(found).value
    paths = ctypes.POINTER(ctypes.c_char_p).from_buffer(found, ctypes.sizeof(ctypes.c_size_t))
    return [(paths[index] or b"").decode() for index in range(count)]


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_shells_read_the_words_we_wrote(shell: str, tmp_path: Path) -> None:
    """A script hands nasty words and values on unchanged."""
    lines = [
        f"export {quoting.shell_assignment(name, value=text)}" for name, text in VALUES.items()
    ]
    lines.append(
        " \\\n  ".join(
            [
                quoting.shell_words(["exec", sys.executable, "-c", DUMP]),
                *map(quoting.shell_word, WORDS),
            ]
        )
    )
    assert _run_script(shell, "\n".join(lines) + "\n", tmp_path) == [list(WORDS), VALUES]


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_shells_read_the_env_files_we_wrote(shell: str, tmp_path: Path) -> None:
    """A person who sources the environment file gets the same values as the unit."""
    file = tmp_path / "x.env"
    lines = [quoting.env_file_line(name, value=text) for name, text in VALUES.items()]
    file.write_bytes(("# a remark; $(false)\n" + "\n".join(lines) + "\n").encode())
    script = f"set -a\n. {quoting.shell_word(str(file))}\nexec {quoting.shell_words([sys.executable, '-c', DUMP])}\n"
    assert _run_script(shell, script, tmp_path) == [[], VALUES]


def _run_script(shell: str, script: str, folder: Path) -> object:
    file = folder / "script"
    file.write_bytes(script.encode())
    done = subprocess.run(
        [program(shell), str(file)],
        env={"PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    return json.loads(done.stdout)


def test_our_reader_of_commands_agrees_with_systemd() -> None:
    """Lines nobody encoded mean to our reader what they mean to systemd."""
    lines = [f"/bin/n{number} {line}" for number, line in enumerate(raw(500, seed=5))]
    # A leading `-` makes systemd go on after a first command that it refuses, but not after a later one.
    lines = [
        line for line in lines if not _is_refused(line) or not read_command_line(line).commands
    ]
    text = service("".join(f"ExecStartPre=-{line}\n" for line in lines) + "ExecStart=/bin/true")
    values = read_unit(text).values("Service", key="ExecStartPre")
    ours = [command.argv for value in values for command in read_command_line(value).commands]
    assert list(understood_by_systemd(text).commands["ExecStartPre"]) == ours
    assert len(ours) > 200


def test_our_reader_refuses_the_commands_that_systemd_refuses() -> None:
    """A line with a fault makes systemd refuse the unit."""
    lines = [f"/bin/n {line}" for line in raw(500, seed=5)]
    refused = [line for line in lines if _is_refused(line)]
    for line in refused[:: len(refused) // 8]:
        assert not understood_by_systemd(service(f"ExecStart={line}\nExecStop=/bin/true")).loaded, (
            line
        )


def _is_refused(line: str) -> bool:
    """Whether our reader finds a fault in the line, once it has gone through a unit."""
    (value,) = read_unit(f"[Service]\nExecStart={line}").values("Service", key="ExecStart")
    return read_command_line(value).fault is not None


def test_our_reader_of_programs_agrees_with_systemd() -> None:
    """Prefixes, quoted programs and programs that systemd refuses mean the same to our reader."""
    lines = [
        f"-{prefix}{program}"
        for prefix in ("", ":", "@", "+", "!", "!!", "@:", "!+", "+!", "!!!", "--", "@!:")
        for program in _PROGRAMS
    ]
    told = understood_by_systemd(
        service("\n".join(f"ExecStartPre={line}" for line in lines) + "\nExecStart=/bin/true")
    )
    ours = [command.argv for line in lines for command in read_command_line(line).commands]
    assert list(told.commands["ExecStartPre"]) == ours


_PROGRAMS = (
    *(
        "/bin/x a",
        '"/bin/x y" a',
        "/bin//x a",
        "bin a",
        "./x a",
        ".. a",
        "/bin/ a",
        "'/it\\'s' a",
        "/a\\\\b",
        '"" a',
        "",
        "; /b",
        "/a ; ;",
    ),
    *("/a ; @/b c d ; /c", "/é%% a", '";" /b', "\\; a", "/x\ty a"),
)


def test_our_reader_of_environments_agrees_with_systemd() -> None:
    """`Environment=` lines nobody encoded set in our reader what they set in systemd."""
    lines = [f"Environment=N{number}=1 {line}" for number, line in enumerate(raw(300, seed=6))]
    text = service("\n".join([*lines, "ExecStart=/bin/true"]))
    values = read_unit(text).values("Service", key="Environment")
    ours = dict(pair for value in values for pair in read_environment(value).pairs)
    assert understood_by_systemd(text).environment == ours
    assert len(ours) > 200


def test_our_reader_of_env_files_agrees_with_systemd() -> None:
    """Environment files nobody encoded say to our reader what they say to systemd, broken quotes included."""
    dice = random.Random(7)
    pieces = [
        *RAW,
        "\n",
        "\r",
        "\\\n",
        "\n# c\n",
        "\n; c",
        '"',
        "'",
        '"',
        "'",
        '"\n',
        "'\n",
        "  ",
        "\\",
    ]
    for _ in range(30):
        lines = (
            "".join(dice.choice(pieces) for _ in range(dice.randint(0, 7))) for _ in OS_RELEASE_KEYS
        )
        text = "\n".join(
            f"{key}={line}" for key, line in zip(OS_RELEASE_KEYS, lines, strict=True)
        ) + dice.choice(["\n", "", "\\"])
        if any("254" in remark.text for remark in read_env_file(text).remarks):
            continue  # versions differ here
        ours = read_env_file(text).values
        assert env_file_by_systemd(text) == {key: ours.get(key, "") for key in OS_RELEASE_KEYS}, (
            text
        )


def test_our_reader_of_units_agrees_with_systemd() -> None:
    """Continuations, comments, sections and line ends mean to our reader what they mean to systemd."""
    dice = random.Random(8)
    tails = (
        "",
        " \\",
        " \\\\",
        " \\\\\\",
        "\\",
        " ",
        "\t# c",
        " ; c",
        "\0",
        "\r",
        "\\\0",
        "\u2028",
        "\x0b",
    )
    odd = (
        "",
        "# c",
        "  ; c \\",
        "# c \\",
        "=x",
        "word",
        " \\",
        "[Unit]",
        "[X-Other]",
        "[Service]",
        " [Service] ",
        "\ufeff",
        "X-A=1",
    )
    for _ in range(25):
        lines = []
        for number in range(40):
            lines += [
                f"{dice.choice(['', ' ', chr(9)])}Environment{dice.choice(['', ' '])}={dice.choice(['', ' '])}N{number}={number}{dice.choice(tails)}"
            ]
            lines += [dice.choice(odd) for _ in range(dice.randint(0, 2))]
        text = service(
            "ExecStart=/bin/true\n" + dice.choice(["\n", "\r\n", "\n\r", "\r"]).join(lines)
        )
        unit = read_unit(text)
        pairs = [
            pair
            for value in unit.values("Service", key="Environment")
            for pair in read_environment(value).pairs
        ]
        assert understood_by_systemd(text).environment == dict(pairs), text
        assert unit.fault is None


def test_our_reader_of_scripts_agrees_with_bash(tmp_path: Path) -> None:
    """Words nobody encoded mean to our reader what they mean to bash, as long as it takes them for plain."""
    dice = random.Random(9)
    pieces = (
        "a",
        "'",
        '"',
        "\\",
        " ",
        "\t",
        "\n",
        "\\\n",
        "#",
        "$",
        "`",
        "'b c'",
        '"d \\" e"',
        "\\\\",
        "-x",
        "=",
        "é",
        "\\é",
        "''",
        "#c\n",
    )
    texts = [
        "".join(dice.choice(pieces) for _ in range(dice.randint(0, 8))).strip("\n")
        for _ in range(600)
    ]
    plain = [
        text
        for text in texts
        if read_script(f"a {text}\n").fault is None and "\n" not in text.replace("\\\n", "")
    ]
    body = "".join(f"show {text}\n" for text in plain)
    script = 'show() { printf "%s\\0" "$#" "$@"; }\n' + body + "\n:\n"
    file = tmp_path / "script"
    file.write_bytes(script.encode())
    done = subprocess.run(
        [program("bash"), str(file)],
        capture_output=True,
        check=True,
        timeout=60,
        env={"LC_ALL": "C.UTF-8"},
    )
    ours = [each.words[1:] for each in read_script(body).commands if each.words[0] == "show"]
    assert done.stdout.decode() == "".join(
        f"{each}\0" for words in ours for each in (len(words), *words)
    )
    assert len(plain) > 100
