"""A pasted command goes in; the launch in it and the release that reads it come out, found as `adopt` finds them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from attrs import evolve

from compiler.adopt.choice import Shelf, choose
from compiler.adopt.launch import Command
from compiler.adopt.launchfaults import IS_RELATIVE
from compiler.adopt.reading import read_words
from compiler.adopt.release import other_than_image
from compiler.adopt.strange import IS_STRANGE
from compiler.catalog import Catalog
from compiler.cli.launchfiles import files_here, is_whole_command, one_word
from compiler.cli.plaincommand import Said
from compiler.diagnostics import Diagnostic, error, listed
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES
from compiler.visibledevices import VISIBLE, shown_by


def read_pasted(
    words: Sequence[str], catalog: Catalog, *, engine: tuple[str, str] | None
) -> Said | tuple[Diagnostic, ...]:
    """What a command says; what is wrong when it starts no engine.

    Errors: `command-refused`, `release-unknown`, `reader-missing`, and those of `adopt` about what cannot be read.
    """
    read = read_words(words, files=files_here())
    launch = read.launch
    if launch is None:
        others = tuple(map(_without_options, read.diagnostics))
        is_missing = all(each.code == "launch-missing" for each in others if each.is_error)
        return (_starts_nothing(words, others),) if is_missing else others
    version, assumed = (engine[1] if engine is not None else ""), list[str]()
    shelf = Shelf(catalog=catalog)
    if engine is None:
        chosen, faults = choose(launch, shelf, version=None, newest=False)
        if chosen is None:
            return faults
        version = chosen.version
        assumed += (each.text for each in chosen.changes if each.kind is ChangeKind.ASSUMED)
    elif engine[0] == launch.engine and (
        said := other_than_image(launch, catalog.versions(launch.engine), version=version)
    ):
        assumed.append(said.text)
    command = launch.command
    assumed += (each.text for each in command.changes if each.kind is ChangeKind.UNKNOWN)
    variables = (
        f"{name}={word.text}" for name, word in command.environment.items() if not word.unknown
    )
    return Said(
        launch=launch,
        engine=launch.engine,
        words=(*variables, *(word.text for word in command.words)),
        version=version,
        sees=_sees(command, (VISIBLE,)),
        sees_of_amd=_sees(command, (VISIBLE, *_VISIBLE_OF_AMD)),
        of_slice=_names_slice(command),
        assumed=tuple(assumed),
        hidden=read.hidden,
    )


def _without_options(found: Diagnostic) -> Diagnostic:
    """A finding without its places, and without the options of `adopt` that choose among launches or fill them in."""
    advice = tuple(each for each in found.help if "`--line " not in each and "`--var " not in each)
    return evolve(found, primary=None, secondary=(), help=advice)


def _starts_nothing(words: Sequence[str], others: Sequence[Diagnostic]) -> Diagnostic:
    """`command-refused`, for what starts no engine that is described."""
    told = (IS_RELATIVE, IS_STRANGE)
    relative = next((each for each in others if each.summary.endswith(told)), None)
    if relative is not None:
        return error("command-refused", relative.summary, notes=relative.notes, help=relative.help)
    if len(words) == 1 and is_whole_command(words[0]):
        return one_word("command-refused", start="--")
    known = [f"`{each}`" for engine in ENGINES.values() for each in engine.launches]
    shown = shlex.join(words[: 3 if list(words[1:2]) == ["-m"] else 2])
    return error(
        "command-refused",
        f"`{shown}` starts no engine that is described",
        notes=(f"described are {listed(known)}",),
        help=("a file with a launch in it is judged by `poolproof adopt --check FILE`",)
        if len(words) == 1 and PurePosixPath(words[0]).suffix
        else (),
    )


_VISIBLE_OF_AMD = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""What ROCm counts beside: each leaves some of those that the others do (ROCm documentation, "GPU isolation techniques")."""


def _sees(command: Command, variables: Sequence[str]) -> int | None:
    """The GPUs that variables and the container leave it."""
    given = (command.environment.get(name) for name in variables)
    counts = [len(shown_by(each.text).gpus) for each in given if each and not each.unknown]
    if command.devices is not None:
        number = command.devices.count
        counts += [len(command.devices.indices)] if command.devices.indices else []
        counts += [number] if number is not None else []
    return min(counts, default=None)


def _names_slice(command: Command) -> bool:
    """Whether it is shown a slice of a GPU."""
    given = command.environment.get(VISIBLE)
    named = () if given is None or given.unknown else shown_by(given.text).gpus
    return any(each.startswith("MIG-") for each in named)
