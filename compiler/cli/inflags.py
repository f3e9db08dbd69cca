"""The help of a refused launch command: the changes that mend it, as the flags that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from compiler.adopt.advice import in_flags
from compiler.engines import ENGINES
from compiler.facts import Release
from compiler.judged import Judged
from compiler.predict import DEPLOYMENT, Predictor, Question
from compiler.remedy import advise


def with_flags(
    judged: Judged, predictor: Predictor, words: Sequence[str], question: Question
) -> Judged:
    """The same with what mends its memory, proved by predicting again."""
    plan = judged.plan
    if plan is None or plan.memory is None or predictor.release is None:
        return judged
    advised = advise(
        plan,
        judged.diagnostics,
        replan=predictor.replanner(words, question, plan),
        left_out=DEPLOYMENT,
    )
    flags = _flags(question.engine, predictor.release)
    return evolve(judged, diagnostics=tuple(in_flags(each, flags) for each in advised))


def _flags(engine: str, release: Release) -> Mapping[str, str]:
    """What a release calls the flag of each setting."""
    return {
        setting: name
        for name, setting in reversed(list(ENGINES[engine].owned_flags().items()))
        if name in release.flags or name in release.aliases
    }
