"""Which recorded boot says something about a profile, and whether it is of exactly these settings."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.engines.engine import KnownBoot
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.releases import memory_model
from compiler.facts import Boot
from compiler.profile import Parallel, Profile


def matches(profile: Profile, boot: Boot) -> bool:
    """Whether a boot fixes this profile's weights: same model, GPUs and layout, a release that counts memory alike."""
    wanted = (
        profile.engine.name,
        memory_model(profile.engine.version),
        profile.model.id,
        profile.gpus.kind,
        profile.gpus.count,
        profile.parallel,
    )
    return wanted == _weights_key(boot)


def _weights_key(boot: Boot) -> tuple[object, ...]:
    layout = Parallel(
        tensor=boot.tensor,
        pipeline=boot.pipeline,
        data=boot.data,
        expert=boot.expert,
        dp_attention=boot.dp_attention,
    )
    return (boot.engine, memory_model(boot.version), boot.model, boot.gpu, boot.gpu_count, layout)


def differences(
    profile: Profile, launch: Launch, boot: Boot, *, fraction: float
) -> tuple[str, ...]:
    """The settings, by name, that differ between a profile and a boot that matches it; none makes it a measurement."""
    return tuple(
        name
        for name, (ours, theirs) in _settings(profile, launch, boot, fraction=fraction).items()
        if ours != theirs
    )


def _settings(
    profile: Profile, launch: Launch, boot: Boot, *, fraction: float
) -> Mapping[str, tuple[object, object]]:
    speculative = profile.speculative
    return {
        "engine.version": (profile.engine.version, boot.version),
        "engine.build": (profile.engine.build, boot.build),
        "memory.fraction": (fraction, boot.fraction),
        "memory.kv_dtype": (profile.memory.kv_dtype, boot.kv_dtype),
        "memory.page_size": (launch.page, boot.page_size),
        "memory.max_pool_tokens": (profile.memory.max_pool_tokens, None),
        "speculative.algorithm": (speculative.algorithm if speculative else None, boot.algorithm),
        "speculative.draft": (speculative.draft if speculative else None, boot.draft),
        "speculative.block_size": (launch.draft_width if speculative else None, boot.block_size),
        "speculative.draft_window": (
            speculative.draft_window if speculative else None,
            boot.draft_window,
        ),
        "speculative.tree_budget": (
            speculative.tree_budget if speculative else None,
            boot.tree_budget,
        ),
        "speculative.tree_topk": (speculative.tree_topk if speculative else None, boot.tree_topk),
        "serve.context": (profile.serve.context, boot.context),
        "serve.max_running_requests": (
            profile.serve.max_running_requests,
            boot.max_running_requests,
        ),
        "memory.chunked_prefill": (launch.chunk, boot.chunked_prefill),
    }


def nearest(
    profile: Profile, launch: Launch, boots: tuple[KnownBoot, ...], *, fraction: float
) -> KnownBoot | None:
    """The matching boot with the fewest differences; ties go to the nearest fraction, then to the name."""
    # A boot whose draft nobody described had a cell that cannot be told.
    matching = [
        known
        for known in boots
        if matches(profile, known.boot) and (known.boot.draft is None or known.draft is not None)
    ]
    if not matching:
        return None
    return min(
        matching,
        key=lambda known: (
            len(differences(profile, launch, known.boot, fraction=fraction)),
            abs(known.boot.fraction - fraction),
            known.boot.name,
        ),
    )
