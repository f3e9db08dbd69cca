"""What the verbs of the host share: finding what is meant, showing how a load goes, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from errno import ELOOP
from os import strerror
from pathlib import Path
from typing import Any, TypeVar

import click

from compiler.cli.exits import Exit, exit_of
from compiler.cli.session import find_tree, print_json, show, width
from compiler.diagnostics import Diagnostic, error
from compiler.host.live import Live, Systemd
from compiler.host.staged import Staged, read_staged
from compiler.host.troubles import unreadable
from compiler.host.watch import Event
from compiler.report.contract import diagnostic_json
from compiler.workspace import OUT
from compiler.writtenplan import PLAN


SCHEMA = 1
"""The version of what `--json` prints."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def root_option(function: _Function) -> _Function:
    """`--root DIR`."""
    return click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
        default="/",
        help="Work on an image: only files and links below DIR; nothing is asked of systemd.",
    )(function)


def json_option(function: _Function) -> _Function:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")(
        function
    )


def yes_option(function: _Function) -> _Function:
    """`--yes`."""
    return click.option("--yes", is_flag=True, help="Do it without asking.")(function)


def read_tree(asked: str, out: Path | None) -> Staged | Diagnostic:
    """The compiled target that is meant: `OUT/PROFILE/TARGET`, `OUT/PROFILE`, or below `out` `PROFILE[/TARGET]`.

    Errors: those of `read_staged`, `host-unreadable`.
    """
    path = Path(asked)
    try:
        if out is not None:
            return _named(asked, out)
        if (path / PLAN).is_file():
            path = path.resolve()
            return read_staged(path.parent, path.name, target=None)
        whole = path.resolve()
        if whole.is_dir() and (whole.parent / PLAN).is_file():
            return read_staged(whole.parent.parent, whole.parent.name, target=whole.name)
        if path.exists() or path.is_absolute():
            return _no_target(asked)
        return _named(asked, _default_out())
    except (OSError, RuntimeError) as fault:  # a circle of links, before Python 3.13
        return unreadable(fault if isinstance(fault, OSError) else OSError(ELOOP, strerror(ELOOP)))


def _named(asked: str, out: Path) -> Staged | Diagnostic:
    profile, _, target = asked.rstrip("/").partition("/")
    return read_staged(out, profile, target=target or None)


def _default_out() -> Path:
    """`out` here, else that of the tree we stand in."""
    here = Path.cwd() / OUT
    workspace = None if here.is_dir() else find_tree(()).workspace
    return here if workspace is None else workspace.out


def _no_target(asked: str) -> Diagnostic:
    return error(
        "staged-missing",
        f"`{asked}` is no compiled target",
        notes=(f"that is a folder `OUT/PROFILE/TARGET`, with a `{PLAN}` above it",),
    )


def live_of(staged: Staged, root: Path) -> Live | None:
    """Who answers for the unit; nobody in an image."""
    return Systemd(service=staged.service) if root == Path("/") else None


def agreed(question: str, *, yes: bool) -> bool:
    """Whether to go on; asked of a terminal only."""
    if yes or not sys.stdin.isatty():
        return True
    return click.confirm(question, err=True)


def end(found: Sequence[Diagnostic], *, as_json: Mapping[str, Any] | None) -> Exit:
    """Show the findings, on stderr or with what else is to be printed as JSON; the exit code they come to."""
    if as_json is None:
        show(found)
    else:
        print_json({**as_json, "diagnostics": [diagnostic_json(each) for each in found]})
    return exit_of(found)


PLAIN_S = 5.0
"""Between two lines of one phase where a line cannot change: a load of 64 shards is no 64 lines of a log."""


class Progress:
    """How a load goes, on stderr: one line that changes on a terminal, else a line for each phase, and now and then one."""

    def __init__(self, *, moves: bool) -> None:
        self._moves = moves
        self._is_open = False
        self._last: Event | None = None

    def say(self, event: Event) -> None:
        """Show an event."""
        if self._moves:
            click.echo(f"\r\x1b[K{event.line[: width() - 1]}", err=True, nl=False)
            self._is_open = True
        elif event.is_new and self._is_due(event):
            self._last = event
            click.echo(event.line, err=True)

    def _is_due(self, event: Event) -> bool:
        last = self._last
        if last is None or last.phase is not event.phase:
            return True
        return not last.elapsed_s <= event.elapsed_s < last.elapsed_s + PLAIN_S

    def tell(self, sentence: str) -> None:
        """Show a sentence on a line of its own."""
        self.close()
        click.echo(sentence, err=True)

    def close(self) -> None:
        """End the line."""
        if self._is_open:
            click.echo(err=True)
            self._is_open = False


def progress() -> Progress:
    """For this run's stderr; a dumb terminal cannot go back in a line."""
    from os import environ  # noqa: PLC0415 - a look at the environment, as in `session`

    return Progress(moves=sys.stderr.isatty() and environ.get("TERM") not in (None, "", "dumb"))
