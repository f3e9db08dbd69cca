"""What is meant where GPUs are named in place of their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from compiler.catalog.slices import instead_of_uuids
from compiler.diagnostics import Diagnostic, printable


SETTING = "gpus.indices"
_NAMED = ("GPU-", "MIG-")
"""What the names begin with of a GPU and of a slice of one, as `nvidia-smi -L` has them."""


def with_meant_indices(
    faults: tuple[Diagnostic, ...], values: Mapping[str, Any]
) -> tuple[Diagnostic, ...]:
    """The faults, those of names among indices with how the index is found, or why there is none."""
    gpus = values.get("gpus")
    given = gpus.get("indices") if isinstance(gpus, Mapping) else None
    several = given if isinstance(given, list) else [given]
    words = [each for each in several if isinstance(each, str) and each.startswith(_NAMED)]
    if not words:
        return faults
    return tuple(
        evolve(each, help=(*each.help, by_index(words, SETTING))) if _is_of_these(each) else each
        for each in faults
    )


def by_index(words: list[str], setting: str) -> str:
    """How the indices are found of what is named."""
    if any(each.startswith("MIG-") for each in words):
        return instead_of_uuids(setting)
    named = " and ".join(f"`{printable(each)}`" for each in words)
    return f"`nvidia-smi -L` on the host says which index {named} has"


def _is_of_these(fault: Diagnostic) -> bool:
    return fault.code == "wrong-type" and (fault.path or "").startswith(SETTING)
