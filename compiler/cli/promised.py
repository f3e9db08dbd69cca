"""The promise that a command is held to: options in, one line out."""

from __future__ import annotations

from attrs import frozen

from compiler.plan import Plan
from compiler.profile import AUTO
from compiler.quantities import counted
from compiler.value import Value


@frozen(eq=False, repr=False)
class Promise(Value):
    """Requests at once, and the tokens of each; the server's own context where that is `None`."""

    concurrency: int
    context: int | None

    def said(self, plan: Plan | None) -> str:
        """What was promised, and by which options it is said; empty where nobody knows the context."""
        if plan is None or (self.context is None and plan.profile.serve.context == AUTO):
            return ""
        requests = counted(self.concurrency, "request")
        if self.context is not None:
            return f"{requests} of {self.context:,} tokens at once"
        if plan.model is None:
            return f"{requests} of full context{' at once' if self.concurrency > 1 else ''}"
        tokens = f"{plan.profile.serve.tokens:,} tokens"
        if self.concurrency == 1:
            return (
                f"1 request of full context, {tokens}; `--concurrency` and `--context` say another"
            )
        return f"{requests} of full context, {tokens}, at once"
