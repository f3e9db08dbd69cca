"""The `vision_config` of a config in; the vision tower and its projector out.

What stands where, and what is split: SGLang 0.5.11 models/{glm4v,qwen2_vl,qwen2_5_vl,qwen3_vl,kimi_k25,kimi_vl,gemma3_mm,gemma4_vision,mllama4,
pixtral}.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.architecture import Vision, VisionPart
from compiler.checkpoint.defaults import with_defaults
from compiler.checkpoint.keys import Keys


_BOTH = (VisionPart.ATTENTION, VisionPart.MLP)
_COLOURS = 3
_MERGED = 4  # patches that a projector takes together
_SIGLIP_SIDE = 896
_WITH_TOWER = ("ForConditionalGeneration", "ChatModel", "MiniCPMV")
_NO_TABLE = (
    "`vision_config` is missing: the server builds the tower of its class's own defaults, or stops"
)
"""transformers 5.6 models/{qwen2_vl,qwen3_vl,gemma3,mistral3,glm4v,llama4} and SGLang 0.5.11 configs/{kimi_k25,kimi_vl,internvl}.py
make a table of defaults where there is none; SGLang's models/gemma4_mm.py needs one, and Gemma 4's class makes none."""


def vision_of(keys: Keys, architecture: str, *, hidden: int) -> Vision | None:
    """The tower of a multimodal model; a fault when nobody described this one."""
    table = keys.beside("vision_config")
    if architecture.startswith(_WITHOUT):
        return None
    if table is None:
        if architecture.endswith(_WITH_TOWER) and architecture.startswith(tuple(_TOWERS)):
            keys.faults.append(_NO_TABLE)
        return None
    for start, tower in _TOWERS.items():
        if architecture.startswith(start):
            return tower(keys.inside(with_defaults(table)), hidden)
    keys.faults.append(f"the vision tower of `{architecture}` is not understood")
    return None


def _patches(keys: Keys, width: int) -> int:
    """The matrix that takes the patches in, of as many frames as one holds; without a bias."""
    frames = keys.number("temporal_patch_size") or 1
    return _COLOURS * frames * keys.need("patch_size") ** 2 * width


def _qwen(keys: Keys, hidden: int) -> Vision:
    width = keys.need("hidden_size")
    merged = _MERGED * width
    merger = 2 * width + merged * merged + merged + merged * hidden + hidden
    deep = keys.values.get("deepstack_visual_indexes")
    mergers = 1 + (len(deep) if isinstance(deep, list) else 0)
    embedding = _patches(keys, width) + width
    return Vision(
        layers=keys.need("depth"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_heads"),
        projector_parameters=mergers * merger,
        other_parameters=embedding + keys.count("num_position_embeddings") * width,
        split=(*_BOTH, VisionPart.PROJECTOR),
    )


def _qwen2(keys: Keys, hidden: int) -> Vision:
    # `hidden_size` is that of the text model here.
    width = keys.need("embed_dim")
    merged = _MERGED * width
    return Vision(
        layers=keys.need("depth"),
        hidden=width,
        intermediate=keys.need("mlp_ratio") * width,
        heads=keys.need("num_heads"),
        projector_parameters=2 * width + merged * merged + merged + merged * hidden + hidden,
        other_parameters=_patches(keys, width),
        split=(*_BOTH, VisionPart.PROJECTOR),
    )


def _qwen25(keys: Keys, hidden: int) -> Vision:
    # Its norms have no bias, and neither has what takes the patches in.
    width = keys.need("hidden_size")
    merged = _MERGED * width
    return Vision(
        layers=keys.need("depth"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_heads"),
        gated=True,
        projector_parameters=width + merged * merged + merged + merged * hidden + hidden,
        other_parameters=_patches(keys, width),
        split=(*_BOTH, VisionPart.PROJECTOR),
    )


def _glm(keys: Keys, hidden: int) -> Vision:
    # Its MLPs are as wide as the text model, and its merger is one more of them, as wide as the config says. What stands
    # before that MLP is whole: a projection, and the convolution that takes four patches together. Where the merger has a
    # width of its own, so have the MLPs, and there is no table of positions (0.5.20 models/glm5_next.py, 229).
    width, patch = keys.need("hidden_size"), keys.need("patch_size")
    out = keys.number("out_hidden_size") or hidden
    merger = keys.number("projection_intermediate_size")
    positions = 0 if merger else (keys.need("image_size") // patch) ** 2
    embedding = _patches(keys, width) + width + positions * width
    return Vision(
        layers=keys.need("depth"),
        hidden=width,
        intermediate=keys.need("intermediate_size") if merger else out,
        heads=keys.need("num_heads"),
        gated=True,
        projector_parameters=3 * out * (merger or keys.need("intermediate_size")),
        other_parameters=embedding + _MERGED * width * out + out + out * out,
        split=(*_BOTH, VisionPart.PROJECTOR),
    )


def _moon(keys: Keys, hidden: int) -> Vision:
    width = keys.need("vt_hidden_size", "hidden_size")
    patch = keys.need("patch_size")
    side = keys.need("init_pos_emb_height")
    merged = _MERGED * width
    projector = merged * merged + merged + merged * hidden + hidden + 2 * width
    table = side * (keys.number("init_pos_emb_width") or side) * width
    return Vision(
        layers=keys.need("vt_num_hidden_layers", "num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("vt_intermediate_size", "intermediate_size"),
        heads=keys.need("vt_num_attention_heads", "num_attention_heads"),
        projector_parameters=projector,
        # The patch projection with its bias, and the last norm.
        other_parameters=table + _COLOURS * patch * patch * width + width + 2 * width,
    )


def _moon3(keys: Keys, hidden: int) -> Vision:
    # Whole on every rank, without biases; attention is wider than the hidden size, and what it has more of is counted with
    # what stands outside the layers (0.5.17 models/kimi_k3_vl.py).
    width, patch = keys.need("vt_hidden_size"), keys.need("patch_size")
    layers, merged = keys.need("vt_num_hidden_layers"), _MERGED * width
    wider = 4 * (keys.need("qkv_hidden_size") - width) * width * layers
    table = keys.need("init_pos_emb_height") * keys.need("init_pos_emb_width") * width
    return Vision(
        layers=layers,
        hidden=width,
        intermediate=keys.need("vt_intermediate_size"),
        projector_parameters=merged * merged + merged * hidden + hidden,
        other_parameters=wider + table + _COLOURS * patch * patch * width + width,
        split=(),
    )


def _siglip(keys: Keys, hidden: int) -> Vision:
    width, patch = keys.need("hidden_size"), keys.need("patch_size")
    positions = ((keys.number("image_size") or _SIGLIP_SIDE) // patch) ** 2
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        projector_parameters=width * hidden,
        other_parameters=_COLOURS * patch * patch * width + positions * width,
        split=_BOTH,
    )


def _intern(keys: Keys, hidden: int) -> Vision:
    # Norms have a bias, and each layer two scales (models/internvl.py); four patches are merged.
    width, layers = keys.need("hidden_size"), keys.need("num_hidden_layers")
    patch, side = keys.need("patch_size"), keys.need("image_size")
    merged = _MERGED * width
    positions = (side // patch) ** 2 + 1
    embedding = _COLOURS * patch * patch * width + width + positions * width
    return Vision(
        layers=layers,
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        projector_parameters=merged * hidden + hidden * hidden + 2 * merged + 2 * hidden,
        other_parameters=embedding + layers * 8 * width,
        split=_BOTH,
    )


def _minicpm(keys: Keys, hidden: int) -> Vision:
    # A resampler as wide as the text model: attention of its own, and a projection before and behind.
    width, patch = keys.need("hidden_size"), keys.need("patch_size")
    positions = (keys.need("image_size") // patch) ** 2
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        projector_parameters=width * hidden + 5 * hidden * hidden,
        other_parameters=_COLOURS * patch * patch * width + positions * width,
        split=_BOTH,
    )


def _gemma4(keys: Keys, hidden: int) -> Vision:
    width, patch = keys.need("hidden_size"), keys.need("patch_size")
    positions = 2 * keys.need("position_embedding_size")
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        gated=True,
        projector_parameters=width * hidden,
        other_parameters=_COLOURS * patch * patch * width + positions * width,
        split=_BOTH,
    )


def _llama4(keys: Keys, hidden: int) -> Vision:
    width, inner = keys.need("hidden_size"), keys.need("intermediate_size")
    patch, side = keys.need("patch_size"), keys.need("image_size")
    out = keys.need("vision_output_dim")
    positions = (side // patch) ** 2 + 1
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=inner,
        heads=keys.need("num_attention_heads"),
        projector_parameters=inner * keys.need("projector_input_dim") + out * out + out * hidden,
        other_parameters=_COLOURS * patch * patch * width + positions * width,
    )


def _pixtral(keys: Keys, hidden: int) -> Vision:
    width, patch = keys.need("hidden_size"), keys.need("patch_size")
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        gated=True,
        projector_parameters=_MERGED * width * width + width * hidden + hidden * hidden,
        other_parameters=_COLOURS * patch * patch * width,
        split=_BOTH,
    )


def _deepseek(keys: Keys, hidden: int) -> Vision:
    width, side = keys.need("hidden_size"), keys.need("downsample_ratio")
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        gated=True,
        # One matrix for `side` x `side` patches: taken for all there is.
        projector_parameters=width * side * side * hidden,
        other_parameters=0,
        split=(),
    )


def _minimax(keys: Keys, hidden: int) -> Vision:
    width = keys.need("hidden_size")
    # Two matrices to the hidden size, and two that merge four patches.
    projector = width * hidden + hidden * hidden + _MERGED * hidden * hidden + hidden * hidden
    return Vision(
        layers=keys.need("num_hidden_layers"),
        hidden=width,
        intermediate=keys.need("intermediate_size"),
        heads=keys.need("num_attention_heads"),
        projector_parameters=projector,
        other_parameters=0,
        split=_BOTH,
    )


# Their patches go into the text model without a tower; what takes them there is counted beside the layers.
# Those of Gemma 3n and DeepSeek-OCR are counted there too.
_WITHOUT = ("Gemma4Unified", "Gemma3n", "DeepseekOCR")
_TOWERS: Mapping[str, Callable[[Keys, int], Vision]] = {
    "Qwen2VL": _qwen2,
    "Qwen2_5": _qwen25,
    "Qwen3": _qwen,
    "Qwen4": _qwen,
    "DeepseekV41": _deepseek,
    "MiniMaxM3": _minimax,
    "Glm4v": _glm,
    "Glm5Next": _glm,
    "KimiK3": _moon3,
    "Kimi": _moon,
    "Gemma3": _siglip,
    "Gemma4": _gemma4,
    "InternS1": _intern,
    "InternVL": _intern,
    "MiniCPMV": _minicpm,
    "Llama4": _llama4,
    "Mistral3": _pixtral,
}
