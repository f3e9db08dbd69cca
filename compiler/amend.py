"""A change to a profile in; its file's new text out, proved to do that and nothing else before anybody writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, Label, error
from compiler.edit.files import refused
from compiler.edit.placing import UNSET, Assignment, place
from compiler.edit.proof import stray_changes
from compiler.edit.witness import witnessed
from compiler.inputs import Inputs, resolve
from compiler.judged import Checked
from compiler.language.directives import LEVEL_TABLES
from compiler.language.graph import Graph, link
from compiler.language.load import Document, Reader, file_of, load_document
from compiler.language.spans import TomlPath
from compiler.origins import SettingPath
from compiler.pipeline import check_profiles
from compiler.plan import Plan
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Amendment(Value):
    """What to write.

    Attributes:
        profile: the profile whose promise is kept.
        settings: each with its value as TOML has it, as in a remedy.
        plan: the plan that this was found to lead to.
        file: the profile whose file is edited: itself, or one that it extends.
    """

    profile: str
    settings: tuple[tuple[str, str], ...]
    plan: Plan
    file: str


@frozen(kw_only=True, eq=False, repr=False)
class Amended(Value):
    """A proved edit.

    Attributes:
        also: the other deployable profiles that it touches.
    """

    file: str
    before: str
    after: str
    also: tuple[str, ...] = ()


@frozen(eq=False, repr=False)
class _Overlaid(Value):
    """A reader that has another text for one profile."""

    below: Reader
    texts: Mapping[str, bytes]

    def read(self, name: str) -> bytes | None:
        """As in `Reader`."""
        return self.texts[name] if name in self.texts else self.below.read(name)

    def names(self) -> tuple[str, ...]:
        """As in `Reader`."""
        return self.below.names()


def amend(wanted: Amendment, inputs: Inputs) -> Amended | tuple[Diagnostic, ...]:
    """The edit, if it changes what it is for and nothing else, and the profile then gives just the plan that was found.

    Errors: `edit-refused` for a file that is not among what the profile is made of, `edit-unproved`.
    """
    graph, faults = link(inputs.reader, wanted.profile, cache=inputs.documents)
    document = None if graph is None else graph.documents.get(wanted.file)
    if graph is None or document is None:
        return faults or (stranger(wanted.profile, wanted.file),)
    assignments = tuple(_assignments(wanted, graph))
    text = place(document, assignments)
    overlaid = _Overlaid(inputs.reader, {wanted.file: text.encode()})
    edited, _ = load_document(overlaid, wanted.file)
    strays: tuple[str, ...] = ("the file as a whole: it is TOML no more",)
    if edited is not None:
        strays = stray_changes(document, edited, assignments)
        if not strays and not witnessed(document, edited, assignments):
            strays = ("what another reader of TOML makes of it",)
    if strays:
        return (_unproved(document, f"it would also change {strays[0]}", ()),)
    after = Inputs(reader=overlaid, catalog=inputs.catalog, documents={})
    also, harmed = _neighbours(wanted, inputs, after)
    objections = (*_unkept(wanted, document, after), *_harm(document, harmed))
    if objections:
        return objections
    return Amended(file=wanted.file, before=document.source.text, after=text, also=also)


def _assignments(wanted: Amendment, graph: Graph) -> Iterator[Assignment]:
    """What is set, and what goes; of a table of which all goes that is in it, the table."""
    gone = [
        tuple(written.strip('[]"').split("."))
        for setting, written in wanted.settings
        if setting == UNSET
    ]
    others = [each for name, each in graph.documents.items() if name != wanted.file]
    for setting, written in wanted.settings:
        if setting != UNSET:
            yield Assignment(setting=tuple(setting.split(".")), written=written)
    emptied = {each[:-1] for each in gone if len(each) > 1}
    emptied -= {table for table in emptied if _below(table, graph.documents[wanted.file]) - {*gone}}
    emptied -= {table for table in emptied if any(_below(table, each) for each in others)}
    for path in dict.fromkeys(each[:-1] if each[:-1] in emptied else each for each in gone):
        inherited = any(_has(path, each) for each in others)
        yield Assignment(setting=path, written=None, inherited=inherited)


def _has(path: SettingPath, document: Document) -> bool:
    return any(each[: len(path)] == path for each in _settings(document))


def _below(table: SettingPath, document: Document) -> frozenset[TomlPath]:
    """What a file has in a table."""
    deeper = len(table) + 1
    return frozenset(
        each[:deeper]
        for each in _settings(document)
        if each[: len(table)] == table and len(each) >= deeper
    )


def _settings(document: Document) -> Iterator[TomlPath]:
    """The paths of a file without the levels they are set at."""
    return (each[1:] if each[0] in LEVEL_TABLES else each for each in document.spans)


def _unkept(wanted: Amendment, document: Document, after: Inputs) -> Iterator[Diagnostic]:
    """Whether the profile comes out otherwise than it was found to, or is refused for whatever reason."""
    checked = check_profiles([wanted.profile], after)
    plans = [each.plan for each in checked.judged if each.plan is not None]
    same = all(each.memory == wanted.plan.memory for each in plans)
    if plans and same and not checked.refused:
        return
    reasons = (*_overruled(wanted, after), *(each.summary for each in _errors(checked)))
    yield _unproved(
        document, f"`{wanted.profile}` would not be what was found", tuple(dict.fromkeys(reasons))
    )


def _overruled(wanted: Amendment, after: Inputs) -> Iterator[str]:
    """The settings that another file, or a stronger level, decides."""
    resolved, _ = resolve(wanted.profile, after)
    for setting, _ in wanted.settings:
        origin = None if resolved is None else resolved.origins.find(setting)
        if origin is not None and origin.winner.profile != wanted.file:
            span = origin.winner.value_span
            yield f"`{setting}` is decided by {span.file}:{span.line}; write it there with `--in {origin.winner.profile}`"


def _neighbours(
    wanted: Amendment, before: Inputs, after: Inputs
) -> tuple[tuple[str, ...], Mapping[str, Sequence[str]]]:
    """The other deployable profiles made of the file, and the errors that each would get."""
    if wanted.file == wanted.profile:
        return (), {}
    also, harmed = [], {}
    for name in before.reader.names():
        graph, _ = link(before.reader, name, cache=before.documents)
        if graph is None or name == wanted.profile or wanted.file not in graph.documents:
            continue
        old, new = check_profiles([name], before), check_profiles([name], after)
        if not old.judged:
            continue
        also.append(name)
        known = {each.code for each in _errors(old)}
        fresh = [each.summary for each in _errors(new) if each.code not in known]
        if fresh:
            harmed[name] = fresh
    return tuple(also), harmed


def _errors(checked: Checked) -> Iterator[Diagnostic]:
    return (each for each in checked.all_diagnostics if each.is_error)


def _harm(document: Document, harmed: Mapping[str, Sequence[str]]) -> Iterator[Diagnostic]:
    for name, summaries in harmed.items():
        yield _unproved(
            document, f"`{name}` extends it too, and would be refused", tuple(summaries)
        )


def stranger(profile: str, file: str) -> Diagnostic:
    """That a profile is not made of a file."""
    found = refused(
        file,
        f"`{profile}` does not extend `{file}`",
        "name the profile itself, or a file that it extends",
    )
    return evolve(found, primary=None)


def _unproved(document: Document, reason: str, notes: tuple[str, ...]) -> Diagnostic:
    return error(
        "edit-unproved",
        f"the change to `{file_of(document.name)}` is not written: {reason}",
        Label(document.source.span(0, 0)),
        notes=notes,
        help=("make the change by hand, and run `poolproof check`",) if not notes else (),
    )
