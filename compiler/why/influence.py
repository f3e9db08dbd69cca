"""Which settings and which facts a part of a plan depends on.

Nobody keeps a table of that: it is asked of the planner itself. Each setting and each figure of the catalogue is changed a
little, one at a time, and what comes out otherwise depends on it. So the answer is right whatever the formulas are. What
only counts beyond a limit that is not reached is not named: it made nothing of what stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from compiler.engines.engine import Engine, Facts
from compiler.engines.sized import Fixed, Sized, Sizer
from compiler.origins import dotted
from compiler.plan import Balance, Plan
from compiler.planner import SizerOf, new_sizer, plans_of
from compiler.profile import Profile
from compiler.value import Value
from compiler.why.reckoned import reckoned
from compiler.why.variants import variants


_ENGINE = ("engine", "name")
"""With another engine everything would be another; it is named where it is shown."""

Parts = Mapping[str, object]
"""Pieces of what is written, by a path that stays the same when others come or go."""


@frozen(kw_only=True, eq=False, repr=False, order=False)
class Source(Value):
    """What a part depends on: a setting (`memory.fraction`), or a key of a fact (`model`, `attention.kv_lora_rank`)."""

    setting: str | None = None
    fact: str | None = None
    key: str = ""

    @property
    def order(self) -> tuple[bool, str, str]:
        """Sorts settings before facts."""
        return (self.setting is None, self.setting or self.fact or "", self.key)


def influences(
    name: str,
    profile: Profile,
    facts: Facts,
    *,
    versions: tuple[str, ...] = (),
    parts_of: Callable[[tuple[Plan, ...]], Parts],
) -> Mapping[str, tuple[Source, ...]]:
    """For each part what it depends on, settings first; nothing for what is the same whatever is changed.

    `versions` are releases of the engine to try in the place of the profile's own.
    """
    plans = plans_of(name, profile, facts)
    base, sized = parts_of(plans), plans[0].memory is not None
    ask = Ask(name=name, sizer_of=_sizer_of(name, profile, facts, base, parts_of))
    found: dict[str, list[Source]] = {part: [] for part in base}

    def note(source: Source, tries: Iterable[Planning], among: Iterable[str]) -> None:
        same = set(among)
        for planning in tries:
            if not same:
                break
            parts = _parts(planning, parts_of, sized=sized)
            changed = {part for part in same if _differs(part, base, parts)}
            for part in changed:
                found[part].append(source)
            same -= changed

    for source, tries in (
        *_tried(ask, profile, facts),
        *_other_releases(ask, profile, facts, versions),
    ):
        note(source, tries, base)
    # A setting that nobody sets has a value all the same where the plan works one out; with any other much would be
    # another, so that it is named only where nothing else makes what stands there.
    reckoned_with = reckoned(plans)
    unset = list(_unset(ask, profile, facts))
    for source, tries in unset:
        if source.setting in reckoned_with:
            note(source, tries, base)
    left = [part for part, several in found.items() if not any(each.setting for each in several)]
    for source, tries in unset:
        if source.setting not in reckoned_with:
            note(source, tries, left)
    return {
        part: tuple(sorted(several, key=lambda each: each.order)) for part, several in found.items()
    }


@frozen(kw_only=True, eq=False, repr=False)
class Ask(Value):
    """How a changed profile is planned."""

    name: str
    sizer_of: SizerOf


def _sizer_of(
    name: str,
    profile: Profile,
    facts: Facts,
    base: Parts,
    parts_of: Callable[[tuple[Plan, ...]], Parts],
) -> SizerOf:
    """Where sizes come from: where no part changes when all of the size does, none is worked out again.

    Most of the time of a plan goes into its size, and the lines of a unit seldom hang on it.
    """
    sizes: list[Sized] = []

    def noting(engine: Engine, profile: Profile, facts: Facts) -> Sizer:
        return _Noting(sizer=new_sizer(engine, profile, facts), sizes=sizes)

    plans_of(name, profile, facts, sizer_of=noting)
    if not sizes:
        return new_sizer
    other = Fixed(sized=_another(sizes[-1]))
    planning = _planning(Ask(name=name, sizer_of=lambda *_: other), profile, facts)
    if _parts(planning, parts_of, sized=False) != base:
        return new_sizer
    same = Fixed(sized=sizes[-1])
    return lambda *_: same


@frozen(kw_only=True, eq=False, repr=False)
class _Noting(Value):
    """Sizes as another does, and notes what came of it."""

    sizer: Sizer
    sizes: list[Sized]

    def __call__(self, fraction: float) -> Sized:
        self.sizes.append(self.sizer(fraction))
        return self.sizes[-1]

    def balance(self, fraction: float) -> Balance | None:
        return self.sizer.balance(fraction)

    def least_spare(self, fraction: float) -> tuple[float, ...] | None:
        return self.sizer.least_spare(fraction)

    def nearly_least(self) -> float | None:
        return self.sizer.nearly_least()


def _another(sized: Sized) -> Sized:
    """A size with nothing in it the same."""
    return Sized(
        memory=None,
        required_tokens=sized.required_tokens + 1,
        verify_width=sized.verify_width + 1,
        running_requests=(sized.running_requests or 0) + 1,
        sized_for=(sized.sized_for or 0) + 1,
        attention_backend=f"{sized.attention_backend}, another",
        prefill_chunk=(sized.prefill_chunk or 0) + 1,
        assumptions=("another",),
    )


def _differs(part: str, base: Parts, other: Parts | None) -> bool:
    return other is not None and other.get(part) != base[part]


Planning = Callable[[], tuple[Plan, ...]]


def _parts(
    planning: Planning, parts_of: Callable[[tuple[Plan, ...]], Parts], *, sized: bool
) -> Parts | None:
    """The parts of what was tried; `None` when it makes no sense to the planner, or is nothing that it can size."""
    try:
        plans = planning()
        return None if sized and plans[0].memory is None else parts_of(plans)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def _tried(ask: Ask, profile: Profile, facts: Facts) -> Iterator[tuple[Source, list[Planning]]]:
    for variant in variants(profile, facts=False):
        if variant.path[0] != "accept" and variant.path != _ENGINE and not variant.is_unset:
            yield (
                Source(setting=dotted(variant.path)),
                [_planning(ask, changed, facts) for changed in variant.wholes],
            )
    for fact, whole, put in _facts(facts):
        for variant in variants(whole, facts=True):
            yield (
                Source(fact=fact, key=".".join(variant.path)),
                [_planning(ask, profile, put(changed)) for changed in variant.wholes],
            )


def _unset(ask: Ask, profile: Profile, facts: Facts) -> Iterator[tuple[Source, list[Planning]]]:
    """The settings that nobody sets, each with some value."""
    for variant in variants(profile, facts=False):
        if variant.is_unset:
            yield (
                Source(setting=dotted(variant.path)),
                [_planning(ask, changed, facts) for changed in variant.wholes],
            )


def _other_releases(
    ask: Ask, profile: Profile, facts: Facts, versions: tuple[str, ...]
) -> Iterator[tuple[Source, list[Planning]]]:
    """Another release counts memory in another way, by the same flags."""
    if facts.release is not None:
        others = [
            evolve(facts.release, version=version, read_version=version) for version in versions
        ]
        yield (
            Source(setting="engine.version"),
            [_planning(ask, profile, evolve(facts, release=other)) for other in others],
        )


def _planning(ask: Ask, profile: Profile, facts: Facts) -> Planning:
    return lambda: plans_of(ask.name, profile, facts, sizer_of=ask.sizer_of)


Put = Callable[[Any], Facts]


def _facts(facts: Facts) -> Iterator[tuple[str, object, Put]]:
    """The facts that are known, each with how to put another in its place."""
    for name in ("gpu", "model", "draft"):
        if getattr(facts, name) is not None:
            yield name, getattr(facts, name), _putting(facts, name)
    release = facts.release
    if release is not None and release.build is not None:
        yield (
            "build",
            release.build,
            lambda build: evolve(facts, release=evolve(release, build=build)),
        )
    for place, known in enumerate(facts.boots):
        yield known.boot.name, known.boot, _putting_boot(facts, place)


def _putting(facts: Facts, name: str) -> Put:
    return lambda value: evolve(facts, **{name: value})


def _putting_boot(facts: Facts, place: int) -> Put:
    def put(boot: Any) -> Facts:  # noqa: ANN401 - a boot
        known = evolve(facts.boots[place], boot=boot)
        return evolve(facts, boots=(*facts.boots[:place], known, *facts.boots[place + 1 :]))

    return put
