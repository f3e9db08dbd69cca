"""The target: whether the host can run what the profile says."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import Duration
from compiler.rules import rule
from compiler.service import (
    GRAPHS_AND_WARMUP_S,
    READ_GB_PER_S,
    checkpoint_gb,
    default_start_timeout_s,
    expected_start_s,
)


_QUICKEST = 4
"""A start of 595 GB, which the estimate gives 15 minutes, took 4 to 15 of them in public reports."""
_MINUTE = 60


@rule("target-state-dir")
def user_unit_has_a_state_dir(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A user's manager cannot write to /var/lib, and the unit names its files by absolute path."""
    target = plan.target
    if target is None or target.manager == "system" or target.state_dir is not None:
        return
    setting = f"targets.{plan.target_name}"
    yield error(
        "target-state-dir",
        f"`{setting}` runs in a user's systemd, and needs a directory of its own for generations",
        where.primary(f"{setting}.manager", setting, text="a user's manager"),
        help=(
            f'set `{setting}.state_dir`, for instance to `"/home/NAME/.local/state/poolproof/{plan.service.unit if plan.service else "UNIT"}"`',
        ),
        path=f"{setting}.state_dir",
    )


@rule("target-user")
def user_unit_names_no_user(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A user's manager runs everything as that user."""
    target = plan.target
    if target is None or target.manager == "system" or target.user is None:
        return
    setting = f"targets.{plan.target_name}"
    yield error(
        "target-user",
        f"`{setting}` runs in a user's systemd, which cannot change to the user `{target.user}`",
        where.primary(f"{setting}.user", text="not possible there; the unit fails"),
        help=(f"unset `{setting}.user`", f'or set `{setting}.manager = "system"`'),
        path=f"{setting}.user",
    )


@rule("start-timeout-short")
def start_is_long_enough(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Who gives a start less than the quickest that is known ends every start, and the unit gives up."""
    target, model = plan.target, plan.model
    if target is None or target.start_timeout is None or model is None:
        return
    expected_s, given = expected_start_s(model), target.start_timeout
    if given.seconds >= expected_s / _QUICKEST:
        return
    setting = f"targets.{plan.target_name}.start_timeout"
    usual = Duration(default_start_timeout_s(model))
    yield warning(
        "start-timeout-short",
        f"a start may take {given}, and takes about {max(1, round(expected_s / _MINUTE))} min by estimate",
        where.primary(setting, text=f"{given} for a whole start"),
        notes=(
            f"{checkpoint_gb(model):,.0f} GB to read at {READ_GB_PER_S:g} GB/s, and {Duration(GRAPHS_AND_WARMUP_S)} for graphs and warm-up",
            "the quickest public starts took a quarter of such an estimate",
            f"the probe ends a server that is not ready by then, and after {target.restarts} of such starts the unit gives up",
        ),
        help=(f'set `{setting} = "{usual}"`, or leave it out, which gives the same',),
        path=setting,
    )


@rule("python-missing")
def engine_has_a_python(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A bare name is looked up in a fixed path of systemd, which seldom holds the engine."""
    if plan.target is None or plan.profile.engine.python is not None:
        return
    yield error(
        "python-missing",
        "a deployable profile must say which Python has the engine installed",
        where.primary(
            "engine.name", f"targets.{plan.target_name}", text="started by which Python?"
        ),
        help=(
            f'set `engine.python`, for instance to `"/opt/{plan.profile.engine.name}/bin/python"`',
        ),
        path="engine.python",
    )
