"""One service as it is compared: of a tree that was compiled, or of the `plan.json` of an installed one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from compiler.checks.neighbours.sharing import numbered
from compiler.judged import Judged
from compiler.language.merge import Resolved
from compiler.language.written import written
from compiler.origins import dotted
from compiler.plan import Plan
from compiler.planjson import PlanFacts, plan_facts
from compiler.quantities import Duration
from compiler.ranges import Range
from compiler.secrecy import COVER, is_secret
from compiler.service import (
    GRAPHS_AND_WARMUP_S,
    READ_GB_PER_S,
    checkpoint_gb,
    expected_start_s,
)
from compiler.tree import OutFile
from compiler.value import Value


@frozen(eq=False, repr=False)
class Shown(Value):
    """A setting's value as a profile writes it, and the place that set it."""

    value: str
    place: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Figures(Value):
    """What the memory comes to on one GPU; GiB, and tokens of the pool, of which each of the `replicas` has one."""

    fraction: float
    required_tokens: int
    pool: Range
    margin: Range
    replicas: int = 1

    def on_each(self, tokens: str) -> str:
        """Tokens of one pool, in words, with how many pools there are: a cut of the promise must not look like growth."""
        return tokens if self.replicas == 1 else f"{tokens} x {self.replicas}"


@frozen(kw_only=True, eq=False, repr=False)
class Start(Value):
    """How long a start takes.

    Attributes:
        limit_s: when the unit gives up.
        expected_s: an estimate, with its `basis`; `None` for a model that nobody described.
        stop_s: how long running requests may take to end before; `None` when it is not known.
    """

    limit_s: int
    expected_s: int | None = None
    basis: str = ""
    stop_s: int | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Place(Value):
    """Where a service is installed: a switch to the same place makes its next generation, one to another a second service.

    Attributes:
        host: the target's name.
        unit: with `.service`.
        manager: `system` or `user`.
        state_dir: where the host keeps its generations.
    """

    host: str
    unit: str
    manager: str
    state_dir: str


@frozen(kw_only=True, eq=False, repr=False)
class Snapshot(Value):
    """One service.

    Attributes:
        place: where a host has it.
        identity: what tells it from others: model, host, GPUs, unit, engine, in this order.
        settings: every setting that a file sets, but for other targets' own; `None` where only a plan is left.
        command: the whole command line; `options` are its flags, each with its words.
        findings: `error pool-too-small`, `accepted pool-likely-short`, and the like, those between it and its neighbours too.
        files: the texts of its files by path below `out/`; `None` where they are not known, or not written.
    """

    profile: str
    target: str
    place: Place
    verdict: str
    identity: Mapping[str, str]
    settings: Mapping[str, Shown] | None
    command: tuple[str, ...]
    options: Mapping[str, str]
    environment: Mapping[str, str]
    figures: Figures | None
    findings: tuple[str, ...]
    start: Start
    files: Mapping[str, str] | None = field(repr=False)


def snapshot(judged: Judged, resolved: Resolved, *, files: list[OutFile] | None) -> Snapshot:
    """The snapshot of a service that was planned; `files` are those of its profile, `None` when it is refused.

    Raises:
        ValueError: when it was not planned.
    """
    plan = judged.plan
    if plan is None or plan.target_name is None or plan.service is None:
        raise ValueError(f"{judged.profile_name} was not planned")
    facts = plan_facts(plan)
    own = f"{judged.profile_name}/{plan.target_name}/"
    folders = {each.path.rpartition("/")[0] for each in files or ()} - {judged.profile_name}
    return Snapshot(
        profile=judged.profile_name,
        target=plan.target_name,
        place=place_of(plan),
        verdict=judged.verdict.value,
        identity=_identity(plan),
        settings=dict(_settings(resolved, target=plan.target_name)),
        command=tuple(facts["argv"]),
        options={each.flag: _words(each.flag, each.values) for each in plan.options},
        environment=facts["env"],
        figures=_figures(facts, replicas=plan.profile.parallel.data),
        findings=tuple(
            dict.fromkeys(each.word for each in (*judged.diagnostics, *judged.neighbours))
        ),
        start=_start(plan),
        files=None
        if files is None
        else {
            each.path: each.text
            for each in files
            if each.path.startswith(own) or each.path.rpartition("/")[0] not in folders
        },
    )


def place_of(plan: Plan) -> Place:
    """Where the service of a plan is installed.

    Raises:
        ValueError: when it has no target.
    """
    if plan.target_name is None or plan.service is None:
        raise ValueError(f"{plan.profile_name} has no target")
    return Place(
        host=plan.target_name,
        unit=f"{plan.service.unit}.service",
        manager=plan.profile.targets[plan.target_name].manager,
        state_dir=plan.service.state_dir,
    )


def _words(flag: str, values: tuple[str, ...]) -> str:
    return " ".join(COVER if is_secret(flag, each) else each for each in values)


def _identity(plan: Plan) -> Mapping[str, str]:
    gpus, engine = plan.profile.gpus, plan.profile.engine
    build = f" with {engine.build}" if engine.build else ""
    return {
        "model": plan.profile.model.id,
        "host": plan.target_name or "",
        "GPUs": gpus_said(gpus.count, gpus.kind, gpus.indices),
        "unit": f"{plan.service.unit if plan.service else ''}.service",
        "engine": f"{engine.name} {engine.version}{build}",
    }


def gpus_said(count: int, kind: str, indices: Sequence[int]) -> str:
    """The GPUs of a service, with the host's indices where they are named: `1 x rtx-4090 as GPU 2`."""
    which = f" as {numbered(indices)}" if indices else ""
    return f"{count} x {kind}{which}"


def _settings(resolved: Resolved, *, target: str) -> Iterator[tuple[str, Shown]]:
    for path, origin in sorted(resolved.origins.by_path.items()):
        if path[0] != "targets" or path[1:2] == (target,):
            value = written(resolved.value_at(path), key=path[-1])
            yield dotted(path), Shown(value, origin.winner.value_span.place)


def _figures(facts: PlanFacts, *, replicas: int) -> Figures | None:
    """As plan.json has them, so that both sides of a comparison are rounded alike."""
    pool, margin, fraction = facts["pool"], facts["reserve_margin_gib"], facts["fraction"]
    if pool is None or margin is None or fraction is None:
        return None
    return Figures(
        fraction=fraction,
        required_tokens=pool["required_tokens"],
        pool=Range(pool["low"], pool["best"], pool["high"]),
        margin=Range(margin["low"], margin["best"], margin["high"]),
        replicas=replicas,
    )


def _start(plan: Plan) -> Start:
    service, model = plan.service, plan.model
    if service is None:
        raise ValueError(f"{plan.profile_name} has no target")
    if model is None:
        return Start(limit_s=service.start_timeout_s, stop_s=service.stop_timeout_s)
    return Start(
        limit_s=service.start_timeout_s,
        expected_s=expected_start_s(model),
        basis=f"{checkpoint_gb(model):,.0f} GB read at {READ_GB_PER_S:g} GB/s, and {Duration(GRAPHS_AND_WARMUP_S)} for graphs and warm-up",
        stop_s=service.stop_timeout_s,
    )
