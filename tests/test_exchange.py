"""Buffers that ranks exchange data through: symmetric memory, fused all-reduce, and the experts' tokens (DeepEP)."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.memory.weights import GIB
from compiler.plan import Line, Memory
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
R1 = "--model-path deepseek-ai/DeepSeek-R1 --tp 8"
FUSED, TOKENS = "workspace of fused all-reduce", "buffers to exchange tokens of experts"


def memory_of(command: str, *, version: str = "0.5.11", gpu: str = "h200", **env: str) -> Memory:
    words = f"python -m sglang.launch_server {command}".split()
    words = ["env", *(f"{name}={value}" for name, value in env.items()), *words] if env else words
    question = Question(gpu=gpu, count=8, engine="sglang", version=version)
    plan = make_predictor(CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    assert plan.memory is not None, plan.unknowns
    return plan.memory


def line_of(memory: Memory, item: str) -> Line | None:
    return next((each for each in memory.reserve_lines if each.item == item), None)


@pytest.mark.parametrize(
    ("version", "flags", "env", "gib"),
    [
        ("0.5.8", "--enable-symm-mem", {}, None),
        ("0.5.9", "--enable-symm-mem", {}, 4),
        ("0.5.11", "--enable-symm-mem", {"SGLANG_SYMM_MEM_PREALLOC_GB_SIZE": "2"}, 2),
        ("0.5.11", "", {}, None),
    ],
)
def test_symmetric_memory_is_filled_at_the_start(
    version: str, flags: str, env: dict[str, str], gib: int | None
) -> None:
    """4 GiB from 0.5.9 on, or what the variable says; and nothing is said to have no figure."""
    memory = memory_of(f"{R1} {flags}", version=version, **env)
    found = line_of(memory, "symmetric memory")
    assert (found.gib.best if found else None) == gib
    assert not any("enable-symm-mem" in each for each in memory.unpriced)


@pytest.mark.parametrize(
    ("version", "gpu", "flags", "low", "there"),
    [
        # one buffer and three of Lamport's, of 2,048 tokens of 8 ranks: 0.875 GiB
        ("0.5.11", "h200", "--enable-flashinfer-allreduce-fusion", 0.875, True),
        ("0.5.11", "h200", "", 0.0, True),
        ("0.5.6", "h200", "", 0.0, False),
        ("0.5.11", "h20", "", 0.0, False),
        ("0.5.11", "mi300x", "", 0.0, False),
        ("0.5.11", "h200", "--dp 8 --enable-dp-attention", 0.0, False),
        ("0.5.11", "h200", "--enforce-disable-flashinfer-allreduce-fusion", 0.0, False),
    ],
)
def test_fused_all_reduce_has_a_workspace(
    version: str, gpu: str, flags: str, low: float, *, there: bool
) -> None:
    """Certain where it is asked for, possible where the release does it by itself, and not there elsewhere."""
    found = line_of(memory_of(f"{R1} {flags}", version=version, gpu=gpu), FUSED)
    assert (found is not None) is there
    if found is not None:
        assert found.gib.low == pytest.approx(low)
        assert found.gib.high == pytest.approx(0.875)


def test_tokens_of_experts_are_exchanged_through_buffers() -> None:
    """Low-latency steps: two buffers to send and two to receive, each of 128 tokens for every expert."""
    memory = memory_of(f"{R1} --moe-a2a-backend deepep --deepep-mode low_latency")
    found = line_of(memory, TOKENS)
    assert found is not None
    message = 2 * 7168
    assert found.gib.low == pytest.approx(2 * 256 * 128 * (message + 16 + message) / GIB)
    assert not any("moe-a2a-backend" in each for each in memory.unpriced)


def test_other_steps_have_buffers_of_their_own() -> None:
    """Both modes need more than either, and a variable that doubles the tokens of low-latency steps doubles those."""
    sizes = {}
    for mode in ("auto", "normal", "low_latency"):
        found = line_of(memory_of(f"{R1} --moe-a2a-backend deepep --deepep-mode {mode}"), TOKENS)
        assert found is not None
        sizes[mode] = found.gib.best
    assert sizes["auto"] == pytest.approx(sizes["normal"] + sizes["low_latency"])
    twice = line_of(
        memory_of(
            f"{R1} --moe-a2a-backend deepep --deepep-mode low_latency",
            SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK="256",
        ),
        TOKENS,
    )
    assert twice is not None
    assert twice.gib.best == pytest.approx(2 * sizes["low_latency"])


def test_a_backend_that_was_not_read_is_said_to_have_no_figure() -> None:
    """Mooncake's buffers stay a sentence."""
    memory = memory_of(f"{R1} --moe-a2a-backend mooncake")
    assert line_of(memory, TOKENS) is None
    assert any("moe-a2a-backend" in each for each in memory.unpriced)


def test_copies_of_experts_are_weights() -> None:
    """32 copies over eight ranks: four more experts on each, in each of the 58 layers that have some."""
    weights = {}
    for flags in ("", "--ep-num-redundant-experts 32"):
        memory = memory_of(f"{R1} --moe-a2a-backend deepep {flags}")
        weights[flags] = next(each for each in memory.static if each.item == "weights").gib.best
    expert = 3 * 7168 * 2048 / GIB
    grown = weights["--ep-num-redundant-experts 32"] - weights[""]
    assert grown == pytest.approx(58 * 4 * expert, rel=0.01)


@pytest.mark.parametrize(("flags", "there"), [("--enable-eplb", True), ("", False)])
def test_experts_that_are_dealt_out_anew(flags: str, *, there: bool) -> None:
    """One layer's experts once more: 32 on each of eight ranks."""
    memory = memory_of(f"{R1} --moe-a2a-backend deepep {flags}")
    found = line_of(memory, "experts of a layer, dealt out anew")
    assert (found is not None) is there
    if found is not None:
        assert found.gib.best == pytest.approx(32 * 3 * 7168 * 2048 / GIB, rel=0.01)


@pytest.mark.parametrize(
    ("backend", "version"),
    [
        ("mooncake", "0.5.11"),
        ("flashinfer", "0.5.11"),
        ("ascend_fuseep", "0.5.11"),
        ("megamoe", "0.5.12"),
        ("pplx", "0.5.18"),
        ("flashinfer_megamoe", "0.5.20"),
    ],
)
def test_every_kind_deals_experts_out_over_all_ranks(backend: str, version: str) -> None:
    """Whole experts, and the shared one on every rank, as with DeepEP; without one each rank has a slice of all."""
    spread = memory_of(f"{R1} --moe-a2a-backend {backend}", version=version).load_gib
    assert spread == memory_of(f"{R1} --moe-a2a-backend deepep", version=version).load_gib
    assert spread != memory_of(R1, version=version).load_gib


def test_a_variable_asks_for_one_kind_from_its_release_on() -> None:
    """DeepGEMM's mega kernels deal experts out from 0.5.12 on, whatever the flag says."""
    asked = {"SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE": "1"}
    for version, obeyed in (("0.5.11", False), ("0.5.12", True)):
        told = memory_of(R1, version=version, **asked).load_gib
        plain = memory_of(R1, version=version).load_gib
        assert (told != plain) is obeyed


def test_a_class_may_split_shared_experts_with_some_kinds() -> None:
    """MiniMax-M3 keeps its shared experts whole with DeepEP alone."""
    flags = "--model-path MiniMaxAI/MiniMax-M3 --tp 8 --trust-remote-code"
    loads = {
        kind: memory_of(f"{flags} --moe-a2a-backend {kind}", version="0.5.18").load_gib
        for kind in ("deepep", "mooncake")
    }
    assert loads["deepep"] is not None
    assert loads["mooncake"] is not None
    assert loads["deepep"].best > loads["mooncake"].best
