"""A verb of the host that is killed at any step, or meets an error there: the old or the new generation is current and whole."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compiler.diagnostics import Diagnostic
from compiler.host.ending import Outcome
from compiler.host.gc import Keeping, collect, running_numbers
from compiler.host.links import links_of
from compiler.host.machine import Machine
from compiler.host.places import CURRENT
from compiler.host.record import State
from compiler.host.retire import Retired, retire
from compiler.host.status import look_at_unit
from compiler.host.switching import Switched
from generations import FP8, LARGE, OUT, SMALL, Host, Killed, Stopping, codes, unit_of


Verb = Callable[[Host, Machine], object]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for many hosts, in memory where that is possible."""
    shared = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield base
    shutil.rmtree(base)


def killed_everywhere(folder: Path, start: Host, verb: Verb) -> Iterator[tuple[int, Host]]:
    """The host after the verb was killed before its nth step, for every n until it runs to its end."""
    for at in range(1000):
        host = start.copy(folder / f"at-{at}")
        try:
            verb(host, Stopping(at))
        except Killed:
            yield at, host
        else:
            assert at > 5
            return
        shutil.rmtree(host.root)
    raise AssertionError("it does not end")


def whole(host: Host, *, currents: set[int | None]) -> None:
    """What a kill may leave: one of these generations is current, and every generation is as it was written."""
    store = host.store
    assert store.current in currents
    assert store.current is None or store.in_use is not None
    assert not any(each.damage for each in store.generations.values())
    if host.link.is_symlink() and store.current is not None:
        assert host.places.is_ours(host.link)


def settled(host: Host, profile: str) -> None:
    """The service runs one generation, unit and environment of the same, and nothing is left to be done."""
    store = host.store
    assert store.in_use is not None
    assert (store.in_use.profile, store.leftovers) == (profile, ())
    assert store.record.note(store.in_use.number).state is State.GOOD
    if host.manager is not None:
        environment = (OUT / profile / "ct200/kimi-k2.6.env").read_bytes()
        assert host.manager.runs == (unit_of(profile), environment)
        assert look_at_unit(store, host.manager).is_well
    assert not list(host.link.parent.rglob(".*"))
    assert len(links_of(host.places)) == 2


def test_a_first_switch_killed_at_every_step(folder: Path) -> None:
    """Either nothing is current or the new generation is; the same command again finishes it."""
    start = Host(folder / "start")
    for _, host in killed_everywhere(folder, start, lambda h, m: h.switch(SMALL, machine=m)):
        whole(host, currents={None, 1})
        host.switch(SMALL)
        settled(host, SMALL)
        assert len(host.store.generations) == 1


@pytest.mark.parametrize(
    "follower",
    [LARGE, *(pytest.param(each, marks=pytest.mark.slow) for each in (SMALL, FP8))],
)
def test_a_second_switch_killed_at_every_step(folder: Path, follower: str) -> None:
    """The old or the new one is current; the same switch finishes it, and any other one gets its way as well."""
    start = Host(folder / "start")
    start.switch(SMALL)
    for _, host in killed_everywhere(folder, start, lambda h, m: h.switch(LARGE, machine=m)):
        whole(host, currents={1, 2})
        highest = host.store.highest
        host.switch(follower)
        settled(host, follower)
        assert host.store.highest - highest in (0, 1)


def test_a_failing_switch_killed_at_every_step(folder: Path) -> None:
    """The way back that a switch takes by itself may be cut off as well."""
    start = Host(folder / "start")
    start.switch(SMALL)
    start.live.failing = {unit_of(LARGE): Outcome.SHORT}
    for _, host in killed_everywhere(folder, start, lambda h, m: h.switch(LARGE, machine=m)):
        whole(host, currents={1, 2})
        host.switch(SMALL)
        settled(host, SMALL)


def test_a_switch_over_a_foreign_unit_killed_at_every_step(folder: Path) -> None:
    """What was there is either still there or kept aside, once."""
    start = Host(folder / "start")
    start.link.parent.mkdir(parents=True)
    start.link.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    mine = start.link.read_bytes()

    def replace(host: Host, machine: Machine) -> None:
        host.switch(SMALL, machine=machine, replace=True)

    for _, host in killed_everywhere(folder, start, replace):
        whole(host, currents={None, 1})
        replace(host, Stopping())
        settled(host, SMALL)
        kept = [each for each in host.link.parent.iterdir() if each.name != host.link.name]
        files = [each for each in kept if each.is_file() and not each.is_symlink()]
        assert [each.read_bytes() for each in files] == [mine]


def test_a_rollback_killed_at_every_step(folder: Path) -> None:
    """Either end of a rollback is current, and it can be asked for again."""
    start = Host(folder / "start")
    start.switch(SMALL)
    start.switch(LARGE)
    for _, host in killed_everywhere(folder, start, lambda h, m: h.rollback(1, machine=m)):
        whole(host, currents={1, 2})
        host.rollback(1)
        settled(host, SMALL)


def test_an_image_killed_at_every_step(folder: Path) -> None:
    """With `--root` there are only files and links, and the same holds."""
    start = Host(folder / "start", is_live=False)
    start.switch(SMALL)
    for _, host in killed_everywhere(folder, start, lambda h, m: h.switch(LARGE, machine=m)):
        whole(host, currents={1, 2})
        host.switch(LARGE)
        assert (host.store.current, host.store.leftovers) == (2, ())


def several(folder: Path) -> Host:
    """A host with four generations, of which the second is current."""
    host = Host(folder / "start")
    for profile in (SMALL, LARGE, FP8, LARGE):
        host.switch(profile)
    host.rollback(2)
    return host


def collected(host: Host, machine: Machine, *, keep: int = 0) -> tuple[int, ...]:
    running = running_numbers(host.store, host.manager)
    assert not isinstance(running, Diagnostic)
    done = collect(host.store, Keeping(newest=keep), running=running, machine=machine)
    assert not isinstance(done, Diagnostic), done
    return done


def test_gc_killed_at_every_step(folder: Path) -> None:
    """The current generation is never touched, none is half deleted, and no number comes back."""
    start = several(folder)
    for _, host in killed_everywhere(folder, start, collected):
        whole(host, currents={2})
        collected(host, Stopping())
        assert (sorted(host.store.generations), host.store.leftovers) == ([2], ())
        host.switch(SMALL)
        assert host.store.current == 5


@pytest.mark.parametrize("delete", [False, True])
def test_retire_killed_at_every_step(folder: Path, *, delete: bool) -> None:
    """Again, it ends; and after it a switch begins anew."""

    def end(host: Host, machine: Machine) -> Retired:
        done = retire(host.store, machine=machine, live=host.manager, delete=delete)
        assert isinstance(done, Retired), done
        return done

    start = several(folder)
    for _, host in killed_everywhere(folder, start, end):
        whole(host, currents={None, 2})
        if host.places.state.exists():
            end(host, Stopping())
        assert (links_of(host.places), host.live.runs) == ((), None)
        assert host.places.state.exists() is not delete
        host.switch(SMALL)
        settled(host, SMALL)
        assert host.store.current == (1 if delete else 5)


@pytest.mark.parametrize(
    "number",
    [
        errno.ENOSPC,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (errno.EROFS, errno.EACCES)),
    ],
)
def test_an_error_at_every_step(folder: Path, number: int) -> None:
    """A full disk, or one that became read-only, is told with its reason and with what is current; it can be mended."""
    start = Host(folder / "start")
    start.switch(SMALL)

    def fail() -> None:
        raise OSError(number, os.strerror(number), "/the/place")

    told = 0
    for at in range(1000):
        host = start.copy(folder / f"at-{at}")
        done = host.switch(LARGE, machine=Stopping(at, fail))
        if not done.diagnostics:
            break
        told += 1
        assert codes(done) == ["host-unwritable"]
        assert os.strerror(number).lower() in done.diagnostics[0].summary
        assert f"generation {host.store.current} is" in " ".join(done.diagnostics[0].notes)
        assert done.current == host.store.current
        whole(host, currents={1, 2})
        host.switch(LARGE)
        settled(host, LARGE)
        shutil.rmtree(host.root)
    assert told > 25


def test_an_interrupt_while_it_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C leaves the load to systemd; the same switch then waits, and starts nothing again."""
    host = Host(folder / "start")
    host.switch(SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(host.live, "watch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            host.switch(LARGE)
    before = host.live.show()
    done = host.switch(LARGE)
    assert isinstance(done, Switched)
    assert (done.state, host.live.show()) == (State.GOOD, before)
    settled(host, LARGE)


def interrupted(**_: object) -> None:
    raise KeyboardInterrupt


def test_current_is_never_missing(folder: Path) -> None:
    """At no step of a second switch is there a moment without `current`."""

    class Watching(Stopping):
        def step(self, name: str) -> None:
            super().step(name)
            assert (host.places.state / CURRENT).is_dir()

    host = Host(folder / "start")
    host.switch(SMALL)
    host.switch(LARGE, machine=Watching())
