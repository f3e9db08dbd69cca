"""Checkpoint folders for tests: real names, shapes, and headers; the weights are holes in the files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from compiler.checkpoint.folder import INDEX
from compiler.checkpoint.headers import DTYPE_BITS


Shapes = dict[str, tuple[str, tuple[int, ...]]]
"""Name -> number format and shape."""


def header_of(tensors: Shapes) -> tuple[bytes, int]:
    """The header of a file that holds these tensors, and the bytes of its weights."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape) in tensors.items():
        size = DTYPE_BITS[dtype] // 8
        for each in shape:
            size *= each
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    return json.dumps(entries).encode(), at


def write_file(path: Path, tensors: Shapes) -> None:
    """Write one weight file."""
    header, size = header_of(tensors)
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + size)


def write_checkpoint(
    folder: Path, config: Mapping[str, object], tensors: Shapes, *, files: int = 2
) -> Path:
    """Write a checkpoint of several files with an index, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    places: dict[str, str] = {}
    for number, part in enumerate(_parts(tensors, files), start=1):
        name = f"model-{number:05}-of-{files:05}.safetensors"
        write_file(folder / name, part)
        places.update(dict.fromkeys(part, name))
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
    return folder


def _parts(tensors: Shapes, files: int) -> Iterator[Shapes]:
    items = list(tensors.items())
    share = -(-len(items) // files)
    for start in range(0, len(items), share):
        yield dict(items[start : start + share])


QWEN_DENSE: dict[str, object] = {
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 640,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}


def qwen_dense() -> Shapes:
    """The tensors of `QWEN_DENSE`."""
    tensors: Shapes = {
        "model.embed_tokens.weight": ("BF16", (640, 64)),
        "model.norm.weight": ("BF16", (64,)),
        "lm_head.weight": ("BF16", (640, 64)),
    }
    for layer in range(3):
        start = f"model.layers.{layer}."
        for name, shape in (
            ("self_attn.q_proj", (128, 64)),
            ("self_attn.k_proj", (32, 64)),
            ("self_attn.v_proj", (32, 64)),
            ("self_attn.o_proj", (64, 128)),
            ("mlp.gate_proj", (128, 64)),
            ("mlp.up_proj", (128, 64)),
            ("mlp.down_proj", (64, 128)),
            ("input_layernorm", (64,)),
            ("self_attn.q_norm", (16,)),
        ):
            tensors[f"{start}{name}.weight"] = ("BF16", shape)
    return tensors


KIMI: dict[str, object] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "dtype": "bfloat16",
    "text_config": {
        "first_k_dense_replace": 1,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "kv_lora_rank": 512,
        "max_position_embeddings": 262144,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 384,
        "n_shared_experts": 1,
        "num_attention_heads": 64,
        "num_experts_per_tok": 8,
        "num_hidden_layers": 61,
        "num_key_value_heads": 64,
        "num_nextn_predict_layers": 0,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "quantization_config": {
            "config_groups": {
                "group_0": {
                    "targets": ["Linear"],
                    "weights": {
                        "group_size": 32,
                        "num_bits": 4,
                        "strategy": "group",
                        "symmetric": True,
                        "type": "int",
                    },
                }
            },
            "format": "pack-quantized",
            "ignore": [
                "lm_head",
                "re:.*self_attn.*",
                "re:.*shared_experts.*",
                "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
            ],
            "quant_method": "compressed-tensors",
        },
        "rope_scaling": {
            "factor": 64.0,
            "original_max_position_embeddings": 4096,
            "type": "yarn",
        },
        "tie_word_embeddings": False,
        "v_head_dim": 128,
        "vocab_size": 163840,
    },
    "tie_word_embeddings": False,
    "vision_config": {
        "init_pos_emb_height": 64,
        "init_pos_emb_width": 64,
        "patch_size": 14,
        "vt_hidden_size": 1152,
        "vt_intermediate_size": 4304,
        "vt_num_attention_heads": 16,
        "vt_num_hidden_layers": 27,
    },
}


def kimi(*, layers: int = 61, experts: int = 384) -> Shapes:
    """The tensors of Kimi K2.5 and K2.6: experts packed to four bits, the rest in bf16."""
    text = "language_model.model."
    tensors: Shapes = {
        f"{text}embed_tokens.weight": ("BF16", (163840, 7168)),
        f"{text}norm.weight": ("BF16", (7168,)),
        "language_model.lm_head.weight": ("BF16", (163840, 7168)),
    }
    for layer in range(layers):
        start = f"{text}layers.{layer}."
        attention = {
            "q_a_proj": (1536, 7168),
            "q_b_proj": (12288, 1536),
            "kv_a_proj_with_mqa": (576, 7168),
            "kv_b_proj": (16384, 512),
            "o_proj": (7168, 8192),
            "q_a_layernorm": (1536,),
            "kv_a_layernorm": (512,),
        }
        for name, shape in attention.items():
            tensors[f"{start}self_attn.{name}.weight"] = ("BF16", shape)
        tensors |= _kimi_mlp(start, dense=layer == 0, experts=experts)
    return tensors | _moonvit()


def _kimi_mlp(start: str, *, dense: bool, experts: int) -> Shapes:
    if dense:
        return _plain_mlp(f"{start}mlp.", width=18432)
    tensors = _plain_mlp(f"{start}mlp.shared_experts.", width=2048)
    tensors[f"{start}mlp.gate.weight"] = ("BF16", (384, 7168))
    tensors[f"{start}mlp.gate.e_score_correction_bias"] = ("F32", (384,))
    for expert in range(experts):
        for name, (rows, columns) in (
            ("gate_proj", (2048, 7168)),
            ("up_proj", (2048, 7168)),
            ("down_proj", (7168, 2048)),
        ):
            packed = f"{start}mlp.experts.{expert}.{name}."
            tensors[f"{packed}weight_packed"] = ("I32", (rows, columns // 8))
            tensors[f"{packed}weight_scale"] = ("BF16", (rows, columns // 32))
            tensors[f"{packed}weight_shape"] = ("I32", (2,))
    return tensors


def _plain_mlp(start: str, *, width: int) -> Shapes:
    return {
        f"{start}gate_proj.weight": ("BF16", (width, 7168)),
        f"{start}up_proj.weight": ("BF16", (width, 7168)),
        f"{start}down_proj.weight": ("BF16", (7168, width)),
    }


def _moonvit() -> Shapes:
    tensors: Shapes = {
        "vision_tower.patch_embed.proj.weight": ("BF16", (1152, 3, 14, 14)),
        "vision_tower.patch_embed.pos_emb.weight": ("BF16", (64, 64, 1152)),
        "mm_projector.proj.0.weight": ("BF16", (4608, 4608)),
        "mm_projector.proj.2.weight": ("BF16", (7168, 4608)),
    }
    for block in range(27):
        start = f"vision_tower.encoder.blocks.{block}."
        tensors |= {
            f"{start}wqkv.weight": ("BF16", (3456, 1152)),
            f"{start}wo.weight": ("BF16", (1152, 1152)),
            f"{start}mlp.fc0.weight": ("BF16", (4304, 1152)),
            f"{start}mlp.fc1.weight": ("BF16", (1152, 4304)),
        }
    return tensors
