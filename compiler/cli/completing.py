"""What a shell offers for an argument. Imported only while a shell completes: click asks through these names."""

from __future__ import annotations

import click


def profiles(context: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    """The profiles of the tree we stand in, as paths where a path was begun, else as names."""
    del context, option
    from compiler.cli.session import find_tree  # noqa: PLC0415 - a run that completes nothing does without it
    from compiler.language.load import DiskReader, file_of  # noqa: PLC0415 - as above

    workspace = find_tree(()).workspace
    if workspace is None:
        return []
    try:
        names = DiskReader(workspace.profiles).names()
    except OSError:
        return []
    paths = [file_of(each) for each in names]
    return [each for each in (*names, *paths) if each.startswith(incomplete)]


def codes(context: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    """The codes that have a page."""
    del context, option
    from compiler.explain import codes as known  # noqa: PLC0415 - a run that completes nothing does without it

    return [each for each in known() if each.startswith(incomplete)]
