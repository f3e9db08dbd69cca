"""What a verb's `--gpu` says goes in; the catalogue's id comes out, in the same way of every verb."""

from __future__ import annotations

import click

from compiler.catalog import Catalog, Kind
from compiler.catalog.gpunames import gpu_id, near_gpu
from compiler.catalog.shelves import file_stem
from compiler.catalog.slices import NO_SLICE, described_slice, is_slice
from compiler.diagnostics import printable


def asked_gpu(value: str, catalog: Catalog, *, otherwise: str = "") -> str:
    """The id that a name stands for; the name as it is, where nothing in the catalogue is called like it.

    `otherwise` is what else the verb can do with a slice of a GPU, of which nothing is known.

    Raises:
        click.UsageError: where it names nothing, or one was nearly hit: which card is meant is not for us to say.
    """
    if not value.strip():
        raise click.UsageError("`--gpu` names nothing")
    kind = gpu_id(value, catalog)
    if kind in catalog.ids(Kind.GPU):
        return kind
    if is_slice(value):
        told = described_slice(file_stem(value) or "ID")
        raise click.UsageError(
            f"no kind of GPU is called `{printable(value)}`: {NO_SLICE}; {told}{otherwise}"
        )
    similar = near_gpu(value, catalog)
    if similar is not None:
        raise click.UsageError(no_such("kind of GPU", value, similar))
    return kind


def no_such(what: str, given: str, similar: str) -> str:
    """That a name is not known, and the one that is like it."""
    return f"the catalogue has no {what} `{given}`; a similar one is `{similar}`"
