"""plan.json as it was written: by a compile, maybe of another release, or by hand. The one reader of it; no behaviour.

Its targets and its facts are read apart: an old generation is switched back to by its target, whatever else it says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, TypeVar

from attrs import frozen

from compiler.ranges import Range
from compiler.value import Value


PLAN: Final = "plan.json"
SCHEMA: Final = 1
"""The version of this file's meaning."""

LEFT_TO_ENGINE: Final = "auto"  # `profile.AUTO` of the compiler
_LONGEST_S: Final = 366 * 86400
_MOST_GIB: Final = 1e6  # more than all GPUs of a host have
_MOST: Final = 1e18  # of a figure; `NaN` and the infinite are none

T = TypeVar("T")


@frozen(kw_only=True, eq=False, repr=False)
class WrittenTarget(Value):
    """How a host runs it; times in seconds."""

    kind: str
    manager: str
    unit: str
    state_dir: str
    start_timeout_s: int
    stop_timeout_s: int
    on_change: str


@frozen(kw_only=True, eq=False, repr=False)
class WrittenEngine(Value):
    """The engine that the command line is for."""

    name: str
    version: str
    build: str | None


@frozen(kw_only=True, eq=False, repr=False)
class WrittenGpus(Value):
    """The cards; `names` are what the driver may call them, `None` of an older Poolproof, which did not write them."""

    kind: str
    count: int
    names: tuple[str, ...] | None


@frozen(kw_only=True, eq=False, repr=False)
class WrittenFacts(Value):
    """All that is the same on each target; `None` for what the compile did not know.

    Attributes:
        draft: its catalogue id; an older Poolproof did not write it.
        context: of one request, tokens; `None` where it is left to the engine.
        required_tokens: slots that the promise needs; an older Poolproof wrote them with the pool only.
        pool: slots that are predicted.
        static, reserve: the lines of both budgets, GiB per GPU.
        margin_gib: what the reserve has to spare.
        findings: `error pool-too-small` and the like.
        neighbours: by target, those between the service and others there; an older Poolproof wrote none.
    """

    profile: str
    verdict: str
    engine: WrittenEngine
    model: str
    draft: str | None
    gpus: WrittenGpus
    context: int | None
    concurrency: int
    required_tokens: int | None
    running_requests: int | None
    fraction: float | None
    pool: Range | None
    free_before_gib: Range | None
    static: tuple[tuple[str, Range], ...]
    reserve: tuple[tuple[str, Range], ...]
    margin_gib: Range | None
    argv: tuple[str, ...]
    env: Mapping[str, str]
    findings: tuple[str, ...]
    neighbours: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class WrittenPlan(Value):
    """What a plan.json says.

    Attributes:
        targets: by their names; or why one cannot be read, the end of a sentence about the file.
        engine: that of the facts, also where the rest of them cannot be read; `None` where it is not told.
        facts: the rest; or why it cannot be read, likewise.
    """

    targets: Mapping[str, WrittenTarget | str]
    engine: WrittenEngine | None
    facts: WrittenFacts | str


def read_plan(content: bytes) -> WrittenPlan | str:
    """The content of a plan.json; or why it is none, the end of a sentence about the file."""
    try:
        values = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except json.JSONDecodeError as fault:
        return f"it is no JSON (line {fault.lineno})"
    except (ValueError, RecursionError):
        # A number of thousands of digits; a list in a list, without an end.
        return "it is no JSON that can be read"
    if not isinstance(values, dict):
        return "it is no plan"
    schema = values.get("schema")
    if type(schema) is not int:
        return "it is no plan"
    if schema != SCHEMA:
        return f"it has schema {schema}, this Poolproof reads {SCHEMA}"
    if not isinstance(values.get("targets"), dict):
        return "it is no plan"
    top = _Table(values)
    engine = _read(_engine, top)
    return WrittenPlan(
        targets={
            target: _read(_target, _Table(each if isinstance(each, dict) else {}))
            for target, each in values["targets"].items()
        },
        engine=None if isinstance(engine, str) else engine,
        facts=_read(_facts, top),
    )


def engine_in(content: bytes) -> str | None:
    """The engine that a plan.json is for, as a person writes it; `None` where it does not say."""
    plan = read_plan(content)
    engine = None if isinstance(plan, str) else plan.engine
    if engine is None:
        return None
    build = f" with {engine.build}" if engine.build else ""
    return f"{engine.name} {engine.version}{build}"


class _UnlikeError(Exception):
    """A value is not as a compile writes it."""


def _read(part: Callable[[_Table], T], table: _Table) -> T | str:
    try:
        return part(table)
    except KeyError as missing:
        return f"it does not say `{missing.args[0]}`: an older Poolproof wrote it"
    except _UnlikeError as wrong:
        return f"`{wrong}` is not as a compile writes it"


@frozen(eq=False, repr=False)
class _Table(Value):
    """A table whose values are asked for by their types; raises `KeyError` or `_UnlikeError`, with the key."""

    values: Mapping[str, Any]

    def text(self, key: str) -> str:
        return str(self._as(key, isinstance(self.values[key], str)))

    def whole(self, key: str, *, least: int = 1, most: float = math.inf) -> int:
        value = self.values[key]
        return int(self._as(key, type(value) is int and least <= value <= most))

    def number(self, key: str) -> float:
        value = self.values[key]
        is_number = type(value) in (int, float) and abs(value) <= _MOST
        return float(self._as(key, is_number))

    def table(self, key: str) -> _Table:
        return _Table(self._as(key, isinstance(self.values[key], dict)))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(_Table({key: each}).text(key) for each in self._list(key))

    def tables(self, key: str) -> tuple[_Table, ...]:
        return tuple(_Table({key: each}).table(key) for each in self._list(key))

    def range(self, key: str) -> Range:
        return self.table(key).figures("")

    def figures(self, unit: str) -> Range:
        low, best, high = (self.number(f"{name}{unit}") for name in ("low", "best", "high"))
        self._as(f"best{unit}", low <= best <= high)
        return Range(low, best, high)

    def gib(self) -> Range:
        """A row of a budget."""
        figures = self.figures("_gib")
        is_so = max(map(abs, (figures.low, figures.best, figures.high))) < _MOST_GIB
        self._as("low_gib", is_so)
        return figures

    def known(self, key: str, read: Callable[[str], T], *, always: bool = True) -> T | None:
        """What may be null; or missing, where it was not `always` written."""
        value = self.values[key] if always else self.values.get(key)
        return None if value is None else read(key)

    def _list(self, key: str) -> list[Any]:
        return list(self._as(key, isinstance(self.values[key], list)))

    def _as(self, key: str, is_so: bool) -> Any:  # noqa: ANN401, FBT001 - as it was written
        if not is_so:
            raise _UnlikeError(key)
        return self.values[key]


def _target(table: _Table) -> WrittenTarget:
    return WrittenTarget(
        kind=table.text("kind"),
        manager=table.text("manager"),
        unit=table.text("unit"),
        state_dir=table.text("state_dir"),
        start_timeout_s=table.whole("start_timeout_s", least=0, most=_LONGEST_S),
        stop_timeout_s=table.whole("stop_timeout_s", least=0, most=_LONGEST_S),
        on_change=table.text("on_change"),
    )


def _engine(top: _Table) -> WrittenEngine:
    engine = top.table("engine")
    return WrittenEngine(
        name=engine.text("name"),
        version=engine.text("version"),
        build=engine.known("build", engine.text),
    )


def _facts(top: _Table) -> WrittenFacts:
    engine, gpus, promise = _engine(top), top.table("gpus"), top.table("promise")
    pool = top.known("pool", top.table)
    told = promise if "required_tokens" in promise.values else pool
    context = promise.values["context"]
    accepted = top.known("accepted", top.table, always=False) or _Table({})
    return WrittenFacts(
        profile=top.text("profile"),
        verdict=top.text("verdict"),
        engine=engine,
        model=top.text("model"),
        draft=top.known("draft", top.text, always=False),
        gpus=WrittenGpus(
            kind=gpus.text("kind"),
            count=gpus.whole("count"),
            names=gpus.known("names", gpus.texts, always=False),
        ),
        context=None if context == LEFT_TO_ENGINE else promise.whole("context"),
        concurrency=promise.whole("concurrency"),
        required_tokens=None if told is None else told.known("required_tokens", told.whole),
        running_requests=top.known("running_requests", top.whole),
        fraction=top.known("fraction", top.number),
        pool=None if pool is None else pool.figures(""),
        free_before_gib=top.known("free_before_load_gib", top.range),
        static=tuple((each.text("item"), each.gib()) for each in top.tables("static")),
        reserve=tuple((each.text("item"), each.gib()) for each in top.tables("reserve")),
        margin_gib=top.known("reserve_margin_gib", top.range),
        argv=top.texts("argv"),
        env={name: top.table("env").text(name) for name in top.table("env").values},
        findings=tuple(_finding(each, accepted=accepted.values) for each in top.tables("findings")),
        neighbours=tuple(
            (each.text("target"), _finding(each))
            for each in top.known("neighbours", top.tables, always=False) or ()
        ),
    )


def _finding(table: _Table, *, accepted: Container[str] = ()) -> str:
    severity, code = table.text("severity"), table.text("code")
    return f"{'accepted' if severity == 'warning' and code in accepted else severity} {code}"
