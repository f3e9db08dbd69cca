"""Many items, worked on by all cores: the processes fork, so that nothing is handed over but the answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar


if TYPE_CHECKING:
    from multiprocessing.connection import Connection


Item = TypeVar("Item")
Answer = TypeVar("Answer")

_LEAST = 32
"""So many items make a process worth its start, which takes as long as ten of them."""


def abreast(work: Callable[[Sequence[Item]], Answer], items: Sequence[Item]) -> list[Answer]:
    """The answers for runs of the items, in their order: one run for few items, one a core for many.

    `work` must not hang on what it did for other runs, and its answer must be picklable. What it changes elsewhere is lost
    where another process did it.
    """
    if len(items) < 2 * _LEAST:
        return [work(items)]
    shares = _shares(items, count=min(_cores(), len(items) // _LEAST))
    # All are started before any is waited for. The first is done here.
    ends: list[Connection] = []
    waiting = [_start(work, share, ends) for share in shares[1:]]
    return [work(shares[0]), *(wait() for wait in waiting)]


def _cores() -> int:
    """The cores that this process may use; 1 where it cannot fork with all that it has."""
    import threading  # noqa: PLC0415 - loaded by now, with much else

    # A fork takes only one thread along, and what the others hold stays held. macOS' own libraries start some.
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def _shares(items: Sequence[Item], *, count: int) -> list[Sequence[Item]]:
    ends = [len(items) * place // count for place in range(count + 1)]
    return [items[start:end] for start, end in pairwise(ends)]


def _start(
    work: Callable[[Sequence[Item]], Answer], share: Sequence[Item], ends: list[Connection]
) -> Callable[[], Answer]:
    """Begin a share in a process of its own; what is returned waits for its answer.

    `ends` are where answers are read, this one's too: a child that kept one open would write for ever once nobody reads.
    """
    from multiprocessing import get_context  # noqa: PLC0415 - most runs have few items
    from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask  # noqa: PLC0415 - as above

    context = get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    ends.append(reading)
    child = context.Process(target=_answer, args=(writing, work, share, ends), daemon=True)
    # Who interrupts a run means the process that began it, which ends this one: the fork keeps the signal blocked.
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        child.start()
    except OSError:  # no more processes, or no memory for one
        return lambda: work(share)
    finally:
        pthread_sigmask(SIG_SETMASK, before)
        writing.close()

    def wait() -> Answer:
        with reading, suppress(EOFError, OSError):
            answer: Answer = reading.recv()
            child.join()
            return answer
        return work(share)  # it was killed, or met a fault, which is met here again

    return wait


def _answer(
    writing: Connection,
    work: Callable[[Sequence[Item]], Answer],
    share: Sequence[Item],
    ends: Sequence[Connection],
) -> None:
    for each in ends:
        each.close()
    with suppress(Exception):
        writing.send(work(share))
