"""How many slots of the pool a promise needs."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.plan import Pool
from compiler.profile import Profile


def request_tokens(profile: Profile, promised: int | None, *, width: int, page: int) -> int:
    """Slots that one request of full context needs, in whole pages; or one of what is `promised`, where that is less.

    A request holds at most `context - 2` tokens of input and output; at its last step `context - 4` of them are in the pool
    and one slot for each verified token must be free (managers/tp_worker.py, lines 302-312; managers/scheduler.py, line
    1838; speculative/dflash_worker.py).
    """
    context = profile.serve.tokens
    slots = (context if promised is None else min(promised, context)) - 4 + width
    return -(-slots // page) * page


def dealt_out(
    profile: Profile, *, pool: Pool | None = None, rows: int | None = None
) -> Iterator[str]:
    """How the requests of a promise are taken to fall on replicas, and what it comes to where they do not.

    Unless `--load-balance-method` says otherwise each replica gets the next request in turn, whatever it is busy with (0.4.1 to
    0.5.23 managers/data_parallel_controller.py, `round_robin_scheduler`); one that its pool has no room for waits.
    `rows`: most requests at once of one replica.
    """
    promised, replicas = profile.serve.concurrency, profile.parallel.data
    each = profile.parallel.share(promised)
    if each == promised:
        return
    said = f"the {promised} requests are taken as spread evenly over {replicas} replicas, no more than {each} on one"
    if pool is None or rows is None:
        yield f"{said}; what comes to one beyond its pool waits"
        return
    held = min(rows, int(pool.tokens.low) // max(1, pool.request_tokens))
    if held < promised:
        yield f"{said}; at worst all come to one, which has room for {held} at once, and the others wait"
    else:
        yield f"{said}; one has room for all of them"
