"""How attention, experts and the head are spread over ranks: what releases refuse, and the size they put in its place."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.exchange import DEALS_OUT
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import ASSERTS, at, caution, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Parallel
from compiler.ranks import may_share
from compiler.rules import rule


EXCHANGE = "moe-a2a-backend"
"""What names the backend by which experts exchange tokens."""
_CONTEXT = ("attention-context-parallel-size", "attn-cp-size")
_EXPERTS = ("moe-data-parallel-size", "moe-dp-size")
_RUNNER = "moe-runner-backend"
OLD_SWITCHES = ("enable-ep-moe", "enable-deepep-moe")
"""What asked for expert parallel groups before there were sizes and backends."""


@rule("dp-head-alone", flags=("enable-dp-lm-head",))
def head_needs_attention(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The head is data parallel only where attention is (0.4.6.post5 to 0.5.21; `_handle_data_parallelism`).

    With data parallel size 1 both are switched off (0.5.3 on).
    """
    given, parallel = given_by(plan), plan.profile.parallel
    if not given.on("enable-dp-lm-head") or parallel.dp_attention or parallel.data == 1:
        return
    if not given.since("0.4.6.post5") or not given.before("0.5.22"):
        return
    yield refusal(
        given,
        "dp-head-alone",
        "`--enable-dp-lm-head` needs data parallel attention",
        at(given, where, "enable-dp-lm-head", text="a data parallel head"),
        help=(
            f"{'set `parallel.dp_attention = true`, or ' if may_share(plan.profile) else ''}leave `enable-dp-lm-head = true` out",
        ),
    )


@rule("dense-size", flags=("moe-dense-tp-size",))
def dense_size(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Dense MLPs run on one rank or on all (`check_server_args`: {1, None} to 0.5.12, and the whole size from 0.5.13)."""
    given, tensor = given_by(plan), plan.profile.parallel.tensor
    size = given.whole("moe-dense-tp-size")
    if size is None or size == 1 or (size == tensor and not given.before("0.5.13")):
        return
    also = "" if given.before("0.5.13") else f", or {tensor} as `parallel.tensor`"
    yield refusal(
        given,
        "dense-size",
        f"dense MLPs cannot run on {size} ranks",
        at(given, where, "moe-dense-tp-size", text=f"{size} ranks"),
        because="the server stops with an assertion at start",
        help=(f"set `moe-dense-tp-size = 1`{also}, or leave it out",),
    )


@rule("context-parallel", flags=(*_CONTEXT, *_EXPERTS))
def context_parallel(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Ranks divide into groups for the context and the experts' data (0.5.9 to 0.5.23; `_handle_context_parallelism`)."""
    given, parallel = given_by(plan), plan.profile.parallel
    if not given.since("0.5.9"):
        return
    attention = given.whole(*_CONTEXT) or 1
    experts = given.whole(*_EXPERTS) or 1
    faults = []
    replicas = parallel.data if given.before("0.5.22") else 1
    if parallel.tensor % (replicas * attention):
        times = f"{replicas} x " if replicas > 1 else ""
        faults.append(f"{parallel.tensor} ranks do not divide by {times}{attention} for attention")
    if experts > 1 and parallel.tensor % experts:
        faults.append(f"{parallel.tensor} ranks do not divide by {experts} for experts")
    if experts > 1 and parallel.expert > 1 and parallel.expert * experts != parallel.tensor:
        faults.append(f"{parallel.expert} x {experts} for experts is not {parallel.tensor} ranks")
    if experts > 1 and parallel.pipeline > 1:
        faults.append("there are pipeline stages")
    if attention != experts and experts > 1:
        faults.append(f"the sizes {attention} for attention and {experts} for experts differ")
    if (attention == 1 and experts == 1) or not faults:
        return
    yield refusal(
        given,
        "context-parallel",
        f"context parallelism does not fit: {faults[0]}",
        at(
            given,
            where,
            *_CONTEXT,
            *_EXPERTS,
            text="context parallel",
            beside={"parallel.tensor": f"{parallel.tensor} ranks"},
        ),
        because="the server stops with an assertion at start",
        help=(
            f"set sizes that divide {parallel.tensor}, the tensor parallel size{_one_stage(parallel)}",
        ),
    )


def _one_stage(parallel: Parallel) -> str:
    return ", and `parallel.pipeline = 1`" if parallel.pipeline > 1 else ""


def expert_groups(given: Given) -> int:
    """Expert parallel groups: an all-to-all backend, and the old switches for one, deal experts out over all ranks."""
    parallel = given.plan.profile.parallel
    exchanged = given.word(EXCHANGE) not in {None, "none"}
    if exchanged or any(given.on(switch) for switch in OLD_SWITCHES):
        return parallel.tensor
    return parallel.expert


def _dealt_out(given: Given) -> str | None:
    """The all-to-all backend that makes expert parallel size the tensor parallel one."""
    backend = given.word(EXCHANGE)
    return backend if backend in DEALS_OUT else None


@rule("expert-size-changed", flags=(EXCHANGE,))
def experts_over_all_ranks(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """All-to-all backends set expert parallel size to tensor parallel size (0.5.1 to 0.5.23; see `DEALS_OUT`)."""
    given, parallel = given_by(plan), plan.profile.parallel
    backend = _dealt_out(given)
    if backend is None or parallel.expert in {1, parallel.tensor}:
        return
    yield caution(
        "expert-size-changed",
        f"the server runs with expert parallel size {parallel.tensor}, not {parallel.expert}",
        at(
            given,
            where,
            "parallel.expert",
            text=f"{parallel.expert} groups",
            beside={EXCHANGE: "deals experts out over all ranks"},
        ),
        because=f"`--moe-a2a-backend {backend}` puts the tensor parallel size in its place, with a warning in the log",
        help=(f"set `parallel.expert = {parallel.tensor}`",),
    )


@rule("balance-without-experts", flags=("enable-eplb",))
def balancing_needs_groups(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Balancing moves experts between groups (`_handle_eplb_and_dispatch`: assert ep_size > 1, 0.5.1 to 0.5.23)."""
    given = given_by(plan)
    if not given.on("enable-eplb") or not given.since("0.5.1") or expert_groups(given) > 1:
        return
    ranks = plan.profile.parallel.tensor
    yield refusal(
        given,
        "balance-without-experts",
        "`--enable-eplb` needs expert parallel groups to move experts between",
        at(given, where, "enable-eplb", text="balances experts over groups"),
        because=ASSERTS,
        help=(
            *((f"set `parallel.expert = {ranks}`",) if ranks > 1 else ()),
            f"{'or ' if ranks > 1 else ''}leave `enable-eplb = true` out",
        ),
    )


@rule("batch-overlap", flags=("enable-two-batch-overlap",))
def two_batches(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Two batches overlap with an all-to-all backend.

    0.5.7 to 0.5.14 `check_server_args`; from 0.5.15 `_check_two_batch_overlap` takes data parallel attention instead.
    """
    given = given_by(plan)
    if not given.on("enable-two-batch-overlap") or not given.since("0.5.7"):
        return
    if given.word(EXCHANGE) not in {None, "none"}:
        return
    attention_does = given.since("0.5.15")
    if attention_does and (
        plan.profile.parallel.dp_attention or given.on("enable-dsa-prefill-context-parallel")
    ):
        return
    yield refusal(
        given,
        "batch-overlap",
        "`--enable-two-batch-overlap` needs a backend that exchanges tokens between experts",
        at(given, where, "enable-two-batch-overlap", text="overlaps two batches"),
        help=(
            'set `moe-a2a-backend`, for instance to `"deepep"`',
            *(
                ("or set `parallel.dp_attention = true`",)
                if attention_does and may_share(plan.profile)
                else ()
            ),
            "or leave `enable-two-batch-overlap = true` out",
        ),
    )


@rule("runner-experts", flags=(_RUNNER,))
def runner_takes_groups(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Kernels for experts that do not take every number of groups (`_handle_moe_kernel_config`).

    FlashInfer's CUTLASS: 1 or all ranks, 0.5.1 to 0.5.23; CUTLASS in fp8: 1, 0.5.9 to 0.5.23.
    """
    given, parallel = given_by(plan), plan.profile.parallel
    runner, groups = given.word(_RUNNER), expert_groups(given)
    if runner in {"flashinfer_cutlass", "flashinfer_cutedsl"} and given.since("0.5.1"):
        allowed = {1, parallel.tensor}
    elif runner == "cutlass" and _fp8(given) and given.since("0.5.9"):
        allowed = {1}
    else:
        return
    if groups in allowed:
        return
    sizes = " or ".join(str(each) for each in sorted(allowed))
    yield refusal(
        given,
        "runner-experts",
        f"the kernels `{runner}` run with expert parallel size {sizes}, not {groups}",
        at(
            given,
            where,
            _RUNNER,
            text="chooses the kernels",
            beside={"parallel.expert": f"{groups} groups"},
        ),
        because="the server stops with an assertion at start",
        help=(f"set `parallel.expert` to {sizes}, or choose another `{_RUNNER}`",),
    )


def _fp8(given: Given) -> bool:
    asked = given.word("quantization")
    model = given.plan.model
    if asked is None and model is not None and model.quantization is not None:
        asked = model.quantization.method
    return asked in {"fp8", "mxfp8"}
