"""The engines we know, by name. Adding one is a package beside `sglang`, and a line here.

`observers` has another line for one whose running server is understood, `adding` for one whose wheels are read.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.engines.engine import Engine
from compiler.engines.sglang.answering import SGLANG


ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (SGLANG,)}
