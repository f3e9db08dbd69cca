"""How the host runs a plan: names, paths and times. Worked out here so that templates only print."""

from __future__ import annotations

import re
from functools import lru_cache

from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import GIB, Split, exact_gib
from compiler.plan import Service
from compiler.profile import Profile, Target
from compiler.same import Same


# A local NVMe drive or a good network file system; public reports of Kimi-sized loads take 4 to 15 minutes for 595 GB.
READ_GB_PER_S = 1.0
GRAPHS_AND_WARMUP_S = 300
SHORTEST_START_S = 600
STEP_S = 300

# The probe ends by itself at the start timeout; systemd's own limit is the net below it.
NET_S = 60

STATE_ROOT = "/var/lib/poolproof"


def service_of(profile: Profile, target: Target, *, model: Model | None) -> Service:
    """The service of one target."""
    unit = target.unit or unit_name(profile)
    start = target.start_timeout.seconds if target.start_timeout else default_start_timeout_s(model)
    whole_start = start + NET_S
    one_try = whole_start + target.stop_timeout.seconds + target.restart_delay.seconds
    return Service(
        unit=unit,
        state_dir=target.state_dir or f"{STATE_ROOT}/{unit}",
        start_timeout_s=start,
        unit_start_timeout_s=whole_start,
        stop_timeout_s=target.stop_timeout.seconds,
        restart_delay_s=target.restart_delay.seconds,
        restarts=target.restarts,
        # One more try than is allowed, so that the limit is reached inside the interval.
        start_limit_interval_s=(target.restarts + 1) * one_try,
    )


def unit_name(profile: Profile) -> str:
    """The served name, else the model's, in the characters a unit may have."""
    return as_unit(profile.model.served_name or profile.model.id.rpartition("/")[2])


def as_unit(name: str) -> str:
    """A name in the characters that a unit may have."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "model"


def default_start_timeout_s(model: Model | None) -> int:
    """Twice the time to read the checkpoint, and graphs and warm-up, in steps of five minutes."""
    read_s = 0.0 if model is None else checkpoint_gb(model) / READ_GB_PER_S
    wanted = max(SHORTEST_START_S, 2 * read_s + GRAPHS_AND_WARMUP_S)
    return int(-(-wanted // STEP_S) * STEP_S)


def expected_start_s(model: Model) -> int:
    """An estimate of one load, from the same figures as the start timeout, without its safety."""
    return round(checkpoint_gb(model) / READ_GB_PER_S) + GRAPHS_AND_WARMUP_S


def checkpoint_gb(model: Model) -> float:
    """The size of its weight files, 10^9 bytes; from its shapes where nobody wrote it down."""
    return _shapes_gb(Same(model)) if model.checkpoint_gb is None else model.checkpoint_gb


@lru_cache(maxsize=64)  # a tree has many profiles and few models
def _shapes_gb(same: Same[Model]) -> float:
    return exact_gib(target_tensors(same.value, split=Split())) * GIB / 1e9
