"""What is not ours: units of the same name, masks, drop-ins, links of others, folders that hold something else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compiler.diagnostics import Diagnostic
from compiler.host.gc import Keeping, superfluous
from compiler.host.intent import Intent, Step
from compiler.host.links import aside_of, links_of
from compiler.host.machine import Machine
from compiler.host.record import Record, write_record
from compiler.host.retire import Retired, retire
from compiler.host.store import read_store
from generations import LARGE, OUT, SMALL, STATE_DIR, UNIT, Host, Stopping, codes


MINE = "[Service]\nExecStart=/usr/bin/mine\n[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which nothing was switched to."""
    return Host(tmp_path / "host")


def put(host: Host, path: str, text: str = MINE) -> Path:
    """A file of this host."""
    file = host.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(host: Host, *, replace: bool = False) -> list[str]:
    """The findings of a switch that is only worked out."""
    intent = host.intend(SMALL, replace=replace)
    return codes(intent.findings if isinstance(intent, Intent) else intent)


@pytest.mark.parametrize(
    "path",
    [
        f"etc/systemd/system/{UNIT}",
        f"run/systemd/system/{UNIT}",
        f"usr/lib/systemd/system/{UNIT}",
        f"usr/local/lib/systemd/system/{UNIT}",
    ],
)
def test_a_foreign_unit_is_refused(host: Host, path: str) -> None:
    """A unit of the same name, in any folder that systemd reads, is not covered up unasked."""
    put(host, path)
    assert found(host) == ["unit-foreign"]
    assert found(host, replace=True) == []
    assert not host.places.state.exists()


def test_a_foreign_unit_is_kept_aside_once(host: Host) -> None:
    """It gets a numbered name that systemd does not read; numbers that are taken are left alone."""
    put(host, f"etc/systemd/system/{UNIT}.poolproof-1", "an older one")
    put(host, f"etc/systemd/system/{UNIT}")
    host.live.begin_restart(Stopping())
    intent = host.intend(SMALL, replace=True)
    assert isinstance(intent, Intent)
    assert (intent.step, intent.takes_it_down) == (Step.RESTART, True)
    done = host.switch(SMALL, replace=True)
    assert done.moved == f"/etc/systemd/system/{UNIT}.poolproof-2"
    assert (host.root / done.moved.lstrip("/")).read_text() == MINE
    assert host.switch(LARGE, replace=True).moved is None
    assert len(aside_of(host.places)) == 2


def test_a_folder_where_the_unit_belongs(host: Host) -> None:
    """Not even `--replace-unit` moves a folder."""
    host.link.mkdir(parents=True)
    assert found(host, replace=True) == ["unit-foreign"]


def elsewhere(host: Host, *, record: str = UNIT, link: str = f"/srv/old/current/{UNIT}") -> None:
    """A link of the unit into another folder, with a record there."""
    (host.root / "srv/old").mkdir(parents=True)
    write_record(Machine(), host.root / "srv/old", Record(unit=record))
    host.link.parent.mkdir(parents=True)
    host.link.symlink_to(link)


@pytest.mark.parametrize("generation", ["current", "gen-1"])
def test_a_unit_of_another_state_dir(host: Host, generation: str) -> None:
    """A generation that a switch put there is not called somebody else's: its folder is named, and both ways on."""
    elsewhere(host, link=f"/srv/old/{generation}/{UNIT}")
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    (finding,) = intent.findings
    assert (finding.code, intent.refused) == ("unit-foreign", True)
    assert finding.summary == (
        f"`{UNIT}` is a generation of the same unit under another `state_dir`, `/srv/old`"
    )
    assert f"keeps its generations in `{STATE_DIR}`" in finding.notes[0]
    assert finding.help == (
        'keep the folder: `state_dir = "/srv/old"` in the target, and compile',
        "or end it there first, which stops it: `poolproof retire /srv/old`",
    )


@pytest.mark.parametrize(
    "given",
    [
        {"record": "other.service"},
        {"link": "/srv/old/current/other.service"},
        {"link": f"/srv/old/{UNIT}"},
        {"link": f"/srv/new/current/{UNIT}"},
    ],
    ids=["another unit's folder", "another unit", "no generation", "no record"],
)
def test_a_link_into_no_generation_of_the_unit(host: Host, given: dict[str, str]) -> None:
    """`unit-foreign`: it is a generation of ours only where the folder is that of this very unit."""
    elsewhere(host, **given)
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    (finding,) = intent.findings
    assert "no switch put it there: a link to " in finding.summary


@pytest.mark.parametrize("folder", ["etc", "run"])
def test_a_masked_unit(host: Host, folder: str) -> None:
    """What an operator forbade to start is not started, nor moved aside."""
    path = host.root / folder / "systemd/system" / UNIT
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/null")
    assert found(host, replace=True) == ["unit-masked"]


def test_a_mask_that_only_systemd_knows_of(host: Host) -> None:
    """What the manager says of the unit counts as well."""
    host.live.is_masked = True
    assert found(host) == ["unit-masked"]


def test_an_empty_unit_is_a_mask(host: Host) -> None:
    """Systemd takes an empty file for a masked unit."""
    put(host, f"etc/systemd/system/{UNIT}", "")
    assert found(host, replace=True) == ["unit-masked"]


def test_drop_ins_are_told(tmp_path: Path) -> None:
    """What changes the unit beside it is named, and the switch goes on."""
    image = Host(tmp_path / "image", is_live=False)
    put(image, f"etc/systemd/system/{UNIT}.d/limits.conf", "[Service]\nMemoryMax=1G\n")
    intent = image.intend(SMALL)
    assert isinstance(intent, Intent)
    assert (codes(intent.findings), intent.refused) == (["unit-drop-in"], False)
    assert intent.findings[0].notes == (f"`/etc/systemd/system/{UNIT}.d/limits.conf`",)


def test_a_link_that_pins_a_generation_is_put_right(host: Host) -> None:
    """`systemctl enable` and `link` resolve `current`; their links lead into our tree, so a switch corrects them."""
    host.switch(SMALL)
    for path in links_of(host.places):
        path.unlink()
        path.symlink_to(f"{STATE_DIR}/gen-1/{UNIT}")
    host.switch(LARGE)
    text = f"{STATE_DIR}/current/{UNIT}"
    assert [str(each.readlink()) for each in links_of(host.places)] == [text, text]


def test_links_that_the_unit_does_not_ask_for_any_more(host: Host) -> None:
    """Ours goes when `[Install]` changes; somebody else's stays."""
    host.switch(SMALL)
    units = host.link.parent
    for name in ("graphical.target.wants", "other.target.requires"):
        (units / name).mkdir()
    ours = units / "graphical.target.wants" / UNIT
    ours.symlink_to(f"{STATE_DIR}/current/{UNIT}")
    theirs = units / "other.target.requires" / UNIT
    theirs.symlink_to("/srv/elsewhere.service")
    host.switch(LARGE)
    assert (ours.is_symlink(), theirs.is_symlink()) == (False, True)


def test_a_link_of_others_in_the_wants_folder(host: Host) -> None:
    """A hand-made unit was enabled by a link that names the unit; it has the same effect, and stays."""
    wants = host.link.parent / "multi-user.target.wants" / UNIT
    wants.parent.mkdir(parents=True)
    wants.symlink_to(f"/etc/systemd/system/{UNIT}")
    host.switch(SMALL)
    assert str(wants.readlink()) == f"/etc/systemd/system/{UNIT}"
    done = retire(host.store, machine=Stopping(), live=host.manager, delete=True)
    assert isinstance(done, Retired)
    assert done.foreign == {
        f"/etc/systemd/system/multi-user.target.wants/{UNIT}": f"/etc/systemd/system/{UNIT}"
    }
    assert wants.is_symlink()


def test_retire_keeps_the_generations(host: Host) -> None:
    """The service is stopped and its links are gone; a later switch goes on counting."""
    put(host, f"etc/systemd/system/{UNIT}")
    host.switch(SMALL, replace=True)
    done = retire(host.store, machine=Stopping(), live=host.manager, delete=False)
    assert isinstance(done, Retired)
    assert (host.live.runs, links_of(host.places), host.store.current) == (None, (), None)
    assert done.aside == (f"/etc/systemd/system/{UNIT}.poolproof-1",)
    assert sorted(host.store.generations) == [1]
    host.switch(LARGE)
    assert host.store.current == 2


def test_retire_does_not_stop_what_is_not_ours_any_more(host: Host) -> None:
    """Who put a unit of their own back in its place runs it; deleting our generations is none of its business."""
    host.switch(SMALL)
    host.link.unlink()
    host.link.write_text("[Service]\nExecStart=/bin/sleep 9\n")
    done = retire(host.store, machine=Stopping(), live=host.manager, delete=True)
    assert not isinstance(done, Diagnostic)
    assert host.live.runs is not None
    assert host.link.is_file()
    assert not host.places.state.exists()


def test_retire_leaves_what_is_not_ours(host: Host) -> None:
    """A file that somebody put beside the generations stays, and the folder with it."""
    host.switch(SMALL)
    note = put(host, f"{STATE_DIR.lstrip('/')}/note.txt", "mine")
    done = retire(host.store, machine=Stopping(), live=host.manager, delete=True)
    assert isinstance(done, Retired)
    assert [each.name for each in host.places.state.iterdir()] == [note.name]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "`current` in it is a folder"),
        (lambda path: path.write_text("gen-1"), "`current` in it is a file"),
        (lambda path: path.symlink_to("/srv"), "`current` in it is a link to `/srv`"),
        (lambda path: path.symlink_to("gen-1/.."), "which is no generation"),
    ],
)
def test_something_else_where_current_belongs(host: Host, make: object, said: str) -> None:
    """It is said in plain words, and left alone."""
    host.switch(SMALL)
    current = host.places.state / "current"
    current.unlink()
    assert callable(make)
    make(current)
    store = read_store(host.places)
    assert isinstance(store, Diagnostic)
    assert (store.code, said in store.summary) == ("state-foreign", True)
    assert found(host) == ["state-foreign"]


def test_a_folder_that_holds_something_else(host: Host) -> None:
    """Generations are not written among somebody's files."""
    put(host, f"{STATE_DIR.lstrip('/')}/weights.safetensors", "")
    assert found(host) == ["state-foreign"]


def test_the_generations_of_another_unit(host: Host) -> None:
    """Two units cannot share a folder."""
    host.switch(SMALL)
    record = host.places.state / "record.json"
    record.write_text(record.read_text().replace(UNIT, "other.service"))
    assert found(host) == ["state-foreign"]


def test_a_record_that_is_lost(host: Host) -> None:
    """The generations tell enough to go on; how they did is not known any more."""
    host.switch(SMALL)
    host.switch(LARGE)
    (host.places.state / "record.json").write_text("{")
    host.switch(SMALL)
    assert host.store.current == 3


def test_current_that_leads_nowhere(host: Host) -> None:
    """A generation that somebody removed is replaced by a new one with a new number."""
    host.switch(SMALL)
    shutil.rmtree(host.places.generation(1))
    host.switch(SMALL)
    assert (host.store.current, sorted(host.store.generations)) == (2, [2])


def test_an_image_whose_links_lead_out(tmp_path: Path) -> None:
    """With `--root` nothing of this host is written through a symlink of the image."""
    outside = tmp_path / "outside"
    outside.mkdir()
    image = Host(tmp_path / "image", is_live=False)
    (image.root / "var").symlink_to(outside)
    assert codes(image.intend(SMALL)) == ["root-left"]
    assert list(outside.iterdir()) == []


def test_what_gc_keeps(host: Host) -> None:
    """Never the current one nor one that is in use; the newest, and what was current not long ago."""
    for profile in (SMALL, LARGE, SMALL, LARGE):
        host.switch(profile)
    host.rollback(2)

    def gone(keep: int, younger_s: float | None = None, *, later: float = 0) -> list[int]:
        keeping = Keeping(newest=keep, younger_s=younger_s)
        now = Stopping().now() + later
        several = superfluous(host.store, keeping, running=frozenset({1}), now=now)
        return [each.number for each in several]

    assert gone(0) == [3, 4]
    assert gone(1) == [3]
    assert gone(2) == gone(9) == []
    assert gone(0, 3600) == []
    assert gone(0, 3600, later=7200) == [3, 4]
    assert (OUT / SMALL).is_dir()
