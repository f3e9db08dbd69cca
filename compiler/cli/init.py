"""`poolproof init`: a first tree for a team, judged before it is written."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from compiler.catalog import Catalog, Kind, open_catalog
from compiler.cli.exits import Exit
from compiler.cli.session import Session, engine_release, show, write_lines
from compiler.cli.startlayout import ABOUT_MEMORY, laid_out
from compiler.diagnostics import Diagnostic, listed, reason_of
from compiler.engines import DEFAULT
from compiler.engines.known import ENGINES
from compiler.judged import Checked
from compiler.near import near
from compiler.pipeline import Inputs, check_profiles
from compiler.report.verdicts import verdict_lines
from compiler.starter import FirstService, TextReader, files_around, profile_files
from compiler.workspace import Workspace


CONTEXT_TOKENS = 32_768
"""What is offered where nothing else is asked for, or the model's own context where that is less."""

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def _host(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _HOST.fullmatch(value):
        raise click.BadParameter(
            "expected a host's short name: letters, digits, `-`, `.`, `_`", param=option
        )
    return value


def _release(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, str | None]:
    given = engine_release(context, option, value)
    if given is None:
        return DEFAULT, None
    if given[0] not in ENGINES:
        known = listed([f"`{each}`" for each in ENGINES])
        raise click.BadParameter(
            f"expected a release of {known}: `0.5.11`, or `{DEFAULT}@0.5.11`", param=option
        )
    return given


def _named(_context: click.Context, _argument: click.Parameter, folder: str) -> Path:
    """An empty word, such as that of a variable nobody set, does not mean the folder we stand in."""
    if not folder:
        raise click.BadParameter("the name is empty")
    return Path(folder)


@click.command(name="init")
@click.argument("folder", type=click.Path(file_okay=False), default=".", callback=_named)
@click.option("--model", help="Its id, such as `Qwen/Qwen3-32B`.")
@click.option("--gpu", metavar="KIND", help="A kind of GPU: see `poolproof catalog list gpus`.")
@click.option("--count", type=click.IntRange(min=1), help="GPUs of one host.")
@click.option("--host", callback=_host, help="The host's name.")
@click.option("--context", type=click.IntRange(min=16), help="Tokens that one request may have.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Such requests at once.",
)
@click.option(
    "--engine",
    "release",
    callback=_release,
    metavar="[NAME@]VERSION",
    help=f"The engine's release, such as `0.5.11` or `{DEFAULT}@0.5.11`; else the newest that is described.",
)
@click.option("--model-path", metavar="DIR", help="Where its files are on the host.")
@click.option(
    "--python",
    show_default="/opt/ENGINE/bin/python",
    help="The engine's interpreter on the host.",
)
@click.option("--user", show_default="the engine's name", help="The account that runs it.")
def command(folder: Path, **given: Any) -> int:  # noqa: ANN401 - click's own
    """Write a starter tree to FOLDER: profiles, a workflow, hooks, and attributes for git.

    What no option says is asked for on a terminal. Nothing that is there is written over.
    """
    catalog = open_catalog()
    wanted = _wanted(given, catalog)
    plain = profile_files(wanted)
    files = {**files_around(), **{f"profiles/{name}.toml": text for name, text in plain.items()}}
    taken = [path for path in files if (folder / path).exists() or (folder / path).is_symlink()]
    if taken:
        click.echo(
            f"nothing was written: {', '.join(f'`{path}`' for path in taken)} {'is' if len(taken) == 1 else 'are'} there already",
            err=True,
        )
        return Exit.REFUSED
    wanted = laid_out(wanted, catalog, judge=lambda asked: _judge(asked, catalog)[0])
    checked, session = _judge(wanted, catalog)
    if checked.refused:
        return _refuse(wanted, checked, catalog)
    filled = evolve(wanted, fraction=_fraction(checked, catalog))
    again, its_session = _judge(filled, catalog)
    if not again.refused:
        checked, session, wanted = again, its_session, filled
    files |= {f"profiles/{name}.toml": text for name, text in profile_files(wanted).items()}
    show(_without_more(checked.all_diagnostics), session)
    write_lines(verdict_lines(checked.judged))
    return _write(folder, files, wanted)


def _fraction(checked: Checked, catalog: Catalog) -> float | None:
    """The fraction to begin with; the promise alone wants less, and would leave the rest of the GPU idle."""
    plan = checked.judged[0].plan
    if plan is None or plan.memory is None:
        return None
    from compiler.remedy.replanning import Replanner  # noqa: PLC0415 - only a tree that is written
    from compiler.remedy.trials import Trials  # noqa: PLC0415 - as above
    from compiler.remedy.usual import usual_fraction  # noqa: PLC0415 - as above

    return usual_fraction(plan, Trials(replan=Replanner(plan=plan, catalog=catalog)))


def _refuse(wanted: FirstService, checked: Checked, catalog: Catalog) -> int:
    """Say why, and what may be asked for instead, in the words of the options."""
    from compiler.cli.offered import COUNTS, in_options, offers  # noqa: PLC0415 - a tree that passes does without it

    texts = {f"profiles/{name}.toml": text for name, text in profile_files(wanted).items()}
    found = tuple(in_options(each, texts) for each in checked.all_diagnostics)
    show(found)
    if wanted.layout is not None:
        click.echo(wanted.layout.said(wanted.count), err=True)
    write_lines(verdict_lines(checked.judged))
    passing = dict(
        offers(
            wanted,
            checked.judged[0],
            catalog,
            judge=lambda asked: _judge(asked, catalog)[0],
        )
    )
    if passing:
        click.echo("nothing was written; with the rest as it is, each of these passes:", err=True)
        wide = max(map(len, passing))
        for option, gives in passing.items():
            click.echo(f"  {option.ljust(wide)}  {gives}", err=True)
    elif all(each.code in ABOUT_MEMORY for each in found if each.is_error):
        click.echo(
            f"nothing was written; up to {COUNTS[-1]} GPUs of this kind were tried, and none passes: ask for another kind",
            err=True,
        )
    else:
        click.echo("nothing was written; mend what is said above, and ask again", err=True)
    return Exit.REFUSED


def _wanted(given: Mapping[str, Any], catalog: Catalog) -> FirstService:
    """The answers: what the options say, then what the terminal says."""
    missing = [f"--{name}" for name in ("model", "gpu", "count", "host") if given[name] is None]
    if missing and not sys.stdin.isatty():
        raise click.UsageError(
            f"{', '.join(missing)} must be given where there is no terminal to ask on"
        )
    models, gpus = catalog.ids(Kind.MODEL), catalog.ids(Kind.GPU)
    model = _name(given["model"], models, what="model", ask="Model (its id on the hub)")
    gpu = _name(given["gpu"], gpus, what="kind of GPU", ask=f"GPU ({', '.join(gpus)})")
    count = given["count"] or click.prompt("GPUs of one host", type=click.IntRange(min=1))
    host = given["host"] or click.prompt("The host's name", value_proc=_asked_host)
    known, _ = catalog.model(model)
    least = min(CONTEXT_TOKENS, known.context) if known and known.context else CONTEXT_TOKENS
    context = given["context"] or (
        click.prompt("Context of a request, tokens", type=click.IntRange(min=16), default=least)
        if missing
        else least
    )
    engine, version = given["release"]
    described = known is not None and catalog.gpu(gpu)[0] is not None
    return FirstService(
        model=model,
        model_path=given["model_path"] or f"/srv/models/{model.rpartition('/')[2]}",
        gpu=gpu,
        count=count,
        engine=engine,
        version=version or catalog.versions(engine)[-1],
        flags=ENGINES[engine].first_flags,
        python=given["python"] or f"/opt/{engine}/bin/python",
        context=context,
        concurrency=given["concurrency"],
        is_described=described,
        custom_code=known.custom_code if known else "",
        target=host,
        user=given["user"] or engine,
    )


def _asked_host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise click.UsageError("expected a host's short name: letters, digits, `-`, `.`, `_`")
    return value


def _name(given: str | None, known: Sequence[str], *, what: str, ask: str) -> str:
    """A name by its option, or by the terminal, which asks again where it cannot be meant."""
    if given:
        return _meant(given, known, what)
    answer: str = click.prompt(ask, value_proc=lambda value: _meant(value, known, what))
    return answer


def _meant(given: str, known: Sequence[str], what: str) -> str:
    """The same name, unless a known one was nearly hit: a tree for what nobody described would promise nothing.

    Of a model that is certain only where its capitals or its owner are missing: many are called alike, and one that nobody
    described may well be meant.

    Raises:
        click.UsageError: with the near name.
    """
    similar = None if given in known else near(given, known)
    if similar is None:
        return given
    said = f"no {what} is called `{given}`; a similar one is `{similar}`"
    _, _, short = similar.rpartition("/")
    if "/" in similar and given.lower() not in (similar.lower(), short.lower()):
        click.echo(said, err=True)
        return given
    raise click.UsageError(said)


def _judge(wanted: FirstService, catalog: Catalog) -> tuple[Checked, Session]:
    inputs = Inputs(reader=TextReader(profile_files(wanted)), catalog=catalog)
    checked = check_profiles((wanted.profile,), inputs)
    return checked, Session(
        workspace=Workspace(Path()), inputs=inputs, names=(wanted.profile,), named=True
    )


def _without_more(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings without what to ask next, which needs a tree that is there."""
    return tuple(
        evolve(each, help=tuple(line for line in each.help if not line.startswith("for more: ")))
        for each in found
    )


def _write(folder: Path, files: Mapping[str, str], wanted: FirstService) -> int:
    """All files or none."""
    made: list[Path] = []
    try:
        for path, text in sorted(files.items()):
            _make(folder / path, text, made)
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
        click.echo(f"wrote {folder / path}")
    if wanted.layout is not None:
        click.echo(wanted.layout.said(wanted.count), err=True)
    place = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    click.echo(
        f"next: {place}poolproof compile, read out/{wanted.profile}/PLAN.md, and commit profiles/ and out/",
        err=True,
    )
    click.echo(
        "the workflow installs poolproof with pip: where no index of yours has it, name a git address or a path in .github/workflows/poolproof.yml",
        err=True,
    )
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
