"""What AMD's own all-reduce keeps of a card before weights load."""

from __future__ import annotations

import pytest
from attrs import evolve

from compiler.engines.sglang.allreduce import with_more
from compiler.facts import Gpu
from compiler.ranges import Range
from servers import sized


GLM = "--model-path zai-org/GLM-5.2-FP8 --mem-fraction-static 0.82 --context-length 262144 --kv-cache-dtype fp8_e4m3"
OFF = "--disable-custom-all-reduce"
BUFFERS_GIB = 3.0


def _free_gib(words: str, *, version: str = "0.5.18", gpu: str = "mi355x", **env: str) -> float:
    command = f"{GLM} {words}"
    memory = sized(command, version=version, gpu=gpu, count=8, public=False, **env)
    return memory.free_before_load_gib.best


def test_a_server_without_it_has_its_buffers_free() -> None:
    """One for what goes in and one of twice the size, of a GiB each: `--disable-custom-all-reduce` on AMD's GPUs."""
    assert _free_gib(f"--tp 8 {OFF}") - _free_gib("--tp 8") == pytest.approx(BUFFERS_GIB)


@pytest.mark.parametrize(
    ("env", "spared"),
    [
        ({"SGLANG_USE_AITER_AR": "0"}, BUFFERS_GIB),
        ({"SGLANG_USE_1STAGE_ALLREDUCE": "1"}, BUFFERS_GIB),
        ({"SGLANG_USE_AITER_AR": "1"}, 0.0),
    ],
)
def test_variables_turn_it_off_too(env: dict[str, str], spared: float) -> None:
    """So does what asks for SGLang's own class instead."""
    assert _free_gib("--tp 8", **env) - _free_gib("--tp 8") == pytest.approx(spared)


@pytest.mark.parametrize(
    ("words", "version", "gpu"),
    [
        # NVIDIA's GPUs have another, whose buffers are small.
        ("--tp 8", "0.5.18", "h200"),
        # No release says when aiter's buffers became so large: machines of earlier ones have as much free as without it.
        ("--tp 8", "0.5.9", "mi355x"),
        # Ranks on several hosts go without anyway.
        ("--tp 8 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:20000", "0.5.18", "mi355x"),
    ],
)
def test_where_it_changes_nothing(words: str, version: str, gpu: str) -> None:
    """It is not there, or it is not known to be that large."""
    without = _free_gib(f"{words} {OFF}", version=version, gpu=gpu)
    assert without == _free_gib(words, version=version, gpu=gpu)


def test_no_more_is_free_than_on_one_gpu() -> None:
    """A server on one GPU makes no group of ranks, and what it has free is the most that any has."""
    gpu = Gpu(
        id="a",
        names=("A",),
        total_mib=100 * 1024,
        free_alone_gib=Range(97.0, 98.0, 99.0),
        compute_capability="gfx950",
        multiprocessors=1,
        interconnect="xgmi",
    )
    assert with_more(Range(90.0, 94.0, 97.5), 3.0, gpu) == Range(93.0, 97.0, 99.0)
    unknown = evolve(gpu, free_alone_gib=None)
    assert with_more(Range(90.0, 94.0, 97.5), 3.0, unknown) == Range(93.0, 97.0, 100.5)


def test_a_boot_with_it_is_carried_to_a_server_without() -> None:
    """The weights are those of the boot, and of the buffers that stand free the pool gets its share."""
    words = "--model-path amd/GLM-5.2-MXFP4 --tp 8 --kv-cache-dtype fp8_e4m3 --mem-fraction-static 0.88 --context-length 131072"
    has, goes_without = (
        sized(f"{words} {each}", version="0.5.15.post1", gpu="mi355x") for each in ("", OFF)
    )
    assert has.pool.boot is not None
    more = goes_without.pool.rest_gib.best - has.pool.rest_gib.best
    assert more == pytest.approx(BUFFERS_GIB * 0.88)
