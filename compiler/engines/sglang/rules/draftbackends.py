"""Attention backends against speculation: which verify what is drafted, and whether prefill and decode may have their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import (
    ALGORITHM,
    BACKEND,
    BACKENDS,
    DECODE_BACKEND,
    PREFILL_BACKEND,
    Given,
    given_by,
)
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.engines.sglang.speculation import NGRAM, STEPWISE
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_DRAFTS_OWN = "speculative-draft-attention-backend"
_NATIVE, _FLEXIBLE = "torch_native", "flex_attention"

_SINCE: Mapping[str, str] = {
    "flashinfer": "0.4.6.post5",
    "triton": "0.4.6.post5",
    "fa3": "0.4.6.post5",
    "flashmla": "0.4.6.post5",
    "aiter": "0.5.1",
    "trtllm_mha": "0.5.1",
    "trtllm_mla": "0.5.1",
    "nsa": "0.5.4",
    "ascend": "0.5.5",
    "fa4": "0.5.10",
    "dsv4": "0.5.12",
    "compressed": "0.5.12",
    "tokenspeed_mla": "0.5.12",
    "dsa": "0.5.13",
    "cutedsl_mla": "0.5.13",
    "intel_amx": "0.5.16",
    "intel_xpu": "0.5.20",
}
"""A backend -> the first release whose draft worker has it, of those from 0.4.6.post5 on, and each has it to 0.5.23.

speculative/eagle_worker.py (`init_attention_backend`, to 0.5.3), then speculative/draft_utils.py (`DraftBackendFactory`).
"""


@rule("draft-attention", flags=(ALGORITHM,))
def backend_of_the_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A draft that works token by token has backends of its own for drafting and for its prefill; NGRAM verifies only.

    `torch_native` reads lengths in a step that verifies which such a step does not have (torch_native_backend.py,
    `forward_extend`, 0.5.3 to 0.5.23); public report sgl-project/sglang#36352.
    """
    given = given_by(plan)
    asked = plan.profile.speculative
    if asked is None or given.before("0.4.6.post5"):
        return
    if asked.algorithm in STEPWISE:
        own = given.word(_DRAFTS_OWN)
        flags = (_DRAFTS_OWN,) if own is not None else BACKENDS
        because = "the draft worker stops at start: it has no such backend"
    elif asked.algorithm == NGRAM:
        flags = BACKENDS
        because = (
            "the server dies in the first step that verifies a draft, which its own warm-up is"
        )
    else:
        return
    for flag in flags:
        backend = given.word(flag)
        if backend is None or _drafts(given, backend, is_ngram=asked.algorithm == NGRAM):
            continue
        yield refusal(
            given,
            "draft-attention",
            f"the attention backend `{backend}` does not run with {asked.algorithm.upper()}",
            at(
                given,
                where,
                flag,
                text="has no part for drafts",
                beside={"speculative.algorithm": "drafts"},
            ),
            because=because,
            help=(f"leave {line(given, flag)} out: the server chooses one that does",),
        )


def _drafts(given: Given, backend: str, *, is_ngram: bool) -> bool:
    if is_ngram:
        return backend != _NATIVE
    if backend == _FLEXIBLE and given.since("0.5.3"):
        return True  # verifies nothing at all, which is said elsewhere
    first = _SINCE.get(backend)
    return first is not None and given.since(first)


@rule("draft-two-backends", flags=(ALGORITHM,))
def one_backend_for_both(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Prefill and decode by different backends: not with speculation before 0.5.2.

    0.4.9.post5 to 0.5.1.post3 (model_runner.py, `_get_attention_backend`: "HybridAttentionBackend does not support
    speculative decoding"); public report sgl-project/sglang#9330.
    """
    given = given_by(plan)
    if plan.profile.speculative is None or not given.since("0.4.9.post5"):
        return
    prefill = given.word(PREFILL_BACKEND) or given.word(BACKEND)
    decode = given.word(DECODE_BACKEND) or given.word(BACKEND)
    if given.since("0.5.2") or prefill is None or decode is None or prefill == decode:
        return
    flag = PREFILL_BACKEND if given.word(PREFILL_BACKEND) is not None else DECODE_BACKEND
    yield refusal(
        given,
        "draft-two-backends",
        f"speculation runs with one attention backend, not with `{prefill}` for prefill and `{decode}` for decode",
        at(
            given,
            where,
            flag,
            text="differs from the other",
            beside={"speculative.algorithm": "drafts"},
        ),
        because="the server stops at start; later releases, from 0.5.2 on, run it",
        help=(f"leave {line(given, flag)} out, or take 0.5.2 or later",),
    )
