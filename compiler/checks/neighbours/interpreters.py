"""Interpreters of one host: each has one release of an engine installed, whatever its services are planned for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.checks.neighbours.hosts import Host, Resident, Where, places
from compiler.diagnostics import Diagnostic, Label, error
from compiler.quantities import counted
from compiler.versions import version_key


def shared_interpreters(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Services that may run beside each other, start one interpreter, and are planned for two releases of its engine.

    Alternatives are not held against each other: one may be installed over the other before a switch, which asks for it.
    Those of the release that most are planned for are right, so that one finding a release tells the others.
    """
    starting: dict[tuple[str, str | None], list[Resident]] = {}
    for each in host.residents:
        starting.setdefault(_started(each), []).append(each)
    for (_, python), several in starting.items():
        if python is None:  # which is an error of its own
            continue
        releases: dict[object, list[Resident]] = {}
        for each in several:
            releases.setdefault(_release(each), []).append(each)
        usual, *others = sorted(releases.values(), key=len, reverse=True)
        for other in others:
            meeting = next(_meetings(usual, other), None)
            if meeting is not None:
                yield _finding(*meeting, usual, other, host=host, where=where)


def has_other_release(own: Resident, others: Sequence[Resident]) -> bool:
    """Whether one of these is planned for another release of the interpreter that a service starts."""
    return any(
        _started(each) == _started(own) and _release(each) != _release(own) for each in others
    )


def _started(resident: Resident) -> tuple[str, str | None]:
    engine = resident.plan.profile.engine
    return engine.name, engine.python


def _release(resident: Resident) -> object:
    """What two that have the same may share: another build of one release has its flags and its memory."""
    version = resident.plan.profile.engine.version
    key = version_key(version)
    return version if key is None else key[0]


def _meetings(
    some: Sequence[Resident], others: Sequence[Resident]
) -> Iterator[tuple[Resident, Resident]]:
    return ((one, other) for one in some for other in others if one.unit != other.unit)


def _finding(
    one: Resident,
    other: Resident,
    like_one: Sequence[Resident],
    like_other: Sequence[Resident],
    *,
    host: Host,
    where: Where,
) -> Diagnostic:
    engine, asked = one.plan.profile.engine, other.plan.profile.engine
    return error(
        "interpreter-shared",
        f"`{one.name}` and `{other.name}` on `{host.name}` start the same Python, and are planned for two releases of {engine.name}",
        **places(
            _label(other, like_other, where),
            _label(one, like_one, where),
            where(other.name).primary(
                "engine.python", "engine.version", text=f"both start `{engine.python}`"
            ),
        ),
        notes=(
            "an interpreter has one release installed: the other service starts with flags and memory that were judged for another",
        ),
        help=(
            f'give `{other.name}` an interpreter of its own: `engine.python = "/opt/{asked.name}-{asked.version}/bin/python"`',
            f'or one release to both: `engine.version = "{engine.version}"`',
        ),
        path="engine.python",
        between=tuple(each.service for each in (*like_one, *like_other)),
    )


def _label(resident: Resident, like: Sequence[Resident], where: Where) -> Label:
    more = len(like) - 1
    beside = f", and {counted(more, 'other')}" if more else ""
    version = resident.plan.profile.engine.version
    return where(resident.name).primary(
        "engine.version", "engine.name", text=f"`{resident.name}`{beside}: {version}"
    )
