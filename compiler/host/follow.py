"""The journal of one start of a unit, followed line by line; it only reads."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from compiler.host.units import Scope, UnitState, service_name
from compiler.value import Value


_BLOCK: Final = 1 << 16
_MOST_BYTES: Final = (
    1 << 20
)  # of one entry; journald cuts a line at 48 KiB, and JSON may take six bytes for one
_END_S: Final = 5.0


@frozen(kw_only=True, eq=False, repr=False)
class JournalLine(Value):
    """One line of the journal.

    Attributes:
        is_systemd: whether systemd says it about the unit, and not the unit.
    """

    text: str
    is_systemd: bool


def _matches(unit: str, state: UnitState, *, scope: Scope) -> tuple[str, ...]:
    """What tells `journalctl` which entries belong to the current start of a unit.

    What a user's unit writes bears the invocation of the user's manager, so that only the time is left to go by.
    """
    if scope is Scope.SYSTEM:
        return (
            f"_SYSTEMD_INVOCATION_ID={state.invocation}",
            "+",
            f"INVOCATION_ID={state.invocation}",
        )
    ago_s = time.monotonic() - state.started_us / 1e6
    since = f"--since=@{int(time.time() - ago_s)}"
    name = service_name(unit)
    return (since, f"_SYSTEMD_USER_UNIT={name}", "+", f"USER_UNIT={name}")


class Follower:
    """Follows the journal of one start, from its first line. Without a journal there are no lines."""

    def __init__(self, unit: str, state: UnitState, *, scope: Scope) -> None:
        """Start `journalctl` on what the unit writes, and what systemd writes about it."""
        command = ["journalctl", "--follow", "--no-tail", "--quiet", "--output=json"]
        command += _matches(unit, state, scope=scope)
        self._since_us = state.started_us
        self._rest = b""
        self._journalctl: subprocess.Popen[bytes] | None = None
        try:
            self._journalctl = subprocess.Popen(  # noqa: S603 - words, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return

    def read(self, *, within_s: float) -> Iterator[JournalLine]:
        """The lines that are there, after waiting so long for the first of them; one block at most."""
        output = None if self._journalctl is None else self._journalctl.stdout
        if output is None or not select.select([output], [], [], within_s)[0]:
            return
        block = os.read(output.fileno(), _BLOCK)
        if not block:
            self.close()
            return
        *entries, self._rest = (self._rest + block).split(b"\n")
        if len(self._rest) > _MOST_BYTES:
            self._rest = b""  # what is left of it is no JSON, and read_entry drops it
        yield from (
            line for entry in entries for line in read_entry(entry, since_us=self._since_us)
        )

    @property
    def is_open(self) -> bool:
        """Whether lines may still come."""
        return self._journalctl is not None

    def close(self) -> None:
        """End `journalctl`."""
        if self._journalctl is None:
            return
        self._journalctl.kill()
        self._journalctl.wait(timeout=_END_S)
        if self._journalctl.stdout is not None:
            self._journalctl.stdout.close()
        self._journalctl = None


def read_entry(entry: bytes, *, since_us: int = 0) -> Iterator[JournalLine]:
    """The lines of one entry of `journalctl --output=json`; none for what is no such entry, or is older."""
    try:
        fields = json.loads(entry)
    except ValueError:
        return
    if not isinstance(fields, dict) or _number(fields, "__MONOTONIC_TIMESTAMP") < since_us:
        return
    is_systemd = "CODE_FUNC" in fields or "UNIT" in fields or "USER_UNIT" in fields
    # A progress bar redraws itself with carriage returns; each of its states is a line.
    for text in _text(fields, "MESSAGE").replace("\r", "\n").split("\n"):
        if text.strip():
            yield JournalLine(text=text.rstrip(), is_systemd=is_systemd)


def _text(fields: Mapping[str, object], name: str) -> str:
    """A field as text; one with other than printable characters is a list of its bytes."""
    value = fields.get(name)
    if isinstance(value, str):
        return value
    try:
        return bytes(value).decode("utf-8", "replace") if isinstance(value, list) else ""
    except (TypeError, ValueError):
        return ""


def _number(fields: Mapping[str, object], name: str) -> int:
    text = _text(fields, name)
    return int(text) if text.isdecimal() else 0
