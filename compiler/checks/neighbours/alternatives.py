"""Services of one host that give one unit: one of them runs at a time, which not everybody means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.checks.neighbours.hosts import Host, Resident, Where, places
from compiler.checks.neighbours.sharing import numbered
from compiler.diagnostics import Diagnostic, Label, warning
from compiler.service import as_unit


def replaced_units(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Alternatives are of one service: where their GPUs or ports are others, two services may be meant.

    Each is held against the first of its unit. Where both targets name the unit, it is meant.
    """
    firsts: dict[tuple[str, str], Resident] = {}
    for each in host.residents:
        first = firsts.setdefault(each.unit, each)
        differences = _differences(first, each)
        if differences and not (_is_named(first) and _is_named(each)):
            yield _replaced(first, each, differences, host=host, where=where)


def _is_named(resident: Resident) -> bool:
    return resident.plan.target is not None and resident.plan.target.unit is not None


def _differences(first: Resident, other: Resident) -> tuple[str, ...]:
    """What says that two services are meant, as sentences."""
    one, two = (each.plan.profile for each in (first, other))
    found: list[str] = []
    if one.gpus.indices and two.gpus.indices and not {*one.gpus.indices} & {*two.gpus.indices}:
        found.append(
            f"one uses {numbered(one.gpus.indices)}, the other {numbered(two.gpus.indices)}: "
            "they could run side by side"
        )
    if one.serve.port != two.serve.port:
        found.append(
            f"one listens on port {one.serve.port}, the other on {two.serve.port}: "
            "who asks for the one is not answered by the other"
        )
    return tuple(found)


def _replaced(
    first: Resident, other: Resident, differences: Sequence[str], *, host: Host, where: Where
) -> Diagnostic:
    unit, target = first.unit[1], other.plan.target_name
    return warning(
        "unit-shared",
        f"`{first.name}` and `{other.name}` replace each other on `{host.name}`: both give the unit `{unit}`",
        **places(_label(other, where), _label(first, where)),
        notes=(
            *differences,
            "a unit runs once: `poolproof switch` of one ends the other",
        ),
        help=(
            f'to have both, set `unit = "{_own_unit(other, host)}"` in `[targets.{target}]` of `{other.name}`',
            f'where one is meant to replace the other, set `unit = "{unit}"` in both targets',
        ),
        path=f"targets.{target}.unit",
        between=(first.service, other.service),
    )


def _label(resident: Resident, where: Where) -> Label:
    target = f"targets.{resident.plan.target_name}"
    text = f"`{resident.name}`: `{resident.unit[1]}.service`"
    return where(resident.name).primary(f"{target}.unit", f"{target}.kind", text=text)


def _own_unit(resident: Resident, host: Host) -> str:
    """A name that no unit of the host has: the profile's, with a number where that is taken."""
    taken = {each.unit[1] for each in host.residents}
    name = as_unit(resident.name)
    return next(
        each
        for each in (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
        if each not in taken
    )
