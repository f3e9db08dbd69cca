"""What a host must have before a switch writes anything: each check at its border, on a host made up and on a real one."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, field, frozen

from compiler.diagnostics import Diagnostic
from compiler.host.ports import Listener, listeners
from compiler.host.preflight import Preflight, preflight
from compiler.host.preflight_probe import Account, Entry, Gpu, RealProbe, Untold
from compiler.host.units import Scope
from compiler.value import Value
from compiler.writtenplan import WrittenPlan, read_plan
from hosts import UID, PrivateHost, eventually


OUT = Path(__file__).parent.parent / "out"
FOLDER = OUT / "k2.6-200k/ct200"
PLAN: Mapping[str, Any] = json.loads((FOLDER.parent / "plan.json").read_text("utf-8"))
PYTHON = "/opt/sglang/bin/python"
MODEL, DRAFT = "/srv/models/Kimi-K2.6", "/srv/models/Kimi-K2.6-DFlash"
SECRET = "/etc/poolproof/secrets/k26.yaml"
NVCC, NINJA = "/usr/local/cuda/bin/nvcc", "/usr/bin/ninja"
CARD = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
SGLANG = Account(name="sglang", uid=990, gids=frozenset({990}))
DENIED = Untold(why="permission denied")


def folder(path: str, mode: int = 0o755, *, uid: int = 0, gid: int = 0) -> Entry:
    return Entry(path=path, mode=stat.S_IFDIR | mode, uid=uid, gid=gid)


def file(path: str, mode: int, *, uid: int = 0, gid: int = 0) -> Entry:
    return Entry(path=path, mode=stat.S_IFREG | mode, uid=uid, gid=gid)


TRAILS: Mapping[str, tuple[Entry, ...] | Untold] = {
    PYTHON: (folder("/"), folder("/opt"), file(PYTHON, 0o755)),
    MODEL: (folder("/"), folder("/srv"), folder(MODEL)),
    DRAFT: (folder("/"), folder("/srv"), folder(DRAFT)),
    SECRET: (folder("/"), folder("/etc"), file(SECRET, 0o600, uid=990)),
    NVCC: (folder("/"), folder("/usr"), file(NVCC, 0o755)),
    NINJA: (folder("/"), folder("/usr"), file(NINJA, 0o755)),
}


@frozen(kw_only=True, eq=False, repr=False)
class FakeProbe(Value):
    """A host that has all that the story's deployment needs, unless told otherwise."""

    accounts: Mapping[str, Account] = field(factory=lambda: {"sglang": SGLANG})
    trails: Mapping[str, tuple[Entry, ...] | Untold] = field(factory=lambda: TRAILS)
    group: tuple[str, ...] = ()
    cards: tuple[Gpu, ...] | Untold | None = tuple(
        Gpu(index=number, uuid=f"GPU-{number}", name=CARD) for number in range(8)
    )
    listening: tuple[Listener, ...] | Untold = ()
    memlock: int | Untold | None = None
    shared: int | Untold = 1 << 30
    disk: int | Untold = 1 << 40
    memory: int | Untold = 1 << 40
    without: tuple[str, ...] | Untold = ()
    release: str | Untold = "0.5.11"

    def account(self, name: str | None) -> Account | None:
        """Root and who was given."""
        root = Account(name="root", uid=0, gids=frozenset({0}))
        return root if name in (None, "root") else self.accounts.get(name or "")

    def trail(self, path: str) -> tuple[Entry, ...] | Untold | None:
        """As given."""
        return self.trails.get(path)

    def others_in_group(self, gid: int, *, uid: int) -> tuple[str, ...]:
        """As given."""
        assert (gid, uid) == (990, 990)
        return self.group

    def gpus(self) -> tuple[Gpu, ...] | Untold | None:
        """As given."""
        return self.cards

    def listeners(self, port: int) -> tuple[Listener, ...] | Untold:
        """Of the port in the plan."""
        assert port == 30000
        return self.listening

    def memlock_bytes(self, scope: Scope) -> int | Untold | None:
        """As given."""
        assert scope in Scope
        return self.memlock

    def shared_memory_bytes(self) -> int | Untold:
        """As given."""
        return self.shared

    def free_disk_bytes(self, path: str) -> int | Untold:
        """Of the folder in the plan."""
        assert path == "/var/lib/poolproof/kimi-k2.6"
        return self.disk

    def memory_bytes(self) -> int | Untold:
        """As given."""
        return self.memory

    def lacking(
        self,
        python: str,
        modules: Collection[str],
        *,
        account: Account | None,
        environment: Mapping[str, str],
    ) -> tuple[str, ...] | Untold:
        """Those of the modules that it is without."""
        assert (python, account) == (PYTHON, SGLANG), environment
        if isinstance(self.without, Untold):
            return self.without
        return tuple(each for each in modules if each in self.without)

    def installed(
        self, python: str, package: str, *, account: Account | None, environment: Mapping[str, str]
    ) -> str | Untold:
        """As given."""
        assert (python, package, account) == (PYTHON, "sglang", SGLANG), environment
        return self.release


def written(plan: Mapping[str, object]) -> WrittenPlan:
    """A plan as a host reads it."""
    read = read_plan(json.dumps(plan).encode())
    assert isinstance(read, WrittenPlan), read
    return read


def checked(probe: FakeProbe, *, scope: Scope = Scope.SYSTEM, target: Path = FOLDER) -> Preflight:
    return preflight(written(PLAN), target, scope=scope, probe=probe)


def only(found: Preflight) -> Diagnostic:
    """The one finding."""
    (each,) = found.diagnostics
    return each


def with_trail(path: str, *entries: Entry) -> FakeProbe:
    return FakeProbe(trails={**TRAILS, path: entries})


def test_a_host_that_has_everything() -> None:
    """Nothing is found and nothing skipped."""
    assert checked(FakeProbe()) == Preflight(diagnostics=(), skipped=())


def test_no_such_user() -> None:
    """`host-user`: the user of the unit is not there; that is one finding, though nothing can be read then."""
    found = only(checked(FakeProbe(accounts={})))
    assert (found.code, found.summary) == ("host-user", "there is no user `sglang` on this host")


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ((), "is not there"),
        ((folder("/"), folder(PYTHON)), "is no file"),
        ((folder("/"), file(PYTHON, 0o644)), "cannot run"),
        ((folder("/"), folder("/root", 0o700), file(PYTHON, 0o755)), "cannot run"),
    ],
)
def test_the_engines_python(entries: tuple[Entry, ...], says: str) -> None:
    """`host-python`: it is missing, or the user cannot run it."""
    trails = (
        {**TRAILS, PYTHON: entries} if entries else {k: v for k, v in TRAILS.items() if k != PYTHON}
    )
    found = only(checked(FakeProbe(trails=trails)))
    assert found.code == "host-python"
    assert says in found.summary


@pytest.mark.parametrize("path", [MODEL, DRAFT])
def test_a_model_that_is_not_there(path: str) -> None:
    """`host-model`: the folder of the model or of the draft is missing, and its setting is named."""
    found = only(checked(FakeProbe(trails={k: v for k, v in TRAILS.items() if k != path})))
    assert found.code == "host-model"
    assert found.path == ("model.path" if path == MODEL else "speculative.draft_path")


@pytest.mark.parametrize(
    ("end", "is_fine"),
    [
        (folder(MODEL, 0o750, gid=990), True),
        (folder(MODEL, 0o700, uid=990), True),
        (folder(MODEL, 0o750), False),
        (folder(MODEL, 0o744), False),
        (folder(MODEL, 0o057, gid=990), True),
        (folder(MODEL, 0o705, gid=990), False),
        (folder(MODEL, 0o077, uid=990), False),
    ],
)
def test_a_model_that_cannot_be_read(end: Entry, *, is_fine: bool) -> None:
    """The kernel looks at one class of the mode only: the owner's, else the group's, else the others'."""
    found = checked(with_trail(MODEL, folder("/"), end)).diagnostics
    assert [each.code for each in found] == ([] if is_fine else ["host-model"])


@pytest.mark.parametrize(
    ("end", "group", "says"),
    [
        (file(SECRET, 0o600, uid=990), (), None),
        (file(SECRET, 0o400, uid=990), (), None),
        (file(SECRET, 0o640, gid=990), (), None),
        (file(SECRET, 0o640, gid=990), ("eve",), "group with number 990: `eve`"),
        (file(SECRET, 0o600), (), "`sglang` cannot read"),
        (file(SECRET, 0o644, uid=990), (), "read by everybody"),
        (file(SECRET, 0o604, uid=7), (), "read by everybody"),
        (file(SECRET, 0o640, uid=7, gid=990), (), "owner, the user with number 7"),
        (folder(SECRET), (), "is no file"),
    ],
)
def test_who_reads_a_secret(end: Entry, group: tuple[str, ...], says: str | None) -> None:
    """`host-secret`: the service's user must be able to read it, and nobody else but root."""
    found = checked(evolve(with_trail(SECRET, folder("/"), end), group=group)).diagnostics
    assert [each.code for each in found] == ([] if says is None else ["host-secret"])
    assert says is None or says in found[0].summary


def test_a_secret_that_is_not_there() -> None:
    """The command that writes it is shown, and takes the secret from no argument."""
    found = only(checked(FakeProbe(trails={k: v for k, v in TRAILS.items() if k != SECRET})))
    assert (found.code, found.help) == (
        "host-secret",
        (f"write it, for `sglang` alone: `install -D -m 600 -o sglang /dev/stdin {SECRET}`",),
    )


def cards(count: int, name: str = CARD) -> tuple[Gpu, ...]:
    return tuple(Gpu(index=number, uuid=f"GPU-{number}", name=name) for number in range(count))


@pytest.mark.parametrize(
    ("gpus", "says"),
    [
        (cards(9), None),
        (cards(7), "needs 8 GPUs, and this host has 7"),
        ((), "has 0"),
        (cards(8, "NVIDIA H100 80GB HBM3"), "other GPUs"),
        ((*cards(7), Gpu(index=7, uuid="GPU-7", name="NVIDIA A2")), "other GPUs"),
        ((*cards(8), Gpu(index=8, uuid="GPU-8", name="NVIDIA A2")), None),
    ],
)
def test_the_gpus(gpus: tuple[Gpu, ...], says: str | None) -> None:
    """`host-gpu`: as many as the plan needs, of its kind; others beside them do not matter."""
    found = checked(FakeProbe(cards=gpus)).diagnostics
    assert [each.code for each in found] == ([] if says is None else ["host-gpu"])
    assert says is None or says in found[0].summary


@pytest.mark.parametrize(
    ("visible", "codes"),
    [
        ("1,2,3,4,5,6,7,8", []),
        ("GPU-1,GPU-2,GPU-3,GPU-4,GPU-5,GPU-6,GPU-7,GPU-8", []),
        ("0,1,2,3,4,5,6,7", ["host-gpu"]),
        ("1,2,3", ["host-gpu"]),
        ("1,2,3,4,5,6,7,99", ["host-gpu"]),
    ],
)
def test_the_gpus_that_are_visible(visible: str, codes: list[str], tmp_path: Path) -> None:
    """Only those that the environment lists are looked at."""
    target = copy(tmp_path)
    (target / "kimi-k2.6.env").write_text(f'CUDA_VISIBLE_DEVICES="{visible}"\n')
    gpus = (Gpu(index=0, uuid="GPU-0", name="NVIDIA A2"), *cards(9)[1:])
    assert [
        each.code for each in checked(FakeProbe(cards=gpus), target=target).diagnostics
    ] == codes


def copy(parent: Path) -> Path:
    """The story's target, to change."""
    target = parent / "ct200"
    target.mkdir()
    for each in FOLDER.iterdir():
        (target / each.name).write_bytes(each.read_bytes())
    return target


def test_a_kind_of_the_teams_own() -> None:
    """The names that the driver prints come from the plan, so that a kind that is not shipped is checked as well."""
    gpus = {**PLAN["gpus"], "kind": "our-gpu", "names": ["Our GPU"]}
    found = preflight(
        written({**PLAN, "gpus": gpus}), FOLDER, scope=Scope.SYSTEM, probe=FakeProbe()
    ).diagnostics
    assert [each.code for each in found] == ["host-gpu"]
    nobody = {**gpus, "names": []}
    told = preflight(
        written({**PLAN, "gpus": nobody}), FOLDER, scope=Scope.SYSTEM, probe=FakeProbe()
    )
    assert (told.diagnostics, [each.what for each in told.skipped]) == (
        (),
        ["the names of the GPUs"],
    )


def test_a_driver_that_fails() -> None:
    """`host-driver`: what `nvidia-smi` says is shown."""
    found = only(checked(FakeProbe(cards=Untold(why="Driver/library version mismatch"))))
    assert (found.code, found.notes) == (
        "host-driver",
        ("`nvidia-smi` says: Driver/library version mismatch",),
    )


def listener(address: str = "0.0.0.0", **told: Any) -> Listener:  # noqa: ANN401 - any attribute
    return Listener(address=ip_address(address), **told)


@pytest.mark.parametrize(
    ("found", "codes"),
    [
        (listener(unit="kimi-k2.6.service", pid=7), []),
        (listener(unit="other.service", pid=7), ["host-port"]),
        (listener(pid=7, program="python"), ["host-port"]),
        (listener("127.0.0.1", pid=7), ["host-port"]),
        (listener("::", pid=7), ["host-port"]),
        (listener(), []),
    ],
)
def test_the_port(found: Listener, codes: list[str]) -> None:
    """`host-port`: it is free, or our own unit has it; where that cannot be seen it is said."""
    result = checked(FakeProbe(listening=(found,)))
    assert [each.code for each in result.diagnostics] == codes
    assert [each.what for each in result.skipped] == (["port 30000"] if found.pid is None else [])


@pytest.mark.parametrize(("address", "codes"), [("10.0.0.1", []), ("10.0.0.2", ["host-port"])])
def test_another_address_is_another_port(address: str, codes: list[str], tmp_path: Path) -> None:
    """Two servers may have one port on different addresses."""
    target = copy(tmp_path)
    unit = target / "kimi-k2.6.service"
    unit.write_text(unit.read_text("utf-8").replace("--host 0.0.0.0", "--host 10.0.0.2"))
    probe = FakeProbe(listening=(listener(address, pid=7),))
    assert [each.code for each in checked(probe, target=target).diagnostics] == codes


def test_locked_memory() -> None:
    """`host-memlock`: a limit below what the unit asks for is a warning with the figure."""
    result = checked(FakeProbe(memlock=8 << 20))
    assert not result.refused
    assert (only(result).code, "8 MiB" in only(result).summary) == ("host-memlock", True)


@pytest.mark.parametrize(
    ("free", "codes"), [(1 << 30, []), ((1 << 30) - 1, ["host-shared-memory"])]
)
def test_shared_memory(free: int, codes: list[str]) -> None:
    """`host-shared-memory`: several GPUs need 1 GiB."""
    assert [each.code for each in checked(FakeProbe(shared=free)).diagnostics] == codes


def test_free_disk() -> None:
    """`host-disk`: a generation needs twice its size and a little."""
    needed = 2 * sum(each.stat().st_size for each in FOLDER.iterdir()) + (1 << 20)
    assert checked(FakeProbe(disk=needed)).diagnostics == ()
    assert only(checked(FakeProbe(disk=needed - 1))).code == "host-disk"


def test_what_cannot_be_checked_is_said() -> None:
    """Where the host tells nothing, each check that was not made is listed with the reason."""
    result = checked(
        FakeProbe(
            trails=dict.fromkeys(TRAILS, DENIED),
            cards=None,
            listening=DENIED,
            memlock=DENIED,
            shared=DENIED,
            disk=DENIED,
        )
    )
    assert result.diagnostics == ()
    assert [each.what for each in result.skipped] == [
        "the engine's Python",
        "`model.path`",
        "`speculative.draft_path`",
        f"the secret `{SECRET}`",
        "the GPUs",
        "port 30000",
        "the limit of locked memory",
        "shared memory",
        "free disk",
    ]


def test_a_public_name_is_no_path(tmp_path: Path) -> None:
    """A model that the engine downloads is not looked for."""
    target = copy(tmp_path)
    unit = target / "kimi-k2.6.service"
    unit.write_text(unit.read_text("utf-8").replace(MODEL + " ", "moonshotai/Kimi-K2.6 "))
    (skipped,) = checked(FakeProbe(), target=target).skipped
    assert (skipped.what, "moonshotai/Kimi-K2.6" in skipped.why) == ("`model.path`", True)


def test_an_engine_that_nobody_knows() -> None:
    """What only the engine's own flags tell is skipped, and the rest is checked."""
    plan = {**PLAN, "engine": {"name": "other", "version": "1", "build": None}}
    result = preflight(written(plan), FOLDER, scope=Scope.SYSTEM, probe=FakeProbe(disk=0))
    assert [each.what for each in result.skipped] == ["the model's folder", "the port"]
    assert only(result).code == "host-disk"


@pytest.mark.parametrize("damage", ["", "[Service]\n", "[Service]\nExecStart=\n", "\xff[x"])
def test_a_tree_that_is_none(damage: str, tmp_path: Path) -> None:
    """`host-tree`: a target that nobody compiled is refused, and nothing raises."""
    target = copy(tmp_path)
    (target / "kimi-k2.6.service").write_text(damage, "latin-1")
    assert only(checked(FakeProbe(), target=target)).code == "host-tree"
    (target / "kimi-k2.6.service").unlink()
    assert only(checked(FakeProbe(), target=target)).code == "host-tree"
    assert (
        only(
            preflight(
                written({"schema": 1, "targets": {}}), target, scope=Scope.SYSTEM, probe=FakeProbe()
            )
        ).code
        == "host-tree"
    )


def test_every_finding_shows_a_way_out() -> None:
    """Each has help."""
    empty = FakeProbe(
        accounts={}, trails={}, cards=(), shared=0, disk=0, listening=(listener(pid=1),)
    )
    found = checked(empty).diagnostics
    assert {each.code for each in found} >= {"host-user", "host-python", "host-port", "host-disk"}
    assert all(each.help for each in found)


def test_the_real_probe_reads_files(tmp_path: Path) -> None:
    """A path is followed through links to its end, with modes; what is missing or a circle is told apart."""
    (tmp_path / "real").write_text("x")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "round").symlink_to("round")
    trail = RealProbe().trail(str(tmp_path / "link"))
    assert isinstance(trail, tuple)
    assert trail[0].path == "/"
    assert (trail[-1].path, stat.S_IMODE(trail[-1].mode)) == (str(tmp_path / "real"), 0o640)
    assert RealProbe().trail(str(tmp_path / "none")) is None
    assert RealProbe().trail(str(tmp_path / "real/below")) is None
    assert isinstance(RealProbe().trail(str(tmp_path / "round")), Untold)


def test_the_real_probe_knows_people() -> None:
    """Whoever runs this is known, and a made-up user is not; nobody else is in a group that is not there."""
    me = RealProbe().account(None)
    assert me is not None
    assert me.uid == os.geteuid()
    assert RealProbe().account("nobody-has-this-name") is None
    assert RealProbe().others_in_group(999_999_999, uid=me.uid) == ()


def test_the_real_probe_measures() -> None:
    """Disk, shared memory and the limit of locked memory are figures; a folder to be made is on the disk above it."""
    for told in (
        RealProbe().free_disk_bytes("/none/of/these"),
        RealProbe().shared_memory_bytes(),
    ):
        assert isinstance(told, int)
        assert told > 0
    assert not isinstance(RealProbe().memlock_bytes(Scope.SYSTEM), Untold)


def test_the_real_probe_asks_nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `nvidia-smi` prints is read; its failure and its absence are two things."""
    smi = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert RealProbe().gpus() is None
    smi.write_text(f"#!/bin/sh\necho '0, GPU-a, {CARD}'\necho '1, GPU-b, {CARD}'\n")
    smi.chmod(0o755)
    assert RealProbe().gpus() == (
        Gpu(index=0, uuid="GPU-a", name=CARD),
        Gpu(index=1, uuid="GPU-b", name=CARD),
    )
    smi.write_text("#!/bin/sh\necho 'Failed to initialize NVML'\necho more\nexit 18\n")
    assert RealProbe().gpus() == Untold(why="Failed to initialize NVML")


def test_listeners_are_read_from_proc(tmp_path: Path) -> None:
    """Addresses of both families are read, only those that listen on the port; an unseen owner is none."""
    (tmp_path / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    line = "   0: {} 00000000:0000 {} 00000000:00000000 00:00000000 00000000     0        0 {} 1\n"
    rows = [("0100007F:7530", "0A", 1), ("0100007F:7531", "0A", 2), ("0200007F:7530", "01", 3)]
    (tmp_path / "net/tcp").write_text(head + "".join(line.format(*row) for row in rows))
    rows = [("00000000000000000000000001000000:7530", "0A", 4), ("0" * 32 + ":7530", "0A", 5)]
    (tmp_path / "net/tcp6").write_text(head + "".join(line.format(*row) for row in rows))
    found = listeners(30000, proc=tmp_path)
    assert [str(each.address) for each in found] == ["127.0.0.1", "::1", "::"]
    assert {each.pid for each in found} == {None}


LISTEN = """
import socket, time
server = socket.create_server(("127.0.0.1", 30000))
time.sleep(99)
"""
ASK = """
from compiler.host.preflight_probe import RealProbe
from compiler.host.units import Scope
probe = RealProbe()
print([(str(each.address), each.unit) for each in probe.listeners(30000)])
print(probe.memlock_bytes(Scope.USER))
"""


@pytest.mark.parametrize("user", [False, True])
def test_a_unit_that_listens(host: PrivateHost, *, user: bool) -> None:
    """On a real host, the unit that has the port is found, of the system's manager and of a user's."""
    (host.folder / "listen.py").write_text(LISTEN)
    words = f"{sys.executable} {host.folder / 'listen.py'}"
    host.install("has-port.service", f"[Service]\nExecStart={words}\n", user=user)
    host.systemctl("start", "has-port", user=user)

    def told() -> list[str]:
        words = (sys.executable, "-c", ASK)
        return host.run(*words, user=UID if user else None).stdout.strip().split("\n")

    eventually(lambda: told()[0] == "[('127.0.0.1', 'has-port.service')]")
    host.systemctl("stop", "has-port", user=user)
    assert told()[0] == "[]"
