"""What a server takes of its host beside others: GPUs, ports, and memory that the next one does not find."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from attrs import evolve

from compiler.engines.engine import Footprint, PortUse
from compiler.engines.sglang.settings import Settings, settings_of, switch
from compiler.facts import Release
from compiler.memory.weights import GIB
from compiler.plan import Memory
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.versions import version_key
from compiler.visibledevices import VISIBLE, shown_by


# Offsets of 0.5.11's server_args.py: `ZMQ_TCP_PORT_DELTA`, lines 7359-7371 (the store and five sockets after it),
# 1044 (gRPC), and 4887 (the sidecar of `--grpc-mode`).
_STORE = 233
_SOCKETS = 5
_GRPC = 10_000
_SIDECAR = 1
_RANDOM = (100, 1000)
"""Up to 0.5.8 (server_args.py, line 5304) the NCCL port is drawn from this far above the port; 0.5.9 asks the system."""
_SYSTEM_CHOOSES_SINCE = "0.5.9"
_RANKS_SHARE_PORTS_SINCE = "0.5.8"
"""0.4.9 gives each data parallel rank a port after the sockets; 0.5.8 lets the system choose them. In between: as before."""
_BOOTSTRAP = 8998  # the default of `--disaggregation-bootstrap-port`, flags.json

_GIVEN = (
    "nccl-port",
    "grpc-port",
    "gated-launch-port",
    "grpc-http-sidecar-port",
    "smg-http-sidecar-port",
)
_VISIBLE = (VISIBLE, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def footprint(profile: Profile, release: Release | None) -> Footprint:
    """The GPUs and ports of one server."""
    settings = settings_of(profile, release)
    return Footprint(ports=tuple(_ports(settings)), gpus=_gpus(settings))


def nodes(profile: Profile, release: Release | None) -> int:
    """The hosts that the server spans."""
    return _nodes(settings_of(profile, release))


def _nodes(settings: Settings) -> int:
    return max(1, settings.whole("nnodes") or 1)


def _ports(settings: Settings) -> Iterator[PortUse]:
    profile = settings.profile
    port, version = profile.serve.port, profile.engine.version
    yield PortUse(first=port, last=port, what="the server itself", setting="serve.port")
    for name in _GIVEN:
        given = settings.whole(name)
        if given is not None:
            yield PortUse(first=given, last=given, what=f"`--{name}`", setting=f"flags.{name}")
    if settings.whole("nccl-port") is None and _before(version, _SYSTEM_CHOOSES_SINCE):
        yield PortUse(
            first=port + _RANDOM[0],
            last=port + _RANDOM[1],
            what="drawn for NCCL at start",
            setting="serve.port",
            fixed_by="flags.nccl-port",
        )
    yield from _store(settings)
    yield from _grpc(settings)
    if settings.word("disaggregation-mode") == "prefill":
        name = "disaggregation-bootstrap-port"
        at = settings.whole(name) or _BOOTSTRAP
        yield PortUse(first=at, last=at, what=f"`--{name}`", setting=f"flags.{name}")


def _store(settings: Settings) -> Iterator[PortUse]:
    """With data parallel attention the processes talk over ports: the store's, and those after it."""
    profile = settings.profile
    given = settings.word("dist-init-addr")
    at = (given or "").rpartition(":")[2]
    if given is not None and not at.isdecimal():
        return
    first = int(at) if given is not None else profile.serve.port + _STORE
    setting = "serve.port" if given is None else "flags.dist-init-addr"
    if profile.parallel.dp_attention:
        shared = not _before(profile.engine.version, _RANKS_SHARE_PORTS_SINCE)
        last = first + _SOCKETS + (0 if shared else profile.parallel.data)
        yield PortUse(first=first, last=last, what="data parallel attention", setting=setting)
    elif given is not None:
        yield PortUse(first=first, last=first, what="`--dist-init-addr`", setting=setting)


def _grpc(settings: Settings) -> Iterator[PortUse]:
    profile = settings.profile
    port = profile.serve.port
    alone = settings.on("grpc-mode") or settings.on("smg-grpc-mode")
    if alone and settings.whole("grpc-http-sidecar-port", "smg-http-sidecar-port") is None:
        at = port + _SIDECAR
        yield PortUse(first=at, last=at, what="the gRPC server's sidecar", setting="serve.port")
    beside_http = switch(profile.env, "SGLANG_ENABLE_GRPC") is True
    if beside_http and settings.whole("grpc-port") is None:
        given = profile.env.get("SGLANG_GRPC_PORT", "")
        at = int(given) if given.isdecimal() else port + _GRPC
        setting = "env.SGLANG_GRPC_PORT" if given else "serve.port"
        yield PortUse(first=at, last=at, what="gRPC", setting=setting)


def _gpus(settings: Settings) -> tuple[int, ...] | None:
    """The host's indices of the GPUs; `None` when they are named by other than numbers."""
    profile = settings.profile
    named = next((profile.env[name] for name in _VISIBLE if name in profile.env), None)
    visible: tuple[int, ...] = profile.gpus.indices
    if named is not None:
        seen = shown_by(named).indices
        if not seen:
            return None
        visible = seen
    # entrypoints/engine.py, line 570: the GPU of a rank is base_gpu_id + rank x gpu_id_step.
    base, step = settings.whole("base-gpu-id") or 0, max(1, settings.whole("gpu-id-step") or 1)
    count = profile.gpus.count // _nodes(settings)
    places = range(base, base + step * count, step)
    if not visible:
        return tuple(places)
    return tuple(visible[place] for place in places if 0 <= place < len(visible))


def _before(version: str, other: str) -> bool:
    ours, theirs = version_key(version), version_key(other)
    return ours is not None and theirs is not None and ours < theirs


def beside(memory: Memory, *, taken: Range, most_tokens: int | None) -> Memory:
    """Both budgets when others hold `taken` GiB of each GPU before the load; `most_tokens` caps the pool anyway.

    The fraction is of the free memory, so the pool's rest loses `taken x fraction` and the reserve the other part
    (`rest = free_after - free_before x (1 - fraction)`, 0.5.11 model_runner_kv_cache_mixin.py). What a pool under its cap does
    not lose the reserve does.
    """
    fraction, pool = memory.fraction, memory.pool
    rest = _less(pool.rest_gib, taken.scaled(fraction))
    tokens = Range(
        _share(pool.tokens.low, rest.low, of=pool.rest_gib.low),
        _share(pool.tokens.best, rest.best, of=pool.rest_gib.best),
        _share(pool.tokens.high, rest.high, of=pool.rest_gib.high),
    )
    lost = taken.scaled(1 - fraction)
    if most_tokens is not None:
        cells = (pool.cell_bytes, *pool.cell_choices)
        tokens = Range(
            min(pool.tokens.low, _whole(rest.low, max(cells))),
            min(pool.tokens.best, _whole(rest.best, pool.cell_bytes)),
            min(pool.tokens.high, _whole(rest.high, min(cells))),
        )
        lost = _not_given_up(memory, tokens, taken=taken, least=lost)
    available = _less(memory.reserve.available_gib, lost)
    return evolve(
        memory,
        pool=evolve(pool, tokens=tokens, rest_gib=rest),
        reserve=evolve(memory.reserve, available_gib=available),
    )


def _not_given_up(memory: Memory, tokens: Range, *, taken: Range, least: Range) -> Range:
    """What a capped pool that comes to so many tokens leaves to the reserve to lose, GiB."""
    pool = memory.pool
    cells = (pool.cell_bytes, *pool.cell_choices)
    low, best, high = (
        max(under, taken_gib - max(0.0, before - after) * cell / GIB)
        for under, taken_gib, before, after, cell in (
            (least.low, taken.low, pool.tokens.high, tokens.high, min(cells)),
            (least.best, taken.best, pool.tokens.best, tokens.best, pool.cell_bytes),
            (least.high, taken.high, pool.tokens.low, tokens.low, max(cells)),
        )
    )
    return Range(min(low, best), best, max(best, high))


def _less(there: Range, gone: Range) -> Range:
    return Range(there.low - gone.high, there.best - gone.best, there.high - gone.low)


def _share(tokens: float, rest: float, *, of: float) -> float:
    """The pool is in proportion to its rest, whatever shares that with the tokens (states, windows)."""
    return max(0, floor(tokens * rest / of)) if of > 0 else 0


def _whole(rest_gib: float, cell: int) -> float:
    return max(0, floor(rest_gib * GIB / cell))
