"""The command. One verb a file, imported when it is used; here is the way in and out."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from compiler.cli.exits import Exit
from compiler.cli.streams import StreamFailed, bear_lost_readers


if TYPE_CHECKING:
    from traceback import FrameSummary

_WHOLE = frozenset({Exit.OK, Exit.REFUSED, Exit.STALE, Exit.DIFFERENT})
"""Codes of runs that came to their end."""


def command() -> NoReturn:
    """Run the command line in a process of its own, and end the process.

    One that came to its end is left as it stands, as mypy does: Python would free what it holds object by object, which takes a
    thirtieth of a cold `check`. One that was cut off ends as usual, so that what it began elsewhere is ended too.
    """
    try:
        main()
    except SystemExit as end:
        if end.code not in _WHOLE:
            raise
        sys.stderr.flush()
        os._exit(Exit(end.code))


def main() -> NoReturn:
    """Run the command line and exit; a fault of ours says so and exits 70."""
    # A run is short and makes few cycles: collecting them while a thousand classes load costs more than it frees.
    gc.set_threshold(400_000, 50, 50)
    bear_lost_readers()
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = Exit.INTERRUPTED
    except StreamFailed as fault:
        print(f"the output cannot be written: {fault}", file=sys.stderr)
        code = Exit.MACHINE
    except Exception as bug:  # noqa: BLE001 - whatever comes here is a bug, and must say so
        if isinstance(bug, FileNotFoundError) and _is_nowhere():
            print("the working directory is not there any more: go to one that is", file=sys.stderr)
            code = Exit.REFUSED
        else:
            _report_bug(bug)
            code = Exit.BUG
    gc.freeze()  # nobody misses what cycles hold; looking for them on the way out takes a fifteenth of a `check`
    sys.exit(code)


def _run() -> int:
    import click  # noqa: PLC0415 - so that an interrupt while importing ends well, too

    from compiler.cli.commands import load_verb, poolproof  # noqa: PLC0415 - as above

    load_verb(sys.argv[1:])

    try:
        return poolproof.main(prog_name="poolproof", standalone_mode=False) or Exit.OK
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except click.Abort:  # what click makes of an interrupt
        raise KeyboardInterrupt from None


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _report_bug(bug: Exception) -> None:
    import traceback  # noqa: PLC0415 - on this path only

    from compiler import __version__  # noqa: PLC0415 - on this path only

    if "--debug" in sys.argv:
        traceback.print_exception(bug)
    print(
        f"poolproof {__version__}: this is a bug in Poolproof, not in your profiles\n"
        f"  {type(bug).__name__}: {bug}\n"
        f"  in {_place(traceback.extract_tb(bug.__traceback__))}\n"
        "  please report it with the profile that shows it; `poolproof --debug ...` prints the traceback",
        file=sys.stderr,
    )


def _place(frames: list[FrameSummary]) -> str:
    """The innermost place of our own, since below it somebody else's code did as it was told."""
    package = __file__.removesuffix("cli/__init__.py")
    ours = [each for each in frames if each.filename.startswith(package)]
    last = (ours or frames)[-1]
    return f"{last.name} ({last.filename.removeprefix(package)}:{last.lineno})"
