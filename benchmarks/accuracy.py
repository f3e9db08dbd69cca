"""How near `predict` comes to public boots: `python -m benchmarks.accuracy` prints it and writes docs/accuracy.md.

Tier A has the log's own figures around the load; tier B model, GPU and flags alone; tier C another boot of the same model.
Boots whose figures say nothing about one server on its own GPUs are counted, and reported apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from benchmarks.asking import HERE, Answer, counted, read_cases
from benchmarks.recorded import published
from benchmarks.results import Results, run
from benchmarks.tiers import HEAD, tier_of
from benchmarks.unseen import unseen


REPORT = HERE.parent / "docs" / "accuracy.md"

FITTED: Sequence[str] = (
    "`GRAPH_NODES_GIB`, memory of a captured batch size (reserve only): from four of these boots",
    "`_UNLOGGED_GIB`, the low end in tier A (best estimates do not use it): a bound that twenty of these boots keep",
    "the driver's share of a GPU that nobody described, for one and for several cards: moves best estimates of tier B",
    "0.6 to 2.1 GiB, at best 1.5, beside experts in MXFP4 that Triton's kernels run: from five of these boots, and nothing explains it",
    "NVFP4: how often scales are copied is left open for 0.5.8 and 0.5.9, since two of these boots disagree with the source",
    "ranges of free memory, of every kind but those whose memory the host uses too: from public machines by benchmarks/machines.py, and some of these boots ran on them",
    "the doubt of a pool that is carried to another budget: looked for because four of tier C lay outside; the 2 MiB are the driver's",
    "which boots are set aside, in part: five without a fraction (one of them of a nightly build), a slice of a larger card, three private forks",
    "nine more set aside as of builds from before their model's release: by the bytes of a token that logs show, two by the image's date",
    "two set aside because the command is not whole: another number of requests gives both pools up to the same 9,769 tokens",
    "two of DeepSeek-V4-Flash-Base set aside, whose release is not stated: two fractions show a token's bytes of 0.5.12, the weights are those of 0.5.13",
    "the first of several budgets that give one pool of states: the middle one, for one boot that the one nearest to the tensors missed by a slot",
    "what three failing boots leave open (`not_known`): the number of requests by the size of the block that did not fit",
    "the number format of states, and a number of requests, read off the pool of states in one log: written into its command",
    "tables of n-grams on the host: written into the commands of the boots whose GPUs cannot hold them",
    "which roles `amd/GLM-5.1-MXFP4` has in four bits: the config was not at hand, and weights of two of these boots agree to 0.1 %",
    "the head size of EAGLE3 for GPT-OSS, one of two that its trainer has: by the draft's pool in a test of the engine, of one of these boots",
    "that a pool for images by CUDA IPC is counted where it is asked for, and not where 0.5.17 chooses it: of one of these boots each",
    "what of Ling 3.0 is not in four bits: the config was not at hand, and of two formats one weighs what a log says",
    "`SGLANG_AITER_K3_OPT` in the commands of four boots of Kimi K3: without it their weights alone are more than the budget",
    "one more set aside because the command is not whole: a HiSparse boot with the bytes of an fp8 cache, and too many requests to start",
    "groups of an AWQ checkpoint that nobody described: looked for because one boot was 8 % off; the rule is the engine's",
    "which roles `Frozenlock/Qwen3.8-27B-int4-AutoRound` has in four bits: the config was not at hand; its size and its users say so, and six of these boots agree",
    "the release of one boot of a pull request: the first with the bytes of a token that it prints, not that of its date",
    "the fraction of two boots of one file: 0.85 was read first, which it says of another draft; its own is 0.82",
    "six of round four set aside as of a patched engine, which their files say, once three of them had been looked at",
    "two of round five set aside as of two servers on one card, once they had been looked at: the report says so of them",
    "the release from which on aiter's all-reduce has buffers of 3 GiB: no source says which aiter an image has, and machines of 0.5.10rc0 have less free than one of 0.5.8.post1",
    "which roles `amd/GLM-5.3-Flash-Quark-MXFP4` has in four bits: the config was not at hand; its size says so to 0.05 %, and four of these boots agree",
    "twelve of round seven set aside once they had been looked at: ten as of a patched engine, which their report says, one whose launcher sets more than its command, one with settings of another day",
)
"""Constants and choices that looked at the boots below."""

UNEXPLAINED: Sequence[str] = (
    (
        "Kimi K2.5 with the fraction that the engine picks, on eight H200 and B200: 4.0 % and 1.7 % too much; with data parallel"
        " attention the same servers are within their ranges"
    ),
    (
        "kimi-k25-int4-8rtx6000: of 72.62 GiB of budget the weights are 72.32, 0.34 more than their tensors (0.5 %); the pool is"
        " what is left, so that half a percent doubles it"
    ),
    (
        "kimi-k2-thinking-nvfp4-8rtx6000: the log has 3.0 GiB more than scales kept once, which is what 0.5.8 does by its source"
        " (layers/quantization/modelopt_quant.py, 1406), and 4.4 less than twice; the range has both"
    ),
    (
        "grok2-h100-tp8: of 5.0 GiB that were missing 4.0 are rotary tables that each layer has of its own; the rest are holes of"
        " the allocator, which making each table leaves among the weights of the next layer: played through, block by block,"
        " the weights come to 36.9 to 37.1 GiB, and the log has 36.73; that is not built in"
    ),
    "r1-distill-qwen7b-3090-2025-02: 22.76 GiB are free before the load, and 23.3 of other RTX 3090; the weights agree to 0.05",
    (
        "mimo-v25-pro-16h100: three fractions say that 76.63 GiB are free before the load and 66.48 taken by it; by the tensors it"
        " is 62.71. The two hosts are joined by EFA, and what NCCL takes between hosts is not counted"
    ),
    (
        "DeepSeek V4 on images of May 2026, from before its release: they keep the tables of cosines and sines that the release"
        " dropped and the next one has again; both boots are set aside"
    ),
    "qwen2_5-0_5b-16gb-pd-f015: nobody says which card of 16 GB; 14.70 GiB are free before the load, and 15.13 were expected",
    "llama31-8b-24gb-2025-07: 1.6 GiB of a card that nobody described are gone before the load, on a desktop computer",
    (
        "glm51-mxfp4-2mi355x-f085-0512, glm51-mxfp4-8mi355x-f085-0510rc0: 0.31 GiB that stand whole and 1.7 that are split are"
        " missing of 399, by the two logs"
    ),
    (
        "GLM-5 and GLM-5.1 on MI355X: `kv_b_proj` and what decoding absorbs of it are both kept in every release and on every"
        " platform, and both are counted, so that sgl-project/sglang#28876 is not what is missing"
    ),
    (
        "dsr1-8mi300x-042-default: weights and pool of the log leave 184.1 GiB free before the load, and 188.3 were expected; the"
        " host is a virtual machine"
    ),
    (
        "glm52-fp8-8mi300x-tilelang-f085: 6.4 GiB of its pool are missing; by its weights 180.8 are free before the load, or a"
        " token has 110,000 B of 100,152. On eight MI355X, with patched kernels, it is 10 KB a token again, and no source says of what"
    ),
    (
        "dsv4-pro-32h800-tp8pp4: ratios of 0.1 and 0.2 are 0.1 % off, and 0.15 is 7 %: a token of it would have to cost less than"
        " half-way between them"
    ),
    "r1-distill-qwen32b-4x24gb-tp4: nobody says which cards of 24 GB, and two thirds of the budget are weights",
    (
        "HiSparse: three of four commands draft beside it, which is not priced; the one that started is set aside: its pool has the"
        " bytes of an fp8 cache that the command does not ask for (with one it is 0.6 % off), and tables of as many requests as the"
        " release takes by itself would not have fitted"
    ),
    (
        "DSPARK: five boots of Kimi K3 with its draft are 0.2 % off where the command says how many requests, and 9 % to 23 % where"
        " a build from before the release picks them; three boots of DeepSeek V4's stages are of private forks, and their pools"
        " are 4 % to 6 % more: of 80.2 GiB of weights 0.4 are missing there"
    ),
    (
        "qwen38-27b-awq-3090: three budgets of one card, 0.22 to 0.28 GiB more than expected in each, which is 1 % of the card and"
        " up to all of the pool; carried from each other they agree"
    ),
    "ci-mimo-v25-8h200-dp2-mtp-f065: 0.8 of 89.6 GiB are missing, beside three runners of a draft and two towers",
    (
        "qwen38-27b-awq-2x3090-vast: the fork unpacks the layers of linear attention to bf16, by its own patch; it is set aside, and"
        " with them in bf16 four of these boots are 3 % to 5 % off"
    ),
    "Inkling: its attention by relative positions and its convolutions are not written down here, nor was a config at hand",
    (
        "qwen3-vl-235b-fp8-4h200-pd: `--language-only` leaves the vision tower where it is, and three fractions have 0.7 GiB less"
        " than the same server whole; what receives images that are encoded elsewhere is not counted"
    ),
    (
        "llama4-scout-8h200-1m-f08: every buffer of 0.4.6.post5 that grows with the context comes to 9 GiB of 28; the report"
        " names the error of sgl-project/sglang#5755, a request table of 80 GiB, which only the model's own context has"
    ),
    (
        "AMD's GPUs without aiter's all-reduce: its buffers are 3 GiB by its source, and servers without it have 3.6 (eight MI325X)"
        " to 7 GiB (eight MI355X) more free; what the others keep for it is not known"
    ),
    (
        "glm53-mxfp4-4mi355x: three servers have 2.4 GiB more than what is priced leaves them, and one with the checkpoint in fp8 on the"
        " same kind of machine has not; its files have the size that is described"
    ),
    (
        "DeepSeek V4: with two tables for each base and half of the output's projection in 16 bits, as the sources have them, a"
        " log of its load on H200 (0.5.15) has 0.1 of 126 GiB more than is priced, one on H800 (0.5.12.post1) 0.2 of 34 less,"
        " and four budgets on MI355X have 0.7 of 131 more"
    ),
    (
        "dsv41-flash-4h200-graphs-fails: six captured batch sizes fit into what is left, and about twenty do not; what each keeps of the"
        " 10 GiB is not counted"
    ),
    (
        "kimi-k3-8b300-deepepv2: the weights of its log are those of shared experts that stand whole on each rank, but for 2 GiB; the"
        " release keeps them so with DeepEP, and runs the model with DeepEP v2 in no release"
    ),
)
"""What is further off than it should be, or not priced, and how far the source explains it."""


def report(results: Results) -> str:
    """The whole report, as Markdown."""
    return "\n".join(
        (
            "# How near predictions come to public boots",
            "",
            "Written by `python -m benchmarks.accuracy` from `benchmarks/data/boots.jsonl`. Tier A has the log's two figures",
            "around the load; B only model, GPU and flags; C carries another boot of the same model and GPUs.",
            "",
            *_tiers(results),
            *unseen(results),
            *_coverage(results),
            *_reserve(results),
            *_families(results),
            *_worst(results),
            *_unexplained(),
            *_aside(results),
            *_constants(),
        )
    )


def _tiers(results: Results) -> Iterator[str]:
    yield from ("## Error of the pool", "", *HEAD)
    tiers = [
        tier_of(name, counted(answers))
        for name, answers in (
            ("A", results.a),
            ("B", results.b),
            ("B, public boots but its own", results.others),
            ("B, public boots of other sources", results.strangers),
            ("C", results.c),
        )
    ]
    yield from (tier.row() for tier in tiers)
    beyond = ", ".join(each.case.id for each in tiers[0].beyond) or "none"
    carried = sum(each.memory.pool.boot is not None for each in tiers[2].answers if each.memory)
    yield from (
        "",
        f"The catalogue ships {len(list(published(results.cases)))} of these boots. Tier B does without; with them, but for",
        f"the case's own, {carried} cases are carried from one.",
        "",
        f"Of tier A further off than 1 % and the log's two decimals: {beyond}.",
        "",
    )


def _coverage(results: Results) -> Iterator[str]:
    named = results.b
    priced = [each for each in named if each.memory is not None]
    logged = {each.case.id for each in results.a if each.memory is not None}
    either = sum(each.memory is not None or each.case.id in logged for each in named)
    kept = counted(named)
    known = sum(each.memory is not None for each in kept)
    yield from (
        "## Coverage",
        "",
        f"{len(results.cases)} boots, of which {len(named)} name model, GPU and layout:",
        "",
        f"- {len(priced)} of these are priced ({len(priced) / len(named):.0%}),",
        f"- {either} ({either / len(named):.0%}) with the log's figures where there are some,",
        f"- without those set aside {known} of {len(kept)} ({known / len(kept):.0%}).",
        "",
        "| not priced because of | boots |",
        "|---|---|",
    )
    reasons = Counter(each.reason for each in named if each.memory is None)
    yield from (f"| {reason} | {count} |" for reason, count in reasons.most_common())
    yield ""


def _reserve(results: Results) -> Iterator[str]:
    # The better informed answer of each case: with its log where there is one.
    best = {each.case.id: each for each in (*results.b, *results.a)}
    judged = [each for each in counted(best.values()) if each.memory is not None]
    started = [each for each in judged if each.case.started]
    failed = [each for each in judged if not each.case.started and each.case.side]
    wrong = [e for e in started if e.codes & {"reserve-too-small", "weights-too-large"}]
    likely = [e for e in started if "reserve-likely-short" in e.codes]
    uncertain = [e for e in started if "reserve-uncertain" in e.codes]
    right = [each for each in failed if each.case.side in each.sides]
    count = max(1, len(started))
    warned = len(likely) + len(uncertain) + len(wrong)
    right_share = len(right) / max(1, len(failed))
    known = [each for each in failed if not each.case.not_known]
    known_right = [each for each in known if each in right]
    known_share = len(known_right) / max(1, len(known))
    yield from (
        "## Weights and reserve",
        "",
        f"{len(started)} boots that started ({warned / count:.0%} warned about the reserve):",
        "",
        f"- {len(wrong)} refused for certain on weights or reserve{_names(wrong)},",
        f"- {len(likely)} likely short{_names(likely)},",
        f"- {len(uncertain)} uncertain{_names(uncertain)}.",
        "",
        f"{len(failed)} boots that failed and are priced: {len(right)} ({right_share:.0%}) named on the right side;",
        f"of the {len(known)} of which all is known that decides, {len(known_right)} ({known_share:.0%}).",
        "",
        "| failed boot | ran out | named | not known of it |",
        "|---|---|---|---|",
    )
    for each in failed:
        named = ", ".join(sorted(each.sides)) or "nothing"
        yield f"| {each.case.id} | {each.case.side} | {named} | {each.case.not_known or ''} |"
    yield ""


def _names(answers: Sequence[Answer]) -> str:
    return f" ({', '.join(each.case.id for each in answers)})" if answers else ""


def _families(results: Results) -> Iterator[str]:
    for name, answers in (("A", results.a), ("B", results.b)):
        yield from (f"## Tier {name} by family", "", *HEAD)
        kept = sorted(counted(answers), key=lambda each: each.case.family)
        for family, several in groupby(kept, key=lambda each: each.case.family):
            tier = tier_of(family, several)
            if tier.answers:
                yield tier.row()
        yield ""


_WORST = 8


def _worst(results: Results) -> Iterator[str]:
    yield from (
        "## Furthest off in tier B",
        "",
        "| boot | error | pool | predicted |",
        "|---|---|---|---|",
    )
    tier = tier_of("B", counted(results.b))
    ordered = sorted(tier.answers, key=lambda each: -abs(each.error or 0.0))
    for each in ordered[:_WORST]:
        tokens = each.memory.pool.tokens if each.memory else None
        if tokens is not None:
            yield (
                f"| {each.case.id} | {each.error or 0.0:+.1%} | {each.case.tokens:,} "
                f"| {tokens.best:,.0f} ({tokens.low:,.0f} to {tokens.high:,.0f}) |"
            )
    yield ""


def _aside(results: Results) -> Iterator[str]:
    yield from ("## Set aside", "", *HEAD)
    kept = [each for each in (*results.a,) if each.case.aside is not None]
    kept.sort(key=lambda each: each.case.aside or "")
    for reason, several in groupby(kept, key=lambda each: each.case.aside):
        yield tier_of(f"A, {reason}", several).row()
    counts = Counter(case.aside for case in results.cases if case.aside)
    listed = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items()))
    yield from ("", f"Boots in all: {listed}.", "")


def _unexplained() -> Iterator[str]:
    lines = (f"- {each}." for each in UNEXPLAINED)
    yield from ("## What the source does not explain", "", *lines, "")


def _constants() -> Iterator[str]:
    yield from (
        "## Constants that rest on these boots",
        "",
        f"{len(FITTED)}:",
        "",
        *(f"- {each}" for each in FITTED),
        "",
    )


def main() -> None:
    """Run everything, print it, and write the report."""
    results = run(read_cases())
    text = report(results)
    REPORT.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    rate = results.predictions / results.seconds
    sys.stdout.write(f"\n{results.predictions} predictions, {rate:,.0f} a second\n")


if __name__ == "__main__":
    main()
