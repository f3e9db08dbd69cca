"""Profiles that no disk holds yet, so that they are judged before they are written."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

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
