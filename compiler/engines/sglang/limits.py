"""What the memory model does not cover, in the words of the output."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.engine import Facts
from compiler.engines.sglang.launch import BLOCK_DRAFTED, Launch, drafts_blocks
from compiler.engines.sglang.pool import LAYER_SCALED
from compiler.engines.sglang.releases import memory_model
from compiler.engines.sglang.reserve import BACKENDS
from compiler.engines.sglang.unpriced import RESERVE, STATIC, unpriced_flags
from compiler.facts import Mla, Model, Release, Unknown
from compiler.profile import Profile


def unknowns(profile: Profile, facts: Facts) -> tuple[Unknown, ...]:
    """Everything that keeps this profile from being priced."""
    return (
        *_catalogue(profile, facts),
        *_release(profile, facts),
        *_shape(profile, facts),
        *_flags(profile, facts.release),
    )


def _catalogue(profile: Profile, facts: Facts) -> Iterator[Unknown]:
    speculative = profile.speculative
    if facts.gpu is None:
        yield Unknown(
            code="gpu-unknown", name=profile.gpus.kind, setting="gpus.kind", missing="its memory"
        )
    elif facts.gpu.free_before_load_gib is None and not any(
        known.boot.free_before_load_gib is not None for known in facts.boots
    ):
        yield Unknown(
            code="gpu-unknown",
            name=profile.gpus.kind,
            setting="gpus.kind",
            missing="its free memory before weights load: no public boot prints it, and there is no recorded boot",
        )
    if facts.model is None:
        yield Unknown(
            code="model-unknown", name=profile.model.id, setting="model.id", missing="its shape"
        )
    if speculative is None:
        return
    if speculative.algorithm not in BLOCK_DRAFTED:
        yield Unknown(
            code="speculation-unpriced",
            name=speculative.algorithm,
            setting="speculative.algorithm",
            missing="what it charges to which budget",
        )
    elif facts.draft is None and (speculative.draft or speculative.draft_path):
        yield Unknown(
            code="draft-unknown",
            name=speculative.draft or f"in {speculative.draft_path}",
            setting="speculative.draft" if speculative.draft else "speculative.draft_path",
            missing="its shape" if speculative.draft else "its id: set `speculative.draft`",
        )


def _release(profile: Profile, facts: Facts) -> Iterator[Unknown]:
    engine = profile.engine
    if facts.release is None or memory_model(engine.version) is None:
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


def _shape(profile: Profile, facts: Facts) -> Iterator[Unknown]:
    model, parallel = facts.model, profile.parallel
    if model is not None and (missing := _not_priced(model)) is not None:
        yield Unknown(code="model-unpriced", name=model.id, setting="model.id", missing=missing)
    if parallel.pipeline > 1:
        yield Unknown(
            code="layout-unpriced",
            name=f"pipeline parallel {parallel.pipeline}",
            setting="parallel.pipeline",
            missing="which stage holds what",
        )
    if parallel.data > 1 and not parallel.dp_attention:
        yield Unknown(
            code="layout-unpriced",
            name=f"data parallel {parallel.data}",
            setting="parallel.data",
            missing="how many of the promised requests each replica gets",
        )
    if parallel.dp_attention:
        yield Unknown(
            code="layout-unpriced",
            name="data parallel attention",
            setting="parallel.dp_attention",
            missing="which weights it keeps whole on every GPU",
        )


def _not_priced(model: Model) -> str | None:
    """What of a described model this engine's formulas do not cover yet."""
    attention = model.attention
    if not isinstance(attention, Mla):
        return f"the pool of {model.architecture} with grouped-query attention"
    if attention.indexer is not None:
        return "the cache of its indexer (sparse attention)"
    if model.window is not None or model.state is not None:
        return "the pools of its sliding-window or state layers"
    return None if model.moe is not None else f"the layers of {model.architecture}"


def _flags(profile: Profile, release: Release | None) -> Iterator[Unknown]:
    for name, does in unpriced_flags(profile, STATIC, release=release):
        yield Unknown(
            code="flag-unpriced", name=f"--{name}", setting=f"flags.{name}", missing=f"it {does}"
        )


def draft_pricings(algorithm: str | None, release: Release | None) -> tuple[str, ...]:
    """How a server may count the draft in a token's bytes, likeliest first."""
    build = release.build if release is not None else None
    if build is not None and algorithm in build.algorithms:
        return build.draft_pricing or (LAYER_SCALED,)
    return (LAYER_SCALED,)


def unpriced(profile: Profile, launch: Launch, release: Release | None) -> tuple[str, ...]:
    """Sentences about what the reserve pays for and that has no figure here."""
    flags = unpriced_flags(profile, RESERVE, release=release)
    sentences = [f"`--{name}` {does}" for name, does in flags]
    if launch.backend not in BACKENDS and launch.graph_max_batch:
        sentences.append(f"the graph buffers of the `{launch.backend}` attention backend")
    return tuple(sentences)


def assumptions(profile: Profile, facts: Facts) -> tuple[str, ...]:
    """What the plan takes for granted."""
    sentences: list[str] = []
    release = facts.release
    if release is not None and release.read_version != release.version:
        sentences.append(
            f"{release.engine} {release.version} was not read; the flags and rules are those of {release.read_version}"
        )
    if release is not None and release.build is not None and drafts_blocks(profile):
        sentences += release.build.assumptions
    return tuple(sentences)
