"""Standard output and standard error that bear a reader who goes away, and text that their encoding does not have."""

from __future__ import annotations

import os
import sys
from errno import EPIPE
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO


if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StreamFailed(Exception):  # noqa: N818 - it says what happened
    """What a run prints cannot be written, by the system's reason."""


class _Lenient(FileIO):
    """A stream whose reader may go away (`| head`): what it does not read is lost, the run and its exit code are not."""

    def write(self, data: ReadableBuffer, /) -> int:
        """As in `FileIO`, which gives `None` only where a descriptor does not block.

        Raises:
            StreamFailed: when the system would not, for another reason than that; once.
        """
        try:
            return super().write(data)
        except OSError as fault:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if fault.errno != EPIPE:
                raise StreamFailed((fault.strerror or type(fault).__name__).lower()) from fault
            return memoryview(data).nbytes


def bear_lost_readers() -> None:
    """Put such streams in the place of the process's own. One that was closed by the caller takes everything."""
    sys.stdout = _lenient(sys.stdout, own=sys.__stdout__)
    sys.stderr = _lenient(sys.stderr, own=sys.__stderr__)


def _lenient(stream: TextIO | None, *, own: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    somebody_elses = stream is not own  # a test's, as a rule
    if somebody_elses or not isinstance(stream, TextIOWrapper):
        return stream
    return TextIOWrapper(
        BufferedWriter(_Lenient(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
