"""Which server is meant in, what it or its log says of itself out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from compiler.diagnostics import error, reason_of
from compiler.engines.observing import Observer
from compiler.host.httpget import Address
from compiler.host.observe import (
    Observed,
    joined,
    observe_file,
    observe_health,
    observe_journal,
    observe_server,
    observe_stream,
)
from compiler.host.promised import Promised
from compiler.host.units import Scope
from compiler.listening import reached_at
from compiler.value import Value


MOST_SECRET_BYTES: Final = 2**16


@frozen(kw_only=True, eq=False, repr=False)
class MeantServer(Value):
    """The server that is meant: exactly one of unit, URL and log, where the log `-` is standard input.

    Attributes:
        secret: the file that holds its API key, where that is not the plan's.
    """

    unit: str | None = None
    url: Address | None = None
    log: Path | None = None
    scope: Scope = Scope.SYSTEM
    secret: Path | None = None


def observe(
    asked: MeantServer, *, observer: Observer, promised: Promised | None, must_answer: bool
) -> Observed:
    """Ask the server or read its log; of a unit both, and its key from the file that the plan names.

    Args:
        asked: which.
        observer: the engine's part that understands it.
        promised: its plan, where there is one.
        must_answer: whether a unit's journal is not enough.

    Errors: `server-silent`, `log-unreadable`, `log-incomplete`.
    """
    observed = _observe(asked, observer=observer, promised=promised, must_answer=must_answer)
    if promised is None or observed.start is not None or not must_answer or asked.log is not None:
        return observed
    untold = observer.untold(promised.argv)
    address = _address(promised, observer=observer) if asked.url is None else asked.url
    if untold is None or (asked.url is None and not address.is_loopback):
        return observed
    return observe_health(address, observer=observer, untold=untold)


def _observe(
    asked: MeantServer, *, observer: Observer, promised: Promised | None, must_answer: bool
) -> Observed:
    if asked.unit is not None:
        journal = observe_journal(asked.unit, scope=asked.scope, observer=observer)
        if promised is None:
            return journal  # only the plan says where it listens
        server = ask_unit(asked, asked.unit, observer=observer, promised=promised)
        if server.start is None and journal.fault is None and not must_answer:
            return journal
        return joined(server, journal)
    if asked.url is not None:
        return _ask(asked, asked.url, observer=observer, promised=promised)
    if asked.log is None:
        raise ValueError("nothing was asked for")
    if asked.log == Path("-"):
        return observe_stream(sys.stdin.buffer, observer=observer)
    return observe_file(asked.log, observer=observer)


def ask_unit(asked: MeantServer, unit: str, *, observer: Observer, promised: Promised) -> Observed:
    """What the endpoints of a unit's server tell. Errors: `server-silent`."""
    address = _address(promised, observer=observer)
    if not address.is_loopback:
        fault = error(
            "server-silent",
            f"the server of `{unit}` listens on `{address.host}` alone, which is not asked by itself",
            help=(f"say where to ask it: `--url {address.url}`",),
        )
        return Observed(start=None, source=unit, fault=fault)
    return _ask(asked, address, observer=observer, promised=promised)


def _address(promised: Promised, *, observer: Observer) -> Address:
    host, port = observer.address(promised.argv)
    return Address(scheme="http", host=reached_at(host), port=port)


def _ask(
    asked: MeantServer, address: Address, *, observer: Observer, promised: Promised | None
) -> Observed:
    path = None if promised is None else observer.secret_file(promised.argv)
    path = path if asked.secret is None else str(asked.secret)
    if path is None:
        return observe_server(address, key=None, observer=observer)
    key, why = _read_key(path, observer)
    observed = observe_server(address, key=key, observer=observer)
    if why is None:
        return observed
    note = f"going on without the API key of `{path}`: {why}"
    fault = observed.fault
    if fault is not None:
        return evolve(observed, fault=evolve(fault, notes=(*fault.notes, note)))
    return evolve(observed, notes=(*observed.notes, note))


def _read_key(path: str, observer: Observer) -> tuple[str | None, str | None]:
    """The key in a file, or why there is none; never a word of the file itself."""
    try:
        # What is no file (a pipe, a device) must not hold the run up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            text = file.read(MOST_SECRET_BYTES).decode("utf-8-sig")
    except OSError as fault:
        return None, reason_of(fault)
    except UnicodeDecodeError:
        return None, "it is not UTF-8"
    key = observer.read_key(text)
    return (key, None) if key is not None else (None, "it has no line `api-key: ...` with text")
