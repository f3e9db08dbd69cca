"""Durations as people write them: `"30min"`, `"1h 30min"`; and numbers with the word for what they count."""

from __future__ import annotations

import math
import re

from attrs import frozen


_DURATION_S = {"s": 1, "sec": 1, "min": 60, "h": 3600}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")


@frozen(order=True)
class Duration:
    """A length of time in whole seconds."""

    seconds: int

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read `"90s"`, `"30min"` or `"1h"`; one part may follow another (`"1h 30min"`).

        Raises:
            ValueError: with a sentence for the user, when the text is no duration.
        """
        rest = text.strip()
        parts = _QUANTITY.findall(rest)
        if not parts or _QUANTITY.sub("", rest).strip():
            raise ValueError(f"`{text}` is no duration; write it like `30min`, `90s` or `1h 30min`")
        seconds = 0.0
        for number, unit in parts:
            if unit not in _DURATION_S:
                raise ValueError(f"`{unit}` is no unit of time; there are `s`, `min` and `h`")
            seconds += float(number) * _DURATION_S[unit]
        if not math.isfinite(seconds):
            raise ValueError(f"`{text}` is too long")
        if seconds < 1:
            raise ValueError(f"`{text}` is less than a second")
        return cls(round(seconds))

    def __str__(self) -> str:
        """The shortest exact spelling: `90s`, `30min`, `2h`."""
        if self.seconds % 3600 == 0:
            return f"{self.seconds // 3600}h"
        if self.seconds % 60 == 0:
            return f"{self.seconds // 60}min"
        return f"{self.seconds}s"


def counted(count: float, what: str, *, plural: str = "", does: str = "") -> str:
    """A number with the word for what it counts: `1 GPU`, `2 GPUs`, `1,024 tokens`.

    `plural` is for a word that takes more than an s; `does` is what they do, as many of them do it (`run`).
    """
    is_one = count == 1
    noun = what if is_one else plural or f"{what}s"
    verb = f" {does}{'s' if is_one else ''}" if does else ""
    # No float holds a number of four hundred digits, which a damaged plan may have.
    number = f"{count:,}" if isinstance(count, int) else f"{count:,.0f}"
    return f"{number} {noun}{verb}"
