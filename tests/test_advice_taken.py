"""Advice that is taken as it stands: what it says to set is the end of the matter, and leads to no other advice."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from compiler.diagnostics import Diagnostic
from deployments import check_text


_SET = re.compile(r"`(?P<setting>[a-z_.]+) = (?P<value>[^`]+)`")
_NAME = re.compile(r"let `gpus\.indices` name (?P<count>\d+) GPU")

PROFILE = """\
schema = 1
[model]
id = "Qwen/Qwen3-8B"
path = "/srv/models/Qwen3-8B"
[engine]
name = "sglang"
version = "0.5.23"
python = "/opt/sglang/bin/python"
{engine}
[gpus]
kind = "{gpu}"
count = {count}
{indices}
[parallel]
tensor = {tensor}
[serve]
context = 8192
[memory]
fraction = 0.8
{more}
[targets.a]
kind = "systemd"
user = "sglang"
"""


def profile(
    *,
    gpu: str = "h200",
    count: int = 1,
    tensor: int = 1,
    indices: list[int] | None = None,
    engine: str = "",
    more: str = "",
) -> str:
    """A small model on one large card."""
    named = f"indices = {indices}" if indices else ""
    return PROFILE.format(
        gpu=gpu, count=count, tensor=tensor, indices=named, engine=engine, more=more
    )


def found(tmp_path: Path, text: str, code: str) -> list[Diagnostic]:
    """The findings of a code."""
    checked = check_text(tmp_path / "profiles", text)
    return [each for each in checked.all_diagnostics if each.code == code]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("named", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("tensor", [1, 2, 4])
def test_gpus_that_do_not_agree(tmp_path: Path, tensor: int, named: int, count: int) -> None:
    """What the first finding says to set is enough, whichever of the count, the indices, and the layout is another one."""
    told: dict[str, Any] = {"tensor": tensor, "count": count, "indices": list(range(named))}
    before = found(tmp_path, profile(**told), "gpu-count")
    assert bool(before) == (count != tensor or named not in {0, count})
    if not before:
        return
    (advice,) = before[0].help
    told |= {
        each["setting"].removeprefix("gpus."): tomllib.loads(f"x = {each['value']}")["x"]
        for each in _SET.finditer(advice)
    }
    if longer := _NAME.search(advice):
        told["indices"] = list(range(int(longer["count"])))
    assert found(tmp_path, profile(**told), "gpu-count") == []
    assert told["tensor"] == tensor
