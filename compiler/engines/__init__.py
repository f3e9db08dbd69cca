"""The engines: what each must answer (`engine`, `observing`, `adopting`), which there are (`known`, `observers`), and each one's own package."""

from __future__ import annotations

from typing import Final


DEFAULT: Final = "sglang"
"""The engine that is meant where a verb is told none."""
