"""The arithmetic of a token's price for a reader, term by term: each kind of layer with its own bytes."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.backends import KvKind
from compiler.engines.sglang.cells import Token, key_bytes, keyed_layers, shape_of
from compiler.engines.sglang.releases import WindowPools
from compiler.facts import Compressed, Mla
from compiler.memory.attention import (
    cell_bytes,
    cell_formula,
    selector_bytes,
    sparse_row_bytes,
)


def price_terms(token: Token, priced_bytes: float) -> tuple[str, ...]:
    """`61 layers x (512 + 64) x 2 B`, one for each kind of layer; the terms are told only where they come to the price.

    What a release counts in another way (fp4 with its scales) is told as a number alone.
    """
    terms = tuple(_terms(token))
    if not terms or round(sum(size for _, size in terms)) != round(priced_bytes):
        return (f"{priced_bytes:,.0f} B",)
    return tuple(text for text, _ in terms)


def _terms(token: Token) -> Iterator[tuple[str, float]]:
    attention, counts = token.model.attention, token.layers
    if isinstance(attention, Compressed) or token.kv.kind is KvKind.FP4:
        return
    if isinstance(attention, Mla):
        yield from _latent(token, attention)
        return
    sizes = {"element_bytes": token.kv.bytes, "ranks": token.ranks}
    full = shape_of(token, attention)
    if token.splits_windows and counts.window and token.rule.windows is WindowPools.BY_LAYERS:
        dealt = (counts.full + token.window_ratio * counts.window) / counts.attention
        every = cell_formula(full, layers=counts.attention, **sizes)
        shares = f"({counts.full} + {token.window_ratio:g} x {counts.window})/{counts.attention}"
        yield (
            f"{every} x {shares} dealt out",
            cell_bytes(full, layers=counts.attention, **sizes) * dealt,
        )
        return
    if counts.full:
        yield (
            cell_formula(full, layers=counts.full, **sizes),
            cell_bytes(full, layers=counts.full, **sizes),
        )
    if attention.selector is not None:
        choosing = counts.full - attention.selector.first
        key_bytes = token.model.dtype_bits // 8
        each = selector_bytes(attention.selector, layers=1, key_bytes=key_bytes)
        yield f"{choosing} keys that choose x {each:,} B", choosing * each
    if token.model.window is None or not counts.window:
        return
    by_itself = token.splits_windows and counts.full > 0
    window = shape_of(token, token.model.window)
    ratio = token.window_ratio if by_itself else 1.0
    formula = cell_formula(window, layers=counts.window, **sizes)
    yield (
        f"{ratio:g} x {formula} of windows" if by_itself else f"{formula} of windows",
        ratio * cell_bytes(window, layers=counts.window, **sizes),
    )


def _latent(token: Token, attention: Mla) -> Iterator[tuple[str, float]]:
    layers = token.layers.full
    if token.kv.scaled_rows and token.rule.sparse_rows:
        row = sparse_row_bytes(attention)
        yield f"{layers} layers x {row:,} B", layers * row
    else:
        sizes = {"element_bytes": token.kv.bytes, "ranks": token.ranks}
        yield (
            cell_formula(attention, layers=layers, **sizes),
            cell_bytes(attention, layers=layers, **sizes),
        )
    if attention.indexer is not None and token.rule.indexer:
        keyed = keyed_layers(token)
        each = key_bytes(token, attention.indexer, layers=1)
        yield f"{keyed} keys of the indexer x {each:,} B", keyed * each
