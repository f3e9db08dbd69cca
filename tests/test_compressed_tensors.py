"""What GPUs and releases make of the weights of DeepSeek V4, and its pools on AMD's GPUs."""

from __future__ import annotations

import pytest

from compiler.memory.weights import GIB
from servers import lines, planned, sized


PRO = "--model-path deepseek-ai/DeepSeek-V4-Pro --tp-size 8 --mem-fraction-static 0.88 --context-length 9472"
APART = f"{PRO} --dp-size 8 --enable-dp-attention --ep-size 8 --max-running-requests 512 --disable-radix-cache"
LAYERS, CONTEXT = 61, 1_048_576
# Sixteen groups of eight heads of 512, each to 1,024, and a byte of each in fp8.
OUTPUT_GIB = LAYERS * 128 * 512 * 1024 / GIB
TABLES_GIB = LAYERS * 2 * CONTEXT * 64 // 2 * 2 / GIB


def _load_gib(words: str, *, version: str, gpu: str, **env: str) -> float:
    load = sized(words, version=version, gpu=gpu, count=8, public=False, **env).load_gib
    assert load is not None
    return load.best


@pytest.mark.parametrize(
    ("gpu", "version", "plain"),
    [
        ("h200", "0.5.12", True),
        ("h200", "0.5.23", True),
        ("b200", "0.5.15", False),
        ("rtx-pro-6000-blackwell", "0.5.12", False),
        ("rtx-pro-6000-blackwell", "0.5.13", True),
        ("mi355x", "0.5.13", False),
        ("mi355x", "0.5.14", True),
    ],
)
def test_where_half_of_the_output_s_projection_is_16_bits(
    gpu: str, version: str, *, plain: bool
) -> None:
    """Kernels for it in fp8 are the data centre's Blackwell's; what nobody asks for is made 16 bits while it loads."""
    words = APART.replace("DeepSeek-V4-Pro", "DeepSeek-V4-Flash")
    usual, off = (
        _load_gib(words, version=version, gpu=gpu, **env)
        for env in ({}, {"SGLANG_OPT_FP8_WO_A_GEMM": "0"})
    )
    assert (usual == off) is plain


def test_what_that_costs() -> None:
    """A byte more for each of its numbers, all of them on each rank of data parallel attention."""
    usual, off = (
        _load_gib(APART, version="0.5.15", gpu="b200", **env)
        for env in ({}, {"SGLANG_OPT_FP8_WO_A_GEMM": "0"})
    )
    assert off - usual == pytest.approx(OUTPUT_GIB, rel=0.02)


@pytest.mark.parametrize(
    ("gpu", "version", "kept"),
    [
        ("h200", "0.5.15", False),
        ("h200", "0.5.16", True),
        ("rtx-pro-6000-blackwell", "0.5.21", False),
        ("rtx-pro-6000-blackwell", "0.5.22", True),
    ],
)
def test_a_variable_that_asks_for_fp8(gpu: str, version: str, *, kept: bool) -> None:
    """Hopper takes it from 0.5.16 on, and workstations from 0.5.22 on."""
    words = PRO.replace("DeepSeek-V4-Pro", "DeepSeek-V4-Flash")
    usual, asked = (
        _load_gib(words, version=version, gpu=gpu, **env)
        for env in ({}, {"SGLANG_OPT_FP8_WO_A_GEMM": "1"})
    )
    assert (asked < usual) is kept


def test_amd_s_gpus_have_tables_in_each_layer() -> None:
    """Cosines and sines of the model's whole context, in 16 bits, whatever context is asked for: 7.6 GiB of each GPU."""
    amd = lines(sized(APART, version="0.5.15.post1", gpu="mi355x", public=False))["weights"].gib
    hopper = lines(sized(APART, version="0.5.15.post1", gpu="h200", public=False))["weights"].gib
    assert amd.best - hopper.best == pytest.approx(TABLES_GIB, abs=0.2)


def test_their_pools_are_sized_as_on_other_gpus() -> None:
    """Four pools of one server of 0.5.15.post1 lie on the line of these bytes a token (0.80 to 0.92 of the memory)."""
    words = f"{APART} --swa-full-tokens-ratio 0.15"
    amd, other = (
        sized(words, version="0.5.15.post1", gpu=gpu, public=False) for gpu in ("mi355x", "b300")
    )
    assert amd.pool.cell_bytes == other.pool.cell_bytes == 13_735
    each = (9_650_944 - 7_053_056) * 13_735 / GIB / 0.12
    assert each == pytest.approx(amd.free_before_load_gib.best, rel=0.01)


@pytest.mark.parametrize(
    ("version", "gpu", "env", "missing"),
    [
        ("0.5.12", "mi355x", {}, "on this platform"),
        ("0.5.20", "mi355x", {}, "on this platform"),
        ("0.5.15", "mi300x", {}, "experts in four bits"),
        ("0.5.15", "mi355x", {"SGLANG_USE_AITER": "0"}, "experts in four bits"),
        (
            "0.5.15",
            "mi355x",
            {"SGLANG_HACK_FLASHMLA_BACKEND": "unified_kv_triton"},
            "SGLANG_HACK_FLASHMLA_BACKEND",
        ),
    ],
)
def test_what_is_not_known_there(version: str, gpu: str, env: dict[str, str], missing: str) -> None:
    """Other releases, experts in four bits on other kernels than aiter's, and pools that a variable lays out anew."""
    plan = planned(APART, version=version, gpu=gpu, count=8, public=False, **env)
    assert plan.memory is None
    assert missing in plan.unknowns[0].missing


@pytest.mark.parametrize(("version", "columns"), [("0.5.15", 512), ("0.5.17", 384)])
def test_experts_are_filled_up_for_aiter(version: str, columns: int) -> None:
    """A rank's 384 columns of an expert, to multiples of 256, and of 128 from 0.5.17 on; eight groups share none."""
    split, whole = (
        _load_gib(words, version=version, gpu="mi355x") for words in (PRO, f"{PRO} --ep-size 8")
    )
    experts = LAYERS * 384 * 3 * 7168 * 4.25 / 8 / GIB
    assert split - whole == pytest.approx(experts * (columns - 384), abs=0.3)
