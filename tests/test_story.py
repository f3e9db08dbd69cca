"""The one deployment the product is built around, with its numbers: Kimi K2.6 on eight 96 GB cards, by hand and proved.

The real fragments, the real recorded boot and the shipped catalogue; what changes is in the test.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compiler.facts import Evidence
from compiler.judged import Checked, Verdict
from compiler.memory.outcome import (
    POOL_CODES,
    RESERVE_CODES,
    Outcome,
    pool_outcome,
    reserve_outcome,
)
from deployments import check_text, codes_of, help_of, memory_of, only_plan


PROFILES = Path(__file__).parents[1] / "profiles"
BOOT_POOL = 101_134
"""`max_total_num_tokens` of the recorded start at 0.85."""

PROFILE = """\
schema = 1
extends = ["base/kimi-k2.6", "base/service", "base/{engine}", "hw/8x-rtx-pro-6000"]

[serve]
context = 200_000
concurrency = 1
max_running_requests = {requests}

[memory]
fraction = {fraction}
kv_dtype = "{kv_dtype}"

[targets.ct200]
kind = "systemd"
user = "sglang"
"""
STOCK = """\
schema = 1

[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"

[speculative]
algorithm = "dflash"
draft = "z-lab/Kimi-K2.6-DFlash"
draft_path = "/srv/models/Kimi-K2.6-DFlash"
block_size = 8
draft_window = 2048
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """The fragments and boots of this repository, without its deployable profiles."""
    folder = tmp_path / "profiles"
    for each in ("base", "hw", "boots"):
        shutil.copytree(PROFILES / each, folder / each)
    (folder / "base" / "stock.toml").write_text(STOCK)
    return folder


def deploy(
    profiles: Path,
    *,
    fraction: float | str,
    requests: int,
    kv_dtype: str = "auto",
    engine: str = "sglang-ddtree",
) -> Checked:
    shown = f'"{fraction}"' if isinstance(fraction, str) else fraction
    text = PROFILE.format(fraction=shown, requests=requests, kv_dtype=kv_dtype, engine=engine)
    return check_text(profiles, text)


def advice_with(checked: Checked, code: str, setting: str) -> str:
    """The one line of a finding's help that offers a setting."""
    (line,) = (each for each in help_of(checked, code).split("\n") if each.startswith(setting))
    return line


def test_the_context_was_raised_and_the_pool_was_not(profiles: Path) -> None:
    """At 0.85 with 64 requests half of what one request needs is there; 0.926 would do, and then fewer requests."""
    checked = deploy(profiles, fraction=0.85, requests=64)
    assert "pool-too-small" in codes_of(checked)
    assert memory_of(checked).pool.tokens.best == pytest.approx(BOOT_POOL, rel=0.01)
    assert memory_of(checked).pool.evidence is Evidence.MEASURED
    line = advice_with(
        checked, "pool-too-small", "memory.fraction = 0.926 and serve.max_running_requests = "
    )
    assert not line.endswith("uncertain")  # there is a number of requests that surely passes
    assert checked.judged[0].verdict is Verdict.REFUSED


def test_what_was_tried_next_is_likely_short(profiles: Path) -> None:
    """At 0.92 with 8 requests only a build that forgot to price its draft would pass; 0.926 is the least."""
    checked = deploy(profiles, fraction=0.92, requests=8)
    assert codes_of(checked) == ["pool-likely-short"]
    tokens = memory_of(checked).pool.tokens
    assert tokens.best == pytest.approx(192_700, rel=0.01)
    assert tokens.high == pytest.approx(202_000, rel=0.001)
    assert advice_with(checked, "pool-likely-short", "memory.fraction = 0.926  ")


def test_the_deployable_profile_passes_over_the_whole_range(profiles: Path) -> None:
    """At 0.93 with 8 requests the pool holds the promise however the build prices its draft."""
    checked = deploy(profiles, fraction=0.93, requests=8)
    assert pool_outcome(memory_of(checked)) is Outcome.PASSES
    assert set(codes_of(checked)) <= {"reserve-uncertain"}


def test_many_requests_do_not_leave_enough(profiles: Path) -> None:
    """At 0.92 with 64 requests the reserve is flagged; the pool is what it is with 8."""
    checked, with_8 = (deploy(profiles, fraction=0.92, requests=each) for each in (64, 8))
    assert set(codes_of(checked)) & set(RESERVE_CODES.values())
    assert reserve_outcome(memory_of(with_8)) is Outcome.PASSES
    assert memory_of(checked).pool.tokens == memory_of(with_8).pool.tokens


def test_fit_finds_the_least_fraction(profiles: Path) -> None:
    """`fraction = "fit"` comes to 0.926, and the engine is given that."""
    checked = deploy(profiles, fraction="fit", requests=8)
    assert memory_of(checked).fraction == 0.926
    argv = only_plan(checked).argv
    assert argv[argv.index("--mem-fraction-static") + 1] == "0.926"


@pytest.mark.parametrize("kv_dtype", ["auto", "fp8_e4m3"])
def test_the_least_fraction_is_the_least(profiles: Path, kv_dtype: str) -> None:
    """A thousandth below what "fit" finds the pool no longer passes, on either cache."""
    fitted = memory_of(deploy(profiles, fraction="fit", requests=8, kv_dtype=kv_dtype)).fraction
    for fraction, passes in ((fitted, True), (round(fitted - 0.001, 3), False)):
        memory = memory_of(deploy(profiles, fraction=fraction, requests=8, kv_dtype=kv_dtype))
        assert (pool_outcome(memory) is Outcome.PASSES) == passes


def test_fp8_fits_a_smaller_fraction(profiles: Path) -> None:
    """Half of the bytes a token need less than 0.926, and more than the weights alone."""
    memory = memory_of(deploy(profiles, fraction="fit", requests=8, kv_dtype="fp8_e4m3"))
    assert 0.84 < memory.fraction < 0.86


def test_without_the_boot_the_range_covers_the_truth(profiles: Path) -> None:
    """From the tensors alone the pool at 0.85 is a range, and what the log printed lies in it."""
    shutil.rmtree(profiles / "boots")
    pool = memory_of(deploy(profiles, fraction=0.85, requests=64)).pool
    assert pool.evidence is Evidence.DERIVED
    assert pool.tokens.low <= BOOT_POOL <= pool.tokens.high


def test_what_one_request_needs(profiles: Path) -> None:
    """The context less 4, and a slot for each token verified at once: 9 for the tree, 8 for the block of a stock release."""
    for engine, width, required in (("sglang-ddtree", 9, 200_005), ("stock", 8, 200_004)):
        checked = deploy(profiles, fraction=0.93, requests=8, engine=engine)
        assert only_plan(checked).verify_width == width
        assert memory_of(checked).pool.required_tokens == required


@pytest.mark.parametrize("requests", [8, 64])
def test_each_budget_is_judged_once(profiles: Path, requests: int) -> None:
    """One finding about the pool, and at most one about the reserve."""
    codes = codes_of(deploy(profiles, fraction=0.92, requests=requests))
    assert sum(each in POOL_CODES.values() for each in codes) == 1
    assert sum(each in RESERVE_CODES.values() for each in codes) <= 1
