"""How many slots of the pool a promise needs."""

from __future__ import annotations

from compiler.profile import Profile


def request_tokens(profile: Profile, *, width: int, page: int) -> int:
    """Slots that one request of full context needs, in whole pages.

    A request holds at most `context - 2` tokens of input and output; at its last step `context - 4` of them are in the pool
    and one slot for each verified token must be free (managers/tp_worker.py, lines 302-312; managers/scheduler.py, line
    1838; speculative/dflash_worker.py).
    """
    slots = profile.serve.tokens - 4 + width
    return -(-slots // page) * page
