"""Which generation a rollback goes to."""

from __future__ import annotations

from compiler.diagnostics import Diagnostic, error
from compiler.host.finding import service_in
from compiler.host.intent import Intent, intend_rollback, not_to_be_run
from compiler.host.live import Live, Systemd
from compiler.host.service import Service
from compiler.host.store import Generation, Store


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
    store: Store, one: Generation, *, offline: bool
) -> tuple[Intent, Live | None] | Diagnostic:
    """What a rollback does, and who answers for the unit. Errors: `generation-edited`."""
    service: Service | None = service_in(one)
    if service is None or one.damage:
        return not_to_be_run(one)
    live = None if offline else Systemd(service=service)
    return intend_rollback(store, one, service, live=live), live
