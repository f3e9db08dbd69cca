"""Parts of a file that are files of their own: blocks of a page, cells of a notebook, and recipes of a Makefile or a justfile."""

from __future__ import annotations

from compiler.engines.known import ENGINES


SCRIPT, PROGRAM = "part.sh", "part.py"
"""What a part is called that is a script, or a program in Python: it is read as what its name says."""
MOST_PARTS = 300
"""Of one file that speak of an engine; a long public page has thirty."""


def speaks_of_engine(text: str) -> bool:
    """Whether a text could hold a launch, told without reading it."""
    return any(name in text for name in ENGINES)
