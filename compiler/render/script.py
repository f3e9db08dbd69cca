"""The launch script of a plan."""

from __future__ import annotations

from compiler.plan import Plan
from compiler.render.start import engine_command, sorted_environment
from compiler.render.systemd import source, unit_user
from compiler.render.templates import fill


def render_script(plan: Plan) -> str:
    """The text of `launch.sh`: the unit's words and variables, for a person to run in the foreground."""
    return fill("launch.sh.j2", **script_values(plan))


def script_values(plan: Plan) -> dict[str, object]:
    """What the template of the script prints."""
    return {
        "source": source(plan),
        "user": unit_user(plan),
        "variables": sorted_environment(plan),
        "start": engine_command(plan),
    }
