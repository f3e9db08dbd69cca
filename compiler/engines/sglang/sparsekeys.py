"""Which layers of sparse MLA keep keys of an indexer, where most of them reuse what another has chosen.

Sources: `_should_elide_dsa_index_k` of 0.5.18, 0.5.20, 0.5.21, and 0.5.22 mem_cache/kv_cache_configurator.py, which sizes the
pool (`_compute_dsa_indexer_cell_size` in model_executor/pool_configurator.py) and makes it.
"""

from __future__ import annotations

from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.roles import Role, role_of
from compiler.engines.sglang.settings import Settings


# With these every layer has keys: the first in every release that leaves any out, the second from 0.5.20 on, and what hands
# contexts to others or to host memory until such keys can be skipped there.
_ON_HOST = "enable-hisparse"
_LINKED, _LINKED_SINCE = "enable-unified-cache-external-linker", "0.5.20"
_TIERS, _SKIPPED_SINCE = "enable-hierarchical-cache", "0.5.22"


def keys_in_all(settings: Settings) -> bool:
    """Whether layers without an indexer of their own keep keys all the same."""
    version = settings.profile.engine.version
    if settings.on(_ON_HOST) or (settings.on(_LINKED) and at_least(version, _LINKED_SINCE)):
        return True
    handed = settings.on(_TIERS) or role_of(settings) is not Role.BOTH
    return handed and not at_least(version, _SKIPPED_SINCE)
