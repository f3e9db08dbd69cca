"""A switch and the ways back, on a host in a folder whose manager keeps what systemd keeps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from attrs import evolve

from compiler.engines.observing import Start
from compiler.host.ending import Outcome
from compiler.host.intent import Intent, Step, intend_switch
from compiler.host.lock import held
from compiler.host.machine import Finished
from compiler.host.record import State
from compiler.host.returning import End
from compiler.host.site import Manner
from compiler.host.status import look_at_unit
from compiler.host.switching import switch
from compiler.tree.manifest import digest
from generations import (
    FP8,
    LARGE,
    OUT,
    SMALL,
    STATE_DIR,
    Host,
    Killed,
    Stopping,
    codes,
    staged,
    unit_of,
)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which nothing was switched to."""
    return Host(tmp_path / "host")


def test_a_first_switch(host: Host) -> None:
    """The unit is linked through `current`, read, started, waited for, and remembered as good."""
    done = host.switch(SMALL)
    assert (done.current, done.state, done.load_s, done.diagnostics) == (1, State.GOOD, 240, ())
    text = f"{STATE_DIR}/current/kimi-k2.6.service"
    wants = host.root / "etc/systemd/system/multi-user.target.wants/kimi-k2.6.service"
    assert [str(each.readlink()) for each in (host.link, wants)] == [text, text]
    assert host.live.runs == (
        unit_of(SMALL),
        (OUT / SMALL / "ct200/kimi-k2.6.env").read_bytes(),
    )
    assert host.store.generations[1].damage == ()


def test_the_same_tree_again(host: Host) -> None:
    """An identical tree makes no new generation, and does not disturb the service."""
    host.switch(SMALL)
    before = host.live.show()
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert (intent.number, intent.staged, intent.step) == (1, None, Step.NOTHING)
    host.switch(SMALL)
    assert (sorted(host.store.generations), host.live.show()) == ([1], before)


def test_a_second_switch(host: Host) -> None:
    """Another tree is another number, and its restart is announced with its reasons before it is done."""
    host.switch(SMALL)
    intent = host.intend(LARGE)
    assert isinstance(intent, Intent)
    assert intent.step is Step.RESTART
    assert any("context-length" in each for each in intent.reasons)
    assert intent.load == "about 240s, as last time; at most 30min"
    done = host.switch(LARGE)
    assert (done.current, host.live.loaded) == (2, unit_of(LARGE))
    assert host.store.record.note(1).left is not None


def test_files_are_readable_whatever_the_umask(host: Host) -> None:
    """The service's user, who is not root, can read what it needs."""
    before = os.umask(0o077)
    try:
        host.switch(SMALL)
    finally:
        os.umask(before)
    folder = host.places.state
    for each in (folder.parent, folder, *folder.rglob("*")):
        wanted = 0o755 if each.is_dir() or each.name == "launch.sh" else 0o644
        assert each.stat().st_mode & 0o777 == wanted, each


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.FAILED, "load-failed"),
        (Outcome.TIMEOUT, "load-failed"),
        (Outcome.SHORT, "pool-short"),
    ],
)
def test_a_failing_switch_goes_back(host: Host, outcome: Outcome, code: str) -> None:
    """The generation that ran before runs again, by itself, and the reason is told with the log lines that matter."""
    host.switch(SMALL)
    host.live.failing = {unit_of(LARGE): outcome}
    done = host.switch(LARGE)
    assert codes(done) == [code]
    assert "log: torch.OutOfMemoryError: CUDA out of memory" in done.diagnostics[0].notes
    assert "generation 1 is current again, and ready" in done.diagnostics[0].notes
    assert (host.store.current, host.live.runs is not None) == (1, True)
    assert host.live.loaded == unit_of(SMALL)
    record = host.store.record
    assert (record.note(1).state, record.note(2).state) == (State.GOOD, State.FAILED)
    assert record.note(2).why == "the main process ended"


def test_a_first_switch_that_fails_is_left_stopped(host: Host) -> None:
    """There is nothing to go back to, so nothing runs."""
    host.live.failing = {unit_of(LARGE): Outcome.SHORT}
    done = host.switch(LARGE)
    assert done.returned is not None
    assert (codes(done), done.returned.end, host.live.runs) == (["pool-short"], End.STOPPED, None)


def test_no_rollback_keeps_the_failure(host: Host) -> None:
    """The failed generation stays current, for inspection."""
    host.switch(SMALL)
    host.live.failing = {unit_of(LARGE): Outcome.FAILED}
    done = host.switch(LARGE, returns=False)
    assert (codes(done), host.store.current) == (["load-failed"], 2)


def test_a_way_back_that_fails_as_well(host: Host) -> None:
    """Both failures are told, and nothing else is tried."""
    host.switch(SMALL)
    host.live.failing = {unit_of(LARGE): Outcome.FAILED, unit_of(SMALL): Outcome.FAILED}
    done = host.switch(LARGE)
    assert codes(done) == ["load-failed", "return-failed"]
    assert host.store.current == 1


def test_a_way_back_leaves_out_what_failed(host: Host) -> None:
    """Neither the automatic way back nor a rollback ends in a generation that failed before."""
    host.switch(SMALL)
    host.live.failing = {unit_of(LARGE): Outcome.FAILED}
    host.switch(LARGE)
    host.switch(FP8)
    assert host.store.current == 3
    host.rollback()
    assert host.store.current == 1


def test_what_was_stopped_stays_stopped_on_the_way_back(host: Host) -> None:
    """A service that did not run before a failing switch does not run after it."""
    host.switch(SMALL)
    host.live.stop(Stopping(), timeout_s=1)
    host.live.failing = {unit_of(LARGE): Outcome.FAILED}
    done = host.switch(LARGE)
    assert done.returned is not None
    assert (done.returned.end, host.store.current) == (End.AS_BEFORE, 1)
    assert host.live.runs is None


def test_numbers_go_on_after_a_rollback(host: Host) -> None:
    """A rollback is to a lower number, and what comes after it gets a new one."""
    host.switch(SMALL)
    host.switch(LARGE)
    host.rollback()
    assert (host.store.current, host.live.loaded) == (1, unit_of(SMALL))
    host.switch(FP8)
    assert host.store.current == 3
    host.switch(SMALL)
    assert host.store.current == 4  # as the first, and newer: the way back is still a lower number
    host.rollback(2)
    assert host.store.current == 2


def test_the_newest_is_taken_again_after_a_rollback(host: Host) -> None:
    """Switching to the tree that was just left makes no copy of it."""
    host.switch(SMALL)
    host.switch(LARGE)
    host.rollback()
    host.switch(LARGE)
    assert (host.store.current, sorted(host.store.generations)) == (2, [1, 2])


def test_what_a_crash_started_in_between_is_started_again(host: Host) -> None:
    """A service that starts between the link and the reload has one generation's unit and another's environment."""
    host.switch(SMALL)
    out = host.root.parent / "out"
    shutil.copytree(OUT, out)
    text = (out / SMALL / "PLAN.md").read_bytes() + b"more\n"
    rewritten(out, f"{SMALL}/PLAN.md", text)
    intent = host.intend(SMALL, out=out)
    assert isinstance(intent, Intent)
    assert intent.step is Step.NOTHING
    host.live.crashes_at_reload = True
    done = host.switch(SMALL, out=out)
    assert (done.current, done.step) == (2, Step.RESTART)
    host.live.crashes_at_reload = False
    assert look_at_unit(host.store, host.live).is_well


def test_a_change_that_the_service_would_not_notice(host: Host) -> None:
    """Where only a comment or the review differs, there is a new generation, and no restart."""
    host.switch(SMALL)
    out = host.root.parent / "out"
    shutil.copytree(OUT, out)
    rewritten(out, f"{SMALL}/ct200/kimi-k2.6.service", b"# hello\n" + unit_of(SMALL))
    before = host.live.show()
    done = host.switch(SMALL, out=out)
    assert (done.current, done.step, done.state) == (2, Step.NOTHING, State.GOOD)
    assert host.live.show() == before


@pytest.mark.parametrize(
    ("pool", "step", "says"),
    [
        (101_134, Step.NOTHING, "pool 100,000, and what runs has 101,134"),
        (None, Step.RESTART, "pool 100,000, and what runs does not tell its own"),
        (99_999, None, "pool: 100,000 tokens promised, 99,999 there"),
    ],
)
def test_a_promise_that_grows_is_held_against_what_runs(
    host: Host, pool: int | None, step: Step | None, says: str
) -> None:
    """The new probe is run at the next start only; until then nothing else would prove what is promised now."""
    host.switch(SMALL)
    out = host.root.parent / "out"
    promising(out, 100_000)
    host.live.told = None if pool is None else Start(pool_tokens=pool)
    intent = host.intend(SMALL, out=out)
    assert isinstance(intent, Intent)
    if step is None:
        (finding,) = intent.findings
        assert (finding.code, finding.notes[0]) == ("promise-broken", says)
        assert host.store.highest == 1
    else:
        assert (intent.findings, intent.step) == ((), step)
        assert intent.reasons[0].endswith(says)
        assert host.switch(SMALL, out=out).state is State.GOOD


def test_a_promise_that_shrinks_needs_no_proof(host: Host) -> None:
    """What runs was held against more."""
    host.switch(SMALL)
    out = host.root.parent / "out"
    promising(out, 90_000)
    assert host.switch(SMALL, out=out).step is Step.NOTHING


def promising(out: Path, tokens: int) -> None:
    """A tree like ours whose small profile promises so many tokens of pool."""
    shutil.copytree(OUT, out)
    for path, old, new in (
        ("ct200/kimi-k2.6.service", "--required-tokens 98319", f"--required-tokens {tokens}"),
        ("plan.json", '"required_tokens": 98319', f'"required_tokens": {tokens}'),
    ):
        file = out / SMALL / path
        assert old in file.read_text()
        rewritten(out, f"{SMALL}/{path}", file.read_text().replace(old, new).encode())


def rewritten(out: Path, path: str, content: bytes) -> None:
    """A file of a tree as another compile would have written it."""
    file = out / path
    manifest = out / "MANIFEST"
    manifest.write_text(
        manifest.read_text().replace(digest(file.read_bytes()), digest(content), 1)
        if file.read_bytes() != content
        else manifest.read_text()
    )
    file.write_bytes(content)


def test_manual_restarts_are_left_to_a_person(host: Host) -> None:
    """With `on_change = "manual"` the files change, the service does not, and what runs is still known after it."""
    host.switch(SMALL)
    before = host.live.show()
    tree = staged(LARGE)
    tree = evolve(tree, service=evolve(tree.service, restarts_itself=False))

    intent = intend_switch(tree, root=host.root, live=host.manager, replace=False)
    assert isinstance(intent, Intent)
    assert intent.step is Step.LEFT
    done = switch(intent, machine=Stopping(), live=host.manager, manner=Manner())
    assert (done.current, host.live.show(), host.live.loaded) == (2, before, unit_of(LARGE))
    status = look_at_unit(host.store, host.live)
    assert (status.running, codes(status.findings)) == (1, ["switch-unfinished"])
    host.live.begin_restart(Stopping())  # as the operator does
    status = look_at_unit(host.store, host.live)
    assert (status.running, status.findings, status.is_well) == (2, (), True)


def test_without_waiting(host: Host) -> None:
    """`--no-wait` starts and returns; the next run of the same switch waits for the end."""
    done = host.switch(SMALL, waits=False)
    assert (done.state, host.live.watched) == (State.STARTING, 0)
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert intent.step is Step.WAIT
    assert host.switch(SMALL).state is State.GOOD


def test_a_reload_that_is_refused(host: Host) -> None:
    """What ran runs on, and its generation is current again."""
    host.switch(SMALL)
    host.live.reload_ends = Finished(code=1, stdout="", stderr="Failed to reload daemon\n")
    done = host.switch(LARGE)
    assert (codes(done), done.current, host.store.current) == (["systemd-refused"], 1, 1)
    assert host.live.loaded == unit_of(SMALL)


def test_systemd_that_does_not_answer(host: Host) -> None:
    """Nothing is written when nobody could be told."""
    host.live.answers = False
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert codes(intent.findings) == ["systemd-silent"]
    assert list(host.root.iterdir()) == []


def test_two_switches_at_once(host: Host) -> None:
    """The second one is told, and changes nothing."""
    host.switch(SMALL)
    with held(host.places.state) as is_free:
        assert is_free
        done = host.switch(LARGE)
    assert (codes(done), host.store.current) == (["host-busy"], 1)


def test_a_switch_that_another_one_overtook(host: Host) -> None:
    """What was decided on an older state is not done on a newer one."""
    intent = host.intend(LARGE)
    assert isinstance(intent, Intent)
    host.switch(SMALL)
    done = switch(intent, machine=Stopping(), live=host.manager, manner=Manner())
    assert (codes(done), sorted(host.store.generations)) == (["host-busy"], [1])


def test_a_generation_that_was_edited(host: Host) -> None:
    """It is found by its hash: a switch warns and writes a whole one, a rollback to it is refused."""
    host.switch(SMALL)
    host.switch(LARGE)
    file = host.places.generation(2) / "kimi-k2.6.env"
    file.write_text("NCCL_DEBUG=INFO\n")
    intent = host.intend(LARGE)
    assert isinstance(intent, Intent)
    assert (codes(intent.findings), intent.number) == (["generation-edited"], 3)
    assert intent.findings[0].notes == ("`kimi-k2.6.env` has another hash",)
    assert codes(look_at_unit(host.store, host.live).findings) == ["generation-edited"]
    host.switch(LARGE)
    assert (host.store.current, host.store.generations[3].damage) == (3, ())
    host.rollback()
    assert host.store.current == 1


def test_the_way_back_is_never_to_what_was_edited(host: Host) -> None:
    """Where the generation that ran is not whole any more, the service is stopped and not put on something unseen."""
    host.switch(SMALL)
    (host.places.generation(1) / "kimi-k2.6.env").write_text("NCCL_DEBUG=INFO\n")
    host.live.failing = {unit_of(LARGE): Outcome.FAILED}
    done = host.switch(LARGE)
    assert done.returned is not None
    assert (done.returned.end, host.live.runs) == (End.STOPPED, None)


def test_a_crash_after_a_switch_was_cut_off(host: Host) -> None:
    """The old unit and the new environment may run together then; the next switch starts it again, whatever differs."""
    host.switch(SMALL)
    machine = Stopping()
    host.copy(host.root.parent / "counted").switch(LARGE, machine=machine)
    reload = next(at for at, name in enumerate(machine.steps) if "daemon-reload" in name)
    with pytest.raises(Killed):
        host.switch(LARGE, machine=Stopping(reload))
    host.live.begin_restart(Stopping())  # as systemd does when the server crashes
    status = look_at_unit(host.store, host.live)
    assert (status.running, codes(status.findings)) == (None, ["switch-unfinished"])
    for profile in (LARGE, SMALL):
        intent = host.intend(profile)
        assert isinstance(intent, Intent)
        assert intent.step is Step.RESTART
    host.switch(LARGE)
    assert look_at_unit(host.store, host.live).is_well
