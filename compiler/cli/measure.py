"""`poolproof measure`: what a server's start measured, as a recorded boot that later compiles use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from compiler.cli import completing
from compiler.cli.exits import Exit, exit_of
from compiler.cli.helptext import RUNNING_UNIT, epilog
from compiler.cli.newfile import write_new
from compiler.cli.observing import no_such_engine, of_a_server, say
from compiler.cli.session import catalogue_here, show
from compiler.cli.wholefile import file_or_stdout
from compiler.diagnostics import Diagnostic, error
from compiler.engines import DEFAULT
from compiler.engines.observers import observer_of
from compiler.host.asked import MeantServer, observe
from compiler.host.measuring import Field, parse_field, record
from compiler.host.promised import Promised


def _fields(
    _: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> Mapping[str, Field]:
    fields: dict[str, Field] = {}
    for each in value:
        parsed = parse_field(each)
        if isinstance(parsed, str):
            raise click.BadParameter(parsed, param=option)
        fields[parsed[0]] = parsed[1]
    return fields


@click.command(
    name="measure",
    epilog=epilog(
        f"{RUNNING_UNIT}, or give by --set what is asked for.",
        such_as=(
            "measure --unit kimi-k2.6 -o profiles/boots/ct200.toml",
            "measure --url http://127.0.0.1:30000 --profile k2.6-200k",
            "measure --log server.log --set gpu=h100 --set model=Qwen/Qwen3-32B",
        ),
    ),
)
@of_a_server
@click.option(
    "--set",
    "told",
    multiple=True,
    callback=_fields,
    shell_complete=completing.fields,
    metavar="NAME=VALUE",
    help="A field of the boot that nothing tells, such as gpu=ID.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=file_or_stdout,
    metavar="FILE",
    help="Write there, as profiles/boots/NAME.toml; else print it.",
)
@click.option("--overwrite", is_flag=True, help="Write over a file that is there.")
def command(
    asked: MeantServer,
    *,
    promised: Promised | Diagnostic | None,
    told: Mapping[str, Field],
    output: Path | None,
    overwrite: bool,
) -> int:
    """Record what a server's start measured, for later compiles.

    Its log is read, or its endpoints are asked. What they do not tell comes from its plan, or is given by --set.
    """
    if isinstance(promised, Diagnostic) and promised.code == "unit-unplanned":
        promised = None  # a hand-made unit can be measured as well; what is missing is asked for
    if isinstance(promised, Diagnostic):
        return _fail(promised)
    name = str(told.get("engine", DEFAULT if promised is None else promised.engine))
    observer = observer_of(name)
    if observer is None:
        return _fail(no_such_engine(name))
    observed = observe(asked, observer=observer, promised=promised, must_answer=False)
    say(observed.notes)
    if observed.fault is not None or observed.start is None:
        return _fail(*([observed.fault] if observed.fault else []))
    recorded = record(
        observed.start,
        source=observed.source,
        engine=name,
        observer=observer,
        promised=promised,
        told=told,
        catalog=catalogue_here(),
    )
    say(recorded.notes)
    if recorded.text is None:
        return _fail(*recorded.diagnostics)
    if output is None:
        sys.stdout.write(recorded.text)
        return Exit.OK
    fault = _write(output, recorded.text, overwrite=overwrite)
    if fault is not None:
        return _fail(fault)
    click.echo(f"wrote {output}")
    return Exit.OK


def _fail(*found: Diagnostic) -> Exit:
    show(found)
    return exit_of(found)


def _write(path: Path, text: str, *, overwrite: bool) -> Diagnostic | None:
    unwritten = write_new(path, text, overwrite=overwrite)
    if unwritten is not None:
        advice = ("give another name, or `--overwrite`",) if unwritten.is_there else ()
        return error("boot-unwritable", f"`{path}` {unwritten.why}", help=advice)
    return None
