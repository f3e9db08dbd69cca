"""Which generation a rollback goes to, and whether the host still has what that needs."""

from __future__ import annotations

from attrs import evolve

from compiler.diagnostics import Diagnostic, error
from compiler.host.finding import service_in
from compiler.host.intent import Intent, checked, not_to_be_run, weigh
from compiler.host.live import Live, Systemd
from compiler.host.service import Service
from compiler.host.store import Generation, Store
from compiler.writtenplan import PLAN, read_plan


def choose_generation(store: Store, number: int | None) -> Generation | Diagnostic:
    """The generation to go back to; without a number the highest below the current one that is whole and did not fail.

    Errors: `generation-missing`.
    """
    if number is None:
        below = sorted((n for n in store.generations if n < (store.current or 0)), reverse=True)
        found = next((n for n in below if store.may_return_to(n)), None)
        if found is not None:
            return store.generations[found]
        return error(
            "generation-missing",
            f"`{store.places.unit}` has no earlier generation to go back to",
            notes=_listed(store),
            help=(
                ("name one: `poolproof rollback UNIT N`",)
                if store.generations.keys() - {store.current}
                else ()
            ),
        )
    one = store.generations.get(number)
    if one is not None:
        return one
    return error(
        "generation-missing",
        f"`{store.places.unit}` has no generation {number}",
        notes=_listed(store),
    )


def _listed(store: Store) -> tuple[str, ...]:
    rows = (
        f"generation {each.number} of {each.source}: {store.record.note(each.number).state.value}"
        + (", current" if each.number == store.current else "")
        for each in store.generations.values()
    )
    return tuple(rows) or ("it has none at all",)


def rollback_to(
    store: Store, one: Generation, *, offline: bool, checks: bool
) -> tuple[Intent, Live | None] | Diagnostic:
    """What a rollback does, and who answers for the unit. Errors: `generation-edited`, and those of `preflight`."""
    service: Service | None = service_in(one)
    if service is None or one.damage:
        return not_to_be_run(one)
    live = None if offline else Systemd(service=service)
    return intend_rollback(store, one, service, live=live, checks=checks), live


def intend_rollback(
    store: Store, one: Generation, service: Service, *, live: Live | None, checks: bool = True
) -> Intent:
    """What going back to a generation does. It ran there, with what the host had then: `checks` looks whether it has that still."""
    intent = Intent(
        store=store,
        service=service,
        source=one.source,
        number=one.number,
        staged=None,
        content=one.content(),
    )
    if one.damage:
        return evolve(intent, findings=(not_to_be_run(one),))
    intent = weigh(intent, live, replace=False)
    if live is None or intent.refused:
        return intent
    if not checks:
        return evolve(intent, skipped=(_UNASKED,))
    return _still_there(intent, one, live)


_UNASKED = "the checks of the host: as asked"


def _still_there(intent: Intent, one: Generation, live: Live) -> Intent:
    """The same with what the host has no longer. A plan that says too little of it does not keep its generation from coming back."""
    plan = read_plan(intent.content.get(PLAN, b""))
    why = plan if isinstance(plan, str) else plan.facts
    if isinstance(plan, str) or isinstance(why, str):
        return evolve(intent, skipped=(f"the checks of the host: of its `{PLAN}`: {why}",))
    found = live.check(plan, one.path, target=one.target)
    told = tuple(
        evolve(each, help=(*each.help, _ANYWAY)) if each.is_error else each
        for each in found.diagnostics
    )
    return checked(intent, evolve(found, diagnostics=told))


_ANYWAY = "to go back all the same: `poolproof rollback --unchecked`"
