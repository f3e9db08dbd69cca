"""Planning a service again with other settings."""

from __future__ import annotations

from collections.abc import Hashable

from attrs import define, evolve, field

from compiler.catalog import Catalog
from compiler.engines.engine import Engine, Facts
from compiler.engines.known import ENGINES
from compiler.engines.sized import Sizer
from compiler.plan import Balance, Plan
from compiler.planner import balance_of, look_up, plan_of
from compiler.profile import AUTO, Profile
from compiler.remedy.change import movable
from compiler.remedy.trials import once
from compiler.unknown import Unknown


@define(kw_only=True)
class Replanner:
    """Plans a service with other settings: what a remedy would give. Those that differ in the fraction alone share their work."""

    plan: Plan
    catalog: Catalog
    _sizers: dict[Hashable, Sizer] = field(factory=dict, init=False)
    _known: dict[str | None, tuple[Facts, tuple[Unknown, ...]]] = field(factory=dict, init=False)

    def balance(self, profile: Profile) -> Balance | None:
        """What both budgets of that plan come to, in a third of the time; `None` where its memory is not known."""
        facts, _ = self._look_up(profile)
        engine = ENGINES.get(profile.engine.name)
        return balance_of(profile, facts, engine, sizer_of=self._sizer_of)

    def __call__(self, profile: Profile) -> Plan:
        """The plan of a profile that differs from the service's own in what levers move, and in nothing else."""
        before = self.plan
        profile = evolve(profile, targets={})
        facts, unknowns = self._look_up(profile)
        engine = ENGINES.get(profile.engine.name)
        after = plan_of(
            before.profile_name, profile, facts, engine, unknowns, sizer_of=self._sizer_of
        )
        return evolve(
            after, target_name=before.target_name, target=before.target, service=before.service
        )

    def _look_up(self, profile: Profile) -> tuple[Facts, tuple[Unknown, ...]]:
        """What is known of it: of all that a profile is looked up by, levers move the draft alone."""
        draft = profile.speculative.draft if profile.speculative is not None else None
        if draft not in self._known:
            facts, unknowns, _ = look_up(profile, self.catalog)
            self._known[draft] = facts, unknowns
        return self._known[draft]

    def _sizer_of(self, engine: Engine, profile: Profile, facts: Facts) -> Sizer:
        any_fraction = evolve(profile, memory=evolve(profile.memory, fraction=AUTO))
        return once(self._sizers, movable(any_fraction), lambda: engine.sizer(profile, facts))
