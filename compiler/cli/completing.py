"""What a shell offers for an option or an argument, by name. What finds it is imported only while a shell completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click


if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Offers = Callable[[click.Context, click.Parameter, str], "list[str] | list[CompletionItem]"]


def _offering(name: str) -> Offers:
    def offer(
        context: click.Context, option: click.Parameter, incomplete: str
    ) -> list[str] | list[CompletionItem]:
        from compiler.cli.offers import offers_of  # noqa: PLC0415 - a run that completes nothing does without it

        return offers_of(name, context, option, incomplete)

    return offer


codes = _offering("codes")
engines = _offering("engines")
entries = _offering("entries")
fields = _offering("fields")
files = _offering("files")
folders = _offering("folders")
gpus = _offering("gpus")
hosts = _offering("hosts")
keys = _offering("keys")
launches = _offering("launches")
models = _offering("models")
numbers = _offering("numbers")
plans = _offering("plans")
profiles = _offering("profiles")
releases = _offering("releases")
revisions = _offering("revisions")
targets = _offering("targets")
units = _offering("units")
versions = _offering("versions")
