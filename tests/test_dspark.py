"""DSpark: stages that a checkpoint brings, drafts of their own, the pools of both, and what the engine makes of its flags."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.cli.predict import command as predict
from compiler.engines.sglang.compressed import PAGE, CompressedPool
from compiler.engines.sglang.log.recording import boot_fields
from compiler.engines.sglang.pool import Cell, Hypothesis, Layout
from compiler.engines.sglang.releases import CompressedPools
from compiler.engines.sglang.spelling import spell
from compiler.facts import Compressed, Model
from compiler.memory.tensors import nextn_tensors, stage_tensors
from compiler.memory.weights import GIB, Split, Tensors, exact_gib
from compiler.plan import Memory, Plan
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
FLASH = "deepseek-ai/DeepSeek-V4-Flash-0731"
STAGED = (FLASH, "deepseek-ai/DeepSeek-V4-Pro-DSpark", "deepseek-ai/DeepSeek-V4.1-Flash")
ON = "--speculative-algorithm DSPARK"
DRAFT = """\
id = "acme/Qwen3-8B-DSpark"
algorithms = ["dspark"]
targets = ["Qwen/Qwen3-8B"]
hidden = 4096
layers = 5
intermediate = 12_288
heads = 32
attention = { kind = "gqa", kv_heads = 8, head_dim = 128, v_head_dim = 128 }
block_size = 7
taps = 5
other_parameters = 77_791_232
context = 40_960

[sources]
"*" = "a test"
"""


def known(id_: str) -> Model:
    """A model of the catalogue."""
    model, faults = CATALOG.model(id_)
    assert model is not None, faults
    return model


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A catalogue with a draft of its own."""
    root: Path = tmp_path_factory.mktemp("team")
    path = root / "catalog/drafts/acme--Qwen3-8B-DSpark.toml"
    path.parent.mkdir(parents=True)
    path.write_text(DRAFT)
    return open_catalog(FolderReader(root))


def plan_of(
    command: str, *, version: str, gpu: str = "h200", count: int = 8, catalog: Catalog = CATALOG
) -> Plan:
    words = f"python -m sglang.launch_server --model-path {command}".split()
    question = Question(gpu=gpu, count=count, engine="sglang", version=version)
    plan = make_predictor(catalog, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    return plan


def memory_of(
    command: str, *, version: str, count: int = 8, gpu: str = "h200", catalog: Catalog = CATALOG
) -> Memory:
    plan = plan_of(command, version=version, count=count, gpu=gpu, catalog=catalog)
    assert plan.memory is not None, plan.unknowns
    return plan.memory


def best(memory: Memory, item: str) -> float:
    """A line of either budget, GiB."""
    lines = (*memory.static, *memory.reserve_lines)
    return next(each.gib.best for each in lines if each.item == item)


def _parameters(tensors: tuple[Tensors, ...]) -> int:
    return sum(each.elements * each.count for each in tensors if "scales" not in each.role)


def test_three_stages_have_the_published_parameters() -> None:
    """DeepSeek-V4-Pro-DSpark has 51,658,262,124 parameters more than DeepSeek-V4-Pro, whose extra layer it does not have."""
    pro, staged = known("deepseek-ai/DeepSeek-V4-Pro"), known(STAGED[1])
    assert pro.nextn is not None
    assert staged.stages is not None
    # What mixes hidden states is in fp32, and counts twice.
    more = _parameters(stage_tensors(staged, staged.stages, split=Split()))
    more -= staged.stages.mixing_parameters // 2
    more -= _parameters(nextn_tensors(pro, pro.nextn, split=Split()))
    assert more == pytest.approx(1_650_497_936_906 - 1_598_839_674_782, rel=1e-4)


@pytest.mark.parametrize("id_", STAGED)
def test_stages_are_split_but_for_what_every_rank_has(id_: str) -> None:
    """Experts and attention are shared by the ranks; the Markov head, the projection, and the routers are whole on each."""
    model = known(id_)
    assert model.stages is not None
    one, eight = (stage_tensors(model, model.stages, split=Split(tensor=ranks)) for ranks in (1, 8))
    whole = exact_gib(each for each in one if each.whole)
    assert whole == pytest.approx(exact_gib(each for each in eight if each.whole))
    assert exact_gib(eight) - whole == pytest.approx((exact_gib(one) - whole) / 8, rel=1e-3)
    o_a = next(each for each in one if each.role == "attention o_a")
    assert o_a.bits == 16


def test_stages_weigh_before_the_pool_is_sized() -> None:
    """Of what a rank loads 2.7 GiB are stages, of the experts' own number; without DSpark nothing of them is loaded."""
    words = f"{FLASH} --tp 4 --mem-fraction-static 0.8 --max-running-requests 48"
    alone, drafted = (
        best(memory_of(f"{words} {more}", version="0.5.17", count=4), "weights")
        for more in ("", ON)
    )
    assert drafted - alone == pytest.approx(2.70, abs=0.02)


@pytest.mark.parametrize(
    ("version", "more", "cell"),
    [
        # Entries of 21 layers of ratio 4 and 20 of 128, and a tenth of the windows with rings of 16 for drafted tokens.
        ("0.5.16", "", 3_850.25 + (584 * 43 + 26_880) / 10),
        ("0.5.20", "", 3_850.25 + (584 * 43 + 26_880) / 10),
        # With what pages are padded with; the rings follow pages of 256.
        ("0.5.23", "--swa-full-tokens-ratio 0.1", 3_899.25 + (585 * 43 + 13_440) / 10),
        # The window's pool goes by requests.
        ("0.5.21", "", 3_899.25),
        ("0.5.23", "", 3_899.25),
    ],
)
def test_a_token_costs_a_layer_more(version: str, more: str, cell: float) -> None:
    """Each release counts one layer more of 43 for three stages."""
    words = f"{FLASH} --tp 8 --max-running-requests 48 {ON} {more}"
    found = memory_of(words, version=version).pool.cell_bytes
    assert found == pytest.approx(cell * 44 / 43, abs=1)


def _windows(*, ratio: float | None) -> CompressedPool:
    shape = known(FLASH).attention
    assert isinstance(shape, Compressed)
    return CompressedPool(
        shape=shape,
        rule=CompressedPools.CAPPED,
        layers=43,
        ratio=ratio,
        requests=48,
        drafted=6,
        stages_drafting=3,
        chunk=8192,
    )


def test_the_windows_of_stages_are_what_they_are() -> None:
    """Three stages keep a row of 585 B for each slot of the window; what the price counts for them is another sum."""
    by_ratio, by_requests = _windows(ratio=0.1), _windows(ratio=None)
    assert by_ratio.cell.draft_bytes == pytest.approx(0.1 * 3 * 585)
    assert by_ratio.owed_gib == 0.0
    assert by_requests.cell.draft_bytes == 0.0
    # 48 x (128 + 6 x 128 + 256 + 12), two chunks, a page, and four tails of a window and a page each, in whole pages.
    slots = -(-(48 * 1164 + 2 * 8192 + 256 + 4 * 48 * 384) // PAGE) * PAGE
    counted = (585 * 43 + 16 / 256 * 4 * (512 + 128) * 4 * 21) / 43
    assert by_requests.owed_gib == pytest.approx(slots * (3 * 585 - counted) / GIB)


def test_the_reserve_pays_what_windows_take_beyond_their_price() -> None:
    """What a layout owes is gone from what is left, and moves no pool."""
    owing, even = (
        Hypothesis(
            free_gib=100.0,
            weights_gib=60.0,
            layout=Layout(
                cell=Cell(pricing="exact", priced_bytes=1000, target_bytes=1000, draft_bytes=0),
                owed_gib=owed,
            ),
        )
        for owed in (0.5, 0.0)
    )
    tokens = owing.tokens(0.8)
    assert tokens == even.tokens(0.8)
    lost = even.left_gib(tokens, fraction=0.8) - owing.left_gib(tokens, fraction=0.8)
    assert lost == pytest.approx(0.5)


def test_a_plan_says_what_the_windows_take() -> None:
    """Beside the share of the budget that is meant for the draft."""
    words = f"{FLASH} --tp 8 --max-running-requests 48 {ON}"
    lines = memory_of(words, version="0.5.23").static
    share = next(each for each in lines if each.item == "draft's share of the pool budget")
    owed = _windows(ratio=None).owed_gib
    assert f"takes 0 B a token and {owed:.2f} GiB of windows beside those" in share.formula


@pytest.mark.parametrize(
    ("more", "verified"),
    [
        ("", 6),
        ("--speculative-dspark-block-size 3", 4),
        ("--speculative-num-draft-tokens 6", 6),
    ],
)
def test_the_token_before_the_block_is_verified_too(more: str, verified: int) -> None:
    """The block is the flag's, or the checkpoint's."""
    assert plan_of(f"{FLASH} --tp 8 {ON} {more}", version="0.5.18").verify_width == verified


def test_a_draft_of_its_own_counts_like_one_of_dflash(team: Catalog) -> None:
    """By layers to 0.5.17, by its own heads from 0.5.18 on: 5 layers of 4,096 B beside 36."""
    words = f"Qwen/Qwen3-8B --speculative-draft-model-path acme/Qwen3-8B-DSpark {ON}"
    cells = [
        memory_of(words, version=version, count=1, catalog=team).pool.cell_bytes
        for version in ("0.5.17", "0.5.18")
    ]
    assert cells == [147_456 * 41 // 36, 147_456 + 5 * 4_096]
    assert plan_of(words, version="0.5.18", count=1, catalog=team).verify_width == 8


@pytest.mark.parametrize(("version", "heads"), [("0.5.18", 2), ("0.5.22", 8)])
def test_a_price_may_share_heads_that_its_pool_has(team: Catalog, version: str, heads: int) -> None:
    """With data parallel attention the draft has all heads on each rank; to 0.5.21 the price has those of all ranks."""
    words = (
        "Qwen/Qwen3-8B --tp 4 --dp 4 --enable-dp-attention --enable-dp-lm-head"
        f" --speculative-draft-model-path acme/Qwen3-8B-DSpark {ON}"
    )
    memory = memory_of(words, version=version, count=4, catalog=team)
    assert memory.pool.cell_bytes == 147_456 + 5 * heads * 256 * 2


def test_what_is_made_once_the_pool_is_there(team: Catalog) -> None:
    """A copy of the K and V weights from 0.5.17 on; the sampler's logits where they are free, and from 0.5.22 on always."""
    words = f"Qwen/Qwen3-8B --speculative-draft-model-path acme/Qwen3-8B-DSpark {ON}"
    lines = {
        version: {
            each.item: each.gib
            for each in memory_of(words, version=version, count=1, catalog=team).reserve_lines
        }
        for version in ("0.5.16", "0.5.17", "0.5.22")
    }
    copy, sampler = "draft's stacked KV weights", "draft's sampler, logits"
    assert not {copy, sampler} & set(lines["0.5.16"])
    assert lines["0.5.17"][copy].best == pytest.approx(5 * 8 * 256 * 4096 * 2 / GIB)
    assert (lines["0.5.17"][sampler].low, lines["0.5.17"][sampler].best) == (0.0, 0.0)
    assert lines["0.5.22"][sampler].low == lines["0.5.22"][sampler].best > 0


@pytest.mark.parametrize(("mode", "is_said"), [("static", False), ("compact", True)])
def test_what_is_verified_in_another_way_is_said(mode: str, *, is_said: bool) -> None:
    """Ragged steps are captured by their tokens, which nobody wrote down here."""
    words = f"SGLANG_RAGGED_VERIFY_MODE={mode} python -m sglang.launch_server --model-path {FLASH} --tp 8 {ON}"
    question = Question(gpu="h200", count=8, engine="sglang", version="0.5.18")
    predictor = make_predictor(CATALOG, engine="sglang", version="0.5.18")
    plan = predictor.predict(words.split(), question).plan
    assert plan is not None
    assert plan.memory is not None
    assert any("SGLANG_RAGGED_VERIFY_MODE" in each for each in plan.memory.unpriced) is is_said


@pytest.mark.parametrize(("version", "gone"), [("0.5.16", 0.0), ("0.5.17", 1.0)])
def test_a_server_that_only_prefills_drops_most_of_its_draft(
    team: Catalog, version: str, gone: float
) -> None:
    """What writes KV stays; the MLPs, the projections out, and the Markov head are freed before the pool is sized."""
    words = (
        "Qwen/Qwen3-8B --mem-fraction-static 0.8"
        f" --speculative-draft-model-path acme/Qwen3-8B-DSpark {ON}"
    )
    both, prefills = (
        best(memory_of(f"{words} {more}", version=version, count=1, catalog=team), "weights")
        for more in ("", "--disaggregation-mode prefill")
    )
    dropped = 5 * (4096 * 4096 + 3 * 4096 * 12_288) + 77_791_232
    assert both - prefills == pytest.approx(gone * dropped * 2 / GIB, abs=0.02)


@pytest.mark.parametrize(
    ("command", "version", "missing"),
    [
        (f"{FLASH} --tp 8 {ON}", "0.5.15", "does not know it"),
        (f"Qwen/Qwen3-8B {ON}", "0.5.18", "no stages that draft"),
        (
            f"Qwen/Qwen3-8B {ON} --speculative-draft-model-path z-lab/Qwen3-8B-DFlash-b16",
            "0.5.18",
            "for `dflash`",
        ),
        (
            f"{FLASH} --tp 8 {ON} --speculative-draft-model-path acme/Qwen3-8B-DSpark",
            "0.5.18",
            "beside attention that compresses over time",
        ),
        (
            f"{FLASH} --tp 4 --pp-size 2 {ON} --disaggregation-mode prefill",
            "0.5.21",
            "pipeline's stages",
        ),
        (
            f"Qwen/Qwen3-8B {ON} --speculative-draft-model-path acme/Another",
            "0.5.18",
            "its shape",
        ),
        (
            f"Qwen/Qwen3-8B {ON} --speculative-draft-model-path acme/Qwen3-8B-DSpark --kv-cache-dtype fp8_e4m3 --attention-backend fa4",
            "0.5.20",
            "under `fa4`",
        ),
    ],
)
def test_what_is_not_known_of_a_draft_is_said(
    team: Catalog, command: str, version: str, missing: str
) -> None:
    """Nothing is priced that the sources and the catalogue do not tell."""
    plan = plan_of(command, version=version, catalog=team)
    assert plan.memory is None
    assert any(missing in each.missing for each in plan.unknowns), plan.unknowns


def test_the_block_has_a_flag_of_its_own() -> None:
    """A command's flag comes back as it was, and DFlash's is not written for it."""
    plan = plan_of(f"{FLASH} --tp 8 {ON} --speculative-dspark-block-size 4", version="0.5.18")
    options = spell(plan.profile, plan.release, fraction=0.8).options
    written = {each.flag: each.values for each in options}
    assert written["--speculative-dspark-block-size"] == ("4",)
    assert "--speculative-dflash-block-size" not in written


def test_a_log_tells_the_block() -> None:
    """Of the two flags for a block the one that is set."""
    told = boot_fields(
        {
            "speculative_algorithm": "DSPARK",
            "speculative_dflash_block_size": None,
            "speculative_dspark_block_size": 5,
        }
    )
    assert (told["algorithm"], told["block_size"]) == ("dspark", 5)


def judged(words: str) -> str:
    """What is found of a command with DeepSeek-V4-Flash-0731 and DSpark."""
    given = f"--model-path {FLASH} --tp 8 {ON} --context-length 32768 {words}"
    launch = f"python -m sglang.launch_server {given}".split()
    invoked = CliRunner().invoke(predict, ["--gpu", "h200", "--engine", "0.5.23", "--", *launch])
    return str(invoked.stderr)


@pytest.mark.parametrize(
    ("flags", "severity", "advised"),
    [
        ("dspark-block-size 7", "warning", "dspark-block-size 5"),
        ("dflash-block-size 5", "warning", "dspark-block-size 5"),
        ("num-draft-tokens 8", "error", "num-draft-tokens 6"),
    ],
)
def test_the_advice_about_its_block_can_be_followed(
    flags: str, severity: str, advised: str
) -> None:
    """It names the flag that DSpark reads, with the number that is right, and nothing is found of a command with that."""
    said = judged(f"--speculative-{flags}")
    assert said.startswith(severity)
    assert f"set `--speculative-{advised}`" in said
    assert judged(f"--speculative-{advised}") == ""


def test_a_block_without_speculation_does_nothing() -> None:
    """A flag of a draft in a command without an algorithm is not left out in silence, and what is missing is named."""
    words = "--model-path Qwen/Qwen3-8B --tp 8 --speculative-dspark-block-size 5"
    launch = f"python -m sglang.launch_server {words}".split()
    invoked = CliRunner().invoke(predict, ["--gpu", "h200", "--engine", "0.5.23", "--", *launch])
    assert "`--speculative-dspark-block-size` does nothing without" in invoked.stderr
    assert "set `--speculative-algorithm`, or leave" in invoked.stderr
