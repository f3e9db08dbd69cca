"""A fact of the catalogue in; its figures that do not go with each other out."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Gqa
from compiler.facts import Boot, Gpu, Model
from compiler.language.typed import Fault, FaultKind


_MIB = 1024


def misfits(fact: object) -> Iterator[Fault]:
    """Each figure that another of the same file rules out; each by itself may be right."""
    if isinstance(fact, Boot):
        yield from _boot(fact)
    elif isinstance(fact, Gpu):
        yield from _gpu(fact)
    elif isinstance(fact, Model):
        yield from _model(fact)


def _fault(message: str, *path: str) -> Fault:
    return Fault(path, FaultKind.BAD_VALUE, message)


def _boot(boot: Boot) -> Iterator[Fault]:
    """A pool is of whole pages, and weights are part of what was free."""
    if boot.page_size > boot.pool_tokens:
        most = f"expected at most the pool, which is {boot.pool_tokens:,} tokens in whole pages"
        yield _fault(most, "page_size")
    free, weights = boot.free_before_load_gib, boot.weights_gib
    if free is not None and weights is not None and weights >= free:
        yield _fault(f"expected less than `free_before_load_gib`, which is {free:g}", "weights_gib")


def _gpu(gpu: Gpu) -> Iterator[Fault]:
    """What is free is a part of the card: a total in GiB where MiB are meant shows here."""
    total = gpu.total_mib / _MIB
    for name, free in (
        ("free_before_load_gib", gpu.free_before_load_gib),
        ("free_alone_gib", gpu.free_alone_gib),
    ):
        if free is not None and free.high > total:
            most = f"expected at most the card's total, {gpu.total_mib:,} MiB: {total:.2f} GiB"
            yield _fault(most, name)


def _model(model: Model) -> Iterator[Fault]:
    """What no engine can build: heads that are not shared evenly, more experts a token than there are, more dense layers than layers."""
    full, moe = model.attention, model.moe
    if isinstance(full, Gqa) and model.heads % full.kv_heads:
        most = f"expected a divisor of `heads`, which is {model.heads:,}"
        yield _fault(most, "attention", "kv_heads")
    if moe is not None and moe.active_experts > moe.routed_experts:
        most = f"expected at most `moe.routed_experts`, which is {moe.routed_experts:,}"
        yield _fault(most, "moe", "active_experts")
    if model.dense_layers > model.layers:
        yield _fault(f"expected at most `layers`, which is {model.layers:,}", "dense_layers")
