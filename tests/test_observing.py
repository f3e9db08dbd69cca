"""`measure` and `verify`, on a server that is a stub, on its log, and on what is neither."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from checkouts import Done, command, run
from compiler.catalog import FolderReader, open_catalog
from compiler.facts import Evidence
from deployments import check_text, only_plan
from test_ready import Stub, hang, metrics, reply


ROOT = Path(__file__).parents[1]
STUB = ROOT / "tests" / "stub_engine.py"
SCENARIOS = ROOT / "tests" / "scenarios"
PROFILES = ROOT / "profiles"
KEY = "sk-0123-very-secret-key"
BROKEN, USAGE, SILENT = 1, 2, 5

Launch = Callable[..., "Running"]


def poolproof(*words: object, here: Path = ROOT) -> Done:
    """Run the command. Nothing it prints may hold the key."""
    done = run(*map(str, words), here=here)
    assert KEY not in done.out + done.err
    return done


class Running:
    """A stub engine that was started by a plan."""

    def __init__(
        self,
        folder: Path,
        scenario: Mapping[str, Any],
        *,
        plan: str = "k2.6-200k",
        argv: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, with some words of its plan replaced; it listens when its load is over."""
        replaced = argv or {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.key = folder / "key.yaml"
        self.key.write_text(f"api-key: {KEY}\n")
        content = json.loads((ROOT / "out" / plan / "plan.json").read_text("utf-8"))
        words = content["argv"] = [replaced.get(each, each) for each in content["argv"]]
        words[words.index("--port") + 1] = str(self.port)
        words[words.index("--config") + 1] = str(self.key)
        self.plan = folder / "plan.json"
        self.plan.write_text(json.dumps(content))
        told = folder / "scenario.json"
        told.write_text(json.dumps(scenario))
        self.log = folder / "engine.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(STUB), *words[1:]],
                stderr=log,
                env={**os.environ, "STUB_SCENARIO": str(told)},
            )

    def ready(self, *, required: int = 200_005, timeout: float = 20) -> int:
        """What the readiness probe says, with its main process to watch."""
        words = (
            "--url",
            self.url,
            "--required-tokens",
            required,
            "--timeout",
            timeout,
            "--secret",
            self.key,
        )
        return subprocess.run(
            [sys.executable, str(ROOT / "templates" / "sglang" / "ready.py"), *map(str, words)],
            check=False,
            capture_output=True,
            env={**os.environ, "MAINPID": str(self.process.pid)},
            timeout=60,
        ).returncode

    def stop(self) -> None:
        """End it whatever it ignores."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Start a stub by a scenario's name, with some of its keys changed."""
    running: list[Running] = []

    def start(name: str, *, argv: Mapping[str, str] | None = None, **changes: object) -> Running:
        scenario = json.loads((SCENARIOS / f"{name}.json").read_text("utf-8"))
        running.append(Running(tmp_path, {**scenario, "shards": 4, **changes}, argv=argv))
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that answers 404 until told otherwise."""
    server = Stub()
    yield server
    server.close()


def rows_of(done: Done) -> dict[str, dict[str, Any]]:
    """The rows of `verify --json`, by name."""
    return {each["name"]: each for each in json.loads(done.out)["rows"]}


def test_a_server_that_keeps_its_promise(launch: Launch) -> None:
    """Probe, verify by endpoints, and verify by the log agree that the story's pool is there, flag by flag."""
    engine = launch("kept")
    assert engine.ready() == 0
    by_server = poolproof("verify", "--url", engine.url, "--plan", engine.plan, "--json")
    by_log = poolproof("verify", "--log", engine.log, "--plan", engine.plan, "--json")
    for done in (by_server, by_log):
        rows = rows_of(done)
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)["kept"] is True
        assert rows["pool"]["promised"] == 200_005
        assert rows["pool"]["measured"] == 205_837
        assert rows["pool"]["predicted"] == {"low": 205_487.0, "best": 205_793.0, "high": 216_411.0}
        assert rows["weights"]["state"] == "as predicted"
        assert {each["state"] for each in rows.values() if each["kind"] == "flag"} == {"same"}
    assert rows_of(by_log)["free before load"]["measured"] == 94.08
    text = poolproof("verify", "--log", engine.log, "--plan", engine.plan)
    assert "205,793 (205,487 to 216,411)" in text.out
    assert text.out.endswith("the promise is kept\n")


def test_a_short_pool_breaks_the_promise(launch: Launch) -> None:
    """The story's pool of 101,134 tokens breaks the promise of a 200,000-token request, for probe and verify."""
    engine = launch("kept", pool_tokens=101_134)
    while b"ready to roll" not in engine.log.read_bytes():
        time.sleep(0.05)
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan)
    assert done.code == BROKEN
    assert "error[promise-broken]" in done.err
    assert "pool: 200,005 tokens promised, 101,134 there" in done.err
    assert engine.ready() == 4
    assert engine.process.wait(5) == -signal.SIGPWR


def test_another_command_line_breaks_the_promise(launch: Launch) -> None:
    """A server that was started by something else than what was reviewed is found out, though its pool is large."""
    engine = launch("kept", settings={"served_model_name": "other", "mem_fraction_static": 0.95})
    assert engine.ready() == 0
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan, "--json")
    rows = rows_of(done)
    assert done.code == BROKEN
    assert rows["--served-model-name"]["state"] == "broken"
    assert rows["--mem-fraction-static"]["state"] == ("changed by the engine, or another launch's")
    assert json.loads(done.out)["kept"] is False


def test_a_server_does_not_steer_the_terminal(launch: Launch) -> None:
    """Control characters in what a server tells are shown, not obeyed; and a long value does not widen the table."""
    engine = launch("kept", settings={"served_model_name": "a\x1b[2Jb\n" + "c" * 500})
    assert engine.ready() == 0
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan)
    assert done.code == BROKEN
    assert "\x1b" not in done.out + done.err
    assert max(map(len, done.out.split("\n"))) < 200
    done = poolproof("measure", "--url", engine.url, "--plan", engine.plan)
    assert "\x1b" not in done.out + done.err


def test_what_nothing_tells_is_not_taken_for_kept(stub: Stub, tmp_path: Path) -> None:
    """A server that tells its pool alone leaves the rest of the promise unchecked, which fails."""
    stub.routes["/metrics"] = metrics(205_837)
    plan = ROOT / "out" / "k2.6-200k" / "plan.json"
    done = poolproof("verify", "--url", stub.url, "--plan", plan, here=tmp_path)
    assert done.code == BROKEN
    assert "error[promise-unchecked]" in done.err
    assert "the server does not tell its context" in done.err
    assert "promise-broken" not in done.err


def test_a_server_that_is_not_there() -> None:
    """Without an answer there is no verdict: exit 5, and why."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = poolproof("verify", "--url", url, "--profile", "k2.6-200k")
    assert done.code == SILENT
    assert "error[server-silent]" in done.err
    assert "nothing listens there" in done.err
    as_json = json.loads(poolproof("verify", "--url", url, "--profile", "k2.6-200k", "--json").out)
    assert (as_json["kept"], as_json["rows"]) == (False, [])
    assert as_json["findings"][0]["code"] == "server-silent"


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b"[" * 10**5, b"{}", b"[1]", b'{"model_path": 3, "internal_states": [7]}']
)
def test_answers_that_make_no_sense(stub: Stub, body: bytes) -> None:
    """Garbage from the endpoints is a server that does not answer, never a bug."""
    for path in ("/server_info", "/get_server_info", "/metrics", "/model_info"):
        stub.routes[path] = reply(200, body)
    done = poolproof("verify", "--url", stub.url, "--profile", "k2.6-200k")
    assert done.code == SILENT
    assert "error[server-silent]" in done.err


def test_one_endpoint_that_hangs(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first endpoint hangs the others still tell the pool."""
    import compiler.host.observe  # noqa: PLC0415 - what is patched
    from compiler.engines.sglang.log import OBSERVER  # noqa: PLC0415 - as above
    from compiler.host.httpget import get, parse_address  # noqa: PLC0415 - as above

    stub.routes["/server_info"] = hang
    stub.routes["/metrics"] = metrics(205_837)
    monkeypatch.setattr(
        compiler.host.observe, "get", lambda a, p, *, key: get(a, p, key=key, total_s=0.3)
    )
    address = parse_address(stub.url)
    assert address is not None
    observed = compiler.host.observe.observe_server(address, key=None, observer=OBSERVER)
    assert observed.start is not None
    assert observed.start.pool_tokens == 205_837
    assert observed.notes[0] == "`/server_info`: no answer within 0.3 s"


def test_a_wrong_key_is_said_and_not_shown(launch: Launch) -> None:
    """A server that wants another key than the plan's file has is told apart from one that is silent."""
    engine = launch("kept")
    assert engine.ready() == 0
    engine.key.write_text("api-key: wrong\n")
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan)
    assert "`/server_info`: wants another API key" in done.err
    engine.key.unlink()
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan)
    assert "`/server_info`: wants the API key" in done.err
    assert "going on without the API key" in done.err


@pytest.mark.parametrize(
    ("fault", "code"), [({"faults": ["die"]}, 3), ({"faults": ["hang"]}, 6)], ids=["dies", "hangs"]
)
def test_a_start_that_fails(launch: Launch, fault: dict[str, object], code: int) -> None:
    """A server that dies in its load, or hangs there, is not ready; and its log tells no pool."""
    engine = launch("kept", **fault)
    assert engine.ready(timeout=2) == code
    done = poolproof("verify", "--log", engine.log, "--plan", engine.plan)
    assert done.code == BROKEN
    assert "error[log-incomplete]" in done.err


def test_late_and_deaf(launch: Launch) -> None:
    """The stub can answer late, and ignore SIGTERM as an engine that hangs does."""
    engine = launch("kept", faults=["late", "ignore-sigterm"], late_s=1.0)
    assert engine.ready() == 0
    engine.process.terminate()
    time.sleep(0.3)
    assert engine.process.poll() is None


def test_a_measured_boot_makes_later_plans_exact(launch: Launch, tmp_path: Path) -> None:
    """The story's start, measured from its log, makes the plan of the same settings `measured` to the token."""
    engine = launch("kept", pool_tokens=205_900)
    assert engine.ready() == 0
    profiles = tmp_path / "tree" / "profiles"
    profiles.mkdir(parents=True)  # the folder of boots is made by the first of them
    for folder in ("base", "hw"):
        (profiles / folder).symlink_to(PROFILES / folder)
    target = profiles / "boots" / "ct200-0.93.toml"
    done = poolproof("measure", "--log", engine.log, "--plan", engine.plan, "-o", target)
    assert (done.code, done.err) == (0, "")
    assert KEY not in target.read_text("utf-8")
    catalog = open_catalog(FolderReader(profiles))
    profile = (PROFILES / "k2.6-200k.toml").read_text("utf-8")
    checked = check_text(profiles, profile, catalog=catalog)
    memory = only_plan(checked).memory
    assert memory is not None
    assert memory.pool.evidence is Evidence.MEASURED
    assert memory.pool.tokens.best == 205_900
    again = poolproof("measure", "--log", engine.log, "--plan", engine.plan, "-o", target)
    assert again.code == SILENT
    assert "error[boot-unwritable]" in again.err


def test_what_nobody_tells_is_asked_for(launch: Launch) -> None:
    """Without a plan the release and the GPUs are asked for by name; given, the boot is written, from stdin as well."""
    engine = launch("story")
    assert engine.ready(required=1) == 0
    done = poolproof("measure", "--log", engine.log)
    assert done.code == BROKEN
    assert (
        "error[boot-lacking]: `engine.log` does not tell `version`, `gpu`, `gpu_count`" in done.err
    )
    given = (
        "--set",
        "version=0.5.11",
        "--set",
        "gpu=rtx-pro-6000-blackwell",
        "--set",
        "gpu_count=8",
    )
    with engine.log.open("rb") as log:
        piped = subprocess.run(
            command("measure", "-", *given),
            check=True,
            stdin=log,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
    for line in (
        'model = "moonshotai/Kimi-K2.6"',
        'draft = "z-lab/Kimi-K2.6-DFlash"',
        "pool_tokens = 101_134",
    ):
        assert line in piped.stdout.split("\n")


def test_a_plan_names_the_draft(launch: Launch) -> None:
    """A draft in a folder with a name of its own is recorded by the id that the plan has for it."""
    engine = launch("story", argv={"/srv/models/Kimi-K2.6-DFlash": "/data/d7"})
    assert engine.ready(required=1) == 0
    done = poolproof("measure", "--log", engine.log, "--plan", engine.plan)
    assert done.code == 0, done
    assert 'draft = "z-lab/Kimi-K2.6-DFlash"' in done.out.split("\n")


def test_what_is_needed_is_known_without_memory(launch: Launch) -> None:
    """Where nobody described what decides the pool, its promise is still a number to hold the server against."""
    engine = launch("kept")
    assert engine.ready() == 0
    plan = json.loads(engine.plan.read_text())
    engine.plan.write_text(json.dumps({**plan, "pool": None, "static": [], "reserve": []}))
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan, "--json")
    pool = rows_of(done)["pool"]
    assert (done.code, pool["promised"], pool["predicted"]) == (0, 200_005, None)
    del plan["promise"]["required_tokens"]  # as an older Poolproof wrote it
    engine.plan.write_text(json.dumps(plan))
    done = poolproof("verify", "--url", engine.url, "--plan", engine.plan, "--json")
    assert (done.code, rows_of(done)["pool"]["promised"]) == (0, 200_005)


def test_flags_that_change_memory_are_recorded(launch: Launch) -> None:
    """What a server was told besides and changes memory stands in its boot, unless the plan says it as well."""
    engine = launch("story", settings={"quantization": "fp8", "cpu_offload_gb": 0})
    assert engine.ready(required=1) == 0
    given = (
        "--set",
        "version=0.5.11",
        "--set",
        "gpu=rtx-pro-6000-blackwell",
        "--set",
        "gpu_count=8",
    )
    done = poolproof("measure", "--log", engine.log, *given)
    assert done.out.endswith('\n[flags]\nquantization = "fp8"\n')


def test_the_plan_stands_for_arguments_that_are_not_told(stub: Stub) -> None:
    """A server that tells its pool and its model's name alone is recorded by the settings of the plan, and that is said."""
    stub.routes["/metrics"] = metrics(205_837)
    stub.routes["/model_info"] = reply(200, b'{"model_path": "/srv/models/Kimi-K2.6"}')
    done = poolproof("measure", "--url", stub.url, "--profile", "k2.6-200k")
    assert (
        "does not tell `page_size`" in done.err
    )  # the release chose it, and the plan does not say
    done = poolproof("measure", "--url", stub.url, "--profile", "k2.6-200k", "--set", "page_size=1")
    assert done.code == 0
    assert "fraction = 0.93" in done.out
    assert "those of the plan stand for them" in done.err


def test_a_boot_of_another_start_than_the_plan(launch: Launch) -> None:
    """What the server runs with wins over the plan, and the difference is said."""
    engine = launch(
        "kept", settings={"mem_fraction_static": 0.85, "speculative_algorithm": "DFLASH"}
    )
    assert engine.ready() == 0
    done = poolproof("measure", "--log", engine.log, "--plan", engine.plan)
    assert done.code == 0
    assert "fraction = 0.85" in done.out
    assert 'algorithm = "dflash"' in done.out
    assert "note: `--mem-fraction-static` is `0.85`, and `0.93` in the plan" in done.err


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"schema": 2}', b'{"schema": 1, "targets": {}}', b"[" * 10**5, b"\xff"],
)
def test_a_plan_that_is_none(tmp_path: Path, content: bytes) -> None:
    """A plan.json that a compile did not write is said to be none."""
    plan = tmp_path / "plan.json"
    plan.write_bytes(content)
    done = poolproof("verify", "--log", "x", "--plan", plan)
    assert done.code == BROKEN
    assert "error[plan-unreadable]" in done.err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--log", "x", "--url", "http://h"),
        ("--url", "h"),
        ("--url", "http://user:pw@h"),
        ("--log", "x", "--user"),
        ("--log", "x", "y"),
        ("--unit", "-x"),
        ("--log", "x", "--plan", "a", "--profile", "b"),
    ],
)
def test_usage(words: tuple[str, ...]) -> None:
    """Not exactly one server, or two plans, is a wrong command line."""
    assert poolproof("verify", *words).code == USAGE
    assert poolproof("measure", *words).code == USAGE


@pytest.mark.parametrize(
    "told", ["gpu", "nope=1", "gpu_count=x", "dp_attention=1", "pool_tokens=1"]
)
def test_fields_that_cannot_be_told(told: str) -> None:
    """A field that is none, or of another type, or that only a server can tell, is a wrong command line."""
    assert poolproof("measure", "--log", "x", "--set", told).code == USAGE


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    """A log that cannot be read is the machine's fault."""
    done = poolproof("verify", "--log", tmp_path / "none.log", "--profile", "k2.6-200k")
    assert done.code == SILENT
    assert "error[log-unreadable]" in done.err
    done = poolproof("verify", "--log", tmp_path, "--profile", "k2.6-200k")
    assert done.code == SILENT


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands in front of the others: `systemctl` that shows what `shown` holds, `journalctl` that prints `journal`."""
    folder = tmp_path / "host"
    folder.mkdir()
    for name, does in (
        ("systemctl", f"cat {folder}/shown"),
        ("journalctl", f'echo "$@" > {folder}/asked; cat {folder}/journal'),
    ):
        script = folder / name
        script.write_text(f"#!/bin/sh\n{does}\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (folder / "shown").write_text("LoadState=not-found\nActiveState=inactive\n")
    (folder / "journal").write_text("")
    return folder


def installed(host: Path, engine: Running) -> None:
    """Make the stub's plan the one of the unit's generation, behind a link as a switch makes it."""
    generation = host / "gen-1"
    generation.mkdir()
    (generation / "kimi-k2.6.service").write_text("[Service]\n")
    (generation / "plan.json").write_bytes(engine.plan.read_bytes())
    link = host / "kimi-k2.6.service"
    link.symlink_to(generation / "kimi-k2.6.service")
    (host / "shown").write_text(f"LoadState=loaded\nActiveState=active\nFragmentPath={link}\n")


def test_a_unit(host: Path, launch: Launch) -> None:
    """Of a unit the plan is found beside its file; its endpoints and its journal are put together."""
    engine = launch("kept")
    assert engine.ready() == 0
    installed(host, engine)
    (host / "journal").write_bytes(b"an old line\n" + engine.log.read_bytes())
    done = poolproof("verify", "--unit", "kimi-k2.6", "--json")
    rows = rows_of(done)
    assert (done.code, done.err) == (0, "")
    assert rows["free before load"]["measured"] == 94.08
    assert rows["--served-model-name"]["state"] == "same"
    assert (host / "asked").read_text().split()[-2:] == ["--unit", "kimi-k2.6.service"]
    done = poolproof("measure", "--unit", "kimi-k2.6")
    assert done.code == 0
    assert "weights_gib = 72.7\n" in done.out
    assert "the journal of kimi-k2.6.service" in done.out


def test_a_journal_of_another_start(host: Path, launch: Launch) -> None:
    """Where the journal's last whole start has another pool than the server, its figures are left out, and that is said."""
    engine = launch("kept")
    assert engine.ready() == 0
    installed(host, engine)
    (host / "journal").write_bytes(engine.log.read_bytes().replace(b"205837", b"101134"))
    done = poolproof("verify", "--unit", "kimi-k2.6.service", "--json")
    assert done.code == 0
    assert "free before load" not in rows_of(done)
    other = "the journal of `kimi-k2.6.service` tells of another start, and was not used"
    assert json.loads(done.out)["notes"] == [other]
    (host / "journal").write_bytes(
        engine.log.read_bytes().replace(b"context_len=200000", b"context_len=32768")
    )
    done = poolproof("verify", "--unit", "kimi-k2.6.service", "--json")
    assert json.loads(done.out)["notes"] == [other]
    (host / "journalctl").write_text("#!/bin/sh\necho 'No journal files were opened' >&2\nexit 1\n")
    done = poolproof("verify", "--unit", "kimi-k2.6.service")
    assert done.code == 0
    assert "cannot be read: no journal files were opened" in done.err


def test_a_unit_that_is_down(host: Path, launch: Launch) -> None:
    """A journal that tells a good start does not make up for a server that does not answer, but it can be recorded."""
    engine = launch("kept")
    assert engine.ready() == 0
    installed(host, engine)
    (host / "journal").write_bytes(engine.log.read_bytes())
    engine.stop()
    done = poolproof("verify", "--unit", "kimi-k2.6")
    assert done.code == SILENT
    assert "nothing listens there" in done.err
    done = poolproof("measure", "--unit", "kimi-k2.6")
    assert done.code == 0
    assert "pool_tokens = 205_837" in done.out


def test_a_unit_without_a_plan(host: Path, launch: Launch) -> None:
    """`unit-unplanned`: a unit that is not there, or that somebody else installed; it can be measured all the same."""
    done = poolproof("verify", "--unit", "sglang")
    assert done.code == BROKEN
    assert "error[unit-unplanned]: systemd knows no file of a unit `sglang`" in done.err
    (host / "shown").write_text(
        f"LoadState=loaded\nActiveState=active\nFragmentPath={host}/shown\n"
    )
    done = poolproof("verify", "--unit", "sglang")
    assert done.code == BROKEN
    assert "was not installed by Poolproof" in done.err
    engine = launch("story")
    assert engine.ready(required=1) == 0
    (host / "journal").write_bytes(engine.log.read_bytes())
    done = poolproof("measure", "--unit", "sglang")
    assert "does not tell `version`, `gpu`, `gpu_count`" in done.err


def test_the_verbs_do_without_the_compiler() -> None:
    """Neither verb imports the pipeline, a template engine, or the planner."""
    script = (
        "import sys; import compiler.cli.measure, compiler.cli.verify; "
        "print(*sorted(each for each in sys.modules if each.startswith(('compiler.pipeline', 'compiler.planner', 'jinja2', "
        "'compiler.checks', 'compiler.render.templates'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.split() == []
