"""The layouts that a model may have on the GPUs of a host, in the order in which a first tree prefers them."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.facts import Mla, Model
from compiler.starter.wanted import Layout


def layouts(model: Model, count: int) -> Iterator[Layout]:
    """Every layout beside tensor parallel over all GPUs: the same with experts in groups, then with more and more copies.

    Stages come last: they hold more than copies do, and each waits for the one before it. All of them take each GPU. Whether one is taken by the engine is for the check to say.
    """
    for tensor in reversed(_divisors(count)):
        copies = count // tensor
        yield from (
            Layout(tensor=tensor, data=copies, expert=groups) for groups in _groups(model, tensor)
        )
        if model.vision is not None and tensor > 1:
            yield Layout(tensor=tensor, data=copies, whole_vision=True)
    for tensor in reversed(_divisors(count)[:-1]):
        yield from (
            Layout(tensor=tensor, pipeline=count // tensor, expert=groups)
            for groups in _groups(model, tensor)
        )


def shared_attention(model: Model, count: int) -> Iterator[Layout]:
    """Data parallel attention over all GPUs, the most groups first: for latents, of which every GPU keeps a copy otherwise.

    Heads are shared out over GPUs and a latent is not, so that of keys and values alone nothing is gained.
    """
    if isinstance(model.attention, Mla):
        for groups in reversed(_divisors(count)[1:]):
            yield Layout(tensor=count, data=groups, dp_attention=True)


def _groups(model: Model, tensor: int) -> tuple[int, ...]:
    """Few groups first: the fewer there are, the more evenly the experts' work is spread."""
    return _divisors(tensor) if model.moe is not None else (1,)


def _divisors(count: int) -> tuple[int, ...]:
    return tuple(each for each in range(1, count + 1) if count % each == 0)
