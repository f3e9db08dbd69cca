"""A command line in, what it asks of its host out: memory behind the cache, packages, and a compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.engines.observing import HostNeeds, Tier
from compiler.engines.sglang.log.flags import asked
from compiler.versions import version_key


_RATIO, _SIZE = "flags.hicache-ratio", "flags.hicache-size"
_USUAL_RATIO = 2.0
_GB = 10**9  # `int(host_size * 1e9 // self.size_per_token)`
_SPARED_BYTES = 10 << 30
"""What a rank leaves free (0.4.6 to 0.5.20 mem_cache/memory_pool_host.py and pool_host/base.py: ten GiB)."""
_COMPILES_SINCE = "0.5.9"
"""The first release read that compiles kernels of its own as they are needed (sglang/jit_kernel; before, FlashInfer's some)."""

_PACKAGES: Mapping[tuple[str, str], str] = {
    ("moe_a2a_backend", "deepep"): "deep_ep",
    ("moe_a2a_backend", "mooncake"): "mooncake",
    ("moe_a2a_backend", "mori"): "mori",
    ("disaggregation_transfer_backend", "mooncake"): "mooncake",
    ("disaggregation_transfer_backend", "nixl"): "nixl",
}
"""Setting and value -> the module without which the server stops (0.5.11 to 0.5.23 layers/moe/token_dispatcher/*.py,
disaggregation/nixl/conn.py, distributed/device_communicators/mooncake_transfer_engine.py)."""
_SWITCHES: Mapping[str, str] = {"enable_deepep_moe": "deep_ep", "enable_lmcache": "lmcache"}
_HANDED_OVER = frozenset({"prefill", "decode"})
_USUAL_TRANSFER = "mooncake"


def host_needs(argv: Sequence[str], *, version: str) -> HostNeeds:
    """As in `Observer`."""
    given = asked(argv)
    return HostNeeds(
        tier=_tier(given),
        spared_bytes=_SPARED_BYTES,
        modules=_modules(given),
        compiles=_compiles(version),
        package="sglang",
    )


def _compiles(version: str) -> bool:
    """Whether a release compiles kernels; of a version that is no number nobody knows."""
    key, since = version_key(version), version_key(_COMPILES_SINCE)
    return key is not None and since is not None and key >= since


def _tier(given: Mapping[str, object]) -> Tier | None:
    """A size of a rank goes before the ratio, which is 2 where nothing is said; decode servers choose otherwise."""
    if "enable_hierarchical_cache" not in given:
        return None
    size, ratio = _number(given.get("hicache_size")), _number(given.get("hicache_ratio"))
    if size:
        return Tier(bytes=int(size * _GB), setting=_SIZE)
    if ratio:
        return Tier(ratio=ratio, setting=_RATIO)
    special = given.get("disaggregation_mode") == "decode" or "hicache_host_memory_mode" in given
    setting = "flags.enable-hierarchical-cache"
    return None if special else Tier(ratio=_USUAL_RATIO, setting=setting)


def _number(value: object) -> float:
    """A number above zero and within reason; 0 for anything else."""
    try:
        number = float(value) if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
    return number if 0 < number < 1e9 else 0.0  # noqa: PLR2004 - neither a ratio nor gigabytes are larger


def _modules(given: Mapping[str, object]) -> Mapping[str, str]:
    words = dict(given)
    if words.get("disaggregation_mode") in _HANDED_OVER:
        words.setdefault("disaggregation_transfer_backend", _USUAL_TRANSFER)
    found = {
        module: _setting(name)
        for (name, value), module in _PACKAGES.items()
        if words.get(name) == value
    }
    return found | {module: _setting(n) for n, module in _SWITCHES.items() if words.get(n) is True}


def _setting(name: str) -> str:
    return f"flags.{name.replace('_', '-')}"
