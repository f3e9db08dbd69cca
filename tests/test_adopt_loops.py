"""Scripts that start several servers in a loop, and lists of a shell."""

from __future__ import annotations

import pytest

from compiler.engines.adopting import ChangeKind
from launching import SERVER, outcome, read_text


REPLICAS = f"""\
TP=2
PORTS=(30000 30001)
for i in "${{!PORTS[@]}}"; do
  gpus="$((i*TP)),$((i*TP+1))"
  CUDA_VISIBLE_DEVICES=$gpus {SERVER} --model-path /m/a --tp $TP --port "${{PORTS[$i]}}" &
done
"""
COUNTED = f"""\
gpu=0
for PORT in 30000 30001 30002; do
  CUDA_VISIBLE_DEVICES=$gpu,$((gpu+1)) {SERVER} --model-path /m/a --tp 2 --port $PORT &
  gpu=$((gpu+2))
done
"""


def loops(text: str, **given: str) -> list[str]:
    """What is said of the loop."""
    told = outcome(read_text(text, given=given)).changes(ChangeKind.ASSUMED)
    return [each for each in told if "loop" in each]


def test_a_loop_over_replicas_is_told() -> None:
    """Who adopts one of several launches learns how many there are, and how to get each."""
    (told,) = loops(REPLICAS)
    assert told.startswith("3: a loop starts the launch 2 times")
    assert "`--var i=0`, `--var i=1`; each needs a unit name of its own, `unit = " in told
    assert "that with `i=1`: adopt the others, `--var i=0`;" in loops(REPLICAS, i="1")[0]


@pytest.mark.parametrize(("turn", "port", "gpus"), [("0", 30000, [0, 1]), ("1", 30001, [2, 3])])
def test_each_turn_has_its_own_port_and_gpus(turn: str, port: int, gpus: list[int]) -> None:
    """A literal list is indexed by the turn that is said."""
    done = outcome(read_text(REPLICAS, given={"i": turn}))
    assert done.settings["serve.port"] == port
    assert done.settings["gpus.indices"] == gpus
    assert not done.changes(ChangeKind.UNKNOWN)


def test_a_turn_has_what_the_turns_before_it_set() -> None:
    """A counter beside the loop's own variable is counted up to the turn that is said."""
    done = outcome(read_text(COUNTED, given={"PORT": "30002"}))
    assert done.settings["gpus.indices"] == [4, 5]
    assert done.settings["serve.port"] == 30002


def test_a_turn_that_no_loop_has() -> None:
    """A value that is not in the list is taken as it is said; what hangs on turns before it stays open."""
    done = outcome(read_text(COUNTED, given={"PORT": "31000"}))
    assert done.settings["serve.port"] == 31000
    assert "gpus.indices" not in done.settings


@pytest.mark.parametrize(
    ("head", "count"),
    [
        ("for i in {0..3}", 4),
        ("for i in $(seq 0 $N)", 3),
        ("for i in $(seq 2)", 2),
        ("for i in `seq 1 3`", 3),
        ("for ((i=0; i<8; i++))", 8),
        ("for (( i = 0; i <= N; i += 1 ))", 3),
        ("for i in a b", 2),
    ],
)
def test_the_turns_of_a_loop_are_counted(head: str, count: int) -> None:
    """Each way to write a loop over literal values is counted."""
    text = f"N=2\n{head}; do {SERVER} --model-path /m/a --port 3000$i & done\n"
    (told,) = loops(text)
    assert f"starts the launch {count} times" in told


def test_a_loop_of_one_turn_is_none() -> None:
    """What is started once is no loop to speak of."""
    text = f"PORTS=(30000)\nfor i in 0; do {SERVER} --model-path /m/a --port ${{PORTS[$i]}}; done\n"
    assert loops(text) == []
    assert outcome(read_text(text)).settings["serve.port"] == 30000


def test_a_loop_over_what_nobody_knows() -> None:
    """Values that are known at start only are said to be so, and how to say one."""
    (told,) = loops(f"for h in $HOSTS; do {SERVER} --model-path /m/a --port $h; done\n")
    assert "a loop over `$HOSTS` starts the launch" in told
    assert "`--var h=...`" in told


@pytest.mark.parametrize(
    ("word", "port"),
    [
        ("${P[1]}", 31),
        ("${P[-1]}", 32),
        ("${P[$((K-1))]}", 30),
        ("${P[K]}", 31),
        ("3${#P[@]}", 33),
        ("${P[@]:2:1}", 32),
        ("$((7/2))", 3),
        ("$((7 % 4))", 3),
    ],
)
def test_an_element_of_a_list(word: str, port: int) -> None:
    """Lists that the script says itself are indexed, counted, and cut."""
    text = f"K=1\nP=(30 31 32)\n{SERVER} --model-path /m/a --port {word}\n"
    assert outcome(read_text(text)).settings["serve.port"] == port


@pytest.mark.parametrize(
    "text",
    ["declare -A P=([a]=1 [b]=2)\n", "P=($(seq 3))\n", "read -a P\n", "P=(1 2); P+=($MORE)\n"],
)
def test_an_element_that_is_not_known(text: str) -> None:
    """Of a table, and of a list with open words, no element is guessed."""
    done = outcome(read_text(f"{text}{SERVER} --model-path /m/a --port ${{P[1]}}\n"))
    assert "serve.port" not in done.settings
    assert done.changes(ChangeKind.UNKNOWN)


def test_the_step_into_an_environment_is_no_loss() -> None:
    """`source .../bin/activate` is not called dropped where the Python is taken from it, and is where it is not."""
    dropped = []
    for folder in ("/opt/sg", "$CONDA"):
        done = outcome(read_text(f"source {folder}/bin/activate\n{SERVER} --model-path /m/a\n"))
        dropped.append([each for each in done.changes(ChangeKind.DROPPED) if "source" in each])
    assert dropped[0] == []
    assert dropped[1]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("${M##*/}", "Qwen3-8B"),
        ("${M#*/}", "models/Qwen3-8B"),
        ("${M%/*}", "/models"),
        ("${M%%/models*}", ""),
        ("${M%.gguf}", "/models/Qwen3-8B"),
        ("${M##*/}x", "Qwen3-8Bx"),
        ('"${M/Qwen3-8B/a}"', "/models/a"),
        ("${M//e/_}", "/mod_ls/Qw_n3-8B"),
        ("${M,,}", "/models/qwen3-8b"),
    ],
)
def test_a_value_that_is_changed(word: str, name: str) -> None:
    """What a shell cuts off a value, or replaces in it, is worked out."""
    text = f"M=/models/Qwen3-8B\n{SERVER} --model-path $M --served-model-name a{word}\n"
    assert outcome(read_text(text)).settings["model.served_name"] == f"a{name}"


def test_a_list_of_pairs_is_taken_apart() -> None:
    """`MODEL:PORT` in one word is a way to write a table."""
    text = f"for m in a:30000 b:30001; do {SERVER} --model-path /m/${{m%%:*}} --port ${{m##*:}} & done\n"
    done = outcome(read_text(text, given={"m": "b:30001"}))
    assert (done.settings["model.path"], done.settings["serve.port"]) == ("/m/b", 30001)


def test_an_open_value_stays_open() -> None:
    """Nothing is cut off what is known at start only."""
    done = outcome(read_text(f"{SERVER} --model-path /m/a --port ${{P##*:}}\n"))
    assert "serve.port" not in done.settings


def test_a_list_with_gaps() -> None:
    """An index that holds nothing has no turn, and is not counted."""
    text = f"""\
A=(/m/a /m/b)
A[5]=/m/f
for i in "${{!A[@]}}"; do
  {SERVER} --model-path "${{A[$i]}}" --tp 1 --port 3${{#A[@]}}
done
"""
    assert "starts the launch 3 times" in loops(text)[0]
    told = outcome(read_text(text, given={"i": "5"})).settings
    assert (told["model.path"], told["serve.port"]) == ("/m/f", 33)
