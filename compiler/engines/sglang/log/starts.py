"""The events of a log in, the start that counts out: the last one that is complete, and a word on the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from compiler.engines.observing import KvPool, LogReading, Start, StatePool
from compiler.engines.sglang.log.arguments import read_arguments
from compiler.engines.sglang.log.lines import (
    Arguments,
    Event,
    GraphEnd,
    LoadBegin,
    LoadEnd,
    Pool,
    PoolEnd,
    Ready,
    Summary,
    Window,
    events_in,
)
from compiler.engines.sglang.log.scan import marked_lines


@define(eq=False)
class _Rank:
    """What one process has written of one start. A draft's lines are those behind the target's last pool."""

    loads_begun: list[float] = field(factory=list)
    loads: list[LoadEnd] = field(factory=list)
    draft_loads: list[LoadEnd] = field(factory=list)
    pools: list[KvPool] = field(factory=list)
    draft_pools: list[KvPool] = field(factory=list)
    window_tokens: int | None = None
    states: StatePool | None = None
    pool_ends: list[float] = field(factory=list)
    graphs: list[float] = field(factory=list)
    summary: Summary | None = None

    def take(self, said: object) -> None:
        behind = bool(self.pool_ends)
        match said:
            case LoadBegin():
                self.loads_begun.append(said.free_gib)
            case LoadEnd():
                (self.draft_loads if behind else self.loads).append(said)
            case Pool():
                self._take_pool(said, behind=behind)
            case Window():
                self.window_tokens = said.tokens
            case StatePool() if not behind:
                self.states = said
            case PoolEnd():
                self.pool_ends.append(said.free_gib)
            case GraphEnd():
                self.graphs.append(said.taken_gib)
            case Summary():
                self.summary = said
            case _:
                pass

    def _take_pool(self, said: Pool, *, behind: bool) -> None:
        if not self.loads_begun or said.is_bound:
            return  # whose it is cannot be told; or it is not its size
        if said.is_draft or (behind and not said.is_final):
            self.draft_pools.append(said.pool)
        else:
            self.pools.append(said.pool)

    @property
    def target(self) -> KvPool | None:
        """The pool of the layers that hold a whole context; windowed layers come before them."""
        return self.pools[-1] if self.pools else None

    @property
    def window(self) -> KvPool | None:
        windowed = self.window_tokens is not None and len(self.pools) > 1
        return self.pools[0] if windowed else None

    @property
    def draft(self) -> KvPool | None:
        return self.draft_pools[-1] if self.draft_pools else None

    @property
    def draft_load(self) -> float | None:
        """What loads behind the target's took, whether before its pool or after."""
        taken = [each.taken_gib for each in (*self.loads[1:], *self.draft_loads)]
        return round(sum(taken), 2) if taken else None


@define(eq=False)
class _Begun:
    """One start as it is being read."""

    arguments: str | None = None
    at: str | None = None
    ranks: dict[str, _Rank] = field(factory=dict)
    is_serving: bool = False

    def take(self, event: Event) -> None:
        self.at = self.at or event.at
        match event.said:
            case Arguments():
                self.arguments = event.said.text
            case Ready():
                self.is_serving = True
            case _:
                self.ranks.setdefault(event.rank, _Rank()).take(event.said)

    @property
    def is_empty(self) -> bool:
        return not self.ranks and not self.is_serving

    @property
    def is_complete(self) -> bool:
        return any(each.summary is not None for each in self.ranks.values())

    def ends_before(self, event: Event) -> bool:
        """Whether this event can only be of a later start."""
        match event.said:
            case Arguments():
                return self.arguments is not None or not self.is_empty
            case LoadBegin():
                rank = self.ranks.get(event.rank)
                return self.is_serving or (rank is not None and rank.summary is not None)
            case _:
                return False


def read_log(blocks: Iterable[bytes]) -> LogReading:
    """Read a log of any size; of its starts only the last complete one and the last are kept."""
    count, current = 0, _Begun()
    best: tuple[int, _Begun] | None = None

    def is_settled() -> bool:
        return current.is_serving and current.is_complete

    for line in marked_lines(blocks, is_settled=is_settled):
        for event in events_in(line):
            if current.ends_before(event):
                best = (count + 1, current) if current.is_complete else best
                count, current = count + 1, _Begun()
            current.take(event)
    if current.is_empty and current.arguments is None and best is None:
        return LogReading(start=None, is_complete=False)
    count += 1
    if current.is_complete or best is None:
        best = (count, current)
    number, chosen = best
    return LogReading(
        start=_start(chosen),
        is_complete=chosen.is_complete,
        notes=tuple(_notes(chosen, number=number, count=count)),
    )


def _notes(chosen: _Begun, *, number: int, count: int) -> Iterable[str]:
    when = "" if chosen.at is None else f", of {chosen.at}"
    if count > 1 and chosen.is_complete:
        last = "the last" if number == count else f"number {number}"
        yield f"the log holds {count} starts; these are the figures of {last}{when}"
    if number < count:
        later = count - number
        yield f"the {'start' if later == 1 else f'{later} starts'} after it did not come as far as the pool's size"
    begun = any(each.loads_begun for each in chosen.ranks.values())
    if chosen.ranks and not begun:
        yield "the log begins after that start did: what was loaded, and whose each pool is, is not told"
    elif chosen.arguments is None and chosen.ranks:
        yield "the log begins after that start did: the server's arguments are not told"


def _start(begun: _Begun) -> Start:
    ranks = tuple(begun.ranks.values())
    summaries = [each.summary for each in ranks if each.summary is not None]
    tightest = min(summaries, key=lambda each: each.pool_tokens, default=None)
    return Start(
        at=begun.at,
        settings={} if begun.arguments is None else read_arguments(begun.arguments),
        free_before_gib=_least(each.loads_begun[0] for each in ranks if each.loads_begun),
        free_after_gib=_least(each.loads[-1].free_gib for each in ranks if each.loads),
        weights_gib=_most(each.loads[0].taken_gib for each in ranks if each.loads),
        static_weights_gib=_most(
            round(sum(load.taken_gib for load in each.loads), 2) for each in ranks if each.loads
        ),
        draft_weights_gib=_most(each.draft_load for each in ranks),
        target=_smallest([each.target for each in ranks]),
        draft=_smallest([each.draft for each in ranks]),
        window=_smallest([each.window for each in ranks]),
        states=next((each.states for each in ranks if each.states is not None), None),
        after_pool_gib=_least(each.pool_ends[-1] for each in ranks if each.pool_ends),
        graphs_gib=_most(round(sum(each.graphs), 2) for each in ranks if each.graphs),
        pool_tokens=None if tightest is None else tightest.pool_tokens,
        chunked_prefill=None if tightest is None else tightest.chunked_prefill,
        running_requests=_running(begun),
        context=None if tightest is None else tightest.context,
        free_gib=_least(each.free_gib for each in summaries),
        ranks=len(ranks),
        is_serving=begun.is_serving,
    )


def _running(begun: _Begun) -> int | None:
    """Each replica limits its own; the stages of a pipeline are one replica."""
    replicas = {
        next((part for part in name.split() if part.startswith("DP")), ""): each.summary
        for name, each in begun.ranks.items()
        if each.summary is not None
    }
    return sum(each.running_requests for each in replicas.values()) if replicas else None


def _smallest(pools: Sequence[KvPool | None]) -> KvPool | None:
    return min((each for each in pools if each), key=lambda each: each.tokens, default=None)


def _least(values: Iterable[float | None]) -> float | None:
    return min((each for each in values if each is not None), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((each for each in values if each is not None), default=None)
