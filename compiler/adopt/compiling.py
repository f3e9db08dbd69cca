"""The text of an adopted profile goes in; what is left to say before it is compiled comes out, each with the line to add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.adopt.adopted import Adopted
from compiler.adopt.around import known_name
from compiler.adopt.diffusion import OF_ANOTHER_SERVER, is_diffusion
from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Launch
from compiler.adopt.launchfaults import entry_span
from compiler.adopt.leftopen import open_settings, still_errors
from compiler.adopt.proof import NAME, OneText
from compiler.adopt.target import DEFAULT_TARGET
from compiler.catalog import Catalog
from compiler.catalog.naming import model_names
from compiler.checks.outside import ABOUT_PROFILES
from compiler.diagnostics import Diagnostic
from compiler.engines.adopting import ChangeKind
from compiler.inputs import Inputs, resolve
from compiler.language.structure import structure_profile
from compiler.pipeline import judge_profile
from compiler.secrecy import quoted_without_secrets


NO_TARGET = f'add `[targets.HOST]` with `kind = "systemd"`, or adopt it with `--target {DEFAULT_TARGET.upper()}`'
"""How a profile is made deployable."""


def left_to_say(text: str, adopted: Adopted, catalog: Catalog) -> tuple[Change, ...]:
    """Every error that `compile` would give on the profile; without a target also those that it had with one.

    `text` has stand-ins for what the launch leaves open: what hangs on them is not said.
    """
    span = entry_span(adopted.launch)
    changes: list[Change] = []
    if not has_target(adopted):
        told = f"it has no target: its promise is not judged, and nothing is compiled of it; {NO_TARGET}"
        changes.append(Change(kind=ChangeKind.OPEN, text=told, span=span))
        text = f'{text}\n[targets.{DEFAULT_TARGET}]\nkind = "systemd"\n'
    changes += _as_root(adopted)
    changes += _spelled_otherwise(adopted, catalog)
    errors = list(still_errors(_judged(text, catalog), adopted))
    if is_diffusion(adopted.launch):
        # One word on another server, not one on each of its flags.
        kept = [each for each in errors if each.code not in OF_ANOTHER_SERVER]
        told = "`compile` refuses the flags of a server for images and video"
        changes += [Change(kind=ChangeKind.OPEN, text=told, span=span)] if kept != errors else []
        errors = kept
    places = dict(reversed(list(open_settings(adopted))))
    for told in reversed(places):
        changes.append(Change(kind=ChangeKind.OPEN, text=told, span=places[told]))
    told_once = dict.fromkeys(
        quoted_without_secrets(_said(each, adopted.launch), adopted.hidden) for each in errors
    )
    return (*changes, *(Change(kind=ChangeKind.OPEN, text=each, span=span) for each in told_once))


def _as_root(adopted: Adopted) -> Iterator[Change]:
    """A launch that no unit starts does not say who runs it; a unit's own lines say it."""
    profile = adopted.profile
    targets = profile.targets if profile is not None else {}
    command = adopted.launch.command
    is_unit = command.unit is not None and command.form is not Form.QUADLET
    if is_unit or any(each.user is not None or each.manager == "user" for each in targets.values()):
        return
    name = next(iter(targets), DEFAULT_TARGET.upper())
    text = f'it has no user, so that the unit that is written runs as root: set `user = "..."` under `[targets.{name}]`'
    yield Change(kind=ChangeKind.ASSUMED, text=text, span=entry_span(adopted.launch))


def _spelled_otherwise(adopted: Adopted, catalog: Catalog) -> Iterator[Change]:
    """A model that the catalogue spells in another way: the command is to stay the same, so that its name does."""
    if adopted.profile is None:
        return
    name = adopted.profile.model.id
    known = known_name(adopted.profile, names=model_names(catalog)).model.id
    if known != name:
        text = f"memory is not judged: the catalogue describes `{known}`, and the launch says `{name}`; set `model.id` to the former, which the hub takes, too"
        yield Change(kind=ChangeKind.OPEN, text=text, span=entry_span(adopted.launch))


def has_target(adopted: Adopted) -> bool:
    """Whether the profile is deployable."""
    return any(each.path[0] == "targets" for each in adopted.settings)


def _judged(text: str, catalog: Catalog) -> Iterator[Diagnostic]:
    inputs = Inputs(reader=OneText(text), catalog=catalog)
    resolved, found = resolve(NAME, inputs)
    yield from found
    if resolved is None:
        return
    profile, faults = structure_profile(resolved)
    yield from faults
    if profile is not None:
        # What a launch cannot say keeps no change of what it says from being offered.
        for each in judge_profile(NAME, profile, resolved.origins, inputs, left_out=ABOUT_PROFILES):
            yield from each.diagnostics


def _said(found: Diagnostic, launch: Launch) -> str:
    """One error as one line: what it is, and what mends it."""
    of_code: Mapping[str, str] = {"python-missing": _python(launch)}
    told = of_code.get(found.code) or "; ".join((found.summary, *_first(found)))
    return f"`compile` refuses it by `{found.code}`: {told}"


def _first(found: Diagnostic) -> Iterator[str]:
    """The first advice; of several changes, each with its figures, only where they are listed."""
    if not found.help:
        return
    first, *more = found.help[0].splitlines()
    yield "`poolproof check` of the profile lists the changes that mend it" if more else first


def _python(launch: Launch) -> str:
    program = launch.command.words[0]
    where = (
        f"`{program.text}` is the container's"
        if launch.command.image is not None
        else f"which Python `{program.text}` is depends on the path"
    )
    return f'{where}: set `engine.python` to the host\'s own, for instance `python = "/opt/{launch.engine}/bin/python"` under `[engine]`'
