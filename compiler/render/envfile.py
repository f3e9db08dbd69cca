"""The environment file of a plan."""

from __future__ import annotations

from compiler.plan import Plan
from compiler.render.start import sorted_environment
from compiler.render.systemd import source
from compiler.render.templates import fill


def render_env_file(plan: Plan) -> str:
    """The text of `UNIT.env`: the variables, sorted; systemd, bash and dash read the same from it."""
    return fill("env.j2", **env_file_values(plan))


def env_file_values(plan: Plan) -> dict[str, object]:
    """What the template of the file prints."""
    return {"source": source(plan), "variables": sorted_environment(plan)}
