"""Profiles that are given by a test instead of a disk."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.diagnostics import Diagnostic
from compiler.language.graph import Graph, link
from compiler.language.merge import Resolved, merge_graph
from compiler.origins import Origin


class MemoryReader:
    """Reads from a mapping, and remembers what it was asked for."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        """`files` are the texts of the profiles by name."""
        self.files = files
        self.read_names: list[str] = []

    def read(self, name: str) -> bytes | None:
        """As in `load.Reader`."""
        self.read_names.append(name)
        text = self.files.get(name)
        return text.encode() if isinstance(text, str) else text

    def names(self) -> tuple[str, ...]:
        """As in `load.Reader`."""
        return tuple(sorted(self.files))


def linked(files: Mapping[str, str | bytes], root: str) -> Graph:
    """The graph of profiles with which nothing is wrong."""
    graph, diagnostics = link(MemoryReader(files), root)
    assert graph is not None, diagnostics
    return graph


def places(diagnostic: Diagnostic) -> list[str]:
    """All places of a finding as `file:line:column`, the primary first."""
    labels = (diagnostic.primary, *diagnostic.secondary)
    spans = [each.span for each in labels if each is not None]
    return [f"{each.file.removeprefix('profiles/')}:{each.line}:{each.column}" for each in spans]


LIST_SETTINGS = frozenset({("flags", "*"), ("gpus", "indices")})
"""The settings that tests of merging take for lists."""


def merged(files: Mapping[str, str | bytes], root: str = "root") -> Resolved:
    """The merge of profiles with which nothing is wrong."""
    resolved, diagnostics = merge_graph(linked(files, root), list_settings=LIST_SETTINGS)
    assert resolved is not None, diagnostics
    assert not diagnostics
    return resolved


def merge_faults(files: Mapping[str, str | bytes], root: str = "root") -> tuple[Diagnostic, ...]:
    """What is wrong with profiles that can be linked and not merged."""
    resolved, diagnostics = merge_graph(linked(files, root), list_settings=LIST_SETTINGS)
    assert resolved is None
    return diagnostics


def losers(origin: Origin) -> list[tuple[str, str]]:
    """The profile and the reason of every loser."""
    return [(each.definition.profile, each.reason) for each in origin.losers]
