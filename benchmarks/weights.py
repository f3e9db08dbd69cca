"""Weights on one GPU, from the catalogue's shapes, against what public logs print as `mem usage` of the load.

    python -m benchmarks.weights BOOTS.jsonl

Each line of the file is one boot, with `id` and `log.weight_mem_usage_gb` (GiB). Boots whose figure is not the weights
alone (unified memory, another tenant, experts on the host, a private fork), or whose checkpoint or excess the log does
not explain, are shown and set aside, each with its reason; the sums are printed without them and over all.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import evolve, frozen

from compiler.architecture import Format, Quantization, Role
from compiler.catalog import open_catalog
from compiler.memory.tensors import weights_gib
from compiler.memory.weights import Split
from compiler.ranges import Range


_LINEAR = (Role.ATTENTION, Role.OUTPUT, Role.DENSE)
AWQ = Quantization(
    method="awq",
    formats=(Format(roles=_LINEAR, bits=4, group_size=128, scale_bits=16, zero_bits=4),),
)
"""Four bits with a scale and a zero point for 128 values, as community checkpoints have it."""
AWQ_EXPERTS = Quantization(
    method="awq",
    formats=(
        Format(
            roles=(*_LINEAR, Role.EXPERTS, Role.SHARED),
            bits=4,
            group_size=128,
            scale_bits=16,
            zero_bits=4,
        ),
    ),
)
FP8 = Quantization(
    method="fp8",
    formats=(Format(roles=(*_LINEAR, Role.EXPERTS, Role.SHARED, Role.STATE), bits=8),),
)
"""Quantized while loading, one scale a tensor."""


UNIFIED = "unified memory"
WHOLE, TP2, TP4, TP8 = Split(), Split(tensor=2), Split(tensor=4), Split(tensor=8)
DP4 = Split(tensor=4, data=4)


@frozen(kw_only=True)
class Case:
    """What one boot loads.

    Attributes:
        boot: its id in the file; several boots of one server are one case.
        quantization: what it is quantized to, when the catalogue's entry of the model is not.
        aside: why its figure is not the weights alone.
    """

    boot: str
    model: str
    split: Split = WHOLE
    quantization: Quantization | None = None
    aside: str = ""


CASES = (
    Case(boot="kimi-k25-mi355x-tp8-default", model="moonshotai/Kimi-K2.5", split=TP8),
    Case(boot="kimi-k25-int4-8rtx6000", model="moonshotai/Kimi-K2.5", split=TP8),
    Case(boot="kimi-k2-thinking-nvfp4-8rtx6000", model="nvidia/Kimi-K2-Thinking-NVFP4", split=TP8),
    Case(boot="glm5-fp8-mi355x-tp8-fp8kv", model="zai-org/GLM-5-FP8", split=TP8),
    Case(boot="glm5-nvfp4-rtxpro6000-tp8", model="nvidia/GLM-5-NVFP4", split=TP8),
    Case(
        boot="glm52-mi355x-tp4-dpa-f085",
        model="zai-org/GLM-5.2-FP8",
        split=DP4,
        aside="the checkpoint is not named",
    ),
    Case(boot="glm47-fp8-8rtx6000-tp8", model="zai-org/GLM-4.7-FP8", split=TP8),
    Case(
        boot="glm47-fp8-8rtx6000-tp4pp2",
        model="zai-org/GLM-4.7-FP8",
        split=Split(tensor=4, pipeline=2),
    ),
    Case(boot="glm47-flash-910b-tp2", model="zai-org/GLM-4.7-Flash", split=TP2, aside="NPU"),
    Case(
        boot="dsr1-mi300x-dp8-f095",
        model="deepseek-ai/DeepSeek-R1",
        split=Split(tensor=8, data=8),
        aside="twice the checkpoint, the log does not say why",
    ),
    Case(
        boot="dsr1-channel-fp8-dcu-tp16",
        model="deepseek-ai/DeepSeek-R1",
        split=Split(tensor=16),
        aside="private fork",
    ),
    Case(boot="dsr1-0528-fp4-tp4-b200-pr9162", model="nvidia/DeepSeek-R1-0528-FP4", split=TP4),
    Case(boot="grok2-h100-tp8", model="xai-org/grok-2", split=TP8, quantization=FP8),
    Case(boot="llama32-1b-95gb-f08", model="meta-llama/Llama-3.2-1B-Instruct"),
    Case(boot="llama31-8b-h100-2025-01", model="meta-llama/Llama-3.1-8B-Instruct"),
    Case(
        boot="llama33-70b-awq-4x3090-f080",
        model="meta-llama/Llama-3.3-70B-Instruct",
        split=TP4,
        quantization=AWQ,
    ),
    Case(
        boot="dsr1-distill-llama70b-awq-4x3090-f080",
        model="deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
        split=TP4,
        quantization=AWQ,
    ),
    Case(
        boot="dsr1-distill-llama70b-awq-4x3090-leftover-b",
        model="deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
        split=TP4,
        quantization=AWQ,
        aside="another tenant",
    ),
    Case(
        boot="magnum-123b-awq-4x3090-f078",
        model="mistralai/Mistral-Large-Instruct-2407",
        split=TP4,
        quantization=AWQ,
    ),
    Case(
        boot="mistral-large-2411-awq-4x3090-f080-b",
        model="mistralai/Mistral-Large-Instruct-2411",
        split=TP4,
        quantization=AWQ,
    ),
    Case(
        boot="mistral-large-2411-awq-4x3090-f080-coresident",
        model="mistralai/Mistral-Large-Instruct-2411",
        split=TP4,
        quantization=AWQ,
        aside="another tenant",
    ),
    Case(
        boot="devstral2-24b-awq-2x3090-f090-fp8kv",
        model="mistralai/Devstral-Small-2-24B-Instruct-2512",
        split=TP2,
        quantization=AWQ,
        aside="5.3 GiB of loader temporaries still held",
    ),
    Case(boot="qwen25-32b-4x24gb-tp4", model="Qwen/Qwen2.5-32B-Instruct", split=TP4),
    Case(boot="qwen25-0_5b-40gb", model="Qwen/Qwen2.5-0.5B-Instruct"),
    Case(boot="qwen2_5-0_5b-16gb-pd-f015", model="Qwen/Qwen2.5-0.5B-Instruct"),
    Case(boot="qwen25-1_5b-gb10-f040-bf16", model="Qwen/Qwen2.5-1.5B-Instruct", aside=UNIFIED),
    Case(boot="qwen3-0_6b-16gb", model="Qwen/Qwen3-0.6B"),
    Case(boot="qwen3-reranker-06b-mi355x-f05", model="Qwen/Qwen3-Reranker-0.6B"),
    Case(boot="qwen3-8b-b300-default", model="Qwen/Qwen3-8B"),
    Case(boot="qwen3-8b-fp8-lora-16gb", model="Qwen/Qwen3-8B", quantization=FP8),
    Case(boot="qwen3-14b-h100-default-lmcache", model="Qwen/Qwen3-14B"),
    Case(boot="qwen3-32b-4x5090-f088", model="Qwen/Qwen3-32B", split=TP4),
    Case(boot="qwen3-30b-fp8-h100-default", model="Qwen/Qwen3-30B-A3B-FP8"),
    Case(
        boot="qwen3-30b-ep-h20-3e-dp4",
        model="Qwen/Qwen3-30B-A3B",
        split=Split(tensor=4, expert=4, data=4),
    ),
    Case(
        boot="qwen3-30b-a3b-kt-h100-f085", model="Qwen/Qwen3-30B-A3B", aside="experts on the host"
    ),
    Case(boot="qwen3-vl-8b-h200-default", model="Qwen/Qwen3-VL-8B-Instruct"),
    Case(boot="qwen35-9b-2x4090-tp2", model="Qwen/Qwen3.5-9B", split=TP2),
    Case(boot="ornith-9b-bf16-gb10-coresident-f080", model="Qwen/Qwen3.5-9B", aside=UNIFIED),
    Case(
        boot="ornith-9b-fp8-gb10-coresident-f080",
        model="Qwen/Qwen3.5-9B",
        quantization=FP8,
        aside=UNIFIED,
    ),
    Case(boot="qwen36-27b-a100-80-v0517", model="Qwen/Qwen3.6-27B"),
    Case(boot="qwen38-27b-fp8-mi355x-tp1-f085", model="Qwen/Qwen3.8-27B-FP8"),
    Case(boot="qwen38-27b-fp8-mi355x-tp2-f085", model="Qwen/Qwen3.8-27B-FP8", split=TP2),
    Case(
        boot="qwen38-27b-nvfp4-5090",
        model="nvidia/Qwen3.8-27B-NVFP4",
        aside="another checkpoint of it",
    ),
    Case(boot="qwen36-27b-fp8-gb10-f060-mtp", model="nvidia/Qwen3.8-27B-NVFP4", aside=UNIFIED),
    Case(boot="gemma4-26b-4gb10-f0", model="google/gemma-4-26B-A4B-it", split=TP4, aside=UNIFIED),
    Case(
        boot="gemma4-26b-awq-2x3090-r0.8",
        model="google/gemma-4-26B-A4B-it",
        split=TP2,
        quantization=AWQ_EXPERTS,
        aside="a checkpoint nobody described",
    ),
    Case(
        boot="gemma4-31b-awq-2x3090-r0.8",
        model="google/gemma-4-31B-it",
        split=TP2,
        quantization=AWQ,
        aside="a checkpoint nobody described",
    ),
    Case(boot="embeddinggemma-mi355x-f05", model="google/embeddinggemma-300m"),
    Case(
        boot="nemotron3-super-120b-nvfp4-4gb10-f080",
        model="nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
        split=TP4,
        aside=UNIFIED,
    ),
    Case(
        boot="minimax-m25-nvfp4-3gb10-pp3",
        model="nvidia/MiniMax-M2.5-NVFP4",
        split=Split(pipeline=3),
        aside=UNIFIED,
    ),
    Case(boot="granite-moe-hybrid-16gb", model="ibm-granite/granite-4.0-h-micro"),
    Case(boot="lfm2-16gb", model="LiquidAI/LFM2-700M"),
)


@frozen(kw_only=True)
class Outcome:
    """One case, judged."""

    case: Case
    logged_gib: float
    weights_gib: Range

    @property
    def error(self) -> float:
        """The best estimate's relative error."""
        return self.weights_gib.best / self.logged_gib - 1

    @property
    def covered(self) -> bool:
        """Whether the range holds the log's figure, with the half of its last digit."""
        return self.weights_gib.low - 0.005 <= self.logged_gib <= self.weights_gib.high + 0.005


def outcomes(boots: Path) -> Iterator[Outcome]:
    """Judge every case that the file has."""
    catalogue = open_catalog()
    logged = {}
    for line in boots.read_text(encoding="utf-8").splitlines():
        boot = json.loads(line)
        log = boot["log"]
        used = log.get("weight_mem_usage_gb")
        ends = log.get("load_weight_begin_avail_gb"), log.get("load_weight_end_avail_gb")
        if used is None and None not in ends:
            used = ends[0] - ends[1]
        logged[boot["id"]] = used
    for case in CASES:
        model, faults = catalogue.model(case.model)
        if model is None:
            raise SystemExit(f"{case.model}: {faults}")
        if case.quantization is not None:
            model = evolve(model, quantization=case.quantization)
        yield Outcome(
            case=case,
            logged_gib=logged[case.boot],
            weights_gib=weights_gib(model, split=case.split),
        )


def main(boots: Path) -> None:
    """Print the table, then the sums over the boots that count."""
    judged = list(outcomes(boots))
    for each in judged:
        weights = each.weights_gib
        outside = "" if each.covered else "outside"
        sys.stdout.write(
            f"{each.case.boot:48} {each.logged_gib:7.2f}  {weights.best:7.2f} {each.error:+7.2%}  "
            f"{weights.low:7.2f} to {weights.high:7.2f} {outside}  {each.case.aside}\n"
        )
    _sums("without those set aside", [each for each in judged if not each.case.aside])
    _sums("all", judged)


def _sums(title: str, judged: Sequence[Outcome]) -> None:
    errors = sorted(abs(each.error) for each in judged)
    covered = sum(each.covered for each in judged) / len(judged)
    widths = [(e.weights_gib.high - e.weights_gib.low) / e.logged_gib for e in judged]
    sys.stdout.write(
        f"{title}, {len(judged)}: median error {statistics.median(errors):.2%}, "
        f"p90 {errors[int(0.9 * len(errors))]:.2%}, worst {errors[-1]:.2%}; "
        f"range covers {covered:.0%}, median width {statistics.median(widths):.2%}\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
