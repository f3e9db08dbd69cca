"""The files of a new service, written: all or none, and never over one that is there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from compiler.cli.exits import Exit
from compiler.cli.newfiles import write_new
from compiler.cli.session import write_lines
from compiler.cli.startatroot import Repository, files_for, told_below
from compiler.cli.startplace import Place
from compiler.cli.startwanted import ONE_HOST
from compiler.diagnostics import listed
from compiler.facts import comes_as_code
from compiler.language.load import file_of
from compiler.starter import WORKFLOW, FirstService, profile_files


def write_service(place: Place, wanted: FirstService, repository: Repository | None) -> int:
    """All files that are not there yet, or none; some at the root of a repository, where that is given."""
    profiles = place.lacking(wanted)
    had_hooks = repository is not None and repository.has_hooks()
    files = {place.folder / path: text for path, text in profiles.items()}
    if not place.stands:
        files = {**files_for(place.folder, repository), **files}
    code = write_new(files, place.folder)
    if code != Exit.OK:
        return code
    for path in map(file_of, sorted(profile_files(wanted))):
        if path not in profiles:
            click.echo(f"kept {place.folder / path}, which is used as it is", err=True)
    write_lines(_told(place, wanted), beside=True)
    if not place.stands:
        if repository is not None:
            repository.tell(had_hooks=had_hooks)
        write_lines(_told_around(place.folder, repository), beside=True)
    return Exit.OK


def _told(place: Place, wanted: FirstService) -> Iterator[str]:
    """What was decided, and what comes next."""
    if wanted.layout is not None:
        yield wanted.layout.said(wanted.count)
    if wanted.requests is not None:
        yield wanted.requests_said
    if wanted.engine_fragment:
        yield f"`{file_of(wanted.engine_fragment)}` says {wanted.engine} {wanted.version}: the new service takes its engine from there"
    if wanted.count > ONE_HOST:
        yield (
            f"few hosts have {wanted.count} GPUs: for a server over several, give each node a profile with `nnodes`, "
            "`node-rank`, and `dist-init-addr` (docs/how-to/serve-over-several-nodes.md)"
        )
    if wanted.custom_code:
        yield f"`model.trust_remote_code` is set: {comes_as_code(wanted.custom_code)}; read it first"
    if wanted.indices:
        indices = listed([str(each) for each in wanted.indices])
        yield f"others on `{wanted.target}` use GPUs: this one gets {indices}; see that the host has them"
    if wanted.taken_python:
        python = wanted.own_python or wanted.python
        yield f"others on `{wanted.target}` have another release at `{wanted.taken_python}`: this one is started by `{python}`; install it there"
    if wanted.same_unit:
        unit, *names = wanted.same_unit
        alike = listed([f"`{each}`" for each in names])
        has = "has" if len(names) == 1 else "have"
        yield (
            f"{alike} {has} the unit `{unit}` on `{wanted.target}`, too: one of them runs at a time, and a switch to the other replaces it; "
            f"for both at once give this one a `unit` under `[targets.{wanted.target}]`, and a port and GPUs of its own"
        )
    folder = place.folder
    there = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    yield f"next: {there}poolproof compile, read out/{wanted.profile}/PLAN.md, and commit profiles/ and out/"


def _told_around(folder: Path, repository: Repository | None) -> Iterator[str]:
    """What is to know of the files around the profiles."""
    if repository is None:
        yield from told_below(folder)
    workflow = WORKFLOW if repository is None else repository.workflow
    yield f"the workflow installs poolproof with pip: where no index of yours has it, name a git address or a path in {workflow}"
