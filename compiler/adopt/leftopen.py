"""A judged launch goes in; what hangs on values that are known at start only comes out as a doubt, not as a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import evolve

from compiler.adopt.adopted import Adopted, advise_variables
from compiler.diagnostics import Diagnostic, Label, Severity, Span, listed, warning
from compiler.judged import Judged, Verdict
from compiler.memory.outcome import MEMORY_CODES


_WHATEVER_IT_IS = frozenset(
    {
        "bad-value",
        "flag-unknown",
        "flag-value",
        "flag-smuggled",
        "python-missing",
        "secret-in-argv",
        "secret-in-env",
        "target-state-dir",
        "target-user",
        "variable-owned",
        "wrong-type",
    }
)
"""Findings about one flag or one value alone, or about what no flag says."""
_MOST_SHOWN = 4
_MISSED = re.compile(r"set `(--[\w-]+)")


def doubted(judged: Judged, adopted: Adopted) -> Judged:
    """A launch as far as it can be judged: `launch-open`, and what that may mend as warnings."""
    several = adopted.chosen.reading.open
    if not several:
        return judged
    flags = dict.fromkeys(f"`{each.flag}`" for each in several)
    names = listed(tuple(flags), most=_MOST_SHOWN)
    sizes = any(each.sizes for each in several)
    given = {each.flag for each in several}
    found = tuple(
        _doubted(each, names)
        for each in judged.diagnostics
        if not (sizes and each.code in MEMORY_CODES) and _asked_for(each) not in given
    )
    plan = judged.plan
    return evolve(
        judged,
        verdict=Verdict.UNKNOWN if sizes else judged.verdict,
        plan=evolve(plan, memory=None) if sizes and plan is not None else plan,
        diagnostics=(*found, _left_open(adopted, names, sizes=sizes)),
    )


def still_errors(several: Iterable[Diagnostic], adopted: Adopted) -> Iterator[Diagnostic]:
    """The errors that a launch has whatever it leaves open."""
    left = adopted.chosen.reading.open
    sizes = any(each.sizes for each in left)
    for each in several:
        is_doubt = left and (
            _doubted(each, "").is_error is False or (sizes and each.code in MEMORY_CODES)
        )
        if each.is_error and not is_doubt:
            yield each


def open_settings(adopted: Adopted) -> Iterator[tuple[str, Span | None]]:
    """What a profile does not say since the launch leaves it open, each with how to say it, and its place."""
    for each in adopted.chosen.reading.open:
        words = [adopted.launch.command.words[at] for at in each.words]
        span = words[0].span
        if each.how:
            how = each.how
        elif not each.flag.startswith("-"):
            how = "write its flags under `[flags]`"
        elif each.setting:
            how = f"set `{each.setting}`" + (
                ", and `gpus.count`"
                if "gpus.count" in adopted.unsaid and each.setting.startswith("parallel.")
                else ""
            )
        else:
            how = f"set `{each.flag.lstrip('-')}` under `[flags]`"
        told = "memory is not judged before" if each.sizes else "nothing is written of it"
        advised = "".join(f", or {one}" for one in advise_variables(adopted.launch, words=words))
        yield f"`{each.flag}` is known at start only, and {told}: {how}{advised}", span


def _asked_for(found: Diagnostic) -> str | None:
    """The flag that a finding misses: one that is there, with whatever value, is not missing."""
    told = _MISSED.match(found.help[0]) if found.help else None
    return told[1] if told is not None else None


def _doubted(found: Diagnostic, names: str) -> Diagnostic:
    if not found.is_error or found.code in _WHATEVER_IT_IS:
        return found
    note = f"it may not be so: the launch leaves {names} open"
    return evolve(found, severity=Severity.WARNING, notes=(*found.notes, note))


def _left_open(adopted: Adopted, names: str, *, sizes: bool) -> Diagnostic:
    several = adopted.chosen.reading.open
    first = several[0]
    span = adopted.launch.command.words[first.words[0]].span
    return warning(
        "launch-open",
        f"the launch leaves {names} open",
        Label(span, "known at start only") if span is not None else None,
        notes=tuple(_means(sizes=sizes)),
        help=(*(each.how for each in several if each.how), *advise_variables(adopted.launch)),
    )


def _means(*, sizes: bool) -> Iterator[str]:
    yield "a finding that depends on it is a warning, not an error"
    if sizes:
        yield "memory is not judged"
