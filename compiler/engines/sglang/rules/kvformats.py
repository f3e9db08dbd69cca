"""Number formats of KV that a backend or a model does not take."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, generation, is_sparse, platform
from compiler.engines.sglang.given import BACKEND, DECODE_BACKEND, PREFILL_BACKEND, Given, given_by
from compiler.engines.sglang.rules.places import at, refusal
from compiler.facts import Mla
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_KV = "kv-cache-dtype"
_FP4 = "fp4_e2m1"
_FP4_LATENT = frozenset({"cutlass_mla", "flashinfer", "trtllm_mla", "flashmla"})
_FP4_OTHERS = frozenset({"triton", "torch_native", "flex_attention", "trtllm_mha"})
_SPARSE_FORMATS = frozenset({"auto", "bf16", "bfloat16", "fp8_e4m3"})
_SMALL_BLACKWELL = 12


def _latent_formats(given: Given) -> frozenset[str]:
    """What TensorRT-LLM's MLA kernels take (0.5.1 to 0.5.18 server_args.py, from 0.5.19 overrides.py)."""
    if given.before("0.5.5"):
        return frozenset({"fp8_e4m3", "auto"})
    if given.before("0.5.7"):
        return frozenset({"fp8_e4m3", "fp4_e2m1", "auto"})
    if given.before("0.5.21"):
        return frozenset({"fp8_e4m3", "fp4_e2m1", "bf16", "auto"})
    return frozenset({"fp8_e4m3", "bf16", "auto"})


@rule("kv-dtype-backend", flags=(DECODE_BACKEND, BACKEND))
def format_fits_backend(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The backend must read the KV format.

    `trtllm_mla`: see `_latent_formats`. FP4: 0.5.7 to 0.5.15, `_handle_kv4_compatibility`, where one backend does both steps.
    `trtllm_mha` prefill in fp8 on compute capability 12: 0.5.19 to 0.5.23.
    """
    given = given_by(plan)
    kv = given.word(_KV) or "auto"
    backend = given.word(DECODE_BACKEND) or given.word(BACKEND)
    allowed = _allowed(plan, given, kv, backend)
    if backend is None or allowed is None or kv in allowed:
        return
    named = ", ".join(f"`{each}`" for each in sorted(allowed))
    yield refusal(
        given,
        "kv-dtype-backend",
        f"the attention backend `{backend}` does not read a KV cache in `{kv}`",
        at(
            given,
            where,
            _KV,
            text=f"`{kv}`",
            beside={DECODE_BACKEND: f"`{backend}`", BACKEND: f"`{backend}`"},
        ),
        because=f"the server refuses to start; here it takes {named}"
        if allowed
        else "the server refuses to start",
        help=("set another `memory.kv_dtype`, or another backend",),
    )


def _judges_fp4(given: Given) -> bool:
    """From 0.5.16 there are several formats of four bits, with lists of their own."""
    return given.since("0.5.7") and given.before("0.5.16")


def _allowed(plan: Plan, given: Given, kv: str, backend: str | None) -> frozenset[str] | None:
    """The formats that a backend takes; `None` when the release does not ask."""
    if backend == "trtllm_mla":
        return _latent_formats(given)
    both = given.word(PREFILL_BACKEND) or backend
    if kv == _FP4 and plan.model is not None and both == backend and _judges_fp4(given):
        taken = _FP4_LATENT if isinstance(plan.model.attention, Mla) else _FP4_OTHERS
        return None if backend in taken else frozenset({"auto", "bf16", "bfloat16", "fp8_e4m3"})
    prefill = given.word(PREFILL_BACKEND) or given.word(BACKEND)
    small = plan.gpu is not None and platform(plan.gpu) is Platform.CUDA
    if prefill == "trtllm_mha" and small and given.since("0.5.19"):
        newer = plan.gpu is not None and generation(plan.gpu) == _SMALL_BLACKWELL
        return frozenset({"auto", "bf16", "bfloat16"}) if newer and kv == "fp8_e4m3" else None
    return None


_FP4_BY_BLOCKS = "fp4_mx_block16"


@rule("kv-dtype-gone", flags=(_KV,))
def format_is_still_there(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """0.5.16 to 0.5.20 parse the old word for FP4 and refuse it when the pool is made (mem_cache/kv_cache_dtype.py)."""
    given = given_by(plan)
    if given.word(_KV) != _FP4 or not (given.since("0.5.16") and given.before("0.5.21")):
        return
    yield refusal(
        given,
        "kv-dtype-gone",
        f"`{_FP4}` is no format of the KV cache any more",
        at(given, where, _KV, text="the parser takes it, and the server stops after the load"),
        because=f"`{_FP4_BY_BLOCKS}` took its place",
        help=(f'set `flags.{_KV} = "{_FP4_BY_BLOCKS}"`',),
    )


_COMPRESSED = "DeepseekV4ForCausalLM"
_COMPRESSED_FORMATS = frozenset({"auto", "fp8_e4m3"})


@rule("kv-dtype-model", flags=(_KV,))
def format_fits_model(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Some models keep KV in few formats.

    Sparse MLA: bf16 or fp8_e4m3 (0.5.8 to 0.5.23, `_set_default_nsa_kv_cache_dtype`). DeepSeek V4, whose pool is laid out in
    bytes: fp8_e4m3. Others than bf16 are refused (arg_groups, `_deepseek_v4_kv_cache_dtype`), and bf16 ends in an assertion when
    the pool is made (0.5.12 to 0.5.23 mem_cache/deepseek_v4_memory_pool.py, `create_buffer`), but for AMD's own pool.
    """
    given, model = given_by(plan), plan.model
    kv = given.word(_KV) or "auto"
    if model is None:
        return
    compressed = model.architecture == _COMPRESSED
    taken = _COMPRESSED_FORMATS if compressed else _SPARSE_FORMATS
    judged = _judges_compressed(given) if compressed else is_sparse(model) and given.since("0.5.8")
    if not judged or kv in taken:
        return
    what = "attention that compresses over time" if compressed else "sparse attention"
    yield refusal(
        given,
        "kv-dtype-model",
        f"a model with {what} does not keep KV in `{kv}`",
        at(
            given,
            where,
            _KV,
            text=f"`{kv}`",
            beside={
                "model.id": "its pool is laid out in bytes" if compressed else f"has {what} (DSA)"
            },
        ),
        because=f"the server stops with an assertion at start; it takes {'fp8_e4m3 alone' if compressed else 'bf16 and fp8_e4m3'}",
        help=(
            'set `memory.kv_dtype = "fp8_e4m3"`, or leave it out'
            if compressed
            else 'set `memory.kv_dtype` to `"fp8_e4m3"` or `"bf16"`',
        ),
    )


def _judges_compressed(given: Given) -> bool:
    gpu = given.plan.gpu
    return given.since("0.5.12") and gpu is not None and platform(gpu) is Platform.CUDA
