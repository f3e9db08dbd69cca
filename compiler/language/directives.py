"""What a profile file says to the compiler itself: the keys beside its settings, read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from compiler.diagnostics import Diagnostic, Label, error, printable
from compiler.language.settings import FILE_KEYS
from compiler.language.shapes import say_value
from compiler.profile import SCHEMA
from compiler.source import Source
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.language.spans import Entry, TomlPath


LEVEL_TABLES = ("defaults", "force")
"""The tables whose settings are weaker, or stronger, than the plain ones of any file."""

DIRECTIVES = frozenset({*FILE_KEYS, "description"})
"""The keys that only the top of a file may hold; none is merged."""


@frozen(eq=False, repr=False)
class Parent(Value):
    """An entry of `extends`; `at` is where it stands in its file."""

    name: str
    at: TomlPath


@frozen(eq=False, repr=False)
class Unset(Value):
    """An entry of `unset`: the setting or table to remove, as the file wrote it too; `at` as in `Parent`."""

    path: tuple[str, ...]
    at: TomlPath
    written: str


@frozen(kw_only=True, eq=False, repr=False)
class Directives(Value):
    """The directives of one file. What is wrong with them is left out here, and reported.

    Attributes:
        extends: the profiles this one extends, in the order written, which means nothing.
        unset: what this file removes of what it inherits.
        is_deployable: whether the file has a target, at any level; other files are fragments.
        targets: the names of the file's targets, of all levels.
    """

    extends: tuple[Parent, ...] = ()
    unset: tuple[Unset, ...] = ()
    is_deployable: bool = False
    targets: frozenset[str] = frozenset()


def read_directives(
    values: Mapping[str, Any], *, source: Source
) -> tuple[Directives, tuple[Diagnostic, ...]]:
    """Read the directives of one file.

    A file without `schema` is read as schema 1, now and under every later compiler, so that a fragment need not
    repeat it. Errors: `wrong-type`, `schema-unknown`, `unset-key`, `misplaced-key`.
    """
    reading = _Reading(values, source)
    reading.schema()
    reading.description()
    for level in LEVEL_TABLES:
        reading.level(level)
    targets = [table.get("targets") for table in _level_tables(values)]
    directives = Directives(
        extends=tuple(Parent(name, at) for name, at in reading.texts("extends")),
        unset=tuple(reading.unsets()),
        is_deployable=any(each not in (None, {}) for each in targets),
        targets=frozenset(name for each in targets if isinstance(each, Mapping) for name in each),
    )
    return directives, tuple(reading.faults)


def _level_tables(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The tables of settings of one file, one a level."""
    yield values
    for level in LEVEL_TABLES:
        if isinstance(values.get(level), dict):
            yield values[level]


@frozen(eq=False, repr=False, slots=False)
class _Reading(Value):
    """One file's values, with what was found wrong so far."""

    values: Mapping[str, Any]
    source: Source
    faults: list[Diagnostic] = field(factory=list)

    @cached_property
    def spans(self) -> Mapping[TomlPath, Entry]:
        """Where everything stands; only a fault asks."""
        from compiler.language.spans import index_spans  # noqa: PLC0415 - only what has something to say needs places

        return index_spans(self.source)

    def wrong_type(self, path: TomlPath, *, wanted: str, found: object) -> None:
        """A value is not of the type it must have."""
        key = str(path[0])
        summary = f"`{key}` is {wanted}, not {say_value(found)}"
        label = Label(self.spans[path].value, f"expected {wanted}")
        # What is one of a list needs brackets only.
        is_item = type(found) is str and wanted.startswith("a list")
        help_ = (f'write `{key} = ["{printable(found)}"]`',) if is_item else ()  # type: ignore[arg-type]
        self.faults.append(error("wrong-type", summary, label, help=help_, path=key))

    def schema(self) -> None:
        """`schema` is the number of the language this compiler reads."""
        schema = self.values.get("schema", SCHEMA)
        if type(schema) is not int:
            self.wrong_type(("schema",), wanted="a whole number", found=schema)
        elif schema != SCHEMA:
            self.faults.append(
                error(
                    "schema-unknown",
                    f"schema {schema} is not known to this compiler",
                    Label(self.spans["schema",].value, f"it reads schema {SCHEMA}"),
                    help=(
                        f"write `schema = {SCHEMA}`"
                        + (
                            ", or take a newer Poolproof that reads this one"
                            if schema > SCHEMA
                            else ""
                        ),
                    ),
                    path="schema",
                )
            )

    def description(self) -> None:
        """`description` is text."""
        description = self.values.get("description", "")
        if type(description) is not str:
            self.wrong_type(("description",), wanted="text", found=description)

    def level(self, level: str) -> None:
        """`defaults` and `force` are tables of settings, and of nothing else."""
        table = self.values.get(level, {})
        if not isinstance(table, dict):
            self.wrong_type((level,), wanted="a table of settings", found=table)
            return
        for key in sorted(DIRECTIVES & table.keys()):
            entry = self.spans[level, key]
            self.faults.append(
                error(
                    "misplaced-key",
                    f"`{key}` is no setting, so `{level}` cannot hold it",
                    Label(entry.key or entry.value, "belongs at the top of the file"),
                    help=(f"move `{key}` in front of the file's first table",),
                    path=f"{level}.{key}",
                )
            )

    def texts(self, key: str) -> Iterator[tuple[str, TomlPath]]:
        """The items of a list of texts, each with its place."""
        items = self.values.get(key, [])
        if type(items) is not list:
            self.wrong_type((key,), wanted="a list of texts", found=items)
            return
        for index, item in enumerate(items):
            if type(item) is str:
                yield item, (key, index)
            else:
                self.wrong_type((key, index), wanted="a list of texts", found=item)

    def unsets(self) -> Iterator[Unset]:
        """The entries of `unset` that are dotted keys."""
        unsets = tuple(self.texts("unset"))
        if not unsets:
            return
        from compiler.language.spans import split_key  # noqa: PLC0415 - few files unset anything

        for written, at in unsets:
            path = split_key(written)
            if path is not None:
                yield Unset(path, at, written)
                continue
            self.faults.append(
                error(
                    "unset-key",
                    f"`{written}` in `unset` is no dotted key",
                    Label(self.spans[at].value, "expected a key such as `memory.fraction`"),
                    help=('quote a part that holds a dot or a space, as TOML does: `env."A.B"`',),
                    path="unset",
                )
            )
