"""The engines we know, by name. Adding one is a package beside `sglang` and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.engines.sglang import SGLANG


if TYPE_CHECKING:
    from collections.abc import Mapping

    from compiler.engines.engine import Engine


ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (SGLANG,)}
