"""The layout of a first tree: tensor parallel over all GPUs, or the next best that the check takes."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from compiler.catalog import Catalog
from compiler.checks.memory import UNLOADABLE
from compiler.judged import Checked
from compiler.memory.outcome import MEMORY_CODES
from compiler.starter import FirstService, layouts


ABOUT_MEMORY = MEMORY_CODES | {UNLOADABLE}
"""What refuses a layout that is too large, and would be taken on more GPUs or for a smaller promise."""


_UNFITTED = "fit-unknown"


def laid_out(
    wanted: FirstService, catalog: Catalog, *, judge: Callable[[FirstService], Checked]
) -> FirstService:
    """The same with a layout that passes where tensor parallel alone is refused for more than its memory.

    Where none passes, one that only memory refuses: other options mend that. Where there is none of these, as it was. Where
    no fraction can be fitted, as for a model that nobody described.
    """
    checked = judge(wanted)
    if any(each.code == _UNFITTED for each in checked.all_diagnostics):
        return laid_out(evolve(wanted, is_described=False), catalog, judge=judge)
    faults = _besides_memory(checked)
    model, _ = catalog.model(wanted.model)
    if not faults or model is None:
        return wanted
    nearly: FirstService | None = None
    for each in layouts(model, wanted.count):
        tried = evolve(wanted, layout=evolve(each, because=" and ".join(faults)))
        found = judge(tried)
        if not found.refused:
            return tried
        if nearly is None and not _besides_memory(found):
            nearly = tried
    return nearly or wanted


def _besides_memory(checked: Checked) -> tuple[str, ...]:
    """What refuses it and is not about memory."""
    return tuple(
        each.summary
        for each in checked.all_diagnostics
        if each.is_error and each.code not in ABOUT_MEMORY
    )
