"""Limits that a launch is given: what the unit has anyhow is not said to be dropped, and anything else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import run


SERVE = "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --port 30000"
COMPOSE = """\
services:
  q:
    image: lmsysorg/sglang:v0.5.16
    ulimits:
      {limits}
    command: {serve}
"""


@pytest.mark.parametrize(
    ("limit", "dropped"),
    [
        ("-n 65536", False),
        ("-n 4096", False),
        ("-Hn 65536", False),
        ("-l unlimited", False),
        ("-n 1048576", True),
        ("-n unlimited", True),
        ("-c 0", True),
        ("-s 8192", True),
    ],
)
def test_a_limit_of_a_script(tmp_path: Path, limit: str, *, dropped: bool) -> None:
    """`ulimit` for as many files as the unit may open, or for locked memory, is in the unit; a higher one is not."""
    (tmp_path / "run.sh").write_text(f"#!/bin/bash\nulimit {limit}\nexec {SERVE}\n")
    done = run("adopt", "run.sh", "--gpu", "h100", here=tmp_path)
    assert ("`ulimit`" in done.err) is dropped


@pytest.mark.parametrize(
    ("limit", "dropped"),
    [
        ("nofile=65536:65536", False),
        ("memlock=-1", False),
        ("nofile=1048576", True),
        ("stack=67108864", True),
    ],
)
def test_a_limit_of_a_container(tmp_path: Path, limit: str, *, dropped: bool) -> None:
    """The same of what a container is given on its command line."""
    (tmp_path / "run.sh").write_text(
        f"docker run --gpus all --ulimit {limit} lmsysorg/sglang:v0.5.16 {SERVE}\n"
    )
    done = run("adopt", "run.sh", "--gpu", "h100", here=tmp_path)
    assert ("--ulimit" in done.err) is dropped


@pytest.mark.parametrize(
    ("limits", "dropped"),
    [
        ("nofile: {soft: 65536, hard: 65536}\n      memlock: -1", False),
        ("nofile: 65536", False),
        ("nofile: {soft: 65536, hard: 1048576}", True),
        ("memlock: -1\n      stack: 67108864", True),
    ],
)
def test_a_limit_of_a_compose_file(tmp_path: Path, limits: str, *, dropped: bool) -> None:
    """The same of a compose file's table: it is told as a whole where any of it is not in the unit."""
    (tmp_path / "compose.yaml").write_text(COMPOSE.format(limits=limits, serve=SERVE))
    done = run("adopt", "compose.yaml", "--gpu", "h100", here=tmp_path)
    assert ("ulimits" in done.err) is dropped


def test_the_limit_is_that_of_the_unit() -> None:
    """The number that is compared with is the one that units are written with."""
    from compiler.adopt.limits import UNIT_FILES  # noqa: PLC0415 - beside what it is held against

    template = Path(__file__).parents[1] / "templates" / "service.j2"
    assert f"LimitNOFILE={UNIT_FILES}" in template.read_text("utf-8")
