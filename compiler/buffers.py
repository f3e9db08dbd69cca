"""What a server keeps or makes beside its pool of tokens, as far as it bounds what runs, and what sets how much it is."""

from __future__ import annotations

from attrs import frozen

from compiler.profile import Profile
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Unfolds(Value):
    """What a step makes anew of what stands before its own tokens, and what says how much.

    Attributes:
        tokens: most of them at once.
        switch: the flag that turns it off.
        variable: the environment variable that sets how many.
    """

    tokens: int
    switch: str | None = None
    variable: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class StateSlots(Value):
    """The pool of states of layers that keep one of fixed size for each request: it admits only so many requests, too.

    Attributes:
        slots: of one replica.
        per_request: slots that a running request may hold.
        flag: what sets their number for the whole server, without dashes; `None` where the release has nothing for it.
    """

    slots: int
    per_request: int
    flag: str | None = None

    @property
    def requests(self) -> int:
        """Most requests at once that it admits, of one replica."""
        return max(0, self.slots // self.per_request)

    def slots_for(self, profile: Profile) -> int:
        """Slots of the whole server that the states of its promise take, as `flag` sets them."""
        parallel = profile.parallel
        return parallel.limit_of(parallel.share(profile.serve.concurrency) * self.per_request)


@frozen(kw_only=True, eq=False, repr=False)
class Adapters(Value):
    """Buffers for adapters, which stand beside the weights whatever is loaded into them, and what says how large they are.

    Attributes:
        number: adapters that one batch may use; each has a buffer. `fewest` is the least that it may be.
        rank: the largest rank that fits into a buffer.
        number_flag, rank_flag: the flags that say so, without dashes.
    """

    number: int
    fewest: int
    rank: int
    number_flag: str
    rank_flag: str
