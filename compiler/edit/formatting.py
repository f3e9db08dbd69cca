"""A profile's name in; its canonical text out, proved to say the same, or why the file is left alone."""

from __future__ import annotations

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.edit.files import refused
from compiler.edit.layout import lay_out
from compiler.edit.proof import values_differ
from compiler.language.load import Loaded, file_of
from compiler.language.syntax import parse_toml
from compiler.source import Source
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Formatted(Value):
    """One file as it stands and as it should."""

    name: str
    before: str
    after: str


def format_loaded(name: str, loaded: Loaded) -> Formatted | tuple[Diagnostic, ...]:
    """The canonical text of a profile that could be loaded; what its settings mean is not looked at.

    Errors: those that it was loaded with, when there is no document; `edit-refused` for other line ends.
    """
    document, faults = loaded
    if document is None:
        return faults
    source = document.source
    if "\r" in source.text:
        return (
            refused(
                name,
                f"the lines of `{file_of(name)}` end in CRLF",
                "save it with plain line ends, as `git` does with `* text=auto eol=lf`",
            ),
        )
    after = lay_out(source, document.spans)
    values, _ = parse_toml(Source(source.name, after))
    if values is None or values_differ(document.values, values):
        raise ValueError(f"formatting {source.name} would change what it says")
    return Formatted(name=name, before=source.text, after=after)
