"""The tensors of small models whose checkpoints fuse or name their matrices in their own way: real names and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from checkpoints import Shapes
from configs import CONFIGS


LAYERS, EXPERTS = 2, 8


def _small(id_: str, **values: object) -> dict[str, Any]:
    """A public config with fewer layers."""
    return {**CONFIGS[id_], "num_hidden_layers": LAYERS, **values}


PHI = _small("microsoft/phi-4")
LING = _small("inclusionAI/Ling-lite-1.5", num_experts=EXPERTS)
INTERNLM = _small("internlm/internlm2_5-7b-chat")
BAICHUAN = _small("baichuan-inc/Baichuan2-7B-Chat")
ERNIE = _small("baidu/ERNIE-4.5-21B-A3B-PT", moe_num_experts=EXPERTS, moe_layer_end_index=1)
QWEN2_VL = _small("Qwen/Qwen2-VL-7B-Instruct")
QWEN25_VL = _small("Qwen/Qwen2.5-VL-3B-Instruct")
COMMAND = _small(
    "CohereLabs/c4ai-command-r7b-12-2024", layer_types=["sliding_attention", "full_attention"]
)
GLM = _small("zai-org/GLM-4-9B-0414")
GLM_V: dict[str, Any] = dict(CONFIGS["zai-org/GLM-4.1V-9B-Thinking"])
GLM_V["text_config"] = {**GLM_V["text_config"], "num_hidden_layers": LAYERS}


def _heads(config: Mapping[str, Any]) -> tuple[int, int]:
    """How wide the queries are, and the keys."""
    heads = config["num_attention_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    return heads * width, config.get("num_key_value_heads", heads) * width


def _model(config: Mapping[str, Any], layer: Mapping[str, tuple[int, ...]], **ends: str) -> Shapes:
    """A model of equal layers between its embedding and its head; a head without a name is tied."""
    hidden, rows = config["hidden_size"], config["vocab_size"]
    tensors: Shapes = {
        ends.get("embedding", "model.embed_tokens.weight"): ("BF16", (rows, hidden)),
        "model.norm.weight": ("BF16", (hidden,)),
    }
    if ends.get("head"):
        tensors[ends["head"]] = ("BF16", (rows, hidden))
    for at in range(LAYERS):
        tensors |= {
            f"model.layers.{at}.{name}.weight": ("BF16", shape) for name, shape in layer.items()
        }
    return tensors


def _mlp(config: Mapping[str, Any], start: str = "mlp", width: int | None = None) -> Shapes:
    hidden, inner = config["hidden_size"], width or config["intermediate_size"]
    up, down = ("BF16", (inner, hidden)), ("BF16", (hidden, inner))
    return {f"{start}.gate_proj": up, f"{start}.up_proj": up, f"{start}.down_proj": down}


def _plain(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Attention with a matrix for each projection, and a gated MLP."""
    hidden = config["hidden_size"]
    queries, keys = _heads(config)
    return {
        "self_attn.q_proj": (queries, hidden),
        "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden),
        "self_attn.o_proj": (hidden, queries),
        **{name: shape for name, (_, shape) in _mlp(config).items()},
        "input_layernorm": (hidden,),
    }


def phi() -> Shapes:
    """Phi 4: queries, keys, and values in one matrix, gate and up in another."""
    hidden, inner = PHI["hidden_size"], PHI["intermediate_size"]
    queries, keys = _heads(PHI)
    layer = {
        "self_attn.qkv_proj": (queries + 2 * keys, hidden),
        "self_attn.o_proj": (hidden, queries),
        "mlp.gate_up_proj": (2 * inner, hidden),
        "mlp.down_proj": (hidden, inner),
        "post_attention_layernorm": (hidden,),
    }
    return _model(PHI, layer, head="lm_head.weight")


def _experts(config: Mapping[str, Any], shared: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    width = config["moe_intermediate_size"]
    for at in range(EXPERTS):
        yield from (
            (name, shape) for name, (_, shape) in _mlp(config, f"mlp.experts.{at}", width).items()
        )
    beside = _mlp(config, "mlp.shared_experts", shared * width)
    yield from ((name, shape) for name, (_, shape) in beside.items())
    yield "mlp.gate", (EXPERTS, config["hidden_size"])


def ling() -> Shapes:
    """Ling: experts in every layer, and two shared."""
    hidden = LING["hidden_size"]
    queries, keys = _heads(LING)
    layer = {
        "attention.query_key_value": (queries + 2 * keys, hidden),
        "attention.dense": (hidden, queries),
        **dict(_experts(LING, 2)),
        "input_layernorm": (hidden,),
    }
    return _model(LING, layer, embedding="model.word_embeddings.weight", head="lm_head.weight")


def internlm() -> Shapes:
    """InternLM 2: matrices with numbers for names, and a head called output."""
    hidden, inner = INTERNLM["hidden_size"], INTERNLM["intermediate_size"]
    queries, keys = _heads(INTERNLM)
    layer = {
        "attention.wqkv": (queries + 2 * keys, hidden),
        "attention.wo": (hidden, queries),
        "feed_forward.w1": (inner, hidden),
        "feed_forward.w3": (inner, hidden),
        "feed_forward.w2": (hidden, inner),
        "attention_norm": (hidden,),
        "ffn_norm": (hidden,),
    }
    return _model(INTERNLM, layer, embedding="model.tok_embeddings.weight", head="output.weight")


def baichuan() -> Shapes:
    """Baichuan 2: queries, keys, and values are packed."""
    hidden = BAICHUAN["hidden_size"]
    layer = {
        "self_attn.W_pack": (3 * hidden, hidden),
        "self_attn.o_proj": (hidden, hidden),
        **{name: shape for name, (_, shape) in _mlp(BAICHUAN).items()},
        "input_layernorm": (hidden,),
    }
    return _model(BAICHUAN, layer, head="lm_head.weight")


def ernie() -> Shapes:
    """ERNIE 4.5: a dense layer and one of experts, whose biases are kept as statics."""
    tensors = _model(ERNIE, _plain(ERNIE))
    for name in list(tensors):
        if name.startswith("model.layers.1.mlp."):
            del tensors[name]
    tensors |= {
        f"model.layers.1.{name}.weight": ("BF16", shape) for name, shape in _experts(ERNIE, 2)
    }
    tensors["model.layers.1.mlp.moe_statics.e_score_correction_bias"] = ("F32", (1, EXPERTS))
    return tensors


def command() -> Shapes:
    """Command R7B: tied, and one norm a layer."""
    return _model(COMMAND, _plain(COMMAND))


def glm() -> Shapes:
    """GLM-4-0414: gate and up in one matrix, four norms a layer."""
    hidden, inner = GLM["hidden_size"], GLM["intermediate_size"]
    plain = _plain(GLM)
    layer = {name: shape for name, shape in plain.items() if not name.startswith("mlp")}
    layer |= {
        "mlp.gate_up_proj": (2 * inner, hidden),
        "mlp.down_proj": (hidden, inner),
        "post_self_attn_layernorm": (hidden,),
        "post_mlp_layernorm": (hidden,),
    }
    return _model(GLM, layer, head="lm_head.weight")


def _tower(config: Mapping[str, Any], width: int, mlp: Mapping[str, tuple[int, ...]]) -> Shapes:
    """The vision tower of a Qwen-VL."""
    merged, hidden = 4 * width, config["hidden_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "patch_embed.proj": (width, 3, 2, 14, 14),
        "merger.ln_q": (width,),
        "merger.mlp.0": (merged, merged),
        "merger.mlp.2": (hidden, merged),
    }
    for at in range(config["vision_config"]["depth"]):
        shapes |= {
            f"blocks.{at}.attn.qkv": (3 * width, width),
            f"blocks.{at}.attn.proj": (width, width),
            **{f"blocks.{at}.mlp.{name}": shape for name, shape in mlp.items()},
            f"blocks.{at}.norm1": (width,),
        }
    return {f"visual.{name}.weight": ("BF16", shape) for name, shape in shapes.items()}


def qwen2_vl() -> Shapes:
    """Qwen2-VL: the MLPs of its tower have two matrices."""
    mlp = {"fc1": (5120, 1280), "fc2": (1280, 5120)}
    text = _model(QWEN2_VL, _plain(QWEN2_VL), head="lm_head.weight")
    return text | _tower(QWEN2_VL, 1280, mlp)


def qwen25_vl() -> Shapes:
    """Qwen2.5-VL: three."""
    mlp = {"gate_proj": (3420, 1280), "up_proj": (3420, 1280), "down_proj": (1280, 3420)}
    return _model(QWEN25_VL, _plain(QWEN25_VL)) | _tower(QWEN25_VL, 1280, mlp)


def glm_v() -> Shapes:
    """GLM-4.1V: its tower's merger is a gated MLP behind a projection."""
    text = {**GLM_V["text_config"], "vision_config": GLM_V["vision_config"]}
    width, out, inner = 1536, 4096, 13696
    mlp = {"gate_proj": (out, width), "up_proj": (out, width), "down_proj": (width, out)}
    tensors = _model(text, _plain(text), head="lm_head.weight") | _tower(text, width, mlp)
    for name in list(tensors):
        if ".merger." in name:
            del tensors[name]
    shapes: dict[str, tuple[int, ...]] = {
        "merger.proj": (out, out),
        "merger.gate_proj": (inner, out),
        "merger.up_proj": (inner, out),
        "merger.down_proj": (out, inner),
        "downsample": (out, width, 2, 2),
        "embeddings.position_embedding": (576, width),
    }
    return tensors | {f"visual.{name}.weight": ("BF16", shape) for name, shape in shapes.items()}


FUSED: Mapping[str, tuple[dict[str, Any], Shapes]] = {
    "phi": (PHI, phi()),
    "ling": (LING, ling()),
    "internlm": (INTERNLM, internlm()),
    "baichuan": (BAICHUAN, baichuan()),
    "ernie": (ERNIE, ernie()),
    "command": (COMMAND, command()),
    "glm": (GLM, glm()),
    "glm-v": (GLM_V, glm_v()),
    "qwen2-vl": (QWEN2_VL, qwen2_vl()),
    "qwen2.5-vl": (QWEN25_VL, qwen25_vl()),
}
"""Config and tensors, by the name of a test."""
