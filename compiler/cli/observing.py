"""What `measure` and `verify` share: the options that say which server is meant and which plan, and how both talk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from compiler.cli import completing
from compiler.cli.session import find_tree
from compiler.diagnostics import Diagnostic, error, printable
from compiler.host.asked import MeantServer
from compiler.host.httpget import Address, parse_address
from compiler.host.promised import Promised, installed_plan, read_promised
from compiler.host.units import Scope
from compiler.workspace import OUT
from compiler.writtenplan import PLAN


def _address(_: click.Context, option: click.Parameter, value: str | None) -> Address | None:
    address = None if value is None else parse_address(value)
    if value is not None and address is None:
        raise click.BadParameter(
            "expected `http://HOST:PORT`, without a login or a query", param=option
        )
    return address


def _unit(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and (not value or value.startswith("-") or not value.isprintable()):
        raise click.BadParameter("expected the name of a unit", param=option)
    return value


Decorator = Callable[[Callable[..., int]], Callable[..., int]]

_FILE = click.Path(path_type=Path, dir_okay=False)
_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--unit",
        callback=_unit,
        metavar="UNIT",
        shell_complete=completing.units,
        help="A service of systemd, by its name: its endpoints and its journal.",
    ),
    click.option(
        "--user",
        is_flag=True,
        help="With --unit: it is one of your own manager, `systemctl --user`.",
    ),
    click.option(
        "--url", callback=_address, metavar="URL", help="A server that runs, as http://HOST:PORT."
    ),
    click.option(
        "--log",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What a start logged; `-` for stdin.",
    ),
    click.option(
        "--secret", type=_FILE, metavar="FILE", help="A YAML with `api-key:`, if not the plan's."
    ),
    click.option(
        "--plan",
        type=_FILE,
        metavar="FILE",
        help="The plan.json of the server, else that of its unit.",
    ),
    click.option(
        "--profile",
        metavar="NAME",
        shell_complete=completing.plans,
        help="Its plan by name: out/NAME/plan.json.",
    ),
    click.argument("stream", required=False, metavar="[-]"),
)


def of_a_server(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of a server; what they come to is its `asked`, and its plan `promised`."""

    @wraps(command)
    def meant(*, plan: Path | None, profile: str | None, **given: Any) -> int:  # noqa: ANN401 - click's own
        asked = _read_asked(**{name: given.pop(name) for name in _SAYS_WHICH})
        promised = _find_plan(asked, plan=plan, profile=profile)
        return command(asked=asked, promised=promised, **given)

    decorated: Callable[..., int] = meant
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_SAYS_WHICH = ("unit", "user", "url", "log", "secret", "stream")


def _read_asked(
    *,
    unit: str | None,
    user: bool,
    url: Address | None,
    log: Path | None,
    secret: Path | None,
    stream: str | None,
) -> MeantServer:
    """The server that is meant. Raises `click.UsageError` unless it is exactly one."""
    if stream is not None:
        if stream != "-" or log is not None:
            raise click.UsageError("expected `-` for standard input, or `--log FILE`")
        log = Path("-")
    if sum(each is not None for each in (unit, url, log)) != 1:
        raise click.UsageError("say which server: one of --unit, --url, --log, and `-`")
    if user and unit is None:
        raise click.UsageError("--user goes with --unit")
    scope = Scope.USER if user else Scope.SYSTEM
    return MeantServer(unit=unit, url=url, log=log, scope=scope, secret=secret)


def _find_plan(
    asked: MeantServer, *, plan: Path | None, profile: str | None
) -> Promised | Diagnostic | None:
    """The plan that is meant: the one that was named, else that of the unit; `None` where there is none to look for."""
    if plan is not None and profile is not None:
        raise click.UsageError("--plan and --profile name two plans")
    if profile is not None:
        found = find_tree(())
        if found.workspace is None:
            return found.diagnostics[0]
        plan = found.workspace.out / profile.removeprefix(f"{OUT}/") / PLAN
    if plan is None and asked.unit is not None:
        installed = installed_plan(asked.unit, scope=asked.scope)
        if isinstance(installed, Diagnostic):
            return installed
        plan = installed
    return None if plan is None else read_promised(plan)


def no_such_engine(name: str) -> Diagnostic:
    """The finding for a plan of an engine that nobody taught us to observe."""
    return error("engine-unknown", f"nobody described what a server of `{name}` says of itself")


def say(notes: Sequence[str]) -> None:
    """Print what is to be said beside the result, on stderr."""
    for each in notes:
        click.echo(f"note: {printable(each)}", err=True)
