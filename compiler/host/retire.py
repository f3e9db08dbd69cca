"""The end of a managed unit: stopped, its links gone; its generations kept, unless they are to go as well."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic
from compiler.host import troubles
from compiler.host.links import aside_of, foreign_links_of, remove_links
from compiler.host.live import Live
from compiler.host.lock import held
from compiler.host.machine import Machine
from compiler.host.names import Holder, look_at_name
from compiler.host.places import CURRENT, RECORD, Places
from compiler.host.record import write_record
from compiler.host.staging import clean, delete_generation
from compiler.host.starting import reason
from compiler.host.store import Store, read_store
from compiler.value import Value


STOP_S = 7 * 24 * 3600.0
"""The longest stop timeout that a profile may ask for; systemd ends the stop by the unit's own."""


@frozen(kw_only=True, eq=False, repr=False)
class Retired(Value):
    """What is left.

    Attributes:
        removed: the links that are gone, as paths of the host.
        deleted: whether the generations are gone.
        aside: units that a switch moved aside, the newest last: the way back to what was there before.
        foreign: somebody else's links that name the unit, with what they say.
    """

    removed: tuple[str, ...]
    deleted: bool
    aside: tuple[str, ...]
    foreign: Mapping[str, str]


def retire(
    store: Store, *, machine: Machine, live: Live | None, delete: bool
) -> Retired | Diagnostic:
    """Stop the unit where it is still ours, remove our links and `current`, have systemd forget it; with `delete` remove the generations.

    Errors: `host-busy`, `host-unwritable`, `systemd-refused`.
    """
    places = store.places
    try:
        with held(places.state) as is_free:
            again = read_store(places) if is_free else None
            if not isinstance(again, Store):
                return troubles.busy(places.unit)
            return _retire(again, machine=machine, live=live, delete=delete)
    except OSError as fault:
        return troubles.unwritable(places, fault, was=store.current)


def _retire(
    store: Store, *, machine: Machine, live: Live | None, delete: bool
) -> Retired | Diagnostic:
    places = store.places
    clean(machine, store)
    if look_at_name(places).holder is Holder.FOREIGN:
        live = None  # what runs by that name is somebody else's by now
    if live is not None:
        done = live.stop(machine, timeout_s=STOP_S)
        state = live.show()
        if not done.fine and (state is None or state.is_running):
            return troubles.refused(places.unit, reason(done), current=store.current)
    removed = remove_links(machine, places)
    if live is not None:
        done = live.reload(machine)
        if not done.fine:
            return troubles.refused(places.unit, reason(done), current=store.current)
        live.forget(machine)
    record = evolve(store.record, last=store.highest, loaded=None, started=None, invocation=None)
    if store.current is not None:
        record = record.noted(store.current, left=machine.now())
    write_record(machine, places.state, record)
    if store.current is not None:
        machine.remove(places.state / CURRENT)
        machine.sync(places.state)
    if delete:
        _delete(store, machine)
    return Retired(
        removed=removed,
        deleted=delete,
        aside=aside_of(places),
        foreign=foreign_links_of(places),
    )


def _delete(store: Store, machine: Machine) -> None:
    """Only what a switch wrote; whatever else is in the folder stays, and the folder with it."""
    places: Places = store.places
    for number in store.generations:
        delete_generation(machine, places, number=number)
    machine.remove(places.state / RECORD)
    # Where an operator put the folder elsewhere, by a link or a mount, the place is theirs.
    is_ours = not places.state.is_symlink() and not places.state.is_mount()
    if is_ours and not any(places.state.iterdir()):
        machine.remove_tree(places.state)
