"""What the server will run with: the profile's settings with this engine's defaults filled in."""

from __future__ import annotations

from attrs import frozen

from compiler.engines.sglang.backends import KvFormat, backend, kv_format, page, prefill_backend
from compiler.engines.sglang.exchange import NO_EXCHANGE, Exchange, exchange
from compiler.engines.sglang.fractions import Sizes, automatic, scale, tower_as_read
from compiler.engines.sglang.graphs import cut, decode_batches, prefill_most
from compiler.engines.sglang.held import REPLICAS_ASKED_SINCE
from compiler.engines.sglang.hosting import Hosted, hosted
from compiler.engines.sglang.prefillgraphs import captures_prefill
from compiler.engines.sglang.releases import Counting, FractionRule, at_least, counting
from compiler.engines.sglang.roles import EXTRA_SLOTS, Role, captures_decode, role_of
from compiler.engines.sglang.running import requested_requests
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.speculation import DSPARK, Speculation, speculation
from compiler.engines.sglang.unfolding import NOTHING, Unfolding, unfolding
from compiler.facts import Draft, Gpu, Model
from compiler.value import Value


# Total memory in MiB below which a tier ends -> (chunked prefill, largest graph batch below TP 4, and from TP 4);
# 0.5.11 server_args.py, lines 1319-1383; 0.5.20 for the wide low tier; 0.4.9, 0.4.6, and 0.4.1 for the old ones.
_TIERS = (
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 2048, 24, 80),
    (60 * 1024, 4096, 32, 160),
    (90 * 1024, 8192, 256, 512),
    (160 * 1024, 8192, 256, 512),
)
_WIDE_LOW_TIER = (35 * 1024, 4096, 48, 160)
_LARGEST_TIER = (16384, 512, 512)
_OLD_BATCH = 160
"""Largest captured batch of the runner itself, up to 0.4.9 (cuda_graph_runner.py)."""
_WIDE_TENSOR_PARALLEL = 4


@frozen(kw_only=True, eq=False, repr=False)
class Launch(Value):
    """The figures that decide memory.

    Attributes:
        version: the release; `rule` is that of the last one that changed how memory is counted.
        ranks: tensor parallel size.
        attention_ranks: ranks that share one attention layer's heads.
        replicas: of the attention, each with a pool of its own; 1 without data parallel attention.
        page: tokens a page.
        chunk: tokens of a prefill step.
        graph_max_batch: largest batch that is captured, before the running requests cap it; 0 without graphs.
        graph_batches: the captured sizes, where they are listed.
        prefill_graph_tokens: most tokens captured of a prefill step; 0 without.
        backend: attention backend.
        unfolding: what a prefill step of latent attention unfolds beside its own tokens.
        exchange: what ranks keep to exchange data.
        running_requests: most requests at once of one replica; `None` when the pool decides.
        draft_windowed: whether the draft has a window, and with it a request table of its own.
        role: which steps it runs.
        extra_slots: `--disaggregation-decode-extra-slots`.
        hosted: what of a request stays on the GPU, where the host holds contexts.
        multimodal: whether the server takes images.
        fraction_scale: what the release multiplies a fraction by.
        automatic_fraction: what it picks when none is given, before that.
    """

    version: str
    rule: Counting
    guess: Speculation
    ranks: int
    attention_ranks: int
    replicas: int
    kv: KvFormat
    page: int
    chunk: int
    graph_max_batch: int
    graph_batches: tuple[int, ...] = ()
    prefill_graph_tokens: int = 0
    backend: str
    unfolding: Unfolding = NOTHING
    exchange: Exchange = NO_EXCHANGE
    context: int
    running_requests: int | None
    draft_windowed: bool
    role: Role = Role.BOTH
    extra_slots: int | None = None
    hosted: Hosted | None = None
    multimodal: bool = False
    fraction_scale: float = 1.0
    automatic_fraction: float = 0.0

    @property
    def kv_bytes(self) -> int:
        """Bytes of one KV element."""
        return self.kv.bytes

    @property
    def verify_width(self) -> int:
        """Tokens a request verifies at once, and the slots its last step wants free."""
        return self.guess.verify_width

    @property
    def draft_width(self) -> int:
        """Tokens a request drafts at once."""
        return self.guess.draft_width

    def table_rows(self, pool_tokens: float, *, state_requests: int | None = None) -> int:
        """Rows of the request table: most requests at once (0.5.11 model_runner_kv_cache_mixin.py, line 698).

        `state_requests` is what a pool of states admits.
        """
        tokens = int(pool_tokens)
        by_pool = min(max(int(tokens / self.context * 512), 2048), 4096)
        if self.running_requests is None:
            rows = min(by_pool, tokens // 2)
        elif self.rule.requests_by_context:
            rows = min(self.running_requests, by_pool)
        else:
            rows = min(self.running_requests, tokens // 2)
        if state_requests is not None:
            rows = min(rows, state_requests)
        return max(1, rows)

    def captured_batches(self, rows: int) -> tuple[int, ...]:
        """The batch sizes captured as graphs."""
        if self.graph_batches:
            return cut(set(self.graph_batches), rows=rows)
        return decode_batches(self.graph_max_batch, speculates=self.verify_width > 1, rows=rows)


def launch(
    settings: Settings, *, rule: Counting, gpu: Gpu, model: Model, draft: Draft | None
) -> Launch:
    """Fill in the engine's defaults for one profile."""
    profile = settings.profile
    parallel = profile.parallel
    guess = speculation(settings, model=model, draft=draft)
    chosen = backend(settings, gpu=gpu, model=model, guess=guess)
    replicas = parallel.data if parallel.dp_attention else 1
    chunk, batch = default_tier(gpu, ranks=parallel.tensor, rule=rule)
    asked_chunk = profile.memory.chunked_prefill
    chunk = asked_chunk if asked_chunk is not None else chunk
    batches = settings.numbers("cuda-graph-bs-decode", "cuda-graph-bs")
    batch = _largest_batch(settings, rule, batches=batches, default=batch)
    multimodal = takes_images(settings, model)
    graphs = not _graphs_off(settings)
    captured = graphs and captures_decode(settings)
    prefill = 0
    if captures_prefill(settings, gpu=gpu, model=model, rule=rule, multimodal=multimodal):
        prefill = prefill_most(settings, model=model, chunk=chunk)
    sizes = Sizes(chunk=chunk, batch=batch, graphs=captured, prefill=prefill, multimodal=multimodal)
    shares = step_shares(replicas, version=profile.engine.version)
    step = _step(chunk, shares=shares, context=profile.serve.tokens)
    whole_page = page(settings, gpu=gpu, model=model, backend=chosen)
    return Launch(
        version=profile.engine.version,
        rule=rule,
        guess=guess,
        ranks=parallel.tensor,
        attention_ranks=max(1, parallel.tensor // (replicas * contexts(settings))),
        replicas=replicas,
        kv=kv_format(settings, gpu=gpu, model=model, rule=rule),
        page=whole_page,
        chunk=step,
        graph_max_batch=batch if captured else 0,
        graph_batches=batches if captured else (),
        prefill_graph_tokens=prefill,
        backend=chosen,
        unfolding=unfolding(
            settings,
            gpu=gpu,
            model=model,
            backend=prefill_backend(settings, gpu=gpu, model=model, guess=guess),
            page=whole_page,
            captured=prefill >= step,
        ),
        exchange=exchange(settings, gpu=gpu, model=model),
        context=profile.serve.tokens,
        running_requests=requested_requests(profile, model),
        draft_windowed=profile.speculative is not None
        and profile.speculative.algorithm != DSPARK
        and profile.speculative.draft_window is not None,
        role=role_of(settings),
        extra_slots=settings.whole(EXTRA_SLOTS),
        hosted=hosted(settings),
        multimodal=multimodal,
        fraction_scale=scale(profile, backend=chosen, rule=rule, multimodal=multimodal),
        automatic_fraction=automatic(settings, gpu=gpu, model=model, rule=rule, sizes=sizes),
    )


def contexts(settings: Settings) -> int:
    """Ranks that share one sequence's prefill; each keeps all of its tokens (0.5.13 layers/dp_attention.py, 244)."""
    asked = settings.whole("attention-context-parallel-size") or settings.whole("attn-cp-size")
    return max(1, asked or 1)


# Multimodal only when asked for (configs/model_config.py, `mm_disabled_models`).
_IMAGES_WHEN_ASKED = ("Gemma3For", "Llama4", "Step3VL")


def takes_images(settings: Settings, model: Model) -> bool:
    """Whether a server takes images."""
    if tower_as_read(model) is None:
        return False
    if settings.on("language-only") or settings.on("language-model-only"):
        return False
    rule = counting(settings.profile.engine.version)
    by_itself = rule is not None and not rule.images_when_asked
    asked = by_itself or settings.on("enable-multimodal")
    return asked or not model.architecture.startswith(_IMAGES_WHEN_ASKED)


def _graphs_off(settings: Settings) -> bool:
    names = ("disable-cuda-graph", "disable-decode-cuda-graph")
    return (
        any(settings.on(name) for name in names)
        or settings.word("cuda-graph-backend-decode") == "disabled"
    )


def _largest_batch(
    settings: Settings, rule: Counting, *, batches: tuple[int, ...], default: int
) -> int:
    asked = settings.profile.memory.cuda_graph_max_batch or settings.whole(
        "cuda-graph-max-bs-decode", "cuda-graph-max-bs"
    )
    if batches:
        return max(batches)
    if asked:
        return asked
    requests = settings.profile.serve.max_running_requests
    return min(default, requests) if rule.captures_requests and requests else default


def step_shares(replicas: int, *, version: str) -> int:
    """Into how many parts a prefill step is cut for data parallel attention; two in old releases, however many replicas there are."""
    return replicas if replicas == 1 or at_least(version, REPLICAS_ASKED_SINCE) else 2


def _step(chunk: int, *, shares: int, context: int) -> int:
    """Tokens of a prefill step on one rank; without chunking (0 or less) a whole prompt is one."""
    return max(1, chunk // shares) if chunk > 0 else context


def default_tier(gpu: Gpu, *, ranks: int, rule: Counting) -> tuple[int, int]:
    """The chunk of a prefill step, before replicas divide it, and the largest captured batch, where none is given."""
    wide = ranks >= _WIDE_TENSOR_PARALLEL
    if not rule.table_draft_columns:
        return _old_tier(gpu, wide=wide, rule=rule)
    tiers = list(_TIERS)
    if rule.wide_low_tier:
        tiers[1] = _WIDE_LOW_TIER
    for below_mib, chunk, narrow_batch, wide_batch in tiers:
        if gpu.total_mib < below_mib:
            return chunk, wide_batch if wide else narrow_batch
    return _LARGEST_TIER[0], _LARGEST_TIER[1]


_SMALLEST_MIB, _SMALL_MIB, _MIDDLE_MIB = 25_000, 35 * 1024, 160 * 1024


def _old_tier(gpu: Gpu, *, wide: bool, rule: Counting) -> tuple[int, int]:
    """Up to 0.4.9 there is one step for small cards, and another for chunks of large ones."""
    tiered = rule.fraction is FractionRule.TIERS
    small = gpu.total_mib < (_SMALL_MIB if tiered else _SMALLEST_MIB)
    if small:
        return 2048, 80 if wide else 8
    large = gpu.total_mib >= _MIDDLE_MIB and tiered
    return (16384 if large else 8192), _OLD_BATCH
