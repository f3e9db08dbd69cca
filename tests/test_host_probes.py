"""What a host is asked before a switch, where one word, bit, or number decides: on tables and modes that are made up."""

from __future__ import annotations

import grp
import json
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve

from compiler.host import preflight_probe as probing
from compiler.host.ports import listeners
from compiler.host.preflight_probe import Gpu, RealProbe, Untold
from compiler.host.service import Service, service_of
from compiler.host.units import Scope
from compiler.writtenplan import WrittenPlan, WrittenTarget, read_plan
from generations import OUT, SMALL, STATE_DIR, UNIT
from test_preflight import (
    CARD,
    FOLDER,
    MODEL,
    PYTHON,
    SECRET,
    SGLANG,
    TRAILS,
    FakeProbe,
    checked,
    copy,
    file,
    folder,
    listener,
)


def codes(probe: FakeProbe, target: Path = FOLDER) -> list[str]:
    """What is found on a host."""
    return [each.code for each in checked(probe, target=target).diagnostics]


def changed(parent: Path, old: str, new: str) -> Path:
    """The story's target with something else in its unit."""
    target = copy(parent)
    unit = target / UNIT
    text = unit.read_text("utf-8")
    assert text.count(old) == 1
    unit.write_text(text.replace(old, new), "utf-8")
    return target


# who may do what


@pytest.mark.parametrize(
    ("gids", "gid", "is_fine"),
    [({990, 5}, 5, True), ({990, 5}, 6, False), ({990}, 990, True), ({5}, 990, False)],
)
def test_any_of_the_users_groups(gids: set[int], gid: int, *, is_fine: bool) -> None:
    """Whichever of them the file has."""
    account = evolve(SGLANG, gids=frozenset(gids))
    trails = {**TRAILS, MODEL: (folder("/"), folder(MODEL, 0o050, gid=gid))}
    probe = FakeProbe(accounts={"sglang": account}, trails=trails)
    assert codes(probe) == ([] if is_fine else ["host-model"])


@pytest.mark.parametrize(
    ("mode", "is_fine"), [(0o644, False), (0o645, True), (0o654, True), (0o744, True)]
)
def test_what_root_may_run(tmp_path: Path, mode: int, *, is_fine: bool) -> None:
    """Root reads everything, and runs what anybody may run; a folder is always open to it."""
    target = changed(tmp_path, "User=sglang\n", "")
    trails = {
        **TRAILS,
        PYTHON: (folder("/", 0o000), file(PYTHON, mode, uid=7)),
        MODEL: (folder("/"), folder(MODEL, 0o000, uid=7)),
        SECRET: (folder("/"), file(SECRET, 0o000)),
    }
    assert codes(FakeProbe(trails=trails), target) == ([] if is_fine else ["host-python"])


@pytest.mark.parametrize(
    ("users", "wanted"),
    [("User=nobody\nUser=sglang\n", []), ("User=sglang\nUser=nobody\n", ["host-user"])],
)
def test_the_last_user_counts(tmp_path: Path, users: str, wanted: list[str]) -> None:
    """As systemd has it."""
    assert codes(FakeProbe(), changed(tmp_path, "User=sglang\n", users)) == wanted


def test_the_last_command_counts(tmp_path: Path) -> None:
    """An empty one takes back those before it."""
    target = changed(tmp_path, "ExecStart=:", "ExecStart=/bin/other\nExecStart=\nExecStart=:")
    assert codes(FakeProbe(), target) == []


# GPUs, ports, limits


def test_the_first_of_the_visible_gpus(tmp_path: Path) -> None:
    """A ninth that the server will not use may be another card."""
    target = copy(tmp_path)
    cards = tuple(
        Gpu(index=number, uuid=f"GPU-{number}", name=CARD if number < 8 else "NVIDIA A2")
        for number in range(9)
    )
    for visible, wanted in (("0,1,2,3,4,5,6,7,8", []), ("8,0,1,2,3,4,5,6,7", ["host-gpu"])):
        (target / "kimi-k2.6.env").write_text(f'CUDA_VISIBLE_DEVICES="{visible}"\n')
        assert codes(FakeProbe(cards=cards), target) == wanted


@pytest.mark.parametrize(
    ("host", "address", "wanted"),
    [
        ("10.0.0.2", "10.0.0.2", ["host-port"]),
        ("10.0.0.2", "10.0.0.3", []),
        ("10.0.0.2", "0.0.0.0", ["host-port"]),
        ("10.0.0.2", "::", ["host-port"]),
        ("0.0.0.0", "10.0.0.3", ["host-port"]),
        ("server.example", "10.0.0.3", ["host-port"]),
    ],
)
def test_who_is_in_the_way(tmp_path: Path, host: str, address: str, wanted: list[str]) -> None:
    """The same address, one of the two on every address, or a name that may stand for it."""
    target = changed(tmp_path, "--host 0.0.0.0", f"--host {host}")
    assert codes(FakeProbe(listening=(listener(address, pid=7),)), target) == wanted


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/x.service\n", "x.service"),
        ("0::/user.slice/user@1000.service/app.slice/x.service\n", "x.service"),
        ("0::/system.slice/x.service/worker\n", "x.service"),
        ("1:name=a:/system.slice/y.service\n0::/init.scope\n", "init.scope"),
        ("0::/\n", None),
        ("0::/x.services\n", None),
    ],
)
def test_whose_socket_it_is(tmp_path: Path, cgroup: str, unit: str | None) -> None:
    """The innermost unit of the last line of its process's groups."""
    (tmp_path / "net").mkdir()
    row = "0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 55 1\n"
    (tmp_path / "net/tcp").write_text(f"head\n{row}")
    process = tmp_path / "77"
    (process / "fd").mkdir(parents=True)
    (process / "fd/3").symlink_to("socket:[55]")
    (process / "fd/4").symlink_to("socket:[5]")
    (process / "comm").write_text("python\n")
    (process / "cgroup").write_text(cgroup)
    (tmp_path / "self").mkdir()
    (found,) = listeners(30000, proc=tmp_path)
    assert (found.pid, found.program, found.unit) == (77, "python", unit)
    assert listeners(30001, proc=tmp_path) == ()


@pytest.mark.parametrize(
    ("capable", "hard", "limit"),
    [
        ("0", "8388608", 8 << 20),
        ("1000000", "8388608", None),  # CAP_SYS_RESOURCE
        ("800000", "8388608", 8 << 20),
        ("0", "unlimited", None),
    ],
)
def test_a_manager_that_may_raise_limits(
    monkeypatch: pytest.MonkeyPatch, capable: str, hard: str, limit: int | None
) -> None:
    """One capability decides, or that there is no limit."""
    told = {"CapEff:": [capable], "Max locked memory": ["1", hard, "bytes"]}
    monkeypatch.setattr(probing, "_field", lambda _, name: told[name])
    assert RealProbe().memlock_bytes(Scope.SYSTEM) == limit
    told["Max locked memory"] = []
    assert isinstance(RealProbe().memlock_bytes(Scope.SYSTEM), Untold)


def test_who_is_in_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom it lists and whose own it is, but the user and root, by whatever name."""
    people = [
        SimpleNamespace(pw_name=name, pw_uid=uid, pw_gid=gid)
        for name, uid, gid in (
            ("root", 0, 0),
            ("toor", 0, 5),
            ("llm", 7, 5),
            ("also-llm", 7, 6),
            ("eve", 8, 5),
            ("bob", 9, 6),
        )
    ]
    monkeypatch.setattr(pwd, "getpwall", lambda: people)
    members = ["bob", "llm", "gone", "root"]
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_mem=members))
    assert RealProbe().others_in_group(5, uid=7) == ("bob", "eve", "gone")


def test_what_is_free_for_everybody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not what the file system keeps for root, nor its whole size."""
    told = SimpleNamespace(f_bavail=3, f_bfree=5, f_blocks=9, f_frsize=10, f_bsize=100)
    monkeypatch.setattr(os, "statvfs", lambda _: told)
    assert RealProbe().free_disk_bytes(str(tmp_path / "to/be/made")) == 30


# a target


@pytest.mark.parametrize(("on_change", "itself"), [("restart", True), ("manual", False)])
def test_who_restarts_a_service(on_change: str, *, itself: bool) -> None:
    """A switch, unless the target leaves it to a person."""
    plan = read_plan((OUT / SMALL / "plan.json").read_bytes())
    assert isinstance(plan, WrittenPlan)
    target = plan.targets["ct200"]
    assert isinstance(target, WrittenTarget)
    changed = {"ct200": evolve(target, on_change=on_change)}
    service = service_of(evolve(plan, targets=changed), "ct200")
    assert isinstance(service, Service)
    assert service.restarts_itself is itself


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (STATE_DIR, True),
        ("/a/b\u0007", False),
        ("/a/b\u00ad", False),
        ("a/b/c", False),
        ("/a/é", True),
    ],
)
def test_a_folder_that_can_be_shown(path: str, *, is_one: bool) -> None:
    """What steers a terminal, or cannot be seen, is no folder for generations."""
    plan = json.loads((OUT / SMALL / "plan.json").read_bytes())
    plan["targets"]["ct200"]["state_dir"] = path
    read = read_plan(json.dumps(plan).encode())
    assert isinstance(read, WrittenPlan)
    assert isinstance(service_of(read, "ct200"), Service) is is_one
