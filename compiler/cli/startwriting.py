"""The files of a new service, written: all or none, and never over one that is there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from compiler.cli.exits import Exit
from compiler.cli.session import write_lines
from compiler.cli.startplace import Place
from compiler.cli.startwanted import ONE_HOST
from compiler.diagnostics import listed, reason_of
from compiler.facts import comes_as_code
from compiler.language.load import file_of
from compiler.starter import HOOKS, WORKFLOW, FirstService, files_around, profile_files


def write_service(place: Place, wanted: FirstService) -> int:
    """All files that are not there yet, or none."""
    profiles = place.lacking(wanted)
    files = profiles if place.stands else {**files_around(), **profiles}
    made: list[Path] = []
    try:
        for path, text in sorted(files.items()):
            _make(place.folder / path, text, made)
    except OSError as fault:
        for each in reversed(made):
            each.rmdir() if each.is_dir() else each.unlink()
        reason = reason_of(fault)
        click.echo(
            f"nothing was written: `{fault.filename or place.folder}` cannot be written: {reason}",
            err=True,
        )
        return Exit.MACHINE
    for path in sorted(files):
        click.echo(f"wrote {place.folder / path}")
    for path in map(file_of, sorted(profile_files(wanted))):
        if path not in files:
            click.echo(f"kept {place.folder / path}, which is used as it is", err=True)
    write_lines(_told(place, wanted), beside=True)
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
    if not place.stands:
        yield from _at_the_root(folder)
        yield "the workflow installs poolproof with pip: where no index of yours has it, name a git address or a path in .github/workflows/poolproof.yml"


def _at_the_root(folder: Path) -> Iterator[str]:
    """That a code host and pre-commit look at the root of a repository only, where the tree lies below one."""
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 - as it is written: a link is where its owner put it
    root = next((each for each in whole.parents if (each / ".git").exists()), None)
    if root is None or (whole / ".git").exists():
        return
    below = shlex.quote(whole.relative_to(root).as_posix())
    yield f"this tree lies in a repository, `{root}`, and neither GitHub nor pre-commit reads files below its root; so that they work, move"
    yield f"  {folder / WORKFLOW} to {root / WORKFLOW}, with `defaults: {{run: {{working-directory: {below}}}}}` under `jobs.poolproof`"
    yield (
        f"  the hooks of {folder / HOOKS} to {root / HOOKS}, each with `pass_filenames: false`, with {below}/ behind the `^` of its `files`, "
        f"and with `sh -c 'cd {below} && ...'` around its `entry`"
    )


def _make(path: Path, text: str, made: list[Path]) -> None:
    """Write a file and the folders it needs; what is made is noted, so that it can be taken back."""
    for each in reversed(path.parents):
        if not each.exists():
            each.mkdir()
            made.append(each)
    with path.open("x", encoding="utf-8") as file:
        made.append(path)
        file.write(text)
