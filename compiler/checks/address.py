"""The address the server listens on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


# Two colons at least: one alone separates a port.
_HOST = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*|[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9._-]+)?"
)


@rule("host-invalid")
def host(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A name or an address; anything else can neither be bound nor probed."""
    address = plan.profile.serve.host
    if _HOST.fullmatch(address):
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


EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - named, not bound
_KEY = "api-key"


@rule("bind-open")
def open_to_all(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Who listens on every address of a host without a key serves everybody who reaches it."""
    profile = plan.profile
    if profile.serve.host not in EVERY_ADDRESS or profile.secrets.api_key is not None:
        return
    # A raw key is an error of its own: it would stand on the command line.
    if profile.flags.get(_KEY):
        return
    yield warning(
        "bind-open",
        "the server listens on every address of its host, and asks for no key",
        where.primary("serve.host", text="every address"),
        notes=(
            "whoever reaches the host can use the model, read its settings, and flush its cache",
        ),
        help=(
            'set `secrets.api_key = { file = "/etc/poolproof/secrets/NAME.yaml" }`',
            'or set `serve.host = "127.0.0.1"`, behind something that asks',
        ),
        path="serve.host",
    )
