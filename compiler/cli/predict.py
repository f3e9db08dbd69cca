"""`poolproof predict`: a verdict for a raw launch command, no profile needed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve, fields

from compiler.catalog import Catalog
from compiler.catalog.slices import is_slice
from compiler.cli import completing
from compiler.cli.askedgpu import asked_gpu
from compiler.cli.bars import print_bars
from compiler.cli.behinddashes import TakesCommand
from compiler.cli.exits import Exit
from compiler.cli.hiding import print_json, without
from compiler.cli.namedfiles import named_text
from compiler.cli.plaincommand import Said, plain_command
from compiler.cli.predictfiles import read_named
from compiler.cli.promised import Promise
from compiler.cli.seengpus import gpus_of, unseen
from compiler.cli.session import catalogue_here, engine_release, show, write_lines
from compiler.diagnostics import Diagnostic
from compiler.engines.engine import Measured
from compiler.engines.known import ENGINES
from compiler.judged import Checked, Judged, unjudged
from compiler.memory.cards import CUSTOM
from compiler.predict import Predictor, Question, make_predictor
from compiler.profile import Serve
from compiler.secrecy import given_secrets, hide, secret_values


_MOST_GIB = 16_384
"""More than any GPU has, and than all of a node together."""


def _gib(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= _MOST_GIB:
        raise click.BadParameter(
            f"expected a number of GiB above 0, and {_MOST_GIB:,} at most", param=option
        )
    return value


def _size(name: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, type=float, callback=_gib, metavar="GIB", help=text)


_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="predict", cls=TakesCommand)
@click.option(
    "--gpu",
    required=True,
    metavar="KIND",
    shell_complete=completing.gpus,
    help="GPU id of the catalogue, or `custom`.",
)
@_size("--gpu-memory", "Total memory of one GPU, where it is not the catalogue's.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    help="GPUs of the server, on all its nodes; else those that the command's layout takes.",
)
@click.option(
    "--engine",
    callback=engine_release,
    shell_complete=completing.releases,
    metavar="[NAME@]VERSION",
    help="The release it runs on; else the one its image names, or the newest that takes its flags.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Requests at once that are promised.",
)
@click.option(
    "--context",
    type=click.IntRange(min=fields(Serve).context.metadata["at_least"]),
    help="Tokens that each of them may have; else the server's own context.",
)
@click.option("--model-config", type=_FILE, metavar="FILE", help="The model's own config.json.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Its checkpoint; only headers are read.",
)
@_size("--free-before", "`avail mem` of the log before weights load.")
@_size("--free-after", "`avail mem` of the log after the last load before the pool.")
@click.option("--boot", type=_FILE, multiple=True, metavar="FILE", help="A recorded boot.")
@click.option("--bars", is_flag=True, help="Draw its memory.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object on stdout; its `outcome` goes with the exit code, a `verdict` is about memory only.",
)
@click.argument(
    "words",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="-- COMMAND...",
    shell_complete=completing.launches,
)
def command(  # noqa: PLR0913 - click hands over each option
    words: tuple[str, ...],
    *,
    gpu: str,
    gpu_memory: float | None,
    count: int | None,
    engine: tuple[str, str] | None,
    concurrency: int,
    context: int | None,
    model_config: Path | None,
    checkpoint: Path | None,
    free_before: float | None,
    free_after: float | None,
    boot: tuple[Path, ...],
    bars: bool,
    as_json: bool,
) -> int:
    """Judge a launch command: will it start, and will its pool hold what is promised?

    That is one request of its full context, unless `--concurrency` and `--context` promise something else.
    Variables and a container in front of it count. Who reaches it and who reads its key is judged by `adopt --check`.
    """
    read = read_named(model_config=model_config, checkpoint=checkpoint, boots=boot)
    catalog = catalogue_here()
    gpu = gpu if gpu == CUSTOM else asked_gpu(gpu, catalog, otherwise=_OF_A_SLICE)
    said = plain_command(words, engine=engine) or _read_pasted(words, catalog, engine=engine)
    judged: tuple[Judged, ...] = ()
    hidden = _secrets(words)
    if not isinstance(said, Said):
        judged = (unjudged(*said),)
    elif _is_of_images(said):
        from compiler.adopt.diffusion import diffusion  # noqa: PLC0415 - of few commands

        judged = (unjudged(diffusion()),)
    elif not any(each.is_error for each in read.diagnostics):
        name = said.engine if engine is None else engine[0]
        predictor = make_predictor(catalog, engine=name, version=said.version, read_file=named_text)
        gpus = gpus_of(said, predictor, gpu=gpu, count=count)
        question = Question(
            gpu=gpu,
            gpu_memory_gib=gpu_memory,
            count=gpus.count,
            engine=name,
            version=said.version,
            model=read.model,
            weights=read.weights,
            measured=Measured(free_before_gib=free_before, free_after_gib=free_after),
            boots=read.boots,
            assumed=(*said.assumed, *gpus.assumed, *_of_slice(said, gpu, gpu_memory)),
            concurrency=concurrency,
            context=context,
        )
        judged = (_judged(said, predictor, question, catalog, hides=gpus.hides),)
        flags = predictor.release.flags if predictor.release is not None else ()
        hidden |= said.hidden | _secrets(said.words, flags=flags)
    checked = Checked(judged=judged, diagnostics=read.diagnostics)
    _print(checked, Promise(concurrency, context), as_json=as_json, hidden=hidden)
    if bars and not as_json:
        print_bars(checked.judged)
    return Exit.REFUSED if checked.refused else Exit.OK


_OF_A_SLICE = "; or say its card and what it has, `--gpu KIND --gpu-memory GIB`"


def _of_slice(said: Said, gpu: str, gpu_memory: float | None) -> tuple[str, ...]:
    """That a slice is judged as a whole GPU, where nobody says what it has."""
    if not said.of_slice or gpu_memory is not None or is_slice(gpu):
        return ()
    return (
        f"all of a `{gpu}`, and the command names a slice of a GPU (MIG), which has less: say how much, `--gpu-memory GIB`",
    )


def _is_of_images(said: Said) -> bool:
    """Whether the command starts a server that has no pool."""
    known = ENGINES.get(said.engine)
    found = None if known is None else known.find_launch(said.words)
    if found is None or found.arguments - found.entry == 1:
        return False  # started as a module, it is one of language models
    from compiler.adopt.diffusion import serves_diffusion  # noqa: PLC0415 - as above

    return serves_diffusion(said.words, found)


def _secrets(words: Sequence[str], *, flags: Iterable[str] = ()) -> frozenset[str]:
    return secret_values(shlex.join(words)) | given_secrets(words, flags=flags)


def _read_pasted(
    words: Sequence[str], catalog: Catalog, *, engine: tuple[str, str] | None
) -> Said | tuple[Diagnostic, ...]:
    from compiler.cli.pasted import read_pasted  # noqa: PLC0415 - a plain command does without it

    return read_pasted(words, catalog, engine=engine)


def _judged(
    said: Said,
    predictor: Predictor,
    question: Question,
    catalog: Catalog,
    *,
    hides: int | None,
) -> Judged:
    """The verdict, with what mends it."""
    words = said.words
    judged = predictor.predict(words, question)
    if not judged.diagnostics:
        return judged
    from compiler.adopt.form import Form  # noqa: PLC0415 - a command that passes does without it
    from compiler.cli.inflags import with_flags  # noqa: PLC0415 - as above
    from compiler.cli.pastedflags import with_meant  # noqa: PLC0415 - as above

    form = Form.SHELL if said.launch is None else said.launch.command.form
    mended = with_flags(judged, predictor, words, question, form=form)
    if hides is not None:
        found = tuple(unseen(each, hides) for each in mended.diagnostics)
        mended = evolve(mended, diagnostics=found)
    return with_meant(mended, said, catalog)


def _print(checked: Checked, promise: Promise, *, as_json: bool, hidden: frozenset[str]) -> None:
    if as_json:
        from compiler.report.contract import predict_json  # noqa: PLC0415 - what only some runs need

        told = predict_json(checked.diagnostics, judged=checked.judged)
        print_json(told, hidden=hidden)
        return
    from compiler.report.verdicts import prediction_lines  # noqa: PLC0415 - JSON does without it

    found = without(checked.all_diagnostics, hidden)
    show(found)
    for each in checked.judged:
        lines = prediction_lines(each, promised=promise.said(each.plan))
        write_lines(hide(line, hidden) for line in lines)
