"""The arithmetic of a size, written out for the reader."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Compressed
from compiler.engines.sglang.case import Case
from compiler.engines.sglang.cellterms import price_terms
from compiler.engines.sglang.layouts import token_of
from compiler.engines.sglang.pool import EXACT, NONE, Hypothesis
from compiler.engines.sglang.stages import counts_of_stages
from compiler.memory.weights import GIB
from compiler.quantities import counted


def pool_formula(case: Case, best: Hypothesis) -> tuple[str, ...]:
    """The pool's arithmetic by the best estimate, one step a line."""
    cell, size = _cell(case, best), f"{best.cell.priced_bytes:,.0f} B"
    steps = [
        f"cell = {size} a token" if cell == size else f"cell = {cell} = {size} a token",
        *_rest(case, best),
        _pool(case, best),
    ]
    if case.has_log:
        steps.append("weights from the log's own figures around the load")
    elif case.known is not None:
        boot = case.known.boot
        what = "measured: the settings of" if case.is_measured else "weights carried from"
        whose = ", which somebody else published" if boot.shipped else ""
        steps.append(f"{what} {boot.name} (pool {boot.pool_tokens:,} at {boot.fraction:g}){whose}")
    else:
        steps.append("weights from the model's tensors; a recorded boot makes them exact")
    return tuple(steps)


def _rest(case: Case, best: Hypothesis) -> Iterator[str]:
    fraction, rest = case.budget_fraction, best.rest_gib(case.budget_fraction)
    if case.launch.fraction_scale != 1.0:
        yield (
            f"fraction = {case.fraction:g} x {case.launch.fraction_scale:g}, which the release does by itself, "
            f"= {fraction:.4g}"
        )
    yield f"rest = {best.free_gib:.2f} x {fraction:.4g} - {best.weights_gib:.2f} = {rest:.2f} GiB"
    for name, gib in best.layout.taken:
        yield f"taken by the {name}: {gib:.2f} GiB"
    if best.layout.states is not None:
        yield f"states = {states_formula(case, best)} = {best.layout.states_gib(rest):.2f} GiB"


def _pool(case: Case, best: Hypothesis) -> str:
    tokens = case.pools[0]
    limit = case.profile.memory.max_pool_tokens
    if (
        limit is not None
        and tokens <= limit
        and best.layout.limit is not None
        and tokens == _paged(case, best.layout.limit)
    ):
        return f"pool = at most {limit:,} tokens, the cap"
    if (
        limit is None
        and best.layout.limit is not None
        and tokens == _paged(case, best.layout.limit)
    ):
        whose = "a stage keeps" if best.cell.priced_bytes else "the layers keep"
        return f"pool = {tokens:,} tokens, the context: {whose} no keys"
    rest = best.rest_gib(case.budget_fraction)
    left = rest - best.layout.taken_gib - best.layout.states_gib(rest)
    page = "" if case.launch.page == 1 else f", whole pages of {case.launch.page}"
    return f"pool = {left:.2f} GiB / {best.cell.priced_bytes:,.0f} B = {tokens:,} tokens{page}"


def _paged(case: Case, tokens: int) -> int:
    return tokens // case.launch.page * case.launch.page


_WHOLE_BYTES = 1.5
"""The engine cuts a price to whole bytes, once for the target and once for the draft."""


def _cell(case: Case, best: Hypothesis) -> str:
    guess, cell = case.launch.guess, best.cell
    terms, stages = _target(case, best), case.profile.parallel.pipeline
    target = " + ".join(terms)
    if stages > 1 and " x " in target:  # of a number alone there is nothing to tell
        target += f" on the stage with most of the {case.model.layers}"
    if guess.draft_layers == 0 or cell.pricing == NONE:
        return target
    if cell.pricing == EXACT or cell.draft_share_bytes == cell.draft_bytes:
        return f"{target} + {cell.draft_share_bytes:,.0f} B of the draft"
    layers = max(
        each.attention for each in counts_of_stages(case.ground.settings.profile, case.model)
    )
    priced = cell.target_bytes - cell.unpriced_target_bytes
    more = round(cell.draft_share_bytes / priced * layers)
    if abs(priced * (layers + more) / layers - cell.priced_bytes) > _WHOLE_BYTES:
        # Beside windows each of its layers is priced as one of full attention.
        return f"{target} + {cell.draft_share_bytes:,.0f} B for the draft's layers, priced as the target's"
    target = f"({target})" if len(terms) > 1 else target
    return f"{target} x {layers + more}/{layers} for the draft's layers"


def _target(case: Case, best: Hypothesis) -> tuple[str, ...]:
    cell = best.cell
    drafts = case.launch.guess.draft_layers > 0
    priced = cell.target_bytes - cell.unpriced_target_bytes if drafts else cell.priced_bytes
    if isinstance(case.model.attention, Compressed):
        return (f"{priced:,.0f} B",)
    return price_terms(token_of(case.ground.settings, case.launch, case.model), priced)


def weights_formula(case: Case, best: Hypothesis) -> str:
    """Where the weights come from."""
    if case.has_log:
        return (
            f"{best.free_gib:.2f} before the load, {best.free_gib - best.weights_gib:.2f} after it"
        )
    if case.known is None:
        source = "tensors" if case.facts.weights is None else "the checkpoint's own tensors"
        moved = case.ground.weighing.moved_gib.best
        less = f", less {moved:.2f} GiB in host memory" if moved else ""
        freed = case.ground.weighing.released_gib
        later = f"; {freed:.2f} GiB of them are freed once the pool is sized" if freed else ""
        return f"{source} of {case.model.id} over {counted(case.launch.ranks, 'rank')}, and the allocator's rounding{less}{later}"
    boot = case.known.boot
    logged = boot.free_before_load_gib if boot.shipped else None
    free = best.free_gib if logged is None else logged
    return f"{free:.2f} x {boot.fraction:g} - {boot.pool_tokens:,} tokens of {boot.name}"


def states_formula(case: Case, best: Hypothesis) -> str:
    """How many slots for states, and what one takes."""
    states = best.layout.states
    if states is None:
        return "none"
    slots = max(0, best.layout.slots(best.rest_gib(case.budget_fraction)) or 0)
    spare = f" + {states.spare}" if states.spare else ""
    drafted = f", and {states.drafted} for drafted tokens" if states.drafted else ""
    return f"{slots:,}{spare} slots x {states.request_bytes / GIB * 1024:,.1f} MiB{drafted}"


def beyond_formula(best: Hypothesis, *, tokens: int) -> str:
    """What a token takes in the pools, and what of that is in its price."""
    cell, owed = best.cell, best.layout.owed_gib
    target, counted = cell.target_bytes - cell.unpriced_target_bytes, cell.draft_share_bytes
    parts = [
        f"the {whose} {has:,.0f} B are counted as {priced:,.0f} B"
        for whose, has, priced in (
            ("target's", cell.target_bytes, target),
            ("draft's", cell.draft_bytes, counted),
        )
        if round(has) != round(priced)
    ]
    windows = f" + {owed:.2f} GiB of a draft's windows" if owed else ""
    said = f": {' and '.join(parts)}" if parts else ""
    return f"{tokens:,} tokens x {cell.beyond_bytes:,.0f} B{windows}{said}"


def draft_share_formula(best: Hypothesis, *, tokens: int) -> str:
    """What the budget sets aside for the draft, beside what its pool takes."""
    cell, owed = best.cell, best.layout.owed_gib
    windows = f" and {owed:.2f} GiB of windows beside those" if owed else ""
    return (
        f"{tokens:,} tokens x {cell.draft_share_bytes:,.0f} B; the draft's pool takes {cell.draft_bytes:,.0f} B a token{windows}, "
        "the reserve has the difference"
    )
