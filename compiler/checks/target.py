"""The target: whether the host can run what the profile says."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


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
