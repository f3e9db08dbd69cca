"""Advice of the rules in words that pass: the setting and the value in a profile, the flag and the value for a command."""

from __future__ import annotations

import shlex

import pytest

from compiler.catalog import open_catalog
from compiler.cli.inflags import with_flags
from compiler.diagnostics import Diagnostic
from compiler.engines.engine import Measured
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
FP8_235B = "--model-path Qwen/Qwen3-235B-A22B-FP8 --tp 8"
DENSE = "--model-path Qwen/Qwen3-32B --tp 2"


def found(flags: str, code: str, *, count: int, told: bool) -> tuple[Diagnostic, ...]:
    """The findings of a code about a command, in the words of settings, or told in flags."""
    words = shlex.split(f"python -m sglang.launch_server {flags}")
    predictor = make_predictor(CATALOG, engine="sglang", version="0.5.23")
    question = Question(
        gpu="h100",
        count=count,
        engine="sglang",
        version="0.5.23",
        measured=Measured(),
    )
    judged = predictor.predict(words, question)
    if told:
        judged = with_flags(judged, predictor, words, question)
    return tuple(each for each in judged.diagnostics if each.code == code)


CASES = [
    (
        FP8_235B,
        "block-tiles",
        ("set `parallel.expert = 2`", "or set `parallel.tensor = 4`, on 4 GPUs"),
        ("set `--expert-parallel-size 2`", "or set `--tensor-parallel-size 4`, on 4 GPUs"),
    ),
    (
        "--model-path Qwen/Qwen3-32B-FP8 --tp 16",
        "block-tiles",
        ("set `parallel.tensor = 8`, on 8 GPUs",),
        ("set `--tensor-parallel-size 8`, on 8 GPUs",),
    ),
    (
        "--model-path zai-org/GLM-4.5V --tp 8",
        "vision-heads",
        (
            "set `parallel.tensor = 4`, on 4 GPUs",
            "or set `mm-enable-dp-encoder = true` under `[flags]`: every rank keeps the tower",
        ),
        (
            "set `--tensor-parallel-size 4`, on 4 GPUs",
            "or set `--mm-enable-dp-encoder`: every rank keeps the tower",
        ),
    ),
    (
        "--model-path Qwen/Qwen2.5-7B-Instruct --tp 8",
        "heads-not-divisible",
        ("set `parallel.tensor = 4`, on 4 GPUs; tensor parallel sizes that divide: 1, 2, 4",),
        ("set `--tensor-parallel-size 4`, on 4 GPUs; tensor parallel sizes that divide: 1, 2, 4",),
    ),
    (
        f"{FP8_235B} --ep-size 3",
        "experts-not-divisible",
        ("set `parallel.expert = 2`",),
        ("set `--expert-parallel-size 2`",),
    ),
    (
        f"{FP8_235B} --enable-eplb",
        "balance-without-experts",
        ("set `parallel.expert = 8`", "or leave `enable-eplb = true` out"),
        ("set `--expert-parallel-size 8`", "or leave `--enable-eplb` out"),
    ),
    (
        f"{DENSE} --enable-hierarchical-cache --disable-radix-cache",
        "cache-tiers",
        ("leave `enable-hierarchical-cache = true` or `disable-radix-cache = true` out",),
        ("leave `--enable-hierarchical-cache` or `--disable-radix-cache` out",),
    ),
    (
        f"{DENSE} --schedule-policy lpm --enable-priority-scheduling",
        "priority-policy",
        ('set `schedule-policy = "fcfs"` or `schedule-policy = "lof"`',),
        ("set `--schedule-policy fcfs` or `--schedule-policy lof`",),
    ),
]


@pytest.mark.parametrize(("flags", "code", "settings", "words"), CASES)
def test_advice_is_spelled_where_it_is_read(
    flags: str, code: str, settings: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """A profile is told settings, a launch command its flags, each with the value that passes."""
    count = 16 if "--tp 16" in flags else 8 if "--tp 8" in flags else 2
    (own,) = found(flags, code, count=count, told=False)
    (told,) = found(flags, code, count=count, told=True)
    assert own.help == settings
    assert told.help == words


@pytest.mark.parametrize(
    ("flags", "more", "code"),
    [
        (FP8_235B, "--expert-parallel-size 2", "block-tiles"),
        (FP8_235B, "--tensor-parallel-size 4", "block-tiles"),
        ("--model-path zai-org/GLM-4.5V --tp 8", "--mm-enable-dp-encoder", "vision-heads"),
        (f"{FP8_235B} --enable-eplb", "--expert-parallel-size 8", "balance-without-experts"),
    ],
)
def test_what_is_advised_passes(flags: str, more: str, code: str) -> None:
    """With the flags of the advice at the command's end the rule finds nothing."""
    assert found(flags, code, count=8, told=False)
    count = 4 if more.endswith(" 4") else 8
    assert not found(f"{flags} {more}", code, count=count, told=False)


@pytest.mark.slow
def test_no_flag_keeps_the_help_of_memory_away() -> None:
    """Whatever flag a release takes stands in the command: a change is offered, or the error is named that is to be mended first."""
    predictor = make_predictor(CATALOG, engine="sglang", version="0.5.23")
    question = Question(gpu="h100", count=2, engine="sglang", version="0.5.23")
    assert predictor.release is not None
    refused = 0
    for name, flag in predictor.release.flags.items():
        value = [flag.choices[0]] if flag.choices else ["1"] if flag.takes != "str" else ["x"]
        command = ["sglang", "serve", *DENSE.split(), "--mem-fraction-static", "0.4", name]
        words = [*command, *(value if flag.takes is not None else ())]
        judged = with_flags(predictor.predict(words, question), predictor, words, question)
        for each in judged.diagnostics:
            if each.code == "pool-too-small":
                refused += 1
                assert each.help[0].startswith(("any one", "this keeps", "first mend")), shlex.join(
                    words
                )
    assert refused > 400
