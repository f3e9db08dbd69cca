"""The findings of `verify` and `measure` at their borders: beside each state that gives one, the nearest that does not."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from checkouts import run
from compiler.catalog import open_catalog
from compiler.diagnostics import Diagnostic
from compiler.engines.observing import Observer, Start
from compiler.engines.sglang.log import OBSERVER
from compiler.host import observe as observing
from compiler.host.asked import MeantServer, ask_unit
from compiler.host.httpget import Address, parse_address
from compiler.host.measuring import NEEDED, Field, record
from compiler.host.observe import observe_file, observe_journal, observe_server, observe_stream
from compiler.host.promised import MOST_BYTES, Promised, installed_plan, promised_in, read_promised
from compiler.host.units import Scope
from compiler.host.verifying import findings, promises
from stub_engine import Scenario, parse_arguments, start_lines
from test_ready import PROBE, Stub, info, metrics, only_with_key, reply


OUT = Path(__file__).parents[1] / "out"
PLAN = OUT / "k2.6-200k" / "plan.json"


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that answers 404 until told otherwise."""
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a program in front of the others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


def promised(path: Path = PLAN) -> Promised:
    """What a plan promises."""
    read = promised_in(path.read_bytes())
    assert isinstance(read, Promised)
    return read


def codes(start: Start, plan: Promised) -> list[str]:
    """What is wrong with what a client was promised."""
    return [each.code for each in findings(tuple(promises(plan, start)))]


# what a plan promises


def test_a_context_that_is_left_to_the_engine(tmp_path: Path) -> None:
    """Of a model that nobody described it is no number; such a plan is read, and what it does not say is not checked."""
    path = tmp_path / "plan.json"
    path.write_bytes(promise(context="auto", required_tokens=None))
    plan = promised(path)
    assert plan.context is None
    assert codes(KEPT, plan) == ["promise-unchecked"]


KEPT = Start(pool_tokens=200_005, context=200_000, running_requests=1)
"""A start that keeps the story's promise, and nothing beyond it."""


@pytest.mark.parametrize("name", ["pool_tokens", "context", "running_requests"])
@pytest.mark.parametrize(
    ("more", "wanted"),
    [(0, []), (1, []), (-1, ["promise-broken"]), (None, ["promise-unchecked"])],
)
def test_one_less_than_promised(name: str, more: int | None, wanted: list[str]) -> None:
    """`promise-broken`: one token or one request less; `promise-unchecked`: none that anybody tells."""
    told: dict[str, Any] = {name: None if more is None else getattr(KEPT, name) + more}
    assert codes(evolve(KEPT, **told), promised()) == wanted


def test_a_promise_that_nobody_wrote_down() -> None:
    """`promise-unchecked`: without the number of slots in the plan a pool is held against nothing."""
    assert codes(KEPT, evolve(promised(), required_tokens=None)) == ["promise-unchecked"]
    assert codes(KEPT, evolve(promised(), required_tokens=1)) == []


@pytest.mark.parametrize(("tokens", "code"), [(200_005, 0), (200_004, 4)])
def test_one_token_less_for_the_probe(stub: Stub, tokens: int, code: int) -> None:
    """`pool-short` is what a switch makes of the probe's exit code 4, which one token less gives."""
    stub.routes |= {"/health": reply(200), "/server_info": info(tokens)}
    words = ("--url", stub.url, "--required-tokens", "200005", "--timeout", "20")
    done = subprocess.run([sys.executable, str(PROBE), *words], check=False, capture_output=True)
    assert done.returncode == code


# a plan


def planned(**changes: object) -> bytes:
    """The story's plan with something else in it."""
    return json.dumps({**json.loads(PLAN.read_text("utf-8")), **changes}).encode()


def promise(**changes: object) -> bytes:
    """The story's plan with something else promised."""
    return planned(promise={**json.loads(PLAN.read_text("utf-8"))["promise"], **changes})


@pytest.mark.parametrize(
    ("content", "is_read"),
    [
        (planned(schema=1), True),
        (planned(schema=2), False),
        (planned(schema=0), False),
        (planned(draft=None), True),
        (planned(draft=1), False),
        (planned(running_requests=1), True),
        (planned(running_requests=0), False),
        (planned(running_requests=True), False),
        (promise(context=1), True),
        (promise(context=0), False),
        (promise(context="auto"), True),
        (promise(context="fit"), False),
        (promise(concurrency=1), True),
        (promise(concurrency=0), False),
        (promise(required_tokens=1), True),
        (promise(required_tokens=0), False),
        (planned(argv=[]), True),
        (planned(argv=[1]), False),
        (planned().ljust(MOST_BYTES), True),
        (planned().ljust(MOST_BYTES + 1), False),
        (planned()[:-1], False),
    ],
)
def test_a_plan_one_step_from_none(tmp_path: Path, content: bytes, *, is_read: bool) -> None:
    """`plan-unreadable`: a schema, a count, a type, or a byte beyond what a compile writes."""
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    read = read_promised(path)
    assert isinstance(read, Promised) is is_read
    assert isinstance(read, Promised) or read.code == "plan-unreadable"


@pytest.mark.parametrize(
    ("beside", "wanted"),
    [("plan.json", None), ("plan.jso", "unit-unplanned"), (None, "unit-unplanned")],
)
def test_the_file_beside_a_unit(
    commands: Callable[..., None], tmp_path: Path, beside: str | None, wanted: str | None
) -> None:
    """`unit-unplanned`: the plan stands beside the file that the unit's link leads to, by its own name."""
    generation = tmp_path / "gen-1"
    generation.mkdir()
    (generation / "x.service").write_text("[Service]\n")
    (tmp_path / "x.service").symlink_to("gen-1/x.service")
    if beside is not None:
        (generation / beside).write_bytes(PLAN.read_bytes())
    commands("systemctl", f"echo FragmentPath={tmp_path}/x.service")
    found = installed_plan("x", scope=Scope.SYSTEM)
    assert (found.code if isinstance(found, Diagnostic) else None) == wanted
    assert isinstance(found, Diagnostic) or found == generation / "plan.json"
    commands("systemctl", "echo FragmentPath=")
    found = installed_plan("x", scope=Scope.SYSTEM)
    assert isinstance(found, Diagnostic)
    assert found.code == "unit-unplanned"
    commands("systemctl", "exit 1")
    found = installed_plan("x", scope=Scope.SYSTEM)
    assert isinstance(found, Diagnostic)
    assert found.code == "systemd-silent"


# a log


ARGUMENTS = parse_arguments(("--model-path", "/srv/models/M", "--mem-fraction-static", "0.93"))
LINES = [line for _, line in start_lines(Scenario(), ARGUMENTS)]
SUMMARY = next(number for number, line in enumerate(LINES) if "max_total_num_tokens=" in line)


def fault_of(text: str) -> str | None:
    """Why a log is of no use."""
    observed = observe_stream(io.BytesIO(text.encode()), observer=OBSERVER)
    return None if observed.fault is None else observed.fault.code


def test_a_log_up_to_its_summary() -> None:
    """`log-incomplete`: it ends before the line with `max_total_num_tokens=`, or in the middle of its number's name."""
    assert fault_of("\n".join(LINES[: SUMMARY + 1])) is None
    assert fault_of("\n".join(LINES[:SUMMARY])) == "log-incomplete"
    whole = "\n".join(LINES[: SUMMARY + 1])
    assert fault_of(whole[: whole.rindex("max_total_num_tokens=") + 21]) == "log-incomplete"
    assert fault_of(whole.replace("max_total_num_tokens=", "max_total_num_tokens: ")) == (
        "log-incomplete"
    )
    assert fault_of("") == "log-incomplete"


def test_a_log_that_is_just_empty(tmp_path: Path) -> None:
    """`log-unreadable`: nothing can be read there; a file with nothing in it can, and tells nothing."""
    (tmp_path / "empty.log").touch()
    for path, wanted in (
        (tmp_path / "empty.log", "log-incomplete"),
        (tmp_path / "none.log", "log-unreadable"),
        (tmp_path, "log-unreadable"),
    ):
        observed = observe_file(path, observer=OBSERVER)
        assert observed.fault is not None
        assert observed.fault.code == wanted


@pytest.mark.parametrize(
    ("end", "wanted"),
    [
        ("exit 0", None),
        ("exit 1", "log-unreadable"),
        ("echo hint >&2; exit 0", None),
        ("kill $$", "log-unreadable"),
    ],
)
def test_how_journalctl_ends(
    commands: Callable[..., None], tmp_path: Path, end: str, wanted: str | None
) -> None:
    """`log-unreadable`: what it printed counts only where it ended with 0; what it says beside that is no fault."""
    (tmp_path / "journal").write_text("\n".join(LINES))
    commands("journalctl", f"cat {tmp_path}/journal; {end}")
    observed = observe_journal("x", scope=Scope.SYSTEM, observer=OBSERVER)
    assert (None if observed.fault is None else observed.fault.code) == wanted
    (tmp_path / "journal").write_text("")
    observed = observe_journal("x", scope=Scope.SYSTEM, observer=OBSERVER)
    assert observed.fault is not None
    assert observed.fault.code == (wanted or "log-incomplete")
    assert observed.fault.notes == (("hint",) if "hint" in end else ())


# a server


KEY = "sk-0123-very-secret"


def silent(stub: Stub, *, key: str | None = None, at: Address | None = None) -> bool:
    """Whether the server does not tell its pool."""
    address = at or parse_address(stub.url)
    assert address is not None
    observed = observe_server(address, key=key, observer=OBSERVER)
    assert observed.fault is None or observed.fault.code == "server-silent"
    return observed.fault is not None


def test_a_server_that_just_tells_its_pool(stub: Stub) -> None:
    """`server-silent`: one of the endpoints must tell a pool that is more than nothing; a model's name is not enough."""
    stub.routes["/model_info"] = reply(200, b'{"model_path": "/srv/m"}')
    for route, behaviour, wanted in (
        ("/metrics", metrics(0), True),
        ("/metrics", metrics(1), False),
        ("/metrics", reply(404), True),
        ("/server_info", reply(200, b'{"model_path": "m", "max_total_num_tokens": 0}'), True),
        ("/server_info", reply(200, b'{"model_path": "m", "max_total_num_tokens": 1}'), False),
        ("/server_info", reply(201, b'{"model_path": "m", "max_total_num_tokens": 1}'), True),
        ("/server_info", reply(200, b'{"model": "m", "max_total_num_tokens": 1}'), True),
    ):
        stub.routes[route] = behaviour
        assert silent(stub) is wanted, (route, behaviour)


def test_a_key_that_is_just_right(stub: Stub) -> None:
    """`server-silent`: a key with a letter less opens nothing, and none is sent unencrypted to another machine."""
    stub.routes["/metrics"] = only_with_key(metrics(1))
    assert not silent(stub, key=KEY)
    assert silent(stub, key=KEY[:-1])
    assert silent(stub, key=None)
    # `0.0.0.0` reaches this machine, and is no loopback.
    other = Address(scheme="http", host="0.0.0.0", port=stub.port)
    assert silent(stub, key=KEY, at=other)
    assert {sent for _, sent in stub.seen[-4:]} == {None}


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("127.0.0.1", "http://127.0.0.1:30000"),
        ("127.9.9.9", "http://127.9.9.9:30000"),
        ("0.0.0.0", "http://127.0.0.1:30000"),
        ("::1", "http://[::1]:30000"),
        ("::", "http://[::1]:30000"),
        ("localhost", "http://localhost:30000"),
        ("128.0.0.1", None),
        ("::2", None),
        ("localhost2", None),
    ],
)
def test_where_a_unit_listens(
    monkeypatch: pytest.MonkeyPatch, host: str, wanted: str | None
) -> None:
    """`server-silent`: a unit's server is asked on this machine's own addresses, and on no other by itself."""
    asked: list[str] = []

    def noted(address: Address, *, key: str | None, observer: Observer) -> observing.Observed:
        del key, observer
        asked.append(address.url)
        return observing.Observed(start=Start(), source="x")

    monkeypatch.setattr("compiler.host.asked.observe_server", noted)
    argv = tuple(host if each == "0.0.0.0" else each for each in promised().argv)
    assert host in argv
    argv = tuple(each for each in argv if each != "--config")
    observed = ask_unit(
        MeantServer(unit="x"), "x", observer=OBSERVER, promised=evolve(promised(), argv=argv)
    )
    assert asked == ([] if wanted is None else [wanted])
    assert (observed.fault is None) is (wanted is not None)


# a recorded boot


STORY: Mapping[str, Any] = {
    "model": "moonshotai/Kimi-K2.6",
    "gpu": "rtx-pro-6000-blackwell",
    "gpu_count": 8,
    "version": "0.5.11",
    "tensor": 8,
    "fraction": 0.93,
    "context": 200_000,
    "page_size": 1,
    "kv_dtype": "auto",
}
"""The fields of a boot that a server need not tell."""


def recorded(told: Mapping[str, Field], *, tokens: int | None = 205_837) -> str | None:
    """The code of what is wrong with a boot; `None` where its file was made."""
    made = record(
        Start(pool_tokens=tokens),
        source="a log",
        engine="sglang",
        observer=OBSERVER,
        promised=None,
        told=told,
        catalog=open_catalog(),
    )
    assert (made.text is None) is bool(made.diagnostics)
    return made.diagnostics[0].code if made.diagnostics else None


@pytest.mark.parametrize("name", STORY)
def test_one_field_less(name: str) -> None:
    """`boot-lacking`: every field that a boot needs, each alone; with all of them its file is made."""
    assert recorded(STORY) is None
    assert recorded({key: each for key, each in STORY.items() if key != name}) == "boot-lacking"


def test_what_a_boot_needs() -> None:
    """The case above names each field but those that a run of `measure` always has."""
    assert set(NEEDED) - STORY.keys() == {"engine", "source", "pool_tokens"}
    assert recorded(STORY, tokens=None) == "boot-lacking"
    assert recorded(STORY, tokens=1) is None


def test_a_file_that_is_there_already(tmp_path: Path) -> None:
    """`boot-unwritable`: a file of that name, or in place of its folder; a name beside it, a folder to make, or `--overwrite`, is fine."""
    log = tmp_path / "engine.log"
    log.write_text("\n".join(LINES))
    words = ["measure", "--log", str(log)]
    words += [word for name, each in STORY.items() for word in ("--set", f"{name}={each}")]
    (tmp_path / "there.toml").touch()
    for name, more, wanted in (
        ("there.toml", (), True),
        ("there2.toml", (), False),
        ("there2.toml", (), True),
        ("there.toml", ("--overwrite",), False),
        ("no/there.toml", (), False),
        ("there.toml/there.toml", (), True),
        ("there.toml/there.toml", ("--overwrite",), True),
    ):
        done = run(*words, "-o", name, *more, here=tmp_path)
        assert (done.code, "error[boot-unwritable]" in done.err) == (5 if wanted else 0, wanted)
