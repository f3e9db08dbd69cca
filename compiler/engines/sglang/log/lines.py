"""One line of the log in, what it says out. The words are those of the releases from 0.4.6 to 0.5.23.

Read in the releases' own sources: model_executor/model_runner.py, mem_cache/memory_pool.py, managers/scheduler.py, and from
0.5.16 model_executor/model_runner_components/. "GB" in them is 2^30 bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from attrs import frozen

from compiler.engines.observing import KvPool, StatePool
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Arguments(Value):
    """`server_args=`: the text behind it."""

    text: str


@frozen(kw_only=True, eq=False, repr=False)
class LoadBegin(Value):
    """A load of weights begins."""

    free_gib: float


@frozen(kw_only=True, eq=False, repr=False)
class LoadEnd(Value):
    """A load of weights ended."""

    free_gib: float
    taken_gib: float


@frozen(kw_only=True, eq=False, repr=False)
class Pool(Value):
    """A KV pool. One that is sized anew after the graphs first has an upper bound (`is_bound`), then its size."""

    pool: KvPool
    is_bound: bool
    is_final: bool
    is_draft: bool


@frozen(kw_only=True, eq=False, repr=False)
class Window(Value):
    """The layers of a model with sliding windows have a pool of their own."""

    tokens: int


@frozen(kw_only=True, eq=False, repr=False)
class PoolEnd(Value):
    """All pools of the target, or of the draft, are there."""

    free_gib: float


@frozen(kw_only=True, eq=False, repr=False)
class GraphEnd(Value):
    """Some graphs are captured."""

    taken_gib: float


@frozen(kw_only=True, eq=False, repr=False)
class Summary(Value):
    """The scheduler is set up; the oldest releases do not say what is free."""

    pool_tokens: int
    chunked_prefill: int | None
    running_requests: int
    context: int
    free_gib: float | None


@frozen(kw_only=True, eq=False, repr=False)
class Ready(Value):
    """The server has answered its own first request."""


Said = (
    Arguments
    | LoadBegin
    | LoadEnd
    | Pool
    | Window
    | StatePool
    | PoolEnd
    | GraphEnd
    | Summary
    | Ready
)


@frozen(kw_only=True, eq=False, repr=False)
class Event(Value):
    """What a line says, who says it (`DP0 TP3`; nothing on one GPU), and when."""

    said: Said
    rank: str
    at: str | None


# No figure has more digits; what has is no line of the server's.
_COUNT = r"(\d{1,15})"
_GIB = r"(-?\d{1,9}(?:\.\d{1,9})?) ?GB"
_PREFIX = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)((?: [A-Z_]+\d+)*)\]")


def _pool(match: re.Match[str]) -> Pool:
    late, draft, form, dtype, tokens, k, v, kv = match.groups()
    return Pool(
        pool=KvPool(
            tokens=int(tokens),
            k_gib=_number(k),
            v_gib=_number(v),
            kv_gib=_number(kv),
            dtype=dtype,
        ),
        is_bound=form == "VA upper bound",
        is_final=late is not None,
        is_draft=draft is not None,
    )


def _states(match: re.Match[str]) -> StatePool:
    slots, *sizes = match.groups()
    return StatePool(
        slots=None if slots is None else int(slots),
        gib=round(sum(float(each) for each in sizes if each is not None), 2),
    )


def _graphs(match: re.Match[str]) -> GraphEnd | None:
    taken = re.search(rf"mem usage={_GIB}", match[1])
    return None if taken is None else GraphEnd(taken_gib=float(taken[1]))


def _summary(match: re.Match[str]) -> Summary:
    tokens, chunk, running, context, free = match.groups()
    return Summary(
        pool_tokens=int(tokens),
        chunked_prefill=None if chunk == "None" else int(chunk),
        running_requests=int(running),
        context=int(context),
        free_gib=_number(free),
    )


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


# A word that every such line has, the line, and its reader. No pattern looks farther than a line of the server's is long,
# so that a line of a megabyte that only looks like one takes no longer than others.
_READERS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Said | None]], ...] = tuple(
    (word, re.compile(words), read)
    for word, words, read in (
        (
            "server_args=",
            r"server_args=((?:ServerArgs\(|\{).*)",
            lambda m: Arguments(text=m[1]),
        ),
        (
            "Load weight begin",
            rf"Load weight begin\. avail mem={_GIB}",
            lambda m: LoadBegin(free_gib=float(m[1])),
        ),
        (
            "Load weight end",
            rf"Load weight end\. (?:(?!Load weight).){{0,400}}?avail mem={_GIB}, mem usage={_GIB}",
            lambda m: LoadEnd(free_gib=float(m[1]), taken_gib=float(m[2])),
        ),
        (
            "#tokens: ",
            (
                r"(Post-capture KV sizing: )?(draft )?KV [Cc]ache (is allocated|VA upper bound|allocated)\. "
                rf"(?:dtype: ([\w.]{{1,40}}), )?#tokens: {_COUNT}, "
                rf"(?:K size: {_GIB}, V size: {_GIB}|KV size: {_GIB})"
            ),
            _pool,
        ),
        (
            "layer_tokens=",
            rf"swa_layer_tokens={_COUNT}(?!\d)",
            lambda m: Window(tokens=int(m[1])),
        ),
        (
            "Mamba Cache is",
            (
                rf"Mamba Cache is allocated\. (?:max_mamba_cache_size: {_COUNT}, )?conv_state size: {_GIB}, "
                rf"ssm_state size: {_GIB}(?: {{1,4}}intermediate_ssm_state_cache size: {_GIB})?"
                rf"(?: {{1,4}}intermediate_conv_window_cache size: {_GIB})?"
            ),
            _states,
        ),
        (
            "Memory pool end",
            rf"Memory pool end\. avail mem={_GIB}",
            lambda m: PoolEnd(free_gib=float(m[1])),
        ),
        ("raph end.", r"Capture [^.]{0,80}?[Gg]raph end\.((?:(?!Capture ).){0,200})", _graphs),
        (
            "max_total_num_tokens=",
            (
                rf"max_total_num_tokens={_COUNT}, chunked_prefill_size=(-?\d{{1,15}}|None), "
                rf"max_prefill_tokens=\d{{1,15}}, max_running_requests={_COUNT}, "
                rf"context_len={_COUNT}(?!\d)(?:, available_[cg]pu_mem={_GIB})?"
            ),
            _summary,
        ),
        ("ready to roll", r"The server is fired up and ready to roll", lambda _: Ready()),
    )
)


def events_in(line: str) -> Iterator[Event]:
    """What a line says, in order. Several processes may have written into one line."""
    found = [
        (match.start(), said)
        for word, words, read in _READERS
        if word in line
        for match in words.finditer(line)
        if (said := read(match)) is not None
    ]
    prefixes = list(_PREFIX.finditer(line)) if found else []
    begins = [each.start() for each in prefixes]
    for start, said in sorted(found, key=lambda each: each[0]):
        nearest = bisect_right(begins, start) - 1
        prefix = prefixes[nearest] if nearest >= 0 else None
        yield Event(
            said=said,
            rank="" if prefix is None else prefix[2].strip(),
            at=None if prefix is None else prefix[1],
        )
