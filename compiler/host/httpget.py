"""One question over HTTP, answered or not within a time and a size, whatever the server does."""

from __future__ import annotations

import re
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from attrs import frozen

from compiler.diagnostics import reason_of
from compiler.value import Value


CONNECT_S: Final = 3.0
"""A server on the same machine takes a connection at once, or does not listen."""

TOTAL_S: Final = 15.0
"""For one answer; a busy SGLang takes a second or two."""

MOST_BYTES: Final = 4 * 2**20
"""Of one answer; `/server_info` of the largest release has some 60,000, `/metrics` of 16 ranks some 500,000."""

_CHUNK: Final = 2**16
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MOVED: Final = range(300, 400)


@frozen(kw_only=True, eq=False, repr=False)
class Address(Value):
    """Where a server is asked: `http://HOST:PORT`, with a path in front of the endpoints where a proxy has one."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @property
    def url(self) -> str:
        """As a person writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, by its address or by the one name that always is."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def keeps_secrets(self) -> bool:
        """Whether a key may be sent there: it stays on this machine, or is encrypted."""
        return self.is_loopback or self.scheme == "https"


@frozen(kw_only=True, eq=False, repr=False)
class Answer(Value):
    """What a question brought: a status and a body; or why there is none, as the rest of a sentence."""

    status: int | None
    body: bytes = b""
    failure: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether there is a body to read."""
        return self.status == 200 and not self.failure  # noqa: PLR2004 - RFC 9110


def parse_address(text: str) -> Address | None:
    """The address in a URL; `None` for what is none, or holds more than an address (a login, a query)."""
    if re.search(r"[^!-~]|[@?#\\]", text):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or port == 0:
        return None
    return Address(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or _DEFAULT_PORTS[parts.scheme],
        prefix=parts.path.rstrip("/"),
    )


def get(
    address: Address,
    path: str,
    *,
    key: str | None = None,
    connect_s: float = CONNECT_S,
    total_s: float = TOTAL_S,
    most_bytes: int = MOST_BYTES,
) -> Answer:
    """GET a path. A redirect is an answer and is never followed: where it leads is not the server, and must not get the key.

    A socket's timeout starts anew with each byte, so a server that drips could hold a question for ever. The thread that
    waits for it is left alone then, and goes with the run.
    """
    end = time.monotonic() + total_s
    answers: list[Answer] = []

    def ask() -> None:
        limits = _Limits(connect_s=connect_s, total_s=total_s, end=end, most_bytes=most_bytes)
        answers.append(_ask(address, path, key=key, limits=limits))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(total_s)
    return answers[0] if answers else Answer(status=None, failure=_late(total_s))


@frozen(kw_only=True, eq=False, repr=False)
class _Limits(Value):
    """What one question may take; `end` is when it is over, on the monotonic clock."""

    connect_s: float
    total_s: float
    end: float
    most_bytes: int

    @property
    def left_s(self) -> float:
        return max(0.01, self.end - time.monotonic())


def _ask(address: Address, path: str, *, key: str | None, limits: _Limits) -> Answer:
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = kind(address.host, address.port, timeout=min(limits.connect_s, limits.left_s))
    try:
        connection.connect()
        connection.sock.settimeout(limits.left_s)
        headers = {"Accept": "*/*", "Connection": "close"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        connection.request("GET", address.prefix + path, headers=headers)
        response = connection.getresponse()
        if response.status in _MOVED:
            return Answer(
                status=response.status,
                failure=f"answers {response.status}, a redirect, which is not followed",
            )
        body = bytearray()
        while chunk := response.read1(_CHUNK):
            body += chunk
            if len(body) > limits.most_bytes:
                most = f"{limits.most_bytes:,}"
                return Answer(status=None, failure=f"answers with more than {most} bytes")
            if time.monotonic() > limits.end:
                return Answer(status=None, failure=_late(limits.total_s))
        if response.length:  # what the head promised and the body lacks
            return Answer(status=None, failure="the connection broke off")
        failure = "" if response.status == 200 else f"answers {response.status}"  # noqa: PLR2004 - RFC 9110
        return Answer(status=response.status, body=bytes(body), failure=failure)
    except (OSError, HTTPException, ValueError) as fault:
        return Answer(status=None, failure=_in_words(fault, total_s=limits.total_s))
    finally:
        connection.close()


def _in_words(fault: Exception, *, total_s: float) -> str:
    """A failed question in words; never the fault's own text, which may quote the key."""
    if isinstance(fault, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(fault, TimeoutError):
        return _late(total_s)
    if isinstance(fault, ConnectionError):
        return "the connection broke off"
    if isinstance(fault, OSError):
        return f"no connection: {reason_of(fault)}"
    return "its answer is not HTTP"


def _late(seconds: float) -> str:
    return f"no answer within {seconds:.3g} s"
