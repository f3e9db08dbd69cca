"""`poolproof catalog add-engine` and `add-model`: facts read from a wheel, a source tree, or a checkpoint."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from compiler.catalog import FolderReader, Kind, open_catalog
from compiler.catalog.shelves import file_stem
from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.newfile import write_new
from compiler.cli.session import find_tree, show
from compiler.diagnostics import Diagnostic
from compiler.engines import DEFAULT
from compiler.facts import Model
from compiler.workspace import Workspace, is_file


@click.command(name="add-engine")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--name",
    "engine",
    default=DEFAULT,
    show_default=True,
    shell_complete=completing.engines,
    help="Which engine it is.",
)
@click.option("--build", help="Name of a private build: an overlay on its release is written.")
@click.option(
    "--release",
    shell_complete=completing.versions,
    help="The release it is, or is made from, when it does not say so itself.",
)
def add_engine(path: Path, *, engine: str, build: str | None, release: str | None) -> int:
    """Read the flags of an engine from a wheel or a source tree, without running any of it."""
    from compiler.engines.adding import add_engine as read_engine  # noqa: PLC0415 - only this verb

    workspace = _workspace()
    if workspace is None:
        return Exit.REFUSED
    catalog = open_catalog(FolderReader(workspace.profiles))
    added, found = read_engine(path, engine=engine, catalog=catalog, build=build, release=release)
    show(found)
    if added is None:
        return Exit.REFUSED
    sys.stdout.writelines(f"{line}\n" for line in added.summary)
    return write_entry(workspace.profiles / "catalog" / added.name, added.text)


@click.command(name="add-model")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--id", "id_", required=True, help="The id profiles call it by, as on its hub.")
def add_model(folder: Path, *, id_: str) -> int:
    """Describe the model of a checkpoint's FOLDER: its config and the headers of its files; nothing is loaded.

    A folder with nothing but `config.json` will do: then the size of the weight files is not known, nor whether the tensors
    bear the config out. A part that comes as code, such as a tokenizer, is told by `tokenizer_config.json`.
    """
    from compiler.checkpoint import (  # noqa: PLC0415 - only this verb
        describe_checkpoint,
        describe_config,
        has_weights,
        model_toml,
        unread_weights,
    )
    from compiler.checkpoint.folder import CONFIG  # noqa: PLC0415 - as above

    folder = folder.parent if folder.name == "config.json" and is_file(folder) else folder
    workspace = _workspace()
    stem = file_stem(id_)
    if workspace is None:
        return Exit.REFUSED
    if stem is None:
        raise click.BadParameter(f"`{id_}` is no id of a model", param_hint="--id")
    heading = f"Read from the checkpoint in {folder.name}."
    model: Model | None
    is_alone = is_file(folder / CONFIG) and not has_weights(folder)
    if is_alone:
        model, found = describe_config(folder, id_=id_)
        heading = (
            f"Read from the {CONFIG} in {folder.resolve().name} alone: no weight file was read."
        )
    else:
        described, found = describe_checkpoint(folder, id_=id_)
        model = None if described is None else described.model
    show(found)
    if model is None:
        return Exit.REFUSED
    if is_alone:
        other = next(iter(unread_weights(folder)), None)
        there = f"`{other}` is not read" if other else f"only `{CONFIG}` is there"
        click.echo(
            f"{there}: not known are the size of the weight files, and whether the tensors bear the config out",
            err=True,
        )
    text = model_toml(model, heading=(heading,))
    path = workspace.profiles / "catalog" / "models" / f"{stem}.toml"
    return write_entry(path, text, of=(Kind.MODEL, id_))


def _workspace() -> Workspace | None:
    found = find_tree(())
    diagnostics: tuple[Diagnostic, ...] = found.diagnostics
    show(diagnostics)
    return found.workspace


def write_entry(path: Path, text: str, *, of: tuple[Kind, str] | None = None) -> int:
    """Write a new entry beside what is there, never over it; a shipped one `of` the same id is said to be out of use."""
    unwritten = write_new(path, text)
    if unwritten is not None:
        then = "; edit it, or remove it first" if unwritten.is_there else ""
        click.echo(f"`{_shown(path)}` {unwritten.why}{then}", err=True)
        return unwritten.exit
    click.echo(f"wrote {_shown(path)}")
    if of is not None and open_catalog().entry_file(*of) is not None:
        click.echo(
            f"`{of[1]}` is in the shipped catalogue, too: this tree goes by its own entry from now on",
            err=True,
        )
    return Exit.OK


def _shown(path: Path) -> str:
    """The path from where we stand, as it would be typed."""
    return os.path.relpath(path)
