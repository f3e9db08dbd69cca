"""The public boots, put to `predict`: what comes out, with the figures that judge it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from compiler.catalog import Catalog, open_catalog
from compiler.engines.engine import Measured
from compiler.facts import Boot
from compiler.judged import Judged
from compiler.plan import Memory, Plan
from compiler.predict import Predictor, Question, make_predictor


HERE = Path(__file__).parent
BOOTS = HERE / "data" / "boots.jsonl"


@frozen(kw_only=True)
class Case:
    """One published boot."""

    id: str
    source: str
    version: str
    version_stated: bool
    outcome: str
    gpu: str | None = None
    gpu_memory_gib: float | None = None
    count: int | None = None
    model: str | None = None
    command: tuple[str, ...] = ()
    free_before_gib: float | None = None
    free_after_gib: float | None = None
    tokens: int | None = None
    side: str | None = None
    aside: str | None = None
    checkpoint_named: bool = True
    not_known: str | None = None
    first: tuple[int, ...] | str | None = None
    round: int = 1

    @property
    def is_named(self) -> bool:
        """Whether the report names model, GPU and layout."""
        return bool(self.command and self.gpu and self.count)

    @property
    def has_log(self) -> bool:
        """Whether the log prints both figures around the load."""
        return self.free_before_gib is not None and self.free_after_gib is not None

    @property
    def started(self) -> bool:
        """Whether the server came up."""
        return self.outcome == "started"

    @property
    def family(self) -> str:
        """The model's family, by the beginning of its name."""
        name = (self.model or "unnamed").rpartition("/")[2]
        return name.split("-")[0].split("_")[0].rstrip("0123456789.") or name


def read_cases(path: Path = BOOTS) -> tuple[Case, ...]:
    """The boots of the file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(_case(json.loads(line)) for line in lines)


def _case(values: dict[str, Any]) -> Case:
    first = values.get("first")
    first = tuple(first) if isinstance(first, list) else first
    return Case(**{**values, "command": tuple(values.get("command", ())), "first": first})


@frozen(kw_only=True)
class Answer:
    """What `predict` says about one case."""

    case: Case
    judged: Judged

    @property
    def plan(self) -> Plan | None:
        """The plan; `None` when the command is refused."""
        return self.judged.plan

    @property
    def memory(self) -> Memory | None:
        """Both budgets; `None` when something is not known."""
        return self.plan.memory if self.plan is not None else None

    @property
    def codes(self) -> frozenset[str]:
        """What it found."""
        return frozenset(each.code for each in self.judged.diagnostics)

    @property
    def error(self) -> float | None:
        """The best estimate's relative error."""
        if self.memory is None or self.case.tokens is None:
            return None
        return self.memory.pool.tokens.best / self.case.tokens - 1

    @property
    def band(self) -> float:
        """What the two decimals of the log leave open, as a share of the pool; 0 without a log."""
        if self.memory is None or not self.case.has_log or not self.case.tokens:
            return 0.0
        slots = 0.01 * 2**30 / self.memory.pool.cell_bytes
        return slots / self.case.tokens

    @property
    def covers(self) -> bool:
        """Whether the range holds the truth."""
        if self.memory is None or self.case.tokens is None:
            return False
        tokens = self.memory.pool.tokens
        return tokens.low <= self.case.tokens <= tokens.high

    @property
    def width(self) -> float:
        """The range's width as a share of the pool."""
        if self.memory is None or not self.case.tokens:
            return 0.0
        tokens = self.memory.pool.tokens
        return (tokens.high - tokens.low) / self.case.tokens

    @property
    def reason(self) -> str:
        """Why it is not priced."""
        unknowns = self.plan.unknowns if self.plan is not None else ()
        if unknowns:
            return f"{unknowns[0].code}: {unknowns[0].name}"
        found = self.judged.diagnostics
        return f"{found[0].code}: {' '.join(found[0].notes)[:90]}" if found else "not known"

    @property
    def sides(self) -> frozenset[str]:
        """The sides that are said to be short."""
        named = {"weights"} if self.codes & {"weights-too-large", "weights-uncertain"} else set()
        if self.codes & {"pool-too-small", "pool-likely-short", "pool-uncertain"}:
            named.add("pool")
        if self.codes & {"reserve-too-small", "reserve-likely-short", "reserve-uncertain"}:
            named.add("reserve")
        return frozenset(named)


@cache
def _catalogue() -> Catalog:
    return open_catalog()


@cache
def predictor(version: str) -> Predictor:
    """Of one release, made once."""
    return make_predictor(_catalogue(), engine="sglang", version=version)


def question(
    case: Case, *, measured: Measured | None = None, boots: tuple[Boot, ...] = ()
) -> Question:
    """What is told of a case beside its command."""
    return Question(
        gpu=case.gpu or "",
        count=case.count or 1,
        engine="sglang",
        version=case.version,
        gpu_memory_gib=case.gpu_memory_gib,
        measured=measured or Measured(),
        boots=boots,
        public=False,
    )


def ask(case: Case, *, with_log: bool = False, boots: tuple[Boot, ...] = ()) -> Answer:
    """Put a case to `predict`, without the boots that the catalogue ships: some are of these very cases."""
    measured = Measured()
    if with_log:
        measured = Measured(
            free_before_gib=case.free_before_gib, free_after_gib=case.free_after_gib
        )
    about = question(case, measured=measured, boots=boots)
    return Answer(case=case, judged=predictor(case.version).predict(case.command, about))


def counted(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """Those that are not set aside."""
    return tuple(each for each in answers if each.case.aside is None)
