"""Where a launch stands in a command."""

from __future__ import annotations

from attrs import frozen

from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Found(Value):
    """What starts the engine, and the first word that is the server's own; both are indices of words."""

    entry: int
    arguments: int
