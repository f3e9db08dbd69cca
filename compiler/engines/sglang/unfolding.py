"""How many tokens' keys and values one prefill step of latent attention (MLA) unfolds, head by head.

The cache keeps one latent a token. A step whose prompt has no cached beginning attends without it; one with a beginning
either reads the latents as they are (absorbed), or unfolds the beginning too, in parts of at most 128 Ki tokens.

Sources: srt/models/deepseek_v2.py, `dispatch_attn_forward_method`, of 0.4.5.post1 to 0.5.7; from 0.5.8 on
srt/models/deepseek_common/attention_backend_handler.py and attention_forward_methods/forward_mha.py; the capacity in
srt/model_executor/forward_batch_info.py and forward_batch_deepseek_mha_mixin.py, `get_max_chunk_capacity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.engines.sglang.backends import Platform, generation, is_sparse, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, number_in
from compiler.facts import Gpu, Mla, Model
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.buffers import Unfolds


class Copies(StrEnum):
    """What else of a token is there while it is unfolded."""

    LATENT = "latent"
    """The latent, in the model's own number format."""
    GATHERED = "gathered"
    """The same, as it is stored too where that is another format, and the part that is projected once more (aiter)."""
    TWICE = "twice"
    """The same, and keys and values once more, before those of the step's own tokens (aiter to 0.5.9)."""


@frozen(kw_only=True, eq=False, repr=False)
class Unfolding(Value):
    """What one step unfolds beside its own tokens; nothing by default.

    Attributes:
        each: most tokens of one request.
        most: most tokens of all requests of the step.
        switch: the flag that turns it off.
        variable: the environment variable that sets `most`.
    """

    each: int = 0
    most: int = 0
    copies: Copies = Copies.LATENT
    switch: str | None = None
    variable: str | None = None

    def tokens(self, requests: int) -> int:
        """Tokens that a step with so many requests unfolds."""
        return min(self.most, self.each * requests)

    @property
    def unfolds(self) -> Unfolds | None:
        """What a plan says of it; `None` of nothing."""
        if not self.most:
            return None
        from compiler.buffers import Unfolds  # noqa: PLC0415 - few plans have any

        return Unfolds(tokens=self.most, switch=self.switch, variable=self.variable)


NOTHING = Unfolding()
"""A step that unfolds its own tokens alone."""

# The first release whose backend unfolds cached beginnings.
_SINCE: Mapping[str, str] = {
    "fa3": "0.4.5.post1",
    "aiter": "0.4.7",
    "flashinfer": "0.5.1",
    "flashmla": "0.5.1",
    "cutlass_mla": "0.5.1",
    "trtllm_mla": "0.5.1",
    "fa4": "0.5.3",
}
# Up to 0.4.10.post2 a page of more than one token turns it off (model_runner.py, `model_specific_adjustment`).
_PAGED_SINCE = "0.5.1"
# Those that ask `--disable-chunked-prefix-cache`; aiter never does.
_SWITCH, _UNSWITCHED = "disable-chunked-prefix-cache", frozenset({"aiter"})
_RAGGED = frozenset({"flashinfer", "flashmla"})
# Shorter beginnings are read as they are, but by these backends.
_THRESHOLD, _UNTHRESHED = 8192, frozenset({"aiter", "trtllm_mla", "fa4"})
_THRESHOLDS = ("SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD", "SGL_CHUNKED_PREFIX_CACHE_THRESHOLD")
_CAPACITY = 128 * 1024
_CAPACITY_VARIABLE, _CAPACITY_VARIABLE_SINCE = "SGLANG_MAX_KV_CHUNK_CAPACITY", "0.5.12"
# aiter unfolds whole sequences at once up to 0.5.19, and up to 0.5.9 in two copies (layers/attention/aiter_backend.py).
# 0.5.10's 13,504 B a token of 12 heads and an fp8 cache are the 13.2 KiB of sgl-project/sglang#35522.
_AITER_PARTS_SINCE, _AITER_ONCE_SINCE = "0.5.20", "0.5.10"
# With data parallel attention aiter reads them as they are in 0.5.3 to 0.5.6.
_AITER_REPLICAS = ("0.5.3", "0.5.7")
_DETERMINISTIC_SINCE, _CONTEXTS_SINCE = "0.5.5", "0.5.13"

# Sparse MLA unfolds short sequences alone, up to what its indexer keeps, on these generations
# (layers/attention/nsa_backend.py, `set_nsa_prefill_impl`); in 0.5.9 longer ones with TensorRT-LLM's kernels.
_SPARSE_SINCE, _SPARSE_LENGTH, _SPARSE_GENERATIONS = "0.5.6", 2048, frozenset({9, 10})
_SPARSE_THRESHOLDS = (
    "SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD",
    "SGLANG_NSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD",
)


def unfolding(
    settings: Settings, *, gpu: Gpu, model: Model, backend: str, page: int, captured: bool
) -> Unfolding:
    """What a prefill step unfolds.

    Attributes:
        backend: of prefill steps.
        captured: whether every prefill step is a graph, which reads latents as they are.
    """
    if not isinstance(model.attention, Mla) or captured or platform(gpu) is Platform.OTHER:
        return NOTHING
    if settings.word("disaggregation-mode") == "decode":
        return NOTHING  # which gets the keys of prompts from others
    if is_sparse(model):
        return _sparse(settings, gpu)
    context = settings.profile.serve.tokens
    if not _unfolds(settings, backend, page) or context <= _threshold(settings, backend):
        return NOTHING
    version = settings.profile.engine.version
    if backend == "aiter" and not at_least(version, _AITER_PARTS_SINCE):
        once = at_least(version, _AITER_ONCE_SINCE)
        copies = Copies.GATHERED if once else Copies.TWICE
        return Unfolding(each=context, most=context, copies=copies)
    return Unfolding(
        each=context,
        most=_capacity(settings),
        switch=None if backend in _UNSWITCHED else _SWITCH,
        variable=_CAPACITY_VARIABLE if at_least(version, _CAPACITY_VARIABLE_SINCE) else None,
    )


def _sparse(settings: Settings, gpu: Gpu) -> Unfolding:
    version = settings.profile.engine.version
    if not at_least(version, _SPARSE_SINCE) or generation(gpu) not in _SPARSE_GENERATIONS:
        return NOTHING
    most, context = _capacity(settings), settings.profile.serve.tokens
    short = number_in(settings.profile.env, *_SPARSE_THRESHOLDS, usual=_SPARSE_LENGTH)
    prefill = settings.word("nsa-prefill-backend", "dsa-prefill-backend")
    if prefill == "trtllm" and at_least(version, "0.5.9") and not at_least(version, "0.5.10"):
        short = most
    return Unfolding(each=min(context, short), most=most)


def _unfolds(settings: Settings, backend: str, page: int) -> bool:
    """Whether the backend unfolds cached beginnings at all."""
    version, parallel = settings.profile.engine.version, settings.profile.parallel
    since = _SINCE.get(backend)
    if since is None or not at_least(version, since):
        return False
    if backend not in _UNSWITCHED and settings.on(_SWITCH):
        return False
    if page > 1 and not at_least(version, _PAGED_SINCE):
        return False
    if backend in _RAGGED and settings.on("flashinfer-mla-disable-ragged"):
        return False
    fixed = settings.on("enable-deterministic-inference") and at_least(
        version, _DETERMINISTIC_SINCE
    )
    if backend == "fa3" and fixed:
        return False
    contexts = settings.whole("attention-context-parallel-size", "attn-cp-size") or 1
    if contexts > 1 and at_least(version, _CONTEXTS_SINCE):
        return False
    first, end = _AITER_REPLICAS
    between = at_least(version, first) and not at_least(version, end)
    return not (backend == "aiter" and parallel.dp_attention and between)


def _threshold(settings: Settings, backend: str) -> int:
    if backend in _UNTHRESHED:
        return 0
    return number_in(settings.profile.env, *_THRESHOLDS, usual=_THRESHOLD)


def _capacity(settings: Settings) -> int:
    if not at_least(settings.profile.engine.version, _CAPACITY_VARIABLE_SINCE):
        return _CAPACITY
    return number_in(settings.profile.env, _CAPACITY_VARIABLE, usual=_CAPACITY)
