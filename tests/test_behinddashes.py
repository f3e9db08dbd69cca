"""Commands without `--` before them: the line to type is told, and no word of the command that may be a secret."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from compiler.cli.commands import VERBS, poolproof


KEY = "hunter2hunter2"
SERVER = "python -m sglang.launch_server --model-path X"


def told(*words: str) -> str:
    """What is said of words that are refused."""
    done = CliRunner().invoke(poolproof, words, prog_name="poolproof")
    assert done.exit_code == click.UsageError.exit_code
    assert KEY not in done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (f"predict {SERVER}", "predict --gpu KIND -- python -m sglang.launch_server ..."),
        (
            f"predict --gpu h100 {SERVER}",
            "predict --gpu h100 -- python -m sglang.launch_server ...",
        ),
        (
            f"predict --gpu=h100 {SERVER}",
            "predict --gpu=h100 -- python -m sglang.launch_server ...",
        ),
        (
            f"predict --gpu h100 A_KEY={KEY} sglang serve --api-key {KEY}",
            "predict --gpu h100 -- sglang serve ...",
        ),
        (f"predict --gpu h100 sglang --api-key={KEY}", "predict --gpu h100 -- sglang ..."),
        (f"adopt --check {SERVER}", "adopt --check -- python -m sglang.launch_server ..."),
        (
            f"adopt --var HF_TOKEN={KEY} --line 3 docker run --gpus all {KEY}",
            "adopt --var 'HF_TOKEN=***' --line 3 -- docker run ...",
        ),
        (f"adopt {sys.executable} -m sglang.launch_server --tp 2", "-m sglang.launch_server ..."),
    ],
)
def test_a_command_goes_behind_dashes(words: str, line: str) -> None:
    """The line to type has the verb's own options, those that it cannot do without, and the command's beginning."""
    said = told(*words.split())
    assert "a command and its options go behind `--`: `poolproof " in said
    assert f"{line}`" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("predict --gpu h100 --model-path X", "No such option '--model-path'"),
        ("predict --gpuu h100 -- sglang serve", "No such option '--gpuu'"),
        ("adopt FILE --chekc", "No such option '--chekc'"),
        ("adopt - --chekc", "No such option '--chekc'"),
        ("check FILE --chekc", "No such option '--chekc'"),
    ],
)
def test_a_slip_in_an_option_is_no_command(words: str, said: str, tmp_path: Path) -> None:
    """Without a command, behind a file, and where `--` is there, the option itself is wrong."""
    file = tmp_path / "serve.sh"
    file.write_text("sglang serve\n", "utf-8")
    assert said in told(*words.replace("FILE", str(file)).split())


def test_every_verb_that_takes_a_command_says_so() -> None:
    """A verb whose words are a command is of the kind that tells where one goes."""
    for verb in VERBS:
        command = poolproof.get_command(None, verb)  # type: ignore[arg-type]
        assert command is not None
        takes = any("COMMAND" in (each.metavar or "") for each in command.params)
        assert takes == (verb in {"predict", "adopt"})
        assert takes == hasattr(command, "takes_file")
