"""Raw flags and variables that keep a profile from being priced: those of the tables that are not priced all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve

from compiler.engines.engine import Facts
from compiler.engines.sglang.adapters import FLAGS as ADAPTING
from compiler.engines.sglang.adapters import MODULES, RANK, adapters_gib
from compiler.engines.sglang.backends import DRAFT_KV
from compiler.engines.sglang.exchange import COPIES, REBALANCES, copies_known, exchange_known
from compiler.engines.sglang.hosting import FLAG as HOSTING
from compiler.engines.sglang.hosting import hosting_known
from compiler.engines.sglang.loading import (
    SAVER,
    TEXT_ONLY,
    makes_tower,
    quantizes_unknown,
    saver_known,
)
from compiler.engines.sglang.offloading import FLAG as OFFLOADING
from compiler.engines.sglang.offloading import offload_known
from compiler.engines.sglang.overrides import FLAG as OVERRIDES
from compiler.engines.sglang.overrides import is_read
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.speculation import NGRAM
from compiler.engines.sglang.unpriced import BESIDE_HEADS, STATIC, WEIGHTS, unpriced_flags
from compiler.engines.sglang.variables import POOL as POOL_VARIABLES
from compiler.engines.sglang.variables import WEIGHTS as WEIGHT_VARIABLES
from compiler.engines.sglang.variables import changing
from compiler.facts import Gqa, Mla, Model
from compiler.profile import Argument, Profile
from compiler.unknown import Unknown


_EXPERTS_OF, _EXPERTS = "kt-weight-path", "kt-num-gpu-experts"
_DRAFT_FORMAT = "speculative-draft-model-quantization"


def raw_unknowns(asked: Settings, facts: Facts) -> Iterator[Unknown]:
    """Each flag and variable that changes what stands in the static budget, and by how much is not known."""
    yield from _flags(asked.profile, facts, asked)
    yield from _variables(asked.profile, facts)


def _flags(profile: Profile, facts: Facts, asked: Settings) -> Iterator[Unknown]:
    tables = [STATIC]
    measured, model = facts.measured, facts.model
    if model is None or not _is_plain(model):
        tables.append(BESIDE_HEADS)
    if measured.free_before_gib is None or measured.free_after_gib is None:
        tables.append(WEIGHTS)
    known = _known(asked, facts)
    for table in tables:
        for name, does in unpriced_flags(profile, table, release=facts.release):
            if name not in known:
                yield Unknown(
                    code="flag-unpriced",
                    name=f"--{name}",
                    setting=f"flags.{name}",
                    missing=f"it {does}",
                    told_by=_telling(name, asked, facts),
                )


def _variables(profile: Profile, facts: Facts) -> Iterator[Unknown]:
    measured = facts.measured
    logged = measured.free_before_gib is not None and measured.free_after_gib is not None
    for table in (POOL_VARIABLES,) if logged else (POOL_VARIABLES, WEIGHT_VARIABLES):
        for name, does in changing(profile, table, model=facts.model):
            yield Unknown(
                code="flag-unpriced", name=name, setting=f"env.{name}", missing=f"it {does}"
            )


def _is_plain(model: Model) -> bool:
    """Whether a token has one key and one value a head, or one latent, and nothing beside."""
    attention = model.attention
    if isinstance(attention, Gqa):
        return attention.selector is None
    return isinstance(attention, Mla) and attention.indexer is None


def _known(asked: Settings, facts: Facts) -> frozenset[str]:
    """Flags of the tables that are priced for this model all the same."""
    model, overrides = facts.model, asked.flags.get(OVERRIDES)
    cases = (
        (("quantization",), not quantizes_unknown(model, asked)),
        ((OVERRIDES,), overrides is not None and is_read(model, overrides)),
        ((_EXPERTS_OF,), asked.whole(_EXPERTS) is not None),
        (ADAPTING, adapters_gib(asked, model) is not None),
        ((OFFLOADING,), offload_known(asked, model)),
        ((HOSTING,), asked.on(HOSTING) and hosting_known(asked, gpu=facts.gpu, model=model)),
        ((SAVER,), asked.on(SAVER) and saver_known(model, facts.gpu, asked)),
        ((DRAFT_KV,), _is_headed(facts) or not _has_draft(asked)),
        ((_DRAFT_FORMAT,), _is_own_format(asked, facts)),
        ((TEXT_ONLY,), makes_tower(model)),
        (("moe-a2a-backend",), exchange_known(asked, model)),
        # The headers of a checkpoint have each expert once.
        ((COPIES, REBALANCES), facts.weights is None and copies_known(asked, model)),
    )
    return frozenset(name for names, known in cases if known for name in names)


def _has_draft(asked: Settings) -> bool:
    speculative = asked.profile.speculative
    return speculative is not None and speculative.algorithm != NGRAM


_TELLING: Mapping[str, Mapping[str, tuple[str, Argument]]] = {
    **{each: {RANK: ("RANK", 1), MODULES: ("MODULES", ("q_proj",))} for each in ADAPTING},
    _EXPERTS_OF: {_EXPERTS: ("NUMBER", 1)},
}
"""A flag -> those that say how large it makes what it adds, each with a word for its value and one that stands in for it."""


def _telling(name: str, asked: Settings, facts: Facts) -> tuple[str, ...]:
    """The flags that are not given and with which a flag is priced; none where they would not do."""
    release = facts.release
    full = name if release is None else release.aliases.get(f"--{name}", f"--{name}")[2:]
    lacking = {
        flag: each for flag, each in _TELLING.get(full, {}).items() if flag not in asked.flags
    }
    if release is None or not all(f"--{flag}" in release.flags for flag in lacking):
        return ()
    filled = evolve(
        asked, flags={**asked.flags, **{flag: each[1] for flag, each in lacking.items()}}
    )
    told = lacking and full in _known(filled, facts)
    return tuple(f"{flag} = {each[0]}" for flag, each in lacking.items()) if told else ()


def _is_own_format(asked: Settings, facts: Facts) -> bool:
    """Whether the draft is read as its entry has it."""
    draft = facts.draft
    own = None if draft is None or draft.quantization is None else draft.quantization.method
    return own is not None and asked.word(_DRAFT_FORMAT) == own


def _is_headed(facts: Facts) -> bool:
    """Whether the draft, its own or the model's, keeps a key and a value a head."""
    own = facts.model is not None and isinstance(facts.model.attention, Gqa)
    return facts.draft is not None or own
