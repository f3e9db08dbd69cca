"""The layout of a first tree: tensor parallel over all GPUs, or the next best that the check takes."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.checks.memory import UNLOADABLE
from compiler.checks.unknown import unfitted
from compiler.cli.startplace import Place
from compiler.judged import Checked, Verdict
from compiler.memory.outcome import MEMORY_CODES
from compiler.starter import FirstService, layouts, shared_attention


ABOUT_MEMORY = MEMORY_CODES | {UNLOADABLE}
"""What refuses a layout that is too large, and would be taken on more GPUs or for a smaller promise."""

COUNTS = (1, 2, 4, 8, 16, 32)
"""Numbers of GPUs that a layout is tried on: those that hosts are sold with, and that heads and experts divide over."""


def laid_out(place: Place, wanted: FirstService) -> FirstService:
    """The same with a layout that passes where tensor parallel alone is refused for more than its memory.

    Where none passes, one that only memory refuses: other options mend that. Where there is none of these, as it was. Where
    no fraction can be fitted, as for a model that nobody described.
    """
    checked = place.judge(wanted)
    if any(each.plan is not None and unfitted(each.plan) for each in checked.judged):
        return laid_out(place, evolve(wanted, is_described=False))
    faults = _besides_memory(checked)
    model, _ = place.catalog.model(wanted.model)
    if not faults or model is None:
        return wanted
    nearly: FirstService | None = None
    for each in layouts(model, wanted.count):
        tried = evolve(wanted, layout=evolve(each, because=" and ".join(faults)))
        found = place.judge(tried)
        if not found.refused:
            return tried
        if nearly is None and not _besides_memory(found):
            nearly = tried
    return nearly or wanted


def eased(place: Place, wanted: FirstService) -> FirstService | None:
    """What keeps the whole promise where memory alone refuses it: fewer running requests, data parallel attention, or both.

    A certain one before one by the best estimate, else in this order; `None` where none passes.
    """
    refused = place.judge(wanted)
    if _besides_memory(refused) or not refused.judged:
        return None
    uncertain: FirstService | None = None
    for each in _easing(place, wanted, refused):
        found = place.judge(each)
        if found.refused:
            continue
        if found.judged[0].verdict is Verdict.PASS:
            return each
        uncertain = uncertain or each
    return uncertain


def _easing(place: Place, wanted: FirstService, refused: Checked) -> Iterator[FirstService]:
    yield from _fewer(place, wanted, refused)
    for each in in_groups(place, wanted, because=_first_fault(refused)):
        yield each
        found = place.judge(each)
        if found.refused and not _besides_memory(found):
            yield from _fewer(place, each, found)


def in_groups(place: Place, wanted: FirstService, *, because: str = "") -> Iterator[FirstService]:
    """The same in each layout of data parallel attention; none where it has a layout already, or nobody described its model."""
    model, _ = place.catalog.model(wanted.model)
    if model is None or wanted.layout is not None:
        return
    for layout in shared_attention(model, wanted.count):
        yield evolve(wanted, layout=evolve(layout, because=because))


def _first_fault(checked: Checked) -> str:
    return next(each.summary for each in checked.all_diagnostics if each.is_error)


def _fewer(place: Place, wanted: FirstService, refused: Checked) -> Iterator[FirstService]:
    """The most running requests that surely pass, then those that do by the best estimate: a power of two where that is enough."""
    plan = refused.judged[0].plan
    if plan is None or plan.memory is None:
        return
    from compiler.remedy.change import CERTAIN, LIKELY, Remedy  # noqa: PLC0415 - only what is refused
    from compiler.remedy.levers import FEWER_REQUESTS  # noqa: PLC0415 - as above
    from compiler.remedy.replanning import Replanner  # noqa: PLC0415 - as above
    from compiler.remedy.search import try_lever  # noqa: PLC0415 - as above
    from compiler.remedy.trials import Trials  # noqa: PLC0415 - as above

    trials = Trials(replan=Replanner(plan=plan, catalog=place.catalog))
    for goal in (CERTAIN, LIKELY):
        found = try_lever(FEWER_REQUESTS, plan, trials, goal=goal)
        most = found.plan.profile.serve.max_running_requests if isinstance(found, Remedy) else None
        if most is not None:
            plain = 1 << most.bit_length() - 1
            for requests in dict.fromkeys((max(plain, wanted.concurrency), most)):
                yield evolve(wanted, requests=requests, requests_because=_first_fault(refused))


def _besides_memory(checked: Checked) -> tuple[str, ...]:
    """What refuses it and is not about memory."""
    return tuple(
        each.summary
        for each in checked.all_diagnostics
        if each.is_error and each.code not in ABOUT_MEMORY
    )
