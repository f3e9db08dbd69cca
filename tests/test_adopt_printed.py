"""What a command in `$(...)` prints, where that is the same on every machine; and texts that a script puts together."""

from __future__ import annotations

import pytest

from compiler.engines.adopting import ChangeKind
from launching import SERVER, Outcome, outcome, read_text


LAUNCH = f"{SERVER} --model-path /m/a --tp 2"
WHOLE = {
    "a function": f'cmd() {{ echo "{SERVER} --model-path $1 --tp ${{2:-1}}"; }}\neval "$(cmd /m/a 2)"\n',
    "kept in a variable": f'cmd() {{ echo "{LAUNCH}"; }}\nCMD=$(cmd)\n$CMD\n',
    "of a shell": f'cmd() {{ echo "{LAUNCH}"; }}\nbash -c "$(cmd)"\n',
    "printf": f"cmd() {{ printf '%s ' {LAUNCH}; }}\n$(cmd)\n",
    "printf with lines": f"flags() {{ printf -- '--tp 2'; }}\ncmd() {{ printf '%s\\n' '{SERVER} --model-path /m/a' --tp 2; }}\neval $(cmd)\n",
    "cat": f"CMD=$(cat <<E\n{LAUNCH}\nE\n)\n$CMD\n",
    "echo itself": f"{SERVER} --model-path $(echo /m/a) --tp $(echo -n 2)\n",
    "locals": f'cmd() {{\n  local model=$1 tp=2\n  local extra="--tp $tp"\n  echo "{SERVER} --model-path $model $extra"\n}}\neval "$(cmd /m/a)"\n',
    "one in another": f'tp() {{ echo 2; }}\ncmd() {{ echo "{SERVER} --model-path /m/a --tp $(tp)"; }}\n$(cmd)\n',
    "read": f"read -r -d '' CMD <<'E'\n{LAUNCH}\nE\n$CMD\n",
    "read with variables": f"M=/m/a\nIFS= read -rd '' CMD <<E || true\n{SERVER} --model-path $M --tp 2\nE\neval \"$CMD\"\n",
    "bash -c": f'CMD="{SERVER}"\nCMD="$CMD --model-path /m/a"\nCMD+=" --tp 2"\nbash -c "$CMD"\n',
    "a joined list": f'A=(--model-path /m/a)\nA+=(--tp 2)\nbash -c "{SERVER} ${{A[*]}}"\n',
    "eval of a list": f'A=({LAUNCH})\neval "${{A[*]}}"\n',
    "set": 'set -- -m sglang.launch_server --model-path /m/a\nset -- "$@" --tp 2\nexec python3 "$@"\n',
    "case": f'case "${{1:-a}}" in\n  a) set -- --tp 2 ;;\n  b) set -- --tp 4 ;;\nesac\n{SERVER} --model-path /m/a "$@"\n',
    "getopts": f'TP=2\nwhile getopts "t:m:" o; do\n  case $o in t) TP=$OPTARG ;; m) M=$OPTARG ;; esac\ndone\n: "${{M:=/m/a}}"\n{SERVER} --model-path $M --tp $TP\n',
}  # fmt: skip


@pytest.mark.parametrize("way", WHOLE)
def test_a_launch_that_is_put_together(way: str) -> None:
    """It is read as the shell would run it."""
    got = outcome(read_text(WHOLE[way]), version=None)
    assert got.codes == []
    assert got.settings["model.path"] == "/m/a"
    assert got.settings["parallel.tensor"] == 2
    assert not got.changes(ChangeKind.UNKNOWN)


OPEN = {
    "a program": "tp() { nvidia-smi -L | wc -l; }",
    "a program beside": "tp() { date; echo 2; }",
    "one in a branch": "tp() { if [ -e /x ]; then echo 2; else echo 4; fi; }",
    "behind a test": "tp() { [ -e /x ] && echo 2; }",
    "in a loop": "tp() { for i in 1 2; do echo $i; done; }",
    "a pipe": "tp() { echo 2 | tr 2 4; }",
    "a form of its own": "tp() { printf '%x' 2; }",
    "escapes": "tp() { echo -e '2'; }",
    "itself": "tp() { echo $(tp); }",
    "nobody": "",
}


@pytest.mark.parametrize("way", OPEN)
def test_what_a_function_may_print(way: str) -> None:
    """Where that is not sure it is known at start only, and said with its line."""
    text = f"{OPEN[way]}\n{SERVER} --model-path /m/a --tp $(tp)\n"
    got = outcome(read_text(text), version=None)
    assert "parallel.tensor" not in got.settings
    assert "2: `--tp $(tp)` is not known before the start" in got.changes(ChangeKind.UNKNOWN)


def test_what_is_open_in_what_is_printed() -> None:
    """A part that is not known stays one, and the rest is read."""
    text = f'flags() {{ echo "--tp 2 --port $PORT"; }}\n{SERVER} --model-path /m/a $(flags)\n'
    got = outcome(read_text(text), version=None)
    assert got.settings["parallel.tensor"] == 2
    assert got.changes(ChangeKind.UNKNOWN) == ["2: `--port $PORT` is not known before the start"]


def test_printing_changes_nothing_else() -> None:
    """`$(...)` is a shell of its own: what a function sets in it is gone behind it."""
    text = f"P=8001\nf() {{ P=9; echo 2; }}\n{SERVER} --model-path /m/a --tp $(f) --port $P\n"
    assert outcome(read_text(text), version=None).settings["serve.port"] == 8001


@pytest.mark.parametrize("calls", [2, 40])
def test_functions_that_print_each_other_take_no_time(calls: int) -> None:
    """Two calls in each of many functions are 2^n of them: after some no more are followed."""
    several = "".join(f"f{n}() {{ echo $(f{n + 1}) $(f{n + 1}); }}\n" for n in range(calls))
    text = f"{several}f{calls}() {{ echo --tp 2; }}\n{SERVER} --model-path /m/a $(f0)\n"
    got = outcome(read_text(text), version=None)
    assert got.settings["parallel.tensor"] == 2
    left = [each for each in got.changes(ChangeKind.UNKNOWN) if "may hold more flags" in each]
    assert bool(left) is (calls > 2)


def words_behind(front: str) -> Outcome:
    return outcome(read_text(f'{front}\n{SERVER} --model-path /m/a "$@"\n'), version=None)


def test_arguments_that_a_branch_adds() -> None:
    """What only one branch sets is not lost behind both: `$@` may hold more."""
    got = words_behind('set -- --tp 2\n[ -n "$EXTRA" ] && set -- "$@" $EXTRA')
    assert got.settings["parallel.tensor"] == 2
    assert "3: `$@` may hold more flags, known at the start only" in got.changes(ChangeKind.UNKNOWN)


def test_a_text_that_nobody_runs() -> None:
    """`set --` and `alias` name a launch, and start none."""
    got = outcome(read_text(f"alias serve='{LAUNCH}'\nset -- {LAUNCH}\n"), version=None)
    assert got.codes == ["launch-missing"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('CMD=$(python3 build.py)\neval "$CMD"\n', "what line 2 runs, `$(python3 build.py)`, is known at start only: say it, `--var CMD=...`"),
        ("sleep 1\n$LAUNCHER --tp 2\n", "what line 2 runs, `$LAUNCHER`, is known at start only: say it, `--var LAUNCHER=...`"),
    ],
)  # fmt: skip
def test_what_runs_is_not_known(text: str, said: str) -> None:
    """The line is named, and how to say it; said, it is read."""
    got = outcome(read_text(text), version=None)
    assert got.codes == ["launch-missing"]
    assert got.found[0].help == (said,)
    name = said.split("--var ")[1].partition("=")[0]
    told = outcome(read_text(text, given={name: LAUNCH}), version=None)
    assert told.settings["parallel.tensor"] == 2
