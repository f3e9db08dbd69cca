"""Text that has broken somebody's quoting before, for property tests and for the real programs alike."""

from __future__ import annotations

import random

from hypothesis import strategies as st


PIECES = (
    *"ab \\\"'$%{}#;`()[]<>|&!~*?=:,-@+^\n\t\r\x01\x1b\x7f\x0b\x0c",
    *("é", "日", "😀", "\u0085", "\u2028", "\u00a0", "\ufeff"),
    *(
        "${T_0}",
        "$T_0",
        "$(x)",
        "%n",
        "%h",
        "%%",
        "\\n",
        "\\x41",
        "\\\n",
        " \\",
        "--x",
        "export ",
        "[Service]",
        "\n[Unit]\n",
    ),
)
"""Single characters and little sequences that mean something to systemd, to env files or to a shell."""

UNWRITABLE = ("\0", "\ud800", "\udcff", "\ufdd0", "\uffff", "\U0010fffe")
"""What no file of ours can hold."""

texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
any_texts = st.lists(st.sampled_from((*PIECES, *UNWRITABLE)), max_size=8).map("".join)
names = st.from_regex(r"T_[A-Za-z0-9_]{0,6}", fullmatch=True)


def draw(count: int, *, seed: int, most: int = 14) -> list[str]:
    """The same `count` texts for the same seed, for programs that are too slow to be asked one text at a time."""
    dice = random.Random(seed)
    return [
        "".join(dice.choice(PIECES) for _ in range(dice.randint(0, most))) for _ in range(count)
    ]
