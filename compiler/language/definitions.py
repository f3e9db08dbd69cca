"""The documents of a graph go in; every claim they lay to a setting comes out, by the setting's path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, error
from compiler.language.directives import DIRECTIVES
from compiler.language.graph import Graph
from compiler.language.load import Document
from compiler.language.shapes import say_value
from compiler.origins import Definition, ItemOrigin, Level, SettingPath, dotted
from compiler.same import Same


if TYPE_CHECKING:
    from compiler.language.spans import TomlPath


EDITS = ("prepend", "append", "remove")
"""The keys of a list edit."""

_LEVEL_PREFIX: Mapping[Level, SettingPath] = {
    Level.DEFAULTS: ("defaults",),
    Level.PLAIN: (),
    Level.FORCE: ("force",),
}

ListSettings = frozenset[SettingPath]
"""The settings that are lists; a part `*` stands for any key."""


class Effect(Enum):
    """What a definition does to its setting."""

    VALUE = "value"
    EDIT = "edit"
    TABLE = "table"
    REMOVAL = "removal"


@frozen(kw_only=True, eq=False)
class Claim:
    """What one file says of one setting. Two claims are never the same one, however alike.

    Attributes:
        profile: the profile that lays the claim.
        level: the level it is laid at.
        path: the setting, or the table.
        value: as in `Definition`.
        kind: what the claim does.
        document: the profile's file.
        at: where the claim stands in it.
    """

    profile: str
    level: Level
    path: SettingPath
    value: object
    kind: Effect
    document: Document
    at: TomlPath

    @property
    def definition(self) -> Definition:
        """The claim with its place, for who tells of it."""
        entry = self.document.spans[self.at]
        return Definition(
            path=self.path,
            profile=self.profile,
            level=self.level,
            key=entry.key or entry.value,
            value_span=entry.value,
            value=self.value,
            removes=self.kind is Effect.REMOVAL,
        )


def collect_claims(graph: Graph, *, list_settings: ListSettings) -> tuple[Claim, ...]:
    """Every claim in the graph, in the order of profile names; directives lay none, but for the root's description.

    Every table lays a claim of its own beside those of its keys, so that an empty one counts.
    """
    return tuple(
        claim
        for name in sorted(graph.documents)
        for claim in _claims(Same(graph.documents[name]), name == graph.root, list_settings)
    )


@lru_cache(maxsize=512)  # most profiles extend the same few files
def _claims(
    document: Same[Document],
    is_root: bool,  # noqa: FBT001 - `lru_cache` is quicker with what has no name
    list_settings: ListSettings,
) -> tuple[Claim, ...]:
    """All claims of one file."""
    return tuple(_laid(document.value, is_root=is_root, list_settings=list_settings))


def _laid(document: Document, *, is_root: bool, list_settings: ListSettings) -> Iterator[Claim]:
    for level, prefix in _LEVEL_PREFIX.items():
        table = document.values.get(prefix[0], {}) if prefix else document.values
        left_out = () if prefix else DIRECTIVES - ({"description"} if is_root else frozenset())
        todo: list[tuple[SettingPath, Any]] = [
            ((key,), value) for key, value in table.items() if key not in left_out
        ]
        while todo:
            path, value = todo.pop()
            kind = _kind(path, value, list_settings)
            yield Claim(
                profile=document.name,
                level=level,
                path=path,
                value=value,
                kind=kind,
                document=document,
                at=(*prefix, *path),
            )
            if kind is Effect.TABLE:
                todo += [((*path, key), below) for key, below in value.items()]
    for unset in document.directives.unset:
        yield Claim(
            profile=document.name,
            level=Level.PLAIN,
            path=unset.path,
            value=None,
            kind=Effect.REMOVAL,
            document=document,
            at=unset.at,
        )


def _kind(path: SettingPath, value: object, list_settings: ListSettings) -> Effect:
    """What a value does at its place."""
    if not isinstance(value, dict):
        return Effect.VALUE
    if value and value.keys() <= set(EDITS) and _is_list(path, list_settings):
        return Effect.EDIT
    return Effect.TABLE


def _is_list(path: SettingPath, list_settings: ListSettings) -> bool:
    """Whether a setting is one of those that are lists."""
    return path in list_settings or any(
        len(setting) == len(path)
        and all(part in ("*", key) for part, key in zip(setting, path, strict=True))
        for setting in list_settings
    )


def items_of(claim: Claim, *, edit: str | None = None) -> tuple[ItemOrigin, ...]:
    """The items of a claim's list, or of one of the lists of its edit, each with its place."""
    at = (*claim.at, *(() if edit is None else (edit,)))
    value: Any = claim.value
    items = value if edit is None else value.get(edit, ())
    return tuple(
        ItemOrigin(value=item, profile=claim.profile, span=claim.document.spans[(*at, index)].value)
        for index, item in enumerate(items)
    )


def edit_faults(claims: tuple[Claim, ...]) -> Iterator[Diagnostic]:
    """List edits whose parts are no lists: `wrong-type`."""
    for claim in claims:
        if claim.kind is not Effect.EDIT:
            continue
        parts: Any = claim.value
        for edit in EDITS:
            if not isinstance(parts.get(edit, []), list):
                place = claim.document.spans[(*claim.at, edit)]
                setting = dotted((*claim.path, edit))
                yield error(
                    "wrong-type",
                    f"`{setting}` is a list of items, not {say_value(parts[edit])}",
                    Label(place.value, "expected a list"),
                    help=(f"write it in brackets: `{edit} = [...]`",),
                    path=dotted(claim.path),
                )
