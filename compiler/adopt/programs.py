"""What programs in front of a launch do with the words they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from compiler.adopt.launch import Word


PASSING: Final = frozenset(
    {"exec", "eval", "nohup", "env", "command", "time", "setsid", "tini", "dumb-init", "--", "-"}
)
"""They change nothing that a service of systemd would not do, too."""

RAISING: Final = frozenset({"sudo", "doas"})
"""They run it as another user."""

CARRIERS: Final = frozenset(
    {"tmux", "screen", "ssh", "su", "sg", "runuser", "pdsh", "pssh", "clush", "pm2"}
)
"""They may be given a whole command as one word."""

SAYING: Final = frozenset(
    {
        "echo",
        "printf",
        ":",
        "set",
        "trap",
        "alias",
        "cat",
        "grep",
        "egrep",
        "pgrep",
        "pkill",
        "logger",
        "log",
        "info",
        "die",
    }
)
"""To them a launch is text: a script that shows its launch before it starts it has one."""


def unset_by_env(
    environment: Mapping[str, Word], words: Sequence[Word]
) -> tuple[dict[str, Word], tuple[Word, ...]]:
    """The variables that `env -u NAME` and `env -i` leave, and the words without these options (env(1))."""
    left, kept = dict(environment), list[Word]()
    several = iter(words)
    is_env = False
    for word in several:
        text = word.text
        is_env = is_env or text.rpartition("/")[2] == "env"
        if not is_env or not text.startswith("-"):
            kept.append(word)
        elif text in {"-i", "--ignore-environment", "-"}:
            left = {}
        elif text in {"-u", "--unset"}:
            name = next(several, None)
            left.pop(name.text if name is not None else "", None)
        elif text.startswith(("-u", "--unset=")):
            left.pop(text.removeprefix("--unset=").removeprefix("-u"), None)
        else:
            kept.append(word)
    return left, tuple(kept)
