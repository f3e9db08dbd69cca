"""What a shell offers for an argument. Imported only while a shell completes: click asks through these names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click


if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


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


def files(
    context: click.Context, option: click.Parameter, incomplete: str
) -> list[str] | list[CompletionItem]:
    """The profiles; where none begins so, the shell's own files: a recorded boot, a folder to compare with."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - a run that completes nothing does without it

    return profiles(context, option, incomplete) or [CompletionItem(incomplete, type="file")]


def keys(
    context: click.Context, option: click.Parameter, incomplete: str
) -> list[str] | list[CompletionItem]:
    """A profile or a file first, then the settings."""
    if not context.params.get(option.name or ""):
        return files(context, option, incomplete)
    from compiler.language.settings import all_settings  # noqa: PLC0415 - a run that completes nothing does without it
    from compiler.origins import dotted  # noqa: PLC0415 - as above

    names = (dotted(each.path) for each in all_settings() if "*" not in each.path)
    return [each for each in names if each.startswith(incomplete)]


def codes(context: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    """The codes that have a page."""
    del context, option
    from compiler.explain import codes as known  # noqa: PLC0415 - a run that completes nothing does without it

    return [each for each in known() if each.startswith(incomplete)]
