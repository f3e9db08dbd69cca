"""The programs that have the last word on what a rendered file says: systemd's own parser, bash, dash and shellcheck.

systemd needs to manage nothing for this: in test mode an unprivileged `systemd --test` loads the units of one directory,
prints what it understood, and ends.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from attrs import field, frozen


NOBODY = 65534
OS_RELEASE_KEYS = ("ID", "VERSION_ID", "BUILD_ID", "VARIANT_ID", "IMAGE_ID", "IMAGE_VERSION")
_OS_RELEASE_SPECIFIERS = "%o %w %B %W %M %A"
_STUB = "[Unit]\nDescription=stub\nDefaultDependencies=no\n"
STUB_TARGETS = ("sysinit", "basic", "shutdown", "network-online", "multi-user")
_C_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


@frozen(kw_only=True)
class Understood:
    """What systemd made of a unit.

    Attributes:
        commands: for `ExecStart` and its like, each command's words.
        complaints: what it printed about the unit.
    """

    loaded: bool
    properties: Mapping[str, str] = field(factory=dict)
    commands: Mapping[str, tuple[tuple[str, ...], ...]] = field(factory=dict)
    environment: Mapping[str, str] = field(factory=dict)
    complaints: tuple[str, ...] = ()


def program(name: str) -> str:
    """Where a program is; skips the test when the machine has none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@cache
def _systemd() -> str | None:
    for place in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd"):
        if Path(place).exists():
            return place
    return None


def understood_by_systemd(unit: str, *, os_release: str | None = None) -> Understood:
    """What systemd understands of the text of `x.service`; skips the test where it cannot be asked."""
    binary = _systemd()
    if binary is None:
        pytest.skip("systemd is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for target in STUB_TARGETS:
            (folder / f"{target}.target").write_text(_STUB, encoding="utf-8")
        (folder / "x.service").write_bytes(unit.encode(errors="surrogateescape"))
        environment = {
            "HOME": "/",
            "SYSTEMD_UNIT_PATH": name,
            # The dozen programs that make units for this machine would run each time.
            "SYSTEMD_GENERATOR_PATH": "/nowhere",
            "SYSTEMD_ENVIRONMENT_GENERATOR_PATH": "/nowhere",
            "SYSTEMD_LOG_TARGET": "console",
            "SYSTEMD_LOG_COLOR": "0",
        }
        if os_release is not None:
            (folder / "os-release").write_bytes(os_release.encode())
            environment["SYSTEMD_OS_RELEASE"] = str(folder / "os-release")
        printed = _run_as_nobody([binary, "--test", "--system", "--unit=x.service"], environment)
    if "running in test system mode" not in printed.stderr:
        pytest.skip(f"systemd cannot run in test mode here: {printed.stderr.strip()[:200]}")
    return _read_dump(printed.stdout, complaints=printed.stderr)


def env_file_by_systemd(text: str) -> Mapping[str, str]:
    """What systemd's own reader of environment files makes of the six keys that reach a unit as specifiers.

    `EnvironmentFile=` itself is read only when a unit starts; /etc/os-release goes through the same function.
    """
    unit = f"[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=:/bin/true {_OS_RELEASE_SPECIFIERS}\n"
    told = understood_by_systemd(unit, os_release=text)
    assert told.loaded, told.complaints
    return dict(zip(OS_RELEASE_KEYS, told.commands["ExecStart"][0][1:], strict=True))


def _run_as_nobody(
    command: list[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Test mode refuses to run as root."""
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=60, **other
        )  # type: ignore[call-overload]
    except PermissionError as refused:
        pytest.skip(f"systemd cannot be run as another user here: {refused}")
    return subprocess.CompletedProcess(
        command,
        done.returncode,
        stdout=done.stdout.decode(errors="surrogateescape"),
        stderr=done.stderr.decode(errors="surrogateescape"),
    )


def _read_dump(dump: str, *, complaints: str) -> Understood:
    about = tuple(line for line in complaints.split("\n") if "x.service" in line)
    found = re.search(
        r"^\t?-> Unit x\.service:\n(.*?)(?=^\t?-> |\Z)", dump, re.DOTALL | re.MULTILINE
    )
    if found is None:
        return Understood(loaded=False, complaints=about)
    body = found[1]
    properties = dict(re.findall(r"^\t\t(\w[\w ]*): (.*)$", body, re.MULTILINE))
    return Understood(
        loaded=properties.get("Unit Load State") == "loaded",
        properties=properties,
        commands=_commands(body),
        environment=dict(_environment(body)),
        complaints=about,
    )


def _commands(body: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    lists = re.findall(r"^\t\t-> (Exec\w+):\n((?:\t\t\t.*\n)+)", body, re.MULTILINE)
    return {
        name: tuple(
            tuple(_words(line))
            for line in re.findall(r"^\t\t\tCommand Line: (.*)$", lines, re.MULTILINE)
        )
        for name, lines in lists
    }


def _words(line: str) -> Iterator[str]:
    """Undo the shell quoting systemd prints a command with: words in double quotes, C and octal escapes."""
    raw = line.encode(errors="surrogateescape")
    for quoted, bare in re.findall(rb'"((?:[^"\\]|\\.)*)"|([^ "]+)', raw):
        word = bare or re.sub(rb"\\([0-7]{3}|.)", lambda found: _unescape(found[1]), quoted)
        yield word.decode(errors="surrogateescape")


def _unescape(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) > 1 else _C_ESCAPES.get(escape, escape)


def _environment(body: str) -> Iterator[tuple[str, str]]:
    """The variables as systemd prints them: raw, so that a value may run over several lines."""
    pattern = r"^\t\tEnvironment: (\w+)=(.*?)\n(?=\t\t(?:-> )?[A-Z]\w*|\Z)"
    for found in re.finditer(pattern, body, re.DOTALL | re.MULTILINE):
        yield found[1], found[2]


def verify_unit(text: str, *, name: str, programs: tuple[str, ...]) -> str:
    """What `systemd-analyze verify` finds wrong with a unit, on a skeleton of a host that has these programs only."""
    verifier = program("systemd-analyze")
    with tempfile.TemporaryDirectory() as root:
        units = Path(root, "usr/lib/systemd/system")
        units.mkdir(parents=True)
        for stub in (*(f"{target}.target" for target in STUB_TARGETS), "-.slice", "system.slice"):
            (units / stub).write_text(_STUB, encoding="utf-8")
        for each in programs:
            path = Path(root, each.removeprefix("/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\n", encoding="utf-8")
            path.chmod(0o755)
        (units / name).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                verifier,
                "verify",
                "--man=no",
                "--recursive-errors=yes",
                f"--root={root}",
                str(units / name),
            ],
            env={
                "SYSTEMD_LOG_COLOR": "0",
                "SYSTEMD_LOG_LEVEL": "warning",
                "PATH": os.environ["PATH"],
            },
            capture_output=True,
            check=False,
            timeout=60,
        )
    # Some complaints leave the exit code at 0.
    complaints = done.stderr.decode()
    return complaints or ("" if done.returncode == 0 else f"exit code {done.returncode}")
