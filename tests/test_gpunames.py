"""What people call a GPU, and which entry of the catalogue that is."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.catalog.gpunames import gpu_id, near_gpu


CATALOG = open_catalog()


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("h100", "h100"),
        ("H100", "h100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("nvidia geforce rtx 4090", "rtx-4090"),
        ("A100-SXM4-80GB", "a100"),
        ("h100-sxm", "h100-sxm"),
        ("custom", "custom"),
        ("dgx-spark", "gb10"),
        ("NVIDIA DGX Spark", "gb10"),
        ("spark", "spark"),
    ],
)
def test_a_name_that_is_sure(name: str, id_: str) -> None:
    """An id in any case, what the driver prints, and a machine with one kind only; what may be another card stays as it is."""
    assert gpu_id(name, CATALOG) == id_


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("h100-sxm5-80gb", "h100"),
        ("h100-80gb", "h100"),
        ("a100-sxm-80", "a100"),
        ("rtx pro 6000", "rtx-pro-6000-blackwell"),
        ("4090", "rtx-4090"),
        ("mi300", "mi300x"),
        ("H100 80GB", "h100"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("spark", "gb10"),
        ("dgx_spark", "gb10"),
        ("h1000", "h100"),
        ("", None),
        ("a-card", None),
    ],
)
def test_a_name_that_says_more_or_less(name: str, near: str | None) -> None:
    """The card whose words it holds, or that holds its words, is offered, and not one of another number."""
    assert near_gpu(name, CATALOG) == near
