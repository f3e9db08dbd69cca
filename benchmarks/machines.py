"""What the next machine has free before weights load, from the machines whose logs are public.

`python -m benchmarks.machines` writes `free_before_load_gib`, `free_alone_gib`, and where they are from into the files of
compiler/catalog/data/gpus, for those kinds of which benchmarks/data/machines.jsonl has a machine.

The ends of a range hold nine of ten machines that nobody has seen, not those that somebody has: two that happen to agree say
little. They are those of a prediction interval, https://en.wikipedia.org/wiki/Prediction_interval. How far machines lie
apart is taken from all kinds of a sort together, since of most kinds there are one or two.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from statistics import NormalDist, fmean

from attrs import frozen

from benchmarks.asking import HERE
from compiler.catalog import open_catalog
from compiler.facts import Gpu
from compiler.memory.cards import MIB
from compiler.ranges import Range


MACHINES = HERE / "data" / "machines.jsonl"
FOLDER = HERE.parent / "compiler" / "catalog" / "data" / "gpus"
COVERED = 0.9
"""The share of machines that a range is to hold."""
SEVERAL, ALONE = "free_before_load_gib", "free_alone_gib"
_DESKTOP = "GeForce"
"""In the name of a card that may have a desktop on it, or Windows."""
_UNKEPT = "address was not kept"


@frozen(kw_only=True)
class Machine:
    """One machine, or one number of its GPUs.

    Attributes:
        kinds: the kinds of GPU that it speaks for: its own, and those with the same die and memory.
        count: GPUs of the server.
        free_gib: least free memory over the ranks, before weights load.
        worked_out: whether the log prints what was left after the load, or its pools lie on a line that says it.
    """

    kinds: tuple[str, ...]
    count: int
    free_gib: float
    version: str
    source: str
    worked_out: bool = False

    @property
    def alone(self) -> bool:
        """Whether it is one GPU, which starts no NCCL."""
        return self.count == 1


def read_machines() -> tuple[Machine, ...]:
    """All of them, in the order of the file."""
    rows = (json.loads(line) for line in MACHINES.read_text("utf-8").splitlines())
    return tuple(Machine(**{**row, "kinds": tuple(row["kinds"])}) for row in rows)


@frozen(kw_only=True)
class Spread:
    """How far machines of one sort lie apart, GiB, and in how many ways they were free to."""

    deviation: float
    freedom: int

    def reach_gib(self, seen: int) -> float:
        """How far from the mean of so many machines another one may lie."""
        quantile = student_quantile(self.freedom, (1 + COVERED) / 2)
        return quantile * self.deviation * math.sqrt(1 + 1 / seen)


def student_quantile(freedom: int, share: float) -> float:
    """Of Student's distribution, within 1 % from three degrees of freedom on.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    x = NormalDist().inv_cdf(share)
    return (
        x
        + (x**3 + x) / (4 * freedom)
        + (5 * x**5 + 16 * x**3 + 3 * x) / (96 * freedom**2)
        + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / (384 * freedom**3)
    )


@frozen(kw_only=True, slots=False)
class Survey:
    """All machines, by kind of GPU, and whether the server is on one or on several."""

    machines: tuple[Machine, ...]
    gpus: Mapping[str, Gpu]

    def of(self, kind: str, *, alone: bool) -> tuple[Machine, ...]:
        """The machines of a kind."""
        return tuple(each for each in self.machines if kind in each.kinds and each.alone is alone)

    def ranges(self, kind: str) -> tuple[Range, Range]:
        """What is free of a kind on several and on one.

        What nobody printed is told from the other of the two and what NCCL takes of such cards elsewhere; where nobody
        printed either, from what is not free of cards of its sort.
        """
        total = self._total_gib(kind)
        taken = self._collectives.get(self.gpus[kind].interconnect, Range.exactly(0.0))
        match self._seen(kind, alone=False), self._seen(kind, alone=True):
            case None, None:
                several, one = (
                    Range(total - rest.high, total - rest.best, total - rest.low)
                    for rest in (self._taken(kind, alone=False), self._taken(kind, alone=True))
                )
            case None, Range() as one:
                several = Range(one.low - taken.high, one.best - taken.best, one.high - taken.low)
            case Range() as several, None:
                one = Range(
                    several.low + taken.low, several.best + taken.best, several.high + taken.high
                )
            case several, one:
                pass
        one = _rounded(one, most=total - self._least_taken_gib)
        return _rounded(several, most=one.high), one

    def _taken(self, kind: str, *, alone: bool) -> Range:
        """What is not free of the kinds of a sort, of half to twice the memory where there are some: larger cards need more."""
        alike = {
            self._total_gib(other): seen
            for other in self.gpus
            if self._sort(other, alone=alone) == self._sort(kind, alone=alone)
            and (seen := self._seen(other, alone=alone)) is not None
        }
        mine = self._total_gib(kind)
        near = {total: seen for total, seen in alike.items() if mine / 2 <= total <= mine * 2}
        return Range(
            min(total - seen.high for total, seen in (near or alike).items()),
            fmean(total - seen.best for total, seen in (near or alike).items()),
            max(total - seen.low for total, seen in (near or alike).items()),
        )

    def _total_gib(self, kind: str) -> float:
        return self.gpus[kind].total_mib / MIB

    def _seen(self, kind: str, *, alone: bool) -> Range | None:
        found = [each.free_gib for each in self.of(kind, alone=alone)]
        if not found:
            return None
        reach = self._spreads[self._sort(kind, alone=alone)].reach_gib(len(found))
        mean = fmean(found)
        return Range(min(mean - reach, *found), mean, max(mean + reach, *found))

    def _sort(self, kind: str, *, alone: bool) -> str:
        gpu = self.gpus[kind]
        if not alone:
            return gpu.interconnect
        return "desktop" if any(_DESKTOP in name for name in gpu.names) else "server"

    @cached_property
    def _spreads(self) -> Mapping[str, Spread]:
        squares, freedom = defaultdict[str, float](float), defaultdict[str, int](int)
        for kind, alone in sorted({(each.kinds[0], each.alone) for each in self.machines}):
            found = [each.free_gib for each in self.of(kind, alone=alone)]
            sort = self._sort(kind, alone=alone)
            squares[sort] += sum((free - fmean(found)) ** 2 for free in found)
            freedom[sort] += len(found) - 1
        return {
            sort: Spread(deviation=math.sqrt(squares[sort] / count), freedom=count)
            for sort, count in freedom.items()
        }

    @cached_property
    def _collectives(self) -> Mapping[str, Range]:
        """What NCCL takes of a card, by what joins the cards: the means of the kinds of which both are known."""
        taken = defaultdict[str, list[float]](list)
        for kind, gpu in self.gpus.items():
            one, several = self.of(kind, alone=True), self.of(kind, alone=False)
            if one and several:
                both = (fmean(each.free_gib for each in found) for found in (one, several))
                taken[gpu.interconnect].append(max(0.0, next(both) - next(both)))
        return {link: Range(min(each), fmean(each), max(each)) for link, each in taken.items()}

    @cached_property
    def _least_taken_gib(self) -> float:
        """The least that the driver and CUDA take of any card."""
        return min(
            self._total_gib(kind) - each.free_gib
            for each in self.machines
            for kind in each.kinds[:1]
        )


def _rounded(free: Range, *, most: float) -> Range:
    """Outwards, to the two digits that logs have."""
    high = min(free.high, most)
    low, best = min(free.low, high), min(free.best, high)
    return Range(math.floor(low * 100) / 100, round(best, 2), math.ceil(high * 100) / 100)


def survey() -> Survey:
    """All machines beside the kinds of the catalogue."""
    catalog = open_catalog()
    entries = {kind: catalog.gpu(kind)[0] for kind in catalog.ids("gpus")}
    return Survey(
        machines=read_machines(),
        gpus={kind: gpu for kind, gpu in entries.items() if gpu is not None},
    )


def described(found: Survey, kind: str, text: str) -> str:
    """The file of a kind with what its machines say, or those of its sort; where the host uses its memory, too, as it was."""
    if found.gpus[kind].unified:
        return text
    several, one = found.ranges(kind)
    for key, free, alone in ((ALONE, one, True), (SEVERAL, several, False)):
        seen, others = found.of(kind, alone=alone), found.of(kind, alone=not alone)
        value = f"{{ low = {free.low:g}, best = {free.best:g}, high = {free.high:g} }}"
        comment = _comment(seen, others=bool(others), where="one GPU" if alone else "several GPUs")
        text = _put(text, key, f"# {comment}\n{key} = {value}\n")
        head, sources = text.split("[sources]\n")
        source = (
            ", ".join(_sources(seen or others))
            or "worked out from the cards of its sort in benchmarks/data/machines.jsonl"
        )
        sources = _put(sources, key, f'{key} = "{source}"\n')
        text = f"{head}[sources]\n{sources}"
    return text


def _put(text: str, key: str, lines: str) -> str:
    """A key's line, with the comment above it, in place of the one that was there; after `interconnect` where none was."""
    place = rf"(?m)^(?:# [^\n]*\n)*{key} = [^\n]*\n"
    if re.search(place, text):
        return re.sub(place, lambda _: lines, text, count=1)
    return re.sub(r"(?m)^interconnect = [^\n]*\n", lambda at: at[0] + lines, text, count=1)


def _comment(machines: tuple[Machine, ...], *, others: bool, where: str) -> str:
    if not machines:
        how = (
            "as the other but for what NCCL takes"
            if others
            else "as much is taken as of cards of its sort"
        )
        return f"Nobody printed it for {where}: {how} (benchmarks/machines.py)."
    free = [each.free_gib for each in machines]
    seen = f"{min(free):g}" if min(free) == max(free) else f"{min(free):g} to {max(free):g}"
    count = "One machine" if len(free) == 1 else f"{len(free)} machines"
    return f"{count} on {where}: {seen}. The ends are to hold nine of ten others (benchmarks/machines.py)."


def _sources(machines: Iterable[Machine]) -> Iterator[str]:
    unkept: list[str] = []
    for each in machines:
        if _UNKEPT in each.source:
            unkept.append(f"{each.free_gib:g}")
        else:
            yield f"{each.source} ({each.free_gib:g})"
    if unkept:
        yield f"public SGLang logs whose {_UNKEPT} ({', '.join(unkept)})"


def main() -> None:
    """Write every file anew."""
    found = survey()
    for path in sorted(FOLDER.glob("*.toml")):
        text = path.read_text("utf-8")
        path.write_text(described(found, path.stem, text), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
