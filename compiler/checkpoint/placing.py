"""A checkpoint's own tensors in; what one GPU holds of them out: each split or whole, by the role its name tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.architecture import Compressed, Mla, Role, VisionPart
from compiler.checkpoint.folder import Checkpoint, Kind
from compiler.checkpoint.names import Place, Share, is_draft, is_vision, place
from compiler.facts import Model
from compiler.memory.layers import stage_slice
from compiler.memory.tensors import ORDERS, format_of, is_nvfp4, moved_below, target_tensors
from compiler.memory.weights import PLAIN_BITS, Split, Tensors, allocated
from compiler.ranges import Range, most
from compiler.value import Value


# What an engine makes for itself, and no file holds.
_MADE_BY_ENGINE = frozenset({"attention kv_b, absorbed", "rotary tables", ORDERS})

_WHOLE_EMBEDDING = ("Gemma3", "Gemma4")
_SCALES = "weight_scale"
_PLAIN_WEIGHT = ".weight"
_ROUTER, _OUTWARD = "router", "routed experts, down"
_SMALL = "norms, biases, and other vectors"

_VISION_PARTS: Mapping[Share, VisionPart] = {
    Share.VISION_ATTENTION: VisionPart.ATTENTION,
    Share.VISION_MLP: VisionPart.MLP,
    Share.VISION_PROJECTOR: VisionPart.PROJECTOR,
    Share.VISION_OTHER: VisionPart.OTHER,
}


@frozen(kw_only=True, eq=False, repr=False)
class Placed(Value):
    """What one rank of one stage holds of a checkpoint.

    Attributes:
        unplaced: names that no role is known for, with `N` for numbers; with any the sum is not to be trusted.
    """

    tensors: tuple[Tensors, ...]
    unplaced: tuple[str, ...]


def place_checkpoint(
    checkpoint: Checkpoint, model: Model, *, split: Split, stage: int = 0
) -> Placed:
    """Place every tensor on one rank of one pipeline stage; the layers of the model's own draft are left out."""
    rank = _Rank(model=model, split=split, stage=stage)
    places = {name: place(name) for name in {kind.name for kind in checkpoint.kinds}}
    sums: dict[tuple[str, int | None, bool], float] = defaultdict(float)
    unplaced: set[str] = set()
    for kind, count in checkpoint.kinds.items():
        found = places[kind.name]
        if not rank.holds(kind, found):
            continue
        if found is None:
            unplaced.add(kind.name)
            continue
        part = found.part if len(kind.shape) > 1 else _SMALL
        ranks = split.expert if rank.has_all_outputs(kind, found) else rank.ranks(found.share)
        size = kind.elements * count * rank.bits(kind, found) / 8 / ranks
        sums[part, kind.layer, ranks == 1] += size
    described = target_tensors(model, split=split, stage=stage)
    made = [each for each in described if each.role in _MADE_BY_ENGINE]
    return Placed(tensors=(*_grouped(sums), *made), unplaced=tuple(sorted(unplaced)))


def checkpoint_gib(checkpoint: Checkpoint, model: Model, *, split: Split) -> Range:
    """What the checkpoint's weights take on the GPU that holds most, GiB."""
    least = min((kind.bits for kind in checkpoint.kinds), default=0)
    # Placed tensors are counted in bytes: whether one moves is known of all of them together.
    below = 0 if least >= moved_below(model, split=split) else PLAIN_BITS
    return most(
        allocated(
            place_checkpoint(checkpoint, model, split=split, stage=stage).tensors,
            moved_below=below,
        )
        for stage in range(split.pipeline)
    )


@frozen(kw_only=True, eq=False, repr=False)
class _Rank(Value):
    """One rank of one pipeline stage."""

    model: Model
    split: Split
    stage: int

    def holds(self, kind: Kind, found: Place | None) -> bool:
        """Whether this stage holds such tensors: its layers, the embedding on the first, the head on the last."""
        if is_vision(kind.name):
            return True
        first, last = self.stage == 0, self.stage == self.split.pipeline - 1
        if is_draft(kind.name):
            return False
        if found is not None and found.share is Share.TABLES and self.split.tables_on_host:
            return False
        if found is not None and found.share is Share.EMBEDDING:
            return first or (self.model.tied and last)
        if found is not None and found.share is Share.HEAD:
            return last and not self.model.tied
        stages, shares = self.split.pipeline, self.split.shares
        held = stage_slice(self.model.layers, stage=self.stage, stages=stages, shares=shares)
        return kind.layer is None or held.start <= kind.layer < held.stop

    def ranks(self, share: Share) -> float:
        """Over how many ranks a share is split."""
        split = self.split
        if share in _VISION_PARTS:
            return 1 if self._is_whole(_VISION_PARTS[share]) else split.attention
        ranks: Mapping[Share, float] = {
            Share.EMBEDDING: 1
            if self.model.architecture.startswith(_WHOLE_EMBEDDING)
            else split.attention,
            Share.EXPERTS: split.expert * split.within_expert,
            Share.DENSE: 1 if split.dense_whole else split.tensor,
            Share.SHARED: 1 if split.shared_whole else split.tensor,
            Share.ATTENTION: split.attention,
            Share.KV: self._kv_ranks(),
            Share.TABLES: split.tensor,
            Share.HEAD: split.attention if split.head_by_attention else split.tensor,
            Share.WHOLE: 1,
        }
        return ranks[share]

    def has_all_outputs(self, kind: Kind, found: Place) -> bool:
        """Whether such tensors are scales of each output of an expert: the ranks that share one have all of them."""
        scales = found.part == _OUTWARD and kind.name.endswith(_SCALES)
        return scales and self._output_bits > 0

    @property
    def _output_bits(self) -> int:
        """Bits of a scale where each output of an expert has one; 0 where none has."""
        stored = format_of(self.model, Role.EXPERTS)
        return stored.scale_bits if stored.group_size == 0 else 0

    def bits(self, kind: Kind, found: Place) -> float:
        """Bits of an element as the engine keeps it."""
        if found.part == _ROUTER and self.model.moe is not None and len(kind.shape) > 1:
            return self.model.moe.router_bits
        if kind.name.endswith(_PLAIN_WEIGHT) and kind.bits > self.model.dtype_bits:
            return (
                self.model.dtype_bits
            )  # weights in fp32 are loaded in the model's own number format
        scales = found.share is Share.EXPERTS and kind.name.endswith(_SCALES)
        if scales and is_nvfp4(format_of(self.model, Role.EXPERTS)):
            return kind.bits * (self.split.scale_copies or 1)
        return self._output_bits or kind.bits if scales else kind.bits

    def _is_whole(self, part: VisionPart) -> bool:
        vision = self.model.vision
        return self.split.vision_whole or vision is None or part not in vision.split

    def _kv_ranks(self) -> float:
        """KV heads are copied when there are fewer than ranks."""
        attention, ranks = self.model.attention, self.split.attention
        if isinstance(attention, Mla | Compressed):
            return ranks
        return attention.kv_heads / max(1, attention.kv_heads // ranks)


def _grouped(sums: Mapping[tuple[str, int | None, bool], float]) -> Iterator[Tensors]:
    """Parts of one size in several layers, as the engine's own tensors."""
    counts: dict[tuple[str, int, bool], int] = defaultdict(int)
    for (part, _, whole), size in sums.items():
        counts[part, round(size), whole] += 1
    for (part, size, whole), count in counts.items():
        yield Tensors(role=part, elements=size, bits=8, count=count, whole=whole)
