"""What a service comes to beside the others: the findings that stand between services go in with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from compiler.diagnostics import Diagnostic, listed
from compiler.judged import Checked, Judged, Verdict
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Outcome(Value):
    """A service with all that concerns it.

    Attributes:
        judged: the service by itself.
        beside: what was found between it and others.
    """

    judged: Judged
    beside: tuple[Diagnostic, ...]

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Its own findings, and those that it shares."""
        return (*self.judged.diagnostics, *self.beside)

    @property
    def word(self) -> str:
        """`refused` where an error concerns it, else the verdict, which is about memory only."""
        return (Verdict.REFUSED if self._codes else self.judged.verdict).value

    @property
    def why(self) -> str:
        """What refuses a service whose memory is not refused; empty where the word says all."""
        verdict = self.judged.verdict
        if not self._codes or verdict is Verdict.REFUSED:
            return ""
        memory = "not planned" if self.judged.plan is None else f"memory: {verdict.value}"
        return f"by {listed(self._codes)}; {memory}"

    @property
    def _codes(self) -> list[str]:
        return codes_of(self.findings)


def codes_of(found: Sequence[Diagnostic]) -> list[str]:
    """The codes of the errors, each once."""
    return list(dict.fromkeys(each.code for each in found if each.is_error))


def outcomes(checked: Checked) -> tuple[Outcome, ...]:
    """Every service, with those findings of the tree that name it."""
    hosts: dict[str, set[str]] = {}
    for each in checked.judged:
        hosts.setdefault(each.profile_name, set()).add(each.target_name or "")
    said = {each: _said(each) for each in checked.diagnostics}
    return tuple(
        Outcome(
            judged=each,
            beside=tuple(found for found, text in said.items() if _names(text, each, hosts)),
        )
        for each in checked.judged
    )


def _said(found: Diagnostic) -> str:
    """The words in which a finding between services names them: it has no other list of them."""
    labels = (() if found.primary is None else (found.primary,)) + found.secondary
    return "\n".join((found.summary, *(each.text for each in labels)))


def _names(text: str, judged: Judged, hosts: Mapping[str, set[str]]) -> bool:
    """Whether a service is named; one with several hosts only on those that are named with it."""
    if f"`{judged.profile_name}`" not in text:
        return False
    named = {host for host in hosts[judged.profile_name] if f"`{host}`" in text}
    return not named or (judged.target_name or "") in named
