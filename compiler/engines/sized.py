"""What an engine will do with the GPU at a fraction: the size, and what works it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from compiler.plan import Balance, Memory
from compiler.unknown import Unknown
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.buffers import Adapters, StateSlots, Unfolds


@frozen(kw_only=True, eq=False, repr=False)
class Sized(Value):
    """What the engine will do with the GPU.

    Attributes:
        memory: both budgets; `None` when `unknowns` says why not.
        prefill_chunk: tokens of a prefill step; `None` when unknown.
        unfolds: what a prefill step unfolds; `None` when nothing.
        adapters: the buffers of adapters; `None` where there are none.
        attention_backend: what the engine will use; `None` when unknown.
        required_tokens: slots the promise needs of each pool, also where memory is not known.
        verify_width: slots the last verify step of a request wants.
        running_requests: most requests at once, over all replicas, defaults filled in.
        sized_for: as many as that where no pool bounds them; `None` where a pool alone decides.
        states: the pool of states; `None` when no layer has one.
        assumptions: sentences about what was taken for granted.
    """

    memory: Memory | None
    required_tokens: int
    verify_width: int
    running_requests: int | None
    sized_for: int | None = None
    attention_backend: str | None = None
    prefill_chunk: int | None = None
    unfolds: Unfolds | None = None
    states: StateSlots | None = None
    adapters: Adapters | None = None
    unknowns: tuple[Unknown, ...] = ()
    assumptions: tuple[str, ...] = ()


class Sizer(Protocol):
    """A fraction in; what the engine does with the GPU out."""

    def __call__(self, fraction: float) -> Sized:
        """All of it, in words too."""

    def balance(self, fraction: float) -> Balance | None:
        """What both budgets come to, sooner: a search asks for it hundreds of times; `None` where memory is not known."""

    def least_spare(self, fraction: float) -> tuple[float, ...] | None:
        """What is surely there beside the promise, sooner again; `None` where memory is not known.

        Slots of the pool, and slots of states, where a larger budget has more of them.
        """

    def nearly_least(self) -> float | None:
        """About the fraction from which on nothing is short, as far as it is sooner told than by asking; it may be beyond 1."""


@frozen(kw_only=True, eq=False, repr=False)
class Fixed(Value):
    """A size that no fraction changes."""

    sized: Sized

    def __call__(self, fraction: float) -> Sized:  # noqa: ARG002 - as it says
        """It."""
        return self.sized

    def balance(self, fraction: float) -> Balance | None:  # noqa: ARG002 - as it says
        """What its budgets come to."""
        return None if self.sized.memory is None else self.sized.memory.balance

    def least_spare(self, fraction: float) -> tuple[float, ...] | None:
        """What its pool has to spare."""
        balance = self.balance(fraction)
        return None if balance is None else (balance.tokens.low - balance.required_tokens,)

    def nearly_least(self) -> float | None:
        """No fraction changes it."""
        return None
