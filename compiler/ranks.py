"""How the tensor parallel ranks of a layout fall into groups, and what has to follow another number of them."""

from __future__ import annotations

from math import gcd

from compiler.profile import Parallel, Profile
from compiler.quantities import counted


def may_share(profile: Profile) -> bool:
    """Whether data parallel attention is all that its replicas lack: the ranks on these GPUs fall into as many groups."""
    parallel = profile.parallel
    alone = profile.gpus.count == parallel.tensor * parallel.pipeline
    return alone and parallel.data > 1 and parallel.tensor % parallel.data == 0


def resized(parallel: Parallel, tensor: int) -> str:
    """Advice to take another tensor parallel size, with what has to follow it, and the GPUs that it takes."""
    steps = [f"`parallel.tensor = {tensor}`"]
    if tensor % parallel.expert:
        steps.append(f"`parallel.expert = {gcd(parallel.expert, tensor)}`")
    if parallel.dp_attention and tensor % parallel.data:
        steps.append(f"`parallel.data = {gcd(parallel.data, tensor)}`")
    copies = 1 if parallel.dp_attention else parallel.data
    return f"set {' and '.join(steps)}, on {counted(tensor * parallel.pipeline * copies, 'GPU')}"
