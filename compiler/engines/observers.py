"""Who understands the running server of each engine; nothing of how an engine is sized is loaded for that."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from compiler.engines.observing import Observer


_MODULES: Mapping[str, str] = {"sglang": "compiler.engines.sglang.log"}
"""Where each engine's `OBSERVER` is."""


def observer_of(engine: str | None) -> Observer | None:
    """The observer of an engine by its name; `None` for one that we do not know."""
    module = None if engine is None else _MODULES.get(engine)
    return None if module is None else cast("Observer", import_module(module).OBSERVER)
