"""What `adopt` found goes in; it comes out on stderr, with the launch's secrets covered."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.cli.session import wants_colour, width, write_lines
from compiler.diagnostics import Diagnostic
from compiler.source import Source


if TYPE_CHECKING:
    from compiler.adopt.adopted import Adopted
    from compiler.adopt.launch import Change
    from compiler.adopt.reading import Read
    from compiler.engines.adopting import ChangeKind


def changes_of(adopted: Adopted | None) -> tuple[Change, ...]:
    """What became of the parts of a launch."""
    return adopted.changes if adopted is not None else ()


def show_findings(found: Sequence[Diagnostic], read: Read, adopted: Adopted | None) -> None:
    """Findings on stderr, in the launch's own text, with its secrets covered."""
    if not found:
        return
    from compiler.adopt.showing import cover  # noqa: PLC0415 - only this verb
    from compiler.report.counting import summary_line  # noqa: PLC0415 - as above
    from compiler.report.text import render_text  # noqa: PLC0415 - as above
    from compiler.secrecy import hide  # noqa: PLC0415 - as above

    secrets = adopted.secrets if adopted is not None else ()
    hidden = secrets_of(read, adopted)
    sources: Mapping[str, Source] = cover(read.sources, secrets, hidden=hidden)
    text = render_text(
        found,
        sources=sources,
        colour=wants_colour(sys.stderr),
        width=width(),
        terminal=sys.stderr.isatty(),
    )
    sys.stderr.write(f"{hide(text, hidden)}\n{summary_line(found)}\n")


def show_changes(adopted: Adopted | None, *, left_out: frozenset[ChangeKind] = frozenset()) -> None:
    """A line for each such part, but for some kinds."""
    from compiler.adopt.writing import place_of  # noqa: PLC0415 - only this verb
    from compiler.diagnostics import printable  # noqa: PLC0415 - as above

    told = (each for each in changes_of(adopted) if each.kind not in left_out)
    write_lines(
        (f"{each.kind.value}: {printable(each.text)}{place_of(each)}" for each in told), beside=True
    )


def secrets_of(read: Read, adopted: Adopted | None) -> frozenset[str]:
    """The secrets that are shown nowhere."""
    return adopted.hidden if adopted is not None else read.hidden
