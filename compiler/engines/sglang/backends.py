"""Which attention backend a server picks, and what that does to its page and to what a token's KV is stored in."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from compiler.engines.sglang.releases import Counting, at_least
from compiler.engines.sglang.settings import Settings, switch
from compiler.engines.sglang.speculation import Speculation
from compiler.facts import Compressed, Gpu, Mla, Model, StateKind
from compiler.value import Value


class Platform(StrEnum):
    """Whose GPU it is."""

    CUDA = "cuda"
    HIP = "hip"
    OTHER = "other"


def platform(gpu: Gpu) -> Platform:
    """By how the catalogue writes the GPU's generation: `12.0`, or `gfx950`."""
    if gpu.compute_capability[:1].isdigit():
        return Platform.CUDA
    return Platform.HIP if gpu.compute_capability.startswith("gfx") else Platform.OTHER


def generation(gpu: Gpu) -> int:
    """The major number of an NVIDIA GPU's generation; 0 for others."""
    major = gpu.compute_capability.partition(".")[0]
    return int(major) if major.isdigit() else 0


def tenfold(gpu: Gpu) -> int:
    """The whole generation of an NVIDIA GPU, ten times: 89 for 8.9; 0 for others."""
    minor = gpu.compute_capability.partition(".")[2]
    return 10 * generation(gpu) + (int(minor) if platform(gpu) is Platform.CUDA and minor else 0)


_HOPPER, _DATACENTRE_BLACKWELL, _BLACKWELL = 9, 10, 10
SPARSE = "nsa"
"""The backend of sparse MLA; called `dsa` later."""
COMPRESSED = "dsv4"
"""The backend of attention that compresses over time."""
# Heads that aiter's MLA kernels work with (0.5.11 server_args.py, line 2519).
_AITER_MLA_HEADS = frozenset({16, 128})
# The first release that takes aiter by itself on AMD, for models without a latent and with one.
_AITER_SINCE = ("0.4.6.post5", "0.4.7")
# Architectures that take TensorRT-LLM's MLA kernels on Blackwell (0.5.11 server_args.py, lines 1660-1790; 0.5.17
# arg_groups/overrides.py, 454).
_TRTLLM_MLA = ("DeepseekV3", "KimiK25", "KimiK3", "MistralLarge3", "Pixtral")
_SINKS = ("GptOss", "MiMoV2")


def is_sparse(model: Model) -> bool:
    """Whether its attention is sparse MLA, with an indexer."""
    return isinstance(model.attention, Mla) and model.attention.indexer is not None


def backend(settings: Settings, *, gpu: Gpu, model: Model, guess: Speculation) -> str:
    """The attention backend of decoding: the one asked for, else the release's choice for this GPU."""
    return _chosen("decode-attention-backend", settings, gpu=gpu, model=model, guess=guess)


def prefill_backend(settings: Settings, *, gpu: Gpu, model: Model, guess: Speculation) -> str:
    """That of prefill steps."""
    return _chosen("prefill-attention-backend", settings, gpu=gpu, model=model, guess=guess)


def _chosen(flag: str, settings: Settings, *, gpu: Gpu, model: Model, guess: Speculation) -> str:
    asked = (
        settings.word(flag)
        or settings.profile.engine.attention_backend
        or settings.word("attention-backend")
    )
    if asked is not None:
        return asked
    version = settings.profile.engine.version
    if isinstance(model.attention, Compressed):
        return COMPRESSED
    if is_sparse(model):
        return SPARSE
    return default_backend(gpu, model, version=version, guess=guess, ranks=_ranks(settings))


def _ranks(settings: Settings) -> int:
    return settings.profile.parallel.tensor


def default_backend(
    gpu: Gpu, model: Model, *, version: str, guess: Speculation, ranks: int = 1
) -> str:
    """The backend chosen when none is set.

    0.4.4.post4 to 0.5.3 model_executor/model_runner.py, `init_attention_backend` and `model_specific_adjustment`; 0.5.11
    server_args.py, `_get_default_attn_backend`.
    """
    latent = isinstance(model.attention, Mla)
    if platform(gpu) is Platform.HIP:
        heads = model.heads // ranks
        unfit = latent and heads not in _AITER_MLA_HEADS
        return "triton" if unfit or not at_least(version, _AITER_SINCE[latent]) else "aiter"
    line = guess.branches <= 1
    if generation(gpu) == _HOPPER and (latent or line) and _takes_fa3(model, version):
        return "fa3"
    if generation(gpu) == _DATACENTRE_BLACKWELL and (latent or line):
        chosen = _blackwell(model, version)
        if chosen is not None:
            return chosen
    sinks = model.architecture.startswith(_SINKS)
    return "triton" if latent or sinks or platform(gpu) is Platform.OTHER else "flashinfer"


# Models without a latent that take FlashAttention 3 on Hopper by themselves (utils.py, `is_fa3_default_architecture`), since
# when and until when; from 0.5.8 on every one does. GPT-OSS has a rule of its own from its first release on.
_FA3_SINCE, _FA3_ALL_SINCE = "0.4.5.post1", "0.5.8"
_FA3_LISTED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("0.4.5.post1", _FA3_ALL_SINCE, ("Llama4", "LlamaFor", "Qwen2ForCausalLM")),
    ("0.4.5.post1", "0.4.6.post5", ("MistralFor",)),
    ("0.4.5.post3", _FA3_ALL_SINCE, ("Gemma2",)),
    ("0.4.6", _FA3_ALL_SINCE, ("Gemma3ForConditionalGeneration",)),
    ("0.4.6.post1", _FA3_ALL_SINCE, ("Qwen3ForCausalLM", "Qwen3MoeForCausalLM")),
    ("0.4.6.post1", "0.4.6.post4", ("MixtralFor",)),
    ("0.4.9.post5", _FA3_ALL_SINCE, ("Glm4MoeForCausalLM",)),
    ("0.5.1", _FA3_ALL_SINCE, ("Glm4vMoe", "GptOss")),
    ("0.5.4", _FA3_ALL_SINCE, ("Olmo2",)),
    ("0.5.6.post1", _FA3_ALL_SINCE, ("Glm4vFor", "Qwen3VL")),
)


def _takes_fa3(model: Model, version: str) -> bool:
    if isinstance(model.attention, Mla):
        return at_least(version, _FA3_SINCE)
    return at_least(version, _FA3_ALL_SINCE) or any(
        model.architecture.startswith(names)
        and at_least(version, since)
        and not at_least(version, until)
        for since, until, names in _FA3_LISTED
    )


def _blackwell(model: Model, version: str) -> str | None:
    """What the data centre's Blackwell GPUs take; `None`: as others do."""
    if isinstance(model.attention, Mla):
        own = model.architecture.startswith(_TRTLLM_MLA) and at_least(version, "0.5.3.post2")
        if own:
            return "trtllm_mla"
        return "flashinfer" if at_least(version, "0.4.7") else None
    own = model.architecture.startswith("GptOss") and at_least(version, "0.5.1")
    return "trtllm_mha" if own or at_least(version, "0.5.6.post1") else None


# Page sizes that a backend insists on: those it takes, and the one it puts in place of others (0.5.11 server_args.py,
# lines 2575-2660).
_PAGES = {
    "flashmla": ((64,), 64),
    "cutlass_mla": ((128,), 128),
    "trtllm_mla": ((32, 64), 64),
    "trtllm_mha": ((16, 32, 64), 64),
}
_SPARSE_PAGE = 64
# From this release on AMD's GPUs have such pages too, with aiter's kernels (0.5.12 layers/attention/nsa/utils.py, 0.5.13 to 0.5.23
# dsa/utils.py, `aiter_can_use_preshuffle_paged_mqa`); they want a Triton that its images have.
_HIP_PAGES_SINCE, _AITER = "0.5.12", "SGLANG_USE_AITER"
_UNPAGED_BY = ("SGLANG_NSA_HIP_DISABLE_PRESHUFFLE", "SGLANG_DSA_HIP_DISABLE_PRESHUFFLE")


def _pages_on_hip(settings: Settings) -> bool:
    env = settings.profile.env
    off = switch(env, _AITER) is False or any(switch(env, each) is True for each in _UNPAGED_BY)
    return at_least(settings.profile.engine.version, _HIP_PAGES_SINCE) and not off


def page(settings: Settings, *, gpu: Gpu, model: Model, backend: str) -> int:
    """Tokens of a page, whatever was asked for."""
    if isinstance(model.attention, Compressed):
        from compiler.engines.sglang import compressed  # noqa: PLC0415 - few models compress over time

        return compressed.PAGE
    if is_sparse(model):
        return _SPARSE_PAGE if platform(gpu) is not Platform.HIP or _pages_on_hip(settings) else 1
    if _keeps_states_by_token(settings, model):
        return 1
    return page_size(backend, settings.profile.memory.page_size)


# Families whose states the release keeps by one strategy.
_KEPT_STATES = frozenset({StateKind.GDN, StateKind.MAMBA2})


def _keeps_states_by_token(settings: Settings, model: Model) -> bool:
    """States beside a prefix cache take single tokens in 0.5.11 to 0.5.13 (server_args.py, `_handle_mamba_radix_cache`)."""
    if model.state is None or model.state.kind not in _KEPT_STATES:
        return False
    version = settings.profile.engine.version
    strategy = settings.word("mamba-scheduler-strategy") or "auto"
    asked = at_least(version, "0.5.11") and not at_least(version, "0.5.14")
    return asked and strategy in {"auto", "no_buffer"} and not settings.on("disable-radix-cache")


def page_size(backend: str, asked: int | None) -> int:
    """Tokens of a page under a backend: as asked for where it takes that."""
    wanted = asked or 1
    taken, instead = _PAGES.get(backend, ((wanted,), wanted))
    return wanted if wanted in taken else instead


class KvKind(StrEnum):
    """In what an element of KV is stored."""

    PLAIN = "plain"
    FP4 = "fp4"


@frozen(kw_only=True, eq=False, repr=False)
class KvFormat(Value):
    """How KV is stored.

    Attributes:
        name: the number format.
        bytes: of an element; of a pair for fp4.
        scaled_rows: whether sparse MLA keeps its rows with their scales, and the rotary part in bf16.
    """

    name: str
    bytes: int
    kind: KvKind = KvKind.PLAIN
    scaled_rows: bool = False


_KV_BYTES = {"bf16": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
_FP4 = frozenset({"fp4_e2m1"})
TYPED_KV = frozenset({"auto", *_KV_BYTES})
"""The number formats that a profile has a word for."""
KNOWN_KV = TYPED_KV | _FP4
"""The number formats whose bytes are known."""


def kv_format(settings: Settings, *, gpu: Gpu, model: Model, rule: Counting) -> KvFormat:
    """How KV is stored (0.5.11 model_runner.py, line 2210; server_args.py, lines 1571-1645)."""
    name = settings.word("kv-cache-dtype") or settings.profile.memory.kv_dtype
    if name == "auto":
        name = _automatic(gpu, model, rule)
    if name in _FP4:
        return KvFormat(name=name, bytes=1, kind=KvKind.FP4)
    size = _KV_BYTES.get(name, model.dtype_bits // 8)
    scaled = is_sparse(model) and size == 1 and _keeps_scales(settings, gpu, rule)
    return KvFormat(name=name, bytes=size, scaled_rows=scaled)


DRAFT_KV = "speculative-draft-kv-cache-dtype"


def draft_kv_format(settings: Settings) -> KvFormat | None:
    """How a draft's KV is stored where that is told apart (0.5.18 mem_cache/kv_cache_dtype.py, 33); `None`: as the target's.

    `auto` is its weights' 16 bits, whatever the target's KV is in.
    """
    name = settings.word(DRAFT_KV)
    return None if name is None else KvFormat(name=name, bytes=_KV_BYTES.get(name, 2))


def _automatic(gpu: Gpu, model: Model, rule: Counting) -> str:
    if isinstance(model.attention, Compressed):
        return "fp8_e4m3"
    if is_sparse(model) and rule.sparse_fp8:
        return "fp8_e4m3" if generation(gpu) >= _BLACKWELL else "bfloat16"
    wanted = model.quantization.kv_cache if model.quantization is not None else None
    return wanted if wanted is not None and rule.checkpoint_kv else "model"


def _keeps_scales(settings: Settings, gpu: Gpu, rule: Counting) -> bool:
    """Not with TensorRT-LLM's kernels, the default on Blackwell since 0.5.10, and not with TileLang on AMD.

    0.5.3 server_args.py, 838; 0.5.9 and 0.5.10 server_args.py, `_set_default_nsa_backends`.
    """
    names = (
        "nsa-prefill-backend",
        "dsa-prefill-backend",
        "nsa-decode-backend",
        "dsa-decode-backend",
    )
    asked = {settings.word(name) for name in names} - {None}
    if "trtllm" in asked:
        return False
    if platform(gpu) is Platform.HIP:
        plain = "tilelang" in asked or not asked
        return not (plain and rule.hip_plain_rows)
    return bool(asked) or generation(gpu) < _BLACKWELL or not rule.sparse_trtllm
