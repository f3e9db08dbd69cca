"""What speculation does not run beside: mixed prefill steps, adapters, and how the draft is quantized."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, caution, line, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_MIXED = "enable-mixed-chunk"
_QUANTIZATION = "quantization"
_DRAFT_QUANTIZATION = "speculative-draft-model-quantization"
# Adapters with a draft: from 0.5.19 on (arg_groups/lora_hook.py, `check_lora_speculative_compatibility`).
_WITH_ADAPTERS = frozenset({"ngram", "eagle", "eagle3", "nextn", "dflash", "dspark"})
# Formats that a checkpoint is stored in; others (`fp8`) may also be made while a plain one loads.
_STORED = frozenset(
    {
        "awq",
        "awq_marlin",
        "gptq",
        "gptq_marlin",
        "marlin",
        "auto-round",
        "compressed-tensors",
        "modelopt_fp4",
        "modelopt_mixed",
        "moe_wna16",
        "w8a8_int8",
        "w8a8_fp8",
        "qoq",
        "gguf",
    }
)


@rule("mixed-chunk", flags=(_MIXED,))
def mixed_steps(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Prefill and decode in one step.

    Speculation switches it off, with a warning: 0.4.7 to 0.5.19 for all of it (server_args.py; speculative_hook.py), later for
    some algorithms. Pipeline stages refuse it: 0.4.6.post5 to 0.5.10 (`check_server_args`).
    """
    given = given_by(plan)
    if not given.on(_MIXED):
        return
    if plan.profile.parallel.pipeline > 1 and given.before("0.5.11"):
        yield refusal(
            given,
            "mixed-chunk",
            "`--enable-mixed-chunk` does not run with pipeline stages",
            at(
                given,
                where,
                _MIXED,
                text="mixes prefill and decode",
                beside={"parallel.pipeline": f"{plan.profile.parallel.pipeline} stages"},
            ),
            help=(f"leave {line(given, _MIXED)} out",),
        )
    elif plan.profile.speculative is not None and given.before("0.5.20"):
        yield caution(
            "mixed-chunk",
            "the server runs without `--enable-mixed-chunk`",
            at(
                given,
                where,
                _MIXED,
                text="switched off",
                beside={"speculative.algorithm": "does not mix prefill and decode"},
            ),
            because="speculation switches it off, with a warning in the log",
            help=(f"leave {line(given, _MIXED)} out",),
        )


@rule("draft-lora", flags=("enable-lora", "lora-paths"))
def adapters_beside_a_draft(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Adapters and speculation: NGRAM only from 0.5.6 to 0.5.18 (`check_lora_server_args`), more from 0.5.19."""
    given, asked = given_by(plan), plan.profile.speculative
    adapters = given.on("enable-lora") or bool(given.words("lora-paths"))
    if asked is None or not adapters or not given.since("0.5.6"):
        return
    allowed = frozenset({"ngram"}) if given.before("0.5.19") else _WITH_ADAPTERS
    if asked.algorithm in allowed:
        return
    yield refusal(
        given,
        "draft-lora",
        f"LoRA adapters do not run beside speculation with `{asked.algorithm}`",
        at(
            given,
            where,
            "enable-lora",
            "lora-paths",
            text="adapters",
            beside={"speculative.algorithm": f"`{asked.algorithm}`"},
        ),
        because=f"the server refuses to start; it takes {', '.join(f'`{each}`' for each in sorted(allowed))}",
        help=("leave `[speculative]` out, or serve the adapters without it",),
    )


@rule("draft-quantization", flags=(_QUANTIZATION,))
def draft_of_its_own_format(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A draft is read as quantized like the target, unless it is said (0.5.7 to 0.5.23, `_handle_missing_default_values`)."""
    given, asked = given_by(plan), plan.profile.speculative
    method = given.word(_QUANTIZATION)
    if asked is None or method not in _STORED or given.word(_DRAFT_QUANTIZATION) is not None:
        return
    own = asked.draft is not None or asked.draft_path is not None
    if not own or not given.since("0.5.7"):
        return
    yield caution(
        "draft-quantization",
        f"the draft is loaded as `{method}`, like its target",
        at(
            given,
            where,
            _QUANTIZATION,
            text="for both",
            beside={
                "speculative.draft": "this draft, too",
                "speculative.draft_path": "this draft, too",
            },
        ),
        because=f"without `--{_DRAFT_QUANTIZATION}` the draft takes the target's; a draft in bf16 then does not load, or drafts nonsense",
        help=(
            f'set `{_DRAFT_QUANTIZATION} = "unquant"` under `[flags]` for a draft in bf16',
            "or leave `quantization` out where the checkpoint itself says how it is quantized",
        ),
    )
