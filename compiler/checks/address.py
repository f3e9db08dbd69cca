"""The address the server listens on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


@rule("host-invalid")
def host(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A name or an address; anything else can neither be bound nor probed."""
    address = plan.profile.serve.host
    # Two colons at least: one alone separates a port.
    if re.fullmatch(
        r"[A-Za-z0-9][A-Za-z0-9._-]*|[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9._-]+)?",
        address,
    ):
        return
    yield error(
        "host-invalid",
        f"`{address}` is no address to listen on",
        where.primary("serve.host", text="neither a host's name nor an address"),
        notes=("the server cannot bind it, and the readiness probe cannot reach it",),
        help=(
            "write an address of the host, `127.0.0.1` for itself alone, or `0.0.0.0` for all of them",
        ),
        path="serve.host",
    )
