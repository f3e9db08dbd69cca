"""New files, written: all or none, and never over one that is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from compiler.cli.exits import Exit
from compiler.diagnostics import reason_of


def write_new(files: Mapping[Path, str], folder: Path) -> int:
    """All of them, each named, or none, with why; `folder` is what they are for."""
    made: list[Path] = []
    try:
        for path, text in sorted(files.items()):
            _make(path, text, made)
    except OSError as fault:
        for each in reversed(made):
            each.rmdir() if each.is_dir() else each.unlink()
        reason = reason_of(fault)
        click.echo(
            f"nothing was written: `{fault.filename or folder}` cannot be written: {reason}",
            err=True,
        )
        return Exit.MACHINE
    for path in sorted(files):
        click.echo(f"wrote {path}")
    return Exit.OK


def _make(path: Path, text: str, made: list[Path]) -> None:
    """Write a file and the folders it needs; what is made is noted, so that it can be taken back."""
    for each in reversed(path.parents):
        if not each.exists():
            each.mkdir()
            made.append(each)
    with path.open("x", encoding="utf-8") as file:
        made.append(path)
        file.write(text)
