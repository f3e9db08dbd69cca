"""A `config.json` in; the description of the model out, or what keeps it from being described.

Only architectures whose layers are of the kinds that memory is priced by are described. Another one is named with what is
missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle, islice
from typing import Any

from attrs import evolve, frozen

from compiler.architecture import Compressed, LayerKind, Mla, Moe, Nextn, Role
from compiler.checkpoint.beside import (
    brings_stages,
    other_parameters,
    stages_of,
    tables_of,
)
from compiler.checkpoint.experts import dense_layers_of, moe_of
from compiler.checkpoint.families import FAMILIES, UNREAD, Family
from compiler.checkpoint.keys import Keys, open_keys
from compiler.checkpoint.misfits import misfits
from compiler.checkpoint.mixers import attention_of, heads_of, pattern_of, state_of, window_of
from compiler.checkpoint.modules import ATTENDING, BESIDE, MODULES, Naming
from compiler.checkpoint.positions import context_of, rope_of
from compiler.checkpoint.quantized import quantization_of
from compiler.checkpoint.towers import vision_of
from compiler.facts import Model
from compiler.value import Value


_MOST_LAYERS = 10_000
"""Ten times those of any model; a layer more is a broken file, and each would be listed."""

_DTYPE_BITS = 16
"""A checkpoint in fp32 is loaded in 16 bits too, unless the command says otherwise (configs/model_config.py, 2304)."""


@frozen(kw_only=True, eq=False, repr=False)
class Missing(Value):
    """Why a model cannot be described.

    Attributes:
        architecture: its name in the config, or nothing when the config does not say.
        reasons: what is missing, each in words that name the key.
    """

    architecture: str
    reasons: tuple[str, ...]

    @property
    def is_described(self) -> bool:
        """Whether it is a figure that is missing, not the whole architecture."""
        return self.architecture in FAMILIES or not self.architecture


def model_from_config(
    config: Mapping[str, Any],
    *,
    id_: str,
    checkpoint_gb: float | None = None,
    source: str = "from the shapes: its config.json",
) -> Model | Missing:
    """Describe the model of a config, or say what is missing.

    `source` is what its figures are from; `checkpoint_gb` the size of its weight files, 10^9 bytes.
    """
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    if name not in FAMILIES:
        layout = UNREAD.get(name, "how its layers are laid out in memory")
        unsaid = "is missing" if names is None else "is no list of words"
        reason = layout if name else f"`architectures` {unsaid}"
        return Missing(architecture=name, reasons=(reason,))
    keys = open_keys(config)
    model = _model(keys, name, id_, checkpoint_gb, source)
    if keys.faults:
        return Missing(architecture=name, reasons=tuple(dict.fromkeys(keys.faults)))
    return model


def _model(
    keys: Keys, architecture: str, id_: str, checkpoint_gb: float | None, source: str
) -> Model:
    family = FAMILIES[architecture]
    layers, hidden = _layers(keys), keys.need("hidden_size")
    attention = attention_of(keys, gated=family.gated)
    pattern = pattern_of(keys, layers=layers, full_every=family.full_every)
    moe = moe_of(keys, gated=family.gated_mlp, router_bits=family.router_bits)
    context = context_of(keys)
    model = Model(
        id=id_,
        architecture=architecture,
        context=context,
        vocabulary=keys.need("vocab_size", "padded_vocab_size"),
        hidden=hidden,
        layers=layers,
        pattern=pattern,
        dense_layers=dense_layers_of(keys, layers=layers, moe=moe),
        intermediate=_intermediate(keys, moe),
        heads=heads_of(keys, pattern, LayerKind.FULL),
        attention=attention,
        window=window_of(keys, pattern, attention),
        state=state_of(keys, pattern),
        moe=moe,
        tables=tables_of(keys),
        vision=vision_of(keys, architecture, hidden=hidden),
        nextn=_nextn(keys, moe) if family.drafts and not brings_stages(keys) else None,
        stages=stages_of(keys, architecture),
        rope=rope_of(keys, attention, pattern, context=context),
        gated_mlp=family.gated_mlp,
        tied=family.tied or (keys.flag("tie_word_embeddings") and not family.own_head),
        wide_layers=_wide(keys),
        other_parameters=other_parameters(keys, architecture, pattern=pattern, layers=layers),
        dtype_bits=_DTYPE_BITS,
        checkpoint_gb=checkpoint_gb,
        sources={"*": source},
    )
    if not keys.faults:
        keys.faults.extend(misfits(model, keys))
    stored = quantization_of(
        keys,
        layers=layers,
        roles=_roles(model),
        scale_bits=family.scale_bits,
        naming=_naming(model, family),
    )
    return evolve(model, quantization=stored)


def _naming(model: Model, family: Family) -> Naming:
    """What the family calls its modules."""
    called = {
        **MODULES,
        **(BESIDE if family.beside else {}),
        **(ATTENDING if family.states_attend else {}),
    }
    if not family.states_attend:
        return Naming(called=called)
    kinds = tuple(islice(cycle(model.pattern), model.layers))
    state = frozenset(at for at, kind in enumerate(kinds) if kind is LayerKind.STATE)
    full = frozenset(range(model.layers)) - state
    return Naming(called=called, at={Role.ATTENTION: full, Role.OUTPUT: full, Role.STATE: state})


def _roles(model: Model) -> Mapping[Role, int]:
    """The roles that the model has and that quantization may touch, with how many layers have each."""
    moe, attention, own = model.moe, model.attention, model.nextn or model.stages
    kinds = tuple(islice(cycle(model.pattern), model.layers))
    attending = sum(kind in (LayerKind.FULL, LayerKind.WINDOW) for kind in kinds)
    alone = LayerKind.EXPERTS in kinds
    experts = kinds.count(LayerKind.EXPERTS) if alone else model.layers - model.dense_layers
    indexed = isinstance(attention, Mla | Compressed) and attention.indexer is not None
    has = {
        Role.ATTENTION: attending,
        Role.OUTPUT: attending,
        Role.INDEXER: attending if indexed else 0,
        Role.STATE: kinds.count(LayerKind.STATE),
        Role.DENSE: model.dense_layers,
        Role.EXPERTS: experts if moe is not None else 0,
        Role.SHARED: experts if moe is not None and moe.shared_experts else 0,
        Role.NEXTN: own.layers if own is not None else 0,
    }
    return {role: count for role, count in has.items() if count}


def _layers(keys: Keys) -> int:
    pattern = keys.values.get("hybrid_override_pattern")
    if not keys.has("num_hidden_layers") and keys.has("num_layers"):
        return min(keys.need("num_layers"), _MOST_LAYERS)
    if not keys.has("num_hidden_layers") and isinstance(pattern, str) and pattern:
        return len(pattern)
    kinds = keys.words("layers_block_type")
    if not keys.has("num_hidden_layers") and kinds:
        return min(len(kinds), _MOST_LAYERS)
    layers = keys.need("num_hidden_layers")
    if layers > _MOST_LAYERS:
        keys.faults.append(f"`num_hidden_layers` is more than {_MOST_LAYERS:,}")
        return 1
    return layers


def _wide(keys: Keys) -> int:
    """The layers that share keys and values have an MLP twice as wide where the config says so (Gemma 4 E2B)."""
    return keys.count("num_kv_shared_layers") if keys.flag("use_double_wide_mlp") else 0


def _intermediate(keys: Keys, moe: Moe | None) -> int:
    found = keys.number(
        "intermediate_size_mlp",
        "dense_intermediate_size",
        "intermediate_size",
        "ffn_hidden_size",
    )
    if found is not None:
        return found
    return moe.intermediate if moe is not None else keys.need("intermediate_size")


def _nextn(keys: Keys, moe: Moe | None) -> Nextn | None:
    layers = keys.count("num_nextn_predict_layers", "mtp_num_hidden_layers")
    if layers > _MOST_LAYERS:
        keys.faults.append(f"the layers of its draft are more than {_MOST_LAYERS:,}")
    return Nextn(layers=layers, experts=moe is not None) if layers else None
