"""What a verb's `--gpu` says goes in; the catalogue's id comes out, in the same way of every verb."""

from __future__ import annotations

import click

from compiler.catalog import Catalog, Kind
from compiler.catalog.gpunames import gpu_id, near_gpu


def asked_gpu(value: str, catalog: Catalog) -> str:
    """The id that a name stands for; the name as it is, where nothing in the catalogue is called like it.

    Raises:
        click.UsageError: where it names nothing, or one was nearly hit: which card is meant is not for us to say.
    """
    if not value.strip():
        raise click.UsageError("`--gpu` names nothing")
    kind = gpu_id(value, catalog)
    if kind in catalog.ids(Kind.GPU):
        return kind
    similar = near_gpu(value, catalog)
    if similar is not None:
        raise click.UsageError(no_such("kind of GPU", value, similar))
    return kind


def no_such(what: str, given: str, similar: str) -> str:
    """That a name is not known, and the one that is like it."""
    return f"the catalogue has no {what} `{given}`; a similar one is `{similar}`"
