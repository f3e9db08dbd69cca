"""The findings of the host verbs at their borders: beside each state that gives one, the nearest that does not."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from attrs import evolve

from checkouts import run
from compiler.cli.exits import Exit
from compiler.diagnostics import Diagnostic
from compiler.host import watch as watching
from compiler.host.ending import Outcome
from compiler.host.finding import find_unit
from compiler.host.intent import Intent
from compiler.host.live import Say
from compiler.host.lock import held
from compiler.host.machine import Finished, Machine
from compiler.host.preflight import preflight
from compiler.host.preflight_probe import Entry, Untold
from compiler.host.record import State, write_record
from compiler.host.retire import Retired, retire
from compiler.host.rollback import choose_generation
from compiler.host.site import Manner
from compiler.host.staged import Staged, read_staged
from compiler.host.status import look_at_unit
from compiler.host.store import read_store
from compiler.host.switching import switch
from compiler.host.units import Scope, UnitState
from compiler.host.watch import Watched
from compiler.tree.manifest import digest
from generations import (
    FINE,
    LARGE,
    OUT,
    SMALL,
    STATE_DIR,
    UNIT,
    Host,
    Manager,
    Stopping,
    codes,
    unit_of,
)
from test_preflight import (
    CARD,
    FOLDER,
    MODEL,
    PLAN,
    PYTHON,
    SECRET,
    SGLANG,
    TRAILS,
    FakeProbe,
    cards,
    checked,
    copy,
    file,
    folder,
    listener,
    written,
)


REFUSED = Finished(code=1, stdout="", stderr="Access denied\n")
Edit = Callable[[Path], object]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which nothing was switched to."""
    return Host(tmp_path / "host")


def found(host: Host, *, replace: bool = False) -> list[str]:
    """The codes of a switch that is only worked out."""
    intent = host.intend(SMALL, replace=replace)
    return codes(intent.findings if isinstance(intent, Intent) else intent)


def code(outcome: object) -> str | None:
    """The code of a finding; `None` where there is another value in its place."""
    return outcome.code if isinstance(outcome, Diagnostic) else None


# what stands on the disk


@pytest.mark.parametrize(
    ("edit", "is_edited"),
    [
        (lambda env: env.write_bytes(env.read_bytes()), False),
        (lambda env: env.write_bytes(env.read_bytes()[:-1]), True),
        (lambda env: env.write_bytes(env.read_bytes() + b"\n"), True),
        (lambda env: env.chmod(0o666), False),
        (lambda env: env.chmod(0o744), True),
        (lambda env: env.with_name("empty").mkdir(), False),
        (lambda env: env.with_name("empty").touch(), True),
        (lambda env: env.unlink(), True),
    ],
)
def test_a_byte_of_a_generation(host: Host, edit: Edit, *, is_edited: bool) -> None:
    """`generation-edited`: one byte, the executable bit, or a file more; not the time, nor who else may read it."""
    host.switch(SMALL)
    edit(host.places.generation(1) / "kimi-k2.6.env")
    wanted = ["generation-edited"] if is_edited else []
    assert codes(look_at_unit(host.store, host.live).findings) == wanted
    assert found(host) == wanted


@pytest.mark.parametrize(("number", "is_there"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_number_beside_the_last(host: Host, number: int, *, is_there: bool) -> None:
    """`generation-missing`: only the numbers that were given."""
    host.switch(SMALL)
    host.switch(LARGE)
    assert code(choose_generation(host.store, number)) == (
        None if is_there else "generation-missing"
    )


@pytest.mark.parametrize(
    ("state", "is_one"),
    [(State.GOOD, True), (State.NEW, True), (State.STARTING, True), (State.FAILED, False)],
)
def test_the_last_way_back(host: Host, state: State, *, is_one: bool) -> None:
    """`generation-missing` without a number: of the generations below the current one none is left that did not fail."""
    host.switch(SMALL)
    host.switch(LARGE)
    write_record(Stopping(), host.places.state, host.store.record.noted(1, state=state))
    assert code(choose_generation(host.store, None)) == (None if is_one else "generation-missing")
    host.rollback(1)
    assert code(choose_generation(host.store, None)) == "generation-missing"  # 2 is above it


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        ("inside", []),
        (".", []),
        ("inside/../../image-2", ["root-left"]),
        ("..", ["root-left"]),
    ],
)
@pytest.mark.parametrize("name", ["var", "etc"])
def test_a_link_to_the_rim_of_an_image(
    tmp_path: Path, name: str, link: str, wanted: list[str]
) -> None:
    """`root-left`: a link to the image itself stays in it; one to a folder beside it, named alike, leads out."""
    image = Host(tmp_path / "image", is_live=False)
    (image.root / "inside").mkdir()
    (tmp_path / "image-2").mkdir()
    (image.root / name).symlink_to(link)
    assert found(image) == wanted


@pytest.mark.parametrize(
    ("names", "is_foreign"),
    [
        ((), False),
        (("notes",), True),
        (("notes", "gen-1"), False),
        (("notes", "record.json"), True),
        (("gen-01",), True),
        (("gen-0",), True),
        (("gen-123456789",), False),
        (("gen-1234567890",), True),
        ((".old-1",), False),
        ((".old",), True),
        ((".new",), False),
    ],
)
def test_names_in_the_folder_of_generations(
    host: Host, names: Sequence[str], *, is_foreign: bool
) -> None:
    """`state-foreign`: it holds what no switch wrote, and nothing that one did."""
    for name in names:
        (host.places.state / name).mkdir(parents=True)
    if "record.json" in names:  # a record that is none makes nothing ours
        (host.places.state / "record.json").rmdir()
        (host.places.state / "record.json").write_text("{}")
    assert found(host) == (["state-foreign"] if is_foreign else [])


@pytest.mark.parametrize(
    ("text", "is_foreign"),
    [("gen-1", False), ("gen-2", False), ("gen-01", True), ("gen-0", True), ("gen-1/x", True)],
)
def test_what_current_says(host: Host, text: str, *, is_foreign: bool) -> None:
    """`state-foreign`: `current` is a link to a number, as a switch spells it; whether that is there is another thing."""
    host.switch(SMALL)
    current = host.places.state / "current"
    current.unlink()
    current.symlink_to(text)
    assert code(read_store(host.places)) == ("state-foreign" if is_foreign else None)


# who holds the unit's name


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        (f"{STATE_DIR}/gen-1/{UNIT}", []),
        (f"{STATE_DIR}/x", []),
        (f"../../..{STATE_DIR}/current/{UNIT}", []),
        (STATE_DIR, ["unit-foreign"]),
        (f"{STATE_DIR}-2/current/{UNIT}", ["unit-foreign"]),
        (f"{STATE_DIR}/../kimi/current/{UNIT}", ["unit-foreign"]),
        ("/dev/null", ["unit-masked"]),
        ("/dev/null2", ["unit-foreign"]),
    ],
)
def test_where_the_link_of_a_unit_points(host: Host, link: str, wanted: list[str]) -> None:
    """`unit-foreign`: it points beside our folder; `unit-masked`: to /dev/null and nowhere else."""
    host.link.parent.mkdir(parents=True)
    host.link.symlink_to(link)
    assert found(host) == wanted


@pytest.mark.parametrize(("text", "wanted"), [("", "unit-masked"), ("\n", "unit-foreign")])
@pytest.mark.parametrize("folder", ["etc", "run"])
def test_a_unit_of_one_byte(host: Host, folder: str, text: str, wanted: str) -> None:
    """`unit-masked`: an empty file is a mask, one of a byte is somebody's unit."""
    path = host.root / folder / "systemd/system" / UNIT
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert found(host) == [wanted]


@pytest.mark.parametrize("folder", ["etc", "run", "usr/lib", "usr/local/lib"])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (f"{UNIT}.d/x.conf", ["unit-drop-in"]),
        (f"{UNIT}.d/x.conf.off", []),
        (f"{UNIT}.d", []),
        ("kimi-k2.60.service.d/x.conf", []),
        ("x.conf", []),
    ],
)
def test_a_file_beside_the_unit(host: Host, folder: str, name: str, wanted: list[str]) -> None:
    """`unit-drop-in`: a `.conf` in the unit's own folder; another suffix and another unit's are not read by systemd."""
    path = host.root / folder / "systemd/system" / name
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\n")
    assert found(host) == wanted


def test_the_name_of_a_unit_that_is_here(host: Host) -> None:
    """`unit-unknown`: a name, a folder, or none at all means one unit, or is refused."""
    host.switch(SMALL)
    for asked, wanted in (
        (None, None),
        ("kimi-k2.6", None),
        (UNIT, None),
        ("kimi-k2.", "unit-unknown"),
        (STATE_DIR, None),
        (f"{STATE_DIR}/", None),
        (STATE_DIR[:-1], "unit-unknown"),
        ("/var/lib/poolproof", "unit-unknown"),
    ):
        assert code(find_unit(host.root, asked)) == wanted, asked
    second = host.places.state.with_name("second")
    shutil.copytree(host.places.state, second, symlinks=True)
    assert code(find_unit(host.root, "kimi-k2.6")) == "unit-unknown"  # two of that name
    record = (second / "record.json").read_text()
    (second / "record.json").write_text(record.replace(UNIT, "other.service"))
    assert code(find_unit(host.root, "kimi-k2.6")) is None
    assert code(find_unit(host.root, None)) == "unit-unknown"  # two, and which is not said


# what is staged


def in_tree(out: Path, edit: Edit) -> Staged | Diagnostic:
    """The small profile of a copy of `out/`, after something was done to it."""
    shutil.copytree(OUT, out)
    edit(out)
    return read_staged(out, SMALL, target=None)


def _cut(out: Path) -> None:
    unit = out / SMALL / "ct200" / UNIT
    unit.write_bytes(unit.read_bytes()[:-1])


def _again(out: Path) -> None:
    unit = out / SMALL / "ct200" / UNIT
    unit.write_bytes(unit.read_bytes())


def _pending(out: Path, name: str) -> None:
    (out / ".pending").mkdir()
    (out / ".pending" / name).touch()


@pytest.mark.parametrize(
    ("edit", "is_edited"),
    [
        (_again, False),
        (_cut, True),
        (lambda out: (out / SMALL / "ct200" / UNIT).chmod(0o600), False),
        (lambda out: (out / SMALL / "ct200" / UNIT).chmod(0o744), True),
        (lambda out: (out / SMALL / "ct200/launch.sh").chmod(0o700), False),
        (lambda out: (out / SMALL / "ct200/launch.sh").chmod(0o644), True),
        (lambda out: (out / LARGE / "extra").touch(), False),
        (lambda out: (out / SMALL / "extra").touch(), True),
        (lambda out: (out / LARGE / "PLAN.md").unlink(), False),
        (lambda out: (out / SMALL / "PLAN.md").unlink(), True),
        (lambda out: _pending(out, "journal.new"), False),
        (lambda out: _pending(out, "journal"), True),
    ],
)
def test_a_byte_of_a_staged_tree(tmp_path: Path, edit: Edit, *, is_edited: bool) -> None:
    """`staged-edited`: what of the profile itself is not as MANIFEST has it; another profile is another matter."""
    assert code(in_tree(tmp_path / "out", edit)) == ("staged-edited" if is_edited else None)


@pytest.mark.parametrize(
    ("path", "is_edited"), [(f"{SMALL}/ct200/x", False), (f"{SMALL}x/ct200/x", True)]
)
def test_a_line_that_leads_out(tmp_path: Path, path: str, *, is_edited: bool) -> None:
    """`staged-edited`: a file that MANIFEST gives to the profile stands in another folder."""

    def edit(out: Path) -> None:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).touch()
        manifest = out / "MANIFEST"
        lines = [*manifest.read_text().splitlines(), f"{digest(b'')}  644  {path}  {SMALL}"]
        manifest.write_text(
            "\n".join([lines[0], *sorted(lines[1:], key=lambda each: each[71:])]) + "\n"
        )

    assert code(in_tree(tmp_path / "out", edit)) == ("staged-edited" if is_edited else None)


def planned(out: Path, old: str, new: str) -> Staged | Diagnostic:
    """The small profile with something else in its plan, and the hash that belongs to it."""

    def edit(out: Path) -> None:
        plan, manifest = out / SMALL / "plan.json", out / "MANIFEST"
        before = plan.read_text()
        assert before.count(old) == 1
        plan.write_text(before.replace(old, new))
        hashes = digest(before.encode()), digest(plan.read_bytes())
        manifest.write_text(manifest.read_text().replace(*hashes))

    return in_tree(out, edit)


@pytest.mark.parametrize(
    ("field", "old", "new", "is_invalid"),
    [
        ("state_dir", f'"{STATE_DIR}"', '"/s/r"', False),
        ("state_dir", f'"{STATE_DIR}"', '"/srv"', True),
        ("state_dir", f'"{STATE_DIR}"', f'"/s/{"r" * 2045}"', False),
        ("state_dir", f'"{STATE_DIR}"', f'"/s/{"r" * 2046}"', True),
        ("state_dir", f'"{STATE_DIR}"', '"/s/r/"', True),
        ("state_dir", f'"{STATE_DIR}"', '"/s/.r"', False),
        ("state_dir", f'"{STATE_DIR}"', '"/s/."', True),
        ("start_timeout_s", "1800", "31622400", False),  # 366 days
        ("start_timeout_s", "1800", "31622401", True),
        ("start_timeout_s", "1800", "0", False),
        ("start_timeout_s", "1800", "-1", True),
        ("start_timeout_s", "1800", "true", True),
        ("manager", '"system"', '"user"', False),
        ("manager", '"system"', '"users"', True),
        ("unit", f'"{UNIT}"', '"kimi-k2.7.service"', True),
    ],
)
def test_a_plan_at_its_limits(
    tmp_path: Path, field: str, old: str, new: str, *, is_invalid: bool
) -> None:
    """`staged-invalid`: each figure of a target one step beyond what a switch takes."""
    outcome = planned(tmp_path / "out", f'"{field}": {old}', f'"{field}": {new}')
    assert code(outcome) == ("staged-invalid" if is_invalid else None)


@pytest.mark.parametrize(
    ("profile", "target", "wanted"),
    [
        (SMALL, None, None),
        (SMALL, "ct200", None),
        (SMALL, "ct20", "staged-missing"),
        (SMALL[:-1], None, "staged-missing"),
        (f"./{SMALL}", None, "staged-missing"),
    ],
)
def test_the_name_of_a_staged_target(profile: str, target: str | None, wanted: str | None) -> None:
    """`staged-missing`: a letter less of the profile's or the target's name."""
    assert code(read_staged(OUT, profile, target=target)) == wanted


def test_a_second_target(tmp_path: Path) -> None:
    """`staged-missing`: of one target the name may be left out, of two it may not."""
    text = (OUT / SMALL / "plan.json").read_text()
    key = '"ct200": {'
    assert text.count(key) == 1
    outcome = planned(tmp_path / "out", key, f'"b": {{}}, {key}')
    assert isinstance(outcome, Diagnostic)
    assert (outcome.code, outcome.notes) == (
        "staged-missing",
        (f"there are `{SMALL}/b`, `{SMALL}/ct200`",),
    )
    named = read_staged(tmp_path / "out", SMALL, target="ct200")
    assert isinstance(named, Staged)


# what the machine does


def test_a_lock_that_was_just_let_go(host: Host) -> None:
    """`host-busy`: while somebody holds the folder of this unit; not after, and not the folder beside it."""
    host.switch(SMALL)
    with held(host.places.state):
        assert codes(host.switch(LARGE)) == ["host-busy"]
        retired = retire(host.store, machine=Stopping(), live=None, delete=False)
        assert code(retired) == "host-busy"
    with held(host.places.state.parent):
        assert codes(host.switch(LARGE)) == []


@pytest.mark.parametrize(("load_s", "wanted"), [(240, []), (241, ["host-busy"])])
def test_a_record_that_changed_meanwhile(host: Host, load_s: int, wanted: list[str]) -> None:
    """`host-busy`: what was decided on a record holds for the same one only, to the second."""
    host.switch(SMALL)
    intent = host.intend(LARGE)
    assert isinstance(intent, Intent)
    write_record(Stopping(), host.places.state, host.store.record.noted(1, load_s=load_s))
    done = switch(intent, machine=Stopping(), live=host.manager, manner=Manner())
    assert codes(done) == wanted


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("verb", ["generations", "gc", "status", "switch"])
def test_a_folder_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, number: int
) -> None:
    """`host-unreadable`: that there is no such folder is an answer, any other error is none."""
    image = Host(tmp_path / "host", is_live=False)
    image.switch(SMALL)
    listdir = os.listdir

    def closed(place: str) -> list[str]:
        if Path(place) == image.places.state:
            raise OSError(number, os.strerror(number), str(place))
        return listdir(place)

    monkeypatch.setattr(os, "listdir", closed)
    words = (verb, str(OUT / LARGE / "ct200")) if verb == "switch" else (verb,)
    more = ("--dry-run",) if verb == "switch" else ()
    done = run(*words, *more, "--root", str(image.root), here=tmp_path)
    is_fault = number != errno.ENOENT
    assert (done.code == Exit.MACHINE, "error[host-unreadable]" in done.err) == (is_fault, is_fault)


def test_an_error_at_the_last_step(host: Host, tmp_path: Path) -> None:
    """`host-unwritable`: the last thing a switch writes counts as the first does; there is no step after it."""
    machine = Stopping()
    host.copy(tmp_path / "counted").switch(SMALL, machine=machine)

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for at, wanted in ((len(machine.steps) - 1, ["host-unwritable"]), (len(machine.steps), [])):
        copy = host.copy(tmp_path / str(at))
        assert codes(copy.switch(SMALL, machine=Stopping(at, full))) == wanted


# how a start ends


class Clock:
    """Stands for the module `time`; it goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let so much time go by."""
        self.now += seconds


BEFORE, AFTER = "a" * 32, "b" * 32
LOADING = UnitState(
    load_state="loaded", active="activating", sub="start-post", result="success", invocation=AFTER
)
READY = evolve(LOADING, active="active", sub="running")
ENDED = evolve(LOADING, active="failed", sub="failed", result="exit-code")
Told = Callable[[float], UnitState | None]


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Callable[[Told], Watched]:
    """Watch a unit, without a journal, whose state at each second a function tells."""
    monkeypatch.setenv("PATH", "/nowhere")

    def followed(told: Told) -> Watched:
        clock = Clock()
        monkeypatch.setattr(watching, "time", clock)
        monkeypatch.setattr(watching, "show", lambda *_, **__: told(clock.now))
        return watching.watch(
            UNIT, scope=Scope.SYSTEM, before=BEFORE, timeout_s=60, say=lambda _: None
        )

    return followed


class Followed(Manager):
    """A manager that is watched as a real one is."""

    def __init__(self, root: Path, watched: Watched) -> None:
        super().__init__(root)
        self.ended = watched

    def watch(self, *, before: str | None, timeout_s: float, say: Say) -> Watched:
        """As a test followed it."""
        del before, timeout_s, say
        return self.ended


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        # `watch` looks every quarter of a second, and the last time when its 60 are over.
        (lambda now: READY if now >= 60 else LOADING, []),
        (lambda now: READY if now >= 60.01 else LOADING, ["load-failed"]),
        (lambda now: READY if now >= 1 else evolve(READY, has_job=True), []),
        (lambda _: evolve(READY, has_job=True), ["load-failed"]),
        (lambda _: evolve(READY, active="reloading"), []),
        (lambda _: evolve(READY, active="deactivating"), ["load-failed"]),
        (lambda _: evolve(READY, invocation=BEFORE), ["load-failed"]),
        # systemd may be silent for 30 seconds.
        (lambda now: None if now <= 30 else READY, []),
        (lambda now: None if now <= 30.25 else READY, ["load-failed"]),
        # The exit codes of the probe: 4 is a short pool, those beside it are not.
        (lambda _: evolve(ENDED, probe_status=3), ["load-failed"]),
        (lambda _: evolve(ENDED, probe_status=4), ["pool-short"]),
        (lambda _: evolve(ENDED, probe_status=5), ["load-failed"]),
        (lambda _: evolve(READY, probe_status=4), []),
    ],
)
def test_the_last_look_at_a_start(
    host: Host, follow: Callable[[Told], Watched], told: Told, wanted: list[str]
) -> None:
    """`load-failed`, `pool-short`: what a start comes to at the last look, and one look later."""
    host.manager = Followed(host.root, follow(told))
    assert codes(host.switch(SMALL, returns=False)) == wanted
    assert host.store.record.note(1).state is (State.FAILED if wanted else State.GOOD)


class Telling(Manager):
    """A manager whose reloads end one after the other as a test says; the last one stays."""

    def __init__(self, root: Path, *reloads: Finished) -> None:
        super().__init__(root)
        self.reloads = list(reloads)

    def reload(self, machine: Machine) -> Finished:
        """The next of them."""
        self.reload_ends = self.reloads.pop(0) if len(self.reloads) > 1 else self.reloads[0]
        return super().reload(machine)


@pytest.mark.parametrize(
    ("reloads", "failing", "wanted", "says"),
    [
        ((FINE,), (), [], ""),
        ((REFUSED, FINE), (), ["systemd-refused"], "Access denied"),
        (
            (Finished(code=None, stdout="", stderr=""), FINE),
            (),
            ["systemd-refused"],
            "it ended with None",
        ),
        ((FINE,), (LARGE,), ["load-failed"], "the main process ended"),
        (
            (FINE, REFUSED),
            (LARGE,),
            ["load-failed", "return-failed"],
            "systemd would not read it",
        ),
        ((FINE,), (LARGE, SMALL), ["load-failed", "return-failed"], "the main process ended"),
    ],
)
def test_one_answer_of_systemd(
    host: Host,
    reloads: tuple[Finished, ...],
    failing: tuple[str, ...],
    wanted: list[str],
    says: str,
) -> None:
    """`systemd-refused`: the reload of the switch; `return-failed`: that of the way back, or its load."""
    host.switch(SMALL)
    before = vars(host.live)
    manager = Telling(host.root, *reloads)
    vars(manager).update({name: before[name] for name in ("loaded", "runs", "_starts")})
    manager.failing = {unit_of(each): Outcome.FAILED for each in failing}
    host.manager = manager
    done = host.switch(LARGE)
    assert codes(done) == wanted
    assert all(each.summary.endswith(says) for each in done.diagnostics[-1:])
    assert host.store.current == (1 if wanted else 2)


class Stuck(Manager):
    """A manager that cannot be told to stop; what runs may have ended all the same."""

    def __init__(self, root: Path, *, ends: bool) -> None:
        super().__init__(root)
        self.ends = ends

    def stop(self, machine: Machine, *, timeout_s: float) -> Finished:
        """An error, whether it ended or not."""
        if self.ends:
            super().stop(machine, timeout_s=timeout_s)
        return REFUSED


@pytest.mark.parametrize("ends", [True, False])
def test_a_stop_that_is_refused(host: Host, *, ends: bool) -> None:
    """`systemd-refused`: a unit that runs on is not retired; one that is down is, whatever was said."""
    host.manager = Stuck(host.root, ends=ends)
    host.switch(SMALL)
    done = retire(host.store, machine=Stopping(), live=host.manager, delete=False)
    if ends:
        assert isinstance(done, Retired)
        assert host.store.current is None
    else:
        assert code(done) == "systemd-refused"
        assert (host.store.current, host.link.is_symlink()) == (1, True)


class Deaf(Manager):
    """A manager that can be reached, and does not say how its unit stands."""

    def show(self) -> UnitState | None:
        """Nothing."""
        return None


def test_a_manager_that_just_answers(host: Host) -> None:
    """`systemd-silent`: it must be reached, and tell how the unit stands; then nothing is found."""
    assert found(host) == []
    host.live.answers = False
    assert found(host) == ["systemd-silent"]
    host.manager = Deaf(host.root)
    assert found(host) == ["systemd-silent"]
    assert codes(look_at_unit(host.store, host.manager).findings) == ["systemd-silent"]


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        (lambda _: None, []),
        (lambda state: (state / ".new").mkdir(), ["switch-unfinished"]),
        (lambda state: (state / ".old-1").mkdir(), ["switch-unfinished"]),
        (lambda state: (state / ".record.new").touch(), ["switch-unfinished"]),
        (lambda state: (state / "new").mkdir(), []),
        (lambda state: shutil.rmtree(state / "gen-1"), []),
        (lambda state: shutil.rmtree(state / "gen-2"), ["switch-unfinished"]),
    ],
)
def test_what_a_cut_off_run_leaves(host: Host, edit: Edit, wanted: list[str]) -> None:
    """`switch-unfinished`: a name of ours that does not count yet, or the current generation gone; not an older one."""
    host.switch(SMALL)
    host.switch(LARGE)
    edit(host.places.state)
    status = look_at_unit(host.store, host.live)
    assert codes(status.findings) == wanted
    host.link.unlink()  # what is not linked is nobody's unfinished switch
    assert codes(look_at_unit(host.store, host.live).findings) == []


@pytest.mark.parametrize(
    ("started", "wanted"), [(2, []), (1, ["switch-unfinished"]), (None, ["switch-unfinished"])]
)
def test_which_generation_runs(host: Host, started: int | None, wanted: list[str]) -> None:
    """`switch-unfinished`: another one than the current, or nobody knows which; a unit that is down is none."""
    host.switch(SMALL)
    host.switch(LARGE)
    record = evolve(host.store.record, started=started)
    write_record(Stopping(), host.places.state, record)
    assert codes(look_at_unit(host.store, host.live).findings) == wanted
    host.live.stop(Stopping(), timeout_s=1)
    assert codes(look_at_unit(host.store, host.live).findings) == []


# what the host has


def without(path: str) -> Mapping[str, tuple[Entry, ...] | Untold]:
    """What the host has, but one path."""
    return {each: trail for each, trail in TRAILS.items() if each != path}


def instead(path: str, *entries: Entry) -> FakeProbe:
    """A host that has all, and one path in another way."""
    return FakeProbe(trails={**without(path), path: entries})


@pytest.mark.parametrize(
    ("probe", "code"),
    [
        # The user's own execute bit, or that of all others, and no other.
        (instead(PYTHON, folder("/"), file(PYTHON, 0o001)), None),
        (instead(PYTHON, folder("/"), file(PYTHON, 0o776)), "host-python"),
        (instead(PYTHON, folder("/"), file(PYTHON, 0o100, uid=990)), None),
        (instead(PYTHON, folder("/"), file(PYTHON, 0o677, uid=990)), "host-python"),
        (instead(PYTHON, folder("/", 0o711), file(PYTHON, 0o755)), None),
        (instead(PYTHON, folder("/", 0o710), file(PYTHON, 0o755)), "host-python"),
        (FakeProbe(trails=without(PYTHON)), "host-python"),
        # A folder wants reading and entering, a file only reading.
        (instead(MODEL, folder("/"), folder(MODEL, 0o005)), None),
        (instead(MODEL, folder("/"), folder(MODEL, 0o004)), "host-model"),
        (instead(MODEL, folder("/"), folder(MODEL, 0o001)), "host-model"),
        (instead(MODEL, folder("/"), file(MODEL, 0o004)), None),
        (FakeProbe(trails=without(MODEL)), "host-model"),
        # Nobody else but root reads a secret.
        (instead(SECRET, folder("/"), file(SECRET, 0o400, uid=990)), None),
        (instead(SECRET, folder("/"), file(SECRET, 0o200, uid=990)), "host-secret"),
        (instead(SECRET, folder("/"), file(SECRET, 0o600, uid=991, gid=990)), "host-secret"),
        (instead(SECRET, folder("/"), file(SECRET, 0o640, uid=0, gid=990)), None),
        (instead(SECRET, folder("/"), file(SECRET, 0o644, uid=0, gid=990)), "host-secret"),
        (FakeProbe(trails=without(SECRET)), "host-secret"),
        (FakeProbe(accounts={"sglang": SGLANG}), None),
        (FakeProbe(accounts={"sglan": SGLANG}), "host-user"),
        (FakeProbe(cards=None), None),
        (FakeProbe(cards=Untold(why="")), "host-driver"),
        (FakeProbe(cards=()), "host-gpu"),
        (FakeProbe(cards=cards(8)), None),
        (FakeProbe(cards=cards(7)), "host-gpu"),
        (FakeProbe(cards=cards(8, CARD[:-1])), "host-gpu"),
        (FakeProbe(memlock=None), None),
        (FakeProbe(memlock=1 << 40), "host-memlock"),
        (FakeProbe(shared=1 << 30), None),
        (FakeProbe(shared=(1 << 30) - 1), "host-shared-memory"),
        (FakeProbe(listening=(listener(unit=UNIT, pid=7),)), None),
        (FakeProbe(listening=(listener(unit=f"x{UNIT}", pid=7),)), "host-port"),
        (FakeProbe(listening=(listener(unit=UNIT, pid=7), listener(pid=8))), "host-port"),
    ],
)
def test_what_a_host_just_has(probe: FakeProbe, code: str | None) -> None:
    """Each check of `preflight` by one bit, one byte, one GPU, or one letter."""
    assert codes(checked(probe).diagnostics) == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("LimitMEMLOCK=infinity", "LimitMEMLOCK=infinity", ["host-memlock"]),
        ("LimitMEMLOCK=infinity", "LimitMEMLOCK=64M", []),
        ("LimitMEMLOCK=infinity", "LimitMEMLOCK=infinity\nLimitMEMLOCK=64M", []),
        ("LimitMEMLOCK=infinity", "", []),
    ],
)
def test_a_unit_that_asks_for_less(tmp_path: Path, old: str, new: str, wanted: list[str]) -> None:
    """`host-memlock`: a unit that wants no more than it can have is not warned of; the last setting counts."""
    target = copy(tmp_path)
    unit = target / UNIT
    assert unit.read_text().count(old) == 1
    unit.write_text(unit.read_text().replace(old, new))
    assert codes(checked(FakeProbe(memlock=8 << 20), target=target).diagnostics) == wanted


@pytest.mark.parametrize("count", [1, 2])
def test_one_gpu_needs_no_other(count: int) -> None:
    """`host-shared-memory` and `host-memlock` are about what goes from one GPU to another."""
    plan = {**PLAN, "gpus": {**PLAN["gpus"], "count": count}}
    probe = FakeProbe(memlock=8 << 20, shared=0)
    found = preflight(written(plan), FOLDER, scope=Scope.SYSTEM, probe=probe).diagnostics
    assert codes(found) == ([] if count == 1 else ["host-memlock", "host-shared-memory"])


@pytest.mark.parametrize(
    ("changes", "is_tree"),
    [
        ({}, True),
        ({"gpus": {**PLAN["gpus"], "count": 0}}, False),
        ({"gpus": {**PLAN["gpus"], "count": True}}, False),
        ({"gpus": {"kind": "rtx-pro-6000-blackwell", "count": 8}}, True),
        ({"gpus": {"kind": "rtx-pro-6000-blackwell"}}, False),
        ({"targets": {"ct20": PLAN["targets"]["ct200"]}}, False),
    ],
)
def test_a_plan_that_just_tells_its_needs(changes: Mapping[str, object], *, is_tree: bool) -> None:
    """`host-tree`: no GPU, or a key that is gone; the names of a GPU may be missing, as in an older plan."""
    found = preflight(
        written({**PLAN, **changes}), FOLDER, scope=Scope.SYSTEM, probe=FakeProbe()
    ).diagnostics
    assert codes(found) == ([] if is_tree else ["host-tree"])
