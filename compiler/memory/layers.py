"""A model in; what each of its layers is made of out, and which of them a pipeline stage holds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from attrs import frozen

from compiler.architecture import LayerKind, Mla
from compiler.facts import Model
from compiler.same import Same
from compiler.value import Value


_ALONE = frozenset({LayerKind.MLP, LayerKind.EXPERTS})


@frozen(kw_only=True, eq=False, repr=False)
class Layer(Value):
    """One layer.

    Attributes:
        kind: what it mixes tokens with; `MLP` and `EXPERTS` mix nothing.
        experts: whether its MLP is one of experts.
        dense: whether its MLP is a dense one; a layer of a model whose MLPs stand alone may have neither.
        indexed: whether it has an indexer of its own.
    """

    kind: LayerKind
    experts: bool
    dense: bool
    indexed: bool


@frozen(kw_only=True, eq=False, repr=False)
class Counts(Value):
    """How many of a run of layers are what."""

    full: int
    window: int
    state: int
    indexed: int
    experts: int
    dense: int

    @property
    def attention(self) -> int:
        """Layers with attention of either kind."""
        return self.full + self.window


_MODELS = 256
"""Of so many models the layers are remembered."""


def layers_of(model: Model) -> tuple[Layer, ...]:
    """The hidden layers, in order."""
    return _layers(Same(model))


def stage_counts(
    model: Model, *, stage: int = 0, stages: int = 1, shares: tuple[int, ...] = ()
) -> Counts:
    """How many of the layers of one pipeline stage are what; `shares` are the layers of each stage, unless they are equal."""
    return _stage_counts(Same(model), stage, stages, shares)


@lru_cache(_MODELS)
def _stage_counts(model: Same[Model], stage: int, stages: int, shares: tuple[int, ...]) -> Counts:
    held = stage_slice(model.value.layers, stage=stage, stages=stages, shares=shares)
    return count(layers_of(model.value)[held])


@lru_cache(_MODELS)
def _layers(same: Same[Model]) -> tuple[Layer, ...]:
    model = same.value
    pattern = model.pattern or (LayerKind.FULL,)
    alone = not _ALONE.isdisjoint(pattern)
    made: dict[tuple[LayerKind, bool, bool], Layer] = {}  # most layers are alike
    layers: list[Layer] = []
    for at in range(model.layers):
        kind = pattern[at % len(pattern)]
        experts = kind is LayerKind.EXPERTS if alone else _has_experts(model, at)
        indexed = kind is LayerKind.FULL and _indexed(model, at)
        key = (kind, experts, indexed)
        if key not in made:
            dense = kind is LayerKind.MLP if alone else not experts
            made[key] = Layer(kind=kind, experts=experts, dense=dense, indexed=indexed)
        layers.append(made[key])
    return tuple(layers)


def _has_experts(model: Model, at: int) -> bool:
    if model.moe is None:
        return False
    if model.moe.every > 1:
        return at % model.moe.every == model.moe.every - 1
    return at >= model.dense_layers


def _indexed(model: Model, at: int) -> bool:
    """Whether a layer has its own indexer (SGLang 0.5.11 models/deepseek_v2.py, line 1272, for two first layers)."""
    indexer = model.attention.indexer if isinstance(model.attention, Mla) else None
    return indexer is not None and max(at - indexer.first + 1, 0) % indexer.every == 0


def count(layers: Iterable[Layer]) -> Counts:
    """Count a run of layers."""
    several = tuple(layers)
    kinds = [each.kind for each in several]
    return Counts(
        full=kinds.count(LayerKind.FULL),
        window=kinds.count(LayerKind.WINDOW),
        state=kinds.count(LayerKind.STATE),
        indexed=sum(each.indexed for each in several),
        experts=sum(each.experts for each in several),
        dense=sum(each.dense for each in several),
    )


def stage_slice(layers: int, *, stage: int, stages: int, shares: tuple[int, ...] = ()) -> slice:
    """The layers of one pipeline stage: its share, or equal shares, what is left over goes to the last stages, one each.

    Source: SGLang 0.5.11 distributed/utils.py, `get_pp_indices`.
    """
    if shares:
        start = sum(shares[:stage])
        return slice(start, start + shares[stage])
    share, over = divmod(layers, stages)
    extra = max(0, stage - (stages - over))
    first = stage * share + extra
    return slice(first, first + share + (1 if stage >= stages - over else 0))
