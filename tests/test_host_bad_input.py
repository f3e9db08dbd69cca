"""What somebody damaged or put elsewhere: records, plans, links, folders. No verb of the host may stumble over it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkouts import run
from compiler.host import store
from compiler.host.growth import growth
from compiler.host.ports import Listener
from compiler.host.preflight import preflight
from compiler.host.preflight_probe import Untold
from compiler.host.promised import promised_in
from compiler.host.service import service_of
from compiler.host.units import Scope
from compiler.tree.disk import survey
from compiler.writtenplan import WrittenPlan, read_plan
from generations import FP8, LARGE, OUT, SMALL, STATE_DIR, UNIT, Host
from test_preflight import FakeProbe


BUG = 70
NASTY: tuple[object, ...] = (
    *(None, True, -1, 1.5, float("inf"), float("nan"), 10**400),
    *("", "x", "../../x", "/a/../b", "a\nb", "x\0y", "%n.service", "é" * 300, "/" + "a" * 5000),
    *([], [1], {}, {"a": 1}),
)
VERBS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("generations",),
    ("gc", "--keep", "0", "--yes", "--older-than", "1d"),
    ("rollback", "--yes"),
    ("switch", str(OUT / LARGE / "ct200")),
    ("retire", STATE_DIR, "--delete"),
)


def places_in(value: object, *, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in what JSON gives."""
    yield before
    for key, each in value.items() if isinstance(value, dict) else ():
        yield from places_in(each, before=(*before, key))


def damaged(value: object) -> Iterator[str]:
    """A JSON text for each thing in it that something else stands for, or that is gone."""
    for place in places_in(value):
        for nasty in NASTY:
            yield json.dumps(_with(value, place, nasty))
        if place:
            yield json.dumps(_with(value, place, KeyError))


def _with(value: Any, place: tuple[Any, ...], nasty: object) -> Any:  # noqa: ANN401 - JSON
    if not place:
        return nasty
    key, *rest = place
    kept = {name: each for name, each in value.items() if name != key}
    if not rest and nasty is KeyError:
        return kept
    return {**kept, key: _with(value[key], tuple(rest), nasty)}


@pytest.fixture
def image(tmp_path: Path) -> Host:
    """Two generations in an image."""
    host = Host(tmp_path / "host", is_live=False)
    host.switch(SMALL)
    host.switch(LARGE)
    return host


def state_of(host: Host) -> Path:
    """The folder of its generations."""
    return host.root / STATE_DIR.lstrip("/")


def no_verb_stumbles(host: Host, verbs: tuple[tuple[str, ...], ...] = VERBS) -> None:
    """Each verb ends in its own way."""
    for verb in verbs:
        done = run(*verb, "--root", str(host.root), here=OUT.parent)
        assert done.code != BUG, (verb, done.err)


class AnyProbe(FakeProbe):
    """A host that is asked for anything."""

    def listeners(self, port: int) -> tuple[Listener, ...] | Untold:
        """None, on any port."""
        del port
        return ()

    def free_disk_bytes(self, path: str) -> int | Untold:
        """Enough, anywhere."""
        del path
        return 1 << 40


@pytest.mark.slow
def test_a_damaged_record(tmp_path: Path) -> None:
    """A record that is not as a switch writes it counts as none, whatever is wrong with it."""
    host = Host(tmp_path / "host", is_live=False)
    host.switch(SMALL)
    record = json.loads((state_of(host) / "record.json").read_text())
    for number, text in enumerate(damaged(record)):
        copy = host.copy(tmp_path / str(number))
        (state_of(copy) / "record.json").write_text(text)
        no_verb_stumbles(copy)


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"schema": 2}', "\0", '{"unit": "../x"}'])
def test_a_record_that_is_none(image: Host, text: str) -> None:
    """The same, by a few."""
    (state_of(image) / "record.json").write_text(text)
    no_verb_stumbles(image)


def test_a_damaged_plan(tmp_path: Path) -> None:
    """A plan.json is read or refused by everything that reads one, whatever is wrong with it."""
    target = OUT / SMALL / "ct200"
    files = {"plan.json": (OUT / SMALL / "plan.json").read_bytes()}
    host = Host(tmp_path / "host")
    for text in (*damaged(json.loads(files["plan.json"])), "", "[" * 100_000, "\0"):
        plan = read_plan(text.encode())
        promised_in(text.encode())
        growth(files, {"plan.json": text.encode()}, live=host.live)
        if isinstance(plan, WrittenPlan):
            service_of(plan, "ct200")
            preflight(plan, target, scope=Scope.SYSTEM, probe=AnyProbe())


def _elsewhere(host: Host) -> None:
    state_of(host).rename(host.root / "elsewhere")
    state_of(host).symlink_to("../../../elsewhere")


def _outside(host: Host) -> None:
    state_of(host).rename(host.root.parent / "outside")
    state_of(host).symlink_to(host.root.parent / "outside")


def _gone(host: Host) -> None:
    (state_of(host) / "current").unlink()
    (state_of(host) / "current").symlink_to("gen-77")


def _foreign(host: Host) -> None:
    (state_of(host) / "gen-2" / "mine").write_text("x")
    os.mkfifo(state_of(host) / "gen-1" / "pipe")


def _circle(host: Host) -> None:
    manifest = state_of(host) / "gen-2" / "MANIFEST"
    manifest.unlink()
    manifest.symlink_to("MANIFEST")


def _file(host: Host) -> None:
    generation = state_of(host) / "gen-1"
    generation.rename(host.root / "gone")
    generation.write_text("x")


@pytest.mark.parametrize("damage", [_elsewhere, _outside, _gone, _foreign, _circle, _file])
def test_a_damaged_state(image: Host, damage: Callable[[Host], None]) -> None:
    """Folders and links that are not as a switch left them are told."""
    damage(image)
    no_verb_stumbles(image)


def test_a_state_that_an_operator_put_elsewhere(image: Host) -> None:
    """A link in the place of its folder works like the folder; the place itself stays when the unit is retired."""
    _elsewhere(image)
    done = run("retire", UNIT, "--delete", "--root", str(image.root), here=OUT.parent)
    assert (done.code, done.err) == (0, "")
    assert list(state_of(image).iterdir()) == []
    assert state_of(image).is_symlink()


def test_current_leads_nowhere(image: Host) -> None:
    """It is not taken for a unit that was retired."""
    _gone(image)
    done = run("status", "--root", str(image.root), here=OUT.parent)
    assert done.out == f"{UNIT}: generation 77, which is gone; 2 generations kept in {STATE_DIR}\n"
    assert done.code == 1


def test_a_tree_by_a_link(image: Host, tmp_path: Path) -> None:
    """`out/`, a profile in it, and a target may be named by a link; a circle of links is told."""
    for number, folder in enumerate((OUT, OUT / SMALL, OUT / SMALL / "ct200")):
        link = tmp_path / f"link-{number}"
        link.symlink_to(folder)
        within = (f"{SMALL}/ct200", "ct200", "")[number]
        done = run("switch", f"{link}/{within}", "--root", str(image.root), here=tmp_path)
        assert done.code == 0, done.err
    (tmp_path / "round").symlink_to("round")
    done = run("switch", "round", "--root", str(image.root), here=tmp_path)
    assert done.code in (1, 5)


def test_very_many_generations(image: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch reads the files of those it speaks of, not of all."""
    for number in range(3, 500):
        folder = state_of(image) / f"gen-{number}"
        folder.mkdir()
        for each in (state_of(image) / "gen-1").iterdir():
            os.link(each, folder / each.name)
    read: list[Path] = []

    def noted(path: Path) -> tuple[str, ...]:
        read.append(path)
        return survey(path)

    monkeypatch.setattr(store, "survey", noted)
    assert image.switch(LARGE).current == 2
    assert image.switch(FP8).current == 500
    assert len(read) < 10
