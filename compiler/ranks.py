"""How the tensor parallel ranks of a layout fall into groups, and what has to follow another number of them."""

from __future__ import annotations

from math import gcd

from compiler.profile import Parallel
from compiler.quantities import counted


def has_groups(parallel: Parallel) -> bool:
    """Whether the ranks fall into as many groups as there are replicas, as those of data parallel attention do."""
    return parallel.data > 1 and parallel.tensor % parallel.data == 0


def resized(parallel: Parallel, tensor: int) -> str:
    """Advice to take another tensor parallel size, with what has to follow it, and the GPUs that it takes."""
    steps = [f"`parallel.tensor = {tensor}`"]
    if tensor % parallel.expert:
        steps.append(f"`parallel.expert = {gcd(parallel.expert, tensor)}`")
    if parallel.dp_attention and tensor % parallel.data:
        steps.append(f"`parallel.data = {gcd(parallel.data, tensor)}`")
    copies = 1 if parallel.dp_attention else parallel.data
    return f"set {' and '.join(steps)}, on {counted(tensor * parallel.pipeline * copies, 'GPU')}"
