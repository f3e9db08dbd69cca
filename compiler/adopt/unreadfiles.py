"""A file of variables that is not read goes in; what is said of it comes out, whether the launch needs the file or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.adopt.launch import Change
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.source import Source


def optional_file(path: str, *, copy: str, span: Span | None) -> Change:
    """A file that may be missing on the host as well, so that its not being here says nothing; `copy` would be read."""
    text = (
        f"which variables `{path}` sets: the file is not here, and the host may have it; the compiled unit does not load it:"
        f" put a copy at `{copy}`, or write its variables under `[env]`"
    )
    return Change(kind=ChangeKind.UNKNOWN, text=text, span=span)


def taken_over(pattern: re.Pattern[str], source: Source) -> Iterator[Change]:
    """The lines of a file that take another over, which is not followed."""
    for found in pattern.finditer(source.text):
        text = f"what `{found[0].strip()}` takes over: that file is not read"
        span = source.span(found.start(), found.end())
        yield Change(kind=ChangeKind.UNKNOWN, text=text, span=span)
