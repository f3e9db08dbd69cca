"""The promise itself: whether the server would run as many requests at once as are promised."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, present
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


@rule("concurrency-beyond-limit")
def concurrency(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A request that may not run holds no context, however large the pool is."""
    promised, limit = plan.profile.serve.concurrency, plan.running_requests
    if limit is None or promised <= limit:
        return
    own, parallel = plan.profile.serve.max_running_requests, plan.profile.parallel
    needed = parallel.limit_of(parallel.share(promised))
    yield error(
        "concurrency-beyond-limit",
        f"{promised} requests at once are promised, and {limit} may run",
        where.primary("serve.concurrency", text=f"{promised} at once"),
        secondary=present(
            where.label(
                "serve.max_running_requests", f"{counted(limit, 'request', does='run')} at once"
            )
        ),
        notes=tuple(_notes(plan, own, limit)),
        help=(
            f"set `serve.max_running_requests` to {needed} or more; it takes from the reserve",
            f"or set `serve.concurrency = {limit}`",
        ),
        path="serve.concurrency",
    )


def _notes(plan: Plan, own: int | None, limit: int) -> Iterator[str]:
    replicas = plan.profile.parallel.data
    if replicas > 1:
        whole = "" if own is None else f", by `serve.max_running_requests = {own}`"
        yield f"{plan.running_each} on each of {replicas} replicas{whole}"
    elif own != limit:
        yield f"the engine's own limit here is {limit}"
