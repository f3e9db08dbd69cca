"""Many items on all cores: the answers are what one process gives, whatever becomes of the others.

Each case runs in a Python of its own, with one thread: a fork takes no other along.
"""

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from benchmarks.fleet import write_fleet


ROOT = Path(__file__).parent.parent
needs_two_cores = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="one core"
)


def run(script: str, *, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A script in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", f"import os, signal, sys, threading\n{script}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def printed(work: str, *, count: int = 200) -> str:
    """What a script prints of the answers for so many numbers."""
    done = run(
        f"from compiler.abreast import abreast\nparent = os.getpid()\n{work}\n"
        f"print(abreast(work, range({count})))"
    )
    assert done.stderr == ""
    return done.stdout


@needs_two_cores
def test_runs_come_in_order() -> None:
    """Each core has a run of its own, and the answers come in the order of the items."""
    shown = printed("def work(run): return (run[0], run[-1], os.getpid() == parent)")
    answers = literal_eval(shown)
    assert answers[0][0] == 0
    assert answers[-1][1] == 199
    assert [low for low, _, _ in answers[1:]] == [high + 1 for _, high, _ in answers[:-1]]
    assert [here for _, _, here in answers] == [True] + [False] * (len(answers) - 1)


def test_few_items_stay_here() -> None:
    """A process more would cost more than it takes over."""
    assert printed("def work(run): return len(run)", count=63) == "[63]\n"


def test_a_second_thread_forbids_a_fork() -> None:
    """What another thread holds would stay held in the fork."""
    work = (
        "threading.Thread(target=signal.pause, daemon=True).start()\ndef work(run): return len(run)"
    )
    assert printed(work) == "[200]\n"


@needs_two_cores
def test_a_killed_process_costs_only_time() -> None:
    """The run of a process that was killed is done here."""
    work = """
def work(run):
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return sum(run)
"""
    assert sum(literal_eval(printed(work))) == sum(range(200))


@needs_two_cores
def test_a_fault_is_met_here() -> None:
    """A fault in another process is the same fault here, with one traceback."""
    done = run(
        "from compiler.abreast import abreast\nparent = os.getpid()\n"
        "def work(run): return 1 // (os.getpid() == parent and run[0] == 0)\n"
        "abreast(work, range(200))"
    )
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.endswith("ZeroDivisionError: integer division or modulo by zero\n")


@needs_two_cores
def test_an_interrupt_ends_them_all() -> None:
    """An interrupt of the first ends the others, and none of them prints a word."""
    done = run(
        "from compiler.abreast import abreast\nimport time\nparent = os.getpid()\n"
        "def work(run):\n"
        "    if os.getpid() == parent:\n"
        "        os.killpg(0, signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "os.setpgid(0, 0)\n"
        "try: abreast(work, range(200))\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


@needs_two_cores
def test_a_killed_run_leaves_no_child() -> None:
    """A child with an answer that nobody reads any more ends by itself, and holds no pipe open."""
    program = (
        "import os, sys, time\n"
        "from compiler.abreast import abreast\n"
        "parent = os.getpid()\n"
        "def work(run):\n"
        "    if os.getpid() == parent:\n"
        "        print('began', flush=True)\n"
        "        time.sleep(60)\n"
        "    time.sleep(0.3)\n"
        "    return 'x' * 2**22\n"
        "abreast(work, range(200))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"began\n"
        run.kill()
        left, _ = run.communicate(timeout=20)  # to the end of what its child has open, too
    assert left == b""


@needs_two_cores
@pytest.mark.parametrize("verb", [("check",), ("compile",), ("compile", "--check")])
def test_a_tree_on_two_cores_is_the_tree_on_one(verb: tuple[str, ...], tmp_path: Path) -> None:
    """A tree that is large enough to be shared out gives the same bytes and the same words on one core."""
    write_fleet(tmp_path, services=70)
    (tmp_path / "profiles/services/s0003.toml").write_text("schema = 1\n[targets.x]\nkind = 1\n")
    (tmp_path / "profiles/base/lonely.toml").write_text("schema = 1\n")
    (tmp_path / "profiles/services/s0065.toml").write_text('schema = 1\nextends = ["base/none"]\n')
    seen = []
    for cores in ({0}, {0, 1}):
        done = run(
            f"os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[: len(cores)]})\n"
            f"from compiler.cli import main\nsys.argv = {['poolproof', *verb]!r}\nmain()",
            folder=tmp_path,
        )
        seen.append((done.returncode, done.stdout, done.stderr))
    assert seen[0] == seen[1]
    assert "lonely" in seen[0][2]
