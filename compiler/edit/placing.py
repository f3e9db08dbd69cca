"""New values for settings of one file in, as text; the file's text out with just these changed.

Every change is a cut: some characters give way to others. What stands elsewhere is never written anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from compiler.edit.order import table_rank
from compiler.edit.statements import Statement, StatementKind, statements
from compiler.language.load import Document
from compiler.language.spans import Entry, TomlPath
from compiler.origins import SettingPath
from compiler.value import Value


UNSET = "unset"


@frozen(kw_only=True, eq=False, repr=False)
class Assignment(Value):
    """A setting and its new value.

    Attributes:
        setting: the keys to it; for a removal those to the table, or the setting, to take away.
        written: the value as TOML; `None` takes it away.
        inherited: whether what goes also comes from other files, so that its removal has to be said.
    """

    setting: SettingPath
    written: str | None
    inherited: bool = False


@frozen(eq=False, repr=False)
class Cut(Value):
    """Characters of the old text, and what stands in their place."""

    start: int
    end: int
    text: str


def place(document: Document, assignments: Sequence[Assignment]) -> str:
    """The text of a document with new values."""
    text = document.source.text
    # From the end, so that no cut moves another; of several at one place the last is made first, and what takes text away before
    # what only adds some there.
    cuts = sorted(_Page(document).cuts(assignments), key=lambda each: (each.start, each.end))
    for cut in cuts[::-1]:
        text = text[: cut.start] + cut.text + text[cut.end :]
    return text


@frozen(eq=False, repr=False)
class _Page(Value):
    """A document with its statements."""

    document: Document
    lines: tuple[Statement, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """The statements are looked at for every assignment."""
        found = statements(self.document.source, self.document.spans)
        object.__setattr__(self, "lines", found)

    def cuts(self, assignments: Sequence[Assignment]) -> Iterator[Cut]:
        """What gives way to what; new settings of one table come together."""
        new: dict[SettingPath, list[tuple[str, str]]] = {}
        for each in assignments:
            if each.written is None:
                yield from self._removal(each)
            elif (standing := self._standing(each.setting)) is not None:
                yield Cut(*self.document.source.extent(standing.value), each.written)
            else:
                new.setdefault(each.setting[:-1], []).append((each.setting[-1], each.written))
                yield from self._taken_back(each.setting)
        yield from self._said([each for each in assignments if each.inherited])
        for table in sorted(new, key=table_rank):
            yield from self._insertions(table, new[table])

    def _standing(self, setting: SettingPath) -> Entry | None:
        """Where the file sets it, at the level that counts most."""
        levels = (("force",), (), ("defaults",))
        found = (self.document.spans.get((*level, *setting)) for level in levels)
        return next((each for each in found if each is not None), None)

    def _insertions(self, table: SettingPath, values: Sequence[tuple[str, str]]) -> Iterator[Cut]:
        pairs = [each for each in self.lines if each.kind is StatementKind.PAIR]
        lines = [f"{key} = {written}" for key, written in values]
        inline = next((each for each in pairs if each.path == table), None)
        header = next(
            (
                each
                for each in self.lines
                if each.kind is StatementKind.HEADER and each.path == table
            ),
            None,
        )
        dotted = [each for each in pairs if each.path[: len(table)] == table]
        if inline is not None:
            yield self._inside(inline, ", ".join(lines))
        elif header is not None:
            inside = [each for each in self._section(header) if each.kind is StatementKind.PAIR]
            yield self._after((inside or [header])[-1], lines)
        elif dotted:
            yield self._after(dotted[-1], [f"{'.'.join(table)}.{each}" for each in lines])
        else:
            yield self._new_table(table, lines)

    def _section(self, header: Statement) -> Iterator[Statement]:
        """The statements below a header, up to the next one."""
        for each in self.lines[self.lines.index(header) + 1 :]:
            if each.kind is StatementKind.HEADER:
                return
            yield each

    def _after(self, statement: Statement, lines: Sequence[str]) -> Cut:
        """Lines of their own behind a statement, as far in as that."""
        whole = self.document.source.text[statement.start : statement.end]
        indent = whole[: len(whole) - len(whole.lstrip(" \t"))]
        return self._lines([f"{indent}{each}" for each in lines], at=statement.end)

    def _lines(self, lines: Sequence[str], *, at: int) -> Cut:
        """Whole lines, with the line ends of the file."""
        text = self.document.source.text
        end = "\r\n" if "\r\n" in text else "\n"
        unended = 0 < at == len(text) and not text.endswith("\n")
        return Cut(at, at, (end if unended else "") + "".join(f"{each}{end}" for each in lines))

    def _inside(self, inline: Statement, pair: str) -> Cut:
        """One more pair in an inline table, or one more item in a list."""
        start, end = inline.subject
        text = self.document.source.text[start:end]
        body = text[:-1].rstrip()
        at = start + len(body)
        if len(body) == 1:
            padding = " " if text[0] == "{" else ""
            return Cut(at, end - 1, f"{padding}{pair}{padding}")
        return Cut(at, at, f" {pair}" if body.endswith(",") else f", {pair}")

    def _new_table(self, table: SettingPath, lines: Sequence[str]) -> Cut:
        """A table of its own, before the first that belongs behind it and the comment which that one has."""
        header = f"[{'.'.join(table)}]"
        for number, each in enumerate(self.lines):
            if each.kind is StatementKind.HEADER and table_rank(each.path) > table_rank(table):
                first = number
                while first and self.lines[first - 1].kind is StatementKind.COMMENT:
                    first -= 1
                return self._lines([header, *lines, ""], at=self.lines[first].start)
        return self._lines(["", header, *lines], at=len(self.document.source.text))

    def _removal(self, wanted: Assignment) -> Iterator[Cut]:
        """Its own lines and the blank ones behind them, at the end those before; a comment on a line of its own stays."""
        goes, blank = False, list[Statement]()
        for each in self.lines:
            level = each.path[:1] if each.path[:1] in (("force",), ("defaults",)) else ()
            within = each.path[: len(level) + len(wanted.setting)] == (*level, *wanted.setting)
            goes = within or (goes and each.kind is StatementKind.BLANK)
            if goes:
                yield Cut(each.start, each.end, "")
            elif each.kind is StatementKind.BLANK:
                blank.append(each)
            else:
                blank.clear()
        yield from (Cut(each.start, each.end, "") for each in blank if goes)

    def _said(self, gone: Sequence[Assignment]) -> Iterator[Cut]:
        """What is taken away that other files give, among what the file unsets."""
        if not gone:
            return
        items = ", ".join(f'"{".".join(each.setting)}"' for each in gone)
        top = [
            each for each in self.lines if each.kind is StatementKind.PAIR and self._is_top(each)
        ]
        listed = next((each for each in top if each.path == (UNSET,)), None)
        if listed is not None:
            yield self._inside(listed, items)
            return
        line = f"{UNSET} = [{items}]"
        named = [each for each in top if each.path in (("schema",), ("extends",))]
        if named:
            yield self._after(named[-1], [line])
        else:
            yield self._lines([line], at=0)

    def _taken_back(self, setting: SettingPath) -> Iterator[Cut]:
        """A file that sets what it unset before says so no more."""
        unset = self.document.directives.unset
        entry = next((each for each in unset if each.path == setting), None)
        if entry is None:
            return
        if len(unset) == 1:
            pair = next(each for each in self.lines if each.path == (UNSET,))
            yield Cut(pair.start, pair.end, "")
            return
        text = self.document.source.text
        start, end = self.document.source.extent(self.document.spans[entry.at].value)
        behind = text[end:].lstrip()
        if behind.startswith(","):
            end = len(text) - len(behind[1:].lstrip(" "))
        else:
            start = len(text[:start].rstrip().removesuffix(","))
        yield Cut(start, end, "")

    def _is_top(self, statement: Statement) -> bool:
        return not any(
            each.kind is StatementKind.HEADER and each.start < statement.start
            for each in self.lines
        )


def touched(document: Document, assignments: Sequence[Assignment]) -> frozenset[TomlPath]:
    """The paths at which a document has what assignments set, take away, or say of either."""
    named = {each.setting for each in assignments}
    unsets = any(each.written is None for each in assignments) or any(
        each.path in named for each in document.directives.unset
    )
    return frozenset(
        path
        for path in document.spans
        for setting in (*named, *([(UNSET,)] if unsets else []))
        for prefix in ((), ("force",), ("defaults",))
        if path[: len(prefix) + len(setting)] == (*prefix, *setting)
    )
