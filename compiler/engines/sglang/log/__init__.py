"""What SGLang prints and serves about itself while it starts, read.

`scan` picks the lines that matter out of a log, `lines` reads one, `starts` puts them together; `answers` reads the endpoints,
`flags` and `recording` what the server made of its command line; `needing` what it asks of the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from compiler.engines.observing import FlagSeen, HostNeeds, LogReading, Phase, Start
from compiler.engines.sglang.log import answers, flags, needing, recording
from compiler.engines.sglang.log.phases import phase
from compiler.engines.sglang.log.starts import read_log
from compiler.value import Value


@frozen(eq=False, repr=False)
class _Log(Value):
    """SGLang's `Observer`."""

    endpoints: tuple[tuple[str, ...], ...] = answers.ENDPOINTS
    health: str = answers.HEALTH

    def phase(self, line: str) -> tuple[Phase, str] | None:
        return phase(line)

    def read_log(self, blocks: Iterable[bytes]) -> LogReading:
        return read_log(blocks)

    def read_answer(self, path: str, *, body: bytes) -> Start | None:
        return answers.read_answer(path, body=body)

    def asked(self, argv: Sequence[str]) -> Mapping[str, object]:
        return flags.asked(argv)

    def compare(
        self, argv: Sequence[str], *, settings: Mapping[str, object]
    ) -> tuple[FlagSeen, ...]:
        return flags.compare(argv, settings=settings)

    def address(self, argv: Sequence[str]) -> tuple[str, int]:
        return flags.address(argv)

    def untold(self, argv: Sequence[str]) -> str | None:
        return flags.untold(argv)

    def secret_file(self, argv: Sequence[str]) -> str | None:
        return flags.secret_file(argv)

    def folders(self, argv: Sequence[str]) -> tuple[tuple[str, str], ...]:
        return flags.folders(argv)

    def host_needs(self, argv: Sequence[str], *, version: str) -> HostNeeds:
        return needing.host_needs(argv, version=version)

    def read_key(self, text: str) -> str | None:
        return flags.read_key(text)

    def budget_lines(self, start: Start) -> Mapping[str, float]:
        return recording.budget_lines(start)

    def boot_fields(self, settings: Mapping[str, object]) -> Mapping[str, object]:
        return recording.boot_fields(settings)


OBSERVER = _Log()
