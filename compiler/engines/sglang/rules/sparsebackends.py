"""The backends of sparse MLA, which are chosen beside the attention backend: which run on a GPU, and with which KV."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import (
    Platform,
    generation,
    is_sparse,
    platform,
    tenfold,
)
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.facts import Gpu
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_PREFILL = ("dsa-prefill-backend", "nsa-prefill-backend")
_DECODE = ("dsa-decode-backend", "nsa-decode-backend")
_KV = "kv-cache-dtype"
_GLM = "GlmMoeDsaForCausalLM"
_TILELANG, _TRITON = "tilelang", "triton"
_FP8 = "fp8_e4m3"
_BLACKWELL, _SMALL_BLACKWELL = 10, 12
_WITH_FP8 = 89  # ten times the capability


@rule("sparse-backend", flags=(*_PREFILL, *_DECODE))
def backend_of_sparse_attention(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """On CUDA: no `triton` from 0.5.20 on, and `tilelang` with KV in fp8 as the release has it.

    arg_groups/overrides.py, 0.5.17 to 0.5.19 `_check_tilelang_dsa_fp8_kv`, from 0.5.20 `_check_dsa_backend_constraints`; what
    `auto` is, `_dsa_kv_cache_dtype`. GLM in fp8 on compute capability 12 is not asked. Public report sgl-project/sglang#40286.
    """
    given, gpu, model = given_by(plan), plan.gpu, plan.model
    if gpu is None or model is None or not is_sparse(model) or not given.since("0.5.17"):
        return
    if platform(gpu) is not Platform.CUDA or given.on("enable-hisparse"):
        return
    kv = given.word(_KV) or "auto"
    is_fp8 = kv == _FP8 or (kv == "auto" and generation(gpu) >= _BLACKWELL)
    if is_fp8 and model.architecture == _GLM and generation(gpu) == _SMALL_BLACKWELL:
        return
    for flags, others in ((_PREFILL, _DECODE), (_DECODE, _PREFILL)):
        fault = _fault(given, gpu, given.word(*flags), given.word(*others), is_fp8=is_fp8)
        if fault is None:
            continue
        flag = next(each for each in flags if given.word(each) is not None)
        summary, mend = fault
        yield refusal(
            given,
            "sparse-backend",
            summary,
            at(
                given,
                where,
                flag,
                text=f"`{given.word(flag)}`",
                beside={_KV: "the format of KV", "gpus.kind": gpu.compute_capability},
            ),
            because="the server refuses to start",
            help=(mend.format(line=line(given, flag)),),
        )


def _fault(
    given: Given, gpu: Gpu, backend: str | None, other: str | None, *, is_fp8: bool
) -> tuple[str, str] | None:
    """What is wrong with a backend, and what mends it."""
    leave = "leave {line} out: the server chooses one that does"
    if backend == _TRITON and given.since("0.5.20"):
        return "sparse attention by `triton` runs on AMD only", leave
    if backend != _TILELANG or not is_fp8:
        return None
    if given.before("0.5.22"):
        summary = "sparse attention by `tilelang` reads no KV in fp8 on NVIDIA"
        return summary, 'set `memory.kv_dtype = "bfloat16"`, or leave {line} out'
    if other != _TILELANG:
        summary = "sparse attention by `tilelang` does not share KV in fp8 with another backend"
        return summary, "set both backends to `tilelang`, or leave {line} out"
    if (given.whole("dcp-size") or 1) > 1:
        return "sparse attention by `tilelang` takes KV in fp8 with `--dcp-size 1` only", leave
    if tenfold(gpu) < _WITH_FP8:
        return (
            "sparse attention by `tilelang` takes KV in fp8 from compute capability 8.9 on",
            leave,
        )
    return None
