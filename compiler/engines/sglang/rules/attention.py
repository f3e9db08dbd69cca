"""Attention backends against the GPU's generation and the model, and what a backend puts in place of other settings."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, listed
from compiler.engines.sglang.backends import (
    Platform,
    default_backend,
    generation,
    is_sparse,
    platform,
)
from compiler.engines.sglang.given import (
    BACKEND,
    BACKENDS,
    DECODE_BACKEND,
    PREFILL_BACKEND,
    Given,
    given_by,
)
from compiler.engines.sglang.rules.places import at, caution, line, refusal
from compiler.engines.sglang.settings import settings_of
from compiler.engines.sglang.speculation import speculation
from compiler.facts import Compressed, Gpu, Mla, Model, StateKind
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_AMPERE, _HOPPER, _LARGE, _THOR, _SMALL = 8, 9, 10, 11, 12
_MLA_ONLY = frozenset({"cutedsl_mla", "cutlass_mla", "flashmla", "tokenspeed_mla", "trtllm_mla"})
_MHA_ONLY = frozenset({"hpc_ops", "trtllm_mha"})
_SPARSE_ONLY = frozenset({"dsa", "nsa"})
_BLACKWELL = (_LARGE, _SMALL)
_ALWAYS = {"tokenspeed_mla": _BLACKWELL, "cutedsl_mla": (_LARGE,)}
"""Generations that every release which has such a backend asks for."""


def _asked(given: Given) -> Iterator[tuple[str, str]]:
    """Each backend that is asked for, with the flag that does."""
    for name in BACKENDS:
        backend = given.word(name)
        if backend is not None:
            yield name, backend


def generations(given: Given, flag: str, backend: str, *, latent: bool) -> tuple[int, ...] | None:
    """The major numbers of the GPUs that a release lets a backend run on; `None` when it does not ask.

    0.4.6 to 0.5.2 model_runner.py, later layers/attention/attention_registry.py for FlashAttention 3; server_args.py and
    arg_groups/overrides.py, `_handle_attention_backend_compatibility`, for the others. FlashAttention 4's own kernels ask
    (flash_attn/cute/interface.py, 0.5.9 and 0.5.18 to 0.5.23): none below 9 reads a KV cache in pages.
    """
    if backend == "fa4":
        large = (_HOPPER, _LARGE, _THOR)
        return large if given.before("0.5.10") else (*large, _SMALL)
    if backend == "fa3":
        if given.before("0.4.6.post5"):
            return (_HOPPER, *_BLACKWELL)  # it asks for 9 or more
        return (_HOPPER,) if latent else (_AMPERE, _HOPPER)
    if backend == "trtllm_mla":
        return (_LARGE,) if given.before("0.5.9") else _BLACKWELL
    if backend == "trtllm_mha":
        alone = flag == BACKEND and given.word(PREFILL_BACKEND) is None
        prefills = flag == PREFILL_BACKEND or alone
        if given.before("0.5.10") or (prefills and given.before("0.5.19")):
            return (_LARGE,)
        return (_HOPPER, *_BLACKWELL)
    return _ALWAYS.get(backend)


@rule("backend-gpu", flags=BACKENDS)
def backend_fits_gpu(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A backend's kernels are built for some generations; see `generations` for the sources."""
    given, gpu, model = given_by(plan), plan.gpu, plan.model
    if gpu is None:
        return
    latent = model is not None and isinstance(model.attention, Mla)
    for flag, backend in _asked(given):
        allowed = generations(given, flag, backend, latent=latent)
        if allowed is None or (platform(gpu) is Platform.CUDA and generation(gpu) in allowed):
            continue
        named = listed([f"{each}.x" for each in allowed])
        yield refusal(
            given,
            "backend-gpu",
            f"the attention backend `{backend}` does not run on compute capability {gpu.compute_capability}",
            at(
                given,
                where,
                flag,
                text=f"for {named}",
                beside={"gpus.kind": f"has {gpu.compute_capability}"},
            ),
            because=f"the server takes it on compute capability {named} only, and stops at start",
            help=(instead(given, gpu, flag),),
        )


def instead(given: Given, gpu: Gpu | None, flag: str) -> str:
    """A backend that runs there, and how to leave the choice to the server."""
    other = None if gpu is None else _running(given, gpu, flag)
    advice = "" if other is None else f"{_set(given, flag, other)}, or "
    return f"{advice}leave {line(given, flag)} out"


def _set(given: Given, flag: str, backend: str) -> str:
    """How to set another backend where the one is set."""
    setting = given.setting(flag)
    if setting.startswith("flags."):
        return f'set `{flag} = "{backend}"` under `[flags]`'
    return f'set `{setting} = "{backend}"`'


def _running(given: Given, gpu: Gpu, flag: str) -> str | None:
    """What the server takes on a GPU by itself, else Triton; `None` where the model lets nobody choose, or is not known."""
    plan, model = given.plan, given.plan.model
    if model is None or is_sparse(model) or isinstance(model.attention, Compressed):
        return None
    settings = settings_of(plan.profile, plan.release)
    guess = speculation(settings, model=model, draft=plan.draft)
    version, ranks = plan.profile.engine.version, plan.profile.parallel.tensor
    own = default_backend(gpu, model, version=version, guess=guess, ranks=ranks)
    latent = isinstance(model.attention, Mla)
    runs_on = generations(given, flag, own, latent=latent)
    allowed = _beside_states(given, gpu)
    if (runs_on is None or generation(gpu) in runs_on) and (allowed is None or own in allowed):
        return own
    return "triton"


@rule("backend-untried", flags=BACKENDS)
def backend_on_small_blackwell(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """From 0.5.9 the check lets `trtllm_mla` pass on compute capability 12 (`is_blackwell_supported`).

    TensorRT-LLM's MLA kernels of a prefill are built for 10.x; public report sgl-project/sglang#24633 with 0.5.10.
    """
    given, gpu = given_by(plan), plan.gpu
    if gpu is None or generation(gpu) != _SMALL or given.before("0.5.9"):
        return
    for flag, backend in _asked(given):
        if backend == "trtllm_mla" and flag != DECODE_BACKEND:
            yield caution(
                "backend-untried",
                f"the attention backend `{backend}` passes the check on compute capability {gpu.compute_capability}, and may fail in the first prefill",
                at(
                    given,
                    where,
                    flag,
                    text="kernels for 10.x",
                    beside={"gpus.kind": f"has {gpu.compute_capability}"},
                ),
                because="a public report of 0.5.10 on an RTX PRO 6000 has it fail there (sgl-project/sglang#24633)",
                help=('set `engine.attention_backend = "triton"`, the server\'s own choice here',),
            )


@rule("backend-model", flags=BACKENDS)
def backend_fits_model(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Some backends are for latent attention only, two for any other (0.5.1 to 0.5.23, attention_registry.py).

    `flashmla` and `cutlass_mla` read the latent's width, which other models do not have (0.4.6 to 0.5.23); `dsa` asserts an
    indexer (dsa_backend.py).
    """
    given, model = given_by(plan), plan.model
    if model is None:
        return
    has = "latent" if isinstance(model.attention, Mla) else "no latent"
    for flag, backend in _asked(given):
        wants = _wanted_attention(model, backend)
        if wants is None:
            continue
        yield refusal(
            given,
            "backend-model",
            f"the attention backend `{backend}` is for models with {wants} attention",
            at(
                given,
                where,
                flag,
                text=f"for {wants} attention",
                beside={"model.id": f"has {has} attention"},
            ),
            because="the server stops after the weights are loaded",
            help=(instead(given, plan.gpu, flag),),
        )


def _wanted_attention(model: Model, backend: str) -> str | None:
    """The kind of attention that a backend is for, where the model has another; a sparse model's is not chosen so."""
    if is_sparse(model) or isinstance(model.attention, Compressed):
        return None
    latent = isinstance(model.attention, Mla)
    if backend in _SPARSE_ONLY:
        return "sparse latent"
    if backend in _MLA_ONLY and not latent:
        return "latent"
    return "no latent" if backend in _MHA_ONLY and latent else None


def _beside_states(given: Given, gpu: Gpu) -> frozenset[str] | None:
    """The backends that the model's layers with states leave on a GPU; `None` where they rule none out."""
    state = None if given.plan.model is None else given.plan.model.state
    if state is None or state.kind is not StateKind.GDN or generation(gpu) not in _BLACKWELL:
        return None
    return _hybrid_backends(given, gpu)


def _hybrid_backends(given: Given, gpu: Gpu) -> frozenset[str] | None:
    """The backends that a release takes for Gated DeltaNet on Blackwell (attention_registry.py, `attn_backend_wrapper`)."""
    small = generation(gpu) == _SMALL
    if not given.since("0.5.3") or (small and given.before("0.5.5")):
        return None
    if given.before("0.5.4"):
        return frozenset({"triton", "trtllm_mha"})
    if given.before("0.5.6"):
        return frozenset({"triton"})
    if given.before("0.5.10"):
        return frozenset({"triton", "trtllm_mha"})
    if given.before("0.5.16"):
        return frozenset({"triton", "trtllm_mha", "fa4", "flashinfer"})
    if small:
        return frozenset({"triton", "trtllm_mha", "flashinfer"})
    if given.before("0.5.21"):
        return frozenset({"triton", "trtllm_mha", "fa4"})
    return frozenset({"triton", "trtllm_mha", "fa4", "flashinfer"})


@rule("backend-hybrid", flags=BACKENDS)
def backend_fits_hybrid(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Models with Gated DeltaNet layers take few backends on Blackwell (0.5.3 to 0.5.23; see `_hybrid_backends`)."""
    given, gpu, model = given_by(plan), plan.gpu, plan.model
    allowed = None if gpu is None or model is None else _beside_states(given, gpu)
    if gpu is None or allowed is None:
        return
    for flag, backend in _asked(given):
        split = given.word(PREFILL_BACKEND) is not None and given.word(DECODE_BACKEND) is not None
        if backend in allowed or (split and flag == BACKEND):
            continue
        named = ", ".join(f"`{each}`" for each in sorted(allowed))
        yield refusal(
            given,
            "backend-hybrid",
            f"the attention backend `{backend}` does not run beside Gated DeltaNet layers on compute capability {gpu.compute_capability}",
            at(
                given,
                where,
                flag,
                text="not for this model here",
                beside={
                    "model.id": "has Gated DeltaNet layers",
                    "gpus.kind": f"has {gpu.compute_capability}",
                },
            ),
            because=f"the server stops with an assertion after the load; it takes {named}",
            help=(instead(given, gpu, flag),),
        )


@rule("backend-changed", flags=(BACKEND,))
def backend_stays(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """FlashAttention 3 does not read fp8_e5m2: the server takes Triton (0.5.5 to 0.5.23, server_args.py and overrides.py)."""
    given = given_by(plan)
    kv = given.word("kv-cache-dtype")
    if given.word(BACKEND) != "fa3" or kv != "fp8_e5m2" or not given.since("0.5.5"):
        return
    yield caution(
        "backend-changed",
        "the server runs with the attention backend `triton`, not `fa3`",
        at(
            given, where, BACKEND, text="`fa3`", beside={"kv-cache-dtype": "`fa3` cannot read this"}
        ),
        because="FlashAttention 3 reads fp8_e4m3 only; the server changes the backend with a warning in its log",
        help=('set `memory.kv_dtype = "fp8_e4m3"`, or leave the backend to the server',),
    )
