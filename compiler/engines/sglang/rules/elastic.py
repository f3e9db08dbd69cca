"""What DeepEP v2 exchanges tokens for: architectures, number formats of experts, and as many tokens as its buffer holds.

Sources: `validate_deepep_v2_model_architecture` and `validate_deepep_v2_dispatch_token_budget` in arg_groups/moe_hook.py of 0.5.19 to
0.5.23, configs/moe_model_registry.py of 0.5.21 to 0.5.23, and `_validate_deepep_v2_quant_method` in
layers/moe/fused_moe_triton/layer.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import BLOCK_VALUES
from compiler.architecture import Role as Part
from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.exchange import ELASTIC, ELASTIC_BY, elastic_runs, elastic_tokens
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.roles import FLAG, Role
from compiler.engines.sglang.rules.parallel import EXCHANGE
from compiler.engines.sglang.rules.places import at, refusal
from compiler.facts import Model
from compiler.memory.tensors import format_of
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_FP8_BITS, _PLAIN_SINCE = 8, "0.5.21"
# Ranks that share a chunk send its parts from here on.
_SHARED_SINCE = "0.5.22"
_OTHER = 'set `moe-a2a-backend = "deepep"`'


@rule("exchange-model", flags=(EXCHANGE,))
def elastic_model(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """DeepEP v2 runs with listed architectures, whose experts are in blocks of fp8, or from 0.5.21 on in 16 bits."""
    given, model = given_by(plan), plan.model
    if given.word(EXCHANGE) != ELASTIC or model is None or model.moe is None:
        return
    if not elastic_runs(model, plan.profile.engine.version):
        fault = f"does not run with `{model.architecture}`"
    elif not _fits(given, model):
        fault = "takes experts in blocks of fp8 alone"
        fault += ", or in 16 bits" if given.since(_PLAIN_SINCE) else ""
    else:
        return
    yield refusal(
        given,
        "exchange-model",
        f"`--moe-a2a-backend {ELASTIC}` {fault}",
        at(
            given,
            where,
            EXCHANGE,
            text="exchanges tokens of experts",
            beside={"model.id": model.architecture},
        ),
        help=(_OTHER,),
    )


def _fits(given: Given, model: Model) -> bool:
    kind = model.quantization
    if kind is None:
        asked = given.word("quantization")
        return given.since(_PLAIN_SINCE) and asked is None
    stored = format_of(model, Part.EXPERTS)
    return kind.method == "fp8" and (stored.bits, stored.group_size) == (_FP8_BITS, BLOCK_VALUES)


@rule("exchange-capacity", flags=(EXCHANGE,))
def elastic_capacity(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A chunk of a prompt fits into what a rank may send out, 128 tokens unless a variable says more."""
    given, parallel = given_by(plan), plan.profile.parallel
    if given.word(EXCHANGE) != ELASTIC or given.word(FLAG) == Role.DECODE:
        return
    chunk, most = plan.prefill_chunk, elastic_tokens(plan.profile.env)
    if not chunk:
        return
    replicas = parallel.data if parallel.dp_attention else 1
    sharing = max(1, parallel.tensor // replicas) if given.since(_SHARED_SINCE) else 1
    needed = -(-chunk // sharing)
    if needed <= most:
        return
    yield refusal(
        given,
        "exchange-capacity",
        f"a rank sends out {needed:,} tokens of a chunk, and DeepEP v2 holds {most:,}",
        at(given, where, EXCHANGE, text=f"holds {most:,} tokens of a rank"),
        help=(
            f'set `{ELASTIC_BY} = "{needed}"` under `[env]`',
            f"or set `memory.chunked_prefill = {most * sharing * replicas}`",
        ),
    )
