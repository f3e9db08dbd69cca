"""What a new service is asked for: the options of `init`, and the terminal where they say too little."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from compiler.catalog import Catalog, Kind
from compiler.catalog.shelves import file_stem
from compiler.cli.askedgpu import asked_gpu, no_such
from compiler.engines.known import ENGINES
from compiler.near import is_mistyped
from compiler.starter import FirstService


CONTEXT_TOKENS = 32_768
"""What is offered where nothing else is asked for, or the model's own context where that is less."""

ONE_HOST = 8
"""GPUs that the usual server has at most."""

HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
SHORT_NAME = "expected a host's short name: letters, digits, `-`, `.`, `_`"
"""What `HOST` takes, as an answer to what it does not."""


def wanted_of(given: Mapping[str, Any], catalog: Catalog, *, version: str | None) -> FirstService:
    """The answers: what the options say, then what the terminal says; `version` is of the tree's own engine."""
    missing = [f"--{name}" for name in ("model", "gpu", "count", "host") if given[name] is None]
    if missing and not sys.stdin.isatty():
        raise click.UsageError(
            f"{', '.join(missing)} must be given where there is no terminal to ask on"
        )
    model = _model(given["model"], catalog)
    gpu = _kind_of_gpu(given["gpu"], catalog.ids(Kind.GPU), catalog)
    count = given["count"] or click.prompt("GPUs of one host", type=click.IntRange(min=1))
    host = given["host"] or click.prompt("The host's name", value_proc=_asked_host)
    known, _ = catalog.model(model)
    least = min(CONTEXT_TOKENS, known.context) if known and known.context else CONTEXT_TOKENS
    context = given["context"] or (
        click.prompt("Context of a request, tokens", type=click.IntRange(min=16), default=least)
        if missing
        else least
    )
    engine, asked = given["release"]
    described = known is not None and catalog.gpu(gpu)[0] is not None
    return FirstService(
        model=model,
        model_path=given["model_path"] or default_path(model),
        gpu=gpu,
        count=count,
        engine=engine,
        version=asked or version or catalog.versions(engine)[-1],
        flags=ENGINES[engine].first_flags,
        model_flags=ENGINES[engine].model_flags(known) if known else {},
        python=given["python"] or default_python(engine),
        context=context,
        concurrency=given["concurrency"],
        is_described=described,
        custom_code=known.custom_code if known else "",
        kv_dtype=given["kv_dtype"] or "",
        target=host,
        user=given["user"] or engine,
        own_name=given["name"] or "",
    )


def default_path(model: str) -> str:
    """Where a model's files are taken to be on the host."""
    return f"/srv/models/{model.rpartition('/')[2]}"


def default_python(engine: str) -> str:
    """Where an engine's interpreter is taken to be on the host."""
    return f"/opt/{engine}/bin/python"


def _asked_host(value: str) -> str:
    if not HOST.fullmatch(value):
        raise click.UsageError(SHORT_NAME)
    return value


def _model(given: str | None, catalog: Catalog) -> str:
    """A name by its option, or by the terminal, which asks again where it cannot be meant."""
    if given:
        return _meant(given, catalog)
    answer: str = click.prompt(
        "Model (its id on the hub)", value_proc=lambda value: _meant(value, catalog)
    )
    return answer


def _meant(given: str, catalog: Catalog) -> str:
    """The same name, unless a known one was nearly hit: a tree for what nobody described would promise nothing.

    That is certain only where its capitals or its owner are missing, or letters of a word: many are called alike, and one
    that nobody described may well be meant. One that has another's figures is known, which is said.

    Raises:
        click.UsageError: with the near name.
    """
    if given in catalog.ids(Kind.MODEL):
        return given
    found, _ = catalog.model(given)
    if found is not None:
        click.echo(found.likeness, err=True)
        return given
    similar = catalog.near(Kind.MODEL, given)
    if similar is None:
        return given
    said = no_such("model", given, similar)
    _, _, short = similar.rpartition("/")
    surely = any(is_mistyped(given, each) for each in (similar, short))
    if "/" in similar and not surely:
        click.echo(said, err=True)
        return given
    raise click.UsageError(said)


def _kind_of_gpu(given: str | None, known: Sequence[str], catalog: Catalog) -> str:
    """A kind by its option or by the terminal, by any name that the catalogue's own follows from."""

    def meant(value: str) -> str:
        kind = asked_gpu(value, catalog)
        if file_stem(kind) is None:
            raise click.UsageError(
                f"the catalogue has no kind of GPU `{value}`; `poolproof catalog list gpus` has all"
            )
        return kind

    if given:
        return meant(given)
    answer: str = click.prompt(f"GPU ({', '.join(known)})", value_proc=meant)
    return answer
