"""GPUs of one host: a card is of one kind, whoever uses it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from compiler.checks.neighbours.hosts import Host, Resident, Where, places
from compiler.checks.neighbours.sharing import numbered
from compiler.diagnostics import Diagnostic, error


def gpus_of_two_kinds(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Two services that are planned for one card as two kinds: one of the plans is for another host, or another index.

    Each kind is held against each other once.
    """
    if len({_kind(each) for each in host.residents}) == 1:
        return
    told: set[frozenset[str]] = set()
    for mine, theirs in combinations(host.residents, 2):
        kinds = frozenset({_kind(mine), _kind(theirs)})
        both = frozenset(mine.footprint.gpus or ()) & frozenset(theirs.footprint.gpus or ())
        if len(kinds) == 1 or not both or kinds in told:
            continue
        told.add(kinds)
        from compiler.catalog.slices import APART, is_slice  # noqa: PLC0415 - of a fault
        from compiler.checks.neighbours.apart import own_indices  # noqa: PLC0415 - as above

        sliced = any(is_slice(each) for each in kinds)
        apart = f"{own_indices((mine, theirs), host)}; `nvidia-smi` counts its cards"
        yield error(
            "gpu-two-kinds",
            f"{numbered(both)} of `{host.name}` cannot be both `{_kind(mine)}` and `{_kind(theirs)}`",
            **places(
                *(
                    where(each.name).primary(
                        "gpus.kind",
                        text=f"`{each.name}`: {numbered(each.footprint.gpus or ())}",
                    )
                    for each in (mine, theirs)
                )
            ),
            notes=(
                f"`{mine.name}` and `{theirs.name}` are planned for one card, and memory is worked out for each by its kind",
            ),
            help=(
                APART if sliced else apart,
                "or set `gpus.kind` of both to what is there; a target's name is a host's",
            ),
            path="gpus.kind",
            between=(mine.service, theirs.service),
        )


def _kind(resident: Resident) -> str:
    return resident.plan.profile.gpus.kind
