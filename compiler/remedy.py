"""The smallest changes that pass, each with its price: one per lever, found by planning again.

A refusal's help is made here, after the checks: a rule judges a plan and may not plan another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from attrs import evolve, frozen

from compiler.bisection import least, most
from compiler.checks.memory import POOL_CODES, RESERVE_CODES
from compiler.diagnostics import Diagnostic
from compiler.memory.outcome import Outcome, pool_outcome, reserve_outcome
from compiler.plan import Memory, Plan
from compiler.planner import THOUSANDTHS
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.value import Value


Replan = Callable[[Profile], Plan]

_CONTEXT_STEP = 100
_NARROW_KV: Literal["fp8_e4m3"] = "fp8_e4m3"
_LEAST_CHUNK = 1024


@frozen(kw_only=True, eq=False, repr=False)
class Remedy(Value):
    """One change, or a pair that belongs together.

    Attributes:
        settings: the new values, by setting, as TOML would have them.
        price: what it costs and what it gives.
        plan: the plan it leads to.
    """

    settings: tuple[tuple[str, str], ...]
    price: str
    plan: Plan

    def __str__(self) -> str:
        """The change as it would be written."""
        return " and ".join(f"{setting} = {value}" for setting, value in self.settings)


def advise(plan: Plan, found: tuple[Diagnostic, ...], *, replan: Replan) -> tuple[Diagnostic, ...]:
    """The findings about memory with what mends them; the others as they are."""
    return tuple(_advised(each, plan, replan) for each in found)


def _advised(each: Diagnostic, plan: Plan, replan: Replan) -> Diagnostic:
    if plan.memory is None or any(note.startswith("accepted: ") for note in each.notes):
        return each
    if each.code in POOL_CODES.values():
        return evolve(each, help=_help(each.code, tuple(pool_remedies(plan, replan=replan)), plan))
    if each.code in RESERVE_CODES.values() and pool_outcome(plan.memory) <= Outcome.UNCERTAIN:
        return evolve(
            each, help=_help(each.code, tuple(reserve_remedies(plan, replan=replan)), plan)
        )
    return each


def _help(code: str, remedies: tuple[Remedy, ...], plan: Plan) -> tuple[str, ...]:
    more = f"for more: poolproof explain {code}"
    if not remedies:
        return (f"no single setting mends {plan.profile_name}; promise less, or add GPUs", more)
    width = max(len(str(each)) for each in remedies)
    lines = [f"{str(each).ljust(width)}  {each.price}" for each in remedies]
    lead = "this keeps the promise" if len(remedies) == 1 else "any one of these keeps the promise"
    return ("\n".join([f"{lead} (figures are best estimates)", *lines]), more)


def pool_remedies(plan: Plan, *, replan: Replan) -> Iterator[Remedy]:
    """One change per lever that makes the pool hold the promise over its whole range."""
    yield from _by_pool_cap(plan, replan)
    yield from _by_fraction(plan, replan)
    yield from _by_kv_dtype(plan, replan)
    yield from _by_context(plan, replan)
    yield from _by_concurrency(plan, replan)


def reserve_remedies(plan: Plan, *, replan: Replan) -> Iterator[Remedy]:
    """One change per lever that makes the reserve hold, over its whole range if any does; the pool left as it is."""
    refused = reserve_outcome(_memory(plan)) > Outcome.UNCERTAIN
    if refused and plan.profile.memory.fraction == "fit":
        # A narrower cache needs less of the static budget, and "fit" leaves the rest to the reserve.
        yield from _by_kv_dtype(plan, replan)
    for worst in (Outcome.PASSES, Outcome.UNCERTAIN) if refused else (Outcome.PASSES,):
        found = [
            *_by_requests(plan, replan, worst),
            *_by_chunk(plan, replan, worst),
            *_by_lower_fraction(plan, replan, worst),
        ]
        if found:
            yield from found
            return


def _memory(plan: Plan) -> Memory:
    if plan.memory is None:
        raise ValueError(f"{plan.profile_name} was planned without memory")
    return plan.memory


def _pool_passes(plan: Plan) -> bool:
    return pool_outcome(_memory(plan)) is Outcome.PASSES


def _reserve_passes(plan: Plan, *, worst: Outcome = Outcome.PASSES) -> bool:
    return reserve_outcome(_memory(plan)) <= worst


def _reserve_price(before: Plan, after: Plan) -> str:
    old, new = _memory(before).reserve, _memory(after).reserve
    need = f"{new.needed_gib.low:.1f} to {new.needed_gib.high:.1f}"
    text = f"reserve {old.available_gib.best:.2f} -> {new.available_gib.best:.2f} GiB for {need}"
    return text if _reserve_passes(after) else f"{text}, uncertain"


def _pool_price(plan: Plan) -> str:
    return f"pool {_memory(plan).pool.tokens.best:,.0f}"


def _with_fraction(profile: Profile, thousandths: int) -> Profile:
    return evolve(profile, memory=evolve(profile.memory, fraction=thousandths / THOUSANDTHS))


def _with_requests(profile: Profile, requests: int) -> Profile:
    return evolve(profile, serve=evolve(profile.serve, max_running_requests=requests))


def _by_fraction(plan: Plan, replan: Replan) -> Iterator[Remedy]:
    thousandths = least(
        low=1,
        high=THOUSANDTHS - 1,
        good=lambda value: _pool_passes(replan(_with_fraction(plan.profile, value))),
    )
    if thousandths is None:
        return
    profile = _with_fraction(plan.profile, thousandths)
    after = replan(profile)
    setting = ("memory.fraction", f"{thousandths / THOUSANDTHS:g}")
    if _reserve_passes(after, worst=Outcome.UNCERTAIN):
        yield Remedy(
            settings=(setting,),
            price=f"least for the pool; {_reserve_price(plan, after)}",
            plan=after,
        )
        return
    # The pool passes there and the reserve does not: it needs fewer requests as well.
    requests = _most_requests(after, profile, replan)
    if requests is not None:
        after = replan(_with_requests(profile, requests))
        yield Remedy(
            settings=(setting, ("serve.max_running_requests", str(requests))),
            price=f"least for the pool; the reserve then needs fewer requests, {_reserve_price(plan, after)}",
            plan=after,
        )


def _most_requests(plan: Plan, profile: Profile, replan: Replan) -> int | None:
    """The most running requests, not below the promise, at which the reserve holds; by its whole range if any do."""
    fewest, now = profile.serve.concurrency, plan.running_requests or 1
    for worst in (Outcome.PASSES, Outcome.UNCERTAIN):
        found = most(
            low=fewest,
            high=now - 1,
            good=partial(_holds_requests, profile, replan, worst),
        )
        if found is not None:
            return found
    return None


def _holds_requests(profile: Profile, replan: Replan, worst: Outcome, requests: int) -> bool:
    return _reserve_passes(replan(_with_requests(profile, requests)), worst=worst)


def _by_pool_cap(plan: Plan, replan: Replan) -> Iterator[Remedy]:
    cap, required = plan.profile.memory.max_pool_tokens, _memory(plan).pool.required_tokens
    if cap is None or cap >= required:
        return
    after = replan(
        evolve(plan.profile, memory=evolve(plan.profile.memory, max_pool_tokens=required))
    )
    if _pool_passes(after) and _reserve_passes(after, worst=Outcome.UNCERTAIN):
        yield Remedy(
            settings=(("memory.max_pool_tokens", f"{required:_}"),),
            price="the cap is what makes the pool short",
            plan=after,
        )


def _by_kv_dtype(plan: Plan, replan: Replan) -> Iterator[Remedy]:
    if plan.profile.memory.kv_dtype.startswith("fp8"):
        return
    profile = evolve(plan.profile, memory=evolve(plan.profile.memory, kv_dtype=_NARROW_KV))
    after = replan(profile)
    if _pool_passes(after) and _reserve_passes(after, worst=Outcome.UNCERTAIN):
        yield Remedy(
            settings=(("memory.kv_dtype", f'"{_NARROW_KV}"'),),
            price=f"{_pool_price(after)}; costs accuracy, check answers",
            plan=after,
        )


def _by_context(plan: Plan, replan: Replan) -> Iterator[Remedy]:
    serve = plan.profile.serve
    slots = int(_memory(plan).pool.tokens.low) // serve.concurrency
    # Slots beyond the context's own: see the engine's promise. Rounded down to what a person would write.
    context = (slots - plan.verify_width + 4) // _CONTEXT_STEP * _CONTEXT_STEP
    if not 0 < context < serve.tokens:
        return
    after = replan(evolve(plan.profile, serve=evolve(serve, context=context)))
    if _pool_passes(after) and _reserve_passes(after, worst=Outcome.UNCERTAIN):
        yield Remedy(
            settings=(("serve.context", f"{context:_}"),),
            price=f"a request holds {context - 2:,} tokens",
            plan=after,
        )


def _by_concurrency(plan: Plan, replan: Replan) -> Iterator[Remedy]:
    serve, pool = plan.profile.serve, _memory(plan).pool
    at_once = int(pool.tokens.low) // pool.request_tokens
    if not 1 <= at_once < serve.concurrency:
        return
    after = replan(evolve(plan.profile, serve=evolve(serve, concurrency=at_once)))
    if _pool_passes(after) and _reserve_passes(after, worst=Outcome.UNCERTAIN):
        noun = "request" if at_once == 1 else "requests"
        yield Remedy(
            settings=(("serve.concurrency", str(at_once)),),
            price=f"{at_once} {noun} of full context at once",
            plan=after,
        )


def _by_requests(plan: Plan, replan: Replan, worst: Outcome) -> Iterator[Remedy]:
    requests = most(
        low=plan.profile.serve.concurrency,
        high=(plan.running_requests or 1) - 1,
        good=lambda value: _reserve_passes(
            replan(_with_requests(plan.profile, value)), worst=worst
        ),
    )
    if requests is not None:
        after = replan(_with_requests(plan.profile, requests))
        yield Remedy(
            settings=(("serve.max_running_requests", str(requests)),),
            price=f"needs {_span(_memory(after).reserve.needed_gib)}; the pool stays",
            plan=after,
        )


def _by_chunk(plan: Plan, replan: Replan, worst: Outcome) -> Iterator[Remedy]:
    chunk = _power_of_two_below(plan.prefill_chunk or 0)
    while chunk >= _LEAST_CHUNK:
        memory = evolve(plan.profile.memory, chunked_prefill=chunk)
        after = replan(evolve(plan.profile, memory=memory))
        if _reserve_passes(after, worst=worst):
            yield Remedy(
                settings=(("memory.chunked_prefill", str(chunk)),),
                price=f"needs {_span(_memory(after).reserve.needed_gib)}; long prompts start slower",
                plan=after,
            )
            return
        chunk //= 2


def _power_of_two_below(number: int) -> int:
    """The greatest power of two that is less than a number; 0 when there is none."""
    return 1 << ((number - 1).bit_length() - 1) if number > 1 else 0


def _by_lower_fraction(plan: Plan, replan: Replan, worst: Outcome) -> Iterator[Remedy]:
    now = round(_memory(plan).fraction * THOUSANDTHS)

    def good(value: int) -> bool:
        return _reserve_passes(replan(_with_fraction(plan.profile, value)), worst=worst)

    thousandths = most(low=1, high=now - 1, good=good)
    if thousandths is None:
        return
    after = replan(_with_fraction(plan.profile, thousandths))
    if _pool_passes(after):
        yield Remedy(
            settings=(("memory.fraction", f"{thousandths / THOUSANDTHS:g}"),),
            price=f"{_pool_price(after)}; reserve {_span(_memory(after).reserve.available_gib)}",
            plan=after,
        )


def _span(known: Range) -> str:
    return f"{known.low:.1f} to {known.high:.1f} GiB"
