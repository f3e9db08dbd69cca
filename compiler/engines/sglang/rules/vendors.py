"""Backends whose kernels are another vendor's: every release's parser takes them on any machine, and none of them runs there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.given import BACKEND, BACKENDS, Given, given_by
from compiler.engines.sglang.launch import takes_images
from compiler.engines.sglang.rules.attention import generations, instead
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.engines.sglang.settings import settings_of
from compiler.facts import Gpu, Mla
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_NPU, _CPU, _XPU = "NPUs by Huawei", "CPUs", "GPUs by Intel"
_AMD, _NVIDIA = "GPUs by AMD", "GPUs by NVIDIA"
_RUNS_ON: Mapping[str, Platform] = {_AMD: Platform.HIP, _NVIDIA: Platform.CUDA}
"""What of these the catalogue tells apart; the others are of neither."""

_ATTENTION: Mapping[str, tuple[str, str]] = {
    "aiter": (_AMD, "0.4.6.post5"),
    "ascend": (_NPU, "0.4.9"),
    "flashinfer": (_NVIDIA, "0.4.6"),
    "intel_amx": (_CPU, "0.4.7"),
    "intel_xpu": (_XPU, "0.5.11"),
    "wave": (_AMD, "0.5.1"),
}
"""Whose each attention backend is, and the first release in which none but theirs runs it.

ascend_backend.py imports `torch_npu`; intel_amx_backend.py takes `decode_attention_cpu`; xpu_backend.py imports kernels that
are in Intel's build alone, from 0.5.11 on; aiter_backend.py goes on without its kernels, "AMD specific", and uses them;
flashinfer_backend.py likewise without CUDA (utils, `is_flashinfer_available`); arg_groups/choices.py says the same.
"""

_SAMPLING: Mapping[str, tuple[str, str]] = {
    "ascend": (_NPU, "0.5.6"),
    "intel_xpu": (_XPU, "0.5.21"),
}
"""layers/sampler.py, and from 0.5.21 on `validate_device_sampling_backend`."""

_TOWER: Mapping[str, tuple[str, str]] = {
    "aiter_attn": (_AMD, "0.5.5"),
    "amx_attn": (_CPU, "0.5.13"),
    "ascend_attn": (_NPU, "0.5.3"),
    "xpu_attn": (_XPU, "0.5.13"),
}
"""layers/attention/vision.py: each raises where it is built, "only available for ..."."""

_FLAGS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(BACKENDS, _ATTENTION),
    "speculative-draft-attention-backend": _ATTENTION,
    "sampling-backend": _SAMPLING,
    "mm-attention-backend": _TOWER,
}
_TOWERS = "mm-attention-backend"
_CALLED: Mapping[str, str] = {
    "sampling-backend": "sampling backend",
    _TOWERS: "attention backend of images",
    "speculative-draft-attention-backend": "attention backend of the draft",
}


@rule("backend-gpu", flags=_FLAGS)
def backend_is_of_the_vendor(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A backend of another vendor lacks its kernels, which shows after the load; see the tables for the sources."""
    given, gpu = given_by(plan), plan.gpu
    # Who runs the model elsewhere is told so in other words.
    if gpu is None or given.word("device") not in {None, "cuda", "auto"}:
        return
    for flag, table in _FLAGS.items():
        backend = given.word(flag)
        whose = None if backend is None else _whose(given, gpu, table, backend)
        if whose is None or (flag == _TOWERS and not _has_a_tower(plan)):
            continue
        yield refusal(
            given,
            "backend-gpu",
            f"the {_CALLED.get(flag, 'attention backend')} `{backend}` is for {whose}, not for `{gpu.id}`",
            at(
                given,
                where,
                flag,
                text=f"for {whose}",
                beside={"gpus.kind": f"compute capability {gpu.compute_capability}"},
            ),
            because="the parser takes it on any machine, and the server ends once it misses the kernels",
            help=(
                instead(given, gpu, flag)
                if flag in BACKENDS
                else f"leave {line(given, flag)} out: the server chooses one for the GPU",
            ),
        )


def _whose(
    given: Given, gpu: Gpu, table: Mapping[str, tuple[str, str]], backend: str
) -> str | None:
    """Whose a backend is; `None` where the GPU is theirs, may be, or nothing is known against it."""
    whose, since = table.get(backend, ("", ""))
    here = platform(gpu)
    if not whose or here is Platform.OTHER or _RUNS_ON.get(whose) is here:
        return None
    return whose if given.since(since) else None


def _has_a_tower(plan: Plan) -> bool:
    return plan.model is not None and takes_images(
        settings_of(plan.profile, plan.release), plan.model
    )


def runs_here(given: Given, gpu: Gpu, backend: str) -> bool:
    """Whether an attention backend for both steps is one for this GPU, as far as a release asks."""
    if _whose(given, gpu, _ATTENTION, backend) is not None:
        return False
    model = given.plan.model
    latent = model is not None and isinstance(model.attention, Mla)
    allowed = generations(given, BACKEND, backend, latent=latent)
    return allowed is None or (platform(gpu) is Platform.CUDA and generation(gpu) in allowed)
