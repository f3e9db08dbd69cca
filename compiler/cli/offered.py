"""What a refused `init` may be asked for instead: its own options, each proved by the whole check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from compiler.catalog import Catalog, Kind
from compiler.cli.startlayout import ABOUT_MEMORY, COUNTS, in_groups
from compiler.cli.startplace import Place
from compiler.cli.startsettled import Settled, settled
from compiler.cli.startwanted import ONE_HOST, default_path
from compiler.facts import Model
from compiler.judged import Judged, Verdict
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.remedy.change import Remedy
from compiler.remedy.moves import NARROW_KV, with_concurrency, with_requests
from compiler.remedy.replanning import Replanner
from compiler.remedy.room import most_that_passes
from compiler.remedy.scales import Most
from compiler.remedy.trials import Trials
from compiler.report.verdicts import verdict_line
from compiler.starter import FirstService


def offers(
    place: Place, asked: FirstService, wanted: FirstService, refused: Judged
) -> Iterator[tuple[str, str]]:
    """Options that pass with the rest as asked, each with what `init` then writes: the most of a promise, the fewest GPUs.

    `asked` is what nothing was settled of yet, and `wanted` what became of it.
    """
    plan = refused.plan
    if plan is None or plan.memory is None:
        return
    trials = Trials(replan=Replanner(plan=plan, catalog=place.catalog))
    smaller = [_asked(asked, each) for each in _smaller(plan, trials)]
    smaller += _further(place, wanted, plan, than=smaller, asked=asked)
    smaller.sort(key=lambda each: _moves(each, asked) is Most.CONCURRENCY)
    counts = list(_counts(place, asked, wanted, refused))
    if not smaller and not counts:
        smaller = [_asked(asked, each) for each in _both(plan, trials)]
    others = (*_formats(asked), *_siblings(place.catalog, asked))
    tried = ((each, settled(place, each)) for each in (*smaller, *others))
    for each, done in (*tried, *counts):
        if not done.checked.refused:
            told = verdict_line(done.checked.judged[0])
            yield _option(asked, each), f"{told}{_how(done.wanted)}"


def _formats(wanted: FirstService) -> Iterator[FirstService]:
    if not wanted.kv_dtype:
        yield evolve(wanted, kv_dtype=NARROW_KV)


def _siblings(catalog: Catalog, wanted: FirstService) -> Iterator[FirstService]:
    """Checkpoints of the same model in fewer bits: those of the catalogue whose names begin with its name."""
    model, _ = catalog.model(wanted.model)
    if model is None:
        return
    short = wanted.model.rpartition("/")[2].lower()
    for id_ in catalog.ids(Kind.MODEL):
        name = id_.rpartition("/")[2]
        if id_ == wanted.model or not name.lower().startswith(f"{short}-"):
            continue
        other, _ = catalog.model(id_)
        if other is not None and other.quantization is not None and _same_shapes(model, other):
            path = wanted.model_path
            if path == default_path(wanted.model):
                path = default_path(id_)
            yield evolve(wanted, model=id_, model_path=path, custom_code=other.custom_code)


def _same_shapes(model: Model, other: Model) -> bool:
    def shapes(of: Model) -> tuple[object, ...]:
        return (of.architecture, of.layers, of.hidden, of.heads, of.vocabulary, of.context)

    return shapes(model) == shapes(other)


def _how(wanted: FirstService) -> str:
    """What comes with it that is not in the options."""
    layout = wanted.layout
    told = (
        (layout.briefly if layout is not None else "", layout is not None),
        (f"{counted(wanted.requests or 0, 'request', does='run')} at most", bool(wanted.requests)),
        ("few hosts have as many GPUs", wanted.count > ONE_HOST),
    )
    return "".join(f"; {each}" for each, is_so in told if is_so)


def _further(
    place: Place,
    wanted: FirstService,
    plan: Plan,
    *,
    than: Sequence[FirstService],
    asked: FirstService,
) -> Iterator[FirstService]:
    """The most of a promise that passes with what `eased` tries, where that is more `than` without."""
    found: list[FirstService] = []
    for each in (plan, *_grouped(place, wanted)):
        trials = Trials(replan=Replanner(plan=each, catalog=place.catalog))
        found += (_asked(asked, remedy) for remedy in _smaller(_with_few(each, trials), trials))
    for most in (Most.CONTEXT, Most.CONCURRENCY):
        known = max((_promised(each) for each in than if _moves(each, asked) is most), default=0)
        furthest = max(
            (each for each in found if _moves(each, asked) is most), key=_promised, default=None
        )
        if furthest is not None and _WORTH * known <= _promised(furthest) < _promised(asked):
            yield furthest


_WORTH = 1.25
"""Of a promise that is hardly larger, nobody gives up what else it takes."""


def _grouped(place: Place, wanted: FirstService) -> Iterator[Plan]:
    """The plans of the same with data parallel attention."""
    for each in in_groups(place, wanted):
        judged = place.judge(each).judged
        plan = judged[0].plan if judged else None
        if plan is not None and plan.memory is not None:
            yield plan


def _with_few(plan: Plan, trials: Trials) -> Plan:
    """The same with as many requests at once as are promised."""
    profile = plan.profile
    fewest = profile.parallel.share(profile.serve.concurrency)
    return trials.plan(with_requests(profile, fewest).profile)


def _promised(asked: FirstService) -> int:
    return asked.context * asked.concurrency


def _moves(asked: FirstService, wanted: FirstService) -> Most:
    return Most.CONTEXT if asked.context != wanted.context else Most.CONCURRENCY


def _smaller(plan: Plan, trials: Trials) -> Iterator[Remedy]:
    for most in (Most.CONTEXT, Most.CONCURRENCY):
        found = most_that_passes(most, plan, trials)
        if isinstance(found, Remedy):
            yield found


def _counts(
    place: Place, asked: FirstService, wanted: FirstService, refused: Judged
) -> Iterator[tuple[FirstService, Settled]]:
    """The fewest GPUs that pass, and the fewest that do so without a doubt; for a number that does not divide, fewer too."""
    more = [each for each in COUNTS if each > asked.count]
    fewer = [each for each in reversed(COUNTS) if each < asked.count]
    is_memory = wanted.layout is None and all(
        each.code in ABOUT_MEMORY for each in refused.diagnostics if each.is_error
    )
    for counts in (more,) if is_memory else (fewer[:1], more):
        for count in counts:
            each = evolve(asked, count=count)
            done = settled(place, each)
            if done.checked.refused:
                continue
            yield each, done
            if done.checked.judged[0].verdict is Verdict.PASS:
                break


def _both(plan: Plan, trials: Trials) -> Iterator[Remedy]:
    """The longest context that one request may have, with as many of them at once as then pass."""
    one = trials.plan(with_concurrency(plan.profile, 1).profile)
    longest = most_that_passes(Most.CONTEXT, one, trials)
    several = longest and most_that_passes(Most.CONCURRENCY, longest.plan, trials)
    yield from filter(None, (several,))


_FEW = 100
"""Requests up to which every one counts."""


def _round(requests: int, *, asked: int) -> int:
    """The number as somebody would write it, its first two figures; what was asked for stays."""
    if requests < _FEW or requests == asked:
        return requests
    step: int = 10 ** (len(str(requests)) - 2)
    return requests // step * step


def _asked(wanted: FirstService, remedy: Remedy) -> FirstService:
    profile = remedy.plan.profile
    return evolve(
        wanted,
        context=profile.serve.tokens,
        concurrency=_round(profile.serve.concurrency, asked=wanted.concurrency),
    )


def _option(wanted: FirstService, asked: FirstService) -> str:
    pairs = {
        "--model": (wanted.model, asked.model),
        "--kv-dtype": (wanted.kv_dtype, asked.kv_dtype),
        "--context": (wanted.context, asked.context),
        "--concurrency": (wanted.concurrency, asked.concurrency),
        "--count": (wanted.count, asked.count),
    }
    return " ".join(f"{name} {new}" for name, (old, new) in pairs.items() if new != old)
