"""How a server turns a rest into a pool, for each way it may count its draft."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from compiler.architecture import Compressed
from compiler.engines.sglang.adapters import adapters_gib
from compiler.engines.sglang.architectures import splits_windows
from compiler.engines.sglang.backends import draft_kv_format
from compiler.engines.sglang.cells import Token, cells, stepwise_pricing
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.loading import TEXT_ONLY
from compiler.engines.sglang.pool import EXACT, LAYER_SCALED, NONE, Cell, Layout
from compiler.engines.sglang.releases import (
    Counting,
    DflashPool,
    EaglePool,
    WindowPools,
    at_least,
)
from compiler.engines.sglang.settings import Settings, number_in
from compiler.engines.sglang.sparsekeys import keys_in_all
from compiler.engines.sglang.speculation import DSPARK
from compiler.engines.sglang.stages import is_bounded_by_context, shares_of
from compiler.engines.sglang.states import Sharing, state_pool
from compiler.engines.sglang.variables import FEATURE_CACHE, IMAGE_CACHE
from compiler.facts import Model, Release
from compiler.memory.cards import MIB


if TYPE_CHECKING:
    from compiler.engines.sglang.compressed import CompressedPool


WINDOW_RATIO = 0.8
"""Tokens of a window's pool to those of the other, `--swa-full-tokens-ratio`."""
# Their window pool is as large as the other with a hierarchical cache, and of MiMo V2 until the release named
# (0.5.13 server_args.py, line 2285; 0.5.14 has it of Step 3.5 alone, arg_groups/overrides.py).
_EVEN_WITH_CACHE = {"MiMoV2": "0.5.14", "Step3p5": None}


def layouts(
    settings: Settings, launch: Launch, *, model: Model, release: Release | None
) -> tuple[Layout, ...]:
    """The layouts, likeliest first."""
    compressed = compressed_pool(settings, launch, model)
    if compressed is not None:
        # Its window's pool is in the cell, and a draft counts as a layer more of everything.
        return (
            Layout(
                cell=compressed.cell,
                page=launch.page,
                taken=_named("windows and states of requests", compressed.fixed_gib),
                owed_gib=compressed.owed_gib,
                limit=settings.profile.memory.max_pool_tokens,
            ),
        )
    token = token_of(settings, launch, model)
    pricings = _pricings(settings, launch, model=model, release=release, split=token.splits_windows)
    several = cells(token, launch.guess, pricings=pricings)
    return tuple(_layouts(settings, launch, model=model, cells=several, token=token))


# Stages of models with states are sized by their own full layers, and have pools for those alone (0.5.8 and 0.5.9
# model_executor/model_runner_kv_cache_mixin.py, lines 129 and 633).
_COUNTS_STAGES_SINCE, _KEEPS_STAGES_SINCE = "0.5.8", "0.5.9"


def token_of(settings: Settings, launch: Launch, model: Model) -> Token:
    """What decides a token's bytes."""
    version, hybrid = settings.profile.engine.version, model.state is not None
    return Token(
        model=model,
        kv=launch.kv,
        rule=launch.rule,
        ranks=launch.attention_ranks,
        stages=settings.profile.parallel.pipeline,
        shares=shares_of(settings.profile, model.layers),
        counts_all=hybrid and not at_least(version, _COUNTS_STAGES_SINCE),
        keeps_all=hybrid and not at_least(version, _KEEPS_STAGES_SINCE),
        splits_windows=has_window_pool(settings, model),
        window_ratio=window_ratio_of(settings, model),
        host_ratio=launch.hosted.ratio if launch.hosted is not None else 1,
        keys_in_all=keys_in_all(settings),
        draft_kv=draft_kv_format(settings),
        draft_ranks=launch.ranks if _counts_all_ranks(launch) else None,
    )


# To 0.5.21 the price has a draft's heads on all ranks, its pool those of one replica (0.5.18 and 0.5.21
# model_runner_components/spec_aux_hidden_state.py, `_resolve_dflash_draft_cell_size`; 0.5.22, the same, `attn_tp_size`).
_COUNTS_REPLICA_SINCE = "0.5.22"


def _counts_all_ranks(launch: Launch) -> bool:
    late = at_least(launch.version, _COUNTS_REPLICA_SINCE)
    return launch.guess.algorithm == DSPARK and launch.replicas > 1 and not late


def compressed_pool(settings: Settings, launch: Launch, model: Model) -> CompressedPool | None:
    """What decides the pools of attention that compresses over time; `None` for every other."""
    if not isinstance(model.attention, Compressed):
        return None
    from compiler.engines.sglang.compressed import CompressedPool  # noqa: PLC0415 - few models compress over time

    guess = launch.guess
    return CompressedPool(
        shape=model.attention,
        rule=launch.rule.compressed,
        layers=model.layers,
        stages=settings.profile.parallel.pipeline,
        shares=shares_of(settings.profile, model.layers),
        ratio=settings.number("swa-full-tokens-ratio"),
        requests=launch.running_requests or 1,
        drafted=guess.verify_width if guess.algorithm is not None else 0,
        stages_drafting=guess.stages.layers if guess.stages is not None else 0,
        steps=guess.steps,
        chunk=launch.chunk,
        overlapped=not settings.on("disable-overlap-schedule"),
        radix=not settings.on("disable-radix-cache"),
    )


def has_window_pool(settings: Settings, model: Model) -> bool:
    """Whether layers with a window have a pool of their own."""
    return (
        model.window is not None
        and not settings.on("disable-hybrid-swa-memory")
        and splits_windows(model.architecture, settings.profile.engine.version)
    )


def window_ratio_of(settings: Settings, model: Model) -> float:
    """Tokens of the window's pool to those of the other."""
    if settings.on("enable-hierarchical-cache") and _is_even(settings, model):
        return 1.0
    return settings.number("swa-full-tokens-ratio") or WINDOW_RATIO


def _is_even(settings: Settings, model: Model) -> bool:
    return any(
        until is None or not at_least(settings.profile.engine.version, until)
        for family, until in _EVEN_WITH_CACHE.items()
        if model.architecture.startswith(family)
    )


def _layouts(
    settings: Settings, launch: Launch, *, model: Model, cells: Iterable[Cell], token: Token
) -> Iterator[Layout]:
    """The layout of each cell."""
    rule = launch.rule
    limit = settings.profile.memory.max_pool_tokens
    if limit is not None and token.splits_windows and rule.windows is WindowPools.BY_LAYERS:
        # The limit is on the tokens before they are dealt out.
        limit = int(limit * _dealt(token))
    if is_bounded_by_context(settings.profile, model):
        limit = limit or settings.profile.serve.tokens
    taken = tuple(_taken(settings, launch, model))
    states = state_pool(
        settings,
        model=model,
        rule=rule,
        guess=launch.guess,
        sharing=Sharing(
            ranks=launch.attention_ranks,
            replicas=launch.replicas,
            requests=launch.running_requests,
        ),
    )
    added = _added(launch)
    for cell in cells:
        yield Layout(
            cell=cell, page=launch.page, taken=taken, states=states, added=added, limit=limit
        )


def _taken(settings: Settings, launch: Launch, model: Model) -> Iterator[tuple[str, float]]:
    yield from _named("cache of images", _images_gib(settings, launch))
    yield from _named("buffers of adapters", adapters_gib(settings, model) or 0.0)


def _named(name: str, gib: float) -> tuple[tuple[str, float], ...]:
    return ((name, gib),) if gib else ()


_FEATURES_MIB = 1024
_ON_DEVICE = frozenset({"cuda_ipc", "cuda_vmm"})


def counted_variables(settings: Settings, launch: Launch) -> frozenset[str]:
    """The variables that say what caches of images take before a release sizes the pool."""
    # They are set aside where images are encoded elsewhere too.
    takes = launch.multimodal or settings.on(TEXT_ONLY)
    if not takes or launch.rule.multimodal_gib == 0.0:
        return frozenset()
    on_device = settings.word("mm-feature-transport") in _ON_DEVICE
    return frozenset({IMAGE_CACHE, FEATURE_CACHE} if on_device else {IMAGE_CACHE})


def _images_gib(settings: Settings, launch: Launch) -> float:
    """What caches of images take, GiB (0.5.18 mem_cache/kv_cache_configurator.py, `mm_runtime_reservation_gb`)."""
    usual_mib = {IMAGE_CACHE: round(launch.rule.multimodal_gib * MIB), FEATURE_CACHE: _FEATURES_MIB}
    names = counted_variables(settings, launch)
    return sum(number_in(settings.profile.env, each, usual=usual_mib[each]) for each in names) / MIB


def _dealt(token: Token) -> float:
    counts = token.layers
    if not counts.attention:
        return 1.0
    return counts.attention / (counts.full + token.window_ratio * counts.window)


def _added(launch: Launch) -> int:
    """Slots added without memory; with as many rows as requests, which speculation limits."""
    guess = launch.guess
    if launch.rule.eagle is not EaglePool.ENLARGED or guess.algorithm is None:
        return 0
    return guess.enlargement(rule=launch.rule, rows=launch.running_requests or 0)


_INHERITED = {
    DflashPool.ABSENT: (NONE,),
    DflashPool.SCALED: (LAYER_SCALED,),
    DflashPool.EXACT: (EXACT,),
}


# Models whose draft the server names by itself where nobody does (0.5.13 to 0.5.19 arg_groups/speculative_hook.py).
_NAMED = frozenset(
    {
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "BailingMoeV2_5ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV4ForCausalLM",
        "Glm4MoeForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "GlmMoeDsaForCausalLM",
        "HYV3ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
    }
)


def _pricings(
    settings: Settings, launch: Launch, *, model: Model, release: Release | None, split: bool
) -> tuple[str, ...]:
    guess = launch.guess
    build = release.build if release is not None else None
    if build is not None and guess.algorithm in build.algorithms and build.draft_pricing:
        return build.draft_pricing
    if guess.stepwise and not _is_named(settings, launch.rule, model):
        return (NONE,)
    return pricings(launch.rule, drafts_blocks=guess.drafts_blocks, split=split)


# Models whose config does not say how many layers their draft has by the name that is looked for, `num_nextn_predict_layers`:
# it is put in when the draft is loaded only (0.5.21 configs/model_config.py, 953-982 and 1414).
_UNSAID = ("Qwen3Next", "Qwen3_5")


def _is_named(settings: Settings, rule: Counting, model: Model) -> bool:
    """Whether the server looks at the draft when it sizes the pool: to 0.5.19 only where a path names it.

    0.5.14 and 0.5.15 model_executor/model_runner.py; 0.5.16 to 0.5.23 model_runner_components/spec_aux_hidden_state.py,
    `_resolve_eagle_aux_hidden_state`.
    """
    asked = settings.profile.speculative
    if asked is not None and (asked.draft or asked.draft_path):
        return True
    own = rule.own_drafts and not model.architecture.startswith(_UNSAID)
    return own or model.architecture in _NAMED


def pricings(rule: Counting, *, drafts_blocks: bool, split: bool) -> tuple[str, ...]:
    """How a release counts a draft in a token's bytes."""
    if not drafts_blocks:
        return (stepwise_pricing(rule, splits_windows=split),)
    if split and rule.dflash is DflashPool.SCALED:
        # Up to 0.5.17 the scale is not applied to models with a window's pool.
        return (NONE,)
    return _INHERITED[rule.dflash]


def window_pool_by_requests(settings: Settings, model: Model, rule: Counting) -> bool:
    """Whether the window's pool is sized by requests, which is not written down here."""
    return (
        has_window_pool(settings, model)
        and (rule.window_capped or at_least(rule.since, "0.5.14"))
        and settings.on("disable-radix-cache")
        and settings.profile.serve.max_running_requests is not None
    )
