"""Which recorded boot says something about a profile, whether it is of exactly these settings, and what its pool was made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from attrs import evolve, frozen

from compiler.engines.engine import Facts, KnownBoot
from compiler.engines.sglang.launch import Launch, launch
from compiler.engines.sglang.layouts import layouts
from compiler.engines.sglang.pool import Layout
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.settings import Settings, settings_of
from compiler.engines.sglang.speculation import DSPARK, NGRAM, Speculation
from compiler.engines.sglang.unpriced import STATIC
from compiler.facts import Boot, Model
from compiler.profile import (
    CheckpointPath,
    Memory,
    Name,
    Parallel,
    Profile,
    Speculative,
    Text,
    Version,
)
from compiler.same import Same
from compiler.value import Value


def matches(profile: Profile, boot: Boot) -> bool:
    """Whether a boot fixes this profile's weights: same model, GPUs, layout and what is loaded before the pool is sized."""
    ours = (
        profile.engine.name,
        profile.model.id,
        profile.gpus.kind,
        profile.gpus.count,
        _in_effect(profile.parallel),
    )
    theirs = (boot.engine, boot.model, boot.gpu, boot.gpu_count, _in_effect(_layout(boot)))
    counted = counting(profile.engine.version) and counting(boot.version)
    return ours == theirs and counted is not None and _stores_alike(profile, boot)


def _in_effect(parallel: Parallel) -> Parallel:
    """Data parallel attention over one rank is dropped by the engine."""
    return evolve(parallel, dp_attention=parallel.dp_attention and parallel.data > 1)


def _layout(boot: Boot) -> Parallel:
    return Parallel(
        tensor=boot.tensor,
        pipeline=boot.pipeline,
        data=boot.data,
        expert=boot.expert,
        dp_attention=boot.dp_attention,
    )


# Raw flags that change what the weights take, or what is kept beside them.
_STORED_BY = (
    "enable-deepep-moe",
    "language-only",
    "moe-a2a-backend",
    "quantization",
    "moe-dense-tp-size",
    "mm-enable-dp-encoder",
    "enable-dp-lm-head",
    "attention-context-parallel-size",
    "attn-cp-size",
)
# Those that nobody leaves out of a boot.
_MOVED_BY = ("cpu-offload-gb", "ep-num-redundant-experts")


def _stores_alike(profile: Profile, boot: Boot) -> bool:
    flags = boot.flags or {}
    if any(profile.flags.get(name) != flags.get(name) for name in _MOVED_BY):
        return False
    if boot.flags is None:
        return True
    if any(name in STATIC for name in boot.flags):
        return False
    return all(profile.flags.get(name) == boot.flags.get(name) for name in _STORED_BY)


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
        "speculative.draft": (_draft_of(speculative, boot), boot.draft),
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
        "flags": (None if boot.flags is None else dict(profile.flags), boot.flags),
        "memory.chunked_prefill": (launch.chunk, boot.chunked_prefill),
    }


def _draft_of(speculative: Speculative | None, boot: Boot) -> str | None:
    """A profile's draft, said as the boot says its own."""
    if speculative is None:
        return None
    named = boot.draft == boot.model and speculative.draft is None and speculative.draft_path
    return boot.model if named else speculative.draft


def matching(
    profile: Profile, boots: tuple[KnownBoot, ...], *, model: Model
) -> tuple[KnownBoot, ...]:
    """The boots that fix this profile's weights, and whose draft is described."""
    return tuple(
        known for known in boots if matches(profile, known.boot) and _has_draft(known, model)
    )


def nearest(
    profile: Profile, launch: Launch, matching: tuple[KnownBoot, ...], *, fraction: float
) -> KnownBoot | None:
    """The matching boot with the fewest differences, a public one last; ties go to the nearest fraction, then to the name."""
    if len(matching) <= 1:
        return matching[0] if matching else None
    return min(
        matching,
        key=lambda known: (
            known.boot.shipped,
            len(differences(profile, launch, known.boot, fraction=fraction)),
            abs(known.boot.fraction - fraction),
            known.boot.name,
        ),
    )


def _has_draft(known: KnownBoot, model: Model) -> bool:
    """Whether the boot's draft is described: else its weights, and the cell it had, cannot be told."""
    if known.boot.algorithm in {None, NGRAM} or known.draft is not None:
        return True
    own = model.stages if known.boot.algorithm == DSPARK else model.nextn
    return known.boot.draft in {None, known.boot.model} and own is not None


@frozen(kw_only=True, eq=False, repr=False)
class Start(Value):
    """How a recorded server was started.

    Attributes:
        layouts: how its rest became its pool, likeliest first.
    """

    profile: Profile
    model: Model
    launch: Launch
    layouts: tuple[Layout, ...]

    @property
    def loaded_first(self) -> Speculation | None:
        """The draft that was loaded before the pool was sized: part of what the weights were."""
        return loaded_first(self.launch)


def loaded_first(launch: Launch) -> Speculation | None:
    """The draft that is loaded before the pool is sized; `None`: there is none, or it is loaded later."""
    return launch.guess if launch.rule.draft_inside and launch.guess.draft_layers else None


def start_of(known: KnownBoot, facts: Facts, *, settings: Settings, model: Model) -> Start | None:
    """How the recorded server was started; what its boot does not record is as in the profile.

    Profiles that differ in what a boot records alone have one start.
    """
    boot = known.boot
    rule = counting(boot.version)
    if rule is None or facts.gpu is None:
        return None
    profile = _profile_of(boot, settings.profile)
    starts = _last_starts(Same(facts))
    last = starts.get(boot.name)
    if last is not None and last.profile == profile and last.model == model:
        return last
    theirs = settings_of(profile, known.release)
    started = launch(theirs, rule=rule, gpu=facts.gpu, model=model, draft=known.draft)
    pools = layouts(theirs, started, model=model, release=known.release)
    start = Start(profile=profile, model=model, launch=started, layouts=pools)
    starts[boot.name] = start
    return start


@lru_cache(maxsize=4)
def _last_starts(facts: Same[Facts]) -> dict[str, Start]:  # noqa: ARG001 - each has its own
    """The last start of each boot by these facts: a search asks for hundreds of profiles, most with the same."""
    return {}


def _profile_of(boot: Boot, profile: Profile) -> Profile:
    return evolve(
        profile,
        engine=evolve(
            profile.engine,
            version=Version(boot.version),
            build=None if boot.build is None else Name(boot.build),
        ),
        serve=evolve(
            profile.serve,
            context=boot.context,
            max_running_requests=boot.max_running_requests,
        ),
        memory=Memory(
            fraction=boot.fraction,
            kv_dtype=boot.kv_dtype,
            page_size=boot.page_size,
            chunked_prefill=boot.chunked_prefill,
        ),
        flags=profile.flags if boot.flags is None else dict(boot.flags),
        speculative=None if boot.algorithm is None else _speculative_of(boot, profile),
    )


def _speculative_of(boot: Boot, profile: Profile) -> Speculative:
    # Whether a path named the model's own draft decides what a token costs; where a boot does not say, it is as in the profile.
    own = boot.draft == boot.model
    ours = profile.speculative
    unsaid = ours is not None and (ours.algorithm, ours.draft) == (boot.algorithm, boot.draft)
    path = CheckpointPath(f"/models/{boot.model}") if own else None
    return Speculative(
        algorithm=boot.algorithm,  # type: ignore[arg-type]  # as the boot's file has it
        draft=None if own or boot.draft is None else Text(boot.draft),
        draft_path=ours.draft_path if ours is not None and unsaid else path,
        block_size=boot.block_size,
        draft_window=boot.draft_window,
        tree_budget=boot.tree_budget,
        tree_topk=boot.tree_topk,
    )
