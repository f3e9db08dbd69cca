"""A flag of a launch that no profile can hold, such as `-tp`, or a model without one goes in; what was meant by it comes out."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.adopt.advice import in_flags
from compiler.adopt.launch import Launch, Word
from compiler.checks.table import find_flag, flags_of
from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.engines.adopting import Carried, Reading
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.plan import Option
from compiler.secrecy import is_secret


def lost(what: str, reason: str, span: Span | None) -> Diagnostic:
    """`launch-lost`, for what no profile can hold."""
    return error(
        "launch-lost",
        f"`{what}` cannot be carried: {reason}",
        Label(span, "would be lost") if span is not None else None,
        help=("take it out of the launch, or write it in another way, and adopt it again",),
    )


def stray_findings(reading: Reading, launch: Launch, *, model: Word | None) -> Iterator[Diagnostic]:
    """Each word that belongs to no flag; of the model how it is written."""
    for places in reading.lost:
        words = [launch.command.words[at] for at in places]
        what = " ".join(word.text for word in words)
        span = words[0].span if words else None
        found = lost(what, "it belongs to no flag, and the server stops at it", span)
        is_model = model is not None and words == [model]
        mend = (f"write `{behind_flag(what, launch.engine)}`",)
        yield evolve(found, help=mend) if is_model else found


def meant_for_lost(found: Diagnostic, carried: Carried, release: Release) -> Diagnostic:
    """The finding, with the flag that the release has for it, where it has one."""
    if find_flag(release, carried.flag) is not None:
        return found
    from compiler.checks.meant import flag_meant  # noqa: PLC0415 - only a mistake pays for it

    option = Option(flag=carried.flag, values=(), setting="")
    _, advice = flag_meant(option, release=release, outcome="")
    meant = in_flags(evolve(found, help=advice), flags_of(ENGINES[release.engine], release, None))
    return meant if advice else found


def strayed_model(reading: Reading, launch: Launch) -> Word | None:
    """The word right behind the start that belongs to no flag, where no model is named: other servers take it for that."""
    at = launch.found.arguments
    is_named = not any(each.startswith("model.") for each in reading.missing)
    # What is known at start only may be the flag.
    is_open = any(word.unknown for word in launch.command.words)
    if is_named or is_open or (at,) not in reading.lost:
        return None
    word = launch.command.words[at]
    return None if is_secret("model", word.text) else word


def behind_flag(model: str, engine: str) -> str:
    """How a model is written that stands behind no flag."""
    owned = ENGINES[engine].owned_flags()
    return next(f"{flag} {model}" for flag, owner in owned.items() if owner == "model.path")
