"""What ranks keep to exchange data with each other, allocated after the pool, as the settings ask for it.

Sources: 0.5.9 and 0.5.11 srt/model_executor/model_runner.py, `prealloc_symmetric_memory_pool`; 0.5.7 to 0.5.13
srt/server_args.py and 0.5.15 to 0.5.23 srt/arg_groups/overrides.py, `_FLASHINFER_ALLREDUCE_FUSION_ARCHS`; 0.5.11
srt/layers/moe/token_dispatcher/deepep.py, `get_deepep_buffer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from compiler.engines.sglang.backends import generation
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, number_in, switch
from compiler.facts import Gpu, Model
from compiler.value import Value


class Fusion(StrEnum):
    """Whether all-reduce is fused with the step after it by FlashInfer's kernels."""

    OFF = "off"
    USUAL = "usual"
    """By the release itself, where its kernels start; else without a word it is not."""
    ASKED = "asked"


@frozen(kw_only=True, eq=False, repr=False)
class Exchange(Value):
    """What is kept for it.

    Attributes:
        symmetric_gib: of symmetric memory.
        dispatched: most tokens a rank sends out in a low-latency step of DeepEP; 0 without such steps.
        normal: whether DeepEP has its buffers for other steps too.
        elastic: most tokens a rank sends out by DeepEP v2; 0 without.
        experts: routed experts, with their copies, that DeepEP exchanges tokens of.
        copies: routed experts that there are twice.
        rebalances: whether experts are dealt out anew as the load changes.
        ranks: that experts are dealt out to, on so many `hosts`.
        flags: the flags that are priced by this.
    """

    symmetric_gib: float = 0.0
    fusion: Fusion = Fusion.OFF
    dispatched: int = 0
    normal: bool = False
    elastic: int = 0
    experts: int = 0
    copies: int = 0
    rebalances: bool = False
    ranks: int = 1
    hosts: int = 1
    flags: frozenset[str] = frozenset()


NO_EXCHANGE = Exchange()
"""Nothing is kept."""

_SYMMETRIC, _SYMMETRIC_SINCE, _SYMMETRIC_GIB = "enable-symm-mem", "0.5.9", 4
_SYMMETRIC_SIZE = "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE"

_FUSED, _FUSED_BY = "enable-flashinfer-allreduce-fusion", "flashinfer-allreduce-fusion-backend"
_UNFUSED = "enforce-disable-flashinfer-allreduce-fusion"
_FUSED_BACKENDS = frozenset({"auto", "trtllm"})
_FUSES_SINCE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.5.7", ("DeepseekV3F", "Glm4MoeF", "GptOss", "Qwen3MoeF")),
    ("0.5.8", ("Glm4MoeLite",)),
    ("0.5.9", ("KimiK25",)),
    ("0.5.10", ("Qwen3_5",)),
    ("0.5.11", ("DeepseekV32", "GlmMoeDsa", "Qwen3Next")),
    ("0.5.15", ("NemotronHF", "Qwen3VLMoe")),
    ("0.5.18", ("DeepseekV4F",)),
    ("0.5.20", ("Qwen4Exp",)),
)
_GENERATIONS, _WITHOUT = frozenset({9, 10}), frozenset({"h20"})

_A2A, _DEEPEP, _OLD_DEEPEP = "moe-a2a-backend", "deepep", "enable-deepep-moe"
COPIES, REBALANCES = "ep-num-redundant-experts", "enable-eplb"
# The classes that make copies, from this release on (srt/models: deepseek_v2.py, qwen3_moe.py, glm4_moe.py).
_COPIED, _COPIED_SINCE = (
    ("DeepseekV2F", "DeepseekV3", "GlmMoeDsa", "KimiK25", "Qwen3MoeF", "Glm4MoeF"),
    "0.4.10",
)
_DISPATCHED, _DISPATCHED_BY = 128, "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
ELASTIC, ELASTIC_BY = "deepep_v2", "SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
"""DeepEP v2 (from 0.5.19 on), and what says how many tokens a rank sends out at most."""

# The architectures that it runs with, and the release from which on each does (arg_groups/moe_hook.py of 0.5.19 and 0.5.20,
# `validate_deepep_v2_model_architecture`; configs/moe_model_registry.py of 0.5.21 to 0.5.23).
_ELASTIC_WITH = {
    "DeepseekV3ForCausalLM": "0.5.19",
    "DeepseekV4ForCausalLM": "0.5.19",
    "Qwen3MoeForCausalLM": "0.5.19",
    "Glm5NextForConditionalGeneration": "0.5.21",
    "GlmMoeDsaForCausalLM": "0.5.22",
    "MiMoV2ForCausalLM": "0.5.22",
    "MiMoV2FlashForCausalLM": "0.5.22",
}


def elastic_runs(model: Model, version: str) -> bool:
    """Whether a release runs the model's architecture with DeepEP v2."""
    since = _ELASTIC_WITH.get(model.architecture)
    return since is not None and at_least(version, since)


def exchange_known(settings: Settings, model: Model | None) -> bool:
    """Whether it is known how weights are split: of DeepEP v2, where the release itself runs the model with it."""
    asked = settings.word(_A2A) == ELASTIC
    return not asked or (model is not None and elastic_runs(model, settings.profile.engine.version))


def elastic_tokens(env: Mapping[str, str]) -> int:
    """Most tokens a rank sends out by DeepEP v2."""
    return number_in(env, ELASTIC_BY, usual=_DISPATCHED)


def exchange(settings: Settings, *, gpu: Gpu, model: Model) -> Exchange:
    """What the server keeps."""
    deepep = settings.word(_A2A) == _DEEPEP or settings.on(_OLD_DEEPEP)
    elastic = settings.word(_A2A) == ELASTIC
    mode = settings.word("deepep-mode") or "auto"
    moe = model.moe if deepep or elastic else None
    copies = settings.whole(COPIES) or 0
    fusion = _fusion(settings, gpu, model)
    priced = {_SYMMETRIC}
    priced |= {_FUSED} if fusion is not Fusion.OFF else set()
    priced |= {_A2A} if moe is not None or settings.word(_A2A) == "none" else set()
    return Exchange(
        symmetric_gib=_symmetric_gib(settings),
        fusion=fusion,
        dispatched=number_in(settings.profile.env, _DISPATCHED_BY, usual=_DISPATCHED)
        if deepep and moe is not None and mode != "normal"
        else 0,
        normal=deepep and moe is not None and mode != "low_latency",
        elastic=elastic_tokens(settings.profile.env) if elastic and moe is not None else 0,
        experts=moe.routed_experts + copies if moe is not None else 0,
        copies=copies,
        rebalances=settings.on(REBALANCES),
        ranks=settings.profile.parallel.tensor,
        hosts=settings.whole("nnodes") or 1,
        flags=frozenset(priced),
    )


DEALS_OUT = frozenset(
    {
        *("deepep", ELASTIC, "mooncake", "nixl", "mori", "flashinfer", "ascend_fuseep"),
        *("megamoe", "flashinfer_megamoe", "pplx"),
    }
)
"""All-to-all backends that deal experts out over all ranks, and keep shared ones whole.

0.5.9 server_args.py, `_handle_a2a_moe`; 0.5.15 to 0.5.23 arg_groups/overrides.py, `_A2A_EP_SPANNING_BACKENDS`.
"""

_MEGA, _MEGA_BY, _MEGA_SINCE = "megamoe", "SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE", "0.5.12"


def exchanged_by(settings: Settings) -> str | None:
    """The all-to-all backend; one variable overrules the flag (0.5.12 server_args.py, 3197)."""
    profile = settings.profile
    if switch(profile.env, _MEGA_BY) is True and at_least(profile.engine.version, _MEGA_SINCE):
        return _MEGA
    return _DEEPEP if settings.on(_OLD_DEEPEP) else settings.word(_A2A)


def copies_known(settings: Settings, model: Model | None) -> bool:
    """Whether it is known what copies of experts, and dealing them out anew, take."""
    since = at_least(settings.profile.engine.version, _COPIED_SINCE)
    return model is not None and since and model.architecture.startswith(_COPIED)


def _symmetric_gib(settings: Settings) -> float:
    """A pool of its own, filled once at the start; before 0.5.9 it grows with what steps need anyway."""
    if not settings.on(_SYMMETRIC) or not at_least(
        settings.profile.engine.version, _SYMMETRIC_SINCE
    ):
        return 0.0
    return number_in(settings.profile.env, _SYMMETRIC_SIZE, usual=_SYMMETRIC_GIB)


def _fusion(settings: Settings, gpu: Gpu, model: Model) -> Fusion:
    parallel, version = settings.profile.parallel, settings.profile.engine.version
    apart = parallel.tensor < 2 or parallel.dp_attention or settings.on(_UNFUSED)  # noqa: PLR2004 - a rank alone
    if apart or generation(gpu) not in _GENERATIONS:
        return Fusion.OFF
    backend = settings.word(_FUSED_BY)
    if backend is not None and backend not in _FUSED_BACKENDS:
        return Fusion.OFF
    if backend is not None or settings.on(_FUSED):
        return Fusion.ASKED
    alone = (settings.whole("nnodes") or 1) == 1 and (settings.word(_A2A) or "none") == "none"
    listed = any(
        model.architecture.startswith(names) and at_least(version, since)
        for since, names in _FUSES_SINCE
    )
    return Fusion.USUAL if alone and listed and gpu.id not in _WITHOUT else Fusion.OFF
