"""`--bars`: the memory of each service, drawn below its verdict."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from compiler.cli.session import columns, wants_colour
from compiler.judged import Judged


def print_bars(judged: Sequence[Judged]) -> None:
    """Draw the services whose memory is known, each under its name; as wide as the terminal."""
    from compiler.bars import memory_bars  # noqa: PLC0415 - only a run that draws
    from compiler.report.drawing import drawing  # noqa: PLC0415 - as above

    width = columns()
    colour = wants_colour(sys.stdout)
    for each in judged:
        if each.plan is not None and each.plan.memory is not None:
            lines = drawing(memory_bars(each.plan.memory), width=width, colour=colour)
            heading = f"\n{each.profile_name}\n" if len(judged) > 1 else "\n"
            sys.stdout.write(heading)
            sys.stdout.writelines(f"{line}\n" for line in lines)
