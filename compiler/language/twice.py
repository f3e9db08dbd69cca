"""A text that sets a key a second time goes in; where it does so the first time comes out."""

from __future__ import annotations

from attrs import define

from compiler.diagnostics import Span
from compiler.language.spans import Part, Scanner, TomlPath
from compiler.source import Source


def first_place(source: Source, end: int, *, inside: bool) -> Span | None:
    """Where the key stands first that the statement before `end` sets again; `None` where it is not found.

    All in front of that statement must be valid TOML. `inside`: the key is one of an inline table.
    """
    search = _Search(source, inside=inside)
    while search.at < end and search.step():
        pass
    return search.found


@define
class _Search(Scanner):
    """Reads on to the statement that is wrong, and keeps what its keys meet.

    Attributes:
        inside: whether keys of inline tables alone are looked at.
        found: where the first key of the last statement that stood before stands first.
    """

    inside: bool = False
    found: Span | None = None

    def _statement(self) -> None:
        self.found = None
        super()._statement()

    def _header(self, parts: list[Part], *, start: int, is_array: bool) -> TomlPath:
        path: TomlPath = ()
        for part in parts:
            if path in self.last_element:
                path = (*path, self.last_element[path])
            path = (*path, part.name)
            self.found = self._known(path) or self.found
        return super()._header(parts, start=start, is_array=is_array)

    def _pair(self, table: TomlPath) -> None:
        if self.found is None and (self.opened or not self.inside):
            at, path = self.at, table
            *above, last = self._key()
            for part in above:  # as a part of longer keys it may stand often
                path = (*path, part.name)
                self.found = self._known(path) if path in self.entries else self.found
            self.found = self._known((*path, last.name)) or self.found
            self.at = at
        super()._pair(table)

    def _known(self, path: TomlPath) -> Span | None:
        """Where a key stood before that has a value or a header of its own, or was a part of a longer one."""
        entry = self.entries.get(path) or self.implied.get(path)
        if entry is None:
            return None
        is_header = entry.key is None or entry.value < entry.key
        return entry.value if is_header else entry.key
