"""What prefill steps of latent attention need while they run: keys and values unfolded from latents, by release and backend."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
R1 = "--model-path deepseek-ai/DeepSeek-R1 --tp 8 --max-running-requests 8 --chunked-prefill-size 8192"
LONG = "--context-length 131072"
# A token of 16 heads: its latent, what that is projected to, and the keys with their rotary part, in bf16.
TOKEN = (512 + 64 + 16 * (128 + 128 + 192)) * 2
CAPACITY = 128 * 1024


def peak(command: str, *, version: str, gpu: str = "h200", **env: str) -> Line:
    """The line of the reserve for what one step needs."""
    words = f"python -m sglang.launch_server {command}".split()
    words = ["env", *(f"{name}={value}" for name, value in env.items()), *words] if env else words
    question = Question(gpu=gpu, count=8, engine="sglang", version=version)
    plan = make_predictor(CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    assert plan.memory is not None, plan.unknowns
    return next(
        each for each in plan.memory.reserve_lines if each.item == "activations, peak of a step"
    )


def grows(command: str, *, version: str, gpu: str = "h200", by: float = TOKEN) -> bool:
    """Whether a context of 128 Ki needs its tokens unfolded; with short ones the experts need more."""
    short = peak(f"{command} --context-length 8192", version=version, gpu=gpu).gib.best
    long = peak(f"{command} {LONG}", version=version, gpu=gpu).gib.best
    if long == short:
        return False
    assert long == pytest.approx(CAPACITY * by / GIB, rel=0.25)
    return True


@pytest.mark.parametrize(
    ("version", "backend", "unfolds"),
    [
        ("0.4.5", "fa3", False),
        ("0.4.5.post1", "fa3", True),
        ("0.4.10.post2", "flashinfer", False),
        ("0.5.1", "flashinfer", True),
        ("0.5.11", "flashinfer", True),
        ("0.5.11", "flashmla", True),
        ("0.5.11", "trtllm_mla", True),
        ("0.5.11", "triton", False),
        ("0.5.20", "fa3", True),
        # which captures steps of 8 Ki tokens
        ("0.5.23", "fa3", False),
    ],
)
def test_cached_beginnings_are_unfolded_by_release_and_backend(
    version: str, backend: str, *, unfolds: bool
) -> None:
    """Keys and values of 128 Ki tokens at once, where the release's backend does not read latents as they are."""
    gpu = "b200" if backend == "trtllm_mla" else "h200"
    assert grows(f"{R1} --attention-backend {backend}", version=version, gpu=gpu) is unfolds


@pytest.mark.parametrize(
    ("version", "switch"),
    [
        ("0.5.11", "--attention-backend fa3 --disable-chunked-prefix-cache"),
        ("0.5.11", "--attention-backend fa3 --enable-deterministic-inference"),
        ("0.5.11", "--attention-backend flashinfer --flashinfer-mla-disable-ragged"),
        ("0.4.10", "--attention-backend fa3 --page-size 64"),
        ("0.5.11", "--attention-backend fa3 --disaggregation-mode decode"),
        # a step that is a graph reads latents as they are
        ("0.5.11", "--attention-backend fa3 --piecewise-cuda-graph-max-tokens 8192"),
    ],
)
def test_what_turns_unfolding_off(version: str, switch: str) -> None:
    """A switch, a page, or a captured step, and a longer context needs no more."""
    assert not grows(f"{R1} {switch}", version=version)


def test_the_backend_of_prefill_decides() -> None:
    """Whatever decodes, and with one flag for both where prefill has none of its own."""
    fa3, triton = "--attention-backend fa3", "--attention-backend triton"
    assert grows(f"{R1} {fa3} --decode-attention-backend triton", version="0.5.11")
    assert grows(f"{R1} {triton} --prefill-attention-backend fa3", version="0.5.11")
    assert not grows(f"{R1} {triton} --decode-attention-backend fa3", version="0.5.11")
    assert grows(f"{R1} --decode-attention-backend triton", version="0.5.11")


def test_heads_are_whole_under_data_parallel_attention() -> None:
    """Each replica unfolds all 128 heads, so that it needs eight times as much."""
    apart = peak(f"{R1} --dp 8 --enable-dp-attention {LONG}", version="0.5.11").gib.best
    token = (512 + 64 + 128 * (128 + 128 + 192)) * 2
    assert apart == pytest.approx(CAPACITY * token / GIB, rel=0.05)


def test_the_capacity_caps_a_longer_context() -> None:
    """One request of 160 Ki tokens is unfolded in two parts, the larger of 128 Ki; several requests make no more."""
    lines = [
        peak(f"{R1} --context-length {context}", version="0.5.11") for context in (131_072, 163_840)
    ]
    assert lines[0].gib.best == lines[1].gib.best
    assert lines[1].gib.high == pytest.approx(lines[1].gib.best * 4 / 3)


@pytest.mark.parametrize(("version", "counts"), [("0.5.11", False), ("0.5.12", True)])
def test_a_variable_sets_the_capacity(version: str, *, counts: bool) -> None:
    """`SGLANG_MAX_KV_CHUNK_CAPACITY`, from 0.5.12 on."""
    usual = peak(f"{R1} {LONG}", version=version).gib.best
    halved = peak(f"{R1} {LONG}", version=version, SGLANG_MAX_KV_CHUNK_CAPACITY="65536").gib.best
    assert (halved < usual) is counts


def test_aiter_unfolds_whole_sequences() -> None:
    """Up to 0.5.19 all of a sequence at once, and up to 0.5.9 in two copies; an fp8 cache is gathered as it is, too."""
    # Twelve heads and an fp8 cache: the 13.2 KiB a token that sgl-project/sglang#35522 names.
    twelve = 512 + 64 + (512 + 64) * 2 + 512 * 2 + 12 * (128 + 128 + 192) * 2
    assert twelve / 1024 == pytest.approx(13.2, abs=0.05)
    sixteen = twelve + 4 * (128 + 128 + 192) * 2
    command = f"{R1} --kv-cache-dtype fp8_e4m3 --context-length"
    needed = {
        version: peak(f"{command} 163840", version=version, gpu="mi300x").gib.best
        for version in ("0.5.9", "0.5.11", "0.5.20")
    }
    assert needed["0.5.11"] == pytest.approx(163_840 * sixteen / GIB, rel=0.25)
    assert needed["0.5.9"] - needed["0.5.11"] == pytest.approx(163_840 * 16 * (192 + 128) * 2 / GIB)
    assert needed["0.5.20"] < needed["0.5.11"]


def test_the_indexer_scored_all_at_once() -> None:
    """Sparse MLA: chunk times context in fp32 up to 0.5.5, then in parts of what is free; beside it stand the heads of a replica."""
    words = "--model-path deepseek-ai/DeepSeek-V3.2 --tp 1 --chunked-prefill-size 8192 --context-length 163840"
    before, after = (peak(words, version=version).gib for version in ("0.5.5", "0.5.6"))
    assert before.best == pytest.approx(8192 * 163_840 * 4 / GIB)
    assert after.best < before.best


def test_heads_are_padded_for_the_sparse_kernel() -> None:
    """FlashMLA's sparse kernel pads queries and output to 64 heads on Hopper and 128 on Blackwell, in bf16."""
    words = "--model-path zai-org/GLM-5 --tp 8 --kv-cache-dtype bfloat16 --chunked-prefill-size 65536 --context-length 131072"
    hopper, blackwell = (
        peak(words, version="0.5.11", gpu=gpu).gib.high for gpu in ("h200", "b200")
    )
    padded = 65_536 * 64 * (576 + 512) * 2 / GIB
    assert blackwell - hopper == pytest.approx(padded * 4 / 3, rel=0.01)


def test_heads_are_padded_for_fp8_on_hopper() -> None:
    """From 0.5.11 on, where the kernel for decoding prefills too."""
    words = "--model-path zai-org/GLM-5 --tp 8 --kv-cache-dtype fp8_e4m3 --chunked-prefill-size 65536 --context-length 131072"
    before, after = (peak(words, version=version).gib.high for version in ("0.5.10", "0.5.11"))
    query = 65_536 * (64 * (576 + 512) - 8 * 512) * 2 / GIB
    plain = 65_536 * (2 * 6144 + 8 * (256 + 512 + 576 + 512 + 256)) * 2 / GIB
    assert after == pytest.approx((plain + query) * 4 / 3, rel=0.02)
    assert after > before
