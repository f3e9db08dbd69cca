"""One profile with everything known about it but its fraction: what all of its sizes share, worked out once."""

from __future__ import annotations

from functools import cached_property

from attrs import frozen

from compiler.engines.engine import Facts
from compiler.engines.sglang import promise
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.layouts import layouts
from compiler.engines.sglang.loading import as_loaded, as_repacked
from compiler.engines.sglang.pool import Layout
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.sharedweighing import weighing
from compiler.engines.sglang.weighing import Weighing
from compiler.facts import Gpu, Model
from compiler.profile import Profile
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
        weighing=weighing(settings, facts, model=model, started=started, layouts=pools),
    )
