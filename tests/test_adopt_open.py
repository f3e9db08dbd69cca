"""Launches that leave a value open until the start: what hangs on it is a doubt, and all else is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.cli.adopt import command
from launching import SERVER


MODEL = "--model-path meta-llama/Llama-3.1-70B-Instruct --context-length 65536"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of no tree."""
    monkeypatch.chdir(tmp_path)


def check(words: str, *options: str) -> tuple[int, str, str]:
    """The exit code, the verdict's line, and the findings."""
    Path("a.sh").write_text(f"{SERVER} {words}\n", "utf-8")
    done = CliRunner().invoke(
        command, ["--check", "--gpu", "h200", *options, "a.sh"], standalone_mode=False
    )
    assert done.exception is None, done.exception
    return int(done.return_value), done.stdout, done.stderr


def test_what_hangs_on_an_open_value_is_a_doubt() -> None:
    """Rules that the open flag may satisfy are warnings, memory is not judged, and the words to say are given."""
    words = f"{MODEL} --tp $TP --nnodes 2 --node-rank 0 --dist-init-addr $MASTER:5000"
    code, verdict, found = check(words)
    assert (code, verdict.split()[1]) == (0, "unknown")
    assert "warning[nodes-not-divisible]" in found
    assert "it may not be so: the launch leaves `--tp` and `--dist-init-addr` open" in found
    assert "a finding that depends on it is a warning, not an error" in found
    assert "dist-init-missing" not in found, "the flag is there, with whatever value"
    assert "pool-too-small" not in found
    assert "`--var TP=... --var MASTER=...`" in found
    code, verdict, found = check(words, "--var", "TP=16", "--var", "MASTER=10.0.0.2")
    assert (code, verdict.split()[1]) == (0, "pass")
    assert "launch-open" not in found


def test_many_open_flags_are_named_as_a_sentence_names_them() -> None:
    """Up to four are named, with a comma before the last, and of more it is said how many."""
    flags = [f"--{name} $V" for name in ("tp", "dp", "ep", "chunked-prefill-size", "page-size")]
    for count, named in (
        (3, "`--tp`, `--dp`, and `--ep` open"),
        (5, "`--tp`, `--dp`, `--ep`, `--chunked-prefill-size`, and 1 more open"),
    ):
        assert f"the launch leaves {named}" in check(f"{MODEL} {' '.join(flags[:count])}")[2]


@pytest.mark.parametrize(
    "words",
    ["--port $PORT", "--host $HOST", "--served-model-name $NAME", '"$@"', "--port=${PORT}"],
)
def test_an_address_or_a_name_decides_nothing(words: str) -> None:
    """What no rule hangs on may stay open: the memory is judged, and a refusal is one."""
    code, verdict, found = check(f"{MODEL} --tp 1 {words}")
    assert (code, verdict.split()[1]) == (1, "refused")
    assert "error[pool-too-small]" in found
    assert "launch-open" not in found


def test_what_is_wrong_with_one_flag_alone_stays_an_error() -> None:
    """A flag that the release does not have is refused whatever the others hold."""
    code, _, found = check(f"{MODEL} --tp $TP --enable-everything")
    assert code == 1
    assert "error[flag-unknown]" in found


def test_a_word_that_may_hold_more_flags_is_open() -> None:
    """`$ARGS` may be any flags."""
    code, verdict, found = check(f"{MODEL} --tp 1 $ARGS")
    assert (code, verdict.split()[1]) == (0, "unknown")
    assert "the launch leaves `$ARGS` open" in found


def test_a_rank_leaves_the_memory_as_it_is() -> None:
    """A flag that is known to size nothing leaves the verdict."""
    code, verdict, _ = check(
        f"{MODEL} --tp 16 --nnodes 2 --node-rank $RANK --dist-init-addr 10.0.0.2:5000"
    )
    assert (code, verdict.split()[1]) == (0, "pass")


def test_the_newest_release_is_not_the_only_one() -> None:
    """A launch that the newest release refuses is told the newest that takes it, which it may be running on."""
    code, _, found = check(f"{MODEL} --tp 8 --cuda-graph-max-bs 64")
    assert code == 1
    assert "error[flag-unknown]" in found
    assert "; 0.5.19 takes all of its flags" in found
    code, _, found = check(f"{MODEL} --tp 8 --cuda-graph-max-bs 64", "--engine", "sglang@0.5.19")
    assert code == 0


def test_a_profile_for_a_host_is_told_that_it_lacks_a_python() -> None:
    """`python3` is another one in the unit: what a compiled profile needs is said when it is adopted."""
    Path("a.sh").write_text(f"{SERVER} {MODEL}\n", "utf-8")
    done = CliRunner().invoke(command, ["--target", "box", "a.sh"], standalone_mode=False)
    assert "which Python `python3` is depends on the path: set `engine.python`" in done.output
    Path("a.sh").write_text(f"/opt/v/bin/{SERVER} {MODEL}\n", "utf-8")
    done = CliRunner().invoke(command, ["--target", "box", "a.sh"], standalone_mode=False)
    assert "which Python" not in done.output


def adopted(words: str, *options: str) -> tuple[str, list[str]]:
    """The profile, and the lines of what became of the launch."""
    Path("a.sh").write_text(f"{SERVER} {words}\n", "utf-8")
    done = CliRunner().invoke(command, ["--gpu", "h200", *options, "a.sh"], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.stdout, done.stderr.splitlines()


def test_all_that_is_open_is_asked_for_at_once() -> None:
    """Nothing comes up only when the rest is said: what no flag says is refused whatever the launch leaves open."""
    _, told = adopted(f"{MODEL} --tp $TP")
    _, then = adopted(f"{MODEL} --tp $TP", "--var", "TP=8")
    asked = [line for line in told if line.startswith("open: ")]
    later = [line for line in then if line.startswith("open: ")]
    assert any("`python-missing`" in line for line in asked)
    assert set(later) < set(asked)


def test_what_is_open_stands_before_what_is_only_told() -> None:
    """On the terminal and in the profile's comments, which say of when they are, so that they stay true."""
    profile, told = adopted(f"{MODEL} --tp $TP")
    kinds = [line.partition(":")[0] for line in told]
    assert kinds[: kinds.count("open")] == ["open"] * kinds.count("open")
    assert "assumed" in kinds
    _, _, comments = profile.partition(
        "\n# When it was adopted, this was left to say, not carried, not known, or taken for granted; "
        "what was mended since may go:\n"
    )
    assert [line.removeprefix("# ") for line in comments.splitlines()] == told
    assert "at the end" not in profile
