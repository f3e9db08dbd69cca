"""The `quantization_config` of packed weights in; their number format, or each number of it that no format has, out.

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
_SAID_BY_GROUP = "compressed-tensors"
"""It has no bits of its own where it has no groups."""
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
        if type(group[1]) is int and group[1] != _WHOLE_ROW and not 0 < group[1] <= most:
            yield f"`{path}.{group[0]}` is {group[1]:,}, and a group has 1 to {most:,} values, or is -1: a whole row"
        if method != _SAID_BY_GROUP:
            yield from _unsaid(path, bits, group)


_Number = tuple[str, object]
"""A key and its value."""


def _unsaid(path: str, *numbers: _Number) -> Iterator[str]:
    """What each method must say, or its class stops (`get_from_keys`)."""
    for key, value in numbers:
        if value is None:
            yield f"`{path}.{key}` is missing"
        elif type(value) is not int:
            yield f"`{path}.{key}` is no whole number"


def _numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, _Number, _Number]]:
    """Where numbers stand, the key and number of the bits, and those of a group."""
    groups = table.get("config_groups")
    if isinstance(groups, Mapping):
        for name, each in groups.items():
            weights = each.get("weights") if isinstance(each, Mapping) else None
            if isinstance(weights, Mapping):
                path = f"{_TABLE}.config_groups.{name}.weights"
                group = ("group_size", weights.get("group_size"))
                yield path, ("num_bits", weights.get("num_bits")), group
        return
    yield _TABLE, _bits(table), _group(table)


def _bits(table: Mapping[str, Any]) -> _Number:
    """The key that says how many bits packed weights have, and its value; one that is null says nothing."""
    return _first(table, "bits", "w_bit")


def _group(table: Mapping[str, Any]) -> _Number:
    """The key that says how many values share a scale, and its value."""
    return _first(table, "group_size", "q_group_size")


def _first(table: Mapping[str, Any], key: str, older: str) -> _Number:
    """AWQ's class takes an older name, too (layers/quantization/awq/awq.py, `from_config`)."""
    said = older if table.get(key) is None and table.get(older) is not None else key
    return said, table.get(said)


def _grouped(table: Mapping[str, Any], *, zero_points: bool) -> Mapping[str, int] | None:
    bits, group = _bits(table)[1], _group(table)[1]
    if type(bits) is not int or type(group) is not int:
        return None
    scales = {"group_size": group, "scale_bits": 16} if group > 0 else {}
    return {"bits": bits, **scales, **({"zero_bits": bits} if zero_points and group > 0 else {})}


def awq(table: Mapping[str, Any]) -> Mapping[str, int] | None:
    """The number format of AWQ, or of what is stored as it is."""
    return _grouped(table, zero_points=table.get("zero_point") is not False)


def gptq(table: Mapping[str, Any]) -> Mapping[str, int] | None:
    """That of GPTQ and AutoRound."""
    return _grouped(table, zero_points=table.get("sym") is not True)
