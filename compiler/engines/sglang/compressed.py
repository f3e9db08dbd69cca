"""The pools of attention that compresses over time (DeepSeek V4): what a token costs, and what is taken off first.

Every layer keeps the last tokens' latents whole in a pool of the window; a compressed entry stands for several tokens, and
the tokens of an unfinished entry are its state. Up to 0.5.20 the window's pool is a share of all tokens, from 0.5.21 on it
is sized by requests unless a ratio is given.

Sources: `DSV4PoolConfigurator` of 0.5.12, 0.5.13, 0.5.15, and 0.5.20 model_executor/pool_configurator.py, 0.5.21 and 0.5.23
pool_configurator.py; mem_cache/deepseek_v4_memory_pool.py; arg_groups/deepseek_v4_hook.py.
"""

from __future__ import annotations

import math

from attrs import frozen

from compiler.architecture import Compressed
from compiler.engines.sglang.pool import LAYER_SCALED, Cell
from compiler.engines.sglang.releases import CompressedPools
from compiler.memory.layers import stage_slice
from compiler.memory.weights import GIB
from compiler.value import Value


PAGE = 256
"""Tokens of a page, whatever is asked for."""
RUNNING_REQUESTS = 256
"""Most requests at once when nothing is set."""
WINDOW_RATIO = 0.1
"""Tokens of the window's pool to all, `--swa-full-tokens-ratio`."""

_LOW, _OVERLAPPING, _HIGH = (1, 2), 4, 128
# One fp8 value a byte, the rotary part in bf16, eight bytes of scales; a page is padded to whole rows of 576 bytes.
_ROW_SCALES, _ROW_STEP = 8, 576
_FP32 = 4
EVICTION_TOKENS = 128
"""`SGLANG_SWA_EVICTION_INTERVAL`."""
_PREFIX_TAILS = 4
"""Cached prefixes a request, whose last window stays (`--swa-prefix-tails`)."""
_CHUNKS_IN_FLIGHT = 2
_ALL_BY_SLOTS = frozenset({CompressedPools.SLOTS_WITH_DRAFT, CompressedPools.SLOTS})
_BY_REQUESTS = frozenset({CompressedPools.CAPPED, CompressedPools.CAPPED_PAGED})


@frozen(kw_only=True, eq=False, repr=False)
class CompressedPool(Value):
    """What decides the pools of one server.

    Attributes:
        layers: of the model; `stages` of a pipeline share them, equally unless there are `shares`, the last has the draft's ratios in the first release.
        ratio: of the window's pool, when it is set.
        requests: most at once on each replica.
        drafted: tokens verified at once; 0 without speculation.
        stages_drafting: of a block drafter that the model brings, each with windows of its own; 0 for any other draft.
        steps: of the draft.
        chunk: tokens of a prefill step.
        radix: whether prefixes are cached.
    """

    shape: Compressed
    rule: CompressedPools
    layers: int
    stages: int = 1
    shares: tuple[int, ...] = ()
    ratio: float | None = None
    requests: int = RUNNING_REQUESTS
    drafted: int = 0
    stages_drafting: int = 0
    steps: int = 0
    chunk: int = 0
    overlapped: bool = True
    radix: bool = True

    @property
    def cell(self) -> Cell:
        """The bytes a token costs on the stage where it costs most, and what it then takes."""
        size = self._entries + self._share * self._window_bytes
        priced = self._scaled(size)
        kept = self._share * self._drafts_bytes if self.stages_drafting else priced - size
        return Cell(
            pricing=LAYER_SCALED,
            priced_bytes=priced,
            target_bytes=size,
            draft_bytes=kept,
        )

    @property
    def fixed_gib(self) -> float:
        """What is taken off the rest before tokens are counted, GiB."""
        if self.rule in _ALL_BY_SLOTS:
            return 0.0
        fixed: float = self._high_states + self._pair_states
        if self._capped:
            fixed += self._window_tokens * self._scaled(self._window_bytes)
        return fixed / GIB

    @property
    def owed_gib(self) -> float:
        """What windows of a draft's stages take beyond what was taken off for them, GiB; less than nothing where it is less.

        The draft's pool is made once the target's is sized, with as many slots of the window: 0.5.16 to 0.5.23
        mem_cache/kv_cache_configurator.py, `_derive_pool_sizes`, and `num_stages` in model_runner_components/layer_setup.py.
        """
        if not self._capped or not self.stages_drafting:
            return 0.0
        counted = self._scaled(self._window_bytes) - self._window_bytes
        return self._window_tokens * (self._drafts_bytes - counted) / GIB

    @property
    def _drafts_bytes(self) -> float:
        """Bytes of one token in the windows of a draft's stages, which compress nothing."""
        return self._row(PAGE) * self.stages_drafting

    @property
    def _ratios(self) -> tuple[int, ...]:
        """The ratios of the stage that has most layers."""
        ratios = self.shape.ratios
        if self.rule is CompressedPools.SLOTS_WITH_DRAFT:
            return ratios
        stages = range(self.stages)
        slices = (
            stage_slice(self.layers, stage=each, stages=self.stages, shares=self.shares)
            for each in stages
        )
        return max((ratios[: self.layers][each] for each in slices), key=len)

    @property
    def _capped(self) -> bool:
        """Whether the window's pool is sized by requests."""
        return self.rule in _BY_REQUESTS and self.ratio is None and self.chunk > 0

    @property
    def _share(self) -> float:
        return 0.0 if self._capped else (self.ratio or WINDOW_RATIO)

    def _scaled(self, size: float) -> float:
        """One layer more for a draft, whatever it has."""
        layers = len(self._ratios)
        return size * (layers + 1) / layers if self.drafted else size

    def _row(self, page: int) -> float:
        """A latent's bytes; later releases count what a page is padded with."""
        row = self._plain_row
        if self.rule not in _BY_REQUESTS:
            return row
        return math.ceil(row * page / _ROW_STEP) * _ROW_STEP / page

    @property
    def _entries(self) -> float:
        """Bytes of compressed entries and of the keys that choose among them, for one token."""
        return sum(self._entry(layer, ratio) for layer, ratio in enumerate(self._ratios))

    def _entry(self, layer: int, ratio: int) -> float:
        """The same of one layer; nothing where another layer's entries are used."""
        if ratio in _LOW and layer in self.shape.owners:
            paged = self.rule is CompressedPools.CAPPED_PAGED
            row = self._row(PAGE // ratio) if paged else self._plain_row
            return (row + self._low_key) / ratio
        if ratio == _OVERLAPPING:
            return (self._row(PAGE // ratio) + self._key) / ratio
        return self._row(PAGE // ratio) / ratio if ratio == _HIGH else 0.0

    @property
    def _plain_row(self) -> float:
        shape = self.shape
        return shape.head_dim + shape.rope_head_dim + _ROW_SCALES

    @property
    def _key(self) -> int:
        width = self.shape.indexer.head_dim
        return width + width // 128 * _FP32

    @property
    def _low_key(self) -> int:
        """In fp4, a byte of scale for 32 values."""
        width = self.shape.indexer.head_dim
        return width // 2 + width // 32

    @property
    def _window_bytes(self) -> float:
        """Bytes of one token in the window's pool, and of the states that follow it."""
        ratios = self._ratios
        width, key = self.shape.head_dim, self.shape.indexer.head_dim
        rings = (16, 256) if self.drafted else (8, 128)
        total = self._row(PAGE) * len(ratios)
        span = PAGE if self.rule in _BY_REQUESTS else self.shape.window
        total += rings[0] / span * 4 * (width + key) * _FP32 * ratios.count(_OVERLAPPING)
        if self.rule in _ALL_BY_SLOTS:
            total += rings[1] / span * 2 * width * _FP32 * ratios.count(_HIGH)
        return total

    @property
    def _high_states(self) -> int:
        """States of the high ratio, a ring of tokens for each request."""
        layers = self._ratios.count(_HIGH)
        ring = 256 if self.drafted else 128
        rows = (self.requests + 1) * ring + ring + 1
        return -(-rows // _HIGH) * _HIGH * 2 * self.shape.head_dim * _FP32 * layers

    @property
    def _pair_states(self) -> int:
        """States of ratio 2: the other half of a pair."""
        layers = sum(self.shape.ratios[each] == 2 for each in self.shape.owners)  # noqa: PLR2004
        ring = 1 << (self.drafted + 1).bit_length() if self.drafted else 2
        rows = (self.requests + 1) * ring + ring + 1
        return -(-rows // 2) * 2 * 2 * self.shape.head_dim * _FP32 * layers

    @property
    def _window_tokens(self) -> int:
        """Slots of a window's pool that is sized by requests."""
        window, drafted = self.shape.window, max(1, self.drafted)
        step = 2 * max(self.steps, self.drafted) if self.drafted else PAGE
        one = window + EVICTION_TOKENS * drafted + PAGE + step
        chunks = (_CHUNKS_IN_FLIGHT if self.overlapped else 1) * self.chunk
        tails = _PREFIX_TAILS * self.requests if self.radix else 0
        tokens = one * self.requests + chunks + PAGE + tails * (window + PAGE)
        return -(-tokens // PAGE) * PAGE
