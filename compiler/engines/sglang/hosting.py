"""Sparse MLA that keeps contexts in host memory, and of each running request a part on the GPU (`--enable-hisparse`).

The pool is sized as without. A prompt lies on the GPU while it is computed, then in host memory, which holds `ratio` times the
pool, pinned by every rank; of a request that decodes the GPU keeps a buffer and a page. The indexer's keys stay on the GPU for
as many tokens as the host holds. Tables of each request say what lies where.

Sources: 0.5.13 to 0.5.22 mem_cache/hisparse_memory_pool.py, mem_cache/sparsity/factory.py, `_parse_sparse_config`, and
managers/hisparse_coordinator.py, `__init__` and `admit_request_into_staging`; model_executor/pool_configurator.py, from 0.5.18
on `_compute_indexer_size`.
"""

from __future__ import annotations

import json

from attrs import frozen

from compiler.engines.sglang.backends import Platform, is_sparse, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.roles import Role, role_of
from compiler.engines.sglang.settings import Settings
from compiler.facts import Gpu, Model
from compiler.value import Value


FLAG, CONFIG = "enable-hisparse", "hisparse-config"
_SINCE, _UNTIL = "0.5.13", "0.5.23"
_TOP, _RATIO = 2048, 2


@frozen(kw_only=True, eq=False, repr=False)
class Hosted(Value):
    """How much of a request the GPU keeps.

    Attributes:
        ratio: tokens that the host holds to those of the pool.
        buffer: tokens of a running request on the GPU, beside a page.
        top: tokens that a step attends to.
    """

    ratio: int = _RATIO
    buffer: int = 2 * _TOP
    top: int = _TOP

    def required(self, one: int, *, requests: int, page: int) -> int:
        """Slots of the pool for so many requests, of which one needs `one`: the last is computed while the others decode."""
        beside = (requests - 1) * min(one, self.buffer + page)
        on_host = -(-requests * one // self.ratio)
        return -(-max(one + beside, on_host) // page) * page

    def table_bytes(self, *, rows: int, width: int, layers: int, page: int) -> int:
        """Bytes of the tables of so many requests, each with `width` tokens at most."""
        padded = self.buffer + page
        a_layer = padded * (4 + 4) + self.buffer * 2
        return rows * (padded * 8 + (width + page) * 8 + layers * a_layer + self.top * (4 + 4))


def hosted(settings: Settings) -> Hosted | None:
    """What is asked for; `None` without the flag, or where its config is no table of whole numbers."""
    if not settings.on(FLAG):
        return None
    try:
        config = json.loads(settings.word(CONFIG) or "{}")
        top = int(config.get("top_k", _TOP))
        ratio = int(config.get("host_to_device_ratio", _RATIO))
        buffer = int(config.get("device_buffer_size", 2 * top))
    except (ValueError, TypeError, AttributeError):
        return None
    return Hosted(ratio=ratio, buffer=buffer, top=top) if min(ratio, buffer, top) > 0 else None


def hosting_assumption(settings: Settings, *, gpu: Gpu | None, model: Model | None) -> str | None:
    """What the promise means where contexts are in host memory; `None` where they are not, or that is not priced."""
    asked = hosted(settings)
    if asked is None or not hosting_known(settings, gpu=gpu, model=model):
        return None
    return (
        f"contexts are kept in host memory, which every rank pins as much of as {asked.ratio} x the pool takes; the promise "
        f"counts one prompt on the GPU while it is computed, {asked.buffer:,} tokens and a page of each other request, and "
        f"no more than {asked.ratio} x the pool in all"
    )


def hosting_known(settings: Settings, *, gpu: Gpu | None, model: Model | None) -> bool:
    """Whether it is known what the flag does: not how it drafts, decodes alone, or compresses."""
    profile = settings.profile
    if gpu is None or model is None or hosted(settings) is None:
        return False
    version = profile.engine.version
    read = at_least(version, _SINCE) and not at_least(version, _UNTIL)
    plain = profile.speculative is None and role_of(settings) is Role.BOTH
    return read and plain and is_sparse(model) and platform(gpu) is Platform.CUDA
