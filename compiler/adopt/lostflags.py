"""A flag of a launch that no profile can hold, such as `-tp`, goes in; what was meant by it comes out."""

from __future__ import annotations

from attrs import evolve

from compiler.adopt.advice import in_flags
from compiler.checks.table import find_flag, flags_of
from compiler.diagnostics import Diagnostic
from compiler.engines.adopting import Carried
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.plan import Option


def meant_for_lost(lost: Diagnostic, carried: Carried, release: Release) -> Diagnostic:
    """The finding, with the flag that the release has for it, where it has one."""
    if find_flag(release, carried.flag) is not None:
        return lost
    from compiler.checks.meant import flag_meant  # noqa: PLC0415 - only a mistake pays for it

    option = Option(flag=carried.flag, values=(), setting="")
    _, advice = flag_meant(option, release=release, outcome="")
    meant = in_flags(evolve(lost, help=advice), flags_of(ENGINES[release.engine], release, None))
    return meant if advice else lost
