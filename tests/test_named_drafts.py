"""What a draft takes before the pool is sized, and boots in which a path named the draft that a model brings."""

from __future__ import annotations

import pytest
from attrs import evolve

from benchmarks.asking import ask, read_cases
from benchmarks.recorded import boot_of
from servers import lines, planned, sized


GIB = 2**30
INT4 = "--model-path Frozenlock/Qwen3.8-27B-int4-AutoRound --tp 2 --max-running-requests 1 --mem-fraction-static 0.85"
DRAFT = (
    "--speculative-algorithm DFLASH --speculative-draft-model-path z-lab/Qwen3.8-27B-DFlash2"
    " --speculative-draft-model-quantization unquant"
)


def test_a_draft_of_its_own_has_its_tables() -> None:
    """From 0.5.14 on its rotary table and its stacked K and V are there when the pool is sized."""
    plain, drafted = (
        lines(sized(f"{INT4} {more}", version="0.5.19", gpu="rtx-3090", count=2))["weights"]
        for more in ("", DRAFT)
    )
    layers = 5 * (5120 * (32 + 2 * 8) * 128 + 32 * 128 * 5120 + 3 * 5120 * 17_408) // 2
    whole = 5 * 5120 * 5120 + 193_986_560
    table, stacked = 262_144 * 128 * 4, 5 * 4 * 2 * 128 * 5120 * 2
    wanted = (2 * (layers + whole) + table + stacked) / GIB
    assert drafted.gib.best - plain.gib.best == pytest.approx(wanted, abs=0.02)


def test_a_draft_in_few_bits_has_its_scales_and_no_copy() -> None:
    """Its layers are in four bits by groups of 128, `fc` and what is not quantized in bf16; K and V are not cut out of them."""
    draft = DRAFT.replace("z-lab/Qwen3.8-27B-DFlash2", "syvai/Qwen3.8-27B-DFlash2-W4A16")
    command = f"{INT4} {draft.replace('unquant', 'compressed-tensors')}"
    plain, drafted = (
        lines(sized(each, version="0.5.19", gpu="rtx-3090", count=2))["weights"]
        for each in (INT4, command)
    )
    layers = 5 * (5120 * (32 + 2 * 8) * 128 + 32 * 128 * 5120 + 3 * 5120 * 17_408) // 2
    whole, table = 5 * 5120 * 5120 + 193_986_560, 262_144 * 128 * 4
    wanted = (layers * (4 / 8 + 2 / 128) + 2 * whole + table) / GIB
    assert drafted.gib.best - plain.gib.best == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize(
    ("draft", "method", "priced"),
    [
        ("syvai/Qwen3.8-27B-DFlash2-W4A16", "compressed-tensors", True),
        ("syvai/Qwen3.8-27B-DFlash2-W4A16", "awq", False),
        ("z-lab/Qwen3.8-27B-DFlash2", "compressed-tensors", False),
    ],
)
def test_a_draft_is_priced_in_its_own_format(draft: str, method: str, *, priced: bool) -> None:
    """The flag that says how a draft is stored changes nothing where its entry has that; else it is not priced."""
    command = (
        f"{INT4} --speculative-algorithm DFLASH --speculative-draft-model-path {draft}"
        f" --speculative-draft-model-quantization {method}"
    )
    plan = planned(command, version="0.5.19", gpu="rtx-3090", count=2)
    assert (plan.memory is not None) is priced


MTP, BLOCKS = "qwen38-27b-int4-2x3090-mtp-f090", "qwen38-27b-int4-2x3090-dflash2-f082"


@pytest.mark.parametrize(("about", "known"), [(MTP, BLOCKS), (BLOCKS, MTP)])
def test_a_boot_says_that_its_draft_was_named(about: str, known: str) -> None:
    """A token costs the draft's layers, too, where a path names the model's own draft: a boot says so by the model's id."""
    cases = {case.id: case for case in read_cases()}
    boot = boot_of(cases[known])
    assert boot is not None
    answer = ask(cases[about], boots=(boot,))
    assert answer.memory is not None
    assert answer.memory.pool.boot is not None
    assert answer.covers


def test_a_boot_that_does_not_say_is_as_the_profile() -> None:
    """Boots that were recorded before have no draft there: they are taken to be like the profile."""
    case = next(case for case in read_cases() if case.id == MTP)
    boot = boot_of(case)
    assert boot is not None
    assert boot.draft == boot.model
    for each in (boot, evolve(boot, draft=None)):
        answer = ask(case, boots=(each,))
        assert answer.memory is not None
        assert answer.memory.pool.tokens is not None
        assert answer.memory.pool.tokens.best == case.tokens


@pytest.mark.parametrize(
    ("model", "counted"),
    [("Qwen/Qwen3.5-4B", False), ("zai-org/GLM-4.7-Flash", True), ("XiaomiMiMo/MiMo-7B-RL", True)],
)
def test_a_draft_that_nobody_named_is_counted_where_the_config_says_its_layers(
    model: str,
    counted: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """From 0.5.20 on the target's own config is asked, and Qwen3.5's has another name for their number."""
    flags = f"--model-path {model} --tp 1 --trust-remote-code --mem-fraction-static 0.85"
    drafted = f"{flags} --speculative-algorithm NEXTN --max-running-requests 8"
    plain, own = (
        sized(command, version="0.5.21", gpu="h100", count=1, public=False).pool.cell_bytes
        for command in (flags, drafted)
    )
    assert (own > plain) is counted


@pytest.mark.parametrize(
    ("kv", "draft_kv", "draft_bytes"),
    [("bf16", None, 2), ("bf16", "fp8_e4m3", 1), ("fp8_e4m3", None, 1), ("fp8_e4m3", "auto", 2)],
)
def test_a_draft_may_keep_its_kv_in_a_format_of_its_own(
    kv: str, draft_kv: str | None, draft_bytes: int
) -> None:
    """Its five layers of eight heads cost what its own format takes, and `auto` is 16 bits beside a cache in fp8."""
    more = "" if draft_kv is None else f" --speculative-draft-kv-cache-dtype {draft_kv}"
    flags = f"{INT4} --kv-cache-dtype {kv}"
    plain, drafted = (
        sized(command, version="0.5.20", gpu="rtx-3090", count=2).pool.cell_bytes
        for command in (flags, f"{flags} {DRAFT}{more}")
    )
    assert drafted - plain == 5 * 8 // 2 * 2 * 128 * draft_bytes
