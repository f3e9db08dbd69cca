"""What `measure` and `verify` make of what they were told, one figure or word at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from attrs import evolve

from compiler.catalog import open_catalog
from compiler.diagnostics import error
from compiler.engines.observing import FlagSeen, FlagState, Start
from compiler.engines.sglang.log import OBSERVER
from compiler.host import asked as asking
from compiler.host import observe as observing
from compiler.host.asked import MeantServer, observe
from compiler.host.httpget import Address, Answer, parse_address
from compiler.host.measuring import Recorded, boot_toml, parse_field, record
from compiler.host.observe import Observed, joined, observe_server
from compiler.host.promised import Promised
from compiler.host.units import Scope
from compiler.host.verifying import ROUNDING_GIB, State, Subject, verify
from compiler.ranges import Range
from test_observing_nearest import STORY, promised


LOCAL = Address(scheme="http", host="127.0.0.1", port=30000)


# what is recorded


def made(
    told: Mapping[str, Any] = STORY, *, start: Start | None = None, plan: Promised | None = None
) -> Recorded:
    """A boot of these fields."""
    return record(
        start or Start(pool_tokens=205_837),
        source="a log",
        engine="sglang",
        observer=OBSERVER,
        promised=plan,
        told=told,
        catalog=open_catalog(),
    )


def lines_of(recorded: Recorded) -> list[str]:
    """The lines of its file."""
    assert recorded.text is not None, recorded.diagnostics
    return recorded.text.split("\n")


def test_the_form_of_a_boot() -> None:
    """Large numbers are grouped, small ones are not; no two empty lines stand together."""
    text = made({**STORY, "chunked_prefill": 9_999}).text
    assert text is not None
    assert "pool_tokens = 205_837\n" in text
    assert "chunked_prefill = 9999\n" in text
    assert "\n\n\n" not in text
    few = boot_toml({"engine": "e", "pool_tokens": 10_000, "source": "x"})
    assert few == 'engine = "e"\n\npool_tokens = 10_000\n\nsource = "x"\n'


@pytest.mark.parametrize(
    ("place", "id_"),
    [
        ("/srv/models/Kimi-K2.6", "moonshotai/Kimi-K2.6"),
        ("/srv/models/kimi-k2.6/", "moonshotai/Kimi-K2.6"),
        ("/c/models--moonshotai--Kimi-K2.6/snapshots/abc", "moonshotai/Kimi-K2.6"),
        ("somebody/Kimi-K2.6", "somebody/Kimi-K2.6"),
        ("/srv/models/Kimi-K2.66", None),
    ],
)
def test_the_model_of_a_folder(place: str, id_: str | None) -> None:
    """A folder by its last name, a public name as it is; where no one id ends so it is asked for."""
    told = {name: each for name, each in STORY.items() if name != "model"}
    recorded = made(told, start=Start(pool_tokens=1, settings={"model_path": place}))
    if id_ is None:
        assert recorded.diagnostics[0].code == "boot-lacking"
        assert "`model`" in recorded.diagnostics[0].summary
    else:
        assert f'model = "{id_}"' in lines_of(recorded)


def test_a_name_that_two_models_end_with(tmp_path: Path) -> None:
    """It says nothing."""
    from compiler.catalog import FolderReader  # noqa: PLC0415 - here only
    from test_catalog import MODEL  # noqa: PLC0415 - as above

    for owner in ("acme", "other"):
        path = tmp_path / f"catalog/models/{owner}--Big-1.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODEL.replace("acme/Big-1", f"{owner}/Big-1"))
    recorded = record(
        Start(pool_tokens=1, settings={"model_path": "/srv/Big-1"}),
        source="a log",
        engine="sglang",
        observer=OBSERVER,
        promised=None,
        told={name: each for name, each in STORY.items() if name != "model"},
        catalog=open_catalog(FolderReader(tmp_path)),
    )
    assert recorded.text is None


def test_a_model_that_drafts_for_itself() -> None:
    """Its own folder is no draft of its own; another folder that nobody described is asked for."""
    model = "/srv/models/Kimi-K2.6"
    told = {name: each for name, each in STORY.items() if name != "model"}
    for draft, is_known in ((model, True), (f"{model}-2", False)):
        settings = {
            "model_path": model,
            "speculative_algorithm": "EAGLE",
            "speculative_draft_model_path": draft,
        }
        recorded = made(told, start=Start(pool_tokens=1, settings=settings))
        assert (recorded.text is not None) is is_known
        assert "draft = " not in str(recorded.text)


def test_a_secret_is_not_recorded() -> None:
    """Whatever setting it came by; the others are."""
    start = Start(
        pool_tokens=1,
        settings={"speculative_algorithm": "sk-madeUpForThisCase0123", "chunked_prefill_size": 512},
    )
    recorded = made(start=start)
    assert "chunked_prefill = 512" in lines_of(recorded)
    assert "sk-made" not in str(recorded.text).lower()


def settings_of(plan: Promised, **changes: object) -> dict[str, object]:
    """What a server runs with that was started by a plan."""
    return {"kv_cache_dtype": "auto", **OBSERVER.asked(plan.argv), **changes}


def test_the_plan_that_a_server_was_started_by() -> None:
    """What it was asked for is recorded where the server runs by that plan, and what it runs with where it does not."""
    plan = promised()
    same = Start(pool_tokens=1, settings=settings_of(plan), version=plan.version)
    recorded = made({"page_size": 1}, start=same, plan=plan)
    assert 'algorithm = "ddtree"' in lines_of(recorded)
    assert 'draft = "z-lab/Kimi-K2.6-DFlash"' in lines_of(recorded)
    assert recorded.notes == ()
    for name, value, line in (
        ("mem_fraction_static", 0.85, "fraction = 0.85"),
        ("served_model_name", "other", "fraction = 0.93"),
    ):
        other = evolve(same, settings=settings_of(plan, **{name: value}))
        recorded = made({"page_size": 1}, start=other, plan=plan)
        assert line in lines_of(recorded)
        assert any("in the plan" in each for each in recorded.notes)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, 'algorithm = "ddtree"'),
        ({"speculative_algorithm": "EAGLE"}, 'algorithm = "ddtree"'),
        ({"speculative_algorithm": "EAGLE", "mem_fraction_static": 0.85}, 'algorithm = "eagle"'),
        ({"speculative_algorithm": "EAGLE", "max_running_requests": 16}, 'algorithm = "eagle"'),
    ],
)
def test_what_a_release_makes_of_a_plan(changes: dict[str, object], line: str) -> None:
    """What it chooses in the place of what was asked for is not recorded; what another command line asks for is."""
    plan = promised()
    start = Start(pool_tokens=1, settings=settings_of(plan, **changes), version=plan.version)
    assert line in lines_of(made({"page_size": 1}, start=start, plan=plan))


@pytest.mark.parametrize(("folder", "is_known"), [("/data/m7", True), ("/data/m8", False)])
def test_a_plan_names_the_model(folder: str, *, is_known: bool) -> None:
    """A folder with a name of its own is the model that the plan has for it, where the server runs that one."""
    words = tuple(
        "/data/m7" if each == "/srv/models/Kimi-K2.6" else each for each in promised().argv
    )
    plan = evolve(promised(), argv=words)
    settings = settings_of(plan, model_path=folder)
    recorded = made({"page_size": 1}, start=Start(pool_tokens=1, settings=settings), plan=plan)
    assert ('model = "moonshotai/Kimi-K2.6"\n' in str(recorded.text)) is is_known


def test_a_server_of_another_release_than_the_plan() -> None:
    """It is said, and its own release is recorded."""
    plan = promised()
    start = Start(pool_tokens=1, settings=settings_of(plan), version="0.5.12")
    recorded = made({"page_size": 1}, start=start, plan=plan)
    assert 'version = "0.5.12"' in lines_of(recorded)
    assert "the server is of release 0.5.12, the plan of 0.5.11" in recorded.notes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpu=", "expected NAME=VALUE"),
        ("gpu=x", ("gpu", "x")),
        ("gpu_count=1_000", ("gpu_count", 1000)),
        ("gpu_count=1.0", "`gpu_count` is a number"),
        ("fraction=1", ("fraction", 1.0)),
        ("dp_attention=true", ("dp_attention", True)),
        ("dp_attention=True", "expected true or false"),
    ],
)
def test_a_field_that_a_person_tells(text: str, told: object) -> None:
    """By the type that the field of a boot has."""
    assert parse_field(text) == told


# what is held against a plan


@pytest.mark.parametrize(
    ("gib", "state"),
    [
        (10.0 - ROUNDING_GIB, State.INSIDE),
        (10.0 - 2 * ROUNDING_GIB, State.OUTSIDE),
        (11.0 + ROUNDING_GIB, State.INSIDE),
        (11.0 + 2 * ROUNDING_GIB, State.OUTSIDE),
        (10.5, State.INSIDE),
    ],
)
def test_a_figure_at_the_rim_of_what_was_predicted(gib: float, state: State) -> None:
    """The log rounds, so that a hundredth of a GiB beyond the range is in it."""
    plan = evolve(promised(), free_before_gib=Range(10.0, 10.5, 11.0))
    rows = verify(plan, Start(free_before_gib=gib), observer=OBSERVER).rows
    (row,) = (each for each in rows if each.name == "free before load")
    assert row.state is state
    plan = evolve(plan, free_before_gib=None)
    rows = verify(plan, Start(free_before_gib=gib), observer=OBSERVER).rows
    assert {each.state for each in rows if each.kind is Subject.MEMORY} == {State.SHOWN}


def test_flags_of_a_server_that_tells_none() -> None:
    """Where no setting is told there is no row of a flag; where some are, the others are not told."""
    plan = promised()
    rows = verify(plan, Start(), observer=OBSERVER).rows
    assert Subject.FLAG not in {each.kind for each in rows}
    rows = verify(plan, Start(settings={"tp_size": 8}), observer=OBSERVER).rows
    states = {each.name: each.state for each in rows if each.kind is Subject.FLAG}
    assert states.pop("--tensor-parallel-size") is State.SAME
    assert set(states.values()) == {State.UNTOLD}


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (FlagState.SAME, State.SAME),
        (FlagState.CHANGED, State.CHANGED),
        (FlagState.DIFFERENT, State.BROKEN),
        (FlagState.UNTOLD, State.UNTOLD),
    ],
)
def test_what_a_flag_comes_to(
    monkeypatch: pytest.MonkeyPatch, seen: FlagState, state: State
) -> None:
    """Only another value that the engine does not choose by itself breaks the promise."""
    flag = FlagSeen(flag="--x", asked="1", found="2", state=seen)
    monkeypatch.setattr(type(OBSERVER), "compare", lambda *_, **__: (flag,))
    verified = verify(promised(), Start(settings={"x": 1}), observer=OBSERVER)
    assert [each.state for each in verified.rows if each.kind is Subject.FLAG] == [state]
    broken = {each.code for each in verified.diagnostics}
    assert ("promise-broken" in broken) is (state is State.BROKEN)


# who is asked


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Answer], list[str]]:
    """What each path answers; and which were asked for."""
    given: dict[str, Answer] = {}
    asked: list[str] = []

    def get(address: Address, path: str, *, key: str | None) -> Answer:
        del address, key
        asked.append(path)
        return given.get(path, Answer(status=404, failure="answers 404"))

    monkeypatch.setattr(observing, "get", get)
    return given, asked


def test_which_endpoints_are_asked(answers: tuple[dict[str, Answer], list[str]]) -> None:
    """The second of two where the first has no such path; not where nobody answers at all."""
    given, asked = answers
    observe_server(LOCAL, key=None, observer=OBSERVER)
    assert asked[:2] == ["/server_info", "/get_server_info"]
    asked.clear()
    given["/server_info"] = Answer(status=None, failure="nothing listens there")
    observe_server(LOCAL, key=None, observer=OBSERVER)
    assert "/get_server_info" not in asked


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("url", "key", "says"),
    [
        ("http://127.0.0.1:1", None, "wants the API key"),
        ("http://127.0.0.1:1", "x", "wants another API key"),
        ("http://10.0.0.1:1", None, "wants the API key"),
        ("http://10.0.0.1:1", "x", "not sent unencrypted to another machine"),
        ("https://10.0.0.1:1", "x", "wants another API key"),
    ],
)
def test_why_a_server_wants_a_key(
    answers: tuple[dict[str, Answer], list[str]], status: int, url: str, key: str | None, says: str
) -> None:
    """Whether none was given, another one, or one that may not be sent."""
    given, _ = answers
    given["/server_info"] = Answer(status=status, failure=f"answers {status}")
    address = parse_address(url)
    assert address is not None
    fault = observe_server(address, key=key, observer=OBSERVER).fault
    assert fault is not None
    assert fault.notes[0].endswith(says)


def test_which_journal_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's unit by the name that the user's manager has for it."""
    script = tmp_path / "journalctl"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for scope, option in ((Scope.SYSTEM, "--unit"), (Scope.USER, "--user-unit")):
        observing.observe_journal("x", scope=scope, observer=OBSERVER)
        assert (tmp_path / "asked").read_text().split()[-2:] == [option, "x.service"]


# a server and its journal


ASKED = Start(context=10, running_requests=2, chunked_prefill=4, pool_tokens=100, version="0.5.12")
LOGGED = evolve(ASKED, version="0.5.11", weights_gib=1.0, settings={"a": 1})


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [
        ({}, True),
        ({"context": 11}, False),
        ({"running_requests": 3}, False),
        ({"chunked_prefill": 5}, False),
        ({"pool_tokens": 101}, False),
        ({"context": None, "running_requests": None, "chunked_prefill": None}, True),
        ({"pool_tokens": None}, False),
    ],
)
def test_whether_a_log_is_of_the_same_start(changes: dict[str, Any], *, is_one: bool) -> None:
    """No figure of the scheduler differs, and the pool is the same; what one of them does not tell says nothing."""
    server = Observed(start=ASKED, source="server")
    journal = Observed(start=evolve(LOGGED, **changes), source="journal")
    both = joined(server, journal)
    assert both.start is not None
    assert (both.start.weights_gib is not None) is is_one
    assert (both.source == "server and journal") is is_one
    assert (both.notes == ()) is is_one
    assert both.start.version == "0.5.12"


@pytest.mark.parametrize(
    ("is_up", "is_logged", "must_answer", "has_start"),
    [
        (True, True, True, True),
        (True, False, True, True),
        (False, True, True, False),
        (False, True, False, True),
        (False, False, False, False),
    ],
)
def test_a_unit_that_is_up_or_logged(
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_up: bool,
    is_logged: bool,
    must_answer: bool,
    has_start: bool,
) -> None:
    """`verify` wants the server itself; `measure` takes what the journal has of it."""
    silent = Observed(start=None, source="server", fault=error("server-silent", "no"))
    lost = Observed(start=Start(), source="journal", fault=error("log-incomplete", "no"))
    up = Observed(start=ASKED, source="server")
    logged = Observed(start=LOGGED, source="journal")
    monkeypatch.setattr(asking, "observe_server", lambda *_, **__: up if is_up else silent)
    monkeypatch.setattr(asking, "observe_journal", lambda *_, **__: logged if is_logged else lost)
    plan = evolve(promised(), argv=tuple(each for each in promised().argv if each != "--config"))
    observed = observe(
        MeantServer(unit="x"), observer=OBSERVER, promised=plan, must_answer=must_answer
    )
    assert (observed.start is not None and observed.fault is None) is has_start
    if not has_start:
        assert observed.fault is not None
        assert observed.fault.code == "server-silent"


def test_whose_key_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the file that a person names, else of the plan's; a pipe does not hold the run up."""
    sent: list[str | None] = []

    def noted(address: Address, *, key: str | None, observer: object) -> Observed:
        del address, observer
        sent.append(key)
        return Observed(start=ASKED, source="server")

    monkeypatch.setattr(asking, "observe_server", noted)
    for name in ("plans", "own"):
        (tmp_path / f"{name}.yaml").write_text(f"api-key: {name}\n")
    os.mkfifo(tmp_path / "pipe")
    words = list(promised().argv)
    words[words.index("--config") + 1] = str(tmp_path / "plans.yaml")
    plan = evolve(promised(), argv=tuple(words))
    # Who waits for a writer of the pipe gets one in the end, so that this fails and does not hang.
    writer = Timer(5, lambda: os.close(os.open(tmp_path / "pipe", os.O_RDWR)))
    writer.start()
    began = time.monotonic()
    for secret in (None, tmp_path / "own.yaml", tmp_path / "pipe", tmp_path / "none.yaml"):
        where = MeantServer(url=LOCAL, secret=secret)
        observed = observe(where, observer=OBSERVER, promised=plan, must_answer=True)
        assert bool(observed.notes) is (sent[-1] is None)
    writer.cancel()
    assert sent == ["plans", "own", None, None]
    assert time.monotonic() - began < 4
