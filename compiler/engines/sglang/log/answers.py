"""The answers of the server's endpoints in, what they tell of its start out.

`/server_info` is there since 0.5.6, `/get_server_info` in every release; memory in it since 0.4.9 and of the target alone,
running requests since 0.5.10.
`/metrics` needs `--enable-metrics`, and tells the pool since 0.5.6 and the context since 0.5.11.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from compiler.engines.observing import KvPool, Start
from compiler.engines.sglang.log.arguments import shareable


HEALTH = "/health"
METRICS = "/metrics"
MODEL = ("/model_info", "/get_model_info")
ENDPOINTS: tuple[tuple[str, ...], ...] = (("/server_info", "/get_server_info"), (METRICS,), MODEL)

_MOST_GIB = 1e6
_GAUGE = re.compile(r"^sglang:(\w+)(?:\{.*\})?[ \t]+([-+0-9.eE]+)", re.MULTILINE)


def read_answer(path: str, *, body: bytes) -> Start | None:
    """What an endpoint's answer tells; `None` when it is not what it should be."""
    if path == METRICS:
        return _read_metrics(body.decode("utf-8", "replace"))
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    if path in MODEL:
        model = told.get("model_path")
        return Start(settings={"model_path": model}) if isinstance(model, str) else None
    return _read_info(told) if "model_path" in told else None


def _read_info(told: Mapping[str, Any]) -> Start:
    states = told.get("internal_states")
    ranks = [each for each in states if isinstance(each, dict)] if isinstance(states, list) else []
    # Before 0.4.7 the one rank's state lay open among the rest.
    usages = [each.get("memory_usage") for each in (*ranks, told)]
    memory = [each for each in usages if isinstance(each, dict)]
    tokens = _counts(
        [told.get("max_total_num_tokens"), *(each.get("token_capacity") for each in memory)]
    )
    taken = _sizes(each.get("kvcache") for each in memory)
    running = _counts(each.get("effective_max_running_requests_per_dp") for each in (*ranks, told))
    settings = shareable(told)
    return Start(
        version=_text(told.get("version")),
        settings=settings,
        weights_gib=max(_sizes(each.get("weight") for each in memory), default=None),
        target=KvPool(tokens=min(tokens), kv_gib=max(taken)) if tokens and taken else None,
        graphs_gib=max(_sizes(_graphs(each) for each in memory), default=None),
        pool_tokens=min(tokens, default=None),
        chunked_prefill=next(iter(_counts([settings.get("chunked_prefill_size")])), None),
        running_requests=sum(running)
        or next(iter(_counts([settings.get("max_running_requests")])), None),
        context=next(iter(_counts([settings.get("context_length")])), None),
        free_gib=min(_sizes(each.get("startup_available") for each in memory), default=None),
        ranks=len(ranks),
        is_serving=bool(tokens),
    )


def _graphs(memory: Mapping[str, Any]) -> object:
    """Of all graphs; 0.5.18 and later tell them apart, those before 0.5.2 called them `cuda_graph`."""
    told = memory.get("graph", memory.get("cuda_graph"))
    return sum(_sizes(told.values())) if isinstance(told, dict) else told


def _read_metrics(text: str) -> Start | None:
    """The gauges of each replica; a zero means that it has not told yet."""
    gauges: dict[str, list[float]] = {}
    for name, number in _GAUGE.findall(text):
        try:
            gauges.setdefault(name, []).append(float(number))
        except ValueError:
            continue
    tokens = _whole(gauges.get("max_total_num_tokens", ()))
    context = _whole(gauges.get("context_len", ()))
    if not tokens and not context:
        return None
    return Start(
        pool_tokens=min(tokens, default=None),
        context=min(context, default=None),
        weights_gib=max(_sizes(gauges.get("weight_memory_usage_gb", ())), default=None),
        free_gib=min(_sizes(gauges.get("startup_available_gpu_memory_gb", ())), default=None),
        is_serving=bool(tokens),
    )


def _whole(values: Iterable[float]) -> list[int]:
    return [int(each) for each in values if 0 < each < 1e15]  # noqa: PLR2004 - below it a float is exact


def _counts(values: Iterable[object]) -> list[int]:
    return [each for each in values if type(each) is int and each > 0]


def _sizes(values: Iterable[object]) -> list[float]:
    numbers = [each for each in values if isinstance(each, (int, float)) and each is not True]
    return [float(each) for each in numbers if 0 < each < _MOST_GIB]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
