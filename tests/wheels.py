"""Wheels of the engine for the slow tests: fetched with pip, unpacked, and asked through `wheel_judge.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


JUDGE = Path(__file__).parent / "wheel_judge.py"
# What the engine's declarations import and cannot do without.
NEEDED = ("msgspec", "pyyaml", "orjson")
_TIMEOUT = 600


def fetch_wheel(version: str, folder: Path) -> Path:
    """The wheel of a release; the test is skipped where pip cannot get it."""
    _pip(
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version=3.11",
        "--platform=manylinux_2_34_x86_64",
        f"--dest={folder}",
        f"sglang=={version}",
    )
    return next(folder.glob(f"sglang-{version}-*.whl"))


def install_needed(folder: Path) -> None:
    """Put what the judge needs beside the engine."""
    _pip("install", "--no-deps", "--only-binary=:all:", f"--target={folder}", *NEEDED)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        pytest.skip(f"pip cannot get {arguments[-1]}: {said[-1] if said else 'no reason given'}")


def unpack(wheel: Path, folder: Path) -> None:
    """The Python files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [each for each in archive.namelist() if each.endswith((".py", "METADATA"))]
        archive.extractall(folder, names)


def ask(
    folder: Path, requests: Iterable[Mapping[str, object]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The actions of the engine's parser, and its answer to each request."""
    asked = "".join(f"{json.dumps(each)}\n" for each in requests)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(JUDGE), str(folder)],
        input=asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    actions, *answers = (json.loads(line) for line in done.stdout.splitlines())
    return actions, answers


def plain(values: Mapping[str, object]) -> object:
    """Values as they come out of JSON, which is how the judge tells them."""
    told: object = json.loads(json.dumps(dict(values), default=str))
    return told


def commands(path: Path) -> Sequence[dict[str, Any]]:
    """The public launch commands; what their keys mean is told in `data/README.md`."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
