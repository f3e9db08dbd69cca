"""Numbers that mean nothing, which the engine's parser takes all the same."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.least import (
    ASSERTED,
    DIVISORS,
    LEAST,
    PORTS,
    SHARES,
    below,
    too_small,
)
from compiler.engines.sglang.ports import ports
from compiler.engines.sglang.rules.places import ASSERTS, at, refusal
from compiler.engines.sglang.settings import settings_of
from compiler.most import LAST_PORT
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


@rule("flag-value", flags=LEAST.keys() | SHARES)
def sizes_are_sizes(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A number of ranks, of tokens, or of slots below its least: no release counts with one."""
    given = given_by(plan)
    for name, value, expected in too_small(settings_of(plan.profile, plan.release).flags):
        because = f"expected {expected}; the parser takes it, and what the server then does cannot be told"
        yield _cannot_be(given, where, name, value, because=because, wanted=f"{expected}, {_OUT}")


@rule("flag-value", flags=ASSERTED)
def numbers_are_in_range(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A number that the server asserts before it starts anything."""
    given = given_by(plan)
    for name, (least, first) in ASSERTED.items():
        value = given.value(name)
        small = None if value is None else next(below(value, least), None)
        if small is None or not given.since(first):
            continue
        because = f"expected {least} or more; {ASSERTS}"
        yield _cannot_be(
            given, where, name, small, because=because, wanted=f"{least} or more, {_OUT}"
        )


@rule("flag-value", flags=DIVISORS)
def divisors_are_not_zero(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The server starts, and ends at work; whoever means "never" gives a number that is never reached."""
    given = given_by(plan)
    for name, (first, until, when) in DIVISORS.items():
        divides = given.since(first) and (until is None or not given.since(until))
        if given.whole(name) != 0 or not divides:
            continue
        because = f"the scheduler divides by it, and ends {when}"
        yield _cannot_be(given, where, name, 0, because=because, wanted=f"1 or more, {_OUT}")


@rule("flag-value", flags=PORTS)
def ports_are_ports(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The parser takes any whole number, and the server ends where it listens: for its own port once the model is loaded."""
    given = given_by(plan)
    for name in PORTS:
        port = given.whole(name)
        if port is None or 0 <= port <= LAST_PORT:
            continue
        because = f"no host has such a port: they end at {LAST_PORT:,}"
        yield _cannot_be(given, where, name, port, because=because, wanted="a port that is free")


@rule("flag-value")
def derived_ports_are_ports(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """What lies above the server's own port by a rule must be a port, too; from 0.5.13 on some are counted down instead."""
    given = given_by(plan)
    for use in ports(settings_of(plan.profile, plan.release)):
        if use.setting != _PORT or not use.certain or use.last <= LAST_PORT:
            continue
        most = plan.profile.serve.port - (use.last - LAST_PORT)
        yield refusal(
            given,
            "flag-value",
            f"`--port {plan.profile.serve.port}` leaves no ports for {use.what}: it takes {use.said.partition(',')[0]}",
            at(given, where, _PORT, text="counted up from here"),
            because=f"no host has such a port: they end at {LAST_PORT:,}",
            help=(f"set `{_PORT}` to {most} or less",),
        )


_PORT = "serve.port"
_OUT = "or leave it out"


def _cannot_be(
    given: Given, where: Origins, name: str, value: float, *, because: str, wanted: str
) -> Diagnostic:
    return refusal(
        given,
        "flag-value",
        f"`--{name}` cannot be {value:.12g}",
        at(given, where, name, text="this value"),
        because=because,
        help=(f"set `{name}` to {wanted}",),
    )
