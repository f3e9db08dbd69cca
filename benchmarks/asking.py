"""The public boots, put to `predict`: what comes out, with the figures that judge it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from compiler.catalog import Catalog, open_catalog
from compiler.catalog.recorded import PUBLIC
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
    return Case(**{**values, "command": tuple(values.get("command", ()))})


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
def _predictor(version: str) -> Predictor:
    return make_predictor(_catalogue(), engine="sglang", version=version)


def ask(case: Case, *, with_log: bool = False, boots: tuple[Boot, ...] = ()) -> Answer:
    """Put a case to `predict`, without the boots that the catalogue ships: some are of these very cases."""
    measured = Measured()
    if with_log:
        measured = Measured(
            free_before_gib=case.free_before_gib, free_after_gib=case.free_after_gib
        )
    question = Question(
        gpu=case.gpu or "",
        count=case.count or 1,
        engine="sglang",
        version=case.version,
        gpu_memory_gib=case.gpu_memory_gib,
        measured=measured,
        boots=boots,
        public=False,
    )
    judged = _predictor(case.version).predict(case.command, question)
    return Answer(case=case, judged=judged)


def carried(cases: Iterable[Case]) -> Iterator[Answer]:
    """Each boot predicted from every other one of the same model on the same GPUs."""
    known = [(case, boot) for case in cases if (boot := boot_of(case)) is not None]
    for case, _ in known:
        for other, boot in known:
            alike = (case.model, case.gpu, case.count) == (other.model, other.gpu, other.count)
            if not alike or other.id == case.id:
                continue
            answer = ask(case, boots=(boot,))
            if answer.memory is not None and answer.memory.pool.boot is not None:
                yield answer


def boot_of(case: Case) -> Boot | None:
    """The case as a recorded boot; nothing of it is taken from a prediction but the settings' defaults."""
    recorded = case.started and case.is_named and case.tokens
    if not recorded or "--mem-fraction-static" not in case.command:
        return None
    plan = ask(case).plan
    if plan is None or plan.memory is None:
        return None
    profile = plan.profile
    speculative = profile.speculative
    return Boot(
        name=case.id,
        engine="sglang",
        version=case.version,
        model=profile.model.id,
        gpu=profile.gpus.kind,
        gpu_count=profile.gpus.count,
        tensor=profile.parallel.tensor,
        pipeline=profile.parallel.pipeline,
        data=profile.parallel.data,
        expert=profile.parallel.expert,
        dp_attention=profile.parallel.dp_attention,
        kv_dtype=profile.memory.kv_dtype,
        page_size=profile.memory.page_size or 1,
        fraction=float(profile.memory.fraction),
        context=profile.serve.context,
        max_running_requests=profile.serve.max_running_requests,
        chunked_prefill=profile.memory.chunked_prefill,
        algorithm=speculative.algorithm if speculative else None,
        draft=speculative.draft if speculative else None,
        pool_tokens=case.tokens or 0,
        free_before_load_gib=case.free_before_gib,
        flags={k: v for k, v in profile.flags.items() if not isinstance(v, tuple)},
        source=case.source,
    )


def published(cases: Iterable[Case]) -> Iterator[tuple[Case, Boot]]:
    """The boots that the catalogue ships: of a kind of GPU it knows, release, checkpoint, fraction and pool all stated."""
    for case in cases:
        stated = case.version_stated and case.checkpoint_named and case.aside is None
        if stated and case.gpu_memory_gib is None and not case.not_known:
            boot = boot_of(case)
            if boot is not None:
                yield case, evolve(boot, name=f"{PUBLIC}{case.id}", shipped=True)


def with_others(cases: Iterable[Case], *, by_source: bool) -> Iterator[Answer]:
    """Each case with the shipped boots but its own; with `by_source` none that its source published counts."""
    several = tuple(cases)
    known = tuple(published(several))
    for case in several:
        others = tuple(
            boot
            for other, boot in known
            if other.id != case.id and not (by_source and _origin(other) == _origin(case))
        )
        yield ask(case, boots=others)


_REPOSITORY_PARTS = 5
"""Of an address: `https://github.com/owner/name`."""


def _origin(case: Case) -> str:
    """Who published a case; those whose address was not kept may all be from one."""
    return "/".join(case.source.split("/")[:_REPOSITORY_PARTS])


@frozen(kw_only=True)
class Results:
    """All that was asked.

    Attributes:
        others: tier B with the shipped boots, but for the case's own.
        strangers: the same without all boots that its source published.
    """

    cases: tuple[Case, ...]
    a: tuple[Answer, ...]
    b: tuple[Answer, ...]
    c: tuple[Answer, ...]
    others: tuple[Answer, ...]
    strangers: tuple[Answer, ...]
    seconds: float

    @property
    def predictions(self) -> int:
        """How many commands were judged."""
        return len(self.a) + len(self.b) + len(self.c)


def run(cases: Sequence[Case]) -> Results:
    """Ask about every case, in every tier it has the figures for."""
    named = [case for case in cases if case.is_named]
    for case in named:
        _predictor(case.version)
    start = time.perf_counter()
    a = tuple(ask(case, with_log=True) for case in named if case.has_log)
    b = tuple(ask(_weighed(case)) for case in named)
    c = tuple(carried(case for case in named if case.aside is None))
    seconds = time.perf_counter() - start
    weighed = tuple(map(_weighed, named))
    return Results(
        cases=tuple(cases),
        a=a,
        b=b,
        c=c,
        others=tuple(with_others(weighed, by_source=False)),
        strangers=tuple(with_others(weighed, by_source=True)),
        seconds=seconds,
    )


def _weighed(case: Case) -> Case:
    """Without its log a boot needs a checkpoint that is known."""
    if case.checkpoint_named or case.aside is not None:
        return case
    return evolve(case, aside="the checkpoint is not named")


def counted(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """Those that are not set aside."""
    return tuple(each for each in answers if each.case.aside is None)
