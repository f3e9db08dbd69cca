"""What CUDA shows of a value of `CUDA_VISIBLE_DEVICES`."""

from __future__ import annotations

import pytest

from compiler.visibledevices import shown_by


@pytest.mark.parametrize(
    ("value", "gpus", "because"),
    [
        ("0,1", ("0", "1"), None),
        (" 2, 1 ", ("2", "1"), None),
        ("01,1", (), "names `1` twice"),
        ("0,0", (), "names `0` twice"),
        ("", (), "empty"),
        ("-1", (), "up to `-1`"),
        ("0,2,-1,1", ("0", "2"), "up to `-1`"),
        ("0,-1,0", ("0",), "up to `-1`"),
        ("0,,1", ("0",), "up to an empty word"),
        ("0,1,", ("0", "1"), "up to an empty word"),
        ("0," + "9" * 5000, ("0",), "names no GPU"),
        ("all", (), "up to `all`"),
        ("0-3", ("0",), "of `0-3` it reads `0`"),
        ("GPU-8932f937,GPU-1", ("GPU-8932f937", "GPU-1"), None),
        ("GPU-1,GPU-1", (), "names `GPU-1` twice"),
        ("GPU-1,0", ("GPU-1",), "up to `0`"),
        ("0,GPU-1", ("0",), "up to `GPU-1`"),
        ("MIG-1/2/3", ("MIG-1/2/3",), None),
    ],
)
def test_what_cuda_shows(value: str, gpus: tuple[str, ...], because: str | None) -> None:
    """It reads numbers, or names of one kind, up to the first that is none; one that is named twice hides all."""
    shown = shown_by(value)
    assert shown.gpus == gpus
    assert (shown.because is None) is (because is None)
    assert because is None or because in (shown.because or "")


def test_indices_are_of_numbers_only() -> None:
    """A list of names has no indices."""
    assert shown_by("3,1").indices == (3, 1)
    assert shown_by("GPU-1").indices is None
