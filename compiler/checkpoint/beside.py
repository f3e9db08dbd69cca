"""The keys of a config in; what some families have beside their layers out: tables of n-grams, and weights that no feature names.

Parameters are in elements of 16 bits, so that one in fp32 counts twice, and one in fp8 half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice

from compiler.architecture import LayerKind, Stages, Tables
from compiler.checkpoint.keys import Keys


Pattern = tuple[LayerKind, ...]


def tables_of(keys: Keys) -> Tables | None:
    """The embeddings of n-grams, if there are any."""
    if keys.has("engram_num_embeddings"):
        # In fp8 with a scale for 32 values (SGLang 0.5.23 configs/deepseek_v41.py, models/deepseek_v4.py).
        return Tables(
            rows=sum(keys.numbers("engram_num_embeddings")),
            width=keys.need("engram_head_dim"),
            bits=8,
            group_size=32,
            scale_bits=8,
        )
    if keys.has("ngram_vocab_size_base"):
        heads = _ngram_heads(keys)
        return Tables(
            rows=_rows(keys, heads),
            width=keys.need("ple_embed_dim") // heads,
            bits=8 if "float8" in str(keys.values.get("ple_embedding_dtype")) else 16,
        )
    return None


def _ngram_heads(keys: Keys) -> int:
    """Heads of the n-grams of two words and more."""
    return max(1, keys.need("ngram_size") - 1) * keys.need("heads_per_ngram")


_MOST_HEADS, _MOST_BASE = 256, 10**9


def _rows(keys: Keys, heads: int) -> int:
    """Each head has as many rows as a prime of its own, the next from the base on; all together are rounded up."""
    base, whole = (
        keys.need("ngram_vocab_size_base"),
        keys.need("make_ngram_vocab_size_divisible_by"),
    )
    if heads > _MOST_HEADS or base > _MOST_BASE:
        keys.faults.append("`ngram_vocab_size_base`, or the number of heads, is too large")
        return 1
    return -(-sum(islice(_primes(base), heads)) // whole) * whole


def _primes(start: int) -> Iterator[int]:
    at = max(start, 2)
    while True:
        if all(at % each for each in range(2, int(at**0.5) + 1)):
            yield at
        at += 1


def other_parameters(keys: Keys, architecture: str, *, pattern: Pattern, layers: int) -> int:
    """What every GPU holds whole and no feature names; 0 where that is too little to count."""
    count = _COUNTS.get(architecture)
    return 0 if count is None else count(keys, tuple(islice(cycle(pattern), layers)))


def _hyper_connections(keys: Keys, layers: int) -> int:
    """The mixing of several hidden states, in fp32: for each half of a layer one row in, one row out, and a square."""
    streams = keys.need("hc_mult")
    rows = streams * (2 + streams)
    return 2 * (2 * layers * rows * streams * keys.need("hidden_size"))


_STAGED = (
    "dspark_block_size",
    "dspark_markov_rank",
    "dspark_noise_token_id",
    "dspark_target_layer_ids",
)
# The hidden states of its stages leave the last one mixed already (SGLang 0.5.21 models/deepseek_v4_dspark.py).
_MIXED = "DeepseekV41ForCausalLM"


def brings_stages(keys: Keys) -> bool:
    """Whether the checkpoint has a block drafter of its own (SGLang 0.5.16 to 0.5.23 speculative/dspark_components/dspark_config.py)."""
    return any(keys.has(each) for each in _STAGED)


def stages_of(keys: Keys, architecture: str) -> Stages | None:
    """The stages of a block drafter, as many as it reads layers of the target."""
    if not brings_stages(keys):
        return None
    layers = len(keys.numbers("dspark_target_layer_ids"))
    mixing = _hyper_connections(keys, layers)
    if architecture != _MIXED:
        mixing += 2 * keys.need("hc_mult") ** 2 * keys.need("hidden_size")
    return Stages(
        layers=layers,
        block_size=keys.need("dspark_block_size"),
        taps=layers,
        markov_rank=keys.need("dspark_markov_rank"),
        routed_experts=keys.number("dspark_n_routed_experts"),
        mixing_parameters=mixing,
    )


def _deepseek_v4(keys: Keys, kinds: Pattern) -> int:
    """With the experts of each word, four bytes each, in the layers that are routed by hash."""
    hashed = keys.count("num_hash_layers") * keys.need("vocab_size")
    return _hyper_connections(keys, len(kinds)) + 2 * hashed * keys.need("num_experts_per_tok")


def _glm5_next(keys: Keys, kinds: Pattern) -> int:
    """With what takes keys of the indexer together, in the layers that have one (SGLang 0.5.20 dsa/dsa_indexer_kpool.py, 110)."""
    gates = kinds.count(LayerKind.FULL) * keys.need("index_head_dim") * keys.need("hidden_size")
    return _hyper_connections(keys, len(kinds)) + gates


def _deepseek_v41(keys: Keys, kinds: Pattern) -> int:
    """With the projections of the tables, in fp8: a key for each hidden state, and a value."""
    width = (keys.need("engram_max_ngram_size") - 1) * keys.need("engram_n_heads")
    width *= keys.need("engram_head_dim")
    matrices = len(keys.numbers("engram_layer_ids")) * (keys.need("hc_mult") + 1)
    return _hyper_connections(keys, len(kinds)) + matrices * width * keys.need("hidden_size") // 2


def _qwen4(keys: Keys, kinds: Pattern) -> int:
    """The mixing of several hidden states, low rank, for each half of a layer and at the end, and the table's projections."""
    streams, hidden = keys.need("hc_count"), keys.need("hidden_size")
    wide, rank = streams * hidden, keys.need("hc_lowrank")
    mixing = 2 * len(kinds) * wide * (2 * rank + streams) + wide * 2 * rank
    table = len(keys.numbers("ple_layer_ids")) * (streams + 1) * hidden * keys.need("ple_embed_dim")
    return mixing + table


def _gemma4_unified(keys: Keys, kinds: Pattern) -> int:
    """What takes patches and sound to the hidden size, without a tower, and all norms."""
    hidden = keys.need("hidden_size")
    images, sound = keys.table("vision_config"), keys.table("audio_config")
    beside = 0
    if images is not None:
        inner = keys.inside(images)
        width = inner.need("mm_embed_dim")
        patch = 3 * inner.need("model_patch_size") ** 2
        beside += patch * width + width * hidden + 2 * inner.need("mm_posemb_size") * width
        beside += 2 * patch + width + 4 * width  # norms of the patch, and two behind it, and a bias
    if sound is not None:
        beside += keys.inside(sound).need("audio_embed_dim") * hidden
    wide, narrow = keys.need("global_head_dim"), keys.need("head_dim")
    heads = sum(2 * (wide if kind is LayerKind.FULL else narrow) for kind in kinds)
    return beside + len(kinds) * (4 * hidden + 1) + heads + hidden


def _per_layer(keys: Keys, kinds: Pattern) -> int:
    """Embeddings for each layer, which stand whole on every GPU, and what takes them there and into each layer."""
    width, layers = keys.count("hidden_size_per_layer_input"), len(kinds)
    if not width:
        return 0
    hidden = keys.need("hidden_size")
    table = keys.need("vocab_size_per_layer_input", "vocab_size") * layers * width
    return table + hidden * layers * width + 2 * layers * hidden * width


def _gemma4(keys: Keys, kinds: Pattern) -> int:
    """With the tower for sound: conformers of two MLPs, attention, and a convolution (models/gemma4_audio.py)."""
    found = _per_layer(keys, kinds)
    sound = keys.beside("audio_config")
    if sound is None:
        return found
    inner = keys.inside(sound)
    width = inner.number("hidden_size") or 1024
    out = inner.number("output_proj_dims") or 1536
    layers = inner.number("num_hidden_layers") or 12
    # Two MLPs four times as wide, five matrices of attention, three of the convolution.
    blocks = layers * (16 + 5 + 3) * width * width
    return found + blocks + width * width + width * out + out * keys.need("hidden_size")


_MOBILENET = 294_284_096
"""The tower of Gemma 3n (timm's `mobilenetv5_300m_enc`)."""


def _gemma3n(keys: Keys, kinds: Pattern) -> int:
    """With the hidden states that take turns, the low rank beside attention, and both towers."""
    hidden, streams = keys.need("hidden_size"), keys.need("altup_num_inputs")
    turns = 2 * (streams - 1) * hidden * hidden
    low = len(kinds) * (2 * hidden * keys.need("laurel_rank") + streams * hidden)
    found = _per_layer(keys, kinds) + turns + low
    if keys.beside("vision_config") is not None:
        found += _MOBILENET + hidden * hidden
    sound = keys.beside("audio_config")
    if sound is not None:
        inner = keys.inside(sound)
        width = inner.number("hidden_size") or 1536
        layers = inner.number("conf_num_hidden_layers") or 12
        found += layers * (16 + 5 + 3) * width * width + width * width + width * hidden
    return found


def _qwen_omni(keys: Keys, kinds: Pattern) -> int:
    """The tower for sound: three convolutions, layers of a plain encoder, and two projections (models/qwen3_omni_moe.py)."""
    del kinds
    sound = keys.beside("audio_config")
    if sound is None:
        return 0
    inner = keys.inside(sound)
    width, between = inner.need("d_model"), inner.need("downsample_hidden_size")
    # Each convolution halves the mel bins.
    out = inner.need("num_mel_bins") // 8 * between * width
    layer = 4 * width * width + 2 * width * inner.need("encoder_ffn_dim")
    ends = width * width + width * inner.need("output_dim")
    return inner.need("encoder_layers") * layer + 2 * 9 * between * between + out + ends


_SAM, _CLIP = 95_569_152, 303_177_728
"""The towers of DeepSeek-OCR: SAM's base model with two convolutions behind it, and CLIP's large one."""


def _deepseek_ocr(keys: Keys, kinds: Pattern) -> int:
    """Two towers, whose outputs stand side by side before one projection (models/deepseek_ocr.py)."""
    del kinds
    return _SAM + _CLIP + 2048 * keys.need("hidden_size")


def _positions(keys: Keys, kinds: Pattern) -> int:
    """A vector for each position, and one dense layer at the end."""
    del kinds
    hidden = keys.need("hidden_size")
    return (keys.need("max_position_embeddings") + hidden) * hidden


_COUNTS: Mapping[str, Callable[[Keys, Pattern], int]] = {
    "BertForSequenceClassification": _positions,
    "BertModel": _positions,
    "DeepseekOCRForCausalLM": _deepseek_ocr,
    "DeepseekV4ForCausalLM": _deepseek_v4,
    "DeepseekV41ForCausalLM": _deepseek_v41,
    "Glm5NextForConditionalGeneration": _glm5_next,
    "Qwen4ExpForConditionalGeneration": _qwen4,
    "Gemma3nForCausalLM": _gemma3n,
    "Gemma3nForConditionalGeneration": _gemma3n,
    "Gemma4ForCausalLM": _gemma4,
    "Gemma4ForConditionalGeneration": _gemma4,
    "Gemma4UnifiedForConditionalGeneration": _gemma4_unified,
    "Qwen3OmniMoeForConditionalGeneration": _qwen_omni,
    "XLMRobertaForSequenceClassification": _positions,
    "XLMRobertaModel": _positions,
}
