"""Findings and their places, and how to be rid of a setting, for the rules of this engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, error, present, warning
from compiler.engines.sglang.given import Given
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.value import Value


STOPS = "the server refuses to start"
ASSERTS = "the server stops with a bare assertion at start"


def labels(where: Origins, **texts: str) -> tuple[Label, ...]:
    """A label at each of these settings that a file sets; `__` stands for the dot."""
    return present(
        *(where.label(setting.replace("__", "."), text) for setting, text in texts.items())
    )


def removal(plan: Plan, where: Origins, *settings: str) -> str:
    """How to be rid of settings: what the profile sets itself is removed, what it inherits is unset."""
    origins = {setting: where.find(setting) for setting in settings}
    inherited = [
        setting
        for setting, origin in origins.items()
        if origin is not None and origin.winner.profile != plan.profile_name
    ]
    own = [f"`{setting}`" for setting in settings if setting not in inherited]
    steps = [f"remove {' and '.join(own)}"] if own else []
    if inherited:
        steps.append(f"add `unset = {inherited}`".replace("'", '"'))
    return " and ".join(steps)


def line(given: Given, name: str) -> str:
    """A flag that is given, as the line of a profile that gives it; advice for a launch command turns it into the flag."""
    value = given.value(name)
    said = "true" if value is True else f'"{value}"' if isinstance(value, str) else f"{value}"
    return f"`{given.setting(name).removeprefix('flags.')} = {said}`"


@frozen(kw_only=True, eq=False, repr=False)
class Spot(Value):
    """Where a finding stands: the place to look at first, the others that contribute, and the setting concerned."""

    primary: Label
    secondary: tuple[Label, ...]
    path: str


def at(
    given: Given,
    where: Origins,
    *names: str,
    text: str,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> Spot:
    """The first of these flags or settings that is given, and those beside it, each with its text."""
    settings = tuple(given.setting(name) for name in names)
    others = (where.label(given.setting(name), said) for name, said in beside.items())
    return Spot(
        primary=where.primary(*settings, text=text),
        secondary=present(*others),
        path=given.setting(*names),
    )


def refusal(
    given: Given,
    code: str,
    summary: str,
    spot: Spot,
    *,
    because: str = STOPS,
    help: tuple[str, ...] = (),  # noqa: A002 - the word for it
) -> Diagnostic:
    """What the server refuses: an error, and a warning where this very release was not read."""
    make = warning if given.doubt else error
    return make(
        code,
        summary,
        spot.primary,
        secondary=spot.secondary,
        notes=(because, *((given.doubt,) if given.doubt else ())),
        help=help,
        path=spot.path,
    )


def caution(
    code: str,
    summary: str,
    spot: Spot,
    *,
    because: str,
    help: tuple[str, ...] = (),  # noqa: A002 - the word for it
) -> Diagnostic:
    """What the server takes, and does otherwise than it reads, or may do badly: a warning."""
    return warning(
        code,
        summary,
        spot.primary,
        secondary=spot.secondary,
        notes=(because,),
        help=help,
        path=spot.path,
    )
