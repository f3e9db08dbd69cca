"""Whether every value can be written where it must stand: systemd and shells have texts they cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quoting.encoders import Place, refusal
from compiler.rules import rule


@rule("unrepresentable")
def writable(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each text with the place it goes to; refused here, with its place, rather than while rendering."""
    if plan.target is None:
        return
    for setting, text, place in _texts(plan):
        fault = refusal(text, place=place)
        if fault is not None:
            yield error(
                "unrepresentable",
                f"`{setting}` cannot be written as {place}: it {fault}",
                where.primary(setting, text="this value"),
                notes=("a unit, an environment file, or a shell would read something else",),
                path=setting,
            )


def _texts(plan: Plan) -> Iterator[tuple[str, str, Place]]:
    if plan.command:
        yield "engine.python", plan.command[0], Place.PROGRAM
    for option in plan.options:
        for word in (option.flag, *option.values):
            yield option.setting, word, Place.WORD
    for variable in plan.environment:
        yield variable.setting, variable.name, Place.VARIABLE_NAME
        yield variable.setting, f"{variable.name}={variable.value}", Place.VARIABLE
    profile = plan.profile
    yield (
        "description",
        profile.description or profile.model.served_name or profile.model.id,
        Place.TEXT,
    )
    if plan.service is not None:
        setting = f"targets.{plan.target_name}.state_dir"
        yield setting, plan.service.installed("ready.py"), Place.WORD
        yield setting, plan.service.installed(f"{plan.service.unit}.env"), Place.ENVIRONMENT_FILE
