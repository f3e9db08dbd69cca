"""The reference of settings is the one that the types give."""

from __future__ import annotations

from pathlib import Path

from compiler.language.settings import all_settings
from compiler.reference import reference


DOCS = Path(__file__).parent.parent / "docs"


def test_the_reference_is_current() -> None:
    """docs/settings.md is what `python -m compiler.reference` writes."""
    text = "".join(f"{line}\n" for line in reference())
    assert (DOCS / "settings.md").read_text("utf-8") == text


def test_every_setting_is_in_the_reference() -> None:
    """A new setting shows up in the reference by itself."""
    text = "\n".join(reference())
    assert all(f"`{each.path[-1]}`" in text or each.path[-1] == "*" for each in all_settings())
