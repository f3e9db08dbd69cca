"""Models whose layers with a state stand beside latent attention: GLM-5.3-Flash, and what its config says of both."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.architecture import Role
from compiler.catalog import open_catalog
from compiler.checkpoint.config import model_from_config
from compiler.facts import Model
from compiler.plan import Memory
from servers import sized


CATALOG = open_catalog()
FLASH = (
    "--model-path zai-org/GLM-5.3-Flash --tp-size 4 --ep-size 4 --mem-fraction-static 0.92"
    " --context-length 262144 --max-running-requests 32 --max-mamba-cache-size 64 --chunked-prefill-size 8192"
    " --disable-radix-cache"
)
FULL = frozenset(range(3, 45, 4))


def memory_of(kv: str, *, version: str) -> Memory:
    words = f"{FLASH} --kv-cache-dtype {kv}"
    return sized(words, version=version, gpu="h20", count=4, public=False)


@pytest.mark.parametrize(
    ("kv", "row", "tokens"), [("bfloat16", 1024, 719_680), ("fp8_e4m3", 528, 1_260_544)]
)
def test_latents_and_keys_of_the_full_layers_are_a_token(kv: str, row: int, tokens: int) -> None:
    """Eleven layers with a latent without positions and a key each; two public boots of 0.5.20 lie within 1 %."""
    memory = memory_of(kv, version="0.5.20")
    assert memory.pool.cell_bytes == 11 * (row + 128 + 4)
    assert memory.pool.tokens.low <= tokens <= memory.pool.tokens.high
    assert memory.pool.tokens.best == pytest.approx(tokens, rel=0.01)


@pytest.mark.parametrize(("version", "key"), [("0.5.21", 132), ("0.5.22", 33)])
def test_four_tokens_share_a_key_in_later_releases(version: str, key: int) -> None:
    """A quarter of a key is priced from 0.5.22 on."""
    memory = memory_of("bfloat16", version=version)
    assert memory.pool.cell_bytes == 11 * (1024 + key)


def _config(left_out: list[str]) -> dict[str, Any]:
    kinds = ["deepseek_sparse_attention" if at in FULL else "linear_attention" for at in range(45)]
    text = {
        "first_k_dense_replace": 3,
        "hc_mult": 4,
        "hidden_size": 4096,
        "index_head_dim": 128,
        "index_kpool": 4,
        "index_n_heads": 32,
        "intermediate_size": 12288,
        "kv_lora_rank": 512,
        "layer_types": kinds,
        "linear_attn_config": {"head_dim": 128, "num_heads": 64, "short_conv_kernel_size": 4},
        "max_position_embeddings": 1048576,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 288,
        "n_shared_experts": 1,
        "num_attention_heads": 64,
        "num_experts_per_tok": 8,
        "num_hidden_layers": 45,
        "num_nextn_predict_layers": 1,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 256,
        "qk_rope_head_dim": 0,
        "v_head_dim": 256,
        "vocab_size": 154880,
    }
    vision = {
        "depth": 24,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_heads": 16,
        "out_hidden_size": 4096,
        "patch_size": 14,
        "projection_intermediate_size": 10240,
        "temporal_patch_size": 2,
    }
    stored = {
        "modules_to_not_convert": left_out,
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
    }
    return {
        "architectures": ["Glm5NextForConditionalGeneration"],
        "quantization_config": stored,
        "text_config": text,
        "vision_config": vision,
    }


def test_exceptions_are_those_of_the_layers_that_they_number() -> None:
    """Projections of both kinds of layer have the same names: those of 34 layers with a state are none of attention's."""
    names = ("q_proj", "f_a_proj", "o_proj")
    left_out = [
        f"model.language_model.layers.{at}.self_attn.{name}"
        for at in range(45)
        if at not in FULL
        for name in names
    ]
    model = model_from_config(_config(left_out), id_="zai-org/GLM-5.3-Flash")
    assert isinstance(model, Model)
    assert model.quantization is not None
    (stored,) = model.quantization.formats
    assert {Role.ATTENTION, Role.OUTPUT} <= set(stored.roles)
    assert Role.STATE not in stored.roles
    known, _ = CATALOG.model("zai-org/GLM-5.3-Flash")
    assert known is not None
    assert known.attention == model.attention
    assert known.quantization == model.quantization
    assert known.other_parameters == model.other_parameters
    assert known.vision == model.vision
