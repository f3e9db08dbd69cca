"""What stands on a host between the verbs: names, links, records, generations to be kept, and how a unit is called well."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from compiler.host.finding import find_unit, find_units
from compiler.host.gc import Keeping, collect, running_numbers, superfluous
from compiler.host.intent import Intent
from compiler.host.links import aside_of, foreign_links_of, links_of, make_links
from compiler.host.names import check_name, look_at_name
from compiler.host.places import Places
from compiler.host.record import Note, Record, State, read_record, write_record
from compiler.host.retire import Retired, retire
from compiler.host.service import is_unit_name
from compiler.host.status import look_at_unit
from compiler.host.store import Store
from compiler.host.troubles import unreadable, unwritable
from compiler.host.units import Scope, UnitState
from generations import LARGE, SMALL, STATE_DIR, UNIT, Host, Manager, Stopping, codes


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which nothing was switched to."""
    return Host(tmp_path / "host")


class Seen(Manager):
    """A manager whose unit stands as a test says, beside what it keeps."""

    def __init__(self, root: Path, **told: Any) -> None:  # noqa: ANN401 - any attribute of a state
        super().__init__(root)
        self.seen = told

    def show(self) -> UnitState | None:
        """With what the test says."""
        state = super().show()
        return None if state is None else evolve(state, **self.seen)


# the unit's name


def test_drop_ins_that_systemd_has_read(host: Host) -> None:
    """Those that stand where we do not look count as well, and each once."""
    elsewhere = "/etc/systemd/system/service.d/all.conf"
    own = f"/etc/systemd/system/{UNIT}.d/own.conf"
    file = host.root / own.lstrip("/")
    file.parent.mkdir(parents=True)
    file.touch()
    host.manager = Seen(host.root, drop_ins=(elsewhere, own))
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert intent.findings[0].notes == (f"`{elsewhere}`", f"`{own}`")


@pytest.mark.parametrize(
    ("scope", "command"), [("system", "systemctl"), ("user", "systemctl --user")]
)
def test_how_a_mask_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, command: str
) -> None:
    """By the manager whose unit it is."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/me/.config")
    places = Places(root=tmp_path, scope=Scope(scope), state_dir="/srv/x", unit=UNIT)
    places.units.mkdir(parents=True)
    places.unit_path.symlink_to("/dev/null")
    (found,) = check_name(places, look_at_name(places), replace=False, state=None)
    assert f"`{command} unmask {UNIT}`" in found.help[0]


def test_what_cannot_be_moved_is_not_offered(host: Host) -> None:
    """`--replace-unit` moves a file and a link, never a folder."""
    host.link.mkdir(parents=True)
    intent = host.intend(SMALL, replace=True)
    assert isinstance(intent, Intent)
    assert "--replace-unit" not in " ".join(intent.findings[0].help)
    host.link.rmdir()
    host.link.symlink_to("/srv/nothing")
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert "--replace-unit" in " ".join(intent.findings[0].help)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (f"a{'b' * 240}.service", True),
        (f"a{'b' * 241}.service", False),
        ("a.service", True),
        (".service", False),
        ("-a.service", False),
        ("a/b.service", False),
        ("a@.service", False),
        ("a.service\n", False),
        (None, False),
    ],
)
def test_names_of_units(name: object, *, is_one: bool) -> None:
    """A whole name that is a file's, with room for what is put before and behind it."""
    assert is_unit_name(name) is is_one


# links


def test_links_for_each_way_to_be_wanted(host: Host) -> None:
    """`WantedBy`, `RequiredBy`, and `UpheldBy`, each target once; a name that leads elsewhere makes no link."""
    unit = b"[Install]\nWantedBy=a.target b.target\nWantedBy=../c.target\nRequiredBy=a.target\nUpheldBy=a.target\n"
    make_links(Stopping(), host.places, unit)
    assert [str(each.relative_to(host.places.units)) for each in links_of(host.places)] == [
        f"a.target.wants/{UNIT}",
        f"b.target.wants/{UNIT}",
        f"a.target.requires/{UNIT}",
        f"a.target.upholds/{UNIT}",
        UNIT,
    ]
    assert {str(each.readlink()) for each in links_of(host.places)} == {
        f"{STATE_DIR}/current/{UNIT}"
    }
    assert [each.name for each in host.places.units.parent.iterdir()] == ["system"]
    assert foreign_links_of(host.places) == {}


def test_a_link_that_is_right_is_left_alone(host: Host) -> None:
    """Between two generations of one unit the manager's folder does not change at all."""
    host.switch(SMALL)
    machine = Stopping()
    host.switch(LARGE, machine=machine)
    assert not [each for each in machine.steps if "/etc/systemd" in each]


def test_a_link_that_was_never_finished(host: Host) -> None:
    """What a run that was cut off left of a link goes with the next one; somebody else's file of that name stays."""
    host.switch(SMALL)
    ours = host.link.with_name(f".{UNIT}.new")
    theirs = host.link.parent / "multi-user.target.wants" / f".{UNIT}.new"
    ours.symlink_to(f"{STATE_DIR}/current/{UNIT}")
    theirs.symlink_to("/srv/mine")
    retire(host.store, machine=Stopping(), live=host.manager, delete=False)
    assert (ours.is_symlink(), theirs.is_symlink()) == (False, True)


def test_a_link_to_nothing_is_moved_aside(host: Host) -> None:
    """Somebody's link that leads nowhere yet is theirs all the same; numbers go on after the highest."""
    host.link.parent.mkdir(parents=True)
    host.link.symlink_to("/srv/nothing")
    for number in (9, 10):
        (host.link.parent / f"{UNIT}.poolproof-{number}").touch()
    (host.link.parent / f"{UNIT}.poolproof-x").touch()
    done = host.switch(SMALL, replace=True)
    assert done.moved == f"/etc/systemd/system/{UNIT}.poolproof-11"
    assert str((host.root / done.moved.lstrip("/")).readlink()) == "/srv/nothing"
    assert [each.rpartition("-")[2] for each in aside_of(host.places)] == ["9", "10", "11"]


# what may go


def kept(host: Host, *, fragment: str | None = None) -> list[int]:
    """The numbers that a `gc` of all leaves."""
    host.manager = Seen(host.root, fragment_path=fragment)
    running = running_numbers(host.store, host.manager)
    assert isinstance(running, frozenset)
    several = superfluous(host.store, Keeping(newest=0), running=running, now=0.0)
    return sorted(host.store.generations.keys() - {each.number for each in several})


def test_what_systemd_holds_on_to(host: Host) -> None:
    """The current one, what was started last, what was read last, and one that a unit was linked to by hand."""
    for number in range(12):
        host.switch((SMALL, LARGE)[number % 2])
    record = host.store.record
    write_record(Stopping(), host.places.state, evolve(record, started=3, loaded=5))
    assert kept(host) == [3, 5, 12]
    assert kept(host, fragment=f"{STATE_DIR}/gen-10/{UNIT}") == [3, 5, 10, 12]
    assert kept(host, fragment=f"{STATE_DIR}/gen-1/{UNIT}") == [1, 3, 5, 12]
    assert kept(host, fragment=f"/srv{STATE_DIR}/gen-1/{UNIT}") == [3, 5, 12]


def test_what_runs_and_what_is_linked(host: Host) -> None:
    """Both are held, where they are two."""
    host.switch(SMALL)
    host.switch(LARGE)
    seen = vars(host.live)
    host.manager = Seen(host.root, fragment_path=f"{STATE_DIR}/gen-1/{UNIT}")
    vars(host.manager).update({name: seen[name] for name in ("runs", "loaded", "_starts")})
    assert running_numbers(host.store, host.manager) == {1, 2}


@pytest.mark.parametrize(("age", "goes"), [(3599, False), (3600, True), (3601, True)])
def test_how_long_one_is_kept(host: Host, age: int, *, goes: bool) -> None:
    """From when it was current last; one that never was, from when it was written."""
    for profile in (SMALL, LARGE):
        host.switch(profile)
    record = evolve(host.store.record, started=None, loaded=None)
    for left in (1000.0, None):
        write_record(Stopping(), host.places.state, record.noted(1, left=left))
        os.utime(host.places.generation(1), (2000.0, 2000.0))
        since = 1000.0 if left is not None else 2000.0
        several = superfluous(
            host.store,
            Keeping(newest=0, younger_s=3600),
            running=frozenset(),
            now=since + age,
        )
        assert [each.number for each in several] == ([1] if goes else [])


def test_a_number_outlives_its_generation_and_the_record(host: Host) -> None:
    """Where the record was lost the numbers that are there are the last ones given."""
    host.switch(SMALL)
    host.switch(LARGE)
    host.rollback(1)
    (host.places.state / "record.json").unlink()
    keeping = Keeping(newest=0)
    gone = collect(host.store, keeping, running=frozenset({1}), machine=Stopping())
    assert gone == (2,)
    assert (sorted(host.store.generations), host.store.highest) == ([1], 2)


# the end of a unit


def test_what_a_retired_unit_remembers(host: Host) -> None:
    """Nothing is loaded or started any more, the last generation was left just now, and systemd forgot how it ended."""
    host.switch(SMALL)
    machine = Stopping()
    done = retire(host.store, machine=machine, live=host.manager, delete=False)
    assert isinstance(done, Retired)
    record = host.store.record
    assert (record.last, record.loaded, record.started, record.invocation) == (1, None, None, None)
    assert record.note(1).left is not None
    commands = [each.split("'")[3] for each in machine.steps if each.startswith("run ")]
    assert commands == ["stop", "daemon-reload", "reset-failed"]


# the record


WHOLE: dict[str, Any] = {
    "schema": 1,
    "unit": UNIT,
    "last": 2,
    "loaded": 2,
    "started": None,
    "invocation": "a",
    "generations": {"2": {"state": "good", "why": None, "load_s": 240, "left": 1.5}},
}


@pytest.mark.parametrize(
    ("changes", "is_read"),
    [
        ({}, True),
        ({"schema": 2}, False),
        ({"unit": "../x.service"}, False),
        ({"unit": "x"}, False),
        ({"last": 0}, True),
        ({"last": -1}, False),
        ({"last": 10**12}, True),
        ({"last": 10**12 + 1}, False),
        ({"last": True}, False),
        ({"last": 1.0}, False),
        ({"invocation": 1}, False),
        ({"generations": {}}, True),
        ({"generations": {"x": {}}}, False),
        ({"generations": {"2": "good"}}, False),
        ({"generations": {"2": []}}, False),
        ({"generations": {"2": {"why": "it failed", "load_s": 4, "left": 1.5}}}, False),
        ({"generations": {"2": {"state": "fine", "why": None, "load_s": 1, "left": 1}}}, False),
        ({"generations": {"2": {"state": "new", "why": None, "load_s": 1, "left": -1}}}, True),
        ({"generations": {"2": {"state": "new", "why": None, "load_s": 1, "left": True}}}, False),
        ({"generations": {"2": {"state": "new", "why": None, "load_s": 1, "left": 1e12}}}, False),
    ],
)
def test_a_record_one_step_from_none(
    tmp_path: Path, changes: dict[str, Any], *, is_read: bool
) -> None:
    """A schema, a name, a number, or a time beyond what a switch writes makes it none."""
    (tmp_path / "record.json").write_text(json.dumps({**WHOLE, **changes}))
    assert (read_record(tmp_path) is not None) is is_read


def test_a_record_comes_back(tmp_path: Path) -> None:
    """What is written is what is read, over what a run that was cut off left."""
    record = Record(
        unit=UNIT,
        last=3,
        loaded=2,
        started=1,
        invocation="a",
        notes={2: Note(state=State.FAILED, why="x", load_s=1, left=2.5), 1: Note()},
    )
    (tmp_path / ".record.new").write_text("{")
    write_record(Stopping(), tmp_path, record)
    assert read_record(tmp_path) == record
    assert [each.name for each in tmp_path.iterdir()] == ["record.json"]


# units that are found


def test_a_unit_by_its_link(host: Host) -> None:
    """Generations in a folder of their own are found by the unit's link, where that is as a switch writes it."""
    host.switch(SMALL)
    elsewhere = host.root / "srv/pp/kimi"
    elsewhere.parent.mkdir(parents=True)
    host.places.state.rename(elsewhere)
    for text, is_found in (
        (f"/srv/pp/kimi/current/{UNIT}", True),
        (f"/srv/pp/kimi/gen-1/{UNIT}", False),
        (f"srv/pp/kimi/current/{UNIT}", False),
        (f"/srv/pp/none/current/{UNIT}", False),
    ):
        host.link.unlink()
        host.link.symlink_to(text)
        found = [each.state_dir for each in find_units(host.root)]
        assert found == (["/srv/pp/kimi"] if is_found else []), text
    store = find_unit(host.root, "/srv/pp/kimi/")
    assert isinstance(store, Store)
    assert store.places.state_dir == "/srv/pp/kimi"


def test_whose_manager_a_folder_is_of(host: Host) -> None:
    """That of the target which keeps its generations there; another target of the plan may have another."""
    host.switch(SMALL)
    file = host.places.generation(1) / "plan.json"
    plan = json.loads(file.read_text())
    target = plan["targets"]["ct200"]
    other = {**target, "manager": "user", "state_dir": "/home/me/kimi"}
    plan["targets"] = {"a": other, "ct200": target}
    file.write_text(json.dumps(plan))
    for asked in (STATE_DIR, f"{STATE_DIR}/"):
        store = find_unit(host.root, asked)
        assert isinstance(store, Store)
        assert store.places.scope is Scope.SYSTEM
    plan["targets"]["ct200"]["manager"] = "user"
    file.write_text(json.dumps(plan))
    store = find_unit(host.root, STATE_DIR)
    assert isinstance(store, Store)
    assert store.places.scope is Scope.USER


# what went wrong


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        (None, None, "nothing is current yet"),
        (1, 1, "generation 1 is still current"),
        (None, 1, "generation 1 is current now, and the service was not told yet"),
        (1, 2, "generation 2 is current now, and the service was not told yet"),
        (1, None, "no generation is current now, and the service was not told yet"),
    ],
)
def test_what_is_current_after_an_error(
    host: Host, was: int | None, now: int | None, says: str
) -> None:
    """And whether the service knows."""
    host.places.state.mkdir(parents=True)
    if now is not None:
        (host.places.state / "current").symlink_to(f"gen-{now}")
    found = unwritable(host.places, OSError(28, "No space left on device"), was=was)
    assert found.notes == (says,)


@pytest.mark.parametrize(
    ("fault", "summary", "place"),
    [
        (OSError(28, "No space", "/a"), "no space", "at `/a`"),
        (OSError(28, "No space", "/a", None, "/b"), "no space", "at `/b`"),
        (OSError("odd"), "odd", "nothing was changed"),
        (OSError(), "the system gives no reason", "nothing was changed"),
    ],
)
def test_why_the_machine_would_not(fault: OSError, summary: str, place: str) -> None:
    """In the system's words, else Python's; of two places the one that was to be written."""
    found = unreadable(fault)
    assert found.summary.endswith(f": {summary}")
    assert found.notes[0] == place


# how a unit stands


def test_when_a_unit_is_well(host: Host) -> None:
    """It is up; a drop-in is an operator's to have; a retired one rests; one that starts is not well yet."""
    host.switch(SMALL)
    live = host.manager = Seen(host.root)
    vars(live).update(loaded=b"", runs=(b"", b""), _starts=1)
    assert look_at_unit(host.store, live).is_well
    live.seen = {"drop_ins": ("/x.conf",)}
    status = look_at_unit(host.store, live)
    assert (codes(status.findings), status.is_well) == (["unit-drop-in"], True)
    for active in ("activating", "deactivating", "reloading", "failed", "inactive"):
        live.seen = {"active": active}
        assert not look_at_unit(host.store, live).is_well, active
    assert look_at_unit(host.store, None).is_well  # an image
    live.seen = {}
    retire(host.store, machine=Stopping(), live=live, delete=False)
    assert look_at_unit(host.store, live).is_well
