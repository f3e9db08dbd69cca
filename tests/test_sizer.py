"""What a search asks of a size sooner, and the size itself."""

from __future__ import annotations

from benchmarks.asking import read_cases
from benchmarks.rate import profiles_of


FRACTIONS = (0.5, 0.75, 0.95)


def test_what_a_search_asks_is_what_the_size_says() -> None:
    """For every public boot and at every fraction the sooner answers are those of the whole one."""
    sized = short = stateful = 0
    for profile, facts, engine in profiles_of([case for case in read_cases() if case.is_named]):
        size = engine.sizer(profile, facts)
        for fraction in FRACTIONS:
            balance = size.balance(fraction)
            if balance is None:
                continue
            spare = balance.tokens.low - balance.required_tokens
            sooner = size.least_spare(fraction)
            assert sooner is not None
            assert sooner[0] == spare, profile.model.id
            whole = size(fraction)
            assert whole.memory is not None
            assert whole.memory.balance == balance
            if len(sooner) > 1:
                assert whole.states is not None
                promised = profile.parallel.share(profile.serve.concurrency)
                assert sooner[1] <= whole.states.slots - promised * whole.states.per_request
                stateful += 1
            sized += 1
            short += spare < 0
    assert sized > 800
    assert 0 < short < sized
    assert stateful > 50
