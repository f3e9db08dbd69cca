"""A launch and what is found in it go in; what of that is told of a launch, in its own lines, comes out."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from compiler.adopt.adopted import Adopted
from compiler.adopt.advice import in_flags
from compiler.adopt.around import UNKNOWN_GPU
from compiler.adopt.fitting import fitted
from compiler.adopt.folding import flag_name_fault
from compiler.adopt.launchfaults import entry_span
from compiler.adopt.reading import Read
from compiler.checks.outside import ABOUT_PROFILES
from compiler.diagnostics import Diagnostic
from compiler.judged import Judged


def has_gpu(adopted: Adopted) -> bool:
    """Whether the kind of GPU is known: said, or named by the launch."""
    kinds = (each.value for each in adopted.settings if each.path == ("gpus", "kind"))
    return any(each != UNKNOWN_GPU for each in kinds)


def entry_file(adopted: Adopted) -> str:
    """The file that holds the launch."""
    span = entry_span(adopted.launch)
    return span.file if span is not None else ""


def is_guess(read: Read, adopted: Adopted) -> bool:
    """Whether a launch is read in part only, so that what it does not say may stand where nobody could look."""
    unread = any(each.is_error for each in read.diagnostics)
    return unread and bool(adopted.chosen.reading.missing or adopted.chosen.reading.open)


def known_findings(read: Read, adopted: Adopted | None) -> tuple[Diagnostic, ...]:
    """What is found in a launch, without what an unread part of it may say."""
    if adopted is None:
        return ()
    is_part = is_guess(read, adopted)
    return tuple(
        each for each in adopted.diagnostics if not (is_part and each.code == "launch-incomplete")
    )


def of_launch(judged: Judged, adopted: Adopted, *, flags: Mapping[str, str]) -> Judged:
    """Without what is about a profile that is not written, and with advice in the launch's own lines."""
    by_file = adopted.chosen.reading.secrets_by_file
    lost = {
        f"flags.{each.path[1]}"
        for each in adopted.settings
        if each.path[0] == "flags" and flag_name_fault(each.path[1])
    }
    fitting = (
        fitted(in_flags(each, flags), adopted.launch.command, by_file=by_file)
        for each in judged.diagnostics
        if each.code not in ABOUT_PROFILES
        and not (each.code == "gpu-unknown" and not has_gpu(adopted))
        # Of a model that is not named a stand-in is judged, which nobody can describe.
        and not (each.code == "model-unknown" and adopted.chosen.reading.missing)
        # Of a flag that no profile can hold it is said that it is lost, and what was meant.
        and not (each.code == "flag-unknown" and each.path in lost)
    )
    kept = tuple(each for each in fitting if each is not None)
    return evolve(judged, diagnostics=kept, target_name=None)
