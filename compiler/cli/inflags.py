"""The help of a refused launch command: the changes that mend it, as the flags that make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

from compiler.adopt.advice import in_flags, only_in_flags
from compiler.adopt.fitting import line_in
from compiler.adopt.form import Form
from compiler.checks.table import flags_of
from compiler.diagnostics import Diagnostic
from compiler.engines.engine import Asked, Engine, Facts, Spelled
from compiler.judged import Judged
from compiler.memory.outcome import MEMORY_CODES
from compiler.plan import Balance, Plan
from compiler.planner import balance_of, plan_of
from compiler.predict import OUTSIDE, Predictor, Question
from compiler.profile import Profile
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class _Again(Value):
    """Plans a command that gave a plan with other flags: what it picks by itself, it picks anew."""

    predictor: Predictor
    engine: Engine
    question: Question
    asked: Asked
    before: Plan

    def __call__(self, profile: Profile) -> Plan:
        profile, facts = self._completed(profile)
        return plan_of("", profile, facts, self.engine, spelled=self._added(profile))

    def balance(self, profile: Profile) -> Balance | None:
        profile, facts = self._completed(profile)
        return balance_of(profile, facts, self.engine)

    def _added(self, profile: Profile) -> Spelled:
        """What a change adds to the command: its other words its parser has taken, by whatever names they stand in it."""
        now, after = self._spelled(self.before.profile), self._spelled(profile)
        return evolve(
            after, options=tuple(each for each in after.options if each not in now.options)
        )

    def _spelled(self, profile: Profile) -> Spelled:
        fraction = profile.memory.fraction
        return self.engine.spell(
            profile,
            self.predictor.release,
            fraction=None if isinstance(fraction, str) else fraction,
        )

    def _completed(self, profile: Profile) -> tuple[Profile, Facts]:
        moved = profile.memory.fraction != self.before.profile.memory.fraction
        picked = self.asked.fraction_given or moved
        asked = evolve(self.asked, context_given=True, fraction_given=picked)
        return self.predictor.completed(profile, asked, self.question)


def with_flags(
    judged: Judged,
    predictor: Predictor,
    words: Sequence[str],
    question: Question,
    *,
    form: Form = Form.SHELL,
) -> Judged:
    """The same with what mends its memory, proved by predicting again; `form` is what the command stands in."""
    plan, found = judged.plan, judged.diagnostics
    engine, release = predictor.engine, predictor.release
    if engine is None or release is None:
        return judged
    if plan is not None and any(each.code in MEMORY_CODES for each in found):
        from compiler.remedy import advise  # noqa: PLC0415 - a command that passes does without it

        asked = predictor.asked(words, gpus=plan.profile.gpus)
        again = _Again(
            predictor=predictor, engine=engine, question=question, asked=asked, before=plan
        )
        found = advise(plan, found, replan=again, left_out=OUTSIDE)
    by_file = _CONFIG in release.flags
    flags = {
        **flags_of(engine, release, None if plan is None else plan.profile),
        **_PROMISES,
    }

    def lined(text: str) -> str:
        return line_in(text, form, by_file=by_file)

    return evolve(judged, diagnostics=tuple(_told(each, flags, lined) for each in found))


_NAMES = frozenset(
    {"gpu-unknown", "model-unknown", "draft-unknown", "release-unknown", "build-unknown"}
)
"""What was named by an option or in the command, and how to describe it: no flag mends that."""

_ITSELF: Mapping[str, tuple[str, ...]] = {
    "model-unknown": (
        "say what it is: `--model-config FILE`, its config.json; or `--checkpoint DIR`, its files, whose headers price its weights, too",
    ),
    "gpu-unknown": ("say what it has: `--gpu custom --gpu-memory GIB`",),
}
"""What the prediction itself takes in the place of what nobody described."""

_PROMISES = {"serve.concurrency": "--concurrency"}
"""What no flag of a server says, and an option does."""


_CONFIG = "--config"
"""The flag of a file that may hold a key: a release without it reads none from a file."""


def _told(found: Diagnostic, flags: Mapping[str, str], lined: Callable[[str], str]) -> Diagnostic:
    """What memory asks for was found among flags; of other advice, what flags and variables can follow."""
    if found.code in _NAMES:
        return evolve(found, help=(*_ITSELF.get(found.code, ()), *found.help))
    told = (
        in_flags(found, flags)
        if found.code in MEMORY_CODES
        else only_in_flags(found, flags, then=lined)
    )
    return evolve(told, summary=lined(told.summary), notes=tuple(map(lined, told.notes)))
