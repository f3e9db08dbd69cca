"""The checks of `preflight` on what the engine itself needs: memory behind its cache, packages, and a compiler of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attrs import evolve

from compiler.diagnostics import Severity, error, warning
from compiler.host.preflight_probe import SYSTEM_PATH, Untold
from compiler.host.situation import CheckResult, Situation, Skipped
from compiler.host.units import Scope
from compiler.quantities import counted


_GIB: Final = 1 << 30


def check_memory(situation: Situation) -> Iterator[CheckResult]:
    """The tier of host memory is pinned, by every rank: what all of them take must be there.

    Each rank of an engine may compare with the whole host, and so lets several take more than it has.
    """
    needs = situation.needs
    tier, ranks = needs.engine.tier, needs.gpu_count
    if tier is None:
        return
    if tier.ratio and needs.pool_bytes is None:
        yield Skipped(what="the tier of host memory", why="how large the pool will be is not known")
        return
    total = situation.probe.memory_bytes()
    if isinstance(total, Untold):
        yield Skipped(what="the tier of host memory", why=total.why)
        return
    each = tier.bytes or int(tier.ratio * (needs.pool_bytes or 0))
    there = total - needs.engine.spared_bytes
    if each * ranks <= there:
        return
    what = f"{each / _GIB:,.0f} GiB for each of {counted(ranks, 'rank')}"
    half = (
        f"{tier.ratio:g} times a pool of {each / tier.ratio / _GIB:,.0f} GiB" if tier.ratio else ""
    )
    yield error(
        "host-memory",
        f"the tier of host memory takes {each * ranks / _GIB:,.0f} GiB, and this host has {total / _GIB:,.0f} GiB",
        notes=(
            f"{what}{f': {half}' if half else ''}",
            f"the engine leaves {needs.engine.spared_bytes / _GIB:.0f} GiB to everything else; pinned memory cannot be paged out",
        ),
        help=(
            f"set `{tier.setting}` so that all ranks together take {there / _GIB:,.0f} GiB or less",
        )
        if tier.setting != "flags.enable-hierarchical-cache"
        else ("set `hicache-size` under `[flags]`: gigabytes of one rank",),
        path=tier.setting,
    )


def check_packages(situation: Situation) -> Iterator[CheckResult]:
    """What a flag needs besides the engine must be installed beside it."""
    needs = situation.needs
    modules = needs.engine.modules
    if not modules or isinstance(situation.probe.trail(needs.python), Untold | None):
        return  # `check_python` says so
    found = situation.probe.lacking(
        needs.python, tuple(modules), account=situation.account, environment=needs.environment
    )
    if isinstance(found, Untold):
        yield Skipped(what="the engine's packages", why=found.why)
        return
    for name in found:
        yield error(
            "host-package",
            f"`{needs.python}` has no module `{name}`",
            notes=(f"`{modules[name]}` needs it: the server stops once it has made its model",),
            help=("install it for that interpreter", f"or change `{modules[name]}`"),
            path=modules[name],
        )


_RELEASE: Final = re.compile(r"(\d+(?:\.\d+)*)(?:(?:\.post|rc)\d+)?")
"""A number as releases have it; one of a checkout (`0.5.12.dev3`) says little of what is in it."""


def check_release(situation: Situation) -> Iterator[CheckResult]:
    """The engine that is installed is the one that the plan is for: nothing of a plan says what another one does."""
    needs = situation.needs
    planned, package = needs.version, needs.engine.package
    if planned is None or package is None:
        return
    if isinstance(situation.probe.trail(needs.python), Untold | None):
        return  # `check_python` says so
    found = situation.probe.installed(
        needs.python, package, account=situation.account, environment=needs.environment
    )
    what = "which release of the engine is installed"
    if isinstance(found, Untold):
        yield Skipped(what=what, why=found.why)
        return
    there = found.partition("+")[0]
    if there == planned:
        return
    numbers = [each[1] for each in map(_RELEASE.fullmatch, (there, planned)) if each is not None]
    if len(numbers) < 2:  # noqa: PLR2004 - both
        yield Skipped(what=what, why=f"`{needs.python}` has {package} {found}, which is no release")
        return
    other = error(
        "host-release",
        f"`{needs.python}` has {package} {found}, and the plan is for {planned}",
        notes=("its flags and its memory were judged as those of the planned release",),
        help=(
            f"install {package} {planned} for that interpreter",
            f'or set `engine.version = "{there}"`, and compile again',
        ),
        path="engine.version",
    )
    # Another build of one release has its flags and its memory.
    same = numbers[0] == numbers[1]
    yield evolve(other, severity=Severity.WARNING) if same else other


_USUAL_TOOLKIT: Final = "/usr/local/cuda"
_TOOLKIT: Final = ("CUDA_HOME", "CUDA_PATH")
_BUILDER: Final = "ninja"


def check_compiler(situation: Situation) -> Iterator[CheckResult]:
    """An engine that compiles kernels as they are needed must find `nvcc` and `ninja` in the unit's own environment.

    Where they look: flashinfer jit/cpp_ext.py, `get_cuda_path`, and tvm_ffi cpp/extension.py, `_find_cuda_home`: the variables,
    then `PATH`, then the usual place. A shell sets what a unit does not have.
    """
    needs, probe = situation.needs, situation.probe
    gpus = probe.gpus()
    if not needs.engine.compiles or gpus is None or isinstance(gpus, Untold):
        return
    path = needs.environment.get("PATH")
    if path is None and situation.scope is Scope.USER:
        yield Skipped(
            what="the compiler of kernels", why="the `PATH` of a user's manager is not known"
        )
        return
    folders = tuple((path or SYSTEM_PATH).split(":"))
    named = next(
        (needs.environment[each] for each in _TOOLKIT if needs.environment.get(each)), None
    )
    homes = (f"{named}/bin",) if named is not None else (*folders, f"{_USUAL_TOOLKIT}/bin")
    lacking = [
        *(("nvcc",) if not _is_in(situation, homes, "nvcc") else ()),
        *((_BUILDER,) if not _is_in(situation, folders, _BUILDER) else ()),
    ]
    if lacking:
        yield warning(
            "host-compiler",
            f"the service finds no {' and no '.join(f'`{each}`' for each in lacking)}",
            notes=(
                "the engine compiles kernels as they are first needed, and stops, or is slower, where it cannot",
                f"a unit has this `PATH`: {':'.join(folders)}",
            ),
            help=(
                "set `env.CUDA_HOME` to the CUDA toolkit, and `env.PATH` so that it holds the folders of both",
                "or install them where the unit looks",
            ),
            path="env.PATH",
        )


def _is_in(situation: Situation, folders: tuple[str, ...], name: str) -> bool:
    """Whether a program is in one of these folders; one that cannot be looked into is not held against the host."""
    found = (situation.probe.trail(f"{each}/{name}") for each in folders if each.startswith("/"))
    return any(each is not None for each in found)
