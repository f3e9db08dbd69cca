"""A matrix and the number format of its role in; the tensors that an engine keeps for it out."""

from __future__ import annotations

import math
from collections.abc import Iterator

from attrs import frozen

from compiler.architecture import Format, Role
from compiler.facts import Draft, Model
from compiler.memory.weights import Tensors
from compiler.value import Value


def format_of(model: Model | Draft, role: Role) -> Format:
    """How the weights of a role are stored; the model's, or the draft's, own number format when no quantization names the role."""
    formats = model.quantization.formats if model.quantization is not None else ()
    plain = Format(roles=(role,), bits=model.dtype_bits)
    return next((each for each in formats if role in each.roles), plain)


_FP8, _FP8_BITS = "fp8", 8
_LEAST_BLOCK = 128 * 128


def in_blocks(model: Model) -> bool:
    """Whether weights are in fp8 with a scale for each block."""
    kind = model.quantization
    return (
        kind is not None
        and kind.method == _FP8
        and any(each.bits == _FP8_BITS and each.group_size >= _LEAST_BLOCK for each in kind.formats)
    )


def padded(size: int, *, step: int) -> int:
    """The next multiple of a step."""
    return -(-size // step) * step


@frozen(kw_only=True, eq=False, repr=False)
class Matrix(Value):
    """One weight as one rank has it.

    Attributes:
        name: what it is called to a reader.
        elements: on this rank.
        count: how many of them, by layers.
        whole: whether every rank has all of it.
        late: whether it is made once everything is loaded.
    """

    name: str
    elements: int
    count: int = 1
    whole: bool = False
    late: bool = False

    def tensors(self, stored: Format) -> Iterator[Tensors]:
        """The values, then scales and zero points."""
        if self.count == 0 or self.elements == 0:
            return
        yield self._of(self.name, self.elements, stored.bits)
        if stored.group_size == 0:
            return
        groups = math.ceil(self.elements / stored.group_size)
        for what, bits in (("scales", stored.scale_bits), ("zero points", stored.zero_bits)):
            if bits:
                yield self._of(f"{self.name}, {what}", groups, bits)

    def _of(self, name: str, elements: int, bits: float) -> Tensors:
        return Tensors(
            role=name,
            elements=elements,
            bits=bits,
            count=self.count,
            whole=self.whole,
            late=self.late,
        )
