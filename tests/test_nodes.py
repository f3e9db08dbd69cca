"""A server over several nodes: what each node's unit waits for, and what is verified where."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from checkouts import Checkout, Done, checkout
from compiler.engines.observers import observer_of
from compiler.host.growth import growth
from compiler.host.live import Live
from compiler.quoting.unitfile import read_unit
from compiler.quoting.unitvalue import read_command_line


STUB = Path(__file__).parent / "stub_engine.py"
BASE = """\
schema = 1
extends = ["base/service", "base/kimi-k2.6"]

[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"

[gpus]
kind = "rtx-pro-6000-blackwell"
count = 16

[parallel]
tensor = 16

[serve]
host = "127.0.0.1"
port = {port}
context = 32_768

[memory]
fraction = 0.8

[flags]
nnodes = 2
dist-init-addr = "10.0.0.2:5000"
"""
NODE = """\
schema = 1
extends = ["base/over-two"]

[flags]
node-rank = {rank}

[targets.n{rank}]
kind = "systemd"
user = "sglang"
"""

Start = Callable[[int], subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, port: int) -> Checkout:
    """A tree whose two nodes are compiled."""
    made = checkout(tmp_path_factory.mktemp("nodes") / "tree")
    made.write("base/over-two", BASE.format(port=port))
    for rank in (0, 1):
        made.write(f"n{rank}", NODE.format(rank=rank))
    done = made.run("compile", "n0", "n1")
    assert done.code == 0, done.err
    return made


def unit(tree: Checkout, rank: int) -> str:
    return (tree.out / f"n{rank}/n{rank}/kimi-k2.6.service").read_text("utf-8")


def probe(tree: Checkout, rank: int) -> list[str]:
    """The words of a unit's probe, from the options on, without its secret."""
    (value,) = read_unit(unit(tree, rank)).values("Service", key="ExecStartPost")
    (command,) = read_command_line(value).commands
    words = list(command.argv)
    at = words.index("--secret")
    return words[2:at] + words[at + 2 :]


@pytest.fixture
def start(tree: Checkout, tmp_path: Path) -> Iterator[Start]:
    """Start a stub engine by the command line of a node."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(rank: int) -> subprocess.Popen[bytes]:
        plan = json.loads((tree.out / f"n{rank}/plan.json").read_text("utf-8"))
        words = plan["argv"]
        at = words.index("--config")
        del words[at : at + 2]
        scenario = tmp_path / "scenario.json"
        scenario.write_text('{"shards": 2}', "utf-8")
        running.append(
            subprocess.Popen(
                [sys.executable, str(STUB), *words[1:]],
                stderr=subprocess.DEVNULL,
                env={**os.environ, "STUB_SCENARIO": str(scenario)},
            )
        )
        return running[-1]

    yield begin
    for each in running:
        each.kill()
        each.wait()


def ask(tree: Checkout, words: list[str], *, main: subprocess.Popen[bytes]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(tree.out / "n1/n1/ready.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "MAINPID": str(main.pid)},
    )
    return done.returncode, done.stdout


def test_a_worker_is_ready_when_it_is_healthy(tree: Checkout, start: Start) -> None:
    """Node 1 tells nothing of its pool: its unit's probe ends well, and the server runs on."""
    server = start(1)
    code, said = ask(tree, probe(tree, 1), main=server)
    assert code == 0, said
    assert "its pool is not checked" in said
    assert server.poll() is None


@pytest.mark.slow
def test_a_worker_cannot_be_held_against_a_promise(tree: Checkout, start: Start) -> None:
    """The probe of node 0 would end a healthy node 1, which is why node 1 has another."""
    server = start(1)
    code, said = ask(tree, probe(tree, 0), main=server)
    assert code == 5, said
    assert server.wait(10) == -signal.SIGPWR


def test_only_node_0_is_held_against_the_promise(tree: Checkout) -> None:
    """The unit of node 0 names the tokens it needs; that of node 1 says in a comment who is asked."""
    assert "--required-tokens" in probe(tree, 0)
    assert "--required-tokens" not in probe(tree, 1)
    assert "It compares no pool" not in unit(tree, 0)
    (line,) = (each for each in unit(tree, 1).split("\n") if "It compares no pool" in each)
    assert line == (
        "# It compares no pool: node 1 of 2 answers `/health` alone; every rank sizes its pool by the least free memory "
        "of all nodes, and node 0 tells it"
    )


def test_the_review_says_where_the_pool_is_compared(tree: Checkout) -> None:
    """PLAN.md of node 1 says that its probe waits for health, and why; that of node 0 has no such line."""
    texts = [(tree.out / f"n{rank}/PLAN.md").read_text("utf-8") for rank in (0, 1)]
    assert [each.count("- its probe waits for health: node 1 of 2") for each in texts] == [0, 1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), None),
        (("--nnodes", "2", "--node-rank", "0"), None),
        (("--nnodes", "2", "--node-rank", "1"), "node 1 of 2 answers"),
        (("--node-rank", "x"), None),
        (("--node-rank", "9" * 5000), None),
        (("--node-rank", "3"), "node 3 of 4 answers"),
    ],
)
def test_a_node_is_known_by_its_command_line(words: tuple[str, ...], said: str | None) -> None:
    """What is installed is judged by its own words; node 0 is as a server of one host."""
    observer = observer_of("sglang")
    assert observer is not None
    told = observer.untold(("python3", "-m", "sglang.launch_server", *words))
    assert (told or "").startswith(said or "")
    assert (told is None) is (said is None)


def verify(tree: Checkout, port: int, *more: str) -> Done:
    plan = str(tree.out / "n1/plan.json")
    return tree.run("verify", "--url", f"http://127.0.0.1:{port}", "--plan", plan, *more)


def test_a_worker_that_is_ready_is_no_broken_promise(
    tree: Checkout, start: Start, port: int
) -> None:
    """`verify` of node 1 says that it is ready and that another node tells the promise; the same of node 0's own is kept."""
    server = start(1)
    assert ask(tree, probe(tree, 1), main=server)[0] == 0
    done = verify(tree, port)
    assert done.code == 0, done.err
    assert done.out.count("another node tells it") == 3
    assert done.out.endswith("the node is ready; verify the promise on the node that tells it\n")
    assert "the promise is kept" not in done.out
    assert "node 1 of 2 answers `/health` alone" in done.err
    as_json = verify(tree, port, "--json").json
    assert as_json["kept"] is None
    assert {each["state"] for each in as_json["rows"]} == {"another node tells it"}


def test_a_worker_that_is_not_ready_is_told(tree: Checkout, port: int) -> None:
    """Without an answer `verify` of node 1 exits 5, and says that no node is ready before the others."""
    done = verify(tree, port)
    assert done.code == 5
    assert "is not ready" in done.err
    assert "`/health`: nothing listens there" in done.err
    assert "none is ready before the others" in done.err
    assert verify(tree, port, "--json").json["kept"] is False


def test_node_0_is_verified_as_ever(tree: Checkout, start: Start, port: int) -> None:
    """The server that tells its pool is held against the promise, whichever node's plan is given."""
    server = start(0)
    assert ask(tree, probe(tree, 0), main=server)[0] == 0
    rows = {each["name"]: each for each in verify(tree, port, "--json").json["rows"]}
    assert rows["pool"]["measured"] == 205_837
    assert rows["--node-rank"]["state"] == "broken"


def test_a_promise_that_grew_is_not_asked_of_a_worker(tree: Checkout) -> None:
    """A switch asks no node for what another one tells: nothing runs that could answer here."""
    grown = (tree.out / "n1/plan.json").read_bytes()
    plan = json.loads(grown)
    plan["promise"]["required_tokens"] -= 1
    before = {"plan.json": json.dumps(plan).encode()}
    assert growth(before, {"plan.json": grown}, live=cast("Live", None)) is None
