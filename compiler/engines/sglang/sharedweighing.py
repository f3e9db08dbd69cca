"""One weighing for all profiles that differ in nothing it hangs on: a search asks for hundreds, most with the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

from attrs import evolve, fields

from compiler.engines.engine import Facts
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.pool import Layout
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.unfolding import NOTHING
from compiler.engines.sglang.weighing import Weighing
from compiler.facts import Model
from compiler.profile import AUTO, Memory, Profile, Serve
from compiler.same import Same


_ANY_SETTINGS: Mapping[str, Any] = {
    "serve": Serve(context=1, concurrency=1),
    "memory": Memory(fraction=AUTO),
}
_ANY_START: Mapping[str, Any] = {
    "chunk": 0,
    "context": 0,
    "running_requests": None,
    "graph_max_batch": 0,
    "graph_batches": (),
    "prefill_graph_tokens": 0,
    "unfolding": NOTHING,
    "automatic_fraction": 0.0,
}
"""What nothing here may hang on, with values that would be seen."""


def _others(kind: type, left_out: Mapping[str, Any]) -> Callable[[object], object]:
    """What takes all fields of one of a class but some."""
    return attrgetter(*(each.name for each in fields(kind) if each.name not in left_out))


_OF_PROFILE, _OF_LAUNCH = _others(Profile, _ANY_SETTINGS), _others(Launch, _ANY_START)


def weighing(
    settings: Settings, facts: Facts, *, model: Model, started: Launch, layouts: tuple[Layout, ...]
) -> Weighing:
    """What is known before the pool is sized; the last one by the same facts, where nothing that it hangs on has changed.

    What is served, the memory table, and what a launch makes of them are taken out, so that whoever reads them here reads
    nothing, in the first profile as in any other.
    """
    if facts.gpu is None:
        raise ValueError("nothing to weigh without a GPU")
    key = (_OF_PROFILE(settings.profile), settings.flags, _OF_LAUNCH(started), model, layouts)
    last = _last_weighings(Same(facts))
    if last and last[0][0] == key:
        return last[0][1]
    made = Weighing(
        settings=evolve(settings, profile=evolve(settings.profile, **_ANY_SETTINGS)),
        facts=facts,
        gpu=facts.gpu,
        model=model,
        launch=evolve(started, **_ANY_START),
        layouts=layouts,
    )
    last[:] = [(key, made)]
    return made


@lru_cache(maxsize=4)
def _last_weighings(facts: Same[Facts]) -> list[tuple[object, Weighing]]:  # noqa: ARG001 - each has its own
    """The last one by these facts: a search asks for hundreds of profiles, most with the same."""
    return []
