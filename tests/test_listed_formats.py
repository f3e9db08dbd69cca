"""Formats that a config lists by module: over another format, of a head, under one name for all experts of a layer."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.sizes import described_bytes
from compiler.architecture import Format, Role
from compiler.catalog import open_catalog
from compiler.checkpoint.config import Missing, model_from_config
from compiler.facts import Model
from configs import CONFIGS


_V4, _QWEN = "deepseek-ai/DeepSeek-V4-Flash", "Qwen/Qwen3-30B-A3B-FP8"


def described(config: dict[str, Any]) -> Model:
    found = model_from_config(config, id_="a/b")
    assert not isinstance(found, Missing), found.reasons
    return found


def formats(config: dict[str, Any]) -> dict[Role, Format]:
    kind = described(config).quantization
    assert kind is not None
    return {role: each for each in kind.formats for role in each.roles}


def test_a_list_over_fp8_leaves_the_rest_in_fp8() -> None:
    """ModelOpt changed the experts of DeepSeek V4 alone; it names all of a layer at once."""
    table = CONFIGS[_V4]["quantization_config"]
    assert isinstance(table, dict)
    listed = {
        f"layers.{at}.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16} for at in range(43)
    }
    changed = {**table, "quant_algo": "MIXED_PRECISION", "quantized_layers": listed}
    found = formats({**CONFIGS[_V4], "quantization_config": changed})
    assert (found[Role.EXPERTS].bits, found[Role.EXPERTS].group_size) == (4, 16)
    assert found[Role.ATTENTION].bits == found[Role.SHARED].bits == 8


@pytest.mark.parametrize("name", ["NVFP4", "NVFP4_AWQ", "W4A16_NVFP4", "MXFP8"])
def test_names_of_formats_with_a_scale_a_group(name: str) -> None:
    """What ModelOpt calls them; `quant_algo` says by itself who made the checkpoint."""
    table = {"quant_algo": name, "group_size": 16, "exclude_modules": ["lm_head"]}
    found = formats({**CONFIGS[_QWEN], "quantization_config": table})[Role.EXPERTS]
    bits, group = (8, 32) if name == "MXFP8" else (4, 16)
    assert (found.bits, found.group_size, found.scale_bits) == (bits, group, 8)


@pytest.mark.parametrize("head", ["lm_head", "language_model.lm_head"])
def test_a_head_is_quantized_where_a_list_names_it(head: str) -> None:
    """And nowhere else."""
    nvfp4 = {"quant_algo": "NVFP4", "group_size": 16}
    experts = {f"model.layers.{at}.mlp.experts": nvfp4 for at in range(48)}
    table = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    without = formats(
        {**CONFIGS[_QWEN], "quantization_config": {**table, "quantized_layers": experts}}
    )
    assert without.keys() == {Role.EXPERTS}
    listed = {**experts, head: nvfp4}
    found = formats(
        {**CONFIGS[_QWEN], "quantization_config": {**table, "quantized_layers": listed}}
    )
    assert found.keys() == {Role.EXPERTS, Role.HEAD}


@pytest.mark.parametrize(
    ("id_", "gib"),
    [
        # By the public reports of their tensors, or the sizes of their pages.
        ("XiaomiMiMo/MiMo-V2.5-Pro", 962.40),
        ("RadixArk/Qwen3.8-27B-NVFP4", 21.9e9 / 2**30),
    ],
)
def test_checkpoints_are_as_large_as_reported(id_: str, gib: float) -> None:
    """Within two percent."""
    model, _ = open_catalog().model(id_)
    assert model is not None
    assert described_bytes(model) / 2**30 == pytest.approx(gib, rel=0.02)


@pytest.mark.parametrize(
    ("id_", "roles"),
    [
        ("nvidia/GLM-5-NVFP4", {Role.DENSE, Role.EXPERTS, Role.SHARED}),
        ("nvidia/Kimi-K2.6-NVFP4", {Role.EXPERTS}),
        ("nvidia/Gemma-4-26B-A4B-NVFP4", {Role.EXPERTS}),
        ("nvidia/Gemma-4-31B-IT-NVFP4", {Role.DENSE}),
    ],
)
def test_what_is_in_four_bits(id_: str, roles: set[Role]) -> None:
    """As their configs list it."""
    model, _ = open_catalog().model(id_)
    assert model is not None
    assert model.quantization is not None
    found = {role for each in model.quantization.formats if each.bits == 4 for role in each.roles}
    assert found == roles
