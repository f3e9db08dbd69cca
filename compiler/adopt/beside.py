"""The commands of a script go in; what is said of those that are not its launch comes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from compiler.adopt.launch import Change, Command
from compiler.adopt.limits import command_in_unit
from compiler.engines.adopting import ChangeKind


_NO_LOSS = frozenset(
    {
        *("set", "shift", "export", "echo", "printf", "read", "wait", "sleep", "exit", "return"),
        *("break", "continue", "true", "false", "test", "[", "[[", ":", "dirname", "exec"),
        *("pwd", "hostname", "date", "basename", "realpath", "readlink", "id", "whoami", "nproc"),
        *("head", "tail", "wc", "cut", "tr", "seq", "sort", "getopts", "nvidia-smi"),
    }
)
"""Commands that leave nothing behind which a launch could need."""
_RUNNING = re.compile(r"(?:.*/)?(?:python[\d.]*|bash|sh|pip[\d.]*|patch)")
"""Programs of which the first word says what they do."""
_PLAIN = re.compile(r"[\w./-]+")


def other_commands(commands: Iterable[Command], is_own: Callable[[Command], bool]) -> Change | None:
    """A word about the other commands of a script; `is_own` tells the launch."""
    others = [
        each
        for each in commands
        if each.words
        and not each.is_untaken
        and each.words[0].text not in _NO_LOSS
        and not _activates(each)
        and not command_in_unit([word.text for word in each.words])
        and not each.words[0].text.startswith("--")
        and not is_own(each)
    ]
    if not others:
        return None
    names = dict.fromkeys(f"`{_shown(each)}`" for each in others)
    text = f"the script's other commands are not carried: {', '.join(names)}"
    return Change(kind=ChangeKind.DROPPED, text=text, span=others[0].words[0].span, first=True)


def _activates(command: Command) -> bool:
    """Whether it is the step into a virtual environment: `engine.python` has that."""
    first, *rest = command.words
    return (
        first.text in {"source", "."}
        and bool(rest)
        and rest[0].text.endswith("/bin/activate")
        and not any(each.unknown for each in rest)
    )


def _shown(command: Command) -> str:
    """A program, and what it runs where that says more; no word that may hold a secret."""
    first, *rest = (word.text for word in command.words)
    behind = next((each for each in rest if not each.startswith("-")), "")
    told = _RUNNING.fullmatch(first) is not None and _PLAIN.fullmatch(behind) is not None
    return f"{first} {behind}" if told else first
