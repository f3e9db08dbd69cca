"""What is wrong with a unit itself: each rule finds what it is about, and nothing in the nearest unit without it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from compiler.adopt.systemdtime import FOREVER, seconds
from launching import SERVER, read_text


START = f"ExecStart=/opt/venv/bin/{SERVER} --model-path /m/a\n"


def codes(text: str, *, name: str = "/etc/systemd/system/server.service") -> list[str]:
    return [each.code for each in read_text(text, name=name).findings]


CASES = {
    "restart-loops-forever": (
        "[Service]\nRestart=always\nRestartSec=10\n",
        "[Unit]\nStartLimitIntervalSec=1h\nStartLimitBurst=3\n[Service]\nRestart=always\nRestartSec=10\n",
    ),
    "start-limit-misplaced": (
        "[Service]\nStartLimitIntervalSec=1h\n",
        "[Unit]\nStartLimitIntervalSec=1h\n",
    ),
    "instance-not-template": (
        "[Service]\nWorkingDirectory=/home/%i/x\n",
        "[Service]\nWorkingDirectory=/home/%%i/x\n",
    ),
    "network-not-wanted": (
        "[Unit]\nAfter=network-online.target\n",
        "[Unit]\nAfter=network-online.target\nWants=network-online.target\n",
    ),
    "sandbox-hides-gpu": ("[Service]\nPrivateDevices=yes\n", "[Service]\nPrivateDevices=no\n"),
    "sandbox-hides-home": (
        "[Service]\nProtectHome=yes\nEnvironment=HF_HOME=/home/llm/hf\n",
        "[Service]\nProtectHome=read-only\nEnvironment=HF_HOME=/home/llm/hf\n",
    ),
    "start-kills-others": (
        "[Service]\nExecStartPre=-/usr/bin/pkill -9 -f sglang\n",
        "[Service]\nExecStartPre=-/usr/bin/docker rm -f sglang\n",
    ),
    "start-timeout-unbinding": (
        "[Service]\nType=simple\nTimeoutStartSec=600\n",
        "[Service]\nType=notify\nTimeoutStartSec=600\n",
    ),
    "variable-not-expanded": (
        "[Service]\nEnvironment=PATH=/x:$PATH\n",
        "[Service]\nEnvironment=PRICE=5$\n",
    ),
    "user-unit-needs-system": (
        "[Unit]\nRequires=docker.service\n[Install]\nWantedBy=default.target\n",
        "[Unit]\nRequires=docker.service\n[Install]\nWantedBy=multi-user.target\n",
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_finds_what_it_is_about(code: str) -> None:
    """One unit has the fault and is told so at its line, the nearest one has not and is not."""
    bad, good = CASES[code]
    start = f"[Service]\n{START}"
    read = read_text(f"{bad}{start}", name="/etc/systemd/system/server.service")
    (found,) = (each for each in read.findings if each.code == code)
    assert found.primary is not None
    assert found.primary.span.line <= bad.count("\n")
    assert code not in codes(f"{good}{start}")


@pytest.mark.parametrize(
    ("limit", "loops"),
    [
        ("", True),
        ("StartLimitInterval=0\n", True),
        ("StartLimitInterval=1h\nStartLimitBurst=3\n", False),
        ("StartLimitIntervalSec=1h\nStartLimitBurst=3\n", True),
    ],
)
def test_the_limit_s_old_name_counts(limit: str, *, loops: bool) -> None:
    """`StartLimitInterval=` is still read in `[Service]`, `StartLimitIntervalSec=` is not."""
    found = codes(f"[Service]\nRestart=always\nRestartSec=10\n{limit}{START}")
    assert ("restart-loops-forever" in found) == loops


def test_a_template_has_instances() -> None:
    """In `server@.service` the name of the instance means something."""
    text = f"[Service]\nWorkingDirectory=/home/%i\n{START}"
    assert codes(text, name="server@.service") == []
    assert codes(text, name="server.service") == ["instance-not-template"]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("10", 10),
        ("1min 30s", 90),
        ("5m", 300),
        ("500ms", 0.5),
        ("infinity", FOREVER),
        ("x", None),
        ("", None),
    ],
)
def test_systemd_s_times(text: str, time: float | None) -> None:
    """A number is seconds; parts add up."""
    assert seconds(text) == time


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to judge")
def test_systemd_agrees_about_the_limit(tmp_path: Path) -> None:
    """As systemd itself sees it: it ignores the new name of the interval in `[Service]`, and takes the old one."""
    unit = tmp_path / "limit.service"
    unit.write_text(
        "[Service]\nExecStart=/bin/true\nStartLimitIntervalSec=9\nStartLimitInterval=9\nStartLimitBurst=3\n"
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    ignored = [line for line in done.stderr.splitlines() if "Unknown key" in line]
    assert len(ignored) == 1
    assert "StartLimitIntervalSec" in ignored[0]


IMAGE = "lmsysorg/sglang:v0.5.11"
CONTAINERS = {
    "compose": ("a.yaml", f"services:\n  a:\n    image: {IMAGE}\n    command: {SERVER} --model-path /m/a\n{{}}", "    shm_size: 8gb\n"),
    "a namespace": ("a.yaml", f"services:\n  a:\n    image: {IMAGE}\n    command: {SERVER} --model-path /m/a\n{{}}", "    ipc: host\n"),
    "a mount": ("a.yaml", f"services:\n  a:\n    image: {IMAGE}\n    command: {SERVER} --model-path /m/a\n{{}}", "    tmpfs: /dev/shm:size=8g\n"),
    "docker run": ("a.sh", f"docker run {{}} {IMAGE} bash -c '{SERVER} --model-path /m/a'\n", "--shm-size=8g"),
    "podman run": ("a.sh", f"podman run {{}} {IMAGE} --model-path /m/a\n", "--ipc host"),
    "a quadlet": ("a.container", f"[Container]\nImage={IMAGE}\nExec={SERVER} --model-path /m/a\n{{}}", "ShmSize=8g\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_with_little_shared_memory(name: str) -> None:
    """`container-shared-memory`: 64 MiB where nothing is said; a size, the host's, or a mount is something."""
    file, text, said = CONTAINERS[name]
    code = "container-shared-memory"
    assert [each.code for each in read_text(text.format(""), name=file).findings] == [code]
    assert code not in [each.code for each in read_text(text.format(said), name=file).findings]
