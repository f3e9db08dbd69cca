"""The command. One verb a file, imported when it is used; here is the way in and out."""

from __future__ import annotations

import sys
from typing import NoReturn

from compiler.cli.exits import Exit


def main() -> NoReturn:
    """Run the command line and exit; a fault of ours says so and exits 70."""
    import click  # noqa: PLC0415 - so that an interrupt while importing ends well, too

    from compiler.cli.commands import poolproof  # noqa: PLC0415 - as above

    try:
        sys.exit(poolproof.main(prog_name="poolproof", standalone_mode=False) or Exit.OK)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        _close_quietly()
        sys.exit(Exit.OK)
    except Exception as bug:  # noqa: BLE001 - whatever comes here is a bug, and must say so
        _report_bug(bug)
        sys.exit(Exit.BUG)


def _close_quietly() -> None:
    """The reader went away (`| head`): say nothing when the interpreter flushes at its end."""
    import os  # noqa: PLC0415 - on this path only

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_bug(bug: Exception) -> None:
    import traceback  # noqa: PLC0415 - on this path only

    from compiler import __version__  # noqa: PLC0415 - on this path only

    if "--debug" in sys.argv:
        traceback.print_exception(bug)
    last = traceback.extract_tb(bug.__traceback__)[-1]
    where = f"{last.name} ({last.filename.rpartition('compiler')[2].lstrip('/')}:{last.lineno})"
    print(
        f"poolproof {__version__}: this is a bug in Poolproof, not in your profiles\n"
        f"  {type(bug).__name__}: {bug}\n"
        f"  in {where}\n"
        "  please report it with the profile that shows it; `--debug` prints the traceback",
        file=sys.stderr,
    )
