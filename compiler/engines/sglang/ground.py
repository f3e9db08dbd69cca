"""One profile with everything known about it but its fraction: what all of its sizes share, worked out once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

from attrs import evolve, fields, frozen

from compiler.engines.engine import Facts
from compiler.engines.sglang import promise
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.layouts import layouts
from compiler.engines.sglang.loading import as_loaded, as_repacked
from compiler.engines.sglang.pool import Layout
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.unfolding import NOTHING
from compiler.engines.sglang.weighing import Weighing
from compiler.facts import Gpu, Model
from compiler.profile import AUTO, Memory, Profile, Serve
from compiler.same import Same
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Ground(Value):
    """What sizing needs, with nothing missing but the fraction.

    Attributes:
        weighing: what is free, and what the weights take of it.
    """

    settings: Settings
    facts: Facts
    launch: Launch
    weighing: Weighing

    @property
    def profile(self) -> Profile:
        """The profile."""
        return self.settings.profile

    @property
    def gpu(self) -> Gpu:
        """The card."""
        return self.weighing.gpu

    @property
    def model(self) -> Model:
        """The model as it is loaded."""
        return self.weighing.model

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """How a rest becomes a pool, for each way the server may count its draft, likeliest first."""
        return self.weighing.layouts

    @cached_property
    def request_tokens(self) -> int:
        """Slots that one request of full context needs."""
        profile, launch, promised = self.profile, self.launch, self.facts.request_tokens
        return promise.request_tokens(
            profile, promised, width=launch.verify_width, page=launch.page
        )

    @cached_property
    def required_tokens(self) -> int:
        """Slots that one pool needs for the whole promise."""
        requests = self.profile.parallel.share(self.profile.serve.concurrency)
        if (kept := self.launch.hosted) is None:
            return self.request_tokens * requests
        return kept.required(self.request_tokens, requests=requests, page=self.launch.page)

    @cached_property
    def has_states(self) -> bool:
        """Whether a layer keeps states beside the pool of tokens."""
        return any(layout.states is not None for layout in self.layouts)


def make_ground(settings: Settings, facts: Facts, *, started: Launch) -> Ground:
    """Put together what sizing needs; GPU and model are known."""
    if facts.gpu is None or facts.model is None:
        raise ValueError("nothing to size without a GPU and a model")
    model = as_repacked(as_loaded(facts.model, settings), facts.gpu, version=started.version)
    pools = layouts(settings, started, model=model, release=facts.release)
    return Ground(
        settings=settings,
        facts=facts,
        launch=started,
        weighing=_weighing(settings, facts, model=model, started=started, layouts=pools),
    )


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


def _weighing(
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
