"""What a search asks of a size sooner, and the size itself."""

from __future__ import annotations

from attrs import evolve

from benchmarks.asking import read_cases
from benchmarks.rate import profiles_of
from compiler.bisection import Margins, least
from compiler.engines.sized import Sizer


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


def test_what_profiles_share_is_what_each_has_alone() -> None:
    """Other requests, contexts, chunks and caches give what they give by facts that nobody has asked before."""
    compared = differed = 0
    some = [case for case in read_cases() if case.is_named][::4]
    for profile, facts, engine in profiles_of(some):
        first = engine.sizer(profile, facts)(0.9)
        others = (
            evolve(profile, serve=evolve(profile.serve, context=9_000, concurrency=3)),
            evolve(profile, serve=evolve(profile.serve, max_running_requests=7)),
            evolve(profile, memory=evolve(profile.memory, chunked_prefill=1_024)),
            evolve(profile, memory=evolve(profile.memory, kv_dtype="fp8_e4m3")),
            evolve(profile, parallel=evolve(profile.parallel, tensor=2 * profile.parallel.tensor)),
        )
        for other in others:
            shared = engine.sizer(other, facts)(0.9)
            assert shared == engine.sizer(other, evolve(facts))(0.9), profile.model.id
            compared += 1
            differed += shared != first
    assert compared > 350
    assert differed > compared / 2


def test_the_least_fraction_is_told_sooner_than_by_asking() -> None:
    """Where no layer keeps states, the fraction that is told is the least one or next to it."""
    told = near = 0
    for profile, facts, engine in profiles_of([case for case in read_cases() if case.is_named]):
        size = engine.sizer(profile, facts)

        def spare(thousandths: int, size: Sizer = size) -> Margins:
            return size.least_spare(thousandths / 1000) or (-1.0,)

        about, found = size.nearly_least(), least(low=1, high=999, margins=spare)
        if about is not None and found is not None:
            told += 1
            near += abs(about * 1000 - found) <= 1
    assert told > 150
    assert near == told
