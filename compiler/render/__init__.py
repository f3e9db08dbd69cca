"""A plan in, the files of its target out. Encoders own quoting, templates own layout; `proof` reads the result back."""

from __future__ import annotations

from attrs import frozen

from compiler.plan import PROBE, Plan
from compiler.render.envfile import render_env_file
from compiler.render.script import render_script
from compiler.render.systemd import render_unit
from compiler.render.templates import verbatim
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class RenderedFile(Value):
    """One file to write; the path is relative to the target's folder."""

    path: str
    text: str
    executable: bool = False


def render_target(plan: Plan) -> tuple[RenderedFile, ...]:
    """The unit, its environment file if it has variables, the launch script, and the probe of its engine.

    Raises:
        Unrepresentable: when a value has no spelling where it must stand; checks refuse such values before.
        ValueError: when the plan is for no target, or nobody knows how its engine is started.
    """
    service = plan.service
    if service is None:
        raise ValueError(f"the plan of {plan.profile_name} has no target to render for")
    files = [RenderedFile(path=f"{service.unit}.service", text=render_unit(plan, service=service))]
    if plan.environment:
        files.append(RenderedFile(path=f"{service.unit}.env", text=render_env_file(plan)))
    files.append(RenderedFile(path="launch.sh", text=render_script(plan), executable=True))
    if plan.probe is not None:
        files.append(RenderedFile(path=PROBE, text=verbatim(plan.probe)))
    return tuple(files)
