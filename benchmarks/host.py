"""What the host side takes: `python -m benchmarks.host` writes docs/host-speed.md. Needs root, for a private systemd.

The switches run the command of a wheel in an environment of its own, on a real systemd with an engine that is a stub.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from benchmarks.timing import run


HERE = Path(__file__).parent
ROOT = HERE.parent
REPORT = ROOT / "docs" / "host-speed.md"
ROUNDS = 10
LOG_BYTES = 10**9
START_LINES_BYTES = 10**8
TARGET_S = 0.5

# Else the limit of starts is hit, which is meant for crash loops.
RESTART = 'systemctl reset-failed "$0" && systemctl restart "$0"'

READ_LOG = r"""
import sys
from pathlib import Path
from compiler.engines.observers import observer_of
from compiler.host.observe import observe_file
print(observe_file(Path(sys.argv[1]), observer=observer_of("sglang")).start.pool_tokens)
"""


@frozen(kw_only=True)
class Timed:
    """What some runs took, seconds: on the clock, and of the processor by the command and what it waits for."""

    name: str
    runs: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.runs)


@frozen(kw_only=True)
class LogRead:
    """One log, read whole."""

    name: str
    size_mb: float
    wall_s: float
    peak_mb: float
    grep_s: float

    @property
    def row(self) -> str:
        """Its row of the table."""
        speeds = (self.size_mb / self.wall_s, self.size_mb / self.grep_s)
        mbs = " | ".join(f"{each:,.0f}" for each in speeds)
        return f"| {self.name} | {self.size_mb:,.0f} | {mbs} | {self.grep_s / self.wall_s:.2f} | {self.peak_mb:.0f} |"


def timed(name: str, *steps: Callable[[], object]) -> Timed:
    """The steps in turn, `ROUNDS` times."""
    runs, cpu = [], []
    for number in range(ROUNDS):
        before, begin = os.times(), time.perf_counter()
        steps[number % len(steps)]()
        runs.append(time.perf_counter() - begin)
        after = os.times()
        used = (after.children_user, after.children_system)
        cpu.append(sum(used) - before.children_user - before.children_system)
    return Timed(name=name, runs=tuple(runs), cpu=tuple(cpu))


def switches() -> Iterator[Timed]:
    """Switches on a private host, beside what systemd alone takes for the same."""
    sys.path.insert(0, str(ROOT / "tests"))
    from hosts import private_host  # noqa: PLC0415 - the tests' own, found by the line above
    from rigs import UNIT, Rig  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as folder, private_host(Path(folder)) as host:
        command = str(_install(Path(folder) / "venv"))
        rig = Rig(host)
        # Ready between two questions of the probe, which asks each second, so that every load takes as long.
        one = rig.compile("one", scenario={"warmup_s": 0.4})
        two = rig.compile("two", scenario={"warmup_s": 0.4})

        def switch(tree: str) -> Callable[[], object]:
            return lambda: host.run(command, "switch", tree)

        switch(one)()
        yield timed("`switch` to what is current", switch(one))
        yield timed("`switch` that restarts", switch(two), switch(one))
        yield timed("`systemctl daemon-reload`", lambda: host.systemctl("daemon-reload"))
        yield timed(
            "`systemctl restart`, the same engine", lambda: host.run("sh", "-c", RESTART, UNIT)
        )
        yield timed("`status`", lambda: host.run(command, "status"))
        yield timed("`verify --unit`", lambda: host.run(command, "verify", "--unit", UNIT))
        yield timed("entering the private host", lambda: host.run("true"))
        rig.remove()


def _install(venv: Path) -> Path:
    """A wheel of this checkout in an environment of its own; its command."""
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)  # noqa: S603 - words, no shell
    pip = [str(venv / "bin/python"), "-m", "pip", "install", "--quiet", str(ROOT)]
    subprocess.run(pip, check=True)  # noqa: S603 - as above
    return venv / "bin/poolproof"


def logs() -> Iterator[LogRead]:
    """A busy server's log of 1 GB, and one of nothing but starts."""
    sys.path.insert(0, str(ROOT / "tests"))
    from stub_engine import Scenario, parse_arguments, start_lines  # noqa: PLC0415 - as above
    from test_sglang_log import BUSY  # noqa: PLC0415 - as above

    settings = parse_arguments(["--tensor-parallel-size", "8"])
    start = "".join(f"{line}\n" for _, line in start_lines(Scenario(), settings)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        _write(path, start, then=BUSY * 4000, size=LOG_BYTES)
        yield _read("a start, then requests", path)
        _write(path, start, then=start, size=START_LINES_BYTES)
        yield _read("nothing but starts", path)


def _write(path: Path, first: bytes, *, then: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(first)
        while file.tell() < size:
            file.write(then)


def _read(name: str, path: Path) -> LogRead:
    def take(command: Sequence[str]) -> tuple[float, float]:
        took = run(command, folder=ROOT)
        return took.wall_s, took.peak_mb

    take(["cat", str(path)])  # so that both find it in the cache
    # Into a pipe: where nobody reads its output it stops at the first.
    grep = ["sh", "-c", 'grep -c "KV Cache is allocated" "$0" | cat', str(path)]
    # In turn, so that what slows one slows the other.
    pairs = [(take([sys.executable, "-c", READ_LOG, str(path)]), take(grep)) for _ in range(3)]
    return LogRead(
        name=name,
        size_mb=path.stat().st_size / 1e6,
        wall_s=statistics.median(own[0] for own, _ in pairs),
        peak_mb=max(own[1] for own, _ in pairs),
        grep_s=statistics.median(theirs[0] for _, theirs in pairs),
    )


def _row(each: Timed) -> str:
    figures = (each.median, min(each.runs), max(each.runs), statistics.median(each.cpu))
    return f"| {each.name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |"


def page(several: Sequence[Timed], read: Sequence[LogRead]) -> str:
    """The text of the report."""
    by_name = {re.sub(r"`|,.*", "", each.name): each.median for each in several}
    entering = by_name["entering the private host"]
    same = by_name["switch to what is current"] - entering
    own = (
        by_name["switch that restarts"]
        - by_name["systemctl restart"]
        - by_name["systemctl daemon-reload"]
        + entering
    )
    lines = [
        "# How fast the host side is",
        "",
        f"Written by `python -m benchmarks.host`: medians of {ROUNDS} runs of the whole command, from a wheel, on a real",
        "systemd in namespaces of its own, with a stub engine that loads at once. Wall time; entering the namespaces is",
        f"part of each row. On {os.cpu_count()} cores, at a load of {os.getloadavg()[1]:.0f} by others and by this. The aim: on a staged tree `switch` adds less than {TARGET_S} s to what systemd and the server take.",
        "",
        "| command | median s | fastest s | slowest s | CPU s |",
        "|---|---|---|---|---|",
        *map(_row, several),
        "",
        f"`switch` to what is current takes {same:.2f} s. One that restarts adds {own:.2f} s to `daemon-reload` and `restart`,",
        "with its checks of the host, the new generation written and synced, and the journal followed.",
        "",
        "## Logs",
        "",
        "The log of a server is read whole for its last complete start, from the page cache, beside `grep -c` of a fixed text.",
        "Lines of a start are read one by one, those of requests are passed over; a log of nothing but starts is the slowest.",
        "",
        "| log | MB | MB/s | MB/s of `grep -c` | share of `grep` | peak MB |",
        "|---|---|---|---|---|---|",
        *(each.row for each in read),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the report."""
    text = page(list(switches()), list(logs()))
    REPORT.write_text(text, "utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
