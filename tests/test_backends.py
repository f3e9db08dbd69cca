"""The attention backend that a release picks by itself, by GPU and model."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
DENSE, MIXTRAL, COHERE = (
    "Qwen/Qwen3-32B",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "CohereLabs/aya-23-8B",
)
LATENT, LITE, SINKS = (
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V2-Lite-Chat",
    "openai/gpt-oss-120b",
)


@pytest.mark.parametrize(
    ("model", "gpu", "version", "backend"),
    [
        # FlashAttention 3 on Hopper: for models that are listed, then for all
        ("meta-llama/Llama-3.1-8B-Instruct", "h100", "0.4.5", "flashinfer"),
        ("meta-llama/Llama-3.1-8B-Instruct", "h100", "0.4.5.post1", "fa3"),
        (DENSE, "h100", "0.4.6", "flashinfer"),
        (DENSE, "h100", "0.4.6.post1", "fa3"),
        (MIXTRAL, "h100", "0.4.6.post3", "fa3"),
        (MIXTRAL, "h100", "0.4.6.post4", "flashinfer"),
        (COHERE, "h100", "0.5.7", "flashinfer"),
        (COHERE, "h100", "0.5.8", "fa3"),
        (SINKS, "h100", "0.5.1", "fa3"),
        (LATENT, "h200", "0.4.5", "triton"),
        (LATENT, "h200", "0.4.5.post1", "fa3"),
        # the data centre's Blackwell
        (DENSE, "b200", "0.5.6", "flashinfer"),
        (DENSE, "b200", "0.5.6.post1", "trtllm_mha"),
        (SINKS, "b200", "0.5.1", "trtllm_mha"),
        (LATENT, "b200", "0.4.6", "triton"),
        (LATENT, "b200", "0.4.7", "flashinfer"),
        (LATENT, "b200", "0.5.3.post2", "trtllm_mla"),
        (LITE, "b200", "0.5.11", "flashinfer"),
        # other GPUs
        (DENSE, "rtx-pro-6000-blackwell", "0.5.11", "flashinfer"),
        (LATENT, "rtx-pro-6000-blackwell", "0.5.11", "triton"),
        (SINKS, "rtx-pro-6000-blackwell", "0.5.11", "triton"),
        (DENSE, "mi300x", "0.4.6", "triton"),
        (DENSE, "mi300x", "0.4.6.post5", "aiter"),
        (LATENT, "mi300x", "0.4.6.post5", "triton"),
        (LATENT, "mi300x", "0.4.7", "aiter"),
    ],
)
def test_the_backend_of_a_release(model: str, gpu: str, version: str, backend: str) -> None:
    """As the release's source picks it, where no flag names one."""
    words = f"python -m sglang.launch_server --model-path {model} --tp 8".split()
    question = Question(gpu=gpu, count=8, engine="sglang", version=version)
    plan = make_predictor(CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    assert plan.memory is not None, plan.unknowns
    assert plan.attention_backend == backend
