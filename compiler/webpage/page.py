"""The values of the page: what stands between services, a row a service, and behind it its findings, budgets, and charts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, error_codes, listed, unpadded
from compiler.judged import Checked
from compiler.plan import Memory, Plan
from compiler.ranges import Range
from compiler.render.picture import picture_title, render_picture
from compiler.render.review import (
    Row,
    budget_row,
    cell_sentences,
    margin_sentence,
    reserve_rows,
)
from compiler.render.templates import fill
from compiler.secrecy import without_secrets
from compiler.value import Value
from compiler.webpage.chart import BOTTOM, HEIGHT, LEFT, TOP, WIDTH, Chart, Series, chart
from compiler.webpage.standings import Standing, standings
from compiler.webpage.sweep import Point, Sweep


_STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)


@frozen(kw_only=True, eq=False, repr=False)
class ServiceView(Value):
    """One service, as the page shows it; pool and reserve are an estimate and its range, `why` what refuses it beside memory."""

    anchor: str
    name: str
    target: str
    verdict: str
    why: str
    model: str
    gpus: str
    engine: str
    context: str
    pool: tuple[str, str]
    required: str
    pool_order: str
    reserve: tuple[str, str]
    reserve_order: str
    unit: str
    findings: tuple[FindingView, ...]
    static: tuple[Row, ...]
    needs: tuple[Row, ...]
    margin: str
    steps: str
    cells: tuple[str, ...]
    picture: str
    charts: tuple[Chart, ...]
    unpriced: tuple[str, ...]
    accepted: tuple[tuple[str, str], ...]
    assumptions: tuple[str, ...]


@frozen(kw_only=True, eq=False, repr=False)
class FindingView(Value):
    """A finding with what mends it; of one that belongs to no service alone its place and its reasons, too."""

    severity: str
    code: str
    summary: str
    mends: tuple[str, ...]
    place: str = ""
    notes: tuple[str, ...] = ()


def render_page(checked: Checked, *, sweeps: Mapping[str, Sweep]) -> str:
    """The page of these services and of what stands between them; `sweeps` by the names of their profiles."""
    every = standings(checked)
    drawn = [number for number, each in enumerate(checked.judged) if each.plan and each.plan.memory]
    views = tuple(
        _view(number, each, sweeps.get(each.judged.profile_name), styled=number in drawn[:1])
        for number, each in enumerate(every)
    )
    counts = Counter(each.word for each in every)
    return fill(
        "report.html.j2",
        services=views,
        counts=tuple(f"{count} {word}" for word, count in sorted(counts.items())),
        refusing=listed(error_codes(checked.all_diagnostics)),
        between=tuple(_between(each) for each in checked.diagnostics),
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        top=TOP,
        bottom=BOTTOM,
    )


def _between(found: Diagnostic) -> FindingView:
    span = None if found.primary is None else found.primary.span
    place = "" if span is None else f"{span.file}:{span.line}"
    return evolve(_finding(found), place=place, notes=found.notes)


def _finding(found: Diagnostic) -> FindingView:
    return FindingView(
        severity=found.severity.value,
        code=found.code,
        summary=found.told,
        mends=tuple(map(unpadded, found.mends)),
    )


def _on_each(plan: Plan | None, tokens: str) -> str:
    """Tokens of one pool, with how many replicas have such a one."""
    replicas = 1 if plan is None else plan.profile.parallel.data
    return tokens if replicas == 1 else f"{tokens} x {replicas}"


def _view(number: int, standing: Standing, swept: Sweep | None, *, styled: bool) -> ServiceView:
    judged = standing.judged
    plan = judged.plan
    memory = plan.memory if plan else None
    return ServiceView(
        anchor=f"service-{number + 1}",
        name=judged.profile_name,
        target=judged.target_name or "",
        verdict=standing.word,
        why=standing.why,
        model=plan.profile.model.id if plan else "",
        gpus=f"{plan.profile.gpus.count} x {plan.profile.gpus.kind}" if plan else "",
        engine=_engine(plan) if plan else "",
        context=_promised(plan) if plan else "",
        pool=_spread(memory.pool.tokens, "{:,.0f}" + _on_each(plan, "")) if memory else _UNKNOWN,
        required=_on_each(plan, f"{plan.required_tokens:,}")
        if plan and plan.required_tokens
        else "not known",
        pool_order=_order(memory.pool.tokens) if memory else "-1",
        reserve=_spread(memory.reserve.margin_gib, "{:.1f}") if memory else _UNKNOWN,
        reserve_order=_order(memory.reserve.margin_gib) if memory else "-1000000000",
        unit=f"{plan.service.unit}.service" if plan and plan.service else "",
        findings=tuple(map(_finding, standing.findings)),
        static=tuple(budget_row(each) for each in memory.static) if memory else (),
        needs=tuple(reserve_rows(memory)) if memory else (),
        margin=margin_sentence(memory) if memory else "",
        steps="\n".join(memory.pool.best_formula) if memory else "",
        cells=cell_sentences(memory) if memory else (),
        picture=_picture(judged.profile_name, number, memory, styled=styled) if memory else "",
        charts=tuple(_charts(plan, swept)) if plan and memory and swept else (),
        unpriced=memory.unpriced if memory else (),
        accepted=tuple(_accepted(plan)) if plan else (),
        assumptions=tuple(without_secrets(each, ()) for each in plan.assumptions) if plan else (),
    )


def _accepted(plan: Plan) -> Iterator[tuple[str, str]]:
    """What was accepted, with its reasons: words of a profile, which a page shows where it is refused, too."""
    for code, reason in sorted(plan.profile.accept.items()):
        yield code, without_secrets(reason, ())


def _picture(name: str, number: int, memory: Memory, *, styled: bool) -> str:
    """The drawing of PLAN.md; its ids made this service's own, since a page may have each only once, as its style need be."""
    text = render_picture(memory, title=picture_title(name))
    if not styled:
        text = _STYLE.sub("", text)
    for id_ in ("title", "description", "hatch"):
        text = text.replace(f'id="{id_}"', f'id="{id_}-{number}"').replace(
            f"url(#{id_})", f"url(#{id_}-{number})"
        )
    return text.replace(
        'aria-labelledby="title description"',
        f'aria-labelledby="title-{number} description-{number}"',
    )


def _charts(plan: Plan, swept: Sweep) -> Iterator[Chart]:
    """Pool and reserve, over the fraction and over the context."""
    if plan.memory is None:
        return
    for at, points, own, across in (
        ("fraction", swept.by_fraction, plan.memory.fraction, _fraction),
        ("context", swept.by_context, float(plan.profile.serve.context), _short),
    ):
        pool = chart(
            f"KV pool, tokens, over the {at}",
            (
                _series("the pool", "have", points, lambda each: each.pool_tokens),
                _series(
                    "the promise", "need", points, lambda each: Range.exactly(each.required_tokens)
                ),
            ),
            own=own,
            across=across,
            upwards=_short,
        )
        reserve = chart(
            f"reserve, GiB, over the {at}",
            (
                _series("the reserve", "have", points, lambda each: each.available_gib),
                _series("needed", "need", points, lambda each: each.needed_gib),
            ),
            own=own,
            across=across,
            upwards=lambda amount: f"{amount:.1f}",
        )
        yield from (each for each in (pool, reserve) if each is not None)


def _series(
    name: str, kind: str, points: Sequence[Point], quantity: Callable[[Point], Range]
) -> Series:
    return Series(name=name, kind=kind, points=tuple((each.at, quantity(each)) for each in points))


def _promised(plan: Plan) -> str:
    serve = plan.profile.serve
    context = serve.context if isinstance(serve.context, str) else f"{serve.context:,}"
    return f"{serve.concurrency} x {context}"


def _engine(plan: Plan) -> str:
    engine = plan.profile.engine
    build = f" ({engine.build})" if engine.build else ""
    return f"{engine.name} {engine.version}{build}"


_UNKNOWN = ("not known", "")


def _spread(known: Range, form: str) -> tuple[str, str]:
    """The best estimate, and the range below it where there is one: a row that long would be cut."""
    low, best, high = (form.format(each) for each in (known.low, known.best, known.high))
    return best, "" if low == high else f"{low} to {high}"


def _order(known: Range) -> str:
    """What a column is sorted by: exact to more digits than it shows."""
    return f"{known.best:.3f}"


def _fraction(amount: float) -> str:
    return f"{amount:.2f}"


def _short(amount: float) -> str:
    """Tokens along an edge."""
    if abs(amount) >= 1_000_000:  # noqa: PLR2004 - millions from a million on
        return f"{amount / 1e6:.1f}M"
    return f"{amount / 1e3:.0f}k" if abs(amount) >= 1000 else f"{amount:.0f}"  # noqa: PLR2004 - and thousands
