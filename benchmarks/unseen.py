"""Boots that were looked for when the model was done: what it first predicted for them, and what it does now."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping

from benchmarks.asking import Answer, counted
from benchmarks.results import Results
from benchmarks.tiers import HEAD, row, tier_of


_REFUSALS = ("too-small", "too-large")

ROUNDS: Mapping[int, str] = {
    1: (
        "releases 0.4.2 to 0.4.5, the free memory of one GPU alone, prefill that ranks share, graphs of prefill steps that one"
        " switch turns off with the others, shared experts on the CPU, free memory of the L4, and more models"
    ),
    2: (
        "checkpoints that have no entry of their own are known by who made them or by a name that says it all, folders are no"
        " publishers, and more models"
    ),
    3: (
        "scales that Marlin leaves beside its own until 0.5.16 and the tables that DeepSeek V4 has in each release (16.5 % and"
        " 19.5 % too much for two boots of it), a variable that keeps shared experts whole, states in whole slots when a boot is"
        " carried, lists of formats over fp8 and of more kinds, 22 kinds of GPU, and more models. Two were set aside once they had"
        " been looked at (249 % and 1,013 % too much at first): the command that was published is not whole"
    ),
    4: (
        "what releases 0.5.3 to 0.5.5 decide for sparse MLA (58 % and 37 % too little for two boots of it), scales that Marlin"
        " repeats for each output where a GPU does not compute in fp8 (14 % and 8 % too much), a draft that is told not to be"
        " quantized, the rotary table of a draft that is loaded before the pool is sized, a boot in which a path named the"
        " model's own draft, when it is carried, and two models. A pool of a pull request is judged by the release that has its"
        " change (14 % too little by the one of its date). Six were set aside once they had been looked at: their engine is"
        " patched"
    ),
    5: (
        "the low end of the free memory of eight MI300X, which rested on one boot of 0.4.8.post1 (9.9 % too much for one of"
        " 0.5.13.post1, and still: what RCCL takes of it is not known). Two were set aside once they had been looked at (2.9 % and 3.7 % too much at first): two"
        " servers shared one card. Not explained: 4.3 % too much on an A40 of a host that others use, 6.0 % too"
        " little for one of three ratios of the windows of DeepSeek-V4-Pro, whose pools do not lie on one line, and, of those set"
        " aside, 12 % too much on eight MI355X with patched kernels and two pools on eight L20"
    ),
    6: (
        "how far the next machine may lie from those that are known, what each of the releases 0.5.15 to 0.5.17 captures of"
        " prefill by itself (6.5 % too little for Kimi-Linear), whose own draft is counted where nobody named it (11 % too little for Qwen3.5 in"
        " 0.5.21), experts that TensorRT-LLM's kernels fill up (3.1 % and 7.5 % too much for Nemotron in bf16 on eight"
        " B200), scales of MXFP4 that Triton's kernels leave behind, and 0.6 to 2.1 GiB more that nothing explains (4.4 % to 7.2 % too much for"
        " GPT-OSS on Hopper), whole models as drafts. 44 of them are the pools that SGLang's own tests expect of its runners"
        " on 2026-07-17: means of up to four starts. Five were set aside once they had been looked at (9 % to 14 %"
        " too much at first): on a laptop with Windows the driver pages memory to the host. Not explained: 4.0 % and 1.7 % too"
        " much for Kimi K2.5 with its default fraction on eight H200 and B200, without data parallel attention; with what 0.5.18 holds back for graphs of prefill steps it is 0.5 % too much and 0.2 % too little, and the tests ran a build between two releases"
    ),
    7: (
        "keys of indexers, which every layer has where contexts are handed to others or to the host (9 % too much for GLM-5.3 that"
        " prefills for others), what AMD's GPUs have free without their own all-reduce (2 % to 8 % too little for six), pages of"
        " sparse MLA on them, DeepSeek V4 on them, half of whose output projection is in 16 bits there, on Hopper, and on"
        " workstations, number formats of GLM-5.3-Flash, and LLaDA 2.0. DeepEP v2 is priced, and a model that no release runs with it"
        " is refused. At first 27 of 36 pools on data-centre GPUs were priced and 19 in range, and 8 on workstations and 7 in range;"
        " some of these were set aside once they had been looked at: five of one server with DeepEP v2, whose engine is patched (167 %"
        " to 230 % too much; without it 22 were priced and 19 in range), one that decodes, whose launcher sets data parallel attention"
        " that its command does not show (27 % too much; with it 3.5 % too little, and in range), and a floor of SGLang's tests, whose"
        " fixture was read as of another day: with its fraction the card would need more memory than it has (35 % too little)"
    ),
}
"""What was mended after each round of boots that nobody had looked at."""


def unseen(results: Results) -> Iterator[str]:
    """Boots that were found after the model was built: as it first predicted them, and as it does now."""
    yield from (
        "## Boots that were unseen at first",
        "",
        "Boots were looked for when the model was done, and put to it before anybody looked at how it treats them. The first row",
        "of each round is what it predicted then; the others are with what was mended for them and since.",
        "",
        *HEAD,
    )
    for number in ROUNDS:
        yield from _round_rows(results, number)
    yield ""
    for number, mended in ROUNDS.items():
        yield from (*_round_words(results, number), f"  Mended since: {mended}.")
    yield ""


def _found(answers: Iterable[Answer], number: int) -> list[Answer]:
    return [e for e in counted(answers) if e.case.first is not None and e.case.round == number]


def _round_rows(results: Results, number: int) -> Iterator[str]:
    late = [each for each in _found(results.b, number) if each.case.started]
    firsts = [(each.case.tokens, each.case.first) for each in late]
    told = [(tokens, *first) for tokens, first in firsts if tokens and isinstance(first, tuple)]
    errors = sorted(abs(best / tokens - 1) for tokens, _, best, _ in told)
    inside = sum(low <= tokens <= high for tokens, low, _, high in told) / max(1, len(told))
    width = statistics.median((high - low) / tokens for tokens, low, _, high in told)
    yield row(f"B, round {number}, as first predicted", errors, covered=inside, width=width)
    yield tier_of(f"B, round {number}, now", late).row()
    yield tier_of(f"A, round {number}, now", _found(results.a, number)).row()


def _round_words(results: Results, number: int) -> Iterator[str]:
    found = _found(results.b, number)
    firsts = [each.case.first for each in found if each.case.started]
    missing = sorted({first for first in firsts if isinstance(first, str)})
    failed = [each.case.first for each in found if not each.case.started]
    refused = sum(isinstance(each, str) and each.endswith(_REFUSALS) for each in failed)
    everything = [e for e in results.b if e.case.first is not None and e.case.round == number]
    was = sum(not isinstance(each.case.first, str) for each in everything if each.case.started)
    is_now = sum(each.memory is not None for each in everything if each.case.started)
    told = sum(isinstance(each, tuple) for each in firsts)
    because = f"; the others not, because of {', '.join(missing)}" if missing else ""
    ended = (
        f" Of {len(failed)} that failed {refused} were refused at first."
        if failed
        else " None of them failed."
    )
    yield (
        f"- round {number}: of {len(firsts)} boots that started {told} were priced at first{because}. With those set aside"
        f" {was} were and {is_now} are.{ended}"
    )
