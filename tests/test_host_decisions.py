"""What the host verbs decide at the turns that no larger test passes: one comparison, one state on each side of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve

from compiler.consequence import Action, decide
from compiler.engines.observing import Start
from compiler.host import finding
from compiler.host.ending import Outcome
from compiler.host.finding import service_in
from compiler.host.growth import growth
from compiler.host.intent import (
    Intent,
    Step,
    intend_switch,
    running_generation,
)
from compiler.host.live import Say
from compiler.host.machine import Finished, Machine
from compiler.host.preflight import Preflight
from compiler.host.record import State, write_record
from compiler.host.returning import End
from compiler.host.rollback import intend_rollback
from compiler.host.site import Manner
from compiler.host.staged import Staged
from compiler.host.starting import NET_S
from compiler.host.switching import switch
from compiler.host.units import UnitState
from compiler.host.watch import Watched
from compiler.writtenplan import PLAN, WrittenPlan
from generations import (
    FP8,
    LARGE,
    OUT,
    SMALL,
    Host,
    Manager,
    Stopping,
    codes,
    staged,
    unit_of,
)
from test_consequence import FILES, UNIT, changed
from test_host_switch import promising, rewritten


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which nothing was switched to."""
    return Host(tmp_path / "host")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "ExecStart=:/opt/sglang/bin/python",
            "ExecStart=:/usr/bin/python",
            "`ExecStart` changed from `:/opt/sglang/bin/python` to `:/usr/bin/python`",
        ),
        (
            "  --enable-metrics\n",
            "  --enable-metrics ; /bin/true\n",
            "the commands of `ExecStart` changed",
        ),
        (
            "EnvironmentFile=/",
            "EnvironmentFile=-/",
            "`EnvironmentFile` changed from `/var/lib/poolproof/kimi-k2.6/current/kimi-k2.6.env` to `-/",
        ),
        ("--port 30000", '--port 30000 --x "a\\x1bb"', "`--x` is new: `a b`"),
        ("--port 30000", f"--port 30000 --x {'y' * 80}", f"`--x` is new: `{'y' * 80}`"),
        ("--port 30000", f"--port 30000 --x {'y' * 81}", f"`--x` is new: `{'y' * 80}...`"),
        ("--port 30000", '--port 30000 --x "a', "the commands of `ExecStart` changed"),
        ("--port 30000", "--port \\q30000", "the commands of `ExecStart` changed"),
        ("[Install]", "[Install", "a unit file cannot be read whole"),
    ],
)
def test_why_a_restart_is_needed(old: str, new: str, reason: str) -> None:
    """The reason names what changed, on one line that a terminal can take; of what cannot be read only that."""
    change = changed(old, new)
    assert change.action is Action.RESTART
    assert any(each.startswith(reason) for each in change.reasons), change.reasons


def test_a_damaged_unit_on_one_side() -> None:
    """Whichever of two units cannot be read whole, the service is started again."""
    whole, damaged = FILES, {**FILES, UNIT: FILES[UNIT].replace(b"[Install]", b"[Install")}
    for before, after in ((whole, damaged), (damaged, whole)):
        assert decide(before, after, unit=UNIT).reasons == ("a unit file cannot be read whole",)
    assert decide(damaged, dict(damaged), unit=UNIT).action is Action.NOTHING


RUNNING = UnitState(load_state="loaded", active="active", sub="running", result="success")


@pytest.mark.parametrize(
    ("seen", "remembered", "loaded", "runs"),
    [
        ("a", "a", None, 1),
        ("a", "b", None, None),
        (None, None, None, None),
        ("a", "b", 1, 1),
        ("a", "b", 2, None),
    ],
)
def test_which_generation_a_start_belongs_to(
    host: Host, seen: str | None, remembered: str | None, loaded: int | None, runs: int | None
) -> None:
    """The one that a verb started, by its invocation; else the one that systemd has read, where that is current."""
    host.switch(SMALL)
    record = evolve(host.store.record, started=1, invocation=remembered, loaded=loaded)
    store = evolve(host.store, record=record)
    assert running_generation(store, evolve(RUNNING, invocation=seen)) == runs
    assert running_generation(store, evolve(RUNNING, active="failed", invocation=seen)) is None


def test_a_unit_that_was_put_in_the_place_of_ours(host: Host) -> None:
    """What runs may be somebody's own by now, whatever a switch remembers of it: taking the name again restarts it."""
    host.switch(SMALL)
    host.link.unlink()
    host.link.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    host.live.begin_restart(Stopping())
    assert running_generation(host.store, host.live.show() or RUNNING) == 1
    intent = host.intend(SMALL, replace=True)
    assert isinstance(intent, Intent)
    assert (intent.step, intent.takes_it_down) == (Step.RESTART, True)


@pytest.mark.parametrize(
    ("state", "step"),
    [
        (State.NEW, Step.WAIT),
        (State.STARTING, Step.WAIT),
        (State.GOOD, Step.NOTHING),
        (State.FAILED, Step.NOTHING),
    ],
)
def test_a_start_that_nobody_saw_the_end_of(host: Host, state: State, step: Step) -> None:
    """It is waited for where the same generation is asked for again; another one is held against what runs."""
    host.switch(SMALL)
    write_record(Stopping(), host.places.state, host.store.record.noted(1, state=state))
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert intent.step is step


def manual(profile: str = SMALL) -> Staged:
    """A tree whose target leaves restarts to a person."""
    tree = staged(profile)
    return evolve(tree, service=evolve(tree.service, restarts_itself=False))


def test_a_first_start_that_is_left_to_a_person(host: Host) -> None:
    """A unit that is down is not started either; the files are there, and the person is told to."""
    intent = intend_switch(manual(), root=host.root, live=host.manager, replace=False)
    assert isinstance(intent, Intent)
    assert (intent.step, intent.reasons) == (Step.LEFT, ("it does not run",))
    switch(intent, machine=Stopping(), live=host.manager, manner=Manner())
    assert (host.store.current, host.live.runs, host.live.loaded) == (1, None, unit_of(SMALL))


def test_a_first_start_takes_nothing_down(host: Host) -> None:
    """Nobody notices that a unit is started which was down; a restart is noticed."""
    first = host.intend(SMALL)
    host.switch(SMALL)
    second = host.intend(LARGE)
    assert isinstance(first, Intent)
    assert isinstance(second, Intent)
    assert (first.step, first.takes_it_down) == (Step.START, False)
    assert (second.step, second.takes_it_down) == (Step.RESTART, True)


class Asked(Manager):
    """A manager that counts how often the host is checked."""

    checked = 0

    def check(self, plan: WrittenPlan, folder: Path, *, target: str) -> Preflight:
        """Nothing is wrong."""
        self.checked += 1
        return super().check(plan, folder, target=target)


def test_a_host_is_not_checked_for_what_is_refused(host: Host) -> None:
    """`nvidia-smi` and the others are not asked for a switch that will not be made."""
    manager = host.manager = Asked(host.root)
    host.intend(SMALL)
    assert manager.checked == 1
    manager.is_masked = True
    host.intend(SMALL)
    assert manager.checked == 1


@pytest.mark.parametrize(
    ("took", "says"),
    [
        ({}, "at most 30min"),
        ({1: 240}, "about 240s, as last time; at most 30min"),
        ({1: 240, 2: 100}, "about 100s, as last time; at most 30min"),
        ({2: 100}, "about 100s, as last time; at most 30min"),
    ],
)
def test_how_long_a_load_took(host: Host, took: Mapping[int, int], says: str) -> None:
    """What the wanted generation took comes before what the running one took."""
    host.switch(SMALL)
    record = host.store.record
    for number in (1, 2):
        record = record.noted(number, load_s=took.get(number))
    write_record(Stopping(), host.places.state, record)
    intent = host.intend(LARGE)
    assert isinstance(intent, Intent)
    assert (intent.number, intent.running, intent.load) == (2, 1, says)


# a promise that grows on the way back


@pytest.mark.parametrize(
    ("pool", "restarts_itself", "step"),
    [
        (100_000, True, Step.NOTHING),
        (99_999, True, Step.RESTART),
        (99_999, False, Step.LEFT),
        (None, True, Step.RESTART),
    ],
)
def test_a_way_back_to_a_larger_promise(
    host: Host, pool: int | None, step: Step, *, restarts_itself: bool
) -> None:
    """A rollback is not refused for what runs now: the earlier generation ran with more, and is loaded again."""
    out = host.root.parent / "out"
    promising(out, 100_000)
    host.switch(SMALL, out=out)
    host.switch(SMALL)
    store = host.store
    service = service_in(store.generations[1])
    assert service is not None
    host.live.told = None if pool is None else Start(pool_tokens=pool)
    intent = intend_rollback(
        store,
        store.generations[1],
        evolve(service, restarts_itself=restarts_itself),
        live=host.manager,
    )
    assert (store.current, intent.findings, intent.step) == (2, (), step)


def test_what_grew_beyond_what_runs(host: Host) -> None:
    """Only what is promised beyond the plan before; and all of that must be there."""
    content = (OUT / SMALL / "plan.json").read_bytes()
    plan = json.loads(content)
    promise = plan["promise"]
    more = {**promise, "required_tokens": 100_000, "context": promise["context"] + 1}
    grown = {PLAN: json.dumps({**plan, "promise": more}).encode()}
    assert growth({PLAN: content}, {PLAN: content}, live=host.live) is None
    assert growth(grown, {PLAN: content}, live=host.live) is None
    for told, is_kept in (
        (Start(pool_tokens=100_000, context=promise["context"] + 1), True),
        (Start(pool_tokens=100_000, context=promise["context"]), False),
        (Start(pool_tokens=100_000), False),
        (Start(pool_tokens=99_999, context=promise["context"] + 1), False),
    ):
        host.live.told = told
        found = growth({PLAN: content}, grown, live=host.live)
        assert found is not None
        assert [each.name for each in found.rows] == ["pool", "context"]
        assert found.is_kept is is_kept


# generations and their numbers


def test_a_number_is_not_given_twice(host: Host) -> None:
    """What `current` names counts, though its generation and the record are gone."""
    host.switch(SMALL)
    host.switch(LARGE)
    for number in (1, 2):
        shutil.rmtree(host.places.generation(number))
    (host.places.state / "record.json").unlink()
    assert (host.store.generations, host.store.highest) == ({}, 2)
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert intent.number == 3


def test_a_manifest_of_two_trees(host: Host) -> None:
    """A generation is of one staged tree."""
    host.switch(SMALL)
    manifest = host.places.generation(1) / "MANIFEST"
    lines = manifest.read_text().split("\n")
    lines[1] = lines[1].replace(f"{SMALL}/ct200", f"{LARGE}/ct200")
    manifest.write_text("\n".join(lines))
    assert host.store.generations[1].damage == (
        "its MANIFEST is missing, or not that of a generation",
    )


@pytest.mark.parametrize(("added", "shown", "last"), [(6, 6, "added"), (7, 6, "and 2 more")])
def test_how_much_damage_is_shown(host: Host, added: int, shown: int, last: str) -> None:
    """Five and the number of the others, which is never one."""
    host.switch(SMALL)
    for number in range(added):
        (host.places.generation(1) / f"x{number}").touch()
    damage = host.store.generations[1].damage
    assert len(damage) == shown
    assert damage[-1].endswith(last)


def test_a_leftover_that_is_a_link(host: Host) -> None:
    """A link in the place of what a cut-off run left is removed; where it leads nothing is touched."""
    host.switch(SMALL)
    outside = host.root.parent / "outside"
    outside.mkdir()
    (outside / "mine").write_text("x")
    (host.places.state / ".new").symlink_to(outside)
    assert codes(host.switch(LARGE)) == []
    assert (outside / "mine").read_text() == "x"
    assert host.store.leftovers == ()


def test_a_generation_that_went_meanwhile(host: Host) -> None:
    """Somebody removed one by hand, so that the record says nothing of it."""
    for profile in (SMALL, LARGE):
        host.switch(profile)
    intent = host.intend(FP8)
    assert isinstance(intent, Intent)
    shutil.rmtree(host.places.generation(1))
    done = switch(intent, machine=Stopping(), live=host.manager, manner=Manner())
    assert (codes(done), host.store.current) == (["host-busy"], 2)


def test_a_way_back_to_what_was_edited_is_never_worked_out(host: Host) -> None:
    """Whoever asks for it."""
    host.switch(SMALL)
    host.switch(LARGE)
    (host.places.generation(1) / "kimi-k2.6.env").write_text("NCCL_DEBUG=INFO\n")
    store = host.store
    service = service_in(store.generations[1])
    assert service is not None
    intent = intend_rollback(store, store.generations[1], service, live=host.manager)
    assert (codes(intent.findings), intent.refused) == (["generation-edited"], True)


# what a switch remembers


def test_what_is_known_of_a_load(host: Host) -> None:
    """Its time is that of a start which was followed from its beginning; an unnoticed change keeps it."""
    host.switch(SMALL, waits=False)
    assert host.store.record.note(1).load_s is None
    assert host.switch(SMALL).load_s is None  # it waited for a part of it only
    assert host.store.record.note(1).load_s is None
    assert host.switch(LARGE).load_s == 240
    out = host.root.parent / "out"
    shutil.copytree(OUT, out)
    rewritten(out, f"{LARGE}/ct200/{UNIT}", b"# hello\n" + unit_of(LARGE))
    assert host.switch(LARGE, out=out).step is Step.NOTHING
    assert host.store.record.note(3).load_s == 240


def test_an_old_time_is_not_told_for_a_new_load(host: Host) -> None:
    """A load that was waited for in part has no time of its own, though an earlier one of the same generation has."""
    host.switch(SMALL)
    host.switch(LARGE)
    store = host.store
    service = service_in(store.generations[1])
    assert service is not None
    intent = intend_rollback(store, store.generations[1], service, live=host.manager)
    switch(intent, machine=Stopping(), live=host.manager, manner=Manner(waits=False))
    again = intend_rollback(host.store, store.generations[1], service, live=host.manager)
    assert again.step is Step.WAIT
    done = switch(again, machine=Stopping(), live=host.manager, manner=Manner())
    assert (done.state, done.load_s) == (State.GOOD, None)
    assert host.store.record.note(1).load_s == 240


def test_when_a_generation_was_left(host: Host) -> None:
    """The one that is current has no such time, whatever was current in between."""
    host.switch(SMALL)
    host.switch(LARGE)
    assert (host.store.record.note(1).left is None, host.store.record.note(2).left) == (False, None)
    host.rollback(1)
    assert (host.store.record.note(1).left, host.store.record.note(2).left is None) == (None, False)


# the way back


def test_the_way_back_is_to_what_ran(host: Host) -> None:
    """Not to a generation that is current and was never started."""
    host.switch(SMALL)
    intent = intend_switch(manual(LARGE), root=host.root, live=host.manager, replace=False)
    assert isinstance(intent, Intent)
    switch(intent, machine=Stopping(), live=host.manager, manner=Manner())
    assert host.store.current == 2
    host.live.failing = {unit_of(FP8): Outcome.FAILED}
    done = host.switch(FP8)
    assert done.returned is not None
    assert (done.returned.end, done.returned.current) == (End.RUNNING, 1)


def test_the_way_back_is_to_the_newest_good_one(host: Host) -> None:
    """Where neither what ran nor what was current did well."""
    host.switch(SMALL)
    host.switch(LARGE)
    host.live.failing = {unit_of(FP8): Outcome.FAILED}
    host.switch(FP8, returns=False)
    assert host.store.current == 3
    out = host.root.parent / "out"
    promising(out, 100_000)
    text = (out / SMALL / "ct200" / UNIT).read_bytes()
    host.live.failing[text] = Outcome.FAILED
    done = host.switch(SMALL, out=out)
    assert done.returned is not None
    assert (done.returned.end, done.returned.current) == (End.AS_BEFORE, 2)


def test_what_is_stopped_is_not_taken_for_running(host: Host) -> None:
    """After a first switch that failed nothing is remembered as started."""
    host.live.failing = {unit_of(SMALL): Outcome.FAILED}
    host.switch(SMALL)
    record = host.store.record
    assert (record.started, record.invocation, record.note(1).state) == (None, None, State.FAILED)


class Refusing(Manager):
    """A manager that will not queue a start."""

    def begin_restart(self, machine: Machine) -> Finished:
        """An error."""
        del machine
        return Finished(code=4, stdout="", stderr="Access\ndenied\n")


def test_a_start_that_is_not_queued(host: Host) -> None:
    """It is not waited for, and the reason is systemd's own, on one line."""
    manager = host.manager = Refusing(host.root)
    done = host.switch(SMALL)
    assert codes(done) == ["load-failed"]
    assert done.diagnostics[0].summary.endswith("systemd would not start it: Access; denied")
    assert manager.watched == 0


class Timed(Manager):
    """A manager that tells how long it was told to wait, and whose loads take almost no time."""

    patience: float = 0.0

    def watch(self, *, before: str | None, timeout_s: float, say: Say) -> Watched:
        """Ready at once."""
        self.patience = timeout_s
        watched = super().watch(before=before, timeout_s=timeout_s, say=say)
        return evolve(watched, elapsed_s=0.2)


def test_how_long_a_start_is_waited_for(host: Host) -> None:
    """For the old server to stop and the new one to start, each as long as its unit allows, and a little."""
    manager = host.manager = Timed(host.root)
    host.switch(SMALL)
    service = staged(SMALL).service
    assert manager.patience == service.stop_timeout_s + service.start_timeout_s + NET_S
    assert host.store.record.note(1).load_s == 1  # zero would read as unknown


def test_the_host_agrees_with_the_compiler() -> None:
    """Generations are looked for where a compile puts them, and a start is given more time than the unit gives it.

    The host never imports what plans, so both say it.
    """
    from compiler import service  # noqa: PLC0415 - a name that tests here have for another thing

    assert finding.STATE_ROOT == service.STATE_ROOT
    assert NET_S > service.NET_S


def test_units_are_read_again_after_a_refused_reload(host: Host) -> None:
    """The links are as before then, and systemd is told so."""
    host.switch(SMALL)
    host.live.reload_ends = Finished(code=1, stdout="", stderr="no")
    machine = Stopping()
    host.switch(LARGE, machine=machine)
    assert sum("daemon-reload" in each for each in machine.steps) == 2


def test_the_tree_that_is_current_is_not_copied(host: Host) -> None:
    """Though a newer generation is there; a tree that is neither current nor the newest gets a new number."""
    host.switch(SMALL)
    host.switch(LARGE)
    host.rollback(1)
    for profile, number in ((SMALL, 1), (LARGE, 2), (FP8, 3)):
        intent = host.intend(profile)
        assert isinstance(intent, Intent)
        assert (intent.number, intent.staged is None) == (number, number < 3)
    host.switch(FP8)
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert intent.number == 4


def test_an_upgrade_in_its_place_restarts(tmp_path: Path, host: Host) -> None:
    """A plan for another engine over the same unit is no switch without a restart; where that is manual it is left."""
    host.switch(SMALL)
    out = tmp_path / "out"
    shutil.copytree(OUT, out)
    plan = (out / SMALL / PLAN).read_bytes()
    assert b'"version": "0.5.11"' in plan
    rewritten(out, f"{SMALL}/{PLAN}", plan.replace(b'"version": "0.5.11"', b'"version": "0.5.12"'))
    tree = staged(SMALL, out=out)
    for restarts, step in ((True, Step.RESTART), (False, Step.LEFT)):
        asked = evolve(tree, service=evolve(tree.service, restarts_itself=restarts))
        intent = intend_switch(asked, root=host.root, live=host.manager, replace=False)
        assert isinstance(intent, Intent)
        assert intent.step is step
        assert intent.reasons[0].startswith("the engine changed from `sglang 0.5.11 with ddtree`")
