"""The tensors of small models of newer families, under the names and with the shapes of public checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoints import Shapes
from configs import CONFIGS


def _text(id_: str, **values: object) -> dict[str, object]:
    """A public config with fewer layers and experts."""
    config = dict(CONFIGS[id_])
    text = config.get("text_config")
    if isinstance(text, Mapping):
        return {**config, "text_config": {**text, **values}}
    return {**config, **values}


DEEPSEEK = _text(
    "deepseek-ai/DeepSeek-V4-Flash",
    num_hidden_layers=5,
    compress_ratios=[0, 0, 4, 128, 4, 0],
    n_routed_experts=8,
)


def _fp8(tensors: Shapes, name: str, rows: int, columns: int) -> None:
    tensors[f"{name}.weight"] = ("F8_E4M3", (rows, columns))
    tensors[f"{name}.scale"] = ("F8_E8M0", (-(-rows // 128), -(-columns // 128)))


def deepseek() -> Shapes:
    """DeepSeek V4 Flash: five layers of two ratios, with eight experts in fp4."""
    tensors: Shapes = {
        "embed.weight": ("BF16", (129280, 4096)),
        "head.weight": ("BF16", (129280, 4096)),
        "norm.weight": ("BF16", (4096,)),
        "hc_head_fn": ("F32", (4, 16384)),
        "mtp.0.attn.wq_a.weight": ("F8_E4M3", (1024, 4096)),
    }
    for layer, ratio in enumerate((0, 0, 4, 128, 4)):
        _deepseek_attention(tensors, f"layers.{layer}", ratio)
        _deepseek_mlp(tensors, f"layers.{layer}", hashed=layer < 3)
    return tensors


def _deepseek_attention(tensors: Shapes, start: str, ratio: int) -> None:
    for half in ("attn", "ffn"):
        tensors[f"{start}.{half}_norm.weight"] = ("BF16", (4096,))
        tensors[f"{start}.hc_{half}_fn"] = ("F32", (24, 16384))
        tensors[f"{start}.hc_{half}_base"] = ("F32", (24,))
    for name, rows, columns in (
        ("wq_a", 1024, 4096),
        ("wq_b", 32768, 1024),
        ("wkv", 512, 4096),
        ("wo_a", 8192, 4096),
        ("wo_b", 4096, 8192),
    ):
        _fp8(tensors, f"{start}.attn.{name}", rows, columns)
    tensors[f"{start}.attn.attn_sink"] = ("F32", (64,))
    tensors[f"{start}.attn.q_norm.weight"] = ("BF16", (1024,))
    if not ratio:
        return
    overlap = 2 if ratio == 4 else 1
    _compressor(tensors, f"{start}.attn.compressor", overlap * 512, ratio)
    if ratio == 4:
        _fp8(tensors, f"{start}.attn.indexer.wq_b", 8192, 1024)
        tensors[f"{start}.attn.indexer.weights_proj.weight"] = ("BF16", (64, 4096))
        _compressor(tensors, f"{start}.attn.indexer.compressor", 2 * 128, ratio)


def _compressor(tensors: Shapes, name: str, width: int, ratio: int) -> None:
    for part in ("wkv", "wgate"):
        tensors[f"{name}.{part}.weight"] = ("BF16", (width, 4096))
    tensors[f"{name}.ape"] = ("F32", (ratio, width))


def _deepseek_mlp(tensors: Shapes, start: str, *, hashed: bool) -> None:
    tensors[f"{start}.ffn.gate.weight"] = ("BF16", (8, 4096))
    if hashed:
        # The release has 64 bits, of which the engine keeps 32.
        tensors[f"{start}.ffn.gate.tid2eid"] = ("I64", (129280, 6))
    else:
        tensors[f"{start}.ffn.gate.bias"] = ("F32", (8,))
    for name, rows, columns in (("w1", 2048, 4096), ("w3", 2048, 4096), ("w2", 4096, 2048)):
        _fp8(tensors, f"{start}.ffn.shared_experts.{name}", rows, columns)
        for expert in range(8):
            packed = f"{start}.ffn.experts.{expert}.{name}"
            tensors[f"{packed}.weight"] = ("I8", (rows, columns // 2))
            tensors[f"{packed}.scale"] = ("F8_E8M0", (rows, columns // 32))


MINIMAX = _text(
    "MiniMaxAI/MiniMax-M3",
    num_hidden_layers=4,
    moe_layer_freq=[0, 0, 1, 1],
    num_local_experts=8,
    sparse_attention_config={
        "sparse_attention_freq": [0, 0, 1, 1],
        "sparse_index_dim": 128,
        "sparse_num_index_heads": 4,
    },
)


def minimax() -> Shapes:
    """MiniMax-M3: two dense layers, two with eight experts, and the tower."""
    tensors: Shapes = {
        "language_model.model.embed_tokens.weight": ("BF16", (200064, 6144)),
        "language_model.lm_head.weight": ("BF16", (200064, 6144)),
        "multi_modal_projector.linear_1.weight": ("BF16", (6144, 1280)),
        "multi_modal_projector.linear_2.weight": ("BF16", (6144, 6144)),
        "patch_merge_mlp.linear_1.weight": ("BF16", (6144, 4 * 6144)),
        "patch_merge_mlp.linear_2.weight": ("BF16", (6144, 6144)),
    }
    for layer in range(32):
        start = f"vision_tower.vision_model.encoder.layers.{layer}"
        for name in "qkv":
            tensors[f"{start}.self_attn.{name}_proj.weight"] = ("BF16", (1280, 1280))
        tensors[f"{start}.self_attn.out_proj.weight"] = ("BF16", (1280, 1280))
        tensors[f"{start}.mlp.fc1.weight"] = ("BF16", (5120, 1280))
        tensors[f"{start}.mlp.fc2.weight"] = ("BF16", (1280, 5120))
    for layer in range(4):
        start = f"language_model.model.layers.{layer}"
        for name, rows in (("q", 8192), ("k", 512), ("v", 512)):
            tensors[f"{start}.self_attn.{name}_proj.weight"] = ("BF16", (rows, 6144))
        tensors[f"{start}.self_attn.o_proj.weight"] = ("BF16", (6144, 8192))
        tensors[f"{start}.self_attn.q_norm.weight"] = ("BF16", (128,))
        _minimax_mlp(tensors, start, sparse=layer > 1)
    return tensors


def _minimax_mlp(tensors: Shapes, start: str, *, sparse: bool) -> None:
    names = {"gate_proj": (12288, 6144), "up_proj": (12288, 6144), "down_proj": (6144, 12288)}
    if not sparse:
        tensors |= {f"{start}.mlp.{name}.weight": ("BF16", each) for name, each in names.items()}
        return
    tensors[f"{start}.self_attn.index_q_proj.weight"] = ("BF16", (512, 6144))
    tensors[f"{start}.self_attn.index_k_proj.weight"] = ("BF16", (128, 6144))
    moe = f"{start}.block_sparse_moe"
    tensors[f"{moe}.gate.weight"] = ("BF16", (8, 6144))
    tensors[f"{moe}.e_score_correction_bias"] = ("F32", (8,))
    for name, (rows, columns) in names.items():
        shape = (min(rows, 3072), columns) if name != "down_proj" else (rows, 3072)
        tensors[f"{moe}.shared_experts.{name}.weight"] = ("BF16", shape)
        short = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}[name]
        for expert in range(8):
            tensors[f"{moe}.experts.{expert}.{short}.weight"] = ("BF16", shape)
