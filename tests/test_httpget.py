"""One question over HTTP, to servers that misbehave in every way we know."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from compiler.host.httpget import Address, Answer, get, parse_address
from test_ready import Behaviour, Stub, drip, endless, garbage, gone, hang, reply, reset


KEY = "sk-0123-very-secret"


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that answers 404 until told otherwise."""
    server = Stub()
    yield server
    server.close()


def ask(stub: Stub, behaviour: Behaviour, *, total_s: float = 0.5) -> Answer:
    """The answer to one question, put with a key."""
    stub.routes["/x"] = behaviour
    address = parse_address(stub.url)
    assert address is not None
    return get(address, "/x", key=KEY, total_s=total_s, most_bytes=10**6)


def drip_body(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: a head at once, then a body byte by byte, for ever."""
    request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        request.connection.send(b" ")
        time.sleep(0.02)


def cut_short(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: less of a body than its head says."""
    request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")


def long_header(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: a header without an end."""
    request.connection.send(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        request.connection.send(b"a" * 65536)


def test_an_answer(stub: Stub) -> None:
    """A status 200 with a body is an answer, and the key went with the question."""
    answer = ask(stub, reply(200, b"{}"))
    assert (answer.is_fine, answer.status, answer.body) == (True, 200, b"{}")
    assert stub.seen == [("/x", f"Bearer {KEY}")]


@pytest.mark.parametrize("behaviour", [hang, drip, drip_body])
def test_a_server_that_takes_its_time(stub: Stub, behaviour: Behaviour) -> None:
    """Whatever a server does with it, a question is over in the time it was given."""
    begin = time.monotonic()
    answer = ask(stub, behaviour, total_s=0.4)
    assert time.monotonic() - begin < 1.5
    assert not answer.is_fine
    assert answer.failure.startswith("no answer within 0.")


@pytest.mark.parametrize(
    ("behaviour", "failure"),
    [
        (garbage, "its answer is not HTTP"),
        (gone, "the connection broke off"),
        (reset, "the connection broke off"),
        (cut_short, "the connection broke off"),
        (long_header, "its answer is not HTTP"),
        (endless, "answers with more than 1,000,000 bytes"),
        (reply(401), "answers 401"),
        (reply(500, b"{}"), "answers 500"),
    ],
)
def test_a_server_that_misbehaves(stub: Stub, behaviour: Behaviour, failure: str) -> None:
    """What is no good answer is said in words that never hold the key."""
    answer = ask(stub, behaviour, total_s=5)
    assert not answer.is_fine
    assert answer.failure == failure


def test_a_redirect_is_not_followed(stub: Stub) -> None:
    """Where a redirect leads gets neither the question nor the key."""
    other = Stub()
    other.routes["/x"] = reply(200, b"{}")
    answer = ask(stub, reply(307, Location=f"{other.url}/x"))
    other.close()
    assert answer.failure == "answers 307, a redirect, which is not followed"
    assert other.seen == []


def test_nothing_listens() -> None:
    """A port without a server is told from a server that does not answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answer = get(Address(scheme="http", host="127.0.0.1", port=port), "/x")
    assert answer.failure == "nothing listens there"


def test_a_server_that_speaks_no_tls(stub: Stub) -> None:
    """`https` to a server of plain HTTP is a failed connection, not a bug."""
    answer = get(Address(scheme="https", host="127.0.0.1", port=stub.port), "/x", total_s=3)
    assert answer.status is None
    assert answer.failure


def test_threads_do_not_pile_up(stub: Stub) -> None:
    """A question that was given up ends its thread soon after, by the timeout of its socket."""
    before = threading.active_count()
    ask(stub, hang, total_s=0.2)
    end = time.monotonic() + 5
    stub.close()
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("text", "url", "is_loopback", "keeps_secrets"),
    [
        ("http://127.0.0.1:30000", "http://127.0.0.1:30000", True, True),
        ("http://localhost:8000/", "http://localhost:8000", True, True),
        ("http://[::1]:8000", "http://[::1]:8000", True, True),
        ("https://llm.example/v2/", "https://llm.example:443/v2", False, True),
        ("http://llm.example", "http://llm.example:80", False, False),
        ("http://127.0.0.1.evil.example:1", "http://127.0.0.1.evil.example:1", False, False),
    ],
)
def test_addresses(text: str, url: str, *, is_loopback: bool, keeps_secrets: bool) -> None:
    """A URL is read whole, and the key may go to this machine or through TLS."""
    address = parse_address(text)
    assert address is not None
    assert (address.url, address.is_loopback, address.keeps_secrets) == (
        url,
        is_loopback,
        keeps_secrets,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:30000",
        "ftp://h",
        "file:///etc/passwd",
        "http://",
        "http://user:password@h",
        "http://h?x=1",
        "http://h#x",
        "http://h:0",
        "http://h:99999",
        "http://h:x",
        "http://h /",
        "http://h\r\nX: y",
    ],
)
def test_what_is_no_address(text: str) -> None:
    """Anything but a scheme, a host, a port and a path is refused."""
    assert parse_address(text) is None
