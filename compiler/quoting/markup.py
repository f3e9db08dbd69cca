"""Encoders for XML and HTML: text, the value of an attribute in double quotes, and a number."""

from __future__ import annotations

import re
from functools import lru_cache

from compiler.quoting.encoders import Encoded


# XML 1.0 (2.2 Characters) has no way to write these, not even as references. None is printable; most texts are, and do
# without the pattern, which Python takes long to compile.
_NO_CHARACTER = "[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
_IN_MARKUP = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\r": "&#13;"}
)


@lru_cache(maxsize=4096)  # the drawings of a tree's services name much the same parts
def markup_text(value: str) -> Encoded:
    """Text between tags, or the value of an attribute in quotes; what XML cannot hold is shown as `U+FFFD`."""
    if not value.isprintable():
        value = re.sub(_NO_CHARACTER, "\ufffd", value)
    return Encoded(value.translate(_IN_MARKUP))


def markup_prose(value: str) -> Encoded:
    """Text between tags, in which what stands in single backticks is code."""
    parts = re.split(r"(?<!`)`([^`\n]+)`(?!`)", value)
    return Encoded(
        "".join(
            f"<code>{markup_text(part)}</code>" if number % 2 else markup_text(part)
            for number, part in enumerate(parts)
        )
    )


@lru_cache(maxsize=4096)  # what is beside the bars has the same place in most drawings
def markup_number(value: float) -> Encoded:
    """A length or a place in a drawing, to a tenth: the same text whatever the last bits are."""
    text = f"{value:.1f}".removesuffix(".0")
    return Encoded("0" if text == "-0" else text)


def markup_whole(value: str) -> Encoded:
    """A drawing that a template of ours made, set into a page as it is.

    Raises:
        ValueError: when it is no drawing.
    """
    if not value.startswith("<svg ") or not value.endswith("</svg>\n"):
        raise ValueError(f"{value[:40]!r} is no drawing")
    return Encoded(value)
