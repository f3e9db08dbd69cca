"""Assertions in the comments of a case, held against what was found.

`fraction = 0.85  # error: [pool-too-small] "too small"` asserts one finding of that code whose primary place is on that line,
and whose summary holds the text. Several may stand on one line. A finding in another file is asserted at the top of the case:
`# elsewhere: warning: [build-unknown] profiles/base/x.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import frozen

from compiler.diagnostics import Diagnostic


_ONE = r"(?P<severity>error|warning): \[(?P<code>[a-z0-9-]+)\]"
_HERE = re.compile(rf'{_ONE}(?: "(?P<text>[^"]*)")?')
_ELSEWHERE = re.compile(rf'# elsewhere: {_ONE} (?P<file>\S+)(?: "(?P<text>[^"]*)")?')


@frozen(kw_only=True)
class Assertion:
    """One finding that must be there; `file` is `None` for the case itself, and `line` then says where."""

    severity: str
    code: str
    file: str | None = None
    line: int | None = None
    text: str = ""

    def accepts(self, found: Diagnostic, *, case_file: str) -> bool:
        """Whether a finding is the one that is asserted."""
        span = found.primary.span if found.primary else None
        return (
            (self.severity, self.code) == (found.severity.value, found.code)
            and self.text in found.summary
            and span is not None
            and span.file == (self.file or case_file)
            and self.line in (None, span.line)
        )

    @property
    def said(self) -> str:
        """As messages show it."""
        place = self.file or f"line {self.line}"
        return f"{place}: {self.severity}: [{self.code}] {self.text}"


def read_assertions(case: str) -> Iterator[Assertion]:
    """The assertions of a case, in the order of its lines."""
    for number, line in enumerate(case.split("\n"), 1):
        elsewhere = _ELSEWHERE.fullmatch(line.strip())
        if elsewhere:
            yield _assertion(elsewhere, file=elsewhere["file"])
            continue
        for match in _HERE.finditer(line.partition("#")[2]):
            yield _assertion(match, line=number)


def _assertion(
    match: re.Match[str], *, file: str | None = None, line: int | None = None
) -> Assertion:
    return Assertion(
        severity=match["severity"],
        code=match["code"],
        file=file,
        line=line,
        text=match["text"] or "",
    )


def mismatches(
    assertions: Iterable[Assertion], found: Iterable[Diagnostic], *, case_file: str
) -> tuple[str, ...]:
    """What is asserted and was not found, and what was found and is not asserted; each finding answers one assertion."""
    left = list(found)
    missing: list[str] = []
    for assertion in sorted(assertions, key=lambda each: -len(each.text)):
        answer = next((each for each in left if assertion.accepts(each, case_file=case_file)), None)
        if answer is None:
            missing.append(f"asserted, not found: {assertion.said}")
        else:
            left.remove(answer)
    return (*missing, *(f"found, not asserted: {_said(each)}" for each in left))


def _said(found: Diagnostic) -> str:
    span = found.primary.span if found.primary else None
    place = f"line {span.line} of {span.file}" if span else "no place"
    return f"{place}: {found.severity.value}: [{found.code}] {found.summary}"
