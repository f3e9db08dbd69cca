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
from compiler.adopt.adopted import Adopted, adopt, origins
from compiler.adopt.around import Wanted
from compiler.adopt.choice import Shelf
from compiler.adopt.files import NO_FILES
from compiler.adopt.proof import prove
from compiler.adopt.reading import Read, read_file, read_words
from compiler.adopt.writing import adopted_toml
from compiler.catalog import open_catalog
from compiler.diagnostics import Diagnostic
from compiler.language.load import DiskReader
from compiler.pipeline import Inputs, judge_profile
from compiler.predict import model_names
from compiler.profile import Text
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
    CRASHED = "crashed"


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
    """One adopted profile on the newest release."""

    id: str
    errors: tuple[Diagnostic, ...]
    starts: bool

    @property
    def names_replacement(self) -> bool:
        """Whether each flag or value that is refused comes with what to write instead, or with the fact that nothing is."""
        return all(each.help or each.notes for each in self.errors)


def move(bench: Bench, results: Iterable[Result]) -> Iterator[Moved]:
    """Judge each profile on the newest release, and ask that release's parser whether the compiled command starts."""
    newest = bench.versions[-1]
    inputs = Inputs(reader=DiskReader(Path()), catalog=bench.shelf.catalog)
    known = bench.shelf.adopter(ENGINE, newest)
    if known is None:
        raise ValueError(newest)
    _, adopter = known
    for each in results:
        if each.adopted is None or each.adopted.profile is None or not each.is_exact:
            continue
        profile = each.adopted.profile
        profile = evolve(profile, engine=evolve(profile.engine, version=Text(newest)), targets={})
        (judged,) = judge_profile(each.id, profile, origins(each.adopted), inputs)
        if judged.plan is None:
            raise ValueError(each.id)
        words = judged.plan.argv
        found = bench_find(words)
        reading = adopter.read(words, found=found, unknown=frozenset())
        flags = tuple(
            found
            for found in judged.diagnostics
            if found.is_error and found.code.startswith(("flag-", "secret-")) is not False
        )
        starts = not reading.refused and not reading.lost and reading.refusal is None
        yield Moved(id=each.id, errors=flags, starts=starts)


def bench_find(words: tuple[str, ...]):  # noqa: ANN201 - the engine's own
    from compiler.engines import ENGINES  # noqa: PLC0415

    return ENGINES[ENGINE].find_launch(words)


def main() -> None:
    """Measure, print, and write the page."""
    bench = Bench()
    began = time.process_time()
    commands = tuple(bench.command(each) for each in read_commands(bench.versions))
    deployments = tuple(bench.deployment(each) for each in read_deployments())
    sys.stderr.write(f"adopted and proved in {time.process_time() - began:.1f} s of CPU\n")
    for results in (commands, deployments):
        for literal in (True, False):
            print(literal, Counter(each.outcome.name for each in results if each.literal is literal))
        for each in results:
            if not each.is_exact:
                codes = [(f.code, f.summary[:120], f.notes[:1]) for f in each.findings if f.is_error][:2]
                print(each.id, each.literal, each.outcome.name, codes)
    moved = tuple(move(bench, commands))
    print("moved", len(moved), "start", sum(each.starts for each in moved))
    print(Counter(e.code for each in moved for e in each.errors))
    bad = [each.id for each in moved if not each.starts and not any(e.code.startswith('flag-') for e in each.errors)]
    print("unexplained", bad[:20], len(bad))


if __name__ == "__main__":
    main()
