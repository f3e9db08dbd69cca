"""A description and the tensors it stands for in; where the config says another size than they have out.

Judged is what every engine reads from both: the hidden size, the vocabulary, the number of layers, and the KV heads. A config
of another model beside the weights gives a pool of any size.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from compiler.architecture import Compressed, LayerKind, Mla
from compiler.checkpoint.folder import Checkpoint, Kind
from compiler.checkpoint.keys import Keys, open_keys
from compiler.checkpoint.names import Share, is_draft, is_vision, place
from compiler.facts import Gqa, Model
from compiler.memory.layers import Layer, layers_of


_EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|word_embeddings|tok_embeddings|wte)\.weight$")
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|output_layer)\.weight$")
_KEYS = re.compile(r"\.k_proj\.weight$")
_LATENTS = re.compile(r"\.kv_a_proj_with_mqa\.weight$")
_KV_NAMES = (
    "num_global_key_value_heads",
    "num_key_value_heads",
    "num_kv_heads",
    "multi_query_group_num",
    "num_attention_groups",
)
_DRAFTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
_WHOLE_BITS = 8
"""A matrix of fewer bits an element, or one packed under another name, tells nothing of its rows."""
_FEW = 4
"""Where more than one in so many layers lacks a module, it is how the model is built."""
_OF_LAYERS = frozenset({Share.ATTENTION, Share.KV, Share.DENSE, Share.EXPERTS, Share.SHARED})


def belied(model: Model, checkpoint: Checkpoint) -> Iterator[str]:
    """Each key that the tensors belie, with both figures."""
    own = [
        each for each in checkpoint.kinds if not is_vision(each.name) and not is_draft(each.name)
    ]
    keys = open_keys(checkpoint.config)
    yield from _hidden(model, own)
    yield from _layers(model, keys, checkpoint, own)
    yield from _parts(model, own)
    yield from _heads(model, keys, own)
    yield from _ends(model, keys, own)


def _hidden(model: Model, own: Sequence[Kind]) -> Iterator[str]:
    widths = {each.shape[1]: each.name for each in _matrices(own, _EMBEDDING)}
    if widths and model.hidden not in widths:
        width, name = next(iter(widths.items()))
        yield f"`hidden_size` is {model.hidden:,}, and `{name}` has {width:,} columns"


def _layers(model: Model, keys: Keys, checkpoint: Checkpoint, own: Sequence[Kind]) -> Iterator[str]:
    """A draft's layers come after the model's own: as many as the config says, or known by tensors that no other has."""
    name = next((each for each in ("num_hidden_layers", "num_layers") if keys.has(each)), None)
    shares = {each: place(each) for each in {kind.name for kind in own}}
    drafts = {kind.layer for kind in checkpoint.kinds if is_draft(kind.name)}
    drafts |= set(range(model.layers, model.layers + keys.count(*_DRAFTS)))
    found = {
        kind.layer
        for kind in own
        if kind.layer is not None and (role := shares[kind.name]) and role.share in _OF_LAYERS
    }
    held = len({each for each in found if each < model.layers or each not in drafts})
    if name is not None and found and held != model.layers:
        yield f"`{name}` is {model.layers:,}, and the tensors are of {held:,} layers"


def _parts(model: Model, own: Sequence[Kind]) -> Iterator[str]:
    """A layer that lacks a module which nearly all layers of its make have: a file broke off, or is not there.

    Layers that compress over time are of more makes than are told apart here.
    """
    if isinstance(model.attention, Compressed):
        return
    modules: dict[int, set[str]] = {}
    for kind in own:
        role = place(kind.name)
        if kind.layer is not None and role is not None and role.share in _OF_LAYERS:
            modules.setdefault(kind.layer, set()).add(kind.name.rpartition(".")[0])
    makes: dict[Layer, list[int]] = {}
    for at, layer in enumerate(layers_of(model)):
        if at in modules:
            makes.setdefault(layer, []).append(at)
    for several in makes.values():
        having = Counter(module for at in several for module in modules[at])
        for module, times in sorted(having.items()):
            lacking = [at for at in several if module not in modules[at]]
            if lacking and len(lacking) <= max(1, len(several) // _FEW) and times > len(lacking):
                yield f"layer {lacking[0]} has no `{module}`, and {times:,} layers like it have one"


def _heads(model: Model, keys: Keys, own: Sequence[Kind]) -> Iterator[str]:
    """One full layer that agrees is enough: some models have layers of their own."""
    attention, layers = model.attention, layers_of(model)
    full = [
        each
        for each in own
        if each.layer is not None
        and each.layer < len(layers)
        and layers[each.layer].kind is LayerKind.FULL
    ]
    if isinstance(attention, Mla):
        width = attention.kv_lora_rank + attention.qk_rope_head_dim
        rows = {each.shape[0]: each.name for each in _matrices(full, _LATENTS)}
        if rows and width not in rows:
            had, tensor = next(iter(rows.items()))
            yield f"`kv_lora_rank` and `qk_rope_head_dim` come to {width:,}, and `{tensor}` has {had:,} rows"
    if not isinstance(attention, Gqa):
        return
    rows = {each.shape[0]: each.name for each in _matrices(full, _KEYS)}
    if rows and attention.kv_heads * attention.head_dim not in rows:
        had, tensor = next(iter(rows.items()))
        key = next((each for each in _KV_NAMES if keys.has(each)), "num_attention_heads")
        yield (
            f"`{key}` is {attention.kv_heads:,}, of {attention.head_dim:,} each, and `{tensor}` has {had:,} rows"
            f"{_as_heads(had, attention.head_dim)}"
        )


def _as_heads(rows: int, head_dim: int) -> str:
    heads, over = divmod(rows, head_dim)
    return f": {heads:,} heads" if not over else ""


_TIED = "tie_word_embeddings"
_SPEAKS = "ForCausalLM"


def _ends(model: Model, keys: Keys, own: Sequence[Kind]) -> Iterator[str]:
    """A row for each token at both ends, and a head where the embedding does not stand for it.

    The engine asserts the rows (0.5.11 layers/vocab_parallel_embedding.py, 460); for a head that is missing it keeps whatever
    was in memory. Models that embed or rank texts have none: they were saved without what speaks, so that their names begin
    with the embedding itself, or they have something else in its place.
    """
    for ends in (_EMBEDDING, _HEAD):
        rows = {each.shape[0]: each.name for each in _matrices(own, ends)}
        if rows and model.vocabulary not in rows:
            had, tensor = next(iter(rows.items()))
            key = "vocab_size" if keys.has("vocab_size") else "padded_vocab_size"
            yield f"`{key}` is {model.vocabulary:,}, and `{tensor}` has {had:,} rows"
    says_apart = keys.values.get(_TIED, keys.outer.get(_TIED)) is False
    if model.tied or not says_apart or not model.architecture.endswith(_SPEAKS):
        return
    parts = {role.part for each in own if (role := place(each.name)) is not None}
    whole = any(_EMBEDDING.search(each.name) and each.name.count(".") > 1 for each in own)
    if whole and parts.isdisjoint({"head", "what ranks or pools"}):
        yield f"`{_TIED}` is false, and there is no head, such as `lm_head.weight`"


def _matrices(kinds: Sequence[Kind], name: re.Pattern[str]) -> Iterator[Kind]:
    for each in kinds:
        if len(each.shape) == 2 and each.bits >= _WHOLE_BITS and name.search(each.name):  # noqa: PLR2004 - rows and columns
            yield each
