"""The verbs of the host from end to end with `--root`, what they print where, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from io import StringIO
from pathlib import Path

import pytest

from checkouts import Done, run
from compiler.cli.hosting import Progress, agreed
from compiler.engines.observing import Phase
from compiler.host.intent import OFFLINE_STEPS, Intent, intend_switch
from compiler.host.machine import Machine
from compiler.host.site import Manner
from compiler.host.switching import switch
from compiler.host.watch import Event
from compiler.tree.manifest import digest
from generations import LARGE, OUT, SMALL, STATE_DIR, UNIT, Host, staged


class Image:
    """A folder with a compiled tree and an image beside it, and the command run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "image"
        self.root.mkdir()
        self.out = folder / "out"
        shutil.copytree(OUT, self.out)

    def __call__(self, *words: str) -> Done:
        """Run the command on the image."""
        return run(*words, "--root", str(self.root), here=self.folder)

    @property
    def current(self) -> str:
        """What `current` says."""
        return str((self.root / STATE_DIR.lstrip("/") / "current").readlink())


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """An image on which nothing was switched to."""
    return Image(tmp_path)


def test_from_the_first_switch_to_the_last(image: Image) -> None:
    """Two switches, a rollback, the lists, gc, and retire, by the command alone."""
    done = image("switch", f"out/{SMALL}/ct200")
    assert (done.code, done.out) == (0, f"{UNIT}: generation 1 is current\n")
    assert all(f"skipped: {each}" in done.err for each in OFFLINE_STEPS)
    assert image("switch", f"out/{LARGE}").code == 0
    listed = image("generations", "--json").json
    assert listed == {
        "schema": 1,
        "generations": [
            {
                "unit": UNIT,
                "number": number,
                "current": number == 2,
                "profile": profile,
                "target": "ct200",
            }
            for number, profile in ((1, SMALL), (2, LARGE))
        ],
        "diagnostics": [],
    }
    assert image("generations", "kimi-k2.6", "--json").json == listed
    assert image("rollback").code == 0
    assert image.current == "gen-1"
    assert image("gc", "--keep", "0").out == f"would delete {UNIT} 2\n"
    assert image("gc", "--keep", "0", "--yes").out == f"deleted {UNIT} 2\n"
    assert image("switch", LARGE).code == 0
    assert image.current == "gen-3"
    assert image("status").out == f"{UNIT}: generation 3 of {LARGE}/ct200, new\n"
    done = image("retire", UNIT)
    assert (done.code, f"removed /etc/systemd/system/{UNIT}" in done.out) == (0, True)
    assert "retired; 2 generations kept" in image("status", UNIT).out
    assert image("retire", "kimi-k2.6", "--delete").code == 0
    assert not (image.root / STATE_DIR.lstrip("/")).exists()
    assert image("generations", "--json").json == {
        "schema": 1,
        "generations": [],
        "diagnostics": [],
    }


@pytest.mark.parametrize(
    "words",
    [
        (f"out/{SMALL}/ct200",),
        (f"out/{SMALL}",),
        (f"out/{SMALL}/ct200/",),
        (SMALL,),
        (f"{SMALL}/ct200",),
        (SMALL, "--out", "out"),
        (f"{SMALL}/ct200", "--out", "out"),
    ],
)
def test_ways_to_name_a_tree(image: Image, words: tuple[str, ...]) -> None:
    """By its path, or by names below `--out`."""
    assert image("switch", *words).code == 0
    assert image.current == "gen-1"


def test_a_name_from_within_the_tree(image: Image) -> None:
    """Below a tree's root a profile is found as `compile` finds it."""
    (image.folder / "profiles").mkdir()
    words = ("switch", SMALL, "--root", str(image.root))
    assert run(*words, here=image.folder / "profiles").code == 0
    assert image.current == "gen-1"


def test_a_dry_run_writes_nothing(image: Image) -> None:
    """What would be done is the result, so it goes to stdout."""
    done = image("switch", SMALL, "--dry-run")
    assert done.code == 0
    assert f"generation 1 of {SMALL}/ct200, new; none is current" in done.out
    assert list(image.root.iterdir()) == []


def test_a_switch_as_json(image: Image) -> None:
    """One object, on success and on failure alike."""
    done = image("switch", SMALL, "--json")
    assert done.json["generation"] == done.json["current"] == 1
    assert (done.json["step"], done.json["diagnostics"]) == ("offline", [])
    assert done.json["skipped"] == list(OFFLINE_STEPS)
    failed = image("switch", "nothing", "--json")
    assert (failed.code, failed.json["generation"]) == (1, None)
    assert [each["code"] for each in failed.json["diagnostics"]] == ["staged-missing"]


@pytest.mark.parametrize("verb", ["generations", "gc", "status"])
def test_nothing_here(image: Image, verb: str) -> None:
    """No units at all is no error; a unit that is asked for and not there is."""
    assert image(verb).code == 0
    done = image(verb, "kimi")
    assert (done.code, "error[unit-unknown]" in done.err) == (1, True)


def test_a_unit_that_is_nearly_right(image: Image) -> None:
    """A similar name is offered, and several are listed."""
    image("switch", SMALL)
    assert "a similar one is there: `kimi-k2.6.service`" in image("rollback", "kimi-k2.5", "1").err
    assert "`kimi-k2.6.service` has no generation 7" in image("rollback", "7").err
    done = image("rollback")
    assert (done.code, "error[generation-missing]" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("rollback", "a", "b"), 2),
        (("rollback", "a", "1", "2"), 2),
        (("gc", "--keep", "-1"), 2),
        (("gc", "--older-than", "soon"), 2),
        (("gc", "--older-than", "1e9d"), 2),
        (("retire",), 2),
        (("switch",), 2),
        (
            (
                "switch",
                "../..",
            ),
            1,
        ),
        (("switch", "/"), 1),
        (("switch", ""), 1),
        (("switch", "out"), 1),
        (("switch", f"out/{SMALL}/other"), 1),
        (("switch", f"out/{SMALL}/ct200/{UNIT}"), 1),
        (("switch", "/nonexistent/x/y"), 1),
        (("switch", SMALL, "--out", "out/MANIFEST"), 1),
        (("switch", SMALL, "--out", "nowhere"), 1),
        (("rollback", "/var/lib/nothing"), 1),
        (("generations", "a\x1b[31mb"), 1),
    ],
)
def test_command_lines_that_make_no_sense(image: Image, words: tuple[str, ...], code: int) -> None:
    """Each is told, nothing is written, and none is a bug."""
    done = image(*words)
    assert (done.code, done.err != "", "\x1b" in done.err) == (code, True, False)
    assert list(image.root.iterdir()) == []


def test_a_tree_that_was_edited(image: Image) -> None:
    """What was not reviewed does not run: an edit, an addition, a loss, a lost bit, and a cut-off compile."""
    unit = image.out / SMALL / "ct200" / UNIT
    text = unit.read_text()
    unit.write_text(text.replace("32768", "65536"))
    done = image("switch", SMALL)
    assert (done.code, "error[staged-edited]" in done.err) == (1, True)
    assert f"`{SMALL}/ct200/{UNIT}` was changed after it was compiled" in done.err
    assert f"`poolproof compile --overwrite {SMALL}`" in done.err
    unit.write_text(text)
    extra = image.out / SMALL / "ct200" / "extra"
    extra.write_text("")
    assert "is there and not in MANIFEST" in image("switch", SMALL).err
    extra.unlink()
    (image.out / SMALL / "ct200" / "launch.sh").chmod(0o644)
    assert "was changed after" in image("switch", SMALL).err
    (image.out / SMALL / "ct200" / "launch.sh").unlink()
    assert "is missing, or no file" in image("switch", SMALL).err
    (image.out / ".pending").mkdir()
    (image.out / ".pending" / "journal").write_text("")
    assert "a compile was cut off in it" in image("switch", LARGE).err
    (image.out / "MANIFEST").unlink()
    assert "there is no MANIFEST" in image("switch", LARGE).err
    assert list(image.root.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"schema": 1', '"schema": 2', "it has schema 2, this Poolproof reads 1"),
        ('"kind": "systemd"', '"kind": "quadlet"', "its kind is `quadlet`"),
        ('"manager": "system"', '"manager": "init"', "no unit that can be switched"),
        (f'"unit": "{UNIT}"', '"unit": "../x.service"', "no unit that can be switched"),
        (f'"state_dir": "{STATE_DIR}"', '"state_dir": "/srv"', "no folder for generations"),
        (f'"state_dir": "{STATE_DIR}"', '"state_dir": "/a/../b/c"', "no folder for generations"),
        ('"on_change"', '"once"', "does not say `on_change`"),
    ],
)
def test_a_plan_that_cannot_be_run(image: Image, old: str, new: str, said: str) -> None:
    """A tree of another Poolproof, or with names that would lead elsewhere, is refused though its hashes are right."""
    plan, manifest = image.out / SMALL / "plan.json", image.out / "MANIFEST"
    before = plan.read_text()
    assert old in before
    plan.write_text(before.replace(old, new))
    hashes = digest(before.encode()), digest(plan.read_bytes())
    manifest.write_text(manifest.read_text().replace(*hashes))
    done = image("switch", SMALL)
    assert (done.code, "error[staged-invalid]" in done.err) == (1, True)
    assert said in " ".join(done.err.split())


def test_a_rollback_to_what_was_edited(image: Image) -> None:
    """A generation that is not as it was written cannot be gone back to."""
    image("switch", SMALL)
    image("switch", LARGE)
    (image.root / STATE_DIR.lstrip("/") / "gen-1" / "plan.json").write_text("{}")
    done = image("rollback", "1")
    assert (done.code, "error[generation-edited]" in done.err) == (1, True)
    assert "edited by hand" in image("generations").out
    assert "error[generation-missing]" in image("rollback").err


def test_a_disk_that_is_full(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's refusal is told in plain words, with exit 5; nothing counts, and the next run tidies up."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/var/lib")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        done = image("switch", SMALL)
    assert (done.code, "error[host-unwritable]" in done.err) == (5, True)
    assert "no space left on device" in done.err
    assert "nothing is current yet" in done.err
    assert image("generations", "--json").json["generations"] == []
    assert image("switch", SMALL).code == 0
    left = sorted(each.name for each in (image.root / STATE_DIR.lstrip("/")).iterdir())
    assert left == ["current", "gen-1", "record.json"]


def test_what_cannot_be_read(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every verb that reads is told why it could not, and exits 5."""
    image("switch", SMALL)

    def closed(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/var/lib/poolproof")

    monkeypatch.setattr(os, "listdir", closed)
    for words in (
        ("switch", SMALL),
        ("rollback",),
        ("generations",),
        ("gc",),
        ("status",),
        ("retire", UNIT),
    ):
        done = image(*words)
        assert (done.code, "error[host-unreadable]" in done.err) == (5, True), words


def test_a_user_unit(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit of a user's manager is linked in the user's own folder, and found there by every verb."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    plan, manifest = image.out / SMALL / "plan.json", image.out / "MANIFEST"
    before = plan.read_text()
    mine = before.replace('"manager": "system"', '"manager": "user"').replace(
        f'"state_dir": "{STATE_DIR}"', '"state_dir": "/home/me/.local/state/pp/kimi"'
    )
    plan.write_text(mine)
    manifest.write_text(
        manifest.read_text().replace(digest(before.encode()), digest(mine.encode()))
    )
    environment = {"HOME": "/home/me", "XDG_CONFIG_HOME": ""}
    words = ("--root", str(image.root))
    assert run("switch", SMALL, *words, here=image.folder, **environment).code == 0
    link = image.root / "home/me/.config/systemd/user" / UNIT
    assert str(link.readlink()) == f"/home/me/.local/state/pp/kimi/current/{UNIT}"
    status = run("status", "--json", *words, here=image.folder, **environment).json
    assert [each["manager"] for each in status["units"]] == ["user"]
    folder = "/home/me/.local/state/pp/kimi"
    assert run("retire", folder, *words, here=image.folder, **environment).code == 0
    assert run("rollback", folder, "1", *words, here=image.folder, **environment).code == 0
    assert link.is_symlink()


def test_a_switch_is_quick(tmp_path: Path) -> None:
    """On a staged tree it adds far less than half a second to what systemd and the server take."""
    took = []
    for number in range(3):
        root = tmp_path / str(number)
        root.mkdir()
        before = time.perf_counter()
        intent = intend_switch(staged(SMALL), root=root, live=None, replace=False)
        assert isinstance(intent, Intent)
        switch(intent, machine=Machine(), live=None, manner=Manner())
        took.append(time.perf_counter() - before)
    assert min(took) < 0.25


@pytest.mark.parametrize(
    ("is_terminal", "answer", "words", "agrees"),
    [
        (True, "y", False, True),
        (True, "", False, False),
        (True, "n", True, True),
        (False, "n", False, True),
    ],
)
def test_a_terminal_is_asked(
    monkeypatch: pytest.MonkeyPatch, answer: str, *, is_terminal: bool, words: bool, agrees: bool
) -> None:
    """A person may say no, and nothing is the same as no; a script is not asked, nor who said `--yes`."""
    given = StringIO(f"{answer}\n")
    monkeypatch.setattr(given, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", given)
    assert agreed("go on?", yes=words) is agrees


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal sees one line that changes; everything else a line for each thing that is new."""
    events = [
        Event(phase=None, text="", elapsed_s=0.0),
        Event(phase=None, text="", elapsed_s=1.0, is_new=False),
    ]
    for moves in (True, False):
        shown = Progress(moves=moves)
        for each in events:
            shown.say(each)
        shown.tell("going back")
        shown.close()
    # click leaves out what clears the line, where this is no terminal.
    assert capsys.readouterr().err == (
        "\r0 s  stopping\r1 s  stopping\ngoing back\n0 s  stopping\ngoing back\n"
    )


def test_progress_that_cannot_change_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a load's shards a log has one in a while; each phase is told when it begins."""
    shown = Progress(moves=False)
    for shard in range(64):
        shown.say(Event(phase=Phase.LOADING, text=f"{shard}/64 shards", elapsed_s=shard / 4))
    shown.say(Event(phase=Phase.POOL, text="101,134 tokens", elapsed_s=16.0))
    assert capsys.readouterr().err.split("\n") == [
        "0 s  loading: 0/64 shards",
        "5 s  loading: 20/64 shards",
        "10 s  loading: 40/64 shards",
        "15 s  loading: 60/64 shards",
        "16 s  pool: 101,134 tokens",
        "",
    ]


def test_json_is_ascii(image: Image) -> None:
    """It can be printed in whatever encoding a terminal has."""
    assert image("status", "--json").out.isascii()
    assert json.loads(image("gc", "--json").out)["generations"] == []
    assert Host(image.root, is_live=False).root.is_dir()
