"""Profiles that no disk holds yet, so that they are judged before they are written."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from compiler.language.load import Reader
from compiler.value import Value


@frozen(eq=False, repr=False)
class TextReader(Value):
    """A `Reader` of texts by the names of their profiles."""

    texts: Mapping[str, str]

    def read(self, name: str) -> bytes | None:
        """As in `Reader`."""
        text = self.texts.get(name)
        return None if text is None else text.encode()

    def names(self) -> tuple[str, ...]:
        """As in `Reader`."""
        return tuple(sorted(self.texts))


@frozen(kw_only=True, eq=False, repr=False)
class BesideReader(Value):
    """A `Reader` of a tree that stands, with new profiles beside it: a file that is there counts."""

    standing: Reader
    texts: Mapping[str, str]

    def read(self, name: str) -> bytes | None:
        """As in `Reader`."""
        found = self.standing.read(name)
        return TextReader(self.texts).read(name) if found is None else found

    def names(self) -> tuple[str, ...]:
        """As in `Reader`."""
        return tuple(sorted({*self.standing.names(), *self.texts}))
