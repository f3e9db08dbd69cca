"""Wait until the server of this unit is ready, and fail when its KV pool is smaller than promised.

The unit runs this file once it has started the server, with the engine's own Python:

    ExecStartPost=PYTHON ready.py --url http://127.0.0.1:30000 --required-tokens 200005 --timeout 1800

It asks `/health` until the server answers, reads how many tokens its KV pool holds, and compares.
What it prints goes to the journal, and `systemctl start` waits for it. By hand it works the same.

Exit codes: 0 ready; 2 wrong usage; 3 the main process ended; 4 the pool is too small for the promise;
5 the size of the pool is not known (a promise nobody checked is not kept); 6 not ready in time. Any
other is a fault of the probe itself.

Another load of minutes would end in 4 or 5 again. systemd restarts a unit whose ExecStartPost= fails,
unless the way its main process ended is listed in RestartPreventExitStatus=. So the probe then ends
the main process by SIGPWR, which nothing else sends, and the unit lists that.

Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, NamedTuple


if TYPE_CHECKING:
    from collections.abc import Callable


READY, MAIN_ENDED, POOL_SHORT, POOL_UNKNOWN, TIMED_OUT, INTERRUPTED = 0, 3, 4, 5, 6, 130

POLL_S = 1.0  # between two questions
REQUEST_S = 10.0  # for one question; a healthy SGLang takes 1 to 2 s, since it generates a token
REPORT_S = 30.0  # between two lines that say the same
POOL_S = 30.0  # for a healthy server to tell the size of its pool
STOP_S = 10.0  # for the main process to end
MOST_BYTES = 4 * 2**20  # of one answer
MOST_SECRET_BYTES = 2**16
MOST_SECONDS = 366 * 86400.0

# Ends a process by default; neither the kernel, nor Python, nor the engines use it.
STOP_SIGNAL = signal.SIGPWR

INFO = ("/server_info", "/get_server_info")  # SGLang before 0.5.6 has only the second
METRICS = "/metrics"  # needs no key; holds the size from SGLang 0.5.6, with --enable-metrics
METRIC = re.compile(r"^sglang:max_total_num_tokens(?:\{.*\})?[ \t]+(\S+)", re.MULTILINE)

KEY_LINE = re.compile(r"api[-_]key[ \t]*:(?:[ \t]+(.*))?")
IN_QUOTES = re.compile(r""""((?:[^"\\]|\\["\\])*)"|'((?:[^']|'')*)'""")
PLAIN = re.compile(r"[A-Za-z0-9_./+-]\S*(?<!:)")
NOT_TEXT = re.compile(  # what YAML takes for something else than the text it is
    r"null|true|false|yes|no|on|off|0[bx][0-9a-f_]+|(?![1-9][0-9]*$)[-+.]?[0-9][0-9_.:+-]*(e[-+][0-9]+)?",
    re.IGNORECASE,
)


def say(text: str) -> None:
    """Print one line at once. A journal that went away must not fail the start."""
    try:
        print(f"ready: {text}", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python's own flush at the end fails


def process_state(pid: int) -> tuple[str, str] | None:
    """A process's state letter and start time (proc(5)); `None` when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123 - short
            fields = stat.read().rpartition(")")[2].split()  # the name before it may hold anything
    except OSError:
        return None
    return fields[0], fields[19]


class MainProcess:
    """The server's main process, which systemd names in `$MAINPID`; by hand there is none to watch."""

    def __init__(self, pid: int | None) -> None:
        """Remember when it started, so that another one with its number is not taken for it."""
        self.pid = pid
        self.first = process_state(pid) if pid else None

    @classmethod
    def from_environment(cls) -> MainProcess:
        """The process that `$MAINPID` names, if any."""
        text = os.environ.get("MAINPID", "")
        if re.fullmatch(r"[1-9][0-9]{0,8}", text):
            return cls(int(text))
        if text:
            say("MAINPID is no process number; the main process is not watched")
        return cls(None)

    def has_ended(self) -> bool:
        """Whether it is gone, a zombie, or another process by now."""
        if self.pid is None:
            return False
        now = process_state(self.pid)
        return self.first is None or now is None or now[0] in "ZX" or now[1] != self.first[1]

    def stop_for_good(self) -> None:
        """End it so that systemd does not start it again, and wait for that."""
        if self.pid is None or self.has_ended():
            return
        say(
            f"ending the server by {STOP_SIGNAL.name}, so that systemd does not load it in vain again"
        )
        try:
            os.kill(self.pid, STOP_SIGNAL)
        except OSError as failure:
            say(f"that failed: {failure.strerror}")
            return
        end = time.monotonic() + STOP_S
        while not self.has_ended() and time.monotonic() < end:
            time.sleep(0.05)


def key_in(text: str) -> str:
    """The value of the line `api-key: ...` (or `api_key: ...`) at the top level of a YAML text.

    Raises:
        ValueError: with a sentence that does not quote the key.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    found = [at for at, line in enumerate(lines) if KEY_LINE.fullmatch(line)]
    if len(found) != 1:
        raise ValueError("it gives the key twice" if found else "it has no line `api-key: ...`")
    following = next((line for line in lines[found[0] + 1 :] if line), "")
    if following[:1] in (" ", "\t") and following.strip()[:1] != "#":
        raise ValueError("the key must stand on one line")
    value = re.sub(r"^.*?:[ \t]*", "", lines[found[0]])
    key = scalar(value) or scalar(re.sub(r"[ \t]+#.*$", "", value))  # with or without a comment
    if not key or not all("!" <= character <= "~" for character in key):
        raise ValueError("the key must be plain or quoted text, without spaces")
    return key


def scalar(value: str) -> str | None:
    """The text of a YAML value in quotes or plain; `None` when it is something else."""
    quoted = IN_QUOTES.fullmatch(value)
    if quoted:
        double, single = quoted.groups()
        return single.replace("''", "'") if double is None else re.sub(r"\\(.)", r"\1", double)
    if NOT_TEXT.fullmatch(value):
        raise ValueError("YAML takes the key for a number or a word of its own; put it in quotes")
    return value if PLAIN.fullmatch(value) else None


def read_key(path: str | None) -> str | None:
    """The API key of a file; where that has none to read, say why and go on without."""
    if path is None:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - short
            return key_in(file.read(MOST_SECRET_BYTES).decode("utf-8-sig"))
    except OSError as failure:
        why = failure.strerror or type(failure).__name__
    except UnicodeDecodeError:  # its own text would quote the file
        why = "it is not UTF-8"
    except ValueError as failure:
        why = str(failure)
    say(f"going on without the API key of {path!a}: {why}")
    return None


class Answer(NamedTuple):
    """What a question brought: a status and a body, or no status and the reason."""

    status: int | None
    body: bytes = b""
    failure: str = ""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Take a redirect for the answer: where it leads is not the server, and must not get the key."""

    def redirect_request(self, *_: object, **__: object) -> None:  # type: ignore[explicit-override] # new in 3.12
        """Never follow."""


class Server:
    """The server that is waited for, and the time there is for it."""

    def __init__(self, url: str, *, key: str | None, main: MainProcess, timeout_s: float) -> None:
        """Start the clock."""
        self.url = url
        self.key = key
        self.main = main
        self.timeout_s = timeout_s
        self.started = time.monotonic()
        self.deadline = self.started + timeout_s
        self.state = ""
        self.reported = -math.inf
        # The environment's proxy has no business between a host and itself.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects())

    @property
    def elapsed_s(self) -> int:
        """Whole seconds since the start."""
        return int(time.monotonic() - self.started)

    def report(self, state: str) -> None:
        """Print what is waited for when that has changed, and now and then when it has not."""
        now = time.monotonic()
        if state != self.state or now - self.reported >= REPORT_S:
            say(f"{self.elapsed_s} s of {self.timeout_s:g} s: {state}")
            self.state, self.reported = state, now

    def wait(self, step: Callable[[], str | None], *, at_most_s: float = math.inf) -> int | None:
        """Repeat a step until it waits for nothing more, or for so long; else the code to exit with."""
        until = min(self.deadline, time.monotonic() + at_most_s)
        while not self.main.has_ended() and time.monotonic() < until:
            state = step()
            if state is None:
                return None
            if not self.main.has_ended():
                self.report(state)
                time.sleep(min(POLL_S, max(0.0, until - time.monotonic())))
        if self.main.has_ended():
            say(f"the server's main process ended after {self.elapsed_s} s; its own log says why")
            return MAIN_ENDED
        if time.monotonic() >= self.deadline:
            say(f"not ready after {self.elapsed_s} s; last: {self.state}")
            return TIMED_OUT
        return None

    def ask(self, path: str) -> Answer:
        """Put one question; over in time whatever the server does, and when the main process ends.

        A socket's timeout starts anew with each byte, so a server that drips could hold a request for
        ever. The thread that waits for it is left alone then, and goes with the probe.
        """
        limit_s = max(0.01, min(REQUEST_S, self.deadline - time.monotonic()))
        end = time.monotonic() + limit_s
        answers: list[Answer] = []
        asking = threading.Thread(
            target=lambda: answers.append(self.request(path, limit_s=limit_s)), daemon=True
        )
        asking.start()
        while asking.is_alive() and time.monotonic() < end and not self.main.has_ended():
            asking.join(min(0.2, max(0.0, end - time.monotonic())))
        return answers[0] if answers else Answer(None, failure=f"no answer within {limit_s:.3g} s")

    def request(self, path: str, *, limit_s: float) -> Answer:
        """GET a path; a failure is an answer too."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(self.url + path, headers=headers)  # noqa: S310 - see base_url
        try:
            with self.opener.open(request, timeout=limit_s) as response:
                return Answer(response.status, response.read(MOST_BYTES))
        except urllib.error.HTTPError as refusal:
            refusal.close()
            return Answer(refusal.code)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            return Answer(None, failure=in_words(failure, limit_s=limit_s))


def in_words(failure: Exception, *, limit_s: float) -> str:
    """A failed question in words; never the exception's own text, which may quote the key."""
    reason = failure.reason if isinstance(failure, urllib.error.URLError) else failure
    if isinstance(reason, ConnectionRefusedError):
        return "nothing listens on its port yet"
    if isinstance(reason, (socket.timeout, TimeoutError)):  # two classes before Python 3.10
        return f"no answer within {limit_s:.3g} s"
    if isinstance(reason, (ConnectionError, http.client.IncompleteRead)):
        return "the connection broke off"
    if isinstance(reason, OSError):
        return f"no connection: {reason.strerror or type(reason).__name__}"
    return "its answer is not HTTP"


def health(server: Server) -> str | None:
    """What the server is waited for; `None` when it is healthy."""
    answer = server.ask("/health")
    if answer.status == http.client.OK:
        return None
    if answer.status == http.client.SERVICE_UNAVAILABLE:
        return "waiting for the model: the server answers and is still starting"
    return f"waiting for the server: {answer.failure or f'`/health` answers {answer.status}'}"


def token_count(value: object) -> list[int]:
    """The value in a list when it is a count of tokens, else nothing."""
    return [value] if type(value) is int and value > 0 else []


def sizes_in_info(body: bytes) -> list[int]:
    """The pool sizes in `/server_info`: the first rank's, and one of each data parallel rank."""
    try:
        info = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(info, dict):
        return []
    sizes = token_count(info.get("max_total_num_tokens"))
    states = info.get("internal_states")
    for state in states if isinstance(states, list) else []:
        usage = state.get("memory_usage") if isinstance(state, dict) else None
        sizes += token_count(usage.get("token_capacity")) if isinstance(usage, dict) else []
    return sizes


def sizes_in_metrics(body: bytes) -> list[int]:
    """The pool sizes in `/metrics`, one a rank; zero means that the rank has not told yet."""
    sizes = []
    for text in METRIC.findall(body.decode("utf-8", "replace")):
        with contextlib.suppress(ValueError, OverflowError):
            sizes += token_count(int(float(text)))
    return sizes


class Pool:
    """The size of the server's KV pool: the smallest rank's, since every rank must keep the promise."""

    def __init__(self, server: Server) -> None:
        """Not known yet."""
        self.server = server
        self.tokens: int | None = None
        self.tried: dict[str, str] = {}

    def find(self) -> str | None:
        """Ask one endpoint after the other; what is waited for when none tells."""
        for path in (*INFO, METRICS):
            answer = self.server.ask(path)
            told = answer.status == http.client.OK
            read = sizes_in_metrics if path == METRICS else sizes_in_info
            sizes = read(answer.body) if told else []
            if sizes:
                self.tokens = min(sizes)
                return None
            refused = answer.status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN)
            why = "answers without a size" if told else f"answers {answer.status}"
            self.tried[path] = answer.failure or (f"{why}, wants the API key" if refused else why)
        return "the server is healthy; waiting for the size of its pool"


def check_pool(server: Server, *, required: int) -> int:
    """Hold the pool against the promise; the exit code."""
    pool = Pool(server)
    ended = server.wait(pool.find, at_most_s=POOL_S)
    if ended is not None:
        return ended
    if pool.tokens is None:
        say(f"healthy, but nothing tells whether the pool holds the {required:,} tokens promised")
        for path, why in pool.tried.items():
            say(f"  {path}: {why}")
        say("what to do: give the probe the API key (--secret), or the server --enable-metrics")
        return POOL_UNKNOWN
    facts = f"the pool holds {pool.tokens:,} tokens, the promise needs {required:,}"
    if pool.tokens < required:
        say(f"{facts}: {required - pool.tokens:,} short")
        say("what to do: in the profile, raise memory.fraction or lower serve.context;")
        say(
            "  `poolproof measure` records this start, `poolproof fit` then names the smallest change"
        )
        return POOL_SHORT
    say(f"ready after {server.elapsed_s} s: {facts}")
    return READY


def base_url(text: str) -> str:
    """`http://HOST:PORT`, without a slash at its end; anything else is a `ValueError`."""
    parts = urllib.parse.urlsplit(text)
    strange = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    if strange or re.search(r"[^!-~]|[@?#]", text):
        raise ValueError
    return text.rstrip("/")


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line; a wrong one exits 2."""
    parser = argparse.ArgumentParser(
        description="Wait until the server is ready; fail when its KV pool is smaller than promised.",
        epilog="Exit codes: 0 ready, 2 usage, 3 main process ended, 4 pool too small, 5 pool not known, "
        "6 not in time.",
        allow_abbrev=False,
    )
    parser.add_argument("--url", type=base_url, required=True, help="http://HOST:PORT")
    parser.add_argument("--required-tokens", type=int, help="the promise; else health only")
    parser.add_argument("--timeout", type=float, required=True, help="seconds for the whole start")
    parser.add_argument("--secret", metavar="FILE", help="YAML file with a line `api-key: ...`")
    given = parser.parse_args(argv)
    if given.required_tokens is not None and given.required_tokens < 1:
        parser.error("--required-tokens must be at least 1")
    if not 0 < given.timeout < MOST_SECONDS:
        parser.error("--timeout must be more than 0 seconds, and less than a year")
    return given


def probe(argv: list[str] | None = None) -> int:
    """Wait, compare, and return the exit code."""
    given = arguments(argv)
    main = MainProcess.from_environment()
    server = Server(given.url, key=read_key(given.secret), main=main, timeout_s=given.timeout)
    ended = server.wait(lambda: health(server))
    if ended is not None:
        return ended
    if given.required_tokens is None:
        say(f"healthy after {server.elapsed_s} s; its pool is not checked")
        return READY
    code = check_pool(server, required=given.required_tokens)
    if code in (POOL_SHORT, POOL_UNKNOWN):
        main.stop_for_good()
    return code


if __name__ == "__main__":
    try:
        sys.exit(probe())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
