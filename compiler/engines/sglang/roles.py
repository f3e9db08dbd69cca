"""What a server does where prompts and answers are computed by servers of their own (`--disaggregation-mode`).

One that prefills captures no decode steps. One that decodes gets keys and values from others: what it runs for a new request
fills in tables and computes nothing (disaggregation/decode.py, `_run_batch_prebuilt`, before 0.5.11 `process_prebuilt_extend`),
so that its steps are as large as its requests are many.

Sources: 0.4.6 to 0.5.12 server_args.py, `_handle_pd_disaggregation`; from 0.5.13 on arg_groups/pd_disaggregation_hook.py; 0.5.18
server_args.py, 4584, and 0.5.23 arg_groups/cuda_graph_hook.py, 559; 0.4.9 to 0.5.13 model_executor, `pre_alloc_size`.
"""

from __future__ import annotations

from enum import StrEnum

from compiler.engines.sglang.settings import Settings


FLAG = "disaggregation-mode"
EXTRA_SLOTS = "disaggregation-decode-extra-slots"


class Role(StrEnum):
    """Which steps a server runs."""

    BOTH = "both"
    PREFILL = "prefill"
    DECODE = "decode"


def role_of(settings: Settings) -> Role:
    """The role asked for."""
    word = settings.word(FLAG)
    return Role(word) if word in {Role.PREFILL, Role.DECODE} else Role.BOTH


_ASKS_FOR_ALL = ("enable-piecewise-cuda-graph", "enforce-piecewise-cuda-graph")


def captures_decode(settings: Settings) -> bool:
    """Whether a role leaves the graphs of decode steps; a server that prefills has them where it is told to."""
    if role_of(settings) is not Role.PREFILL or settings.word("cuda-graph-backend-decode"):
        return True
    return any(settings.on(name) for name in _ASKS_FOR_ALL)


_FEW = 32


def waiting_rows(role: Role, *, rows: int, asked: int | None) -> int:
    """Rows that a decode server's request table has more, for requests whose keys are on their way."""
    if role is not Role.DECODE:
        return 0
    return asked if asked is not None else 2 * rows if rows <= _FEW else 0
