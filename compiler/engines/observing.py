"""What a running engine says of itself: the values its observation part gives, and the part's contract.

Sizes are GiB of one GPU, as the engine rounds them; where ranks differ, the least of what is free and the most of what is
taken, since every rank must keep the promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from attrs import evolve, field, fields, frozen

from compiler.value import Value


class Phase(StrEnum):
    """How far a start has come, in order."""

    STARTING = "starting"
    LOADING = "loading"
    POOL = "pool"
    GRAPHS = "graphs"
    WARMUP = "warmup"
    SERVING = "serving"


@frozen(kw_only=True, eq=False, repr=False)
class KvPool(Value):
    """One pool of KV slots. An MLA pool has one size, any other has one of its keys and one of its values."""

    tokens: int
    k_gib: float | None = None
    v_gib: float | None = None
    kv_gib: float | None = None
    dtype: str | None = None

    @property
    def gib(self) -> float:
        """All it takes."""
        return (self.k_gib or 0.0) + (self.v_gib or 0.0) + (self.kv_gib or 0.0)


@frozen(kw_only=True, eq=False, repr=False)
class StatePool(Value):
    """The states of linear attention: slots, where they are told, and what they take."""

    slots: int | None
    gib: float


@frozen(kw_only=True, eq=False, repr=False)
class Start(Value):
    """One start of a server, as far as its source tells; `None` for what it does not.

    Attributes:
        version: the engine's release.
        at: when its first line was written, as the log has it.
        settings: what the server resolved its arguments to, by its own names; secrets are left out.
        free_before_gib: before weights load.
        free_after_gib: after the last load before the pool is sized.
        weights_gib: what the target's load took.
        static_weights_gib: what all loads before the pool took; the draft's too, where it loads first.
        draft_weights_gib: what the draft's load took.
        target, draft, window: the pools of the model, its draft, and its layers with a sliding window.
        states: of linear attention.
        after_pool_gib: free once the pools are there.
        graphs_gib: what capturing graphs took, all of them.
        pool_tokens: the smallest replica's.
        running_requests: most at once, over all replicas.
        context: the longest request that is accepted, tokens.
        free_gib: free at the end of the start.
        ranks: how many wrote lines that were read.
        is_serving: whether it is known to have become ready.
    """

    version: str | None = None
    at: str | None = None
    settings: Mapping[str, object] = field(factory=dict)
    free_before_gib: float | None = None
    free_after_gib: float | None = None
    weights_gib: float | None = None
    static_weights_gib: float | None = None
    draft_weights_gib: float | None = None
    target: KvPool | None = None
    draft: KvPool | None = None
    window: KvPool | None = None
    states: StatePool | None = None
    after_pool_gib: float | None = None
    graphs_gib: float | None = None
    pool_tokens: int | None = None
    chunked_prefill: int | None = None
    running_requests: int | None = None
    context: int | None = None
    free_gib: float | None = None
    ranks: int = 0
    is_serving: bool = False

    def filled(self, other: Start) -> Start:
        """This start, with what it does not tell taken from another account of it."""
        lacking = {
            each.name: getattr(other, each.name)
            for each in fields(Start)
            if getattr(self, each.name) in (None, {}, 0, False)
        }
        return evolve(self, **lacking)


@frozen(kw_only=True, eq=False, repr=False)
class LogReading(Value):
    """What a log gave: the last start in it that is complete, else the last; and what is to be said about that."""

    start: Start | None
    is_complete: bool
    notes: tuple[str, ...] = ()


class FlagState(StrEnum):
    """A flag of the plan against what the server runs with."""

    SAME = "same"
    CHANGED = "changed"
    """Another value, and the engine is known to change this one by itself."""
    DIFFERENT = "different"
    UNTOLD = "untold"


@frozen(kw_only=True, eq=False, repr=False)
class FlagSeen(Value):
    """One flag: as the plan gives it, and as the server resolved it, both as text."""

    flag: str
    asked: str
    found: str | None
    state: FlagState


@frozen(kw_only=True, eq=False, repr=False)
class Tier(Value):
    """Memory of the host that each rank keeps a part of the cache in: a share of its pool, or a size of its own.

    Attributes:
        ratio: of the pool on the GPU; 0 where the size decides.
        bytes: of one rank; 0 where the ratio decides.
        setting: the one that says so.
    """

    ratio: float = 0.0
    bytes: int = 0
    setting: str


@frozen(kw_only=True, eq=False, repr=False)
class HostNeeds(Value):
    """What a command line asks of its host beside GPUs, files, and a port.

    Attributes:
        tier: memory of the host behind the cache, where it is switched on.
        spared_bytes: memory that the engine leaves to everything else, before it takes any for the tier.
        modules: Python modules that must be there -> the setting that needs them.
        compiles: whether kernels are compiled as they are first needed.
        package: the Python package that the engine is, whose version is the release.
    """

    tier: Tier | None = None
    spared_bytes: int = 0
    modules: Mapping[str, str] = field(factory=dict)
    compiles: bool = False
    package: str | None = None


class Observer(Protocol):
    """The part of an engine that understands its running server. It reads text, never the machine."""

    @property
    def endpoints(self) -> tuple[tuple[str, ...], ...]:
        """The paths to ask, in groups of alternatives: of a group the first that tells something is enough."""

    @property
    def health(self) -> str:
        """The path that is answered with 200 once a server is ready, on every node."""

    def phase(self, line: str) -> tuple[Phase, str] | None:
        """The phase that a line says has been reached, with a short detail; most lines say none."""

    def read_log(self, blocks: Iterable[bytes]) -> LogReading:
        """Read a log of any size, block by block, in bounded memory."""

    def read_answer(self, path: str, *, body: bytes) -> Start | None:
        """What an endpoint's answer tells; `None` when it is not what it should be."""

    def asked(self, argv: Sequence[str]) -> Mapping[str, object]:
        """The settings that a command line gives, by the server's own names."""

    def compare(
        self, argv: Sequence[str], *, settings: Mapping[str, object]
    ) -> tuple[FlagSeen, ...]:
        """Each flag of a command line against what the server runs with."""

    def address(self, argv: Sequence[str]) -> tuple[str, int]:
        """The address and the port that a command line makes the server listen on."""

    def untold(self, argv: Sequence[str]) -> str | None:
        """Why a server with this command line does not tell the size of its pool, as `Engine.untold`; else `None`."""

    def secret_file(self, argv: Sequence[str]) -> str | None:
        """The file that holds the API key, where a command line names one."""

    def folders(self, argv: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The settings whose flags name a folder of the host, or something to download, each with what they name."""

    def host_needs(self, argv: Sequence[str], *, version: str) -> HostNeeds:
        """What a command line of a release asks of the host itself."""

    def read_key(self, text: str) -> str | None:
        """The API key in the text of that file; `None` when it has none."""

    def budget_lines(self, start: Start) -> Mapping[str, float]:
        """What a start measured of the plan's budget, by the names of its lines, GiB."""

    def boot_fields(self, settings: Mapping[str, object]) -> Mapping[str, object]:
        """The fields of a recorded boot (`facts.Boot`) that the settings tell."""
