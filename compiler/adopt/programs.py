"""What programs in front of a launch do with the words they are given."""

from __future__ import annotations

from typing import Final


PASSING: Final = frozenset(
    {"exec", "eval", "nohup", "env", "command", "time", "setsid", "tini", "dumb-init", "--", "-"}
)
"""They change nothing that a service of systemd would not do, too."""

RAISING: Final = frozenset({"sudo", "doas"})
"""They run it as another user."""

CARRIERS: Final = frozenset({"tmux", "screen", "ssh", "su", "sg", "runuser"})
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
