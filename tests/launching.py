"""Launches that a test adopts: texts in, what came of them out."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from compiler.adopt.adopted import Adopted, adopt
from compiler.adopt.around import Wanted
from compiler.adopt.choice import Shelf
from compiler.adopt.files import Files
from compiler.adopt.proof import prove
from compiler.adopt.reading import Read, read_file, read_words
from compiler.adopt.writing import adopted_toml
from compiler.catalog import open_catalog
from compiler.catalog.naming import model_names
from compiler.diagnostics import Diagnostic
from compiler.engines.adopting import ChangeKind
from compiler.source import Source


SHELF = Shelf(catalog=open_catalog())
NAMES = model_names(SHELF.catalog)
SERVER = "python3 -m sglang.launch_server"


@frozen(kw_only=True)
class Outcome:
    """What came of one launch: the profile's text where it was proved."""

    read: Read
    adopted: Adopted | None
    found: tuple[Diagnostic, ...]
    text: str = ""

    @property
    def codes(self) -> list[str]:
        """The codes of all findings, sorted."""
        return sorted(each.code for each in self.found)

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings by their dotted names."""
        assert self.adopted is not None, self.codes
        return {".".join(each.path): each.value for each in self.adopted.settings}

    def changes(self, kind: ChangeKind) -> list[str]:
        """What is said of one kind, each with its line."""
        assert self.adopted is not None, self.codes
        return [
            f"{each.span.line if each.span else '-'}: {each.text}"
            for each in self.adopted.changes
            if each.kind is kind
        ]


def tree(files: Mapping[str, str]) -> Files:
    """Files that are on no disk."""
    return Files(
        read=lambda path: files[path].encode() if path in files else None,
        beside=lambda folder: tuple(
            sorted(each.rpartition("/")[2] for each in files if each.rpartition("/")[0] == folder)
        ),
    )


def read_text(
    text: str,
    *,
    name: str = "launch.sh",
    files: Mapping[str, str] | None = None,
    given: Mapping[str, str] | None = None,
    line: int | None = None,
) -> Read:
    """Read a file that is on no disk."""
    return read_file(Source(name, text), files=tree(files or {}), given=given or {}, line=line)


def outcome(read: Read, *, version: str | None = "0.5.11", wanted: Wanted | None = None) -> Outcome:
    """Adopt what was read, and prove it."""
    asked = wanted or Wanted(engine=None if version is None else ("sglang", version))
    if read.launch is None:
        return Outcome(read=read, adopted=None, found=read.diagnostics)
    adopted, faults = adopt(read.launch, SHELF, asked, names=NAMES)
    found = (*read.diagnostics, *faults, *(adopted.diagnostics if adopted else ()))
    if adopted is None or any(each.is_error for each in found):
        return Outcome(read=read, adopted=adopted, found=found)
    proved = prove(adopted_toml(adopted, whole=True), adopted, SHELF.catalog)
    return Outcome(read=read, adopted=adopted, found=(*found, *proved), text=adopted_toml(adopted))


def flags(text: str, *, version: str | None = "0.5.11") -> Outcome:
    """Adopt the flags of a pasted command."""
    return outcome(read_words([*SERVER.split(), *text.split()]), version=version)
