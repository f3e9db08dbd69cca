"""The engines we know, by name. Adding one is a package beside `sglang`, a line here, and one in `observers`."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.engines.engine import Engine
from compiler.engines.sglang.answering import SGLANG


ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (SGLANG,)}
