"""The prefix cache, the tier of host memory behind it, and the cache of states of hybrid models."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import ALGORITHM, Given, given_by
from compiler.engines.sglang.releases import StatePools, counting
from compiler.engines.sglang.rules.pages import used_page
from compiler.engines.sglang.rules.places import at, caution, line, refusal
from compiler.engines.sglang.running import requested_requests
from compiler.engines.sglang.settings import settings_of
from compiler.engines.sglang.states import slots_per_request
from compiler.facts import Model, StateKind
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


_RADIX_OFF = "disable-radix-cache"
_TIER = "enable-hierarchical-cache"
_STRATEGY = ("mamba-radix-cache-strategy", "mamba-scheduler-strategy")
_SLOTS = "max-mamba-cache-size"
_RUNNING = "serve.max_running_requests"
# Families whose strategy the release resolves in one place (0.5.11 and 0.5.14 server_args.py, `_handle_mamba_radix_cache`).
_RESOLVED = frozenset({StateKind.GDN, StateKind.MAMBA2})


@rule("cache-tiers", flags=(_TIER,))
def tier_behind_a_cache(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Host memory is a tier of the prefix cache (0.5.1 to 0.5.23, `_handle_cache_compatibility`)."""
    given = given_by(plan)
    if not given.on(_TIER) or not given.on(_RADIX_OFF) or not given.since("0.5.1"):
        return
    yield refusal(
        given,
        "cache-tiers",
        f"`--{_TIER}` and `--{_RADIX_OFF}` exclude each other",
        at(
            given,
            where,
            _TIER,
            text="keeps prefixes in host memory, too",
            beside={_RADIX_OFF: "keeps none at all"},
        ),
        help=(f"leave {line(given, _TIER)} or {line(given, _RADIX_OFF)} out",),
    )


@rule("tier-page-size", flags=(_TIER,))
def tier_by_tokens(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Pages of one token are gathered on the GPU before they go to the tier: a copy that nothing is set aside for.

    0.4.5 to 0.4.9 managers/cache_controller.py, `write_thread_func_buffer`; larger pages, and later releases, copy in place.
    Servers that ran out where they had run without the tier: sgl-project/sglang#5372.
    """
    given = given_by(plan)
    if not given.on(_TIER) or not given.since("0.4.5") or not given.before("0.4.9.post1"):
        return
    if used_page(given) != 1:
        return
    yield caution(
        "tier-page-size",
        "the tier of host memory copies single tokens, through buffers on the GPU",
        at(
            given,
            where,
            _TIER,
            text="copies what is cached",
            beside={"memory.page_size": "pages of one token"},
        ),
        because="the copies take from the reserve, and a fraction that held without the tier may not hold with it",
        help=("set `memory.page_size = 64`: larger pages are copied in place",),
    )


def _hybrid(plan: Plan) -> Model | None:
    model = plan.model
    if model is None or model.state is None or model.state.kind not in _RESOLVED:
        return None
    return model


@rule("states-draft", flags=(ALGORITHM,))
def states_beside_a_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Speculation with a prefix cache of states needs the extra buffer (0.5.10 to 0.5.13, `_handle_mamba_radix_cache`).

    The automatic strategy is `no_buffer` there. Before, the cache was switched off; after, the extra buffer is automatic.
    """
    given, asked = given_by(plan), plan.profile.speculative
    strategy = given.word(*_STRATEGY) or "auto"
    if _hybrid(plan) is None or asked is None or strategy not in {"auto", "no_buffer"}:
        return
    if given.on(_RADIX_OFF) or given.word("disaggregation-mode") == "decode":
        return
    if not given.since("0.5.10") or not given.before("0.5.14"):
        return
    if plan.gpu is not None and not plan.gpu.compute_capability[:1].isdigit():
        return  # AMD: the cache is switched off instead
    yield refusal(
        given,
        "states-draft",
        "speculation does not run beside the prefix cache of this model's states",
        at(
            given,
            where,
            "speculative.algorithm",
            text="drafts tokens",
            beside={
                "model.id": "has layers with a state",
                _STRATEGY[1]: "without the extra buffer",
            },
        ),
        because="the server refuses to start: a state cannot be taken back without the extra buffer",
        help=(
            'set `mamba-scheduler-strategy = "extra_buffer"` under `[flags]`',
            f"or set `{_RADIX_OFF} = true`",
        ),
    )


@rule("states-strategy", flags=_STRATEGY)
def strategy_fits(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A strategy of the cache of states has its own needs.

    0.5.10 to 0.5.13: the extra buffer is refused without a prefix cache. 0.5.14 to 0.5.23: `no_buffer` wants pages of one
    token, no overlap, and not `trtllm_mha` (`validate_mamba_no_buffer`).
    """
    given = given_by(plan)
    strategy = given.word(*_STRATEGY)
    if _hybrid(plan) is None or strategy is None:
        return
    fault = _strategy_fault(given, strategy)
    if fault is None:
        return
    said, help_ = fault
    yield refusal(
        given,
        "states-strategy",
        f"the strategy `{strategy}` for states {said}",
        at(
            given,
            where,
            *_STRATEGY,
            text=f"`{strategy}`",
            beside={
                "memory.page_size": f"pages of {plan.profile.memory.page_size}",
                _RADIX_OFF: "no prefix cache",
            },
        ),
        because="the server stops with an assertion at start",
        help=(help_, "or leave the strategy to the server"),
    )


def _strategy_fault(given: Given, strategy: str) -> tuple[str, str] | None:
    radix_off = given.on(_RADIX_OFF)
    if strategy.startswith("extra_buffer") and radix_off:
        refused = given.since("0.5.10") and given.before("0.5.14")
        return ("needs a prefix cache", f"leave `{_RADIX_OFF}` out") if refused else None
    if strategy != "no_buffer" or radix_off or given.before("0.5.14"):
        return None
    page = given.whole("page-size") or 1
    if page != 1:
        return f"needs pages of one token, not {page}", "set `memory.page_size = 1`"
    # Pipeline stages switch the overlap off by themselves.
    staged = given.plan.profile.parallel.pipeline > 1
    if not staged and not given.on("disable-overlap-schedule"):
        return (
            "needs `--disable-overlap-schedule`",
            "set `disable-overlap-schedule = true` under `[flags]`",
        )
    if given.word("attention-backend") == "trtllm_mha":
        return "does not run with `trtllm_mha`", "choose another attention backend"
    return None


@rule("state-slots")
def slots_for_requests(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The slots of states admit as many requests as they hold, several slots each (0.5.7 on, `slots_per_request`).

    Where their number is not given a share of the budget decides, and the plan knows what fits.
    """
    given, model = given_by(plan), plan.model
    wanted = requested_requests(plan.profile, plan.model)
    if model is None or model.state is None or wanted is None:
        return
    slots, parallel = given.whole(_SLOTS), plan.profile.parallel
    if slots is None:
        yield from _states_that_fit(plan, given, where, wanted=wanted)
        return
    counts = counting(plan.profile.engine.version)
    if counts is None or counts.states in {StatePools.ABSENT, StatePools.DIVIDED}:
        return
    replicas = parallel.limit_shares
    each = slots_per_request(settings_of(plan.profile, plan.release), model=model, rule=counts)
    admitted = slots // replicas // each
    if admitted >= wanted:
        return
    yield caution(
        "state-slots",
        f"{counted(slots // replicas, 'slot')} of states for {counted(admitted, 'request')} at once, not {wanted}",
        at(
            given,
            where,
            _SLOTS,
            text=counted(slots, "slot"),
            beside={_RUNNING: counted(wanted, "request"), "model.id": "has layers with a state"},
        ),
        because=f"a running request may hold {counted(each, 'slot')}: its own, and copies for the prefix cache",
        help=(
            f"set `{_SLOTS} = {wanted * each * replicas}`",
            f"or set `{_RUNNING} = {parallel.limit_of(max(1, admitted))}`",
        ),
    )


def _states_that_fit(
    plan: Plan, given: Given, where: Origins, *, wanted: int
) -> Iterator[Diagnostic]:
    running, states = plan.running_each, plan.states
    if plan.memory is None or running is None:
        return
    if states is not None and states.requests == 0:
        # 0.5.7 to 0.5.23 managers/tp_worker.py, `assert self.max_running_requests > 0`; from 0.5.15 on an error of its own.
        summary = (
            f"no request runs: there is room for {counted(max(0, states.slots), 'slot')} of states"
        )
        because = f"a running request may hold {counted(states.per_request, 'slot')}, and a pool of states that admits none stops the server at start"
        steps: tuple[str, ...] = (
            "give weights and pool more of the memory: raise `memory.fraction`",
        )
    elif running < wanted:
        summary = f"{counted(running, 'request', does='run')} at once, not {wanted}: there is no room for the states of more"
        because = "states and KV share the budget, and a running request may hold several states; what is beyond waits"
        steps = (
            f"set `{_RUNNING} = {plan.profile.parallel.limit_of(max(1, running))}`",
            f"or set `{_SLOTS}`, which takes from the KV pool",
        )
    else:
        return
    spot = at(
        given,
        where,
        _RUNNING,
        text=counted(wanted, "request"),
        beside={
            "memory.fraction": "is shared with their states",
            "model.id": "has layers with a state",
        },
    )
    yield caution("state-slots", summary, spot, because=because, help=steps)
