"""Which findings are about something else than the command that a server is started by."""

from __future__ import annotations


ABOUT_PROFILES = frozenset(
    {"python-missing", "target-state-dir", "name-unwritable", "flag-duplicated", "variable-owned"}
)
"""Errors that no launch has, only a profile of one."""
ABOUT_DEPLOYMENT = frozenset({"secret-in-argv", "secret-in-env", "flag-deprecated", "bind-open"})
"""How a service is run: who reaches it, who reads its key, what a later release will drop."""
