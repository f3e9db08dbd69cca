"""GPUs that services of one host share: whether each still keeps its promise beside the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.checks.neighbours.hosts import Host, Places, Resident, Where, places
from compiler.checks.neighbours.sharing import (
    MOST_SHOWN,
    Sharing,
    Taker,
    numbered,
)
from compiler.diagnostics import Diagnostic, error, listed, warning
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Memory
from compiler.ranges import said, said_gib


if TYPE_CHECKING:
    from compiler.checks.neighbours.capping import Capped


_ONE_UNIT = "or the same `unit` on this target: then one of them runs at a time"


class _Told(Places):
    """What a broken promise is told with, however badly it is broken."""

    notes: tuple[str, ...]
    help: tuple[str, ...]
    path: str
    between: tuple[tuple[str, str], ...]


def shared_gpus(
    shared: Sequence[tuple[Sharing, Memory | None]],
    host: Host,
    where: Where,
    capped: Capped | None,
) -> Iterator[Diagnostic]:
    """A server takes its fraction of what is free: one that starts beside another finds less, and its pool is smaller.

    `shared` are all that share GPUs of the host, each with what is left for it.
    """
    told: set[frozenset[str]] = set()
    full: set[frozenset[str]] = set()
    for each, left in shared:
        # What has no room at all is one finding for all that are in it.
        broken = None if each.names in full else _broken(each, left, host, where, capped)
        if broken is not None:
            told.add(each.names)
            full |= {each.names} if broken.code == "gpu-overcommitted" else set()
            yield broken
    for each, _ in shared:
        if each.names not in told:
            told.add(each.names)
            yield _shared(each, host, where)


def _broken(
    sharing: Sharing, left: Memory | None, host: Host, where: Where, capped: Capped | None
) -> Diagnostic | None:
    """What becomes of a promise that holds alone. One that is broken already is told elsewhere."""
    plan = sharing.taker.resident.plan
    memory, taken = plan.memory, sharing.taken
    if memory is None or taken is None or left is None:
        return None
    result = memory_outcome(left)
    if result is Outcome.PASSES or result <= memory_outcome(memory):
        return None
    others = _listed(sharing.others)
    whose = f"`{plan.profile_name}` beside {others} on `{host.name}`"
    from compiler.checks.neighbours.capping import caps_for  # noqa: PLC0415 - where a promise is broken alone

    caps = caps_for(sharing, host, capped)
    told: _Told = {
        **_places(sharing, where),
        "notes": (
            f"free before load {said_gib(memory.free_before_load_gib)}; {others} may hold {said_gib(taken)} of it",
            (
                f"then `{plan.profile_name}` gets a pool of {said(left.pool.tokens, ',.0f')} tokens for "
                f"{left.pool.required_tokens:,}, and a reserve of {said_gib(left.reserve.available_gib)} "
                f"for {said_gib(left.reserve.needed_gib)}"
            ),
            f"on each GPU; a server takes its fraction, here {memory.fraction:g}, of what is free when it starts",
            *caps.why_none,
        ),
        "help": _or_apart(caps.help, sharing, host),
        "path": "gpus.indices",
        "between": _services(sharing),
    }
    if left.pool.tokens.high <= 0:
        return error("gpu-overcommitted", f"{whose}: no memory is left for its pool", **told)
    if result is Outcome.UNCERTAIN:
        return warning("promise-uncertain-beside", f"{whose} may not keep its promise", **told)
    return error("promise-broken-beside", f"{whose} does not keep its promise", **told)


def _shared(sharing: Sharing, host: Host, where: Where) -> Diagnostic:
    several = (sharing.taker, *sharing.others)
    return warning(
        "gpu-shared",
        f"{_listed(several)} share {numbered(sharing.gpus)} of `{host.name}`",
        **_places(sharing, where),
        notes=(
            "started one after the other, each keeps its promise by its plan as far as it does alone; "
            "loaded at once, neither finds the free memory it counts on"
            if all(each.held for each in several)
            else "nobody can say whether they fit: the memory of one of them is not known",
            "each slows the other down",
        ),
        help=_or_apart(_ordered([each.resident for each in several]), sharing, host),
        path="gpus.indices",
        between=_services(sharing),
    )


def _or_apart(ways: tuple[str, ...], sharing: Sharing, host: Host) -> tuple[str, ...]:
    """What lets them share the GPU, if anything does, and what ends the sharing."""
    from compiler.catalog.slices import APART, is_slice  # noqa: PLC0415 - where GPUs are shared
    from compiler.checks.neighbours.apart import own_indices  # noqa: PLC0415 - as above

    apart = (
        APART
        if is_slice(sharing.taker.kind)
        else own_indices([each.resident for each in (sharing.taker, *sharing.others)], host)
    )
    return (*ways, f"or {apart}" if ways else apart, _ONE_UNIT)


def _ordered(residents: Sequence[Resident]) -> tuple[str, ...]:
    """What starts them one after the other: systemd waits for a probe, and orders what one manager runs."""
    managers = {manager for manager, _ in (each.unit for each in residents)}
    probed = all(each.plan.probe is not None for each in residents)
    if len(managers) > 1 or not probed or len(residents) > MOST_SHOWN:
        return ()
    ctl = "systemctl --user" if managers == {"user"} else "systemctl"
    first, *others = sorted(f"{unit}.service" for _, unit in (each.unit for each in residents))
    before = [first]
    lines: list[str] = []
    for each in others:
        lines.append(f"`After={' '.join(before)}` to `{each}`")
        before.append(each)
    told = (
        f"where it is meant, order their starts on the host: `{ctl} edit UNIT` adds {listed(lines)}, below `[Unit]`; "
        f"it starts when {'the other has' if len(before) == 2 else 'those have'} loaded, after a reboot too"  # noqa: PLR2004
    )
    return (told,)


def _services(sharing: Sharing) -> tuple[tuple[str, str], ...]:
    return tuple(each.resident.service for each in (sharing.taker, *sharing.others))


def _places(sharing: Sharing, where: Where) -> Places:
    return places(
        *(
            where(each.resident.name).primary(
                "gpus.indices",
                "gpus.count",
                text=f"`{each.resident.name}`: {numbered(each.gpus)}",
            )
            for each in (sharing.taker, *sharing.others[:MOST_SHOWN])
        )
    )


def _listed(takers: tuple[Taker, ...]) -> str:
    return listed([f"`{each.resident.name}`" for each in takers], most=MOST_SHOWN)
