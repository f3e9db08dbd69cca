"""How a plan's engine is started and probed: the one place that knows it runs natively, and not in a container."""

from __future__ import annotations

from attrs import frozen

from compiler.listening import reached_at
from compiler.plan import PROBE, Plan, Service, Variable
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Part(Value):
    """Words of a command that stand on one line, and why, where that is not obvious."""

    words: tuple[str, ...]
    why: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class CommandLine(Value):
    """A command as it is laid out: the program and what belongs to it, then an option a line."""

    program: Part
    options: tuple[Part, ...]

    @property
    def argv(self) -> tuple[str, ...]:
        """All its words."""
        return (*self.program.words, *(word for part in self.options for word in part.words))


def engine_command(plan: Plan) -> CommandLine:
    """What runs the engine, on the host itself.

    Raises:
        ValueError: when nobody knows how this engine is started; a check has refused such a plan before.
    """
    if not plan.command:
        raise ValueError(f"the plan of {plan.profile_name} has no command")
    return CommandLine(
        program=Part(words=plan.command),
        options=tuple(Part(words=(each.flag, *each.values), why=each.why) for each in plan.options),
    )


def probe_command(plan: Plan, *, service: Service) -> CommandLine | None:
    """What waits until the engine is ready and holds its pool against the promise; see `Engine.probe`.

    `None` for an engine that has none: systemd takes its server for started as soon as it runs.
    """
    if plan.probe is None:
        return None
    python = plan.profile.engine.python or plan.command[0]
    options = [("--url", probe_url(plan.profile.serve.host, port=plan.profile.serve.port))]
    if plan.required_tokens is not None and plan.untold is None:
        options.append(("--required-tokens", str(plan.required_tokens)))
    options.append(("--timeout", str(service.start_timeout_s)))
    if plan.profile.secrets.api_key is not None:
        options.append(("--secret", plan.profile.secrets.api_key.file))
    return CommandLine(
        program=Part(words=(python, service.installed(PROBE))),
        options=tuple(Part(words=words) for words in options),
    )


def probe_url(host: str, *, port: int) -> str:
    """Where the host itself reaches a server that listens on `host`."""
    at = reached_at(host)
    return f"http://[{at}]:{port}" if ":" in at else f"http://{at}:{port}"


def sorted_environment(plan: Plan) -> tuple[Variable, ...]:
    """The engine's variables in the order of their names, so that adding one is one line of a diff."""
    return tuple(sorted(plan.environment, key=lambda each: each.name))
