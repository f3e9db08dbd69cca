"""What a running server, or its log, says of itself: read from a file, standard input, the journal, or its endpoints."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Final

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.engines.observing import LogReading, Observer, Start
from compiler.host.httpget import Address, Answer, get
from compiler.host.units import Scope, service_name
from compiler.value import Value


BLOCK: Final = 2**18
"""Bytes read at once: large enough for the disk to stream, small enough to stay in a core's own cache while searched."""

JOURNAL_S: Final = 300.0
"""For the whole journal of a unit; it reads some 100 MB/s."""

_SAID: Final = 1000
_UNAUTHORIZED: Final = (401, 403)


@frozen(kw_only=True, eq=False, repr=False)
class Observed(Value):
    """What was found out about one start.

    Attributes:
        source: where from, for a person (`the journal of kimi-k2.6.service`).
        notes: what is to be said about it, as sentences.
        fault: why there is no start to speak of.
    """

    start: Start | None
    source: str
    notes: tuple[str, ...] = ()
    fault: Diagnostic | None = None


def observe_file(path: Path, *, observer: Observer) -> Observed:
    """Read a log file of any size.

    Errors: `log-unreadable`, `log-incomplete`.
    """
    source = f"`{path.name}`"
    try:
        with path.open("rb", buffering=0) as file:
            reading = observer.read_log(_blocks(file))
    except OSError as fault:
        return _unreadable(f"`{path}`", reason_of(fault))
    return _observed(reading, source=source)


def observe_stream(stream: IO[bytes], *, observer: Observer) -> Observed:
    """Read a log from standard input; errors as in `observe_file`."""
    try:
        reading = observer.read_log(_blocks(stream))
    except OSError as fault:
        return _unreadable("standard input", reason_of(fault))
    return _observed(reading, source="standard input")


def observe_journal(unit: str, *, scope: Scope, observer: Observer) -> Observed:
    """Read what the journal still has of a unit; errors as in `observe_file`."""
    name = service_name(unit)
    source = f"the journal of `{name}`"
    which = "--user-unit" if scope is Scope.USER else "--unit"
    command = ("journalctl", "--no-pager", "--output=cat", which, name)
    try:
        reading, ended, said = _read_output(command, observer=observer)
    except OSError as fault:
        return _unreadable(source, f"`journalctl`: {reason_of(fault)}")
    if ended != 0:
        return _unreadable(source, said or f"`journalctl` ended with {ended}")
    observed = _observed(reading, source=source)
    if observed.fault is None or not said:
        return observed
    # A user who may not read the system's journal gets an empty one, and a hint.
    hints = " ".join(said.split())
    return evolve(observed, fault=evolve(observed.fault, notes=(*observed.fault.notes, hints)))


def _read_output(command: tuple[str, ...], *, observer: Observer) -> tuple[LogReading, int, str]:
    """Read what a command prints while it runs; with how it ended, and what it said on its standard error."""
    with (
        TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 - words, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        ) as child,
    ):
        clock = Timer(JOURNAL_S, child.kill)
        clock.start()
        try:
            reading = observer.read_log(_blocks(child.stdout) if child.stdout else ())
            ended = child.wait()
        finally:
            clock.cancel()
            child.kill()
        said.seek(0)
        return reading, ended, said.read(_SAID).decode("utf-8", "replace").strip().lower()


def observe_server(address: Address, *, key: str | None, observer: Observer) -> Observed:
    """Ask a server's endpoints. The key goes only where it stays on this machine or is encrypted.

    Errors: `server-silent`.
    """
    known = Start()
    tried: list[str] = []
    for group in observer.endpoints:
        told, failures = _ask(group, address, key=key, observer=observer)
        known = known if told is None else known.filled(told)
        tried += failures if told is None else []
    if not known.is_serving:
        return Observed(start=None, source=address.url, fault=_silent(address, tried))
    return Observed(start=known, source=address.url, notes=tuple(tried))


def observe_health(address: Address, *, observer: Observer, untold: str) -> Observed:
    """Ask a node that another one answers for whether it is ready: it tells no more.

    Errors: `server-silent`.
    """
    answer = get(address, observer.health, key=None)
    if answer.is_fine:
        return Observed(start=Start(is_serving=True), source=address.url, notes=(untold,))
    fault = error(
        "server-silent",
        f"the server at `{address.url}` is not ready",
        notes=(f"`{observer.health}`: {_why(answer, has_key=False, may_send=False)}", untold),
        help=("wait until all nodes are there: none is ready before the others",),
    )
    return Observed(start=None, source=address.url, fault=fault)


def _ask(
    group: tuple[str, ...], address: Address, *, key: str | None, observer: Observer
) -> tuple[Start | None, list[str]]:
    """What the first of some alternatives tells, and why those before it did not."""
    failures: list[str] = []
    for path in group:
        answer = get(address, path, key=key if address.keeps_secrets else None)
        told = observer.read_answer(path, body=answer.body) if answer.is_fine else None
        if told is not None:
            return told, failures
        why = _why(answer, has_key=key is not None, may_send=address.keeps_secrets)
        failures.append(f"`{path}`: {why}")
        if answer.status is None:
            break  # it would not answer the next one either
    return None, failures


def _why(answer: Answer, *, has_key: bool, may_send: bool) -> str:
    if answer.status in _UNAUTHORIZED:
        if has_key and not may_send:
            return "wants the API key, which is not sent unencrypted to another machine"
        return "wants another API key" if has_key else "wants the API key"
    return answer.failure or "answers with something else than it should"


def joined(server: Observed, journal: Observed) -> Observed:
    """The server's own account, with what only the log of the same start tells; said where it is not of the same."""
    if server.start is None or journal.start is None:
        reason = () if journal.fault is None else (journal.fault.summary,)
        return evolve(server, notes=(*server.notes, *reason))
    asked, logged = server.start, journal.start
    if not _can_be_one(asked, logged):
        other = f"{journal.source} tells of another start, and was not used"
        return evolve(server, notes=(*server.notes, other))
    # Of memory the log has every figure, the endpoints a few.
    both = evolve(
        logged.filled(asked),
        settings={**logged.settings, **asked.settings},
        version=asked.version or logged.version,
    )
    return evolve(
        server,
        start=both,
        source=f"{server.source} and {journal.source}",
        notes=(*server.notes, *journal.notes),
    )


def _can_be_one(asked: Start, logged: Start) -> bool:
    """Whether no figure of the scheduler differs. A longer context may come with the same pool."""
    pairs = (
        (asked.context, logged.context),
        (asked.running_requests, logged.running_requests),
        (asked.chunked_prefill, logged.chunked_prefill),
    )
    alike = all(one is None or other is None or one == other for one, other in pairs)
    return alike and asked.pool_tokens == logged.pool_tokens


def _observed(reading: LogReading, *, source: str) -> Observed:
    if reading.is_complete:
        return Observed(start=reading.start, source=source, notes=reading.notes)
    found = "a start that did not come as far" if reading.start else "no start of a server"
    fault = error(
        "log-incomplete",
        f"{source} does not tell the size of a pool: it holds {found}",
        notes=reading.notes,
        help=("give the log of a start that came as far as `max_total_num_tokens=`",),
    )
    return Observed(start=reading.start, source=source, fault=fault)


def _unreadable(source: str, why: str) -> Observed:
    fault = error("log-unreadable", f"{source} cannot be read: {why}")
    return Observed(start=None, source=source, fault=fault)


def _silent(address: Address, tried: list[str]) -> Diagnostic:
    return error(
        "server-silent",
        f"the server at `{address.url}` does not tell the size of its pool",
        notes=tuple(tried),
        help=("wait until it is ready, or give its log with `--log FILE`",),
    )


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    # A pipe gives what is there, so that a slow writer is not waited for a whole block.
    while block := stream.read(BLOCK):
        yield block
