"""How near `predict` comes to public boots: `python -m benchmarks.accuracy` prints it and writes docs/accuracy.md.

Tier A has the log's own figures around the load; tier B model, GPU and flags alone; tier C another boot of the same model.
Boots whose figures say nothing about one server on its own GPUs are counted, and reported apart.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from attrs import frozen

from benchmarks.asking import HERE, Answer, counted, read_cases
from benchmarks.recorded import published
from benchmarks.results import Results, run


REPORT = HERE.parent / "docs" / "accuracy.md"

FITTED: Sequence[str] = (
    "`GRAPH_NODES_GIB`, memory of a captured batch size (reserve only): from four of these boots",
    "`_UNLOGGED_GIB`, the low end in tier A (best estimates do not use it): a bound that twenty of these boots keep",
    "the driver's share of a GPU that nobody described, for one and for several cards: moves best estimates of tier B",
    "NVFP4: how often scales are copied is left open for 0.5.8 and 0.5.9, since two of these boots disagree with the source",
    "draft weights from 0.5.14 on count an embedding and a head in the best estimate: on one boot's evidence",
    "which boots are set aside, in part: four without a fraction, a slice of a larger card, two private forks",
    "seven more set aside as of builds from before their model's release: by the bytes of a token that logs show",
    "what three failing boots leave open (`not_known`): the number of requests by the size of the block that did not fit",
    "the number format of states, and a number of requests, read off the pool of states in one log: written into its command",
    "tables of n-grams on the host: written into the commands of the boots whose GPUs cannot hold them",
    "groups of an AWQ checkpoint that nobody described: looked for because one boot was 8 % off; the rule is the engine's",
)
"""Constants and choices that looked at the boots below."""


@frozen(kw_only=True)
class Tier:
    """One tier's answers that have a pool to compare with."""

    name: str
    answers: tuple[Answer, ...]

    @property
    def errors(self) -> list[float]:
        """Absolute relative errors, sorted."""
        return sorted(abs(each.error) for each in self.answers if each.error is not None)

    def share(self, part: float) -> float:
        """The error that so large a part of the cases stays within."""
        return _share(self.errors, part) if self.errors else 0.0

    @property
    def covered(self) -> float:
        """The part of the cases whose range holds the truth."""
        return sum(each.covers for each in self.answers) / max(1, len(self.answers))

    @property
    def width(self) -> float:
        """The median width of the range."""
        return statistics.median([each.width for each in self.answers] or [0.0])

    @property
    def beyond(self) -> list[Answer]:
        """The cases further off than 1 % and than the log's own decimals."""
        return [
            each
            for each in self.answers
            if each.error is not None and abs(each.error) > max(0.01, each.band)
        ]

    def row(self) -> str:
        """A line of the table."""
        if not self.errors:
            return f"| {self.name} | 0 | | | | | | |"
        return (
            f"| {self.name} | {len(self.errors)} | {statistics.median(self.errors):.2%} | {self.share(0.9):.2%} "
            f"| {self.share(0.95):.2%} | {self.errors[-1]:.2%} | {self.covered:.0%} | {self.width:.2%} |"
        )


def _tier(name: str, answers: Iterable[Answer]) -> Tier:
    kept = tuple(each for each in answers if each.memory is not None and each.case.tokens)
    return Tier(name=name, answers=kept)


def report(results: Results) -> str:
    """The whole report, as Markdown."""
    return "\n".join(
        (
            "# How near predictions come to public boots",
            "",
            "Written by `python -m benchmarks.accuracy` from `benchmarks/data/boots.jsonl`. Tier A has the log's two figures",
            "around the load; B only model, GPU and flags; C carries another boot of the same model and GPUs.",
            "",
            *_tiers(results),
            *_unseen(results),
            *_coverage(results),
            *_reserve(results),
            *_families(results),
            *_worst(results),
            *_aside(results),
            *_constants(),
        )
    )


_HEAD = (
    "| | boots | median | p90 | p95 | worst | in range | range's width |",
    "|---|---|---|---|---|---|---|---|",
)


def _tiers(results: Results) -> Iterator[str]:
    yield from ("## Error of the pool", "", *_HEAD)
    tiers = [
        _tier(name, counted(answers))
        for name, answers in (
            ("A", results.a),
            ("B", results.b),
            ("B, public boots but its own", results.others),
            ("B, public boots of other sources", results.strangers),
            ("C", results.c),
        )
    ]
    yield from (tier.row() for tier in tiers)
    beyond = ", ".join(each.case.id for each in tiers[0].beyond) or "none"
    carried = sum(each.memory.pool.boot is not None for each in tiers[2].answers if each.memory)
    yield from (
        "",
        f"The catalogue ships {len(list(published(results.cases)))} of these boots. Tier B does without; with them, but for",
        f"the case's own, {carried} cases are carried from one.",
        "",
        f"Of tier A further off than 1 % and the log's two decimals: {beyond}.",
        "",
    )


def _unseen(results: Results) -> Iterator[str]:
    """Boots that were found after the model was built: as it first predicted them, and as it does now."""
    late = [each for each in counted(results.b) if each.case.first is not None]
    pairs = [(each.case, each.case.first) for each in late]
    told = [(case, *first) for case, first in pairs if isinstance(first, tuple) and case.tokens]
    errors = sorted(abs(best / (case.tokens or 1) - 1) for case, _, best, _ in told)
    inside = sum(low <= (case.tokens or 0) <= high for case, low, _, high in told)
    widths = [(high - low) / (case.tokens or 1) for case, low, _, high in told]
    missing = sorted({first for _, first in pairs if isinstance(first, str)})
    logged = [each for each in counted(results.a) if each.case.first is not None]
    yield from (
        "## Boots that were unseen at first",
        "",
        f"{len(late)} boots were looked for when the model was done, and put to it before anybody looked at how it treats them.",
        f"{len(told)} were priced; the others were not because of {', '.join(missing)}. The first row is what was predicted",
        "then, the others are with what was mended since (releases 0.4.2 to 0.4.5, free memory of one GPU, shared prefill,",
        "more models).",
        "",
        *_HEAD,
        f"| B, as first predicted | {len(errors)} | {statistics.median(errors):.2%} | {_share(errors, 0.9):.2%} "
        f"| {_share(errors, 0.95):.2%} | {errors[-1]:.2%} | {inside / len(told):.0%} "
        f"| {statistics.median(widths):.2%} |",
        _tier("B, now", late).row(),
        _tier("A, now", logged).row(),
        "",
    )


def _share(errors: Sequence[float], part: float) -> float:
    """The error that so large a part of sorted ones stays within."""
    return errors[min(len(errors) - 1, int(part * len(errors)))]


def _coverage(results: Results) -> Iterator[str]:
    named = results.b
    priced = [each for each in named if each.memory is not None]
    logged = {each.case.id for each in results.a if each.memory is not None}
    either = sum(each.memory is not None or each.case.id in logged for each in named)
    kept = counted(named)
    known = sum(each.memory is not None for each in kept)
    yield from (
        "## Coverage",
        "",
        f"{len(results.cases)} boots, of which {len(named)} name model, GPU and layout:",
        "",
        f"- {len(priced)} of these are priced ({len(priced) / len(named):.0%}),",
        f"- {either} ({either / len(named):.0%}) with the log's figures where there are some,",
        f"- without those set aside {known} of {len(kept)} ({known / len(kept):.0%}).",
        "",
        "| not priced because of | boots |",
        "|---|---|",
    )
    reasons = Counter(each.reason for each in named if each.memory is None)
    yield from (f"| {reason} | {count} |" for reason, count in reasons.most_common())
    yield ""


def _reserve(results: Results) -> Iterator[str]:
    # The better informed answer of each case: with its log where there is one.
    best = {each.case.id: each for each in (*results.b, *results.a)}
    judged = [each for each in counted(best.values()) if each.memory is not None]
    started = [each for each in judged if each.case.started]
    failed = [each for each in judged if not each.case.started and each.case.side]
    wrong = [e for e in started if e.codes & {"reserve-too-small", "weights-too-large"}]
    likely = [e for e in started if "reserve-likely-short" in e.codes]
    uncertain = [e for e in started if "reserve-uncertain" in e.codes]
    right = [each for each in failed if each.case.side in each.sides]
    count = max(1, len(started))
    warned = len(likely) + len(uncertain) + len(wrong)
    right_share = len(right) / max(1, len(failed))
    known = [each for each in failed if not each.case.not_known]
    known_right = [each for each in known if each in right]
    known_share = len(known_right) / max(1, len(known))
    yield from (
        "## Weights and reserve",
        "",
        f"{len(started)} boots that started ({warned / count:.0%} warned about the reserve):",
        "",
        f"- {len(wrong)} refused for certain on weights or reserve{_names(wrong)},",
        f"- {len(likely)} likely short{_names(likely)},",
        f"- {len(uncertain)} uncertain{_names(uncertain)}.",
        "",
        f"{len(failed)} boots that failed and are priced: {len(right)} ({right_share:.0%}) named on the right side;",
        f"of the {len(known)} of which all is known that decides, {len(known_right)} ({known_share:.0%}).",
        "",
        "| failed boot | ran out | named | not known of it |",
        "|---|---|---|---|",
    )
    for each in failed:
        named = ", ".join(sorted(each.sides)) or "nothing"
        yield f"| {each.case.id} | {each.case.side} | {named} | {each.case.not_known or ''} |"
    yield ""


def _names(answers: Sequence[Answer]) -> str:
    return f" ({', '.join(each.case.id for each in answers)})" if answers else ""


def _families(results: Results) -> Iterator[str]:
    for name, answers in (("A", results.a), ("B", results.b)):
        yield from (f"## Tier {name} by family", "", *_HEAD)
        kept = sorted(counted(answers), key=lambda each: each.case.family)
        for family, several in groupby(kept, key=lambda each: each.case.family):
            tier = _tier(family, several)
            if tier.answers:
                yield tier.row()
        yield ""


_WORST = 8


def _worst(results: Results) -> Iterator[str]:
    yield from (
        "## Furthest off in tier B",
        "",
        "| boot | error | pool | predicted |",
        "|---|---|---|---|",
    )
    tier = _tier("B", counted(results.b))
    ordered = sorted(tier.answers, key=lambda each: -abs(each.error or 0.0))
    for each in ordered[:_WORST]:
        tokens = each.memory.pool.tokens if each.memory else None
        if tokens is not None:
            yield (
                f"| {each.case.id} | {each.error or 0.0:+.1%} | {each.case.tokens:,} "
                f"| {tokens.best:,.0f} ({tokens.low:,.0f} to {tokens.high:,.0f}) |"
            )
    yield ""


def _aside(results: Results) -> Iterator[str]:
    yield from ("## Set aside", "", *_HEAD)
    kept = [each for each in (*results.a,) if each.case.aside is not None]
    kept.sort(key=lambda each: each.case.aside or "")
    for reason, several in groupby(kept, key=lambda each: each.case.aside):
        yield _tier(f"A, {reason}", several).row()
    counts = Counter(case.aside for case in results.cases if case.aside)
    listed = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items()))
    yield from ("", f"Boots in all: {listed}.", "")


def _constants() -> Iterator[str]:
    yield from (
        "## Constants that rest on these boots",
        "",
        f"{len(FITTED)}:",
        "",
        *(f"- {each}" for each in FITTED),
        "",
    )


def main() -> None:
    """Run everything, print it, and write the report."""
    results = run(read_cases())
    text = report(results)
    REPORT.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    rate = results.predictions / results.seconds
    sys.stdout.write(f"\n{results.predictions} predictions, {rate:,.0f} a second\n")


if __name__ == "__main__":
    main()
