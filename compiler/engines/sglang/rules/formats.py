"""Number formats of weights: the flag against the checkpoint, and kernels against formats and the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.architecture import BLOCK_VALUES
from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import at, caution, line, refusal
from compiler.engines.sglang.settings import switch
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_FORMAT, _RUNNER = "quantization", "moe-runner-backend"
_DRAFT_RUNNER = "speculative-moe-runner-backend"
_AWQ, _GPTQ = frozenset({"awq", "awq_marlin"}), frozenset({"gptq", "gptq_marlin"})
_LOADERS = frozenset({"bitsandbytes", "gguf"})
_OTHERS: Mapping[str, frozenset[str]] = {
    "awq": _GPTQ | _LOADERS | {"fp8", "compressed-tensors", "w8a8_int8", "w8a8_fp8"},
    "gptq": _AWQ | _LOADERS | {"fp8", "compressed-tensors", "w8a8_int8", "w8a8_fp8"},
    "fp8": _AWQ | _GPTQ | _LOADERS | {"compressed-tensors", "w8a8_int8"},
    "compressed-tensors": _AWQ | _GPTQ | _LOADERS | {"fp8"},
    "fbgemm_fp8": _AWQ | _GPTQ | _LOADERS | {"fp8", "compressed-tensors", "w8a8_int8"},
    "mxfp4": _AWQ | _GPTQ | _LOADERS | {"fp8", "compressed-tensors", "w8a8_int8", "w8a8_fp8"},
}
"""How a checkpoint is quantized -> the formats that no release lets stand for it."""


@rule("quantization-checkpoint", flags=(_FORMAT,))
def format_of_the_checkpoint(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A checkpoint says itself how it is quantized, and the flag must not say otherwise.

    0.4.6 to 0.5.23 configs/model_config.py, `_verify_quantization`; only pairs that no release takes are judged.
    """
    given, model = given_by(plan), plan.model
    asked = given.word(_FORMAT)
    method = model.quantization.method if model is not None and model.quantization else None
    if method is None or asked not in _OTHERS.get(method, ()):
        return
    yield refusal(
        given,
        "quantization-checkpoint",
        f"the checkpoint is quantized by `{method}`, and `--{_FORMAT}` says `{asked}`",
        at(given, where, _FORMAT, text=f"`{asked}`", beside={"model.id": f"`{method}`"}),
        help=(f"leave {line(given, _FORMAT)} out: the checkpoint says it itself",),
    )


# Formats that are read and never made: the classes name files that a plain checkpoint lacks (`get_config_filenames`), or
# cannot be made without what such a file says.
_READ = _AWQ | _GPTQ | {"marlin", "moe_wna16", "auto-round", "compressed-tensors", "fbgemm_fp8"}


@rule("quantization-missing", flags=(_FORMAT,))
def format_of_a_plain_checkpoint(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Nothing makes these formats of weights in 16 bits while they load.

    0.4.6 to 0.5.23 model_loader/weight_utils.py, `get_quant_config`: "Cannot find the config file for awq". What a folder
    holds is not known here: there it is a warning, and none where its name is another than the checkpoint's.
    """
    given, model = given_by(plan), plan.model
    asked = given.word(_FORMAT)
    if model is None or model.quantization is not None or asked not in _READ:
        return
    path, name = plan.profile.model.path or model.id, model.id.rpartition("/")[2]
    is_hub = path == model.id
    if given.before("0.4.6") or not (is_hub or path.rstrip("/").rpartition("/")[2] == name):
        return
    spot = at(given, where, _FORMAT, text=f"reads `{asked}`", beside={"model.id": "in 16 bits"})
    summary = f"the checkpoint is not quantized, and `--{_FORMAT} {asked}` reads one that is"
    because = "the server stops at load: it finds no config of that format"
    advice = (
        f'leave {line(given, _FORMAT)} out, or set `{_FORMAT} = "fp8"`, which is made while loading',
        f"or name a checkpoint in `{asked}`",
    )
    if is_hub:
        yield refusal(given, "quantization-missing", summary, spot, because=because, help=advice)
    else:
        because += f", unless the folder `{path}` holds another checkpoint than its name says"
        yield caution("quantization-missing", summary, spot, because=because, help=advice)


def _runner_formats(given: Given, runner: str | None) -> frozenset[str] | None:
    """The formats that kernels for experts take where one is asked for; `None` when the release does not ask.

    `_handle_moe_kernel_config`: FlashInfer's CUTLASS 0.5.1 to 0.5.23, its TensorRT-LLM 0.5.7 to 0.5.23.
    """
    if runner == "flashinfer_cutlass" and given.since("0.5.1"):
        if given.before("0.5.6"):
            return frozenset({"modelopt_fp4"})
        return frozenset({"modelopt_fp4", "modelopt_fp8", "modelopt_mixed"})
    if runner == "flashinfer_trtllm" and given.since("0.5.7"):
        plain = {"modelopt_fp4", "modelopt_fp8", "modelopt_mixed", "fp8", "mxfp8"}
        return frozenset(plain | {"compressed-tensors", "nvfp4_online"})
    return None


@rule("runner-format", flags=(_RUNNER,))
def runner_takes_format(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Kernels for experts read some formats; see `_runner_formats` for the sources."""
    given = given_by(plan)
    asked, runner = given.word(_FORMAT), given.word(_RUNNER)
    allowed = _runner_formats(given, runner)
    if asked is None or allowed is None or asked in allowed or asked == "unquant":
        return
    yield refusal(
        given,
        "runner-format",
        f"the kernels `{runner}` do not read experts in `{asked}`",
        at(given, where, _RUNNER, text=f"`{runner}`", beside={_FORMAT: f"`{asked}`"}),
        because=f"the server stops with an assertion at start; it takes {', '.join(f'`{each}`' for each in sorted(allowed))}, and bf16",
        help=(f"leave {line(given, _RUNNER)} out, or name another",),
    )


@rule("draft-runner", flags=(_DRAFT_RUNNER,))
def runner_of_the_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """TensorRT-LLM's kernels for a draft's experts (0.5.7 to 0.5.11, `_handle_speculative_decoding`)."""
    given = given_by(plan)
    if given.word(_DRAFT_RUNNER) != "flashinfer_trtllm":
        return
    if not given.since("0.5.7") or not given.before("0.5.12"):
        return
    yield refusal(
        given,
        "draft-runner",
        f"the kernels `flashinfer_trtllm` are not for the draft's experts, `--{_DRAFT_RUNNER}`",
        at(given, where, _DRAFT_RUNNER, text="for the draft"),
        because="the server stops with an assertion at start",
        help=(f'set `{_DRAFT_RUNNER} = "triton"` or `{_DRAFT_RUNNER} = "auto"`',),
    )


_PRODUCTS, _DEEP_GEMM = "fp8-gemm-backend", "SGLANG_ENABLE_JIT_DEEPGEMM"
_HOPPER, _LARGE, _SMALL = 9, 10, 12
_GENERATIONS: Mapping[str, tuple[int, ...]] = {
    "flashinfer_trtllm": (_LARGE,),
    "flashinfer_cutlass": (_LARGE, _SMALL),
    "flashinfer_deepgemm": (_HOPPER,),
    "cutlass": (_HOPPER, _LARGE, _SMALL),
    "deep_gemm": (_HOPPER, _LARGE, _SMALL),
}


@rule("products-gpu", flags=(_PRODUCTS,))
def kernels_fit_gpu(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Kernels for products in fp8 blocks are built for some generations.

    0.5.7, 0.5.11 and 0.5.23 layers/quantization/fp8_utils.py, `_dispatch_explicit_backend`: `flashinfer_trtllm` takes 12.x
    before 0.5.11; DeepGEMM may be switched off by a variable (deep_gemm_wrapper/configurer.py).
    """
    given, gpu = given_by(plan), plan.gpu
    asked = given.word(_PRODUCTS) or ""
    if gpu is None or not _in_blocks(plan) or asked not in _GENERATIONS:
        return
    allowed = _GENERATIONS[asked]
    if asked == "flashinfer_trtllm" and given.before("0.5.11"):
        allowed = (_LARGE, _SMALL)
    if asked == "deep_gemm" and switch(plan.profile.env, _DEEP_GEMM) is False:
        fault, beside = "DeepGEMM is switched off", {f"env.{_DEEP_GEMM}": "switches it off"}
    elif platform(gpu) is Platform.CUDA and generation(gpu) in allowed:
        return
    else:
        fault = f"they do not run on compute capability {gpu.compute_capability}"
        beside = {"gpus.kind": f"has {gpu.compute_capability}"}
    yield refusal(
        given,
        "products-gpu",
        f"the kernels `{asked}` are asked for, and {fault}",
        at(given, where, _PRODUCTS, text=f"`{asked}`", beside=beside),
        because=f"the server stops while it builds the model; they run on {' and '.join(f'{each}.x' for each in allowed)}",
        help=(f'leave {line(given, _PRODUCTS)} out, or set `{_PRODUCTS} = "triton"`',),
    )


def _in_blocks(plan: Plan) -> bool:
    """Whether the checkpoint is in fp8 blocks, which alone use these kernels."""
    quantization = plan.model.quantization if plan.model is not None else None
    return (
        quantization is not None
        and quantization.method == "fp8"
        and any(each.group_size == BLOCK_VALUES for each in quantization.formats)
    )
