"""A file that a script writes goes in; it is read as the file it becomes, with places in the script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from attrs import evolve, frozen

from compiler.adopt.files import Files
from compiler.adopt.launch import Change, Document, Setting, Sheet
from compiler.adopt.masking import masked, unmasked
from compiler.diagnostics import Span
from compiler.source import Source
from compiler.value import Value


_T = TypeVar("_T")


@frozen(kw_only=True, eq=False, repr=False)
class Written(Value):
    """A document of a script, ready to be read.

    Attributes:
        source: its text, on the lines where it stands in the script; each part that is not known is one character.
        script: the script itself.
        signs: the parts for these characters.
        changes: what was taken for granted to come to its text.
        elsewhere: where the values stand that are put into it, as offsets into the script.
    """

    source: Source
    script: Source
    signs: Mapping[int, str]
    is_exact: bool
    changes: tuple[Change, ...] = ()
    elsewhere: tuple[tuple[int, int], ...] = ()

    def placed(self, sheet: Sheet) -> Sheet:
        """What was read of it, with the script's own places, and with what is not known as it is written."""
        others = {name: each for name, each in sheet.sources.items() if name != self.source.name}
        commands = self._mapped(sheet.commands)
        return Sheet(
            commands=tuple(
                evolve(
                    each,
                    part=self._part(before.part),
                    changes=(*each.changes, *self.changes),
                    settings=tuple(map(self._named, each.settings)),
                )
                for each, before in zip(commands, sheet.commands, strict=True)
            ),
            documents=tuple(
                evolve(each, is_exact=False, elsewhere=()) for each in self._mapped(sheet.documents)
            ),
            diagnostics=self._mapped(sheet.diagnostics),
            findings=self._mapped(sheet.findings),
            sources={**others, self.script.name: self.script},
        )

    def _part(self, span: Span | None) -> Span | None:
        """The same lines of the script: the text stands on its own."""
        is_own = span is not None and span.file == self.source.name
        return evolve(span, file=self.script.name) if span is not None and is_own else span

    def _named(self, setting: Setting) -> Setting:
        """A description names the file that is there."""
        told, end = setting.value, f"from {PurePosixPath(self.source.name).name}"
        if setting.path != ("description",) or not (isinstance(told, str) and told.endswith(end)):
            return setting
        name = PurePosixPath(self.script.name).name
        return evolve(setting, value=f"{told.removesuffix(end)}from {name}")

    def _mapped(self, value: tuple[_T, ...]) -> tuple[_T, ...]:
        read: tuple[_T, ...] = unmasked(value, self.signs, self._place)
        return read

    def _place(self, span: Span) -> Span:
        if span.file != self.source.name:
            return span
        line = min(span.line, len(self.script.line_starts))
        if self.is_exact:
            return evolve(span, file=self.script.name)
        # Its variables are replaced there, so that columns are not the same.
        found = self._found(span, line)
        if found is not None:
            return found
        text = self.script.line(line)
        first = len(text) - len(text.lstrip()) + 1
        return Span(
            file=self.script.name,
            line=line,
            column=first,
            end_line=line,
            end_column=max(first, len(text.rstrip()) + 1),
        )

    def _found(self, span: Span, line: int) -> Span | None:
        """Where a word stands as it is: on its own line, or in what is put there; rather behind the word before it."""
        start, end = self.source.extent(span)
        text, before = self.source.text[start:end], self.source.text[:start].split()[-1:]
        if not text.strip() or "\n" in text:
            return None
        first = self.script.line_starts[line - 1]
        ranges = ((first, first + len(self.script.line(line))), *self.elsewhere)
        pair = r"\s+".join(map(re.escape, (*before, text)))
        for pattern, several in (
            (rf"(?<![\w-]){pair}(?![\w.-])", ranges),
            (rf"(?<![\w.-]){re.escape(text)}(?![\w.-])", ranges),
        ):
            for from_, to in several:
                found = re.search(pattern, self.script.text[from_:to])
                if found is not None:
                    at = from_ + found.end() - len(text)
                    return self.script.span(at, at + len(text))
        return None


def prepared(document: Document, script: Source) -> Written:
    """A document of a script as a text of its own."""
    text, signs = masked(document.text)
    first = document.text.span.line if document.text.span is not None else 1
    folder, name = PurePosixPath(script.name).parent, PurePosixPath(document.name).name
    return Written(
        source=Source(str(folder / name) if name else script.name, "\n" * (first - 1) + text),
        script=script,
        signs=signs,
        is_exact=document.is_exact,
        changes=document.text.changes,
        elsewhere=document.elsewhere,
    )


def with_written(files: Files, documents: Sequence[Document]) -> Files:
    """The files of the host, and before them those that a script writes, as far as they are known."""
    told = {each.name: each.text.text.encode() for each in documents if not each.text.unknown}

    def read(path: str) -> bytes | None:
        return told[path] if path in told else files.read(path)

    # A unit that is only being written has no drop-ins.
    return Files(read=read, beside=lambda _: (), is_private=files.is_private)
