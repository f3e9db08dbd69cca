"""Experts in MXFP4 are filled up to what the kernels that run them take, and Kimi K3 that has them."""

from __future__ import annotations

import pytest

from servers import planned, sized


GPT = "--model-path openai/gpt-oss-120b --mem-fraction-static 0.9"
K3 = "--model-path moonshotai/Kimi-K3 --tp-size 8 --mem-fraction-static 0.93 --trust-remote-code"


def load_gib(command: str, *, version: str, gpu: str, count: int = 8) -> float:
    load = sized(command, version=version, gpu=gpu, count=count, public=False).load_gib
    assert load is not None
    return load.best


def experts_gib(*, hidden: int, share: int, bias_bytes: int = 4) -> float:
    """The experts of GPT-OSS 120B: 128 in each of 36 layers, three matrices of 4.25 bits, and a bias a row."""
    values = 3 * hidden * share * 4.25 / 8
    return 128 * 36 * (values + (2 * share + hidden) * bias_bytes) / 2**30


def swizzled_gib(*, share: int) -> float:
    """What Triton's kernels leave on each GPU: the scales as they were loaded, and 1.5 GiB for nothing that is known."""
    return 128 * 36 * 3 * 2880 * share / 32 / 2**30 + 1.5


@pytest.mark.parametrize(
    ("gpu", "version", "hidden", "share"),
    [
        ("b200", "0.5.16", 3072, 768),
        ("b200", "0.5.17", 2944, 768),
        ("h200", "0.5.9", 2880, 736),
        ("h200", "0.5.10", 2880, 768),
    ],
)
def test_a_share_of_an_expert_is_filled_up(gpu: str, version: str, hidden: int, share: int) -> None:
    """FlashInfer takes multiples of 256, from 0.5.17 on of 128; Triton of 64, before 0.5.10 of 32, of what 4 ranks share."""
    flags = f"{GPT} --tp-size 4"
    got = load_gib(flags, version=version, gpu=gpu, count=4)
    plain = load_gib(f"{flags} --moe-runner-backend deep_gemm", version=version, gpu=gpu, count=4)
    more = experts_gib(hidden=hidden, share=share) - experts_gib(
        hidden=2880, share=720, bias_bytes=2
    )
    if gpu == "h200":
        more += swizzled_gib(share=share)
    assert got - plain == pytest.approx(more, abs=0.1)


def test_a_workstation_gpu_runs_gpt_oss_by_other_kernels_in_each_release() -> None:
    """Triton's, then Marlin's, which fills up the hidden size too, then FlashInfer's."""
    told = {
        version: load_gib(GPT, version=version, gpu="rtx-pro-6000-blackwell", count=1)
        for version in ("0.5.13", "0.5.14", "0.5.17")
    }
    triton = load_gib(
        f"{GPT} --moe-runner-backend triton_kernel",
        version="0.5.17",
        gpu="rtx-pro-6000-blackwell",
        count=1,
    )
    assert told["0.5.13"] == triton
    assert told["0.5.17"] < told["0.5.14"]
    assert told["0.5.17"] < told["0.5.13"]


def test_aiter_fills_the_experts_of_kimi_k3_up_unless_a_variable_says_less() -> None:
    """By 512 instead of 384 a rank the weights do not fit; with the variable a public pool is 1.3 % less than predicted."""
    flags = f"{K3} --attention-backend triton --disable-radix-cache --cuda-graph-max-bs-decode 256"
    wide = sized(flags, version="0.5.17", gpu="mi355x", public=False)
    narrow = sized(flags, version="0.5.17", gpu="mi355x", public=False, SGLANG_AITER_K3_OPT="1")
    assert wide.load_gib is not None
    assert narrow.load_gib is not None
    more = 92 * 896 * 3 * 3584 * (512 - 384) * 4.25 / 8 / 2**30
    assert wide.load_gib.best - narrow.load_gib.best == pytest.approx(more, rel=0.001)
    assert narrow.pool.cell_bytes == 24 * 576 * 2
    assert narrow.pool.tokens.low < 1_292_032 < narrow.pool.tokens.best < 1_292_032 * 1.015


def test_experts_that_no_kernels_take_are_made_sixteen_bits() -> None:
    """Triton's run no GPT-OSS whose experts are dealt out; on Blackwell FlashInfer's do."""
    split, dealt = (f"{GPT} --tp-size 4{ep}" for ep in ("", " --ep-size 4"))
    plain = load_gib(dealt, version="0.5.12", gpu="h200", count=4)
    values = 3 * 2880 * 2880 * (16 - 4.25) / 8 * 32 * 36 / 2**30
    swizzled = load_gib(split, version="0.5.12", gpu="h200", count=4)
    assert plain - swizzled + swizzled_gib(share=768) == pytest.approx(values, rel=0.03)
    told = [load_gib(each, version="0.5.12", gpu="b200", count=4) for each in (split, dealt)]
    assert told[0] == pytest.approx(told[1], rel=0.1)


def test_kimi_k3_has_no_release_before_its_own_and_no_kernels_on_every_gpu() -> None:
    """0.5.17 has it; on Hopper it makes experts 16 bits unless Marlin is asked for, and then it does not fit."""
    early = planned(K3, version="0.5.15", gpu="b200", public=False)
    assert [each.missing for each in early.unknowns] == [
        "its architecture: sglang has it from 0.5.17 on"
    ]
    hopper = K3.replace("--tp-size 8", "--tp-size 16")
    marlin = load_gib(
        f"{hopper} --moe-runner-backend marlin", version="0.5.17", gpu="h200", count=16
    )
    assert marlin < 141 < load_gib(hopper, version="0.5.17", gpu="h200", count=16)
    assert sized(K3, version="0.5.17", gpu="b200", public=False).unpriced


@pytest.mark.parametrize(
    ("command", "version", "gpu", "said"),
    [
        (f"{GPT} --tp-size 4 --ep-size 4", "0.5.12", "h200", "made 16 bits"),
        (f"{GPT} --tp-size 4", "0.5.12", "h200", "720 columns of an expert are filled up to 768"),
        (f"{GPT} --tp-size 1", "0.5.12", "h200", None),
        ("--model-path Qwen/Qwen3-8B --tp-size 4", "0.5.12", "h200", None),
    ],
)
def test_the_plan_says_what_kernels_make_of_experts(
    command: str, version: str, gpu: str, said: str | None
) -> None:
    """In words, where they take more than their files; and nothing where they do not."""
    found = planned(command, version=version, gpu=gpu, count=4, public=False).assumptions
    told = [each for each in found if "expert" in each]
    assert len(told) == (said is not None)
    assert all(said in each for each in told if said is not None)


SUPER = "--model-path nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 --mem-fraction-static 0.8"


def test_tensorrt_llm_takes_whole_steps_of_columns() -> None:
    """On Blackwell it runs Nemotron's experts by itself: 2,688 columns over eight ranks are 336, which become 384."""
    chosen = load_gib(f"{SUPER} --tp-size 8", version="0.5.15", gpu="b200")
    other = load_gib(
        f"{SUPER} --tp-size 8 --moe-runner-backend triton", version="0.5.15", gpu="b200"
    )
    each = 2 * 1024 * (384 - 336) * 2  # two matrices of the latent width, in bf16
    assert chosen - other == pytest.approx(40 * 512 * each / 2**30, abs=0.1)


@pytest.mark.parametrize(
    ("flags", "version", "gpu"),
    [
        ("--tp-size 8", "0.5.6", "b200"),  # before there were steps
        ("--tp-size 8", "0.5.15", "h200"),  # another generation
        ("--tp-size 8 --moe-a2a-backend deepep --ep-size 8", "0.5.15", "b200"),  # an exchange
        ("--tp-size 4", "0.5.15", "h200"),
    ],
)
def test_other_kernels_take_a_share_as_it_is(flags: str, version: str, gpu: str) -> None:
    """Nothing is filled up before 0.5.8, on other generations, and where an all-to-all backend deals experts out."""
    model = "--model-path Qwen/Qwen3-Next-80B-A3B-Instruct --mem-fraction-static 0.8"
    plain = load_gib(f"{model} {flags}", version=version, gpu=gpu)
    asked = load_gib(f"{model} {flags} --moe-runner-backend triton", version=version, gpu=gpu)
    assert plain == asked


def test_triton_leaves_the_scales_it_was_given() -> None:
    """One more scale for 32 values, and what the pools of SGLang's own tests leave beside it on Hopper."""
    flags = f"{GPT} --tp-size 4"
    swizzled = sized(flags, version="0.5.15", gpu="h100", count=4, public=False).load_gib
    marlin = sized(
        f"{flags} --moe-runner-backend deep_gemm",
        version="0.5.15",
        gpu="h100",
        count=4,
        public=False,
    ).load_gib
    assert swizzled is not None
    assert marlin is not None
    padding = experts_gib(hidden=2880, share=768) - experts_gib(
        hidden=2880, share=720, bias_bytes=2
    )
    assert swizzled.best - marlin.best == pytest.approx(padding + swizzled_gib(share=768), abs=0.1)
    assert swizzled.high - swizzled.low > 1.5
