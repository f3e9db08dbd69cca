"""The systemd unit of a plan."""

from __future__ import annotations

from compiler.language.load import file_of
from compiler.plan import Plan, Service
from compiler.quantities import Duration
from compiler.render.start import engine_command, probe_command
from compiler.render.templates import fill


def render_unit(plan: Plan, *, service: Service) -> str:
    """The text of `UNIT.service`; times and names are worked out in the plan, the layout is in the template."""
    return fill("service.j2", **unit_values(plan, service=service))


def unit_values(plan: Plan, *, service: Service) -> dict[str, object]:
    """What the template of the unit prints."""
    is_user_unit = plan.target is not None and plan.target.manager == "user"
    return {
        "source": source(plan),
        "description": plan.title,
        # A user's manager has no targets of the system's to wait for.
        "waits_for_network": not is_user_unit,
        "start_limit_interval": _seconds(service.start_limit_interval_s),
        "restarts": str(service.restarts),
        "user": unit_user(plan),
        "environment_file": environment_file(plan, service=service),
        "start": engine_command(plan),
        "probe": probe_command(plan, service=service),
        "untold": plan.untold,
        "start_timeout": _seconds(service.unit_start_timeout_s),
        "stop_timeout": _seconds(service.stop_timeout_s),
        "restart_delay": _seconds(service.restart_delay_s),
        "wanted_by": "default.target" if is_user_unit else "multi-user.target",
    }


def source(plan: Plan) -> str:
    """The file that a reader of the generated text should edit, from the tree's root."""
    return file_of(plan.profile_name)


def unit_user(plan: Plan) -> str | None:
    """Who runs the service; `None` for the manager's own user."""
    if plan.target is None or plan.target.manager == "user":
        return None
    return plan.target.user


def environment_file(plan: Plan, *, service: Service) -> str | None:
    """Where the unit finds its variables; `None` when it has none."""
    return service.installed(f"{service.unit}.env") if plan.environment else None


def _seconds(seconds: int) -> str:
    return str(Duration(seconds))
