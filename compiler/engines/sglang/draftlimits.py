"""What is not known of a draft, so that memory is not judged; in the words of the output."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.engine import Facts
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.speculation import DSPARK, DSPARK_SINCE, NGRAM, STANDALONE, STEPWISE
from compiler.facts import Compressed
from compiler.profile import Profile
from compiler.unknown import Unknown


def draft_unknowns(settings: Settings, facts: Facts) -> Iterator[Unknown]:
    """What keeps its memory from being priced."""
    profile = settings.profile
    asked = profile.speculative
    if asked is None or asked.algorithm == NGRAM:
        return
    if asked.algorithm == DSPARK:
        yield from _dspark(settings, facts)
        return
    if facts.draft is not None:
        if facts.draft.algorithms == (STANDALONE,) and asked.algorithm != STANDALONE:
            yield _draft_unknown(profile)  # a whole model, which drafts by itself only
        elif facts.model is not None and isinstance(facts.model.attention, Compressed):
            yield _unpriced(asked.algorithm, _BESIDE_COMPRESSED)
        return
    if asked.algorithm not in STEPWISE:
        if asked.draft or asked.draft_path:
            yield _draft_unknown(profile)
        return
    own = facts.model is not None and facts.model.nextn is not None
    if names_another(profile):
        yield _draft_unknown(profile)
    elif facts.model is not None and (not own or asked.algorithm == STANDALONE):
        yield _unpriced(
            asked.algorithm, "which draft it uses: the model has no extra layers of its own"
        )


_BESIDE_COMPRESSED = "the pool of a draft of its own beside attention that compresses over time"


# A draft that `fa4` runs has its pool in 16 bits beside one in fp8, and its price may not (0.5.16 to 0.5.23
# mem_cache/kv_cache_dtype.py, `configure_kv_cache_dtype`; speculative/draft_worker_common.py takes the target's backend).
_SIXTEEN_BITS = frozenset({"auto", "bfloat16", "bf16"})
_DRAFT_BACKENDS = ("speculative-draft-attention-backend", "prefill-attention-backend")


def _has_other_kv(asked: Settings) -> bool:
    """Whether a draft may keep its KV in another number format than the target."""
    backend = asked.word(*_DRAFT_BACKENDS) or asked.profile.engine.attention_backend
    return asked.profile.memory.kv_dtype not in _SIXTEEN_BITS and backend == "fa4"


def _dspark(asked: Settings, facts: Facts) -> Iterator[Unknown]:
    profile = asked.profile
    version, model = profile.engine.version, facts.model
    if not at_least(version, DSPARK_SINCE):
        yield _unpriced(DSPARK, f"sglang {version} does not know it")
    elif profile.parallel.pipeline > 1:
        yield _unpriced(DSPARK, "which of the pipeline's stages has its draft")
    elif facts.draft is not None:
        if DSPARK not in facts.draft.algorithms:
            made = " and ".join(f"`{each}`" for each in facts.draft.algorithms)
            yield _unpriced(DSPARK, f"the Markov head of `{facts.draft.id}`, which is for {made}")
        if model is not None and isinstance(model.attention, Compressed):
            yield _unpriced(DSPARK, _BESIDE_COMPRESSED)
        if _has_other_kv(asked):
            yield _unpriced(DSPARK, "the number format of its draft's pool under `fa4`")
    elif names_another(profile):
        yield _draft_unknown(profile)
    elif model is not None and model.stages is None:
        yield _unpriced(DSPARK, "which draft it uses: the model has no stages that draft")


def names_another(profile: Profile) -> bool:
    """Whether a draft is named that is not the model's own."""
    asked = profile.speculative
    if asked is None:
        return False
    return bool(asked.draft) or (
        asked.draft_path is not None and asked.draft_path != profile.model.path
    )


def _unpriced(algorithm: str, missing: str) -> Unknown:
    return Unknown(
        code="speculation-unpriced",
        name=algorithm,
        setting="speculative.algorithm",
        missing=missing,
    )


def _draft_unknown(profile: Profile) -> Unknown:
    asked = profile.speculative
    draft = asked.draft if asked is not None else None
    path = asked.draft_path if asked is not None else None
    return Unknown(
        code="draft-unknown",
        name=draft or str(path),
        setting="speculative.draft" if draft else "speculative.draft_path",
        missing="its shape" if draft else "its id: set `speculative.draft`",
    )
