"""What is no launch, or cannot be read: an error at its line, and nothing written. And the verb itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.adopt.files import as_source
from compiler.adopt.reading import read_file
from compiler.cli.adopt import command
from compiler.cli.check import command as check
from compiler.engines.adopting import ChangeKind
from launching import SERVER, outcome, read_text, tree


LAUNCH = f"{SERVER} --model-path Qwen/Qwen3-8B --tp 2 --port 8000\n"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of no tree."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.glob("*.tmp"))


def run(*words: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(command, list(words), input=stdin, standalone_mode=False)


def code_of(done: Result) -> int:
    assert done.exception is None, done.exception
    return int(done.return_value)


BROKEN: dict[str, tuple[str, bytes, int]] = {
    "no UTF-8": ("a.service", b"[Service]\nExecStart=/bin/x \xff\n", 2),
    "empty": ("a.sh", b"\n  \n", 1),
    "a quote in a script": ("a.sh", b"true\npython -m sglang.launch_server --a 'b\nc\n", 2),
    "a quote in a unit": ("a.service", b"[Service]\n\nExecStart=/bin/x 'y\n", 3),
    "a section in a unit": ("a.service", b"[Service]\n[Unit\nA=b\n", 2),
    "no YAML": ("a.yaml", b"services:\n  a: [\n", 3),
    "a compose file without services": ("compose.yaml", b"volumes:\n  a: b\n", 1),
    "a quote in a compose file": ("c.yaml", b"services:\n  a:\n    command: python 'x\n", 3),
    "a quote in a quadlet": ("a.container", b"[Container]\nExec=python 'x\n", 2),
    "an environment file that is not there": (
        "a.service",
        b"[Service]\nEnvironmentFile=/no/such.env\nExecStart=/bin/python -m sglang.launch_server --model-path /m/a\n",
        2,
    ),
    "a NUL": ("a.sh", b"true\nfalse \0\n", 2),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read(nowhere: Path, name: str) -> None:
    """`launch-unreadable`, at the line, and no profile."""
    file, data, line = BROKEN[name]
    (nowhere / file).write_bytes(data)
    done = run(file, "-o", "out.toml", "--json")
    assert code_of(done) == 1
    told = json.loads(done.stdout)
    (found,) = (each for each in told["diagnostics"] if each["severity"] == "error")
    assert found["code"] == "launch-unreadable"
    assert found["spans"][0]["line"] == line
    assert told["profile"] is None
    assert not (nowhere / "out.toml").exists()


@pytest.mark.parametrize("name", ["folder", "missing.service"])
def test_what_is_no_file(nowhere: Path, name: str) -> None:
    """A directory, and what is not there, are named."""
    (nowhere / "folder").mkdir()
    done = run(name)
    assert code_of(done) == 1
    assert f"`{name}`" in done.stderr


def test_a_script_that_is_no_launch() -> None:
    """`launch-missing`: what it does run is named; a name that is only looked for is no launch."""
    read = read_text("pkill -f sglang.launch_server\necho 'python -m sglang.launch_server'\n")
    (found,) = read.diagnostics
    assert found.code == "launch-missing"
    assert "`pkill`, `echo`" in found.notes[0]


def test_two_launches_in_one_file() -> None:
    """`launch-several`: each is shown, and a line says which is meant."""
    text = f"{LAUNCH}{LAUNCH.replace('8000', '8001')}"
    (found,) = read_text(text).diagnostics
    assert found.code == "launch-several"
    assert found.primary is not None
    assert [found.primary.span.line, *(each.span.line for each in found.secondary)] == [1, 2]
    second = read_text(text, line=2)
    assert second.diagnostics == ()
    assert second.launch is not None
    assert second.launch.command.words[-1].text == "8001"
    assert [each.code for each in read_text(text, line=3).diagnostics] == ["launch-missing"]


def test_a_comment_that_ends_a_launch() -> None:
    """`launch-cut`: in a script, unlike in a unit, a comment between joined lines ends the command."""
    text = f"{SERVER} --model-path /m/a \\\n  # two cards\n  --tp 2\n"
    (found,) = read_text(text).diagnostics
    assert (found.code, found.is_error) == ("launch-cut", False)
    assert found.primary is not None
    assert found.primary.span.line == 3
    assert read_text(text.replace("  # two cards\n", "")).diagnostics == ()


def test_a_launch_in_a_terminal_of_its_own() -> None:
    """The command that `tmux` is given in one word is a launch; what `echo` is given is none."""
    inside = f"CUDA_VISIBLE_DEVICES=0 {SERVER} --model-path /m/a"
    got = outcome(read_text(f'tmux new-session -d -s a "{inside}"\n'))
    assert got.settings["gpus.indices"] == [0]
    assert read_text(f'echo "{inside}"\n').launch is None


def test_the_other_commands_of_a_script_are_spoken_of() -> None:
    """What else a script does may matter to the launch."""
    got = outcome(read_text(f"cd /srv\nulimit -s unlimited\necho start\n{LAUNCH}"))
    told = got.changes(ChangeKind.DROPPED)
    assert told == ["1: the script's other commands are not carried: `cd`, `ulimit`"]


def test_a_profile_is_written_once(nowhere: Path) -> None:
    """`-o` writes a new file, never over one that is there unless told; `check` takes what it wrote."""
    folder = nowhere / "profiles"
    folder.mkdir()
    path = folder / "qwen.toml"
    (nowhere / "a.sh").write_text(LAUNCH)
    options = ("a.sh", "-o", str(path), "--gpu", "h200", "--engine", "sglang@0.5.11")
    assert code_of(run(*options)) == 0
    text = path.read_text()
    path.write_text("mine\n")
    assert code_of(run(*options)) == 1
    assert path.read_text() == "mine\n"
    assert code_of(run(*options, "--overwrite")) == 0
    assert path.read_text() == text
    done = CliRunner().invoke(check, [str(path)], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0), done.stderr


def test_stdin_and_a_command_give_the_same(nowhere: Path) -> None:
    """`-`, a file, and `-- COMMAND` are three ways to one profile."""
    (nowhere / "a.sh").write_text(LAUNCH)
    texts = {
        "\n".join(line for line in run(*words, stdin=text).stdout.splitlines() if line[:1] != "#")
        for words, text in ((("a.sh",), None), (("-",), LAUNCH), (("--", *LAUNCH.split()), None))
    }
    assert len(texts) == 1
    assert 'id = "Qwen/Qwen3-8B"' in texts.pop()


UNIT = f"""\
[Unit]
After=network-online.target
[Service]
ExecStart=/opt/v/bin/{SERVER} --model-path Qwen/Qwen3-8B \\
  --cuda-graph-max-bs 8 --context-length 2000000 --api-key sk-abcdefghijklmnop
"""


def test_check_judges_in_the_file_s_own_lines(nowhere: Path) -> None:
    """What the newest release refuses comes with its replacement; each finding has its place; the key is not shown."""
    (nowhere / "q.service").write_text(UNIT)
    done = run("--check", "q.service", "--gpu", "h200")
    assert code_of(done) == 1
    assert "cuda-graph-max-bs-decode" in done.stderr
    for place in ("q.service:2:1", "q.service:5:3", "q.service:5:42"):
        assert place in done.stderr
    assert "sk-abc" not in done.stderr + done.stdout
    assert done.stdout.startswith("q.service  ")
    assert [each.name for each in nowhere.iterdir()] == ["q.service"]


def test_check_gives_the_verdict_of_a_profile(nowhere: Path) -> None:
    """A pool that is too short for the context is refused as `check` refuses it."""
    (nowhere / "q.sh").write_text(
        f"{SERVER} --model-path Qwen/Qwen3-8B --context-length 32768 --mem-fraction-static 0.2\n"
    )
    done = run(
        "--check",
        "q.sh",
        "--gpu",
        "rtx-3090",
        "--count",
        "1",
        "--engine",
        "sglang@0.5.11",
        "--json",
    )
    told = json.loads(done.stdout)
    assert told["plans"][0]["verdict"] == "refused"
    (found,) = (
        each
        for each in told["plans"][0]["diagnostics"]
        if each["code"] in {"weights-too-large", "pool-too-small"}
    )
    assert found["spans"][0]["file"] == "q.sh"


def test_json_lists_what_changed(nowhere: Path) -> None:
    """Each change has its kind, its text, and its place."""
    (nowhere / "q.sh").write_text(LAUNCH)
    told = json.loads(run("q.sh", "--json").stdout)
    assert {
        "kind": "renamed",
        "text": "`--tp` is an abbreviation of `--tp-size`",
        "file": "q.sh",
        "line": 1,
    } in told["changes"]
    assert told["profile"].startswith("# Adopted from q.sh")


WHOLE = {
    "a.service": UNIT,
    "a.sh": f"M=/m/a\nF=(--tp 2)\nif true; then X='y'; fi\nexec env A=b {SERVER} --model-path $M \"${{F[@]}}\" ${{P:-x}}\n",
    "a.yaml": f"services:\n  a:\n    image: x/sglang:v0.5.11\n    environment: {{A: b}}\n    command: {SERVER} --model-path /m/a\n",
    "a.container": f"[Container]\nImage=x/sglang:v0.5.11\nEnvironment=A=b\nExec={SERVER} --model-path /m/a\n",
}
ODD = ["'", '"', "\\", "$", "${", "`", "\n", "[", "]", "{", "}", "%", "%i", " ", "=", "#", ";", "&&", "\r", "é", "\u2028", ":", "-", "--", "$(", ")", "<<E", "*", "\ue000", "0"]  # fmt: skip


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(sorted(WHOLE)),
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 20), st.sampled_from(ODD)),
        min_size=1,
        max_size=4,
    ),
)
def test_no_broken_file_ends_in_a_traceback(name: str, edits: list[tuple[int, int, str]]) -> None:
    """Whatever is done to a launch, it is adopted to the same, or refused with a reason."""
    text = WHOLE[name]
    for at, length, put in edits:
        start = at % (len(text) + 1)
        text = text[:start] + put + text[start + length :]
    source, _ = as_source(name, text.encode())
    if source is None:
        return
    got = outcome(read_file(source, files=tree({}), given={}), version=None)
    assert bool(got.text) != any(each.is_error for each in got.found)
    assert "launch-unfaithful" not in got.codes or got.text == ""


def test_a_quoted_command_is_told_that_it_is_one_word() -> None:
    """It is no name of a file that is missing."""
    done = run("--check", "--", "sglang serve --model-path Qwen/Qwen3-8B")
    assert code_of(done) == 1
    assert "the whole command is one word" in done.stderr
    assert "`poolproof adopt -- COMMAND`" in done.stderr


@pytest.mark.parametrize(
    "start",
    ["python -m sglang.launch_server", "mystart", f"sglang serve --served-model-name {'x' * 300}"],
    ids=["launch", "unknown", "longer than a name may be"],
)
def test_a_quoted_command_keeps_its_key(start: str) -> None:
    """What is taken for the name of a file is not shown as it is: a key may stand in it."""
    done = run("--check", "--", f"{start} --api-key hunter2hunter2")
    assert code_of(done) == 1
    assert "hunter2" not in done.output
