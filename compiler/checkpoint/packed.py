"""The `quantization_config` of packed weights in; each number of it that no format that is known has out.

Sources: SGLang 0.5.11 layers/quantization/awq/awq.py (`TYPE_MAP`), gptq.py (172), auto_round.py (`SUPPORTED_BITS`),
compressed_tensors/schemes/compressed_tensors_wNa16.py (`WNA16_SUPPORTED_BITS`), marlin_utils.py (a group of -1 is a whole row).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


_BITS: Mapping[str, tuple[int, ...]] = {
    "awq": (4, 8),
    "gptq": (2, 3, 4, 8),
    "auto-round": (2, 3, 4, 8),
    "compressed-tensors": (4, 8),
}
_WHOLE_ROW = -1
_WIDEST = 10**6
"""The most values of a group where the hidden size is not known: beyond any model's."""
_TABLE = "quantization_config"


def odd_numbers(method: str, table: Mapping[str, Any], *, hidden: object) -> Iterator[str]:
    """What is wrong with the bits and groups of a method; no group is above the model's hidden size, where that is sound."""
    known = _BITS.get(method)
    if known is None:
        return
    most = hidden if type(hidden) is int and hidden > 0 else _WIDEST
    for path, bits, group in _numbers(table):
        if type(bits[1]) is int and bits[1] not in known:
            *less, most_bits = map(str, known)
            several = f"{', '.join(less)}{',' if len(less) > 1 else ''} or {most_bits}"
            yield f"`{path}.{bits[0]}` is {bits[1]:,}, and weights of `{method}` have {several} bits"
        if type(group) is int and group != _WHOLE_ROW and not 0 < group <= most:
            yield f"`{path}.group_size` is {group:,}, and a group has 1 to {most:,} values, or is -1: a whole row"


def _numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, object], object]]:
    """Where numbers stand, the key and number of the bits, and that of a group."""
    groups = table.get("config_groups")
    if isinstance(groups, Mapping):
        for name, each in groups.items():
            weights = each.get("weights") if isinstance(each, Mapping) else None
            if isinstance(weights, Mapping):
                path = f"{_TABLE}.config_groups.{name}.weights"
                yield path, ("num_bits", weights.get("num_bits")), weights.get("group_size")
        return
    yield _TABLE, bits_of(table), table.get("group_size")


def bits_of(table: Mapping[str, Any]) -> tuple[str, object]:
    """The key that says how many bits packed weights have, and its value; one that is null says nothing."""
    key = "bits" if table.get("bits") is not None else "w_bit"
    return key, table.get(key)
