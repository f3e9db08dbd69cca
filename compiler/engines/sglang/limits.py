"""What the memory model does not cover, in the words of the output."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.engine import Facts, KnownBoot
from compiler.engines.sglang.architectures import between, priced_since, unread
from compiler.engines.sglang.backends import KNOWN_KV, Platform, generation, is_sparse, platform
from compiler.engines.sglang.changes import changes
from compiler.engines.sglang.compressedtensors import uncompressed_on
from compiler.engines.sglang.draftlimits import draft_unknowns
from compiler.engines.sglang.hosting import hosting_assumption
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.layouts import (
    counted_variables,
    has_window_pool,
    window_pool_by_requests,
)
from compiler.engines.sglang.least import senseless
from compiler.engines.sglang.loading import loading_assumption
from compiler.engines.sglang.padding import padding_assumption
from compiler.engines.sglang.rawsettings import raw_unknowns
from compiler.engines.sglang.releases import (
    CompressedPools,
    Counting,
    StatePools,
    WindowPools,
    at_least,
    counting,
)
from compiler.engines.sglang.reserve import BACKENDS
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.speculation import DSPARK, drafts_blocks
from compiler.engines.sglang.unpriced import RESERVE, unpriced_flags
from compiler.engines.sglang.variables import RESERVE as RESERVE_VARIABLES
from compiler.engines.sglang.variables import changing
from compiler.facts import Compressed, Gpu, Model
from compiler.profile import Profile
from compiler.unknown import Unknown


def unknowns(asked: Settings, facts: Facts) -> tuple[Unknown, ...]:
    """Everything that keeps this profile from being priced."""
    profile = asked.profile
    return (
        *_catalogue(profile, facts),
        *draft_unknowns(asked, facts),
        *_release(profile, facts),
        *_shape(asked, facts),
        *raw_unknowns(asked, facts),
        *senseless(asked),
    )


def _catalogue(profile: Profile, facts: Facts) -> Iterator[Unknown]:
    if facts.gpu is None:
        yield Unknown(
            code="gpu-unknown", name=profile.gpus.kind, setting="gpus.kind", missing="its memory"
        )
    elif (
        facts.gpu.free_before_load_gib is None
        and facts.measured.free_before_gib is None
        and not any(_tells_free(known) for known in facts.boots)
    ):
        yield Unknown(
            code="gpu-unknown",
            name=profile.gpus.kind,
            setting="gpus.kind",
            missing="its free memory before weights load: its entry does not tell it, and there is no recorded boot",
        )
    if facts.model is None:
        yield Unknown(
            code="model-unknown", name=profile.model.id, setting="model.id", missing="its shape"
        )


def _tells_free(known: KnownBoot) -> bool:
    return known.boot.free_before_load_gib is not None and not known.boot.shipped


def _release(profile: Profile, facts: Facts) -> Iterator[Unknown]:
    engine = profile.engine
    if facts.release is None or counting(engine.version) is None:
        yield Unknown(
            code="release-unknown",
            name=f"{engine.name} {engine.version}",
            setting="engine.version",
            missing="how it counts memory",
        )
    elif engine.build is not None and facts.release.build is None:
        yield Unknown(
            code="build-unknown",
            name=engine.build,
            setting="engine.build",
            missing="what it adds to the release",
        )


# Models that a release sizes by a configurator of their own, which is not written down here; the beginnings of names.
_OWN_CONFIGURATORS = ("Inkling",)


def _shape(asked: Settings, facts: Facts) -> Iterator[Unknown]:
    model, profile = facts.model, asked.profile
    rule = counting(profile.engine.version)
    if model is None or rule is None:
        return
    missing = _unshaped(asked, model, rule) or _uncompressed(asked, facts.gpu, model, rule)
    if missing is not None:
        yield Unknown(
            code="model-unpriced",
            name=model.id,
            setting="model.id",
            missing=missing,
            since=priced_since(model.architecture, profile.engine.version),
        )
    kv = asked.word("kv-cache-dtype")
    if kv is not None and kv not in KNOWN_KV:
        yield Unknown(
            code="flag-unpriced",
            name="--kv-cache-dtype",
            setting=asked.setting("kv-cache-dtype"),
            missing=f"the bytes of an element of `{kv}`",
        )
    if window_pool_by_requests(asked, model, rule):
        yield Unknown(
            code="layout-unpriced",
            name="a window pool sized by requests",
            setting="flags.disable-radix-cache",
            missing="how many tokens a request may hold in it",
        )


def _unshaped(asked: Settings, model: Model, rule: Counting) -> str | None:
    if model.architecture.startswith(_OWN_CONFIGURATORS):
        return "how the release sizes its pools"
    late = unread(model.architecture, asked.profile.engine.version)
    if late is not None:
        return late
    if model.state is not None and rule.states is StatePools.ABSENT:
        return f"how sglang {asked.profile.engine.version} sizes its states"
    old_split = rule.windows is WindowPools.BY_LAYERS and has_window_pool(asked, model)
    if old_split and model.architecture.startswith("Llama4"):
        return "how the release deals tokens out to chunked attention"
    return _replicated(asked, model)


# With sparse MLA these turn on data parallel attention over all GPUs, whatever the flags say (0.5.3 server_args.py, 816, and
# 0.5.5.post3, 1107; not from 0.5.6 on).
_REPLICATES_SINCE, _REPLICATES_UNTIL = "0.5.3", "0.5.6"


def _replicated(asked: Settings, model: Model) -> str | None:
    version, parallel = asked.profile.engine.version, asked.profile.parallel
    those = at_least(version, _REPLICATES_SINCE) and not at_least(version, _REPLICATES_UNTIL)
    replicas = parallel.data if parallel.dp_attention else 1
    if not (is_sparse(model) and those) or replicas == parallel.tensor:
        return None
    return f"data parallel attention over all GPUs, which sglang {version} turns on by itself"


def _uncompressed(asked: Settings, gpu: Gpu | None, model: Model, rule: Counting) -> str | None:
    """Why the pools of attention that compresses over time are not known here."""
    if not isinstance(model.attention, Compressed) or gpu is None:
        return None
    if rule.compressed is CompressedPools.ABSENT:
        return "how the release sizes its pools"
    if platform(gpu) is not Platform.CUDA:
        return uncompressed_on(asked, gpu=gpu, model=model)
    whole = asked.profile.parallel.dp_attention and at_least(rule.since, "0.5.21")
    if model.attention.owners and whole and generation(gpu) == _MEGA_GENERATION:
        return "the rows of the attention kernel that this GPU gets without attention tensor parallelism"
    return None


# On SM100 it may be `flashmla_mega`, whose rows are others (0.5.23 arg_groups/deepseek_v4_hook.py, line 45).
_MEGA_GENERATION = 10


# They keep hidden states of earlier layers for a step (0.5.17 models/kimi_k3.py, 2458).
_RESIDUALS = ("KimiK3",)


# 0.5.16 to 0.5.23 speculative/ragged_verify.py.
_RAGGED = "SGLANG_RAGGED_VERIFY_MODE"


def unpriced(asked: Settings, launch: Launch, facts: Facts) -> tuple[str, ...]:
    """Sentences about what the reserve pays for and that has no figure here."""
    profile, counted = asked.profile, counted_variables(asked, launch)
    flags = unpriced_flags(profile, RESERVE, release=facts.release)
    priced = launch.exchange.flags
    sentences = [f"`--{name}` {does}" for name, does in flags if name not in priced]
    changed = changing(profile, RESERVE_VARIABLES, model=facts.model)
    sentences += [f"`{name}` {does}" for name, does in changed if name not in counted]
    if facts.model is not None and facts.model.architecture.startswith(_RESIDUALS):
        sentences.append("the hidden states of earlier layers that attention residuals keep")
    if launch.guess.algorithm == DSPARK and profile.env.get(_RAGGED, "") not in {"", "static"}:
        sentences.append(f"`{_RAGGED}` captures what is verified in another way")
    if launch.backend not in BACKENDS and launch.graph_max_batch:
        sentences.append(f"the graph buffers of the `{launch.backend}` attention backend")
    return tuple(sentences)


def assumptions(asked: Settings, facts: Facts) -> tuple[str, ...]:
    """What the plan takes for granted."""
    profile = asked.profile
    sentences: list[str] = []
    release = facts.release
    if release is not None and release.read_version != release.version:
        sentences.append(
            f"{release.engine} {release.version} was not read; the flags and rules are those of {release.read_version}"
        )
    if release is not None and release.build is not None and drafts_blocks(profile):
        sentences += release.build.assumptions
    if (
        facts.model is not None
        and facts.model.state is not None
        and at_least(profile.engine.version, "0.5.17")
    ):
        sentences.append("the optional early release of state slots is off")
    sentences += changes(asked, facts.model)
    if facts.model is not None:
        model = facts.model
        of_model = (
            between(model.architecture, profile.engine.version),
            loading_assumption(model, asked),
            padding_assumption(asked, gpu=facts.gpu, model=model),
            hosting_assumption(asked, gpu=facts.gpu, model=model),
        )
        sentences += [each for each in of_model if each is not None]
    return tuple(sentences)
