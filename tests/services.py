"""Services of the private host: a plan made by hand whose engine is `systemd/server.py`, rendered as any other plan is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import evolve

from compiler.plan import Option, Plan, Variable
from compiler.profile import HostPath, Name, Secrets, Text
from compiler.render import render_target
from hosts import USER, PrivateHost
from plans import story_plan, story_profile, story_target


SERVER = Path(__file__).parent / "systemd/server.py"


def server_plan(
    unit: str,
    *flags: str,
    required: int | None = 1000,
    environment: Mapping[str, str] | None = None,
    user: str | None = USER,
    start_s: int = 10,
    restarts: int = 3,
    manager: Literal["system", "user"] = "system",
) -> Plan:
    """A plan that runs the server with these flags; its start limit counts as a real one, in short times."""
    base = story_plan()
    assert base.service is not None
    times = (start_s + 2, 1, 0)
    home = "/var/lib/home/poolproof" if manager == "user" else "/var/lib/poolproof"
    service = evolve(
        base.service,
        unit=unit,
        state_dir=f"{home}/{unit}",
        start_timeout_s=start_s,
        unit_start_timeout_s=times[0],
        stop_timeout_s=times[1],
        restart_delay_s=times[2],
        restarts=restarts,
        start_limit_interval_s=(restarts + 1) * sum(times),
    )
    profile = evolve(
        story_profile(),
        description=Text(f"A test of {unit}"),
        engine=evolve(story_profile().engine, python=HostPath(sys.executable)),
        gpus=evolve(story_profile().gpus, count=1),
        secrets=Secrets(),
    )
    return evolve(
        base,
        profile=profile,
        service=service,
        target=evolve(story_target(), user=None if user is None else Name(user), manager=manager),
        command=(sys.executable, str(SERVER)),
        options=_options(flags),
        environment=tuple(
            Variable(name=name, value=value, setting=f"env.{name}")
            for name, value in (environment or {}).items()
        ),
        required_tokens=required,
    )


def _options(flags: tuple[str, ...]) -> tuple[Option, ...]:
    return tuple(
        Option(flag=flag, values=tuple(value.split()), setting="flags.x")
        for flag, _, value in (each.partition(" ") for each in flags)
    )


def install(host: PrivateHost, plan: Plan) -> str:
    """Put a plan's files where its unit looks for them, through `current` as a switch does, and link the unit.

    The name of the unit.
    """
    service, target = plan.service, plan.target
    assert service is not None
    assert target is not None
    state = host.folder / "lib" / Path(service.state_dir).relative_to("/var/lib")
    number = len(list(state.glob("gen-*"))) + 1
    generation = state / f"gen-{number}"
    generation.mkdir(parents=True)
    for file in render_target(plan):
        (generation / file.path).write_text(file.text, "utf-8")
        (generation / file.path).chmod(0o755 if file.executable else 0o644)
    (state / ".current").symlink_to(generation.name)
    (state / ".current").replace(state / "current")
    name = f"{service.unit}.service"
    link = host.units(user=target.manager == "user") / name
    link.unlink(missing_ok=True)
    link.symlink_to(f"{service.state_dir}/current/{name}")
    host.systemctl("daemon-reload", user=target.manager == "user")
    return name
