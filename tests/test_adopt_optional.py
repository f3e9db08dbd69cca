"""Files of variables that a launch may have and that are not here: each is said, and none is taken to be empty in silence."""

from __future__ import annotations

import pytest

from compiler.engines.adopting import ChangeKind
from launching import SERVER, outcome, read_text


RUN = f"{SERVER} --model-path /m/a --context-length 4096"
UNIT = f"[Service]\nEnvironmentFile=-/etc/default/sglang\nExecStart=/v/bin/{RUN} $MORE\n"
COMPOSE = f"""\
services:
  llm:
    image: lmsysorg/sglang:v0.5.11
    env_file:
      - path: more.env
        required: false
    command: {RUN}
"""
QUADLET = f"""\
[Container]
Image=lmsysorg/sglang:v0.5.11
Exec={RUN}
[Service]
EnvironmentFile=-/etc/default/podman
"""
OPTIONAL = {
    "unit": ("s/a.service", UNIT, "/etc/default/sglang", "s/sglang"),
    "compose": ("s/compose.yaml", COMPOSE, "more.env", "s/more.env"),
    "quadlet": ("s/a.container", QUADLET, "/etc/default/podman", "s/podman"),
}


@pytest.mark.parametrize("way", OPTIONAL)
def test_a_file_that_may_be_missing_is_said(way: str) -> None:
    """What it sets is not known, what is compiled does not load it, and a copy at the place that is named is read."""
    name, text, path, copy = OPTIONAL[way]
    told = outcome(read_text(text, name=name)).changes(ChangeKind.UNKNOWN)
    (said,) = (each for each in told if f"`{path}`" in each)
    assert "does not load it" in said
    assert f"put a copy at `{copy}`" in said
    files = {copy: "NCCL_DEBUG=INFO\nMORE=--tp 2\n"}
    there = outcome(read_text(text, name=name, files=files))
    assert not [each for each in there.changes(ChangeKind.UNKNOWN) if f"`{path}`" in each]


def test_what_a_file_that_may_be_missing_sets_is_open() -> None:
    """A variable of a unit's command line that no file here sets may be set by it."""
    adopted = outcome(read_text(UNIT, name="a.service")).adopted
    assert adopted is not None
    assert [each.flag for each in adopted.chosen.reading.open] == ["$MORE"]


TAKEN_OVER = {
    "Makefile": ("-include .env\nsinclude more.mk\nexport A := 1\n", 2),
    "justfile": ("import? 'more.just'\nset dotenv-load\nset dotenv-required := false\n", 2),
}


@pytest.mark.parametrize("name", TAKEN_OVER)
def test_a_file_that_another_takes_over_is_said(name: str) -> None:
    """Each line that names one is told of with its place, whether the file must be there or not."""
    front, count = TAKEN_OVER[name]
    told = outcome(read_text(f"{front}serve:\n\t{RUN}\n", name=name)).changes(ChangeKind.UNKNOWN)
    several = [each for each in told if "that file is not read" in each]
    assert [each.partition(":")[0] for each in several] == [str(n) for n in range(1, count + 1)]
