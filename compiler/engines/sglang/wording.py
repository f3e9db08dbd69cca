"""The arithmetic of a size, written out for the reader."""

from __future__ import annotations

from compiler.engines.sglang.case import Case
from compiler.engines.sglang.pool import Hypothesis
from compiler.memory.attention import cell_formula


def pool_formula(case: Case, best: Hypothesis) -> tuple[str, ...]:
    """The pool's arithmetic by the best estimate, one step a line."""
    rest, tokens = best.rest_gib(case.fraction), case.tokens(best)
    steps = [
        f"cell = {_cell(case, best)} = {best.cell.priced_bytes:,} B a token",
        f"rest = {best.free_gib:.2f} x {case.fraction:g} - {best.weights_gib:.2f} = {rest:.2f} GiB",
    ]
    limit = case.profile.memory.max_pool_tokens
    if limit is not None and tokens <= limit:
        steps.append(f"pool = at most memory.max_pool_tokens = {limit:,} tokens")
    else:
        page = "" if case.launch.page == 1 else f", whole pages of {case.launch.page}"
        steps.append(
            f"pool = {rest:.2f} GiB / {best.cell.priced_bytes:,} B = {tokens:,} tokens{page}"
        )
    if case.known is not None:
        boot = case.known.boot
        what = "measured: the settings of" if case.is_measured else "weights carried from"
        steps.append(f"{what} {boot.name} (pool {boot.pool_tokens:,} at {boot.fraction:g})")
    else:
        steps.append("weights from the model's tensors; a recorded boot makes them exact")
    return tuple(steps)


def _cell(case: Case, best: Hypothesis) -> str:
    target = cell_formula(
        case.model.attention,
        layers=case.model.layers,
        element_bytes=case.launch.kv_bytes,
        ranks=case.launch.attention_ranks,
    )
    if case.draft is None or best.cell.draft_share_bytes == 0:
        return target
    if best.cell.draft_share_bytes == best.cell.draft_bytes:
        return f"{target} + {best.cell.draft_bytes:,} B of the draft"
    layers = case.model.layers
    return f"{target} x {layers + case.draft.layers}/{layers} for the draft's layers"


def weights_formula(case: Case, best: Hypothesis) -> str:
    """Where the weights come from."""
    if case.known is None:
        return f"tensors of {case.model.id} over {case.launch.ranks} ranks, and the allocator's rounding"
    boot = case.known.boot
    return f"{best.free_gib:.2f} x {boot.fraction:g} - {boot.pool_tokens:,} tokens of {boot.name}"


def draft_share_formula(best: Hypothesis, *, tokens: int) -> str:
    """What the budget sets aside for the draft, beside what its pool takes."""
    cell = best.cell
    return (
        f"{tokens:,} tokens x {cell.draft_share_bytes:,} B; the draft's pool takes {cell.draft_bytes:,} B a token, "
        "the reserve has the difference"
    )
