"""What a launch command says of its server: read here where nothing stands around it, else by `pasted`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.engines.known import ENGINES
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.adopt.launch import Launch
    from compiler.facts import Gpu


@frozen(kw_only=True, eq=False, repr=False)
class Said(Value):
    """What a command says.

    Attributes:
        words: the server's own, its variables in front.
        version: its release: the one asked for, the one that its image names, or the newest that takes its flags.
        sees: the GPUs of one host that it is given; `None` where it may have all of them.
        sees_of_amd: the same where they are AMD's, which go by more variables.
        of_slice: whether it is given a slice of a GPU.
        assumed: what it does not say.
        hidden: the secrets in what it names.
        launch: as `adopt` found it; `None` for a plain command, which that reader was not asked about.
    """

    engine: str
    words: tuple[str, ...]
    version: str
    sees: int | None = None
    sees_of_amd: int | None = None
    of_slice: bool = False
    assumed: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    launch: Launch | None = None

    def sees_of(self, gpu: Gpu | None) -> int | None:
        """The GPUs of one host that it is given, of that kind."""
        is_amd = gpu is not None and gpu.compute_capability.startswith("gfx")
        return self.sees_of_amd if is_amd else self.sees


_MOST_WORDS = 200
"""More are left to `adopt`'s reader, which says how many a launch may have."""
_OPEN = frozenset("$`")
"""What a shell would have filled in: `adopt`'s reader says what is missing."""


def plain_command(words: Sequence[str], *, engine: tuple[str, str] | None) -> Said | None:
    """What a command says that begins with the engine, of a release that is named; `None` for every other.

    `adopt`'s reader, which knows of variables, containers, and wrappers, takes half as long as the verdict.
    """
    if (
        engine is None
        or len(words) > _MOST_WORDS
        or any(not _OPEN.isdisjoint(word) for word in words)
    ):
        return None
    known = ENGINES.get(engine[0])
    found = None if known is None else known.find_launch(words)
    if found is None or not _begins(words[: found.entry]):
        return None
    return Said(engine=engine[0], words=tuple(words), version=engine[1])


def _begins(front: Sequence[str]) -> bool:
    """Whether nothing stands before the engine but the Python that runs it."""
    return not front or (
        list(front[1:]) == ["-m"] and PurePosixPath(front[0]).name.startswith("python")
    )
