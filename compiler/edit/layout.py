"""A profile's text in; the same profile in its canonical layout out, every comment with what it belongs to.

A comment directly above a statement belongs to that; one directly below a statement, with a blank line behind it, to the
one above; one with blank lines around it goes with what follows. What opens a file so stays on top, what ends it at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field, frozen

from compiler.edit.order import key_rank, table_rank
from compiler.edit.spelling import spell_comment, spell_key, spell_value
from compiler.edit.statements import Statement, StatementKind, statements
from compiler.language.settings import find_setting
from compiler.language.spans import Entry, TomlPath
from compiler.source import Source
from compiler.value import Value


Group = list[str]
"""Comments without a blank line between them."""


@define(eq=False)
class _Item:
    """A header or a pair with its comments.

    Attributes:
        groups: the comments before it; `touching` says whether the last of them stands directly above it.
        apart: whether a blank line stands before all that.
        below: the comments directly below it.
    """

    statement: Statement
    groups: list[Group]
    touching: bool
    apart: bool
    below: Group = field(factory=list)


@define(eq=False)
class _Section:
    """A header with its pairs; the top of a file has none."""

    header: _Item | None
    pairs: list[_Item] = field(factory=list)


@frozen(eq=False, repr=False)
class _Sheet(Value):
    """A file's comments and statements, sorted out."""

    head: list[Group]
    sections: list[_Section]
    tail: list[Group]


def lay_out(source: Source, spans: Mapping[TomlPath, Entry]) -> str:
    """The canonical text of valid TOML with plain line ends; laid out again it stays as it is."""
    sheet = _sort_out(source, statements(source, spans))
    parts = ["\n\n".join("\n".join(group) for group in sheet.head)]
    parts += ["\n".join(_section_lines(each, source)) for each in _ordered(sheet.sections)]
    parts += ["\n".join(group) for group in sheet.tail]
    text = "\n\n".join(filter(None, parts))
    return f"{text}\n" if text else ""


def _sort_out(source: Source, lines: Sequence[Statement]) -> _Sheet:
    sections = [_Section(None)]
    head: list[Group] = []
    waiting: list[str] = []  # comments, and "" for a blank line, since the last item
    last: _Item | None = None
    for each in lines:
        if each.kind in (StatementKind.BLANK, StatementKind.COMMENT):
            waiting.append(spell_comment(source.text[each.start : each.end]))
            continue
        groups, above = _share_out(waiting, last)
        item = _Item(
            statement=each,
            groups=groups,
            touching=bool(waiting) and waiting[-1] != "",
            apart="" in waiting,
        )
        if last is None and groups:
            head, item.groups = _top(groups, touching=item.touching)
        if last is not None:
            last.below = above
        waiting, last = [], item
        if each.kind is StatementKind.HEADER:
            sections.append(_Section(item))
        else:
            sections[-1].pairs.append(item)
    tail, above = _share_out([*waiting, ""], last)
    if last is not None:
        last.below = above
    return _Sheet(head, sections, tail)


def _top(groups: list[Group], *, touching: bool) -> tuple[list[Group], list[Group]]:
    """What opens a file, and what already belongs to its first statement; `#:schema` is read on the first line only."""
    first, *others = groups
    if first[0].startswith("#:"):
        groups = [[first[0]], *([first[1:]] if first[1:] else []), *others]
    count = len(groups) - 1 if touching and not (groups[-1][0].startswith("#:")) else len(groups)
    return groups[:count], groups[count:]


def _share_out(waiting: Sequence[str], last: _Item | None) -> tuple[list[Group], Group]:
    """Comments in groups, and apart from those the group that belongs to the statement above."""
    groups: list[Group] = [[]]
    for line in waiting:
        if line:
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    directly_below = last is not None and bool(waiting) and waiting[0] != "" and "" in waiting
    above = groups.pop(0) if directly_below else []
    return [each for each in groups if each], above


def _ordered(sections: Sequence[_Section]) -> Iterator[_Section]:
    top, *tables = sections
    top.pairs.sort(key=lambda each: key_rank(each.statement.path))
    if top.pairs:
        yield top
    # Tables of one name keep their order, and so do the elements of an array with what is in them.
    yield from sorted(tables, key=lambda each: table_rank(_path(each)))


def _path(section: _Section) -> TomlPath:
    return () if section.header is None else section.header.statement.path


def _section_lines(section: _Section, source: Source) -> Iterator[str]:
    items = [*([section.header] if section.header else []), *section.pairs]
    before: _Item | None = None
    for item in items:
        follows_header = before is not None and before is section.header
        if before is not None and (before.below or (item.apart and not follows_header)):
            yield ""
        yield from _item_lines(item, source)
        before = item


def _item_lines(item: _Item, source: Source) -> Iterator[str]:
    for number, group in enumerate(item.groups):
        if number:
            yield ""
        yield from group
    if item.groups and not item.touching:
        yield ""
    yield _statement_text(item.statement, source)
    yield from item.below


def _statement_text(statement: Statement, source: Source) -> str:
    start, end = statement.subject
    before, subject = source.text[statement.start : start], source.text[start:end]
    comment = spell_comment(source.text[end : statement.end])
    if statement.kind is StatementKind.HEADER:
        brackets = 2 if subject.startswith("[[") else 1
        written = f"{'[' * brackets}{spell_key(subject)}{']' * brackets}"
    else:
        setting = find_setting(tuple(map(str, statement.path)))
        counts = setting is not None and setting.unit is not None
        written = f"{spell_key(before)} = {spell_value(subject, counts=counts)}"
    return f"{written}  {comment}" if comment else written
