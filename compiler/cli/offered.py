"""What a refused `init` may be asked for instead: its own options, each proved by the whole check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from compiler.adopt.advice import only_in_flags
from compiler.catalog import Catalog
from compiler.diagnostics import Diagnostic
from compiler.judged import Judged
from compiler.memory.outcome import MEMORY_CODES
from compiler.pipeline import Checked
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, LIKELY, Remedy, Unhelpful
from compiler.remedy.levers import MORE_GPUS
from compiler.remedy.moves import with_concurrency
from compiler.remedy.replanning import Replanner
from compiler.remedy.room import Most, most_that_passes
from compiler.remedy.search import try_lever
from compiler.remedy.trials import Trials
from compiler.report.verdicts import verdict_line
from compiler.starter import FirstService


_OPTIONS: Mapping[str, str] = {
    "serve.context": "--context",
    "serve.concurrency": "--concurrency",
    "gpus.count": "--count",
    "engine.version": "--engine",
    "gpus.kind": "--gpu",
    "model.id": "--model",
}


def in_options(found: Diagnostic) -> Diagnostic:
    """A finding with such advice only as the options of `init` can follow."""
    if found.code in MEMORY_CODES:
        return evolve(found, help=())
    return only_in_flags(found, _OPTIONS)


def offers(
    wanted: FirstService,
    refused: Judged,
    catalog: Catalog,
    *,
    judge: Callable[[FirstService], Checked],
) -> Iterator[tuple[str, str]]:
    """Options that pass with the rest as asked, each with what comes of it: the most of a promise, the fewest GPUs."""
    plan = refused.plan
    if plan is None or plan.memory is None:
        return
    trials = Trials(replan=Replanner(plan=plan, catalog=catalog))
    alone = [each for each in _alone(plan, trials) if isinstance(each, Remedy)]
    for remedy in alone or _both(plan, trials):
        asked = _asked(wanted, remedy)
        checked = judge(asked)
        if not checked.refused:
            yield _option(wanted, asked), verdict_line(checked.judged[0])


def _alone(plan: Plan, trials: Trials) -> Iterator[Remedy | Unhelpful | None]:
    yield most_that_passes(Most.CONTEXT, plan, trials)
    yield most_that_passes(Most.CONCURRENCY, plan, trials)
    for goal in (CERTAIN, LIKELY):
        yield try_lever(MORE_GPUS, plan, trials, goal=goal)


def _both(plan: Plan, trials: Trials) -> Iterator[Remedy]:
    """The longest context that one request may have, with as many of them at once as then pass."""
    one = trials.plan(with_concurrency(plan.profile, 1).profile)
    longest = most_that_passes(Most.CONTEXT, one, trials)
    several = longest and most_that_passes(Most.CONCURRENCY, longest.plan, trials)
    yield from filter(None, (several,))


def _asked(wanted: FirstService, remedy: Remedy) -> FirstService:
    profile = remedy.plan.profile
    return evolve(
        wanted,
        context=profile.serve.tokens,
        concurrency=profile.serve.concurrency,
        count=profile.gpus.count,
    )


def _option(wanted: FirstService, asked: FirstService) -> str:
    pairs = {
        "--context": (wanted.context, asked.context),
        "--concurrency": (wanted.concurrency, asked.concurrency),
        "--count": (wanted.count, asked.count),
    }
    return " ".join(f"{name} {new}" for name, (old, new) in pairs.items() if new != old)
