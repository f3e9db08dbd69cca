"""How faithfully public launches are adopted: `python -m benchmarks.adopt` prints it and writes docs/adopt.md.

Each launch is adopted for the newest release whose own parser takes it, compiled, and read again by that parser. Then its
profile is moved to the newest release, where it must work or say what to write instead. No time is written to the page.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from attrs import evolve, field, frozen

from benchmarks.launches import Deployment, PublicCommand, read_commands, read_deployments
from compiler.adopt.adopted import Adopted, adopt
from compiler.adopt.around import Wanted
from compiler.adopt.choice import Shelf
from compiler.adopt.files import NO_FILES
from compiler.adopt.proof import prove
from compiler.adopt.reading import Read, read_file, read_words
from compiler.adopt.showing import origins
from compiler.adopt.writing import adopted_toml
from compiler.catalog import open_catalog
from compiler.catalog.naming import model_names
from compiler.diagnostics import Diagnostic
from compiler.engines.known import ENGINES
from compiler.inputs import Inputs
from compiler.language.load import DiskReader
from compiler.pipeline import judge_profile
from compiler.profile import Text
from compiler.quoting.markdown import markdown_cell
from compiler.source import Source


REPORT = Path(__file__).parent.parent / "docs" / "adopt.md"
ENGINE = "sglang"
GPU = "h200"
"""Stands for the GPUs that commands do not name."""


class Outcome(StrEnum):
    """What became of a launch."""

    EXACT = "the same settings"
    PARTLY = "the same settings, flags that no release takes among them"
    INCOMPLETE = "the same settings; the launch names no model"
    REFUSED = "refused, with the reason"
    UNFAITHFUL = "refused: it would be compiled to something else"
    SILENT = "a word was lost without a word"


@frozen(kw_only=True)
class Result:
    """One launch, adopted."""

    id: str
    literal: bool
    outcome: Outcome
    findings: tuple[Diagnostic, ...] = ()
    adopted: Adopted | None = None

    @property
    def is_exact(self) -> bool:
        """Whether a profile was made that says the same."""
        return self.outcome in {Outcome.EXACT, Outcome.PARTLY, Outcome.INCOMPLETE}


@frozen(kw_only=True)
class Bench:
    """What all launches share."""

    shelf: Shelf = field(factory=lambda: Shelf(catalog=open_catalog()))

    @property
    def versions(self) -> tuple[str, ...]:
        """The releases, oldest first."""
        return self.shelf.catalog.versions(ENGINE)

    def command(self, each: PublicCommand) -> Result:
        """Adopt one command."""
        engine = (ENGINE, each.accepted[-1]) if each.accepted else None
        read = read_words(each.words)
        return self.result(str(each.id), read, Wanted(engine=engine, gpu=GPU), literal=each.literal)

    def deployment(self, each: Deployment) -> Result:
        """Adopt one deployment."""
        read = read_file(Source(each.name, each.text), files=NO_FILES, given={})
        return self.result(each.id, read, Wanted(gpu=GPU), literal=each.literal)

    def result(self, id_: str, read: Read, wanted: Wanted, *, literal: bool) -> Result:
        """Adopt a launch and prove it."""
        catalog = self.shelf.catalog
        found = read.diagnostics
        adopted = None
        if read.launch is not None:
            adopted, faults = adopt(read.launch, self.shelf, wanted, names=model_names(catalog))
            found = (*found, *faults, *(adopted.diagnostics if adopted is not None else ()))
        if adopted is not None and not any(each.is_error for each in found):
            found = (*found, *prove(adopted_toml(adopted, whole=True), adopted, catalog))
        outcome = _outcome(adopted, found)
        return Result(id=id_, literal=literal, outcome=outcome, findings=found, adopted=adopted)


def _outcome(adopted: Adopted | None, found: Iterable[Diagnostic]) -> Outcome:
    codes = {each.code for each in found if each.is_error}
    if adopted is not None and any(_silent(adopted)):
        return Outcome.SILENT
    if "launch-unfaithful" in codes:
        return Outcome.UNFAITHFUL
    if adopted is None or codes:
        return Outcome.REFUSED
    if adopted.chosen.reading.missing:
        return Outcome.INCOMPLETE
    return Outcome.PARTLY if adopted.chosen.reading.refused else Outcome.EXACT


def _silent(adopted: Adopted) -> Iterator[str]:
    """The words of the launch that neither stand in the profile nor are spoken of."""
    reading = adopted.chosen.reading
    told = {
        *(at for each in reading.carried for at in each.words),
        *(at for each in reading.notes for at in each.words),
        *(at for places in reading.secrets.values() for at in places),
        *(at for places in reading.lost for at in places),
    }
    found = adopted.launch.found
    if reading.refusal is None:
        for at in range(found.arguments, len(adopted.launch.command.words)):
            if at not in told:
                yield adopted.launch.command.words[at].text


@frozen(kw_only=True)
class Moved:
    """One adopted profile on the newest release.

    Attributes:
        starts: whether that release's own parser takes the compiled command.
        errors: what `check` says against its flags.
    """

    id: str
    starts: bool
    errors: tuple[Diagnostic, ...] = ()

    @property
    def is_explained(self) -> bool:
        """Whether it starts, or each thing in its way is named with what to write instead, or with what became of it."""
        return self.starts or (
            bool(self.errors) and all(each.help or each.notes for each in self.errors)
        )


def move(bench: Bench, results: Iterable[Result]) -> Iterator[Moved]:
    """Judge each profile on the newest release, and ask that release's parser whether the compiled command starts."""
    newest = bench.versions[-1]
    inputs = Inputs(reader=DiskReader(Path()), catalog=bench.shelf.catalog)
    known = bench.shelf.adopter(ENGINE, newest)
    for each in results:
        if known is None or each.adopted is None or each.adopted.profile is None:
            continue
        if not each.is_exact:
            continue
        profile = each.adopted.profile
        profile = evolve(profile, engine=evolve(profile.engine, version=Text(newest)), targets={})
        (judged,) = judge_profile(each.id, profile, origins(each.adopted), inputs)
        argv = () if judged.plan is None else judged.plan.argv
        found = ENGINES[ENGINE].find_launch(argv)
        if found is None:
            raise ValueError(each.id)
        reading = known[1].read(argv, found=found, unknown=frozenset())
        yield Moved(
            id=each.id,
            starts=not (reading.refused or reading.lost or reading.refusal),
            errors=tuple(
                found for found in judged.diagnostics if found.is_error and "flag" in found.code
            ),
        )


def judge_all(bench: Bench) -> int:
    """Judge every command as `adopt --check` does; how many were."""
    inputs = Inputs(reader=DiskReader(Path()), catalog=bench.shelf.catalog)
    names = model_names(bench.shelf.catalog)
    count = 0
    for each in read_commands(bench.versions):
        read = read_words(each.words)
        if read.launch is None:
            continue
        adopted, _ = adopt(read.launch, bench.shelf, Wanted(newest=True, gpu=GPU), names=names)
        if adopted is not None and adopted.profile is not None:
            judge_profile(str(each.id), adopted.profile, origins(adopted), inputs)
            count += 1
    return count


@frozen(kw_only=True)
class Measured:
    """All that the page tells."""

    newest: str
    commands: tuple[Result, ...]
    deployments: tuple[Result, ...]
    moved: tuple[Moved, ...]


def measure(bench: Bench) -> Measured:
    """Adopt everything, prove it, and move it."""
    commands = tuple(bench.command(each) for each in read_commands(bench.versions))
    deployments = tuple(bench.deployment(each) for each in read_deployments())
    return Measured(
        newest=bench.versions[-1],
        commands=commands,
        deployments=deployments,
        moved=tuple(move(bench, (*commands, *deployments))),
    )


def report(measured: Measured) -> str:
    """The whole page, as Markdown."""
    return "\n".join(
        (
            "# How faithfully public launches are adopted",
            "",
            "Written by `python -m benchmarks.adopt` from `tests/data/launch-commands.jsonl` and `tests/data/deployments.jsonl`.",
            "Each launch is adopted for the newest release whose own parser takes it (of those that none takes, the newest that",
            "takes most), compiled, and read again by that parser: every setting must have the same value, and every variable.",
            "What is known at start only (`$NAME`, `$(command)`) is left out and listed; no word may be left out in silence.",
            "A launch that crashed would leave no page.",
            "",
            *_table("Commands", measured.commands),
            *_table("Deployments, as the files they are", measured.deployments),
            *_reasons((*measured.commands, *measured.deployments)),
            *_moved(measured),
        )
    )


def share(results: Iterable[Result]) -> float:
    """The part of the literal launches that come to the same settings."""
    literal = [each for each in results if each.literal]
    return sum(each.is_exact for each in literal) / max(1, len(literal))


def _table(heading: str, results: tuple[Result, ...]) -> Iterator[str]:
    literal = Counter(each.outcome for each in results if each.literal)
    others = Counter(each.outcome for each in results if not each.literal)
    yield from (
        f"## {heading}",
        "",
        "| | all values literal | some known at start only |",
        "|---|---|---|",
    )
    for outcome in Outcome:
        yield f"| {outcome.value} | {literal[outcome]} | {others[outcome]} |"
    yield f"| all | {literal.total()} | {others.total()} |"
    yield from ("", f"Of the literal ones {share(results):.1%} come to the same settings.", "")


def _reasons(results: tuple[Result, ...]) -> Iterator[str]:
    yield from ("## What is refused", "", "| launch | code | first reason |", "|---|---|---|")
    for each in results:
        errors = [found for found in each.findings if found.is_error]
        if errors and not each.is_exact:
            yield f"| {each.id} | {errors[0].code} | {markdown_cell(errors[0].summary)} |"
    yield ""


def _moved(measured: Measured) -> Iterator[str]:
    moved = measured.moved
    codes = Counter(code for each in moved for code in {found.code for found in each.errors})
    yield f"## Moved to {measured.newest}"
    yield ""
    yield f"{len(moved)} profiles, of which {sum(each.starts for each in moved)} start with its parser as they are."
    yield f"Not explained: {sum(not each.is_explained for each in moved)}."
    yield from ("", "| code | profiles |", "|---|---|")
    yield from (f"| {code} | {count} |" for code, count in codes.most_common())
    yield from ("", "| flag or value that is refused | said instead | profiles |", "|---|---|---|")
    said = Counter(
        (found.summary, found.help[0] if found.help else found.notes[0])
        for each in moved
        for found in each.errors
    )
    for (summary, instead), count in said.most_common():
        yield f"| {markdown_cell(summary)} | {markdown_cell(instead)} | {count} |"
    yield ""


def main() -> None:
    """Measure, print the times, and write the page."""
    bench = Bench()
    began = time.process_time()
    measured = measure(bench)
    sys.stdout.write(f"adopted, proved, and moved in {time.process_time() - began:.1f} s of CPU\n")
    began, wall = time.process_time(), time.perf_counter()
    count = judge_all(bench)
    sys.stdout.write(
        f"{count} commands judged in {time.process_time() - began:.1f} s of CPU, "
        f"{time.perf_counter() - wall:.1f} s on the clock\n"
    )
    REPORT.write_text(report(measured), encoding="utf-8")
    sys.stdout.write(f"wrote {REPORT.name}\n")


if __name__ == "__main__":
    main()
