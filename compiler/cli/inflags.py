"""The help of a refused launch command: the changes that mend it, as the flags that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from compiler.adopt.advice import in_flags, only_in_flags
from compiler.diagnostics import Diagnostic
from compiler.engines.engine import Asked, Facts
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.judged import Judged
from compiler.memory.outcome import MEMORY_CODES
from compiler.plan import Balance, Plan
from compiler.planner import balance_of, plan_of
from compiler.predict import DEPLOYMENT, Predictor, Question
from compiler.profile import Profile
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class _Again(Value):
    """Plans a command that gave a plan with other flags: what it picks by itself, it picks anew."""

    predictor: Predictor
    question: Question
    asked: Asked
    before: Plan

    def __call__(self, profile: Profile) -> Plan:
        profile, facts = self._completed(profile)
        return plan_of("", profile, facts, self.predictor.engine)

    def balance(self, profile: Profile) -> Balance | None:
        profile, facts = self._completed(profile)
        return balance_of(profile, facts, self.predictor.engine)

    def _completed(self, profile: Profile) -> tuple[Profile, Facts]:
        moved = profile.memory.fraction != self.before.profile.memory.fraction
        picked = self.asked.fraction_given or moved
        asked = evolve(self.asked, context_given=True, fraction_given=picked)
        return self.predictor.completed(profile, asked, self.question)


def with_flags(
    judged: Judged, predictor: Predictor, words: Sequence[str], question: Question
) -> Judged:
    """The same with what mends its memory, proved by predicting again."""
    plan, found = judged.plan, judged.diagnostics
    if predictor.release is None:
        return judged
    if plan is not None and any(each.code in MEMORY_CODES for each in found):
        from compiler.remedy import advise  # noqa: PLC0415 - a command that passes does without it

        asked = predictor.asked(words, gpus=plan.profile.gpus)
        again = _Again(predictor=predictor, question=question, asked=asked, before=plan)
        found = advise(plan, found, replan=again, left_out=DEPLOYMENT)
    flags = _flags(question.engine, predictor.release)
    return evolve(judged, diagnostics=tuple(_told(each, flags) for each in found))


_NAMES = frozenset({"gpu-unknown", "model-unknown", "draft-unknown"})
"""What was named by an option or in the command, and how to describe it: no flag mends that."""


def _told(found: Diagnostic, flags: Mapping[str, str]) -> Diagnostic:
    """What memory asks for was found among flags; of other advice, what flags can follow."""
    if found.code in _NAMES:
        return found
    return in_flags(found, flags) if found.code in MEMORY_CODES else only_in_flags(found, flags)


def _flags(engine: str, release: Release) -> Mapping[str, str]:
    """What a release calls the flag of each setting."""
    return {
        setting: name
        for name, setting in reversed(list(ENGINES[engine].owned_flags().items()))
        if name in release.flags or name in release.aliases
    }
