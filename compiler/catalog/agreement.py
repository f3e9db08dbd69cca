"""Recorded boots of the same settings, held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from compiler.catalog.shelves import BOOT_INVALID, whole_file
from compiler.diagnostics import Diagnostic, Label, error
from compiler.facts import Boot


# Free memory differs a little from one start to the next: a tenth of a GiB is 1 % of a small pool.
TOLERANCE = 0.02


def disagreements(boots: Iterable[Boot]) -> Iterator[Diagnostic]:
    """Each boot whose pool differs from that of an earlier one of the same settings by more than a restart explains."""
    first: dict[object, Boot] = {}
    for boot in boots:
        other = first.setdefault(_settings(boot), boot)
        if abs(boot.pool_tokens - other.pool_tokens) <= TOLERANCE * other.pool_tokens:
            continue
        yield error(
            BOOT_INVALID,
            f"{boot.name} and {other.name} are of the same settings, with pools of {boot.pool_tokens:,} and {other.pool_tokens:,}",
            Label(whole_file(boot.file), "one of the two is wrong, or a setting is missing"),
            secondary=(Label(whole_file(other.file), "the other"),),
            help=("remove the one that is out of date, or write down what differs",),
        )


def _settings(boot: Boot) -> object:
    """The boot without what its log printed and where it came from; its flags beside it, since a mapping has no hash."""
    flags = None if boot.flags is None else frozenset(boot.flags.items())
    plain = evolve(
        boot,
        flags=None,
        name="",
        file="",
        source="",
        pool_tokens=1,
        free_before_load_gib=None,
        weights_gib=None,
        draft_k_gib=None,
        draft_v_gib=None,
    )
    return plain, flags
