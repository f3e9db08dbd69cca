"""Environment variables of the engine that change memory: priced, said as unpriced, or of no concern."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.catalog import open_catalog
from compiler.engines.engine import Measured
from compiler.engines.sglang.variables import POOL, RESERVE, WEIGHTS
from compiler.judged import Judged, Verdict
from compiler.plan import Memory
from compiler.predict import Question, make_predictor
from test_arrivals import sources


CATALOG = open_catalog()
PLAIN = "Qwen/Qwen3-30B-A3B --tp 8"
STATES = "Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4 --mem-fraction-static 0.8"
IMAGES = "Qwen/Qwen3-VL-8B-Instruct --tp 1"
IMAGES_ALONE_MIB = 100  # 0.5.18 environ.py
SIZING = "SGLANG_ENABLE_POST_CAPTURE_KV_SIZING"


def judged(model: str, variables: str = "", *, version: str, gpu: str = "h200") -> Judged:
    words = f"{variables} python -m sglang.launch_server --model-path {model}".split()
    predictor = make_predictor(CATALOG, engine="sglang", version=version)
    question = Question(gpu=gpu, count=8, engine="sglang", version=version)
    return predictor.predict(words, question)


def memory_of(model: str, variables: str = "", *, version: str, gpu: str = "h200") -> Memory:
    found = judged(model, variables, version=version, gpu=gpu)
    assert found.plan is not None
    assert found.plan.memory is not None, found.plan.unknowns
    return found.plan.memory


@pytest.mark.parametrize(
    ("variables", "version", "is_said"),
    [
        (f"{SIZING}=1", "0.5.18", True),
        (f"{SIZING}=0", "0.5.18", False),
        (f"{SIZING}=nonsense", "0.5.20", False),  # the engine warns, and takes the default
        (f"{SIZING}=on", "0.5.20", False),
        (f"{SIZING}=1", "0.5.15", False),  # which does not read it
        ("SGLANG_CI_SMALL_KV_SIZE=4096", "0.5.6", True),
        ("SGLANG_CI_SMALL_KV_SIZE=4096", "0.5.7", False),
        ("SGLANG_USE_DYNAMIC_MXFP4_LINEAR=true", "0.5.18", True),
        ("SGLANG_ENABLE_EMBED_REPLICATION=1", "0.5.18", False),  # of another family
    ],
)
def test_what_changes_the_pool_is_said(variables: str, version: str, *, is_said: bool) -> None:
    """A variable that a release reads, set to other than usual, leaves the pool unknown by name."""
    found = judged(PLAIN, variables, version=version)
    assert found.plan is not None
    names = {each.name for each in found.plan.unknowns if each.code == "flag-unpriced"}
    assert names == ({variables.partition("=")[0]} if is_said else set())
    assert (found.verdict is Verdict.UNKNOWN) is is_said


def test_with_a_log_of_the_load_the_weights_are_known() -> None:
    """What only changes weights is in the figures of the log; what changes the pool is not."""
    predictor = make_predictor(CATALOG, engine="sglang", version="0.5.18")
    question = Question(
        gpu="h200",
        count=8,
        engine="sglang",
        version="0.5.18",
        measured=Measured(free_before_gib=138.0, free_after_gib=130.0),
    )
    for variable, is_known in (("SGLANG_USE_DYNAMIC_MXFP4_LINEAR", True), (SIZING, False)):
        words = f"{variable}=1 python -m sglang.launch_server --model-path {PLAIN}".split()
        plan = predictor.predict(words, question).plan
        assert plan is not None
        assert (plan.memory is not None) is is_known


@pytest.mark.parametrize(
    ("variables", "is_said"),
    [
        ("SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB=65536", True),
        ("SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB=16384", False),
        ("SGLANG_ENABLE_TORCH_COMPILE=1", True),
        ("SGLANG_ENABLE_TORCH_COMPILE=false", False),
        ("SGLANG_ENABLE_TORCH_COMPILE=on", False),
        ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", True),
        ("SGLANG_DSV4_FP4_LOGITS_BUDGET_MB=512", False),  # which this release does not read
    ],
)
def test_what_changes_the_reserve_is_said(variables: str, *, is_said: bool) -> None:
    """The pool stands, and the variable is among what has no figure."""
    said = "".join(memory_of(PLAIN, variables, version="0.5.18").unpriced)
    assert (variables.partition("=")[0] in said) is is_said


@pytest.mark.parametrize(
    ("text", "is_on"), [("1", True), ("Yes", True), ("0", False), ("on", False), ("t", False)]
)
def test_a_switch_is_read_as_the_engine_reads_it(text: str, *, is_on: bool) -> None:
    """Only the texts that the engine takes for true keep shared experts whole; others leave the default."""
    asked = "deepseek-ai/DeepSeek-R1 --tp 8"
    plain = memory_of(asked, version="0.5.12")
    switched = memory_of(asked, f"SGLANG_SHARED_EXPERT_TP1={text}", version="0.5.12")
    assert (switched.static[0].gib.best > plain.static[0].gib.best) is is_on


def test_the_format_of_states_may_be_a_variable() -> None:
    """It is what the flag does, and the flag wins."""
    flag = memory_of(f"{STATES} --mamba-ssm-dtype bfloat16", version="0.5.11")
    variable = memory_of(STATES, "SGLANG_MAMBA_SSM_DTYPE=bfloat16", version="0.5.11")
    plain = memory_of(STATES, version="0.5.11")
    both = memory_of(
        f"{STATES} --mamba-ssm-dtype float32", "SGLANG_MAMBA_SSM_DTYPE=bfloat16", version="0.5.11"
    )
    formulas = [
        next(each.formula for each in memory.static if each.item == "states")
        for memory in (flag, variable, plain, both)
    ]
    assert formulas[0] == formulas[1]
    assert formulas[2] == formulas[3]
    assert formulas[0] != formulas[2]


@pytest.mark.parametrize(
    ("flags", "variables", "version", "mib"),
    [
        ("", "", "0.5.18", IMAGES_ALONE_MIB),
        ("", "SGLANG_VLM_CACHE_SIZE_MB=2048", "0.5.18", 2048),
        ("", "SGLANG_VLM_CACHE_SIZE_MB=2048", "0.5.17", 0),
        ("--mm-feature-transport cuda_ipc", "", "0.5.18", IMAGES_ALONE_MIB + 1024),
        (
            "--mm-feature-transport cuda_ipc",
            "SGLANG_MM_FEATURE_CACHE_MB=512",
            "0.5.18",
            IMAGES_ALONE_MIB + 512,
        ),
        (
            "--mm-feature-transport cpu",
            "SGLANG_MM_FEATURE_CACHE_MB=512",
            "0.5.18",
            IMAGES_ALONE_MIB,
        ),
    ],
)
def test_what_images_take_of_the_pool(flags: str, variables: str, version: str, mib: int) -> None:
    """From 0.5.18 on two variables say how much is taken off before the pool is sized; the reserve has none of it, and it is not called unpriced."""
    memory = memory_of(f"{IMAGES} {flags}", variables, version=version)
    told = "taken by the cache of images"
    taken = next((each for each in memory.pool.best_formula if each.startswith(told)), None)
    assert taken == (f"{told}: {mib / 1024:.2f} GiB" if mib else None)
    left = memory.free_before_load_gib.best * (1 - memory.fraction)
    assert memory.reserve.available_gib.best == pytest.approx(left, abs=0.02)
    name = variables.partition("=")[0]
    said = bool(name) and any(name in each for each in memory.unpriced)
    assert said is (bool(variables) and mib in {0, IMAGES_ALONE_MIB})


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.5.6", "0.5.11", "0.5.23"])
def test_each_variable_is_read_by_its_releases(version: str, tmp_path: Path) -> None:
    """A release reads just those variables of the tables that are said of it."""
    from compiler.engines.sglang.releases import at_least  # noqa: PLC0415 - only this one asks

    text = "".join(each.read_text("utf-8-sig") for each in sources(version, tmp_path).rglob("*.py"))
    for name, known in {**POOL, **WEIGHTS, **RESERVE}.items():
        if known.since is None:
            continue
        until = known.until is not None and at_least(version, known.until)
        assert (f"{name}" in text) is (at_least(version, known.since) and not until), name
