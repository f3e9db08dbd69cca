"""The environment file of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.render.start import sorted_environment
from compiler.render.systemd import source
from compiler.render.templates import fill


if TYPE_CHECKING:
    from compiler.plan import Plan


def render_env_file(plan: Plan) -> str:
    """The text of `UNIT.env`: the variables, sorted; systemd, bash and dash read the same from it."""
    return fill("env.j2", source=source(plan), variables=sorted_environment(plan))
