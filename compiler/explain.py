"""The code of a finding goes in; its explanation page comes out. Every code has one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


_PAGES = Path(__file__).parent / "pages"
_SUFFIX = ".md"


def codes() -> tuple[str, ...]:
    """Every code that a finding may have, sorted."""
    return tuple(sorted(each.stem for each in _PAGES.glob(f"*{_SUFFIX}")))


def page(code: str) -> str | None:
    """The page of a code, Markdown that ends in a newline; `None` when no finding has the code."""
    if code not in codes():
        return None
    return (_PAGES / f"{code}{_SUFFIX}").read_text("utf-8")


def meanings() -> Mapping[str, str]:
    """Every code with what it means: the sentence at the beginning of its page."""
    texts = {each: (_PAGES / f"{each}{_SUFFIX}").read_text("utf-8") for each in codes()}
    return {code: " ".join(text.split("\n\n")[1].split()) for code, text in texts.items()}
