"""How a unit stands: what should run, what does, and whatever is not as a switch left it."""

from __future__ import annotations

from attrs import frozen

from compiler.diagnostics import Diagnostic, warning
from compiler.host.intent import edited, running_generation, silent
from compiler.host.links import links_of
from compiler.host.live import Live
from compiler.host.names import drop_ins_of, dropped_in
from compiler.host.store import Store
from compiler.host.units import UnitState
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Status(Value):
    """One unit.

    Attributes:
        is_linked: whether the manager finds our unit; not after `retire`.
        state: what systemd says; `None` in an image, and where it does not answer.
        running: the generation that runs.
        findings: what somebody should look at.
    """

    store: Store
    is_linked: bool
    state: UnitState | None
    running: int | None
    findings: tuple[Diagnostic, ...]

    @property
    def is_well(self) -> bool:
        """Whether it is as a switch leaves it. An operator's drop-in is theirs to have, and a retired unit rests."""
        if any(each.code != "unit-drop-in" for each in self.findings):
            return False
        rests = self.state is None or self.store.current is None
        return rests or (self.state is not None and self.state.active == "active")


def look_at_unit(store: Store, live: Live | None) -> Status:
    """How a unit stands. Warnings: `generation-edited`, `unit-drop-in`, `switch-unfinished`; errors: `systemd-silent`."""
    places = store.places
    findings: list[Diagnostic] = []
    state = None if live is None else live.show()
    one = store.in_use
    if one is not None and one.damage:
        findings.append(edited(one))
    if live is not None and state is None:
        findings.append(silent(places.scope, live.unreachable() or "no answer"))
    drop_ins = drop_ins_of(places, state)
    if drop_ins:
        findings.append(dropped_in(places.unit, drop_ins))
    running = None if state is None else running_generation(store, state)
    is_linked = places.unit_path in links_of(places)
    unfinished = _unfinished(store, state, is_linked=is_linked)
    if unfinished is not None:
        findings.append(unfinished)
    return Status(
        store=store, is_linked=is_linked, state=state, running=running, findings=tuple(findings)
    )


def _unfinished(store: Store, state: UnitState | None, *, is_linked: bool) -> Diagnostic | None:
    """What a run that was cut off left, or a target that a person restarts: in words."""
    current = store.current
    if not is_linked or current is None:
        return None
    running = None if state is None else running_generation(store, state)
    if store.in_use is None:
        what = f"generation {current} is current, and it is gone"
    elif state is not None and state.is_running and running is None:
        what = f"generation {current} is current, and it is not known which one runs"
    elif running not in (None, current):
        what = f"generation {current} is current, and {running} runs"
    elif store.leftovers:
        what = "a run was cut off, and left something behind"
    else:
        return None
    return warning(
        "switch-unfinished",
        f"`{store.places.unit}`: {what}",
        help=(
            "switch again, or `poolproof rollback`; where the target has `on_change` manual, restart the unit",
        ),
    )
