"""How many requests the server is sized for: those asked for, or what it takes by itself where no number is given."""

from __future__ import annotations

from attrs import frozen

from compiler.engines.sglang.speculation import RUNNING_REQUESTS
from compiler.facts import Compressed, Model
from compiler.profile import Profile
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Unasked(Value):
    """A number of requests that nobody asked for, and what it comes of, in words."""

    requests: int
    because: str


def unasked_requests(profile: Profile, model: Model | None) -> Unasked | None:
    """What the server takes by itself; `None` where a number is given, or where the pool decides.

    Attention that compresses over time comes first, so that speculation finds a number: 0.5.13 to 0.5.23
    arg_groups/deepseek_v4_hook.py, `apply_deepseek_v4_defaults`, before arg_groups/speculative_hook.py, which looks for `None`.
    """
    if profile.serve.max_running_requests is not None:
        return None
    if model is not None and isinstance(model.attention, Compressed):
        from compiler.engines.sglang import compressed  # noqa: PLC0415 - few models compress over time

        return Unasked(requests=compressed.RUNNING_REQUESTS, because="with compressed attention")
    if profile.speculative is not None:
        return Unasked(requests=RUNNING_REQUESTS, because="under speculation")
    return None


def requested_requests(profile: Profile, model: Model | None) -> int | None:
    """Most requests at once that one replica is sized for; `None` when the pool decides.

    Replicas of the attention share the limit: 0.4.2 to 0.5.6 managers/tp_worker.py, 0.5.9 to 0.5.15
    model_executor/model_runner.py, `dp_size`, and 0.5.16 to 0.5.23 mem_cache/kv_cache_configurator.py, `resolve_max_num_reqs`.
    """
    unasked = unasked_requests(profile, model)
    requests = profile.serve.max_running_requests if unasked is None else unasked.requests
    return None if requests is None else max(1, requests // profile.parallel.limit_shares)


def over_all(requests: int | None, profile: Profile) -> int | None:
    """Most requests at once of the whole server, from those of one replica."""
    return None if requests is None else requests * profile.parallel.data
