"""Where a new service goes: an empty folder, or a tree that has services already, beside which it is judged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from compiler import __version__
from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.checks.neighbours.hosts import Resident, hosts_of
from compiler.checks.neighbours.interpreters import has_other_release
from compiler.cli.session import Session, find_tree
from compiler.cli.startwanted import default_python
from compiler.diagnostics import Diagnostic
from compiler.inputs import Inputs, names_on, resolve
from compiler.judged import Checked
from compiler.language.load import DiskReader, Loaded, Reader, file_of
from compiler.most import LAST_PORT
from compiler.pipeline import check_profiles
from compiler.plan import Plan
from compiler.starter import BesideReader, FirstService, TextReader, fragments, profile_files
from compiler.value import Value
from compiler.workspace import (
    PIN_FILE,
    PROFILES,
    Workspace,
    check_pin,
    is_file,
    is_folder,
    is_there,
)


_STEP = 100
"""Between the ports of services: each may use some of those that follow its own, for what it says to itself."""

"""That there is: they have 16 bits."""


@frozen(kw_only=True, eq=False, repr=False)
class Place(Value):
    """A folder, and what is there.

    Attributes:
        stands: whether it is a tree already.
        beside: the profiles of the new service's host, once that is known.
        documents: what was read of the tree.
    """

    folder: Path
    stands: bool
    catalog: Catalog
    beside: tuple[str, ...] = ()
    documents: Mapping[str, Loaded] = field(factory=dict)

    def faults(self) -> tuple[Diagnostic, ...]:
        """Why nothing may be added here."""
        return check_pin(Workspace(str(self.folder)), version=__version__) if self.stands else ()

    def judge(self, wanted: FirstService) -> Checked:
        """The new service, beside what runs on its host."""
        return self.judged(wanted)[0]

    def judged(self, wanted: FirstService) -> tuple[Checked, Session]:
        """The same, with what shows its findings."""
        inputs = self.inputs(wanted)
        checked = check_profiles((wanted.profile,), inputs, beside=self.beside)
        workspace = Workspace(str(self.folder))
        names = (wanted.profile,)
        return checked, Session(workspace=workspace, inputs=inputs, names=names, named=True)

    def inputs(self, wanted: FirstService) -> Inputs:
        """The tree with the new profiles in it."""
        texts = profile_files(wanted)
        reader: Reader = TextReader(texts)
        if self.stands:
            reader = BesideReader(standing=DiskReader(self.folder / PROFILES), texts=texts)
        return Inputs(reader=reader, catalog=self.catalog, documents=dict(self.documents))

    def has(self, profile: str) -> bool:
        """Whether a file of this name is there, or anything else that is in the way."""
        return is_there(self.folder / file_of(profile))

    def lacking(self, wanted: FirstService) -> Mapping[str, str]:
        """The new profiles that are not there yet: the text of each, by its path below the folder."""
        texts = profile_files(wanted)
        return {file_of(name): text for name, text in texts.items() if not self.has(name)}


def place_of(folder: Path) -> Place:
    """What is there; without a folder it is the tree that we stand in, wherever in it, and never one in another's profiles."""
    above = find_tree(()).workspace if folder == Path() else None
    root = _holder(folder) if above is None else above.root
    if root is not None:
        folder = Path(os.path.relpath(root))
    stands = is_file(folder / PIN_FILE) or is_folder(folder / PROFILES)
    catalog = open_catalog(FolderReader(folder / PROFILES) if stands else None)
    return Place(folder=folder, stands=stands, catalog=catalog)


def _holder(folder: Path) -> Path | None:
    """The folder whose `profiles/` this one is, or lies in; `None` where it is neither."""
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 - as it is written: a link is where its owner put it
    for each in (whole, *whole.parents):
        if each.name == PROFILES and (each == whole or is_file(each.parent / PIN_FILE)):
            return each.parent
    return None


def disputes(place: Place, wanted: FirstService, given: Mapping[str, Any]) -> Iterator[str]:
    """What a fragment that stands says otherwise than the new service is asked for; what it says beside that is the team's."""
    names = fragments(wanted)
    asked: dict[str, dict[str, tuple[object, str]]] = {
        names.model: {"model.id": (wanted.model, "`--model`")},
        names.engine: {
            "engine.name": (wanted.engine, "`--engine`"),
            "engine.version": (wanted.version, _version_by(given)),
        },
        names.hardware: {
            "gpus.kind": (wanted.gpu, "`--gpu`"),
            "gpus.count": (wanted.count, "`--count`"),
        },
    }
    if given["model_path"]:
        asked[names.model]["model.path"] = (wanted.model_path, "`--model-path`")
    if given["python"]:
        asked[names.engine]["engine.python"] = (wanted.python, "`--python`")
    inputs = place.inputs(wanted)
    for name, keys in asked.items():
        if place.has(name):
            yield from _differing(name, keys, inputs)


def _version_by(given: Mapping[str, Any]) -> str:
    """Who says which release it is."""
    return "`--engine`" if given["release"][1] else "the newest, since there is no `--engine`"


def _differing(name: str, keys: Mapping[str, tuple[object, str]], inputs: Inputs) -> Iterator[str]:
    resolved, _ = resolve(name, inputs)
    file = f"`{file_of(name)}`"
    if resolved is None:
        yield f"{file} is there and cannot be read: `poolproof check {name}` says why"
        return
    for key, (value, option) in keys.items():
        table, _, short = key.partition(".")
        found = resolved.values.get(table)
        there = found.get(short) if isinstance(found, Mapping) else None
        if there != value:
            said = "nothing" if there is None else f"`{there}`"
            yield f"{file} is there, and its `{key}` is {said}, not `{value}` ({option}): ask for what it has, or change it there"


def placed(place: Place, wanted: FirstService) -> tuple[Place, FirstService]:
    """The same with a port, GPUs, and an interpreter that go with the other services of its host, which it is judged beside."""
    if not place.stands:
        return place, wanted
    inputs = place.inputs(wanted)
    beside = names_on(frozenset({wanted.target}), inputs, without=(wanted.profile,))
    judged = check_profiles((wanted.profile, *beside), inputs, advised=False).judged
    new = {*profile_files(wanted)}
    documents = {name: each for name, each in inputs.documents.items() if name not in new}
    place = evolve(place, beside=beside, documents=documents)
    plans = [each.plan for each in judged if each.plan and each.target_name == wanted.target]
    stands = place.has(fragments(wanted).engine)
    return place, _apart(wanted, plans, stands=stands)


def _apart(wanted: FirstService, plans: Sequence[Plan], *, stands: bool) -> FirstService:
    residents = [each for host in hosts_of(plans) for each in host.residents]
    own = next((each for each in residents if each.name == wanted.profile), None)
    if own is None:
        return wanted
    others = [each for each in residents if each.unit != own.unit]
    alike = [each.name for each in residents if each.unit == own.unit and each is not own]
    wanted = evolve(wanted, same_unit=(own.unit[1], *alike) if alike else ())
    wanted = evolve(wanted, port=_port(own, others), indices=_indices(own, others))
    return _with_python(wanted, own, others, stands=stands)


def _with_python(
    wanted: FirstService, own: Resident, others: Sequence[Resident], *, stands: bool
) -> FirstService:
    """The same with an interpreter named by its release, where the usual one has another release on this host.

    `stands` says that a fragment names the interpreter of that release already, which other hosts may start.
    """
    usual = default_python(wanted.engine)
    if own.plan.profile.engine.python != usual or not has_other_release(own, others):
        return wanted
    python = default_python(f"{wanted.engine}-{wanted.version}")
    wanted = evolve(wanted, taken_python=usual)
    return evolve(wanted, own_python=python) if stands else evolve(wanted, python=python)


def _port(own: Resident, others: Sequence[Resident]) -> int | None:
    """The first that is free, in steps; `None` where the shared one is, or none above it."""
    uses = [use for each in others for use in each.footprint.ports]
    first = own.plan.profile.serve.port
    steps = range(first, LAST_PORT + 1, _STEP)
    free = (port for port in steps if not any(use.first <= port <= use.last for use in uses))
    port = next(free, first)
    return None if port == first else port


def _indices(own: Resident, others: Sequence[Resident]) -> tuple[int, ...]:
    """The first GPUs that no other uses; empty where none of its own is taken, or nobody can say."""
    taken = {gpu for each in others for gpu in each.footprint.gpus or ()}
    mine = own.footprint.gpus or ()
    if not taken & {*mine}:
        return ()
    free = (gpu for gpu in count() if gpu not in taken)
    return tuple(islice(free, len(mine)))
