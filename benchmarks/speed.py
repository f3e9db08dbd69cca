"""How fast Poolproof is: `python -m benchmarks.speed` prints it and writes docs/speed.md.

It needs Poolproof installed from a wheel (`--python` names that environment's interpreter): a checkout that is imported
in place finds its modules more slowly. Times are CPU time; ratios are taken round by round, so a busy machine blurs them
less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.fitting import rows
from benchmarks.fleet import write_fleet
from benchmarks.peers import installed
from benchmarks.rate import BUDGETS, COMMANDS, measured
from benchmarks.timing import Run, median, ratio, rounds, run


ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "speed.md"
FLEETS = (1, 100, 1000)

IMPORTS = "import click, attrs, cattrs, tomllib"
PARSING = """
import tomllib, glob
for path in glob.glob('profiles/**/*.toml', recursive=True):
    with open(path, 'rb') as file:
        tomllib.load(file)
"""
Commands = dict[str, tuple[Sequence[str], Path]]
VERBS: Mapping[str, tuple[str, ...]] = {
    "check": ("check",),
    "compile": ("compile",),
    "compile --check": ("compile", "--check"),
}


def main() -> None:
    """Time everything and write the report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--python", default=sys.executable, help="an interpreter with Poolproof")
    asked.add_argument("--rounds", type=int, default=15)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text = "\n".join(_report(given.python, Path(scratch), count=given.rounds)) + "\n"
    sys.stdout.write(text)
    REPORT.write_text(text, "utf-8")


def _report(python: str, scratch: Path, *, count: int) -> Iterator[str]:
    yield "# How fast it is"
    yield ""
    yield "Written by `python -m benchmarks.speed`. CPU time of one core, medians; ratios are taken round by round in the"
    yield "same run, so that they say more than the times do."
    yield ""
    yield from _cold(python, scratch, count=count)
    yield ""
    yield from _fitting(python, scratch, count=max(3, count // 3))
    yield ""
    yield from _predictions(python, count=max(3, count // 3))
    yield ""
    yield from _fleets(python, scratch, count=max(3, count // 5))


def _cold(python: str, scratch: Path, *, count: int) -> Iterator[str]:
    tree = scratch / "story"
    _copy_story(tree)
    alone = scratch / "alone"
    write_fleet(alone, services=1)
    poolproof = (python, "-m", "compiler")
    commands: Commands = {
        "python -c pass": ((python, "-c", "pass"), scratch),
        "imports": ((python, "-c", IMPORTS), scratch),
        "imports and jinja2": ((python, "-c", f"{IMPORTS}, jinja2"), scratch),
        "check, nothing to say": ((*poolproof, "check", "profiles/k2.6-32k.toml"), tree),
        "check, alone in its tree": ((*poolproof, "check", "profiles/services/s0000.toml"), alone),
        "check, one warning": ((*poolproof, "check", "profiles/k2.6-200k.toml"), tree),
        "compile": ((*poolproof, "compile", "profiles/k2.6-32k.toml"), tree),
    }
    peers = {f"{peer.name} {peer.does}": (peer, folder) for peer, folder in installed(scratch)}
    ready = {
        name: (peer.command, folder)
        for name, (peer, folder) in peers.items()
        if _runs(peer.command, folder)
    }
    runs = rounds(commands | ready, count=count)
    yield "## Cold, one profile"
    yield ""
    yield f'`imports` is `python -c "{IMPORTS}"`. The aim is 2.0 times it for `check`, and 2.0 times the same with jinja2 for'
    yield "`compile`. All but the one alone have two neighbours on their host, which are planned too."
    yield ""
    yield "| command | CPU ms | peak MB | times `imports` | times `imports and jinja2` |"
    yield "|---|---|---|---|---|"
    for name, several in runs.items():
        yield (
            f"| {name} | {_ms(several):.0f} | {median(several, lambda each: each.peak_mb):.0f} "
            f"| {ratio(several, runs['imports']):.2f} | {ratio(several, runs['imports and jinja2']):.2f} |"
        )
    left = sorted(set(peers) - set(ready))
    if left:
        yield ""
        yield f"Installed but not runnable here: {', '.join(left)}."


def _fitting(python: str, scratch: Path, *, count: int) -> Iterator[str]:
    tree = scratch / "fit"
    _copy_story(tree)
    yield "## fit, once it has started"
    yield ""
    yield "The profiles of this repository with three fractions and two numbers of running requests, and ten other models with two"
    yield "promises that their GPUs cannot hold: CPU time of one answer, from where the profile is judged to the printed lines. The"
    yield "aim is 50 ms."
    yield ""
    yield from rows(python, tree, count=count)


def _predictions(python: str, *, count: int) -> Iterator[str]:
    found = [measured(ROOT, python=python) for _ in range(count)]
    yield "## Predictions, in one process"
    yield ""
    yield "The commands of the public boots, as `python -m benchmarks.rate` counts them. A whole command goes through its release's"
    yield "parser and all rules to a verdict in words; both budgets of a profile are the prediction alone, which `fit` makes."
    yield ""
    yield "| what | a second, median | at best |"
    yield "|---|---|---|"
    for kind in (COMMANDS, BUDGETS):
        rates = [each[kind] for each in found]
        yield f"| {kind} | {statistics.median(rates):,.0f} | {max(rates):,.0f} |"


def _runs(command: Sequence[str], folder: Path) -> bool:
    try:
        run(command, folder=folder)
    except RuntimeError:
        return False
    return True


def _copy_story(tree: Path) -> None:
    """The profiles of this repository, without its output."""
    for path in sorted((ROOT / "profiles").rglob("*.toml")):
        copy = tree / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


def _fleets(python: str, scratch: Path, *, count: int) -> Iterator[str]:
    yield "## Many profiles that share bases"
    yield ""
    yield "`python -m benchmarks.fleet N FOLDER` writes such a tree: five models on four kinds of host, four releases, a context"
    yield "for each service. All but the last rows are on one core. A profile's share is the time above that of one profile."
    yield "`tomllib` parses the same files."
    yield ""
    yield "| services | command | CPU s | wall s | CPU ms a profile | times `tomllib` | peak MB |"
    yield "|---|---|---|---|---|---|---|"
    single: dict[str, float] = {}
    for services in FLEETS:
        folder = scratch / f"fleet-{services}"
        write_fleet(folder, services=services)
        commands: Commands = {
            name: ((python, "-m", "compiler", *words), folder) for name, words in VERBS.items()
        }
        commands["tomllib"] = ((python, "-c", PARSING), folder)
        runs = rounds(commands, count=count if services > 1 else 3 * count, one_core=True)
        for name, several in runs.items():
            yield _fleet_row(services, name, several, single, runs["tomllib"])
        if services == FLEETS[-1]:
            cores = len(os.sched_getaffinity(0))
            shared = {f"{name}, {cores} cores": commands[name] for name in VERBS}
            for name, several in rounds(shared, count=count).items():
                single[name] = single[name.partition(",")[0]]
                yield _fleet_row(services, name, several, single, runs["tomllib"])


def _fleet_row(
    services: int,
    name: str,
    several: Sequence[Run],
    single: dict[str, float],
    parsing: Sequence[Run],
) -> str:
    """One line; `single` remembers what one profile takes, which the others are measured above."""
    cpu_s = median(several, lambda each: each.cpu_s)
    single.setdefault(name, cpu_s)
    share = f"{(cpu_s - single[name]) * 1000 / (services - 1):.2f}" if services > 1 else ""
    times = f"{ratio(several, parsing):.1f}" if name != "tomllib" else ""
    return (
        f"| {services} | {name} | {cpu_s:.2f} | {median(several, lambda each: each.wall_s):.2f} "
        f"| {share} | {times} | {median(several, lambda each: each.peak_mb):.0f} |"
    )


def _ms(several: Sequence[Run]) -> float:
    return median(several, lambda each: each.cpu_s) * 1000


if __name__ == "__main__":
    main()
