"""A change in; the same with the waivers taken out that waive nothing after it."""

from __future__ import annotations

from attrs import evolve

from compiler.accept import STALE_CODE
from compiler.plan import Plan
from compiler.remedy.change import UNSET, Cost, Remedy
from compiler.remedy.objections import Rules


_TABLE = "accept"


def without_stale(remedy: Remedy) -> Remedy:
    """What it leaves stale is a part of the change: it is proved, shown and written with it."""
    stale = stale_waivers(remedy.plan)
    if not stale:
        return remedy
    profile = remedy.plan.profile
    kept = {code: why for code, why in profile.accept.items() if f"{_TABLE}.{code}" not in stale}
    taken = tuple((UNSET, f'["{each}"]') for each in stale)
    return evolve(
        remedy,
        settings=(*remedy.settings, *taken),
        plan=evolve(remedy.plan, profile=evolve(profile, accept=kept)),
        waivers=stale,
    )


def stale_waivers(plan: Plan) -> tuple[str, ...]:
    """The waivers that waive nothing, `accept.pool-uncertain`."""
    if not plan.profile.accept:
        return ()
    found = (each for each in Rules().errors(plan) if each.code == STALE_CODE)
    return tuple(each.path for each in found if each.path is not None)


def only_stale(plan: Plan) -> Remedy:
    """That they are taken out, where nothing else is wrong."""
    return without_stale(
        Remedy(settings=(), gives="", loses=(), plan=plan, cost=Cost.NOTHING, levers=())
    )
