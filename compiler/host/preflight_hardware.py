"""The checks of `preflight` on what the machine has: GPUs and their driver, a port, and limits of memory."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from compiler.diagnostics import Diagnostic, error, warning
from compiler.host.ports import Listener
from compiler.host.preflight_probe import SHARED_MEMORY, Gpu, Untold
from compiler.host.situation import CheckResult, Situation, Skipped
from compiler.host.units import Scope
from compiler.quantities import counted


# https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html has `--shm-size=1g --ulimit memlock=-1`
# for containers: NCCL keeps buffers between GPUs in shared memory, and locks pages for the network.
_SHARED_MEMORY: Final = 1 << 30
_MIB: Final = 1 << 20


def check_gpus(situation: Situation) -> Iterator[CheckResult]:
    """The GPUs that the server will use must be those that the plan was made for."""
    gpus = situation.probe.gpus()
    if gpus is None:
        yield Skipped(what="the GPUs", why="there is no `nvidia-smi`")
    elif isinstance(gpus, Untold):
        yield error(
            "host-driver",
            "the GPUs' driver does not answer",
            notes=(f"`nvidia-smi` says: {gpus.why}",),
            help=(
                "mend the driver, or reboot when it was just updated, and see that `nvidia-smi` works",
            ),
        )
    else:
        yield from _judge_gpus(situation, gpus)


def _judge_gpus(situation: Situation, gpus: tuple[Gpu, ...]) -> Iterator[CheckResult]:
    needs = situation.needs
    chosen = _chosen(situation, gpus)
    if len(chosen) < needs.gpu_count:
        seen = "" if needs.visible is None else f" of `{','.join(needs.visible)}`"
        yield error(
            "host-gpu",
            f"the plan needs {counted(needs.gpu_count, 'GPU')}, and this host has {len(chosen)}{seen}",
            notes=tuple(f"GPU {each.index} is `{each.name}`" for each in gpus),
            help=("compile a profile for this host's GPUs: `gpus.count`, and `parallel` to match",),
            path="gpus.count",
        )
        return
    if not needs.gpu_names:
        why = f"nobody described the GPU `{needs.gpu_kind}`"
        yield Skipped(what="the names of the GPUs", why=why)
        return
    others = [each for each in chosen if each.name not in needs.gpu_names]
    if others:
        names = ", ".join(f"`{each}`" for each in needs.gpu_names)
        yield error(
            "host-gpu",
            f"the plan was made for `{needs.gpu_kind}`, and this host has other GPUs",
            notes=(
                *(f"GPU {each.index} is `{each.name}`" for each in others),
                f"expected: {names}",
            ),
            help=("compile a profile for this host's GPUs: `gpus.kind`",),
            path="gpus.kind",
        )


def _chosen(situation: Situation, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """Those the server will use: of the visible ones the first."""
    needs = situation.needs
    if needs.visible is None:
        return gpus[: needs.gpu_count]
    by_name = {str(each.index): each for each in gpus} | {each.uuid: each for each in gpus}
    return tuple(by_name[each] for each in needs.visible if each in by_name)[: needs.gpu_count]


def check_port(situation: Situation) -> Iterator[CheckResult]:
    """The port must be free, or the unit's own."""
    if situation.needs.address is None:
        yield Skipped(what="the port", why="how this engine is told its port is not known")
        return
    host, port = situation.needs.address
    found = situation.probe.listeners(port)
    if isinstance(found, Untold):
        yield Skipped(what=f"port {port}", why=found.why)
        return
    for each in found:
        if not _clash(host, each.address) or each.unit == situation.needs.unit:
            continue
        if each.pid is None:
            yield Skipped(
                what=f"port {port}", why="somebody listens on it, and whose it is only root can see"
            )
        else:
            yield _taken(port, each)


def _clash(host: str, address: IPv4Address | IPv6Address) -> bool:
    """Whether two servers cannot listen on both; a name may stand for any address."""
    try:
        wanted = ip_address(host)
    except ValueError:
        return True
    return wanted == address or wanted.is_unspecified or address.is_unspecified


def _taken(port: int, owner: Listener) -> Diagnostic:
    whose = f"`{owner.unit}`" if owner.unit else "no unit"
    mend = f"stop it: `systemctl stop {owner.unit}`" if owner.unit else f"stop process {owner.pid}"
    return error(
        "host-port",
        f"port {port} is taken",
        notes=(f"process {owner.pid} (`{owner.program}`) of {whose} listens on it",),
        help=(mend, "or give the server another port: `serve.port`"),
        path="serve.port",
    )


def check_memlock(situation: Situation) -> Iterator[CheckResult]:
    """A manager that may not raise the limit lowers what the unit asks for, and says nothing."""
    if not situation.needs.locks_memory or situation.needs.gpu_count == 1:
        return
    limit = situation.probe.memlock_bytes(situation.scope)
    if isinstance(limit, Untold):
        yield Skipped(what="the limit of locked memory", why=limit.why)
    elif limit is not None:
        user = situation.scope is Scope.USER
        yield warning(
            "host-memlock",
            f"the service will be able to lock {limit // _MIB:,} MiB of memory, and not all it wants",
            notes=(
                "the unit has `LimitMEMLOCK=infinity`, and its manager may not give more than it has itself",
                "NCCL locks pages for the network between GPUs, and may fail when it cannot",
            ),
            help=(
                "set `LimitMEMLOCK=infinity` for `user@.service` in a drop-in, and log in anew"
                if user
                else "give the container that systemd runs in `--ulimit memlock=-1`",
            ),
        )


def check_shared_memory(situation: Situation) -> Iterator[CheckResult]:
    """NCCL needs shared memory as soon as there are two GPUs."""
    if situation.needs.gpu_count == 1:
        return
    free = situation.probe.shared_memory_bytes()
    if isinstance(free, Untold):
        yield Skipped(what="shared memory", why=free.why)
    elif free < _SHARED_MEMORY:
        yield error(
            "host-shared-memory",
            f"`{SHARED_MEMORY}` has {free // _MIB:,} MiB free, and {counted(situation.needs.gpu_count, 'GPU', does='need')} "
            f"{_SHARED_MEMORY // _MIB:,} MiB",
            notes=("NCCL keeps the buffers between GPUs there",),
            help=(
                f"`mount -o remount,size=50% {SHARED_MEMORY}`, or remove what a dead server left in it",
            ),
        )
