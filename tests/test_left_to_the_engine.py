"""What a profile leaves to the engine: no flag is written, and the plan works out what the engine will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.judged import Checked
from compiler.profile import AUTO
from compiler.render.start import probe_command
from deployments import check_text, memory_of, only_plan


PROFILE = """\
schema = 1
[model]
id = "{model}"
path = "/srv/m/"
[gpus]
kind = "h200"
count = 1
[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/v/bin/python"
[serve]
context = "auto"
[memory]
fraction = "auto"
[targets.here]
kind = "systemd"
"""
KNOWN = PROFILE.format(model="Qwen/Qwen3-8B")


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """An empty tree's folder."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    return folder


def argv_of(checked: Checked) -> str:
    return " ".join(only_plan(checked).argv)


def test_no_flag_is_written(profiles: Path) -> None:
    """Neither of the context nor of the fraction; the path keeps its spelling, which clients may see."""
    argv = argv_of(check_text(profiles, KNOWN))
    assert "--context-length" not in argv
    assert "--mem-fraction-static" not in argv
    assert "--model-path /srv/m/ " in argv


def test_the_plan_works_both_out(profiles: Path) -> None:
    """The model's own context is promised at the fraction that the release picks, as `predict` says of the bare command."""
    checked = check_text(profiles, KNOWN)
    plan, memory = only_plan(checked), memory_of(checked)
    assert plan.model is not None
    assert plan.profile.serve.tokens == plan.model.context
    assert memory.fraction == 0.903
    assert plan.required_tokens == memory.pool.required_tokens
    assert any("it picks 0.903" in each for each in plan.assumptions)


def test_numbers_win(profiles: Path) -> None:
    """The same profile with the numbers that were worked out has the same memory."""
    told = KNOWN.replace('context = "auto"', "context = 40_960").replace(
        'fraction = "auto"', "fraction = 0.903"
    )
    left, right = memory_of(check_text(profiles, KNOWN)), memory_of(check_text(profiles, told))
    assert left.pool.tokens == right.pool.tokens
    assert left.pool.required_tokens == right.pool.required_tokens


def test_an_unknown_model_promises_nothing(profiles: Path) -> None:
    """Nobody knows its context: no slots are required, and the probe compares none."""
    plan = only_plan(check_text(profiles, PROFILE.format(model="nobody/knows")))
    assert plan.profile.serve.context == AUTO
    assert plan.required_tokens is None
    assert plan.service is not None
    probe = probe_command(plan, service=plan.service)
    assert probe is not None
    assert "--required-tokens" not in probe.argv
