"""Folders that services would share: on a host, and in `out/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.checks.neighbours.hosts import Host, Resident, Where, places, service_of
from compiler.diagnostics import Diagnostic, Label, error
from compiler.plan import Plan


def state_folders(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Each unit has one line of generations, in a folder of its own."""
    owners: dict[str, Resident] = {}
    for each in host.residents:
        owner = owners.setdefault(_folder(each), each)
        if owner.unit != each.unit:
            yield error(
                "state-dir-shared",
                f"two units of `{host.name}` keep their generations in one folder",
                **places(_label(owner, where), _label(each, where)),
                notes=("installing one would replace the files that the other runs from",),
                help=(
                    "give one of them another `state_dir`, or leave it out: the default is named by the unit",
                ),
                between=(owner.service, each.service),
            )


def unit_folders(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Alternatives are generations of one line, so that a host can go from one to the other and back."""
    firsts: dict[tuple[str, str], Resident] = {}
    for each in host.residents:
        first = firsts.setdefault(each.unit, each)
        if _folder(first) != _folder(each):
            yield error(
                "unit-clash",
                f"two profiles give the unit `{each.unit[1]}` on `{host.name}`, each with a folder of its own",
                **places(_label(first, where), _label(each, where)),
                notes=("from two folders neither can be rolled back to the other",),
                help=("give both the same `state_dir`, or one of them another `unit`",),
                between=(first.service, each.service),
            )


def out_folders(plans: Sequence[Plan], where: Where) -> Iterator[Diagnostic]:
    """The folder of a target is copied to its host as a whole, so nothing else may be written into it."""
    names = sorted({plan.profile_name for plan in plans})
    folders = {f"{plan.profile_name}/{plan.target_name}": plan for plan in plans}
    for name in names:
        parts = name.split("/")
        for length in range(2, len(parts) + 1):
            plan = folders.get("/".join(parts[:length]))
            if plan is not None:
                yield error(
                    "out-shared",
                    f"`{plan.profile_name}` on `{plan.target_name}` and the profile `{name}` share a folder of `out/`",
                    **places(
                        where(plan.profile_name).primary(
                            f"targets.{plan.target_name}.kind",
                            text=f"written to `out/{plan.profile_name}/{plan.target_name}/`",
                        ),
                        Label(where(name).document, f"written to `out/{name}/`"),
                    ),
                    notes=("the folder of a target is copied to its host as it is",),
                    help=("rename the target, or one of the profiles",),
                    between=tuple(
                        service_of(each)
                        for each in plans
                        if each is plan or each.profile_name == name
                    ),
                )


def _label(resident: Resident, where: Where) -> Label:
    target = f"targets.{resident.plan.target_name}"
    return where(resident.name).primary(
        f"{target}.state_dir",
        f"{target}.unit",
        "model.served_name",
        "model.id",
        text=f"`{resident.name}`: `{resident.unit[1]}.service` in `{_folder(resident)}`",
    )


def _folder(resident: Resident) -> str:
    service = resident.plan.service
    return service.state_dir.rstrip("/") if service else ""
