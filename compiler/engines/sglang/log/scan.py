"""The few lines of a log that matter, picked out of any number of others in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


# One of these stands in every line that `lines` reads. They are looked for as bytes, which is some ten times faster than
# one regular expression, and none stands in what a busy server writes (`#token: ` has no `s`).
MARKS = (
    b"avail mem=",
    b"#tokens: ",
    b"server_args=",
    b"max_total_num_tokens=",
    b"Mamba Cache is",
    b"layer_tokens=",
    b"ready to roll",
)
# What a new start writes first. Once one is complete nothing else can change what is known.
WAKING = (b"server_args=", b"Load weight begin")

LONGEST = 2**20
"""A line of more bytes is read in pieces; the longest that matters, the server's arguments, has some 20,000."""


def marked_lines(
    blocks: Iterable[bytes], *, is_settled: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """The lines with a mark, in order; while `is_settled` only from the next start on."""
    rest = b""
    for block in blocks:
        data = rest + block
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) <= LONGEST:
            rest = data
            continue
        end = end or len(data)
        yield from _marked(data, end, is_settled=is_settled)
        rest = data[end:]
    yield from _marked(rest, len(rest), is_settled=is_settled)


def _marked(data: bytes, end: int, *, is_settled: Callable[[], bool]) -> Iterator[str]:
    begin = _waking(data, end) if is_settled() else 0
    spans: dict[int, int] = {}
    for mark in MARKS if begin < end else ():
        at = data.find(mark, begin, end)
        while at >= 0:
            stop = data.find(b"\n", at, end)
            stop = end if stop < 0 else stop
            spans[data.rfind(b"\n", 0, at) + 1] = stop
            at = data.find(mark, stop, end)
    for start, stop in sorted(spans.items()):
        yield data[start:stop].decode("utf-8", "replace")


def _waking(data: bytes, end: int) -> int:
    """Where the line of the next start begins; the end when there is none."""
    found = [at for mark in WAKING if (at := data.find(mark, 0, end)) >= 0]
    return data.rfind(b"\n", 0, min(found)) + 1 if found else end
