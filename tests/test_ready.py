"""The readiness probe against a real server on a real socket that misbehaves in every way we know."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import ModuleType

import pytest


PROBE = Path(__file__).parents[1] / "templates" / "sglang" / "ready.py"
USAGE, MAIN_ENDED, POOL_SHORT, POOL_UNKNOWN, TIMED_OUT = 2, 3, 4, 5, 6
KEY = "sk-0123-very-secret"

Behaviour = Callable[[BaseHTTPRequestHandler], None]


def reply(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """A behaviour: answer with this."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def info(tokens: object, *ranks: object) -> Behaviour:
    """A behaviour: `/server_info` of a server with a pool of so many tokens, and so many a rank."""
    states = [{"memory_usage": {"weight": 71.0, "token_capacity": rank}} for rank in ranks]
    body = {"api_key": KEY, "max_total_num_tokens": tokens, "internal_states": states}
    return reply(200, json.dumps(body).encode())


def metrics(*tokens: object) -> Behaviour:
    """A behaviour: `/metrics` with one gauge a rank."""
    lines = ["# TYPE sglang:max_total_num_tokens gauge", "sglang:token_usage 0.0"]
    lines += [
        f'sglang:max_total_num_tokens{{model_name="a}}b",dp_rank="{rank}"}} {value}'
        for rank, value in enumerate(tokens)
    ]
    return reply(200, "\n".join(lines).encode())


def only_with_key(inner: Behaviour) -> Behaviour:
    """A behaviour: 401 without the right key."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        known = request.headers.get("Authorization") == f"Bearer {KEY}"
        (inner if known else reply(401))(request)

    return answer


def hang(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: take the request and never answer."""
    request.rfile.read(1)


def reset(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: break the connection off."""
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    request.connection.close()


def drip(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: answer byte by byte, for ever."""
    while True:
        request.connection.send(b"H")
        time.sleep(0.02)


def garbage(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: answer with something that is not HTTP."""
    request.connection.send(b"\x15\x03\x01\x00\x02\x02\x16 what\r\n\r\n")


def endless(request: BaseHTTPRequestHandler) -> None:
    """A behaviour: a body without an end."""
    request.connection.send(b"HTTP/1.1 200 OK\r\n\r\n{")
    while True:
        request.connection.send(b" " * 65536)


def gone(_: BaseHTTPRequestHandler) -> None:
    """A behaviour: close without a word."""


class Stub:
    """A server whose answers a test sets, a behaviour or a list of them a path; the last one stays."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.routes: dict[str, Behaviour | list[Behaviour]] = {}
        self.seen: list[tuple[str, str | None]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.seen.append((self.path, self.headers.get("Authorization")))
                self.close_connection = True
                behaviour = stub.routes.get(self.path, reply(404))
                if isinstance(behaviour, list):
                    behaviour = behaviour.pop(0) if len(behaviour) > 1 else behaviour[0]
                behaviour(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(socketserver.ThreadingTCPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET  # type: ignore[mutable-override]
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass  # a client that hangs up is what some tests are about

        self.server = Server((address, 0), Handler)
        self.port: int = self.server.server_address[1]
        self.url = (
            f"http://[{address}]:{self.port}" if ":" in address else f"http://{address}:{self.port}"
        )
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def asked(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(seen == path for seen, _ in self.seen)

    def close(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that answers 404 until told otherwise."""
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def other() -> Iterator[Stub]:
    """A second server, which nothing should reach."""
    server = Stub()
    server.routes["/health"] = reply(200)
    yield server
    server.close()


@pytest.fixture(scope="module")
def patient() -> ModuleType:
    """The probe as a module; nothing compiled is left beside the templates."""
    spec = importlib.util.spec_from_file_location("ready_probe", PROBE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def ready(patient: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The probe made impatient, and not watching a main process."""
    monkeypatch.delenv("MAINPID", raising=False)
    monkeypatch.setattr(patient, "POLL_S", 0.02)
    monkeypatch.setattr(patient, "POOL_S", 0.2)
    return patient


@pytest.fixture
def main_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for the server's main process; ended, it stays a zombie until waited for."""
    process = subprocess.Popen(["sleep", "60"])
    monkeypatch.setenv("MAINPID", str(process.pid))
    yield process
    process.kill()
    process.wait()


def run(ready: ModuleType, url: str, *words: str, timeout: float = 5) -> int:
    """The exit code of one run."""
    code: int = ready.probe(["--url", url, "--timeout", str(timeout), *words])
    return code


def free_port() -> int:
    """A port nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# the pool


def test_a_pool_that_holds_the_promise_is_ready(
    ready: ModuleType, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A healthy server whose pool is exactly as large as promised exits 0 and prints both figures."""
    stub.routes |= {"/health": reply(200), "/server_info": info(200_005)}
    assert run(ready, stub.url, "--required-tokens", "200005") == 0
    assert "the pool holds 200,005 tokens, the promise needs 200,005" in capsys.readouterr().out


def test_a_short_pool_fails_with_the_figures(
    ready: ModuleType, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pool below the promise exits 4 and prints the pool, the promise, the difference, and what to do."""
    stub.routes |= {"/health": reply(200), "/server_info": info(101_134)}
    assert run(ready, stub.url, "--required-tokens", "200005") == POOL_SHORT
    out = capsys.readouterr().out
    assert "the pool holds 101,134 tokens, the promise needs 200,005: 98,871 short" in out
    assert "memory.fraction" in out


def test_one_token_short_is_short(ready: ModuleType, stub: Stub) -> None:
    """There is no tolerance: one token below the promise exits 4."""
    stub.routes |= {"/health": reply(200), "/server_info": info(200_004)}
    assert run(ready, stub.url, "--required-tokens", "200005") == POOL_SHORT


def test_the_smallest_rank_counts(ready: ModuleType, stub: Stub) -> None:
    """With data parallel attention the pool of the smallest rank is held against the promise."""
    stub.routes |= {"/health": reply(200), "/server_info": info(300_000, 300_000, 150_000)}
    assert run(ready, stub.url, "--required-tokens", "200000") == POOL_SHORT
    assert run(ready, stub.url, "--required-tokens", "150000") == 0


def test_older_releases_answer_under_the_older_name(ready: ModuleType, stub: Stub) -> None:
    """A server that knows only `/get_server_info` is read there."""
    stub.routes |= {"/health": reply(200), "/get_server_info": info(7)}
    assert run(ready, stub.url, "--required-tokens", "7") == 0


def test_metrics_tell_the_size_without_a_key(ready: ModuleType, stub: Stub) -> None:
    """Where the info endpoints want a key, the gauge of the smallest rank in `/metrics` is used."""
    stub.routes |= {
        "/health": reply(200),
        "/server_info": reply(401),
        "/metrics": metrics(2e5, "1.5e+05"),
    }
    assert run(ready, stub.url, "--required-tokens", "150000") == 0
    assert run(ready, stub.url, "--required-tokens", "150001") == POOL_SHORT


def test_a_gauge_that_is_not_set_yet_is_waited_for(ready: ModuleType, stub: Stub) -> None:
    """A gauge at zero, infinite, or no number is no size; the probe asks again."""
    stub.routes |= {
        "/health": reply(200),
        "/metrics": [metrics(0.0, "NaN", "+Inf", "x"), metrics(9.0)],
    }
    assert run(ready, stub.url, "--required-tokens", "9") == 0


def test_a_size_nobody_tells_is_a_failure(
    ready: ModuleType, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A healthy server whose pool cannot be read exits 5 and says for each endpoint what it answered."""
    stub.routes |= {"/health": reply(200), "/server_info": reply(401)}
    assert run(ready, stub.url, "--required-tokens", "1") == POOL_UNKNOWN
    out = capsys.readouterr().out
    assert "/server_info: answers 401, wants the API key" in out
    assert "/get_server_info: answers 404" in out
    assert "/metrics: answers 404" in out


def test_without_a_promise_only_health_counts(ready: ModuleType, stub: Stub) -> None:
    """Without --required-tokens a healthy server exits 0 and its size is not asked for."""
    stub.routes["/health"] = reply(200)
    assert run(ready, stub.url) == 0
    assert {path for path, _ in stub.seen} == {"/health"}


@pytest.mark.parametrize(
    "bad",
    [
        reply(200, b'{"max_total_num_tokens": 5'),
        reply(200, b"[" * 100_000),
        reply(200, b"\xff\xfe"),
        reply(200, b"[1]"),
        reply(200, b'{"max_total_num_tokens": true}'),
        info("5"),
        info(5.5),
        info(-5),
        reply(200, b'{"internal_states": [1, {"memory_usage": [5]}, {"memory_usage": {}}]}'),
        reply(200, b'{"internal_states": {"memory_usage": {"token_capacity": 5}}}'),
        reply(500),
        reset,
        gone,
        garbage,
        endless,
        hang,
    ],
)
def test_an_answer_that_is_no_size_is_survived(
    ready: ModuleType, stub: Stub, bad: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an info endpoint answers instead of a size, the next endpoint is asked."""
    monkeypatch.setattr(ready, "REQUEST_S", 0.3)
    stub.routes |= {"/health": reply(200), "/server_info": bad, "/metrics": metrics(5)}
    assert run(ready, stub.url, "--required-tokens", "5") == 0


# health


def test_a_start_is_followed(
    ready: ModuleType, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    """The probe waits through 503, prints each state once, and ends with the first 200."""
    starting = reply(503)
    stub.routes["/health"] = [starting, starting, starting, reply(500), starting, reply(200)]
    assert run(ready, stub.url) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ", 2)[2] for line in lines[:-1]] == [
        "waiting for the model: the server answers and is still starting",
        "waiting for the server: `/health` answers 500",
        "waiting for the model: the server answers and is still starting",
    ]
    assert "healthy after" in lines[-1]


def test_a_port_that_opens_late_is_waited_for(
    ready: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the server listens, the probe says so and keeps asking."""
    assert run(ready, f"http://127.0.0.1:{free_port()}", timeout=0.2) == TIMED_OUT
    out = capsys.readouterr().out
    assert "nothing listens on its port yet" in out
    assert "not ready after 0 s; last: waiting for the server" in out


def test_a_wait_without_news_is_reported_now_and_then(
    ready: ModuleType,
    stub: Stub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same state is printed again after the report interval, so that the journal shows life."""
    monkeypatch.setattr(ready, "REPORT_S", 0.1)
    stub.routes["/health"] = reply(503)
    assert run(ready, stub.url, timeout=0.5) == TIMED_OUT
    repeats = capsys.readouterr().out.count("still starting")
    assert 3 <= repeats <= 6
    assert stub.asked("/health") > repeats


@pytest.mark.parametrize("bad", [hang, drip, endless])
def test_no_request_outlasts_the_timeout(ready: ModuleType, stub: Stub, bad: Behaviour) -> None:
    """A server that never ends its answer cannot hold the probe beyond its timeout."""
    stub.routes["/health"] = bad
    began = time.monotonic()
    code = run(ready, stub.url, timeout=0.4)
    assert time.monotonic() - began < 2
    assert code == (0 if bad is endless else TIMED_OUT)


@pytest.mark.parametrize("bad", [hang, drip, reset, gone, garbage])
def test_a_broken_answer_is_asked_again(
    ready: ModuleType, stub: Stub, bad: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a request that hangs, breaks off or is not HTTP, the next one counts."""
    monkeypatch.setattr(ready, "REQUEST_S", 0.2)
    stub.routes["/health"] = [bad, reply(200)]
    assert run(ready, stub.url) == 0
    assert stub.asked("/health") == 2


def test_redirects_are_not_followed(ready: ModuleType, stub: Stub, other: Stub) -> None:
    """A redirect is not health, and where it leads is never asked."""
    stub.routes["/health"] = reply(302, Location=other.url + "/health")
    assert run(ready, stub.url, timeout=0.2) == TIMED_OUT
    assert stub.seen
    assert not other.seen


def test_a_proxy_in_the_environment_is_ignored(
    ready: ModuleType, stub: Stub, other: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is asked directly, whatever the environment says about proxies."""
    monkeypatch.setenv("http_proxy", other.url)
    monkeypatch.setenv("ALL_PROXY", other.url)
    monkeypatch.delenv("no_proxy", raising=False)
    stub.routes["/health"] = reply(200)
    assert run(ready, stub.url) == 0
    assert stub.seen
    assert not other.seen


def test_ipv6_addresses_work(ready: ModuleType) -> None:
    """A server on ::1 is reached."""
    try:
        server = Stub("::1")
    except OSError as failure:
        pytest.skip(f"no IPv6 on this host: {failure}")
    server.routes["/health"] = reply(200)
    try:
        assert run(ready, server.url + "/") == 0
    finally:
        server.close()


# the main process


def test_a_main_process_that_ends_ends_the_wait(
    ready: ModuleType, stub: Stub, main_process: subprocess.Popen[bytes]
) -> None:
    """Exit 3 soon after the main process died, even in the middle of a request, and as a zombie."""
    stub.routes["/health"] = hang
    killer = threading.Timer(0.2, main_process.kill)
    killer.start()
    began = time.monotonic()
    assert run(ready, stub.url, timeout=30) == MAIN_ENDED
    assert time.monotonic() - began < 2


def test_a_main_process_that_was_never_there(
    ready: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A main process that is gone before the first question exits 3 at once."""
    process = subprocess.Popen(["true"])
    process.wait()
    monkeypatch.setenv("MAINPID", str(process.pid))
    assert run(ready, f"http://127.0.0.1:{free_port()}", timeout=30) == MAIN_ENDED


def test_a_reused_process_number_is_no_main_process(
    ready: ModuleType, main_process: subprocess.Popen[bytes]
) -> None:
    """Another process under the main process's number counts as its end, and gets no signal."""
    main = ready.MainProcess.from_environment()
    assert not main.has_ended()
    main.first = ("S", "1")
    assert main.has_ended()
    main.stop_for_good()
    assert main_process.poll() is None


@pytest.mark.parametrize("text", ["", "0", "-1", "abc", "1 2"])
def test_a_main_process_that_is_not_named_is_not_watched(
    ready: ModuleType, stub: Stub, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a process number in MAINPID the probe works, unwatched."""
    monkeypatch.setenv("MAINPID", text)
    stub.routes["/health"] = reply(200)
    assert run(ready, stub.url) == 0


@pytest.mark.parametrize(
    ("routes", "code"),
    [({"/server_info": info(4)}, POOL_SHORT), ({}, POOL_UNKNOWN)],
)
def test_a_verdict_that_would_repeat_stops_the_server(
    ready: ModuleType,
    stub: Stub,
    main_process: subprocess.Popen[bytes],
    routes: dict[str, Behaviour],
    code: int,
) -> None:
    """A short or unknown pool ends the main process by SIGPWR before the probe exits."""
    stub.routes |= {"/health": reply(200), **routes}
    assert run(ready, stub.url, "--required-tokens", "5") == code
    assert main_process.poll() == -signal.SIGPWR


@pytest.mark.parametrize(("required", "code"), [("5", 0), ("6", TIMED_OUT)])
def test_other_verdicts_leave_the_server_alone(
    ready: ModuleType,
    stub: Stub,
    main_process: subprocess.Popen[bytes],
    required: str,
    code: int,
) -> None:
    """A ready server runs on, and a slow one is left to systemd."""
    stub.routes |= {"/health": reply(200 if code == 0 else 503), "/server_info": info(5)}
    assert run(ready, stub.url, "--required-tokens", required, timeout=0.3) == code
    assert main_process.poll() is None


# the secret


@pytest.mark.parametrize(
    "text",
    [
        f"api-key: {KEY}",
        f"api_key: {KEY}\n",
        f"api-key : {KEY}\r\nlog-level: info\r\n",
        f"\ufeff# secrets\n\napi-key: '{KEY}'   # the key",
        f'---\nother:\n  api-key: wrong\napi-key: "{KEY}"\n',
        f"api-key:   {KEY} # the key\n# end",
    ],
)
def test_the_secret_is_sent(
    ready: ModuleType, stub: Stub, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key of the file goes to the server as a bearer token and is never printed."""
    secret = tmp_path / "secret.yaml"
    secret.write_bytes(text.encode())
    stub.routes |= {"/health": reply(200), "/server_info": only_with_key(info(5))}
    assert run(ready, stub.url, "--required-tokens", "5", "--secret", str(secret)) == 0
    assert KEY not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("'it''s'", "it's"),
        (r'"a\"b\\c"', r'a"b\c'),
        ("12345", "12345"),
        ("12ab", "12ab"),
        ("a#b:c", "a#b:c"),
        ("truest", "truest"),
        ("'0123' # octal", "0123"),
    ],
)
def test_keys_are_read_as_yaml_reads_them(ready: ModuleType, value: str, key: str) -> None:
    """Quotes, escapes and comments are those of YAML."""
    assert ready.key_in(f"api-key: {value}\n") == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api-key:",
        "api-key: ''",
        f"api-key:{KEY}",
        f" api-key: {KEY}",
        f"api-key: {KEY}\napi_key: {KEY}2",
        f"api-key: {KEY}\n  more",
        f"api-key: >\n  {KEY}",
        f"api-key: !!str {KEY}",
        f"api-key: &a {KEY}",
        f"api-key: [{KEY}]",
        f"api-key: {{a: {KEY}}}",
        f"api-key: '{KEY}",
        f'api-key: "{KEY}\\n"',
        f"api-key: {KEY} two",
        f"api-key: {KEY}:",
        f"api-key: '{KEY}\u00e9'",
        "api-key: 0123",
        "api-key: 0xCAFE",
        "api-key: 1.5e+3",
        "api-key: 12:30",
        "api-key: 2024-01-01",
        "api-key: +5",
        "api-key: Null",
        "api-key: yes",
        "api-key: ~",
        f"api-key: '{KEY}\x00'",
    ],
)
def test_what_is_not_plainly_a_key_is_refused(
    ready: ModuleType, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A value YAML could read in another way is not guessed at, and is not printed either."""
    secret = tmp_path / "secret.yaml"
    secret.write_bytes(text.encode())
    assert ready.read_key(str(secret)) is None
    out = capsys.readouterr().out
    assert "going on without the API key" in out
    assert KEY not in out


@pytest.mark.parametrize("kind", ["missing", "directory", "not UTF-8"])
def test_a_secret_that_cannot_be_read_is_said(
    ready: ModuleType, stub: Stub, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a readable file the probe says why, asks without a key, and still does its work."""
    secret = tmp_path / "secret.yaml"
    if kind == "directory":
        secret.mkdir()
    elif kind == "not UTF-8":
        secret.write_bytes(b"api-key: " + KEY.encode() + b"\xff")
    stub.routes |= {"/health": reply(200), "/metrics": metrics(5)}
    assert run(ready, stub.url, "--required-tokens", "5", "--secret", str(secret)) == 0
    out = capsys.readouterr().out
    assert "going on without the API key" in out
    assert KEY not in out
    assert {authorization for _, authorization in stub.seen} == {None}


# the command


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--url", "http://127.0.0.1:1"],
        ["--url", "127.0.0.1:1", "--timeout", "1"],
        ["--url", "file:///etc/passwd", "--timeout", "1"],
        ["--url", "http://user:pass@127.0.0.1:1", "--timeout", "1"],
        ["--url", "http://127.0.0.1:99999", "--timeout", "1"],
        ["--url", "http://127.0.0.1:0", "--timeout", "1"],
        ["--url", "http://[::1", "--timeout", "1"],
        ["--url", "http://127.0.0.1:1/a b", "--timeout", "1"],
        ["--url", "http://127.0.0.1:1", "--timeout", "0"],
        ["--url", "http://127.0.0.1:1", "--timeout", "nan"],
        ["--url", "http://127.0.0.1:1", "--timeout", "inf"],
        ["--url", "http://127.0.0.1:1", "--timeout", "30min"],
        ["--url", "http://127.0.0.1:1", "--timeout", "1", "--required-tokens", "0"],
        ["--url", "http://127.0.0.1:1", "--timeout", "1", "--required-tokens", "many"],
        ["--url", "http://127.0.0.1:1", "--time", "1"],
    ],
)
def test_wrong_usage_exits_2(ready: ModuleType, words: list[str]) -> None:
    """A command line that makes no sense exits 2 before anything is asked."""
    with pytest.raises(SystemExit) as leaving:
        ready.probe(words)
    assert leaving.value.code == USAGE


def test_as_a_program_it_prints_as_it_goes(stub: Stub) -> None:
    """Run as the unit runs it, with a bare environment, each line is there while the probe still waits."""
    stub.routes |= {"/health": reply(503), "/server_info": info(101_134)}
    command = [
        sys.executable,
        str(PROBE),
        "--url",
        stub.url,
        "--timeout",
        "20",
        "--required-tokens",
        "200005",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={"LANG": "C"}
    ) as process:
        assert process.stdout is not None
        assert "still starting" in process.stdout.readline()
        stub.routes["/health"] = reply(200)
        rest = process.stdout.read()
    assert process.returncode == POOL_SHORT
    assert "98,871 short" in rest
    assert "Traceback" not in rest


def test_an_interrupt_is_quiet(stub: Stub) -> None:
    """Ctrl-C by hand exits 130 without a traceback."""
    stub.routes["/health"] = reply(503)
    command = [sys.executable, str(PROBE), "--url", stub.url, "--timeout", "20"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert not errors


def test_a_journal_that_went_away_is_survived(stub: Stub) -> None:
    """With nobody left to read its output, the probe still judges the server."""
    stub.routes["/health"] = [reply(503), reply(200)]
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, str(PROBE), "--url", stub.url, "--timeout", "20"]
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, errors = process.communicate()
    assert process.returncode == 0
    assert stub.asked("/health") == 2
    assert not errors


def test_it_is_python_3_8_and_standard_library() -> None:
    """The file parses as Python 3.8 and imports nothing that does not come with Python."""
    tree = ast.parse(PROBE.read_text(), feature_version=(3, 8))
    names = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    assert names <= sys.stdlib_module_names
