"""A node that another one answers for: what its server tells, and what it does not."""

from __future__ import annotations


def untold(*, rank: int | None, nodes: int | None) -> str | None:
    """Why the server of a node does not tell the size of its pool; `None` for node 0, which does.

    From node 1 on `launch_dummy_health_check_server` listens alone (0.4.3 to 0.5.23): `/health`, `/health_generate`, from 0.5.4
    on `/ping`. It begins once the ranks of its node are ready. Each rank sizes its pool by the least free memory of all
    (`get_available_gpu_memory`, distributed over the world), so that one node can speak for them.
    """
    if rank is None or rank < 1:
        return None
    return (
        f"node {rank} of {max(rank + 1, nodes or 1)} answers `/health` alone; "
        "every rank sizes its pool by the least free memory of all nodes, and node 0 tells it"
    )
