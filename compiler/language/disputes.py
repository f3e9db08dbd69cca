"""Claims that cannot be settled go in; the diagnostics that show all of them come out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, Label, Span, error, listed
from compiler.language.definitions import Claim, Effect
from compiler.language.graph import Graph
from compiler.language.settings import known_keys
from compiler.near import near
from compiler.origins import Level, SettingPath, dotted
from compiler.secrecy import is_secret
from compiler.value import Value


_LONGEST_SHOWN = 40


def set_in(setting: str | None, files: str) -> str:
    """How advice begins that has something set in files over those that dispute it."""
    return f"set `{setting}` in {files}"


def same(one: object, other: object) -> bool:
    """Whether two TOML values are the same: `1`, `1.0` and `true` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return one == other


@frozen(eq=False, repr=False)
class Disputes(Value):
    """Words the findings of one merge, which all may quote any of its files."""

    graph: Graph

    def written(self, claim: Claim) -> str:
        """The value as its author wrote it, when it is short."""
        source = self.graph.documents[claim.profile].source
        from compiler.language.spans import text_at  # noqa: PLC0415 - only what has something to say needs places

        text = text_at(claim.definition.value_span, source=source)
        if "\n" not in text and len(text) <= _LONGEST_SHOWN:
            return f"`{text}`"
        return "a list" if isinstance(claim.value, list) else "a long value"

    def claimed(self, claim: Claim) -> Label:
        """A label that says what a claim does. What may be a secret is not repeated."""
        secret = claim.kind is Effect.VALUE and _may_be_secret(claim.path, claim.value)
        match claim.kind:
            case Effect.VALUE:
                does = "sets it" if secret else f"sets it to {self.written(claim)}"
            case Effect.EDIT:
                does = "edits the list"
            case Effect.TABLE:
                does = "has a table here"
            case Effect.REMOVAL:
                does = "unsets it"
        level = {Level.DEFAULTS: " as a default", Level.PLAIN: "", Level.FORCE: " by force"}
        text = f"`{claim.profile}` {does}{level[claim.level]}"
        return Label(claim.definition.value_span, text, secret=secret)

    def conflict(self, path: SettingPath, claims: Sequence[Claim]) -> Diagnostic:
        """Claims of files that do not extend each other, and differ."""
        setting, level = dotted(path), claims[0].level
        primary, *others = map(self.claimed, claims)
        where = " under `force`" if level is Level.FORCE else ""
        settler = self._settler(claims)
        found = error(
            "merge-conflict",
            f"`{setting}` is set differently by files that do not extend each other",
            primary,
            secondary=tuple(others),
            help=(f"{set_in(setting, f'`{settler}`')}{where}; a file wins over those it extends",),
            path=setting,
        )
        return evolve(found, profiles=(settler,))

    def _settler(self, claims: Sequence[Claim]) -> str:
        """The file to set it in: the one nearest to all that claim it, which may be a fragment of many profiles."""
        made_by = {each.profile for each in claims}
        over = {name for name, above in self.graph.ancestors.items() if made_by <= above}
        nearest = [name for name in over if not over & self.graph.ancestors[name]]
        return nearest[0] if len(nearest) == 1 else self.graph.root

    def shape(self, path: SettingPath, claims: Sequence[Claim]) -> Diagnostic:
        """A value against a table."""
        setting = dotted(path)
        primary, *others = map(self.claimed, claims)
        return error(
            "merge-shape",
            f"`{setting}` is a table in one place and a value in another",
            primary,
            secondary=tuple(others),
            help=(_as_known(path),),
            path=setting,
        )

    def no_list(self, edit: Claim, *, values: Sequence[Claim]) -> Diagnostic:
        """An edit of what is no list."""
        setting = dotted(edit.path)
        return error(
            "merge-shape",
            f"`{setting}` is edited as a list and is none",
            self.claimed(edit),
            secondary=tuple(map(self.claimed, values)),
            help=("write the value itself, without `append` and `remove`",),
            path=setting,
        )

    def no_base(
        self, edit: Claim, *, unset_by: Sequence[Claim], elsewhere: Iterable[Claim]
    ) -> Diagnostic:
        """An edit where nothing is inherited; `elsewhere` are claims its file does not inherit."""
        setting = dotted(edit.path)
        strangers = sorted({each.profile for each in elsewhere})
        return error(
            "list-edit-nothing",
            f"`{edit.profile}` edits `{setting}`, but inherits no such list",
            self.claimed(edit),
            secondary=tuple(map(self.claimed, unset_by)),
            notes=tuple(
                f"`{name}` sets it, but `{edit.profile}` does not extend `{name}`"
                for name in strangers
            ),
            help=("to set the list, write it whole: `[...]`",),
            path=setting,
        )

    def no_item(self, edit: Claim, *, item: Span, base: Sequence[Claim]) -> Diagnostic:
        """A removal of an item that is not in the list which an edit applies to."""
        setting = dotted(edit.path)
        return error(
            "list-edit-nothing",
            f"`{edit.profile}` removes an item of `{setting}` that is not there",
            Label(item, "not in the list"),
            secondary=tuple(map(self.claimed, base)),
            help=("take it out of `remove`, or name an item of the list",),
            path=setting,
        )

    def unset_and_set(self, removal: Claim, own: Sequence[Claim]) -> Diagnostic:
        """A file that sets what it removes."""
        setting = dotted(removal.path)
        return error(
            "unset-and-set",
            f"`{removal.profile}` both unsets and sets `{setting}`",
            self.claimed(removal),
            secondary=tuple(map(self.claimed, _values(own))),
            help=(
                "a value wins over what its file inherits without an `unset`",
                "to replace a table, unset those of its keys that are not wanted",
            ),
            path=setting,
        )

    def unset_forced(self, removal: Claim, forced: Sequence[Claim]) -> Diagnostic:
        """A removal of what an ancestor forces."""
        setting = dotted(removal.path)
        return error(
            "unset-forced",
            f"`{setting}` cannot be unset, because it is forced",
            self.claimed(removal),
            secondary=tuple(map(self.claimed, _values(forced))),
            help=(f"take it out of `unset`, or out of `[force]` of `{forced[0].profile}`",),
            path=setting,
        )

    def unset_nothing(
        self, removal: Claim, before: Sequence[Claim], *, known: Iterable[SettingPath]
    ) -> Diagnostic:
        """A removal of what is not there; `before` are removals that did it already, `known` what is inherited."""
        setting = dotted(removal.path)
        meant = None if before else near(setting, map(dotted, known))
        return error(
            "unset-nothing",
            f"`{removal.profile}` unsets `{setting}`, but inherits no such setting",
            self.claimed(removal),
            secondary=tuple(map(self.claimed, before)),
            help=("take it out of `unset`",)
            if meant is None
            else (f"a setting with a similar name is inherited: `{meant}`",),
            path=setting,
        )


def _as_known(path: SettingPath) -> str:
    """How a setting is written that is a table in one place and a value in another."""
    keys = known_keys(path)
    if not keys:
        return "write it as a value in both, or take one of them out"
    held = "a table" if keys == ("*",) else f"a table of {listed([f'`{each}`' for each in keys])}"
    return f"write `[{dotted(path)}]` in both: it is {held}"


def _may_be_secret(path: SettingPath, value: object) -> bool:
    """Whether a setting holds a secret, as far as its name and its value tell."""
    several = value if isinstance(value, list) else [value]
    return path[0] == "secrets" or any(is_secret(path[-1], str(each)) for each in several)


def _values(claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims without those of tables, which their keys stand for; a table without keys stands for itself."""
    return [each for each in claims if each.kind is not Effect.TABLE] or claims
