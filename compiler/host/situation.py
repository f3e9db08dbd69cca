"""What the checks of `preflight` have in common: a target's needs, the host that is asked, and what they give."""

from __future__ import annotations

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.host.needs import Needs
from compiler.host.preflight_probe import Account, HostProbe
from compiler.host.units import Scope
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Skipped(Value):
    """A check that could not be made, and why; both complete `WHAT was not checked: WHY`."""

    what: str
    why: str


CheckResult = Diagnostic | Skipped


@frozen(kw_only=True, eq=False, repr=False)
class Situation(Value):
    """A target about to be installed.

    Attributes:
        account: who the service will run as; `None` when there is no such user.
    """

    needs: Needs
    scope: Scope
    probe: HostProbe
    account: Account | None
