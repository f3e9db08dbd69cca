"""What a service comes to beside the others: the findings that stand between services go in with it."""

from __future__ import annotations

from attrs import frozen

from compiler.accept import accepted_of
from compiler.diagnostics import Diagnostic, error_codes, listed
from compiler.judged import Checked, Judged, Verdict
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Standing(Value):
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
        """What refuses a service whose memory is not refused, or what of it is accepted; empty where the word says all."""
        verdict = self.judged.verdict
        if not self._codes or verdict is Verdict.REFUSED:
            codes = () if self.judged.plan is None else accepted_of(self.judged.plan)
            return f"accepted: {', '.join(codes)}" if codes else ""
        memory = "not planned" if self.judged.plan is None else f"memory: {verdict.value}"
        return f"by {listed(self._codes)}; {memory}"

    @property
    def _codes(self) -> tuple[str, ...]:
        return error_codes(self.findings)


def standings(checked: Checked) -> tuple[Standing, ...]:
    """Every service, with those findings that stand between it and others."""
    return tuple(
        Standing(
            judged=each,
            beside=tuple(
                found
                for found in checked.diagnostics
                if (each.profile_name, each.target_name or "") in found.between
            ),
        )
        for each in checked.judged
    )
