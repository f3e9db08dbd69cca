"""Servers that only prefill or only decode, and hand KV over to each other."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_MODE = "disaggregation-mode"
_TRANSFER = "disaggregation-transfer-backend"
_RADIX = "disaggregation-decode-enable-radix-cache"
_OFFLOAD = "disaggregation-decode-enable-offload-kvcache"
_STORAGE = "hicache-storage-backend"
_DRAFTS_BESIDE = frozenset({"dspark", "eagle", "eagle3", "nextn"})


@rule("handover-radix", flags=(_MODE,))
def prefixes_of_a_decode_server(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The prefix cache of a server that only decodes.

    `_handle_pd_disaggregation`: NIXL alone in 0.5.11, Mooncake too in 0.5.12 and 0.5.13, then all but `fake`. No speculation
    to 0.5.22; EAGLE and DSpark run in 0.5.23 (speculative_hook.py).
    """
    given, asked = given_by(plan), plan.profile.speculative
    if given.word(_MODE) != "decode" or not given.on(_RADIX) or not given.since("0.5.11"):
        return
    transfer = given.word(_TRANSFER) or "mooncake"
    if not _keeps_prefixes(given, transfer):
        yield refusal(
            given,
            "handover-radix",
            f"the prefix cache of a decode server does not run with the transfer `{transfer}`",
            at(given, where, _RADIX, text="keeps prefixes", beside={_TRANSFER: f"`{transfer}`"}),
            help=(f'set `{_TRANSFER} = "nixl"`, or leave `{_RADIX}` out',),
        )
    runs = not given.before("0.5.23") and asked is not None and asked.algorithm in _DRAFTS_BESIDE
    if asked is not None and not runs:
        yield refusal(
            given,
            "handover-radix",
            f"the prefix cache of a decode server does not run beside speculation with `{asked.algorithm}`",
            at(
                given,
                where,
                _RADIX,
                text="keeps prefixes",
                beside={"speculative.algorithm": f"`{asked.algorithm}`"},
            ),
            help=(f"leave {line(given, _RADIX)} or `[speculative]` out",),
        )


def _keeps_prefixes(given: Given, transfer: str) -> bool:
    if given.before("0.5.12"):
        return transfer == "nixl"
    if given.before("0.5.14"):
        return transfer in {"nixl", "mooncake"}
    return transfer != "fake"


@rule("handover-offload", flags=(_OFFLOAD,))
def offload_of_a_decode_server(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Offloading KV is for servers that decode, to a storage (0.5.3 to 0.5.23, `_handle_cache_compatibility`)."""
    given = given_by(plan)
    if not given.on(_OFFLOAD) or not given.since("0.5.3"):
        return
    fault = _offload_fault(given)
    if fault is None:
        return
    summary, advice = fault
    yield refusal(
        given,
        "handover-offload",
        f"`--{_OFFLOAD}` {summary}",
        at(given, where, _OFFLOAD, text="moves KV to a storage", beside={_MODE: "this server"}),
        help=(advice, f"or leave {line(given, _OFFLOAD)} out"),
    )


def _offload_fault(given: Given) -> tuple[str, str] | None:
    if given.word(_MODE) != "decode":
        return "is for a server that only decodes", f'set `{_MODE} = "decode"`'
    if given.word(_STORAGE) is None:
        return "needs a storage", f"set `{_STORAGE}`"
    return None


@rule("handover-transfer", flags=(_MODE,))
def a_real_transfer(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A server that only prefills hands KV over in earnest (0.5.10 to 0.5.23, `_handle_pd_disaggregation`)."""
    given = given_by(plan)
    if given.word(_MODE) != "prefill" or given.word(_TRANSFER) != "fake":
        return
    if not given.since("0.5.10"):
        return
    yield refusal(
        given,
        "handover-transfer",
        "a server that only prefills cannot hand KV over by `fake`",
        at(given, where, _TRANSFER, text="for tests of decoding", beside={_MODE: "prefills"}),
        because="the server stops with an assertion at start",
        help=(f'set `{_TRANSFER} = "mooncake"` or `{_TRANSFER} = "nixl"`',),
    )
