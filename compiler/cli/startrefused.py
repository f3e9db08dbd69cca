"""A new service that is refused: what was tried, the finding of what came nearest, and what may be asked for instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import click
from attrs import evolve

from compiler.cli.exits import Exit
from compiler.cli.inoptions import in_options
from compiler.cli.offered import offers
from compiler.cli.session import show, write_lines
from compiler.cli.startlayout import ABOUT_MEMORY, COUNTS, in_groups
from compiler.cli.startplace import Place
from compiler.cli.startsettled import Settled
from compiler.diagnostics import Diagnostic, listed
from compiler.judged import Checked, Verdict
from compiler.memory.outcome import POOL_CODES, RESERVE_CODES
from compiler.quantities import counted
from compiler.report.verdicts import verdict_lines
from compiler.starter import FirstService


_INSTEAD = "nothing was written; with the rest as it is, {}:"
_NOTHING_PASSES = (
    f"nothing was written; up to {COUNTS[-1]} GPUs of this kind were tried, also with fewer running requests, and none passes: "
    "ask for another kind, or for less"
)


def refuse(place: Place, asked: FirstService, done: Settled) -> int:
    """Say why, and what may be asked for instead, in the words of the options; `place` is as it was before anything was settled."""
    tried = _Tried(done)
    texts = place.lacking(tried.nearest)
    passing = dict(offers(place, asked, done.wanted, done.checked.judged[0]))
    found = tuple(
        in_options(each, texts, _most(passing)) for each in _about_the_promise(tried.checked)
    )
    show(found, tried.session)
    if done.wanted.layout is not None:
        write_lines((done.wanted.layout.said(done.wanted.count),), beside=True)
    write_lines(tried.said(), beside=True)
    lines = verdict_lines(tried.checked.judged)
    cut = len(found) < len(tried.checked.all_diagnostics)
    write_lines(line.partition("; reserve")[0] if cut else line for line in lines)
    if passing:
        wide = max(map(len, passing))
        rows = (f"  {option.ljust(wide)}  {gives}" for option, gives in passing.items())
        sure = all(gives.startswith(Verdict.PASS) for gives in passing.values())
        how = "each of these passes" if sure else "none of these is refused"
        write_lines((_INSTEAD.format(how), *rows), beside=True)
    elif all(each.code in ABOUT_MEMORY for each in found if each.is_error):
        write_lines((_NOTHING_PASSES,), beside=True)
    else:
        click.echo("nothing was written; mend what is said above, and ask again", err=True)
    return Exit.REFUSED


def _most(passing: Iterable[str]) -> Mapping[str, int]:
    """The largest number of each option that passes, alone or with others."""
    most: dict[str, int] = {}
    for option in passing:
        words = option.split()
        for name, value in zip(words[::2], words[1::2], strict=True):
            if value.isdigit():
                most[name] = max(int(value), most.get(name, 0))
    return most


class _Tried:
    """The layouts that were tried, each also with fewer running requests, and the one whose pool comes nearest to the promise."""

    def __init__(self, done: Settled) -> None:
        place, wanted, checked, session = done.place, done.wanted, done.checked, done.session
        self.nearest, self.checked, self.session = wanted, checked, session
        self._ways = [wanted]
        errors = [each for each in checked.all_diagnostics if each.is_error]
        # Where something else is wrong, nothing else was tried.
        if any(each.code not in ABOUT_MEMORY for each in errors) or _share(checked) is None:
            self._ways = []
            return
        for each in in_groups(place, wanted):
            judged, its_session = place.judged(each)
            self._ways.append(each)
            share = _share(judged)
            if share is not None and share > (_share(self.checked) or 0):
                self.nearest, self.checked, self.session = each, judged, its_session

    def said(self) -> Iterator[str]:
        """What was tried, on one line."""
        if not self._ways:
            return
        first, *others = self._ways
        groups = listed([str(each.layout.data) for each in others if each.layout is not None])
        grouped = f", and {_IN_GROUPS.format(groups)}" if others else ""
        nearest = f"; {_way(self.nearest)} came nearest, as said above" if others else ""
        each = "each also" if others else "also"
        yield f"tried: {_way(first)}{grouped}, {each} with fewer running requests{nearest}"


_IN_GROUPS = "data parallel attention in {} groups"


def _way(wanted: FirstService) -> str:
    layout = wanted.layout
    if layout is None:
        return f"tensor parallel over {counted(wanted.count, 'GPU')}"
    if layout.dp_attention:
        return _IN_GROUPS.format(layout.data)
    return f"the layout with `tensor = {layout.tensor}`"


def _share(checked: Checked) -> float | None:
    """How much of the promise the pool holds; `None` where its memory is not known, or something else is wrong."""
    plan = checked.judged[0].plan if checked.judged else None
    wrong = any(each.is_error and each.code not in ABOUT_MEMORY for each in checked.all_diagnostics)
    if plan is None or plan.memory is None or wrong:
        return None
    return plan.memory.pool.tokens.best / max(1, plan.memory.pool.required_tokens)


def _about_the_promise(checked: Checked) -> Sequence[Diagnostic]:
    """The findings, without those that only come of a fraction that was raised as far as it goes for the promise."""
    found = checked.all_diagnostics
    plan = checked.judged[0].plan if checked.judged else None
    is_short = any(each.is_error and each.code in POOL_CODES.values() for each in found)
    if plan is None or plan.memory is None or plan.profile.memory.fraction != "fit" or not is_short:
        return found
    return tuple(
        evolve(each, notes=tuple(note for note in each.notes if not note.startswith(_BY_PRODUCT)))
        for each in found
        if each.code not in RESERVE_CODES.values()
    )


_BY_PRODUCT = "the reserve is "
"""How a note of the pool's finding begins that is about the reserve."""
