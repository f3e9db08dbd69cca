"""The ports that one server listens on: no two sockets on one, and none that its user may not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from compiler.diagnostics import Diagnostic, error, present, warning
from compiler.engines.engine import PortUse
from compiler.engines.known import ENGINES
from compiler.most import LAST_PORT
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Argument, Target
from compiler.rules import rule


_FREE_FOR_ALL = 1024
"""Linux lets everybody listen from here on, by default."""
_LOWERED = "net.ipv4.ip_unprivileged_port_start"
_OWN, _ROOT = "serve.port", "root"


@rule("port-clash", "port-privileged")
def listened(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """What the server surely listens on; what is drawn is tried before it is taken, and not counted."""
    engine = ENGINES.get(plan.profile.engine.name)
    if engine is None:
        return
    several = engine.footprint(plan.profile, plan.release).ports
    uses = [each for each in several if each.certain and each.listens]
    yield from _clashes(plan, where, uses)
    yield from _of_root(plan, where, uses)


def _clashes(plan: Plan, where: Origins, uses: Sequence[PortUse]) -> Iterator[Diagnostic]:
    """Whoever listens first has the port, and the server ends."""
    for mine, theirs in combinations(uses, 2):
        first, last = max(mine.first, theirs.first), min(mine.last, theirs.last)
        if first > last:
            continue
        # The port of the server is what clients know: the other one moves.
        moved, kept = (mine, theirs) if theirs.setting == _OWN else (theirs, mine)
        ports = f"port {first}" if first == last else f"ports {first} to {last}"
        beside = where.label(kept.setting, kept.said) if kept.setting != moved.setting else None
        yield error(
            "port-clash",
            f"the server would listen on {ports} twice",
            where.primary(moved.setting, kept.setting, _OWN, text=moved.said),
            secondary=present(beside),
            notes=(
                *([kept.said] if beside is None else []),
                "whatever comes second finds the port taken, and the server ends",
            ),
            help=(_mended(plan, moved, kept, uses),),
            path=moved.setting,
        )
        return


def _mended(plan: Plan, moved: PortUse, kept: PortUse, uses: Sequence[PortUse]) -> str:
    """A port behind all that the server uses; where two replicas are given one, none."""
    name = moved.setting.removeprefix("flags.")
    value = plan.profile.flags.get(name)
    if moved.setting == kept.setting:
        return f"leave `{name} = {_written(value)}` out: each replica then finds a port of its own"
    free = max(each.last for each in uses) + 1
    if free + moved.last - moved.first > LAST_PORT:
        return f"set `{name}` to a port that the server does not use itself"
    # An address keeps its host.
    at = f"{value.rpartition(':')[0]}:{free}" if isinstance(value, str) and ":" in value else free
    return f"set `{name} = {_written(at)}`, or another port that the server does not use itself"


def _written(value: Argument | None) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value}"


def _of_root(plan: Plan, where: Origins, uses: Sequence[PortUse]) -> Iterator[Diagnostic]:
    """A unit that runs as a user has none of root's rights: `templates/service.j2` grants no capability."""
    target = plan.target
    user = None if target is None else _user(target)
    if user is None:
        return
    for use in uses:
        if not 0 < use.first < _FREE_FOR_ALL:
            continue
        name = use.setting.removeprefix("flags.")
        proxied = f", and let a reverse proxy listen on {use.first}" if use.setting == _OWN else ""
        yield warning(
            "port-privileged",
            f"the service may not listen on port {use.first}: it runs as {user}",
            where.primary(use.setting, _OWN, text=use.said),
            secondary=present(where.label(f"targets.{plan.target_name}.user", "not root")),
            notes=(
                f"below {_FREE_FOR_ALL} Linux lets only root listen, unless the host lowers `{_LOWERED}`",
                "the unit grants the service no capability for it",
            ),
            help=(f"set `{name}` to a port from {_FREE_FOR_ALL} on{proxied}",),
            path=use.setting,
        )


def _user(target: Target) -> str | None:
    """Whom the unit runs as, in words; `None` where that is root."""
    if target.user is not None:
        return None if target.user == _ROOT else f"`{target.user}`"
    return None if target.manager == "system" else "the user of its manager"
