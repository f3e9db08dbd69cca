"""A slice of a GPU (MIG): told by its name, and what to do about one, of which the catalogue has none."""

from __future__ import annotations

import re


# NVIDIA's MIG user guide, "MIG Device Names": 3g.40gb, 1c.3g.20gb, 1g.10gb+me; the driver puts `MIG` before it.
_NAME = re.compile(r"(?<![a-z0-9])(mig(?![a-z0-9])|\d+g\.\d+gb)", re.IGNORECASE)

NO_SLICE = (
    "a slice of a GPU (MIG) has memory and multiprocessors of its own, and the catalogue has none"
)
"""Why the card that is called alike is not what to take."""
APART = "where each has a slice of its own, give each a target of its own name: slices of one host are not told apart"
"""What ends that two services are taken to share one."""
_FIGURES = "with the memory that `nvidia-smi` shows for the slice, and what a log prints before weights load (docs/how-to/describe-your-own.md)"


def is_slice(name: str) -> bool:
    """Whether a name, as the driver or somebody else writes it, is that of a slice."""
    return _NAME.search(name) is not None


def described_slice(name: str) -> str:
    """How one is described that is called so."""
    return f"describe it as a GPU of its own: `poolproof catalog add-gpu {name}`, {_FIGURES}"


def instead_of_uuids(setting: str) -> str:
    """What to do where its UUID stands in a profile."""
    return (
        f"a slice of MIG has no index: remove `{setting}`, and say which slice on the host, in a drop-in of the unit; "
        f"for its memory describe it as a GPU of its own by `poolproof catalog add-gpu`, {_FIGURES}"
    )
