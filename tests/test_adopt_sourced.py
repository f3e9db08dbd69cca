"""Files that a script takes over, variables that are given, and what stays open: nothing is taken for certain that is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.cli.adopt import command
from compiler.engines.adopting import ChangeKind
from launching import SERVER, outcome, read_text


GO = f"{SERVER} --model-path /m/a"
LAST = f"exec {GO} --context-length $CTX\n"
SOURCES = {
    "beside": "CTX=32768\nsource ./local.env\n",
    "with a point": "CTX=32768\n. local.env\n",
    "by its script": 'CTX=32768\nset -a; source "$(dirname "$0")/local.env"; set +a\n',
    "by a folder in a variable": 'D="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nCTX=1024\nsource "$D/local.env"\n',
    "where it is there": "CTX=32768\nif [ -f local.env ]; then source local.env; fi\n",
    "where it is there, in a list": "CTX=32768\n[[ -r local.env ]] && . local.env\n",
    "as a copy beside": "CTX=32768\nsource /etc/llm/local.env\n",
    "in a function": "CTX=32768\nload() { source local.env; }\nload\n",
    "before a default": 'source local.env\nCTX="${CTX:-32768}"\n',
}


@pytest.mark.parametrize("way", SOURCES)
def test_a_file_that_is_taken_over_counts(way: str) -> None:
    """What it sets is what the launch gets, whichever way the script comes to it."""
    files = {"s/local.env": "# sizes\nCTX=131072\n"}
    got = outcome(read_text(SOURCES[way] + LAST, name="s/run.sh", files=files))
    assert got.settings["serve.context"] == 131072


@pytest.mark.parametrize("way", SOURCES)
def test_a_file_that_is_not_here_may_set_anything(way: str) -> None:
    """Its variables are open, it is named, no default is taken, and a given value closes it."""
    text = SOURCES[way] + LAST
    got = outcome(read_text(text, name="s/run.sh"))
    assert got.adopted is not None
    assert [each.setting for each in got.adopted.chosen.reading.open] == ["serve.context"]
    assert any("local.env` sets" in each for each in got.changes(ChangeKind.UNKNOWN))
    assert not any("CTX" in each for each in got.changes(ChangeKind.ASSUMED))
    got = outcome(read_text(text, name="s/run.sh", given={"CTX": "9000"}))
    assert got.settings["serve.context"] == 9000


def test_what_is_set_behind_an_unread_file_is_certain() -> None:
    """Only what stood before it, and what nobody sets, may come from it."""
    got = outcome(read_text(f"source x.env\nCTX=4096\n{LAST}"))
    assert got.settings["serve.context"] == 4096


def test_a_script_of_an_environment_sets_paths_only() -> None:
    """`activate`, `.bashrc`, and their like leave what the launch says."""
    got = outcome(read_text(f"CTX=4096\nsource ~/.bashrc\nsource /v/bin/activate\n{LAST}"))
    assert got.settings["serve.context"] == 4096


def test_variables_of_a_file_are_exported_by_set_a() -> None:
    """`set -a` gives them to the server, `set +a` ends that, and without it they are the script's own."""
    files = {"x.env": "NCCL_DEBUG=INFO\n"}
    for before, after, reaches in (
        ("set -a\n", "set +a\n", True),
        ("set -o allexport\n", "set +o allexport\n", True),
        ("set -e\n", "", False),
        ("set -a\nset +a\n", "", False),
    ):
        text = f"{before}source ./x.env\n{after}NCCL_ALGO=Ring\n{GO}\n"
        got = outcome(read_text(text, files=files))
        assert ("env.NCCL_DEBUG" in got.settings) is reaches
        assert "env.NCCL_ALGO" not in got.settings


def test_functions_of_a_file_are_followed() -> None:
    """A launch in a function of another file is found, with its place there."""
    files = {"lib.sh": f"run() {{\n  {GO} --tp $1\n}}\n"}
    got = outcome(read_text("source lib.sh\n\nrun 4\n", files=files))
    assert got.settings["parallel.tensor"] == 4
    assert got.adopted is not None
    span = got.adopted.launch.command.words[0].span
    assert span is not None
    assert (span.file, span.line) == ("lib.sh", 2)


def test_a_file_that_takes_itself_over_ends() -> None:
    """What goes round is left at some time."""
    got = outcome(
        read_text(
            f"source run.sh\n{GO} --tp 2\n", name="run.sh", files={"run.sh": "source run.sh\n"}
        )
    )
    assert got.settings["parallel.tensor"] == 2


UNSURE = {
    "a case": "case $(uname) in x) TP=2;; *) TP=4;; esac\n",
    "an if": "TP=1\nif nvidia-smi; then TP=8; fi\n",
    "a command": "TP=$(nvidia-smi -L | wc -l)\n",
    "input": "read -r TP\n",
    "a loop": "for TP in 1 2 4; do true; done\n",
    "a default": 'TP="${TP:-2}"\n',
    "a file": "TP=2\nsource gone.env\n",
}


@pytest.mark.parametrize("way", UNSURE)
def test_a_given_value_wins_where_none_is_certain(way: str) -> None:
    """What the script sets in branches, from commands, or from its caller is as it is given."""
    got = outcome(read_text(f"{UNSURE[way]}{GO} --tp $TP\n", given={"TP": "16"}))
    assert got.settings["parallel.tensor"] == 16


def test_a_given_value_reaches_a_script_in_a_word() -> None:
    """Also of a container."""
    text = (
        "services:\n  a:\n    image: x\n    command: bash -c 'source /cfg/q.env && "
        + GO
        + " --tp $$TP'\n"
    )
    got = outcome(read_text(text, name="compose.yaml", given={"TP": "16"}))
    assert got.settings["parallel.tensor"] == 16
    got = outcome(read_text(text, name="compose.yaml"))
    assert any("`/cfg/q.env`" in each for each in got.changes(ChangeKind.UNKNOWN))


def adopt(text: str, *options: str) -> tuple[int, str, str]:
    """The exit code, the profile, and what is said."""
    Path("a.sh").write_text(text, "utf-8")
    done = CliRunner().invoke(command, [*options, "a.sh"], standalone_mode=False)
    assert done.exception is None, done.exception
    return int(done.return_value), done.stdout, done.stderr


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of no tree."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_variable_that_changes_nothing_is_said(options: tuple[str, ...]) -> None:
    """A misspelt name, and one that the script sets for certain; one that is used is not."""
    text = f"TP=2\n{GO} --tp $TP --context-length $CTX\n"
    several = ("--var", "NOPE=1", "--var", "TP=4", "--var", "CTX=4096")
    _, _, said = adopt(text, *options, *several)
    assert "warning[var-unused]: `--var NOPE=...` changes nothing" in said
    assert "warning[var-unused]: `--var TP=...` changes nothing" in said
    assert "`--var CTX=...`" not in said


@pytest.mark.parametrize(
    ("flag", "setting", "key"),
    [
        ("--context-length", "serve.context", "context ="),
        ("--tp", "parallel.tensor", "count ="),
        ("--pipeline-parallel-size", "parallel.pipeline", "count ="),
        ("--mem-fraction-static", "memory.fraction", "fraction ="),
    ],
)
def test_what_is_open_stands_in_no_profile(flag: str, setting: str, key: str) -> None:
    """No stand-in is written of it, so that `check` asks for it; it is named, and nothing is said of memory."""
    code, profile, said = adopt(f"{SERVER} --model-path Qwen/Qwen3-8B {flag} $X\n", "--gpu", "h200")
    assert code == 0
    assert key not in profile
    assert (
        f"open: `{flag}` is known at start only, and memory is not judged before: set `{setting}`"
        in said
    )
    assert "--var X=..." in said
    assert "pool-" not in said
    assert "reserve-" not in said
    _, profile, said = adopt(f"{SERVER} --model-path Qwen/Qwen3-8B {flag} $X\n", "--var", "X=1")
    assert key in profile
    assert "known at start only" not in said


def test_a_digit_behind_a_path_is_an_argument() -> None:
    """`$M/$1` is one word, wherever it stands."""
    text = f'M=/m\nX=$M/$1\nexport Y=$M/$2\nA=(--tokenizer-path $M/$2)\n{SERVER} --model-path $M/$1 "${{A[@]}}" --revision $X\n'
    got = outcome(read_text(text, given={"1": "a", "2": "b"}))
    assert got.settings["model.path"] == "/m/a"
    assert got.settings["flags.tokenizer-path"] == "/m/b"
    assert got.settings["flags.revision"] == "/m/a"
    assert got.settings["env.Y"] == "/m/b"
    got = outcome(read_text(text))
    assert got.codes == ["launch-incomplete"]
