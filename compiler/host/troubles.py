"""Why a verb of the host could not do it, as diagnostics."""

from __future__ import annotations

from compiler.diagnostics import Diagnostic, error, place_of, reason_of
from compiler.host.ending import Outcome
from compiler.host.places import CURRENT, GENERATION, Places
from compiler.host.returning import End, Returned
from compiler.host.watch import Watched


def busy(unit: str) -> Diagnostic:
    """Another run holds the lock, or was at work meanwhile."""
    return error(
        "host-busy",
        f"another switch of `{unit}` is at work, or was a moment ago",
        notes=("nothing was changed",),
        help=(
            "wait for it to end (a load takes minutes), look at `poolproof status`, then try again",
        ),
    )


def unwritable(places: Places, fault: OSError, *, was: int | None) -> Diagnostic:
    """The machine would not write."""
    now = current_now(places)
    if now == was:
        where = "nothing is current yet" if now is None else f"generation {now} is still current"
        mend = "mend that and try again; what was half written is removed then"
    else:
        what = "no generation" if now is None else f"generation {now}"
        where = f"{what} is current now, and the service was not told yet"
        mend = "mend that and run the same command again: it finishes"
    return error(
        "host-unwritable",
        f"`{places.unit}` cannot be switched: {reason_of(fault)}",
        notes=(*place_of(fault), where),
        help=(mend,),
    )


def unreadable(fault: OSError) -> Diagnostic:
    """The machine would not read."""
    return error(
        "host-unreadable",
        f"what is there cannot be read: {reason_of(fault)}",
        notes=(*place_of(fault), "nothing was changed"),
    )


def current_now(places: Places) -> int | None:
    """The number that `current` names at this moment; `None` where it names none."""
    try:
        text = str((places.state / CURRENT).readlink())
    except OSError:
        return None
    number = text.removeprefix(GENERATION)
    return int(number) if number.isdecimal() else None


def refused(unit: str, why: str, *, current: int | None) -> Diagnostic:
    """Systemd answered, and did not do it."""
    return error(
        "systemd-refused",
        f"systemd would not take the change of `{unit}`: {why}",
        notes=(f"generation {current} is current; what ran before runs on",),
        help=("`systemctl daemon-reload` by hand shows whether it is this unit or another",),
    )


def failed(unit: str, number: int, watched: Watched, returned: Returned) -> tuple[Diagnostic, ...]:
    """The load failed, or the pool is short; and what was done about it."""
    notes = (*(f"log: {line}" for line in watched.lines), _ended(unit, number, returned))
    if watched.outcome is Outcome.SHORT:
        summary = f"generation {number} of `{unit}` loaded with a pool too short for its promise: {watched.why}"
        found = error("pool-short", summary, notes=notes)
    else:
        summary = f"generation {number} of `{unit}` did not become ready: {watched.why}"
        found = error("load-failed", summary, notes=notes)
    if returned.end is not End.FAILED:
        return (found,)
    return found, _return_failed(unit, returned)


def _ended(unit: str, number: int, returned: Returned) -> str:
    back = f"generation {returned.current} is current again"
    match returned.end:
        case End.KEPT:
            return "it is left as it is; go back with `poolproof rollback`"
        case End.STOPPED:
            return f"`{unit}` was stopped: no earlier generation is known to be good"
        case End.AS_BEFORE:
            return f"{back}, and stopped as it was"
        case End.STARTING:
            return f"{back}, and starting"
        case End.RUNNING:
            return f"{back}, and ready"
        case End.FAILED:
            return f"{back}; it was current before {number}"


def _return_failed(unit: str, returned: Returned) -> Diagnostic:
    watched = returned.watched
    why = "systemd would not read it" if watched is None else watched.why
    lines = () if watched is None else tuple(f"log: {line}" for line in watched.lines)
    return error(
        "return-failed",
        f"generation {returned.current} of `{unit}`, the way back, did not become ready either: {why}",
        notes=lines,
        help=("nothing else was tried; look at the host: GPUs, disk, other services on the port",),
    )
