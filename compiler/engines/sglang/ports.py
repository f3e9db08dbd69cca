"""The settings of one server go in; the ports that it listens on come out, and those that it wants free."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.engine import PortUse
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, switch
from compiler.most import LAST_PORT
from compiler.versions import version_key


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
_COUNTS_DOWN_SINCE = "0.5.13"
"""From here on what would lie past the last port is counted down instead (server_args.py, `derived_port`, `port_base`)."""

_NCCL, _MEETING = "nccl-port", "dist-init-addr"
_NEXT = " of the next replica"
_GIVEN = (
    "grpc-port",
    "gated-launch-port",
    "grpc-http-sidecar-port",
    "smg-http-sidecar-port",
)
_BOOTSTRAPS = (
    ("disaggregation-bootstrap-port", 8998),
    ("encoder-bootstrap-port", 8997),
    ("engine-info-bootstrap-port", 6789),
)
"""Ports of the first node's other servers, with their defaults (flags.json); see `_starts` for when there is such a server."""
_SEEDS = "remote-instance-weight-loader-start-seed-via-transfer-engine"


def nodes_of(settings: Settings) -> int:
    """The hosts that the server spans."""
    return max(1, settings.whole("nnodes") or 1)


def ports(settings: Settings) -> Iterator[PortUse]:
    """All of them, of the node that the settings are for."""
    port, is_first = settings.profile.serve.port, not settings.whole("node-rank")
    yield PortUse(first=port, last=port, what="the server itself", setting="serve.port")
    for name in _GIVEN:
        given = settings.whole(name)
        if given is not None:
            yield _one(given, name)
    yield from _meeting_of_ranks(settings)
    yield from _sockets(settings, is_first=is_first)
    yield from _grpc(settings)
    for name, usual in _BOOTSTRAPS:
        if is_first and _starts(settings, name):
            yield _one(settings.whole(name) or usual, name)


def _one(port: int, name: str, *, of: str = "") -> PortUse:
    return PortUse(first=port, last=port, what=f"`--{name}`{of}", setting=f"flags.{name}")


def _meeting_of_ranks(settings: Settings) -> Iterator[PortUse]:
    """Where the ranks of each replica meet; `--nccl-port` is not looked at where an address is given (`init_torch_distributed`).

    Every replica without attention of its own listens there by itself (data_parallel_controller.py, `bind_port`).
    """
    profile = settings.profile
    apart = 1 if profile.parallel.dp_attention else profile.parallel.data
    port, met = settings.whole(_NCCL), settings.word(_MEETING) is not None
    if port is not None and (not met or apart > 1):
        yield _one(port, _NCCL)
        if apart > 1:
            yield _one(port, _NCCL, of=_NEXT)
    if port is None and _before(profile.engine.version, _SYSTEM_CHOOSES_SINCE):
        yield PortUse(
            first=profile.serve.port + _RANDOM[0],
            last=profile.serve.port + _RANDOM[1],
            what="drawn for NCCL at start",
            setting="serve.port",
            fixed_by=f"flags.{_NCCL}",
        )


def _sockets(settings: Settings, *, is_first: bool) -> Iterator[PortUse]:
    """With data parallel attention the processes talk over ports: the store's, and those after it.

    They are the first node's; the others only look whether they are free (`PortArgs.init_new`). Without it the ranks meet at the
    address alone, those of every replica.
    """
    profile = settings.profile
    version, dp_attention = profile.engine.version, profile.parallel.dp_attention
    given = settings.word(_MEETING)
    at = (given or "").rpartition(":")[2]
    if (given is not None and not at.isdecimal()) or not (is_first or dp_attention):
        return
    down = at_least(version, _COUNTS_DOWN_SINCE)
    first = int(at) if given is not None else profile.serve.port + _STORE
    if given is None and down and first > LAST_PORT:
        first = profile.serve.port - _STORE
    setting = "serve.port" if given is None else f"flags.{_MEETING}"
    if dp_attention:
        shared = not _before(version, _RANKS_SHARE_PORTS_SINCE)
        last = first + _SOCKETS + (0 if shared else profile.parallel.data)
        # Sockets that are counted down lie apart from the store; nothing is said of those.
        last = first if down and last > LAST_PORT else last
        what = "data parallel attention"
        yield PortUse(first=first, last=last, what=what, setting=setting, listens=is_first)
    elif given is not None:
        yield _one(first, _MEETING)
        # Replicas over several nodes are refused in other words.
        if profile.parallel.data > 1 and nodes_of(settings) == 1:
            yield _one(first, _MEETING, of=_NEXT)


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


def _starts(settings: Settings, name: str) -> bool:
    """Whether there is a server behind one of `_BOOTSTRAPS`.

    0.5.11 managers/disagg_service.py and entrypoints/engine.py; 0.5.13 managers/tokenizer_manager.py, `EncoderBootstrapServer`.
    """
    if name == "disaggregation-bootstrap-port":
        return settings.word("disaggregation-mode") == "prefill"
    if name == "encoder-bootstrap-port":
        return settings.on("language-only") and at_least(settings.profile.engine.version, "0.5.13")
    return settings.on(_SEEDS) and at_least(settings.profile.engine.version, "0.5.10")


def _before(version: str, other: str) -> bool:
    ours, theirs = version_key(version), version_key(other)
    return ours is not None and theirs is not None and ours < theirs
