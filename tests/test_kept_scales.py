"""What releases keep of DeepSeek V4 beside what they use: scales of its experts, and tables of cosines and sines."""

from __future__ import annotations

import pytest

from compiler.plan import Memory
from servers import sized


PRO = "--model-path deepseek-ai/DeepSeek-V4-Pro --mem-fraction-static 0.9 --context-length 1048576"


def load_gib(command: str, *, version: str, gpu: str = "h200") -> float:
    return loaded(sized(command, version=version, gpu=gpu, public=False))


def loaded(memory: Memory) -> float:
    assert memory.load_gib is not None
    return memory.load_gib.best


def test_marlin_keeps_the_scales_it_was_given_until_0_5_16() -> None:
    """Four bytes a group and one of its own: a public log of 0.5.15 says 125.65 GiB."""
    marlin = f"{PRO} --tp-size 8 --moe-runner-backend marlin"
    assert load_gib(marlin, version="0.5.15") == pytest.approx(125.65, rel=0.0015)
    kept = load_gib(marlin, version="0.5.15") - load_gib(marlin, version="0.5.16")
    groups = 61 * 384 * 3 * 7168 * 3072 / 8 / 32
    assert kept == pytest.approx(4 * groups / 2**30, rel=0.02)


def test_another_backend_does_not() -> None:
    """TensorRT-LLM's kernels and CUTLASS of FlashInfer make eight bits of them, in place."""
    cutlass = f"{PRO} --tp-size 8 --moe-runner-backend flashinfer_mxfp4"
    assert load_gib(cutlass, version="0.5.15") == pytest.approx(103.0, abs=0.5)


@pytest.mark.parametrize(
    ("version", "kept"), [("0.5.12", False), ("0.5.13", True), ("0.5.16", False)]
)
def test_blackwell_s_workstations_run_it_on_marlin(version: str, *, kept: bool) -> None:
    """By itself from 0.5.13 on."""
    flash = "--model-path deepseek-ai/DeepSeek-V4-Flash --tp-size 4 --mem-fraction-static 0.9"
    auto = load_gib(flash, version=version, gpu="rtx-pro-6000-blackwell")
    marlin = load_gib(
        f"{flash} --moe-runner-backend marlin", version=version, gpu="rtx-pro-6000-blackwell"
    )
    cutlass = load_gib(
        f"{flash} --moe-runner-backend cutlass", version=version, gpu="rtx-pro-6000-blackwell"
    )
    assert (auto == marlin) is (kept or version == "0.5.16")
    assert (auto > cutlass) is kept


def test_four_hosts_in_stages() -> None:
    """A public log of 0.5.12.post1 says 34.03 GiB for the last stage; shared experts are whole on each rank."""
    stages = (
        f"{PRO} --tp-size 8 --pp-size 4 --nnodes 4 --node-rank 0 --dist-init-addr h0:20000"
        " --moe-runner-backend marlin --disable-cuda-graph --disable-overlap-schedule"
    )
    memory = sized(
        stages,
        version="0.5.12.post1",
        gpu="h800",
        count=32,
        public=False,
        SGLANG_SHARED_EXPERT_TP1="1",
    )
    assert loaded(memory) == pytest.approx(34.03, rel=0.007)
    assert memory.pool.tokens.low <= 1_607_936 <= memory.pool.tokens.high
    split = sized(stages, version="0.5.12.post1", gpu="h800", count=32, public=False)
    assert loaded(split) < loaded(memory) - 0.8


def test_tables_of_a_release() -> None:
    """From 0.5.13 on a table of cosines and sines stands beside the complex numbers of each base; Pro's layers have one base."""
    pro = f"{PRO} --tp-size 8 --moe-runner-backend flashinfer_mxfp4"
    table = 1_048_576 * 64 * 4 / 2**30
    for command, bases in ((pro, 1), (pro.replace("Pro", "Flash"), 2)):
        more = load_gib(command, version="0.5.13") - load_gib(command, version="0.5.12")
        assert more == pytest.approx(bases * table)
        assert load_gib(command, version="0.5.17") == load_gib(command, version="0.5.18")
