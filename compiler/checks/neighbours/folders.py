"""Folders that services would share: on a host, and in `out/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from compiler.checks.neighbours.hosts import Host, Where, places
from compiler.diagnostics import Diagnostic, Label, error
from compiler.plan import Plan


def state_folders(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Each unit has one line of generations, in a folder of its own."""
    for one, other in host.neighbours():
        if _folder(one) == _folder(other):
            shown: dict[str, Any] = places(_label(one, where), _label(other, where))
            yield error(
                "state-dir-shared",
                f"two units of `{host.name}` keep their generations in one folder",
                **shown,
                notes=("installing one would replace the files that the other runs from",),
                help=(
                    "give one of them another `state_dir`, or leave it out: the default is named by the unit",
                ),
            )


def unit_folders(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Alternatives are generations of one line, so that a host can go from one to the other and back."""
    for unit in host.units:
        for one, other in combinations(unit, 2):
            if _folder(one) != _folder(other):
                shown: dict[str, Any] = places(_label(one, where), _label(other, where))
                yield error(
                    "unit-clash",
                    f"two profiles give the unit `{_unit(one)}` on `{host.name}`, each with a folder of its own",
                    **shown,
                    notes=("from two folders neither can be rolled back to the other",),
                    help=("give both the same `state_dir`, or one of them another `unit`",),
                )


def out_folders(plans: Sequence[Plan], where: Where) -> Iterator[Diagnostic]:
    """The folder of a target is copied to its host as a whole, so nothing else may be written into it."""
    names = sorted({plan.profile_name for plan in plans})
    for plan in plans:
        folder = f"{plan.profile_name}/{plan.target_name}"
        for name in names:
            if name == folder or name.startswith(f"{folder}/"):
                shown: dict[str, Any] = places(
                    where(plan.profile_name).primary(
                        f"targets.{plan.target_name}.kind", text=f"written to `out/{folder}/`"
                    ),
                    Label(where(name).document, f"written to `out/{name}/`"),
                )
                yield error(
                    "out-shared",
                    f"`{plan.profile_name}` on `{plan.target_name}` and the profile `{name}` share a folder of `out/`",
                    **shown,
                    notes=("the folder of a target is copied to its host as it is",),
                    help=("rename the target, or one of the profiles",),
                )


def _label(plan: Plan, where: Where) -> Label:
    target = f"targets.{plan.target_name}"
    return where(plan.profile_name).primary(
        f"{target}.state_dir",
        f"{target}.unit",
        "model.served_name",
        "model.id",
        text=f"`{plan.profile_name}`: `{_unit(plan)}.service` in `{_folder(plan)}`",
    )


def _unit(plan: Plan) -> str:
    return plan.service.unit if plan.service else ""


def _folder(plan: Plan) -> str:
    return plan.service.state_dir.rstrip("/") if plan.service else ""
