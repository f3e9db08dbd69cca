"""The rules of SGLang on any flags and layouts: they always come to an end, and say what they may say."""

from __future__ import annotations

import re

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.catalog import open_catalog
from compiler.diagnostics import Span
from compiler.engines.sglang.rules import LOADED_FOR, all_rules, rules_for
from compiler.origins import Origins
from compiler.planner import plan_profile
from compiler.profile import (
    Argument,
    CheckpointPath,
    Engine,
    Gpus,
    Memory,
    Model,
    Name,
    Parallel,
    Profile,
    Serve,
    Speculative,
    Text,
    Version,
)
from examples import examples


CATALOG = open_catalog()
NOWHERE = Origins(document=Span(file="", line=1, column=1, end_line=1, end_column=1))
VERSIONS = ("0.4.6", "0.5.3", "0.5.11", "0.5.14", "0.5.23", "0.5.99", "main")
MODELS = (
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3.5-27B-FP8",
    "deepseek-ai/DeepSeek-V3.2",
    "moonshotai/Kimi-K2.6",
    "nobody/Unheard-of",
)
# Most flags have no rule: those of these subjects have.
SUBJECTS = re.compile(
    "moe|spec|mamba|lora|disagg|hicache|hierarch|attention|attn|node|rank|dist-init|gpu-id|ssl|prior|sched|radix|mm-|quant|pdmux|overlap|graph"
)
FLAGS = {
    flag
    for version in ("0.5.11", "0.5.23")
    if (release := CATALOG.release("sglang", version)[0]) is not None
    for flag in release.flags
}
NAMES = sorted(flag[2:] for flag in FLAGS if SUBJECTS.search(flag))
VALUES: st.SearchStrategy[Argument] = st.one_of(
    st.just(True),  # noqa: FBT003 - a flag without a value
    st.integers(-3, 9),
    st.sampled_from(("", "decode", "prefill", "fa3", "trtllm_mla", "no_buffer", "deepep", "fake")),
    st.just(("a=/srv/a", "b=/srv/b")),
)
SPECULATION = st.none() | st.sampled_from(
    ("dflash", "ddtree", "eagle", "eagle3", "nextn", "standalone", "ngram")
).map(lambda name: Speculative(algorithm=name))  # type: ignore[arg-type]
PROFILES = st.builds(
    Profile,
    model=st.sampled_from(MODELS).map(
        lambda id_: Model(id=Text(id_), path=CheckpointPath("/srv/m"))
    ),
    gpus=st.builds(
        Gpus,
        kind=st.sampled_from(("h200", "b200", "rtx-4090", "mi355x", "gb10", "nothing")).map(Name),
        count=st.integers(1, 16),
    ),
    engine=st.sampled_from(VERSIONS).map(
        lambda version: Engine(name=Name("sglang"), version=Version(version))
    ),
    parallel=st.builds(
        Parallel,
        tensor=st.integers(1, 16),
        pipeline=st.integers(1, 3),
        data=st.integers(1, 4),
        expert=st.integers(1, 8),
        dp_attention=st.booleans(),
    ),
    serve=st.builds(Serve, context=st.just(4096), max_running_requests=st.none() | st.just(64)),
    memory=st.builds(
        Memory,
        fraction=st.just(0.8),
        page_size=st.none() | st.sampled_from((1, 16, 64)),
        chunked_prefill=st.none() | st.sampled_from((-1, 2048)),
    ),
    speculative=SPECULATION,
    flags=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=12),
)


@pytest.mark.slow
@given(profile=PROFILES)
@settings(derandomize=True, deadline=None, max_examples=1500)
def test_rules_hold_on_anything(profile: Profile) -> None:
    """No layout and no value of a flag breaks a rule; it gives its own codes, and none without a flag that it declares."""
    _judge(profile)


@given(profile=PROFILES)
@settings(derandomize=True, deadline=None, max_examples=examples(100))
def test_rules_hold_on_some(profile: Profile) -> None:
    """The same, for a hundred."""
    _judge(profile)


def _judge(profile: Profile) -> None:
    profile = evolve(profile, flags={n: v for n, v in profile.flags.items() if n != "config"})
    (plan,) = plan_profile("case", profile, CATALOG).plans
    asked = rules_for(plan)
    for rule in all_rules():
        for found in rule.judge(plan, NOWHERE):
            assert rule in asked
            assert found.code in rule.codes
            assert found.summary
            assert not found.summary.endswith(".")
            assert found.notes or found.help


def test_a_file_is_left_unloaded_only_where_none_of_its_rules_has_anything_to_judge() -> None:
    """The flags that a file is loaded for are those of its rules, each of which looks at some."""
    for file, flags in LOADED_FOR.items():
        rules = [each for each in all_rules() if each.judge.__module__.endswith(f".rules.{file}")]
        assert all(each.flags for each in rules), file
        assert flags == frozenset[str]().union(*(each.flags for each in rules)), file
