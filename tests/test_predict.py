"""A raw launch command in, a verdict out: in the core, and from the command line."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner, Result

from compiler.catalog import open_catalog
from compiler.cli.adopt import command as adopt
from compiler.cli.predict import command
from compiler.engines.engine import Measured
from compiler.facts import Boot, Evidence
from compiler.judged import Judged, Verdict
from compiler.memory.cards import CUSTOM
from compiler.plan import Memory
from compiler.predict import Predictor, Question, make_predictor


CATALOG = open_catalog()
KIMI = "moonshotai/Kimi-K2.6"
CARDS = "rtx-pro-6000-blackwell"
STAGED = "--model-path deepseek-ai/DeepSeek-V4-Flash-0731 --tp 2 --speculative-algorithm DSPARK"


def predictor(version: str = "0.5.11") -> Predictor:
    return make_predictor(CATALOG, engine="sglang", version=version)


def ask(
    words: str,
    *,
    gpu: str = CARDS,
    count: int = 8,
    version: str = "0.5.11",
    **known: Any,  # noqa: ANN401 - what a question may hold
) -> Judged:
    question = Question(gpu=gpu, count=count, engine="sglang", version=version, **known)
    return predictor(version).predict(words.split(), question)


def server(arguments: str) -> str:
    return f"python -m sglang.launch_server {arguments}"


def memory_of(judged: Judged) -> Memory:
    assert judged.plan is not None
    assert judged.plan.memory is not None, judged.plan.unknowns
    return judged.plan.memory


def codes_of(judged: Judged) -> set[str]:
    return {each.code for each in judged.diagnostics}


@pytest.mark.parametrize(
    ("gpu", "model", "meant"),
    [
        ("rtx-3090", "Qwen/Qwen3-33B", "Qwen/Qwen3-32B"),
        ("h100", "Qwen/Qwen3-32", "Qwen/Qwen3-32B"),
    ],
)
def test_a_name_that_was_nearly_hit(gpu: str, model: str, meant: str) -> None:
    """What no flag mends is advised in the words of the catalogue: the name that was meant."""
    words = [
        "--gpu",
        gpu,
        "--engine",
        "sglang@0.5.10",
        "--",
        *server(f"--model-path {model}").split(),
    ]
    done = CliRunner().invoke(command, words)
    assert f"a known name is similar: `{meant}`" in done.stderr


@pytest.mark.parametrize(("gpu", "meant"), [("3090", "rtx-3090"), ("RTX_A600", "rtx-a6000")])
@pytest.mark.parametrize("verb", [command, adopt])
def test_a_gpu_that_was_nearly_hit(verb: Command, gpu: str, meant: str) -> None:
    """Which card is meant is not for a verb to say: `--gpu` is refused as `init` refuses it."""
    words = ["--gpu", gpu, "--", *server("--model-path Qwen/Qwen3-32B").split()]
    done = CliRunner().invoke(verb, words)
    assert done.exit_code == 2
    assert f"the catalogue has no kind of GPU `{gpu}`; a similar one is `{meant}`" in done.stderr


@pytest.mark.parametrize(
    ("gpu", "total", "is_said"),
    [
        ("NVIDIA GeForce RTX 4060 Ti", None, True),
        ("rtx-3080", None, True),
        ("rtx-3080", 12, False),
        ("rtx-3090", None, False),
    ],
)
def test_a_card_whose_name_says_no_size(gpu: str, total: int | None, is_said: bool) -> None:  # noqa: FBT001 - a parameter of a case
    """Of cards of several sizes with one name the catalogue's is assumed, in one line that names the option for another."""
    more = [] if total is None else ["--gpu-memory", str(total)]
    words = ["--gpu", gpu, *more, "--", *server("--model-path Qwen/Qwen3-0.6B").split()]
    done = CliRunner().invoke(command, words)
    told = [each for each in done.stdout.splitlines() if "has the same name" in each]
    assert len(told) == is_said
    assert all("assumed: " in each and "--gpu-memory" in each for each in told)


def test_a_stage_of_the_pipeline_is_priced_in_its_layers() -> None:
    """What a token costs with pipeline stages is worked out by the layers of one, not said as its own sum."""
    judged = ask(server("--model-path Qwen/Qwen3-32B --pp-size 4"), gpu="h100", count=4)
    assert memory_of(judged).pool.best_formula[0] == (
        "cell = 16 layers x 8 heads x (128 + 128) x 2 B on the stage with most of the 64 = 65,536 B a token"
    )


def test_the_log_decides_the_pool() -> None:
    """Kimi K2.5 on eight cards: 94.14 before and 21.82 after the load gave 4,578 slots, a trap that the server starts with."""
    judged = ask(
        server("--model-path moonshotai/Kimi-K2.5 --tp-size 8 --mem-fraction-static 0.77146"),
        version="0.5.8",
        measured=Measured(free_before_gib=94.14, free_after_gib=21.82),
    )
    tokens = memory_of(judged).pool.tokens
    assert tokens.low <= 4578 <= tokens.high
    assert memory_of(judged).pool.evidence is Evidence.CARRIED
    assert judged.verdict is Verdict.REFUSED
    assert "pool-too-small" in codes_of(judged)


def test_without_a_log_the_range_covers_the_truth() -> None:
    """Kimi K2.6 INT4 at 0.85 on eight RTX PRO 6000: the log says 116,153."""
    judged = ask(server(f"--model-path {KIMI} --tp 8 --mem-fraction-static 0.85"), version="0.5.12")
    tokens = memory_of(judged).pool.tokens
    assert tokens.low <= 116_153 <= tokens.high
    assert tokens.best == pytest.approx(116_153, rel=0.06)


def test_a_pool_without_a_fraction() -> None:
    """The engine's own fraction is taken, and said."""
    judged = ask(server("--model-path Qwen/Qwen3-8B"), gpu="h200", count=1)
    assert memory_of(judged).fraction == 0.903
    assert judged.plan is not None
    assert any("the engine picks 0.903" in each for each in judged.plan.assumptions)
    assert memory_of(judged).pool.request_tokens == judged.plan.profile.serve.tokens - 3


def test_a_flag_of_another_release_is_refused() -> None:
    """What the release's own parser refuses is not judged, and the parser's words are handed on."""
    words = server("--model-path Qwen/Qwen3-8B --cuda-graph-bs 8")
    judged = ask(words, gpu="h200", count=1, version="0.5.23")
    assert codes_of(judged) == {"command-refused"}
    assert "ambiguous option: --cuda-graph-bs" in judged.diagnostics[0].notes[0]
    assert judged.verdict is Verdict.UNKNOWN


def test_a_command_that_starts_something_else() -> None:
    """Neither entry of the engine stands in it."""
    assert codes_of(ask("python -m vllm.entrypoints.api_server")) == {"command-refused"}


@pytest.mark.parametrize(
    "words",
    [
        f"sglang serve --model-path {KIMI} --tp 8",
        f"SGLANG_X=1 CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server --model {KIMI} --tp 8",
        f"docker run --gpus all image python -m sglang.launch_server --model-path {KIMI} --tp 8",
    ],
)
def test_how_a_server_is_started(words: str) -> None:
    """Either entry, with an environment or a container in front of it."""
    judged = ask(words)
    assert memory_of(judged).pool.cell_bytes == 70_272
    assert judged.plan is not None
    assert judged.plan.argv == tuple(words.split())


@pytest.mark.parametrize(
    "path",
    [
        "/srv/models/Kimi-K2.6",
        "/mnt/models/moonshotai--Kimi-K2.6/",
        "/cache/models--moonshotai--Kimi-K2.6/snapshots/0123abc",
        "MoonshotAI/kimi-k2.6",
    ],
)
def test_a_path_that_ends_like_a_model(path: str) -> None:
    """The catalogue's model, when only one is called like that."""
    assert predictor().identify(path) == KIMI


def test_another_owner_s_checkpoint_is_not_guessed() -> None:
    """It may be quantized in another way."""
    assert predictor().identify("somebody/Kimi-K2.6") == "somebody/Kimi-K2.6"


def test_a_gpu_described_by_its_memory() -> None:
    """What the driver takes is a range; without its memory nothing is known."""
    words = server("--model-path Qwen/Qwen3-0.6B --mem-fraction-static 0.8")
    memory = memory_of(ask(words, gpu=CUSTOM, count=1, gpu_memory_gib=24.0))
    assert memory.free_before_load_gib.low < 23.2 < memory.free_before_load_gib.high
    assert ask(words, gpu=CUSTOM, count=1).verdict is Verdict.UNKNOWN


def test_one_gpu_starts_no_nccl() -> None:
    """Eight H100 have less free each than one alone, and so has a slice of one."""
    words = server("--model-path Qwen/Qwen3-8B --mem-fraction-static 0.8 --tp-size")
    alone = memory_of(ask(f"{words} 1", gpu="h100", count=1)).free_before_load_gib
    together = memory_of(ask(f"{words} 8", gpu="h100", count=8)).free_before_load_gib
    slice_ = memory_of(ask(f"{words} 1", gpu="h100", count=1, gpu_memory_gib=40.0))
    assert together.high < alone.best
    assert alone.high - alone.low < 0.5
    assert slice_.free_before_load_gib.high < 40.0


def test_what_is_priced_only_beside_heads() -> None:
    """Ranks that share a prefill are priced where a token is keys and values of heads, not where it has an index too."""
    shared = "--tp-size 4 --attn-cp-size 2 --mem-fraction-static 0.88 --model-path"
    words = server(f"{shared} Qwen/Qwen3-32B")
    judged = ask(words, gpu="rtx-5090", count=4, version="0.5.13")
    assert memory_of(judged).pool.tokens.low < 70_950 < memory_of(judged).pool.tokens.high
    sparse = ask(server(f"{shared} deepseek-ai/DeepSeek-V3.2"), version="0.5.13", count=4)
    assert sparse.plan is not None
    assert [each.code for each in sparse.plan.unknowns] == ["flag-unpriced"]


def test_models_that_took_images_by_themselves() -> None:
    """Gemma 3 served images until 0.4.5.post3, for 5 % of the fraction, and 10 % from 0.4.5 on; then only when asked."""
    words = server("--model-path google/gemma-3-4b-it --tp-size 1")
    pools = [
        memory_of(ask(words, gpu="h200", count=1, version=version)).pool.tokens.best
        for version in ("0.4.4.post3", "0.4.5", "0.4.6.post2")
    ]
    assert pools[0] == pytest.approx(834_615, rel=0.002)
    assert pools[1] < pools[0]
    assert pools[2] > pools[1]


def test_a_slice_of_a_known_gpu() -> None:
    """A MIG slice keeps what is not free; the automatic fraction is that of its size."""
    words = server("--model-path Qwen/Qwen3-0.6B")
    whole, part = (
        memory_of(ask(words, gpu="h100", count=1, gpu_memory_gib=each)) for each in (None, 40.0)
    )
    assert part.fraction != whole.fraction
    assert part.free_before_load_gib.best < 40.0


def boot(**changed: Any) -> Boot:  # noqa: ANN401 - fields of a boot
    values: dict[str, Any] = {
        "name": "one",
        "engine": "sglang",
        "version": "0.5.12",
        "model": "google/gemma-4-31B-it",
        "gpu": "rtx-3090",
        "gpu_count": 2,
        "tensor": 2,
        "kv_dtype": "auto",
        "page_size": 1,
        "fraction": 0.85,
        "context": 262_144,
        "pool_tokens": 24_248,
        "free_before_load_gib": 22.91,
        "flags": {"quantization": "awq", "swa-full-tokens-ratio": 0.8, "enable-multimodal": True},
        "source": "a test",
    }
    return Boot(**{**values, **changed})


GEMMA = (
    "--model-path google/gemma-4-31B-it --tp 2 --context-length 262144 --quantization awq "
    "--enable-multimodal --mem-fraction-static 0.85 --swa-full-tokens-ratio"
)


@pytest.mark.parametrize(
    ("ratio", "tokens"), [("0.03", 167_877), ("0.1", 109_120), ("0.25", 62_354)]
)
def test_a_boot_is_carried_to_another_ratio(ratio: str, tokens: int) -> None:
    """One boot of a ladder gives the others, within a slot or two."""
    judged = ask(
        server(f"{GEMMA} {ratio}"), gpu="rtx-3090", count=2, version="0.5.12", boots=(boot(),)
    )
    assert memory_of(judged).pool.tokens.best == pytest.approx(tokens, rel=1e-4)
    assert memory_of(judged).pool.evidence is Evidence.CARRIED


@pytest.mark.parametrize(
    "changed",
    [
        {"gpu_count": 4},
        {"tensor": 1},
        {"model": "google/gemma-4-26B-A4B-it"},
        {"flags": {"swa-full-tokens-ratio": 0.8}},
        {"flags": {"quantization": "awq", "enable-hisparse": True}},
        {"flags": {"quantization": "awq", "attn-cp-size": 2}},
    ],
)
def test_a_boot_of_something_else_says_nothing(changed: dict[str, Any]) -> None:
    """Other GPUs, another model, weights stored in another way, or a pool nobody can price."""
    boots = (boot(**changed),)
    judged = ask(server(f"{GEMMA} 0.1"), **PAIR, boots=boots, public=False)
    assert memory_of(judged).pool.boot is None


def test_a_boot_with_a_draft_nobody_described() -> None:
    """From 0.5.14 on a draft's weights are in what a boot measured: one that is not known leaves nothing to carry."""
    changed = {"version": "0.5.15", "algorithm": "nextn", "flags": None}
    judged = ask(server(f"{GEMMA} 0.1"), **PAIR, boots=(boot(**changed),), public=False)
    assert memory_of(judged).pool.boot is None


PAIR: dict[str, Any] = {"gpu": "rtx-3090", "count": 2, "version": "0.5.12"}
GLM = "--model-path zai-org/GLM-4.7-FP8 --tp 8 --mem-fraction-static 0.848 --context-length 202752"
# About what the model's tensors leave on this card.
GLM_POOL = 1_720_000
GLM_PUBLIC = 864_247
GLM_BOOT: dict[str, Any] = {
    "version": "0.5.13",
    "model": "zai-org/GLM-4.7-FP8",
    "gpu": "h200",
    "gpu_count": 8,
    "tensor": 8,
    "fraction": 0.848,
    "context": 202_752,
    "pool_tokens": GLM_POOL,
    "free_before_load_gib": 138.0,
    "flags": {},
}


def carried(release: str, arguments: str = "", **changed: Any) -> Memory:  # noqa: ANN401 - fields of a boot
    """What a boot of GLM-4.7 on eight H200 says about a command."""
    boots = (boot(**{**GLM_BOOT, **changed}),)
    judged = ask(server(f"{GLM} {arguments}"), gpu="h200", version=release, boots=boots)
    return memory_of(judged)


@pytest.mark.parametrize("version", ["0.5.13", "0.5.14", "0.5.18"])
def test_a_boot_is_carried_over_releases(version: str) -> None:
    """Releases that count memory in another way give the same pool where nothing that they count differently is there."""
    memory = carried(version)
    assert memory.pool.boot is not None
    assert memory.pool.tokens.best == GLM_POOL


def test_a_boot_is_carried_to_a_release_that_loads_the_draft_first() -> None:
    """From 0.5.14 on a draft's weights and entries come out of the budget: the pool is smaller by both."""
    draft = (
        "--speculative-algorithm NEXTN --speculative-num-steps 1 --speculative-num-draft-tokens 2"
    )
    asked = f"{draft} --speculative-eagle-topk 1"
    flags = {
        "speculative-num-steps": 1,
        "speculative-num-draft-tokens": 2,
        "speculative-eagle-topk": 1,
    }
    before = carried("0.5.13", asked, algorithm="nextn", flags=flags)
    after = carried("0.5.14", asked, algorithm="nextn", flags=flags)
    assert before.pool.tokens.best == GLM_POOL
    assert after.pool.boot is not None
    assert after.pool.tokens.best < 0.99 * GLM_POOL
    assert after.pool.tokens.high - after.pool.tokens.low > 0
    back = carried("0.5.13", "", version="0.5.14", algorithm="nextn", flags=flags)
    assert back.pool.tokens.best > GLM_POOL


@pytest.mark.parametrize(
    ("flag", "apart"),
    [
        ("", False),
        ("--disable-shared-experts-fusion", True),
        ("--expert-parallel-size 8", True),
        ("--moe-a2a-backend deepep", True),
    ],
)
def test_a_fused_shared_expert_runs_on_the_cpu_with_the_others(flag: str, *, apart: bool) -> None:
    """DeepSeek R1 fuses it, unless something keeps it apart; then a GPU still has 0.30 GiB or all of its 2.38."""
    kt = "--kt-weight-path /weights --kt-num-gpu-experts 0"
    words = server(f"--model-path deepseek-ai/DeepSeek-R1-0528 --tp-size 8 {kt} {flag}")
    weights = memory_of(ask(words, gpu="h100", version="0.5.18")).static[0].gib.best
    assert (weights > 3.5) is apart


def test_experts_on_the_cpu_under_their_first_name_are_not_guessed() -> None:
    """0.5.4 and 0.5.5 have another loader behind another flag: the weights are not known, not too large."""
    words = server(
        "--model-path deepseek-ai/DeepSeek-R1-0528 --kt-amx-weight-path /w --kt-num-gpu-experts 8"
    )
    judged = ask(words, gpu="rtx-5090", version="0.5.5")
    found = [each.code for each in judged.diagnostics]
    assert "flag-unpriced" in found
    assert "weights-too-large" not in found


def test_a_public_boot_counts_where_there_is_no_other() -> None:
    """Weights come from somebody else's log, never as a measurement; a boot of one's own comes first, as does a slice."""
    words = server(f"{GLM} --disable-cuda-graph --chunked-prefill-size 8192")
    card = "rtx-pro-6000-blackwell"
    pool = memory_of(ask(words, gpu=card, version="0.5.8")).pool
    assert pool.boot is not None
    assert (pool.boot.name, pool.boot.shipped) == ("public/glm47-fp8-8rtx6000-tp8", True)
    assert pool.evidence is Evidence.CARRIED
    assert pool.tokens.low < GLM_PUBLIC < pool.tokens.high
    derived = memory_of(ask(words, gpu=card, version="0.5.8", public=False)).pool.tokens
    # What is free of another machine's cards stays open; what its boot tells of the weights does not.
    assert pool.tokens.high - pool.tokens.low < (derived.high - derived.low) / 3
    assert "which somebody else published" in pool.best_formula[-1]
    less = {"free_before_load_gib": 94.0, "fraction": 0.7, "pool_tokens": 540_000}
    own = boot(**{**GLM_BOOT, "gpu": card, **less})
    pool = memory_of(ask(words, gpu=card, version="0.5.8", boots=(own,))).pool
    assert pool.boot == own
    for other in ({"public": False}, {"gpu_memory_gib": 48.0}):
        assert memory_of(ask(words, gpu=card, version="0.5.8", **other)).pool.boot is None


@pytest.mark.parametrize(
    ("ranks", "model", "group"),
    [
        (2, "google/gemma-4-31B-it", 128),
        (2, "google/gemma-4-26B-A4B-it", 32),
        (1, "google/gemma-4-26B-A4B-it", 64),
    ],
)
def test_groups_of_a_checkpoint_in_awq_are_whole_on_a_rank(
    ranks: int, model: str, group: int
) -> None:
    """A checkpoint whose groups a rank would cut through is not loaded: it has smaller ones."""
    words = f"--model-path {model} --tp {ranks} --quantization awq --context-length 32768"
    judged = ask(server(words), gpu="h200", count=ranks, version="0.5.12")
    assert judged.plan is not None
    assert f"a zero point for {group} values" in " ".join(judged.plan.assumptions)


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(command, ["--json", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), json.loads(result.stdout)


OPTIONS = ("--gpu", "h200", "--count", "1", "--engine", "sglang@0.5.11")


def without_assumptions(printed: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The only plan, and of what it assumes that which the engine and the model do not say."""
    (plan,) = printed["plans"]
    said = {
        each for each in plan["assumptions"] if "`--count`" in each or each.startswith("sglang ")
    }
    return {**plan, "assumptions": [each for each in plan["assumptions"] if each not in said]}, said


def told(*arguments: str) -> tuple[int, str, str]:
    """The exit code, the verdict's lines, and the findings."""
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), result.stdout, result.stderr


def test_json_is_that_of_a_check_without_a_profile() -> None:
    """The same object as `check --json`, with `profile` null."""
    code, printed = run(*OPTIONS, "--", *server("--model-path Qwen/Qwen3-8B").split())
    (plan,) = printed["plans"]
    assert (code, plan["profile"], plan["target"], plan["verdict"]) == (0, None, None, "pass")
    assert plan["argv"][:3] == ["python", "-m", "sglang.launch_server"]
    assert plan["pool"]["best"] > 0


def test_json_does_not_read_as_a_pass_where_a_rule_refuses() -> None:
    """Of a launch that an error refuses while its memory passes `outcome` is refused, on top and in its plan; exit 1."""
    command_line = server("--model-path Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 --tp {}")
    options = ("--gpu", "h100", "--engine", "sglang@0.5.11")
    code, told = run(*options, "--", *command_line.format(8).split())
    (plan,) = told["plans"]
    assert (code, plan["verdict"]) == (1, "pass")
    for each in (told, plan):
        assert (each["outcome"], each["refused_by"]) == ("refused", ["block-tiles"])
    code, told = run(*options, "--", *command_line.format(4).split())
    assert "block-tiles" not in told["refused_by"]
    code, told = run(*OPTIONS, "--", *server("--model-path Qwen/Qwen3-8B").split())
    (plan,) = told["plans"]
    for each in (told, plan):
        assert (code, each["outcome"], each["refused_by"]) == (0, "pass", [])


def test_gpus_that_do_not_add_up_speak_of_no_profile() -> None:
    """A command has no profile: the layout needs so many GPUs, and there are others."""
    code, told = run(
        *OPTIONS[:2],
        "--count",
        "4",
        *OPTIONS[4:],
        "--",
        *server("--model-path Qwen/Qwen3-8B --tp 1").split(),
    )
    (summary,) = (
        each["summary"] for each in told["plans"][0]["diagnostics"] if each["code"] == "gpu-count"
    )
    assert (code, summary) == (1, "the layout needs 1 GPU, and there are 4")


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("--tp 2", 2),
        ("--tp 2 --pp-size 2", 4),
        ("--tp 2 --dp 2", 4),
        ("--tp 4 --nnodes 2", 4),
        ("", 1),
    ],
)
def test_without_a_count_the_layout_says_it(words: str, count: int) -> None:
    """The GPUs are those that the command's ranks take, over all nodes; that is said, and the answer is that of the count."""
    asked = server(f"--model-path Qwen/Qwen3-8B {words}").split()
    options = ("--gpu", "h200", "--engine", "sglang@0.5.11")
    _, found = run(*options, "--", *asked)
    _, counted = run(*options, "--count", str(count), "--", *asked)
    said = f"no `--count`: the layout takes {count} GPU{'' if count == 1 else 's'}"
    assert without_assumptions(found) == (without_assumptions(counted)[0], {said})


@pytest.mark.parametrize(
    ("front", "flags", "version", "why"),
    [
        ("", "", CATALOG.versions("sglang")[-1], "the newest that takes all of its flags"),
        (
            "",
            "--cuda-graph-max-bs 8",
            "0.5.19",
            "the newest that takes all of its flags (0.5.20 does not take `--cuda-graph-max-bs`): ",
        ),
        ("docker run --gpus all lmsysorg/sglang:v0.4.9", "", "0.4.9", "the tag of the image"),
    ],
)
def test_without_an_engine_the_release_is_that_of_adopt(
    front: str, flags: str, version: str, why: str
) -> None:
    """The image's tag names it, or it is the newest that takes the flags; which stands by the verdict, and in the JSON."""
    asked = [*front.split(), *server(f"--model-path Qwen/Qwen3-8B {flags}").split()]
    options = ("--gpu", "h200", "--count", "1")
    _, found = run(*options, "--", *asked)
    _, bare = run(*options, "--engine", version, "--", *asked)
    plan, said = without_assumptions(found)
    assert plan == without_assumptions(bare)[0]
    assert plan["engine"]["version"] == version
    (line,) = said
    assert line.startswith(f"sglang {version}")
    assert why in line
    shown = CliRunner().invoke(command, [*options, "--", *asked], standalone_mode=False)
    assert f"\n  assumed: {line}\n" in shown.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize(
    ("tag", "is_said"), [("v0.5.9", True), ("v0.5.11", False), ("latest", False)]
)
def test_a_release_beside_that_of_the_image_is_said(tag: str, *, is_said: bool) -> None:
    """What `--engine` asks for is judged; where the image's tag names another release, both are named."""
    docker = f"docker run --gpus all lmsysorg/sglang:{tag}".split()
    words = server("--model-path Qwen/Qwen3-8B").split()
    _, found = run("--gpu", "h200", "--count", "1", "--engine", "0.5.11", "--", *docker, *words)
    (plan,) = found["plans"]
    assert plan["engine"]["version"] == "0.5.11"
    remark = f"sglang 0.5.11, as `--engine` asks: the tag of the image names 0.5.9 (`{docker[-1]}`)"
    assert (
        [each for each in plan["assumptions"] if "as `--engine` asks" in each] == [remark]
    ) is is_said


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--tp two", "`--tp two`: `--tensor-parallel-size` takes a whole number"),
        ("--tp=2.5", "`--tp=2.5`: `--tensor-parallel-size` takes a whole number"),
        ("--mem-fraction-static 0,8", "`--mem-fraction-static 0,8`: it takes a number"),
        ("--tp 1 --tp two", "`--tp two`: `--tensor-parallel-size` takes a whole number"),
    ],
)
def test_a_value_that_does_not_parse_is_told_with_its_words(flags: str, said: str) -> None:
    """Which words of the command, which flag, and what that takes: the parser has all names of a flag, and no words."""
    words = server(f"--model-path Qwen/Qwen3-8B {flags}").split()
    _, found = run("--gpu", "h200", "--engine", "0.5.11", "--", *words)
    (refused,) = found["plans"][0]["diagnostics"]
    assert refused["code"] == "command-refused"
    assert refused["notes"][0].startswith("argument --")
    assert refused["notes"][1] == said


def test_json_is_printed_for_a_refused_command() -> None:
    """An object all the same, and exit 1."""
    code, printed = run(
        *OPTIONS, "--", *server("--model-path Qwen/Qwen3-8B --no-such-flag").split()
    )
    (plan,) = printed["plans"]
    assert (code, plan["profile"], plan["verdict"]) == (1, None, "unknown")
    assert plan["diagnostics"][0]["code"] == "command-refused"


@pytest.mark.parametrize(
    "flags",
    [
        "--model-path Qwen/Qwen3-8B",
        "--model-path Qwen/Qwen3-8B --mem-fraction-static 0.8",
        "--model-path Qwen/Qwen3-8B --mem-fraction-static 0.97 --context-length 8192",
        "--model-path Qwen/Qwen3-8B --mem-fraction-static 0.95 --context-length 131072",
    ],
)
def test_a_refusal_names_flags_that_mend_it(flags: str) -> None:
    """Each change in the help is flags of the command's own release; with them at its end it is not refused."""
    options = ("--gpu", "rtx-4090", "--count", "1", "--engine", "sglang@0.5.11", "--")
    code, printed = run(*options, *server(flags).split())
    assert code == 1
    lines = [
        line
        for found in printed["plans"][0]["diagnostics"]
        for text in found["help"]
        for line in text.splitlines()
    ]
    assert not re.search(r"serve\.|memory\.|poolproof fit", "\n".join(lines))
    changes = [line.split("  ")[0].replace(" and ", " ") for line in lines if line[:2] == "--"]
    for each in changes:
        code, _ = run(*options, *server(flags).split(), *each.split())
        assert code == 0, each
    assert changes or "set `--context-length 40960` or less" in lines


@pytest.mark.parametrize(
    "flags",
    [
        "--trust-remote-code",
        "--host 0.0.0.0",
        "--port 30001",
        "--served-model-name q",
        "--reasoning-parser qwen3",
        "--tool-call-parser qwen25",
        "--api-key k",
    ],
)
def test_flags_that_a_profile_has_a_place_for_keep_no_help_away(flags: str) -> None:
    """A flag that says nothing of memory leaves the help as it is without it."""
    options = ("--json", "--gpu", "h100", "--engine", "0.5.23", "--")
    words = "sglang serve --model-path Qwen/Qwen3-32B --tp 2 --mem-fraction-static 0.4"
    helps = [
        run(*options[1:], *words.split(), *more.split())[1]["plans"][0]["diagnostics"][0]["help"]
        for more in ("", flags)
    ]
    assert "--mem-fraction-static 0.465" in helps[0][0]
    assert helps[1] == helps[0]


@pytest.mark.parametrize(
    ("front", "code"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1", 0),
        ("env CUDA_VISIBLE_DEVICES=2,3,4,5", 0),
        ("CUDA_VISIBLE_DEVICES=0", 1),
        ("CUDA_VISIBLE_DEVICES=", 1),
        ("CUDA_VISIBLE_DEVICES=GPU-1f3c,GPU-77a0", 0),
        ("CUDA_VISIBLE_DEVICES=GPU-1f3c,MIG-77a0", 1),
        ("CUDA_VISIBLE_DEVICES=0,0", 1),
        ("CUDA_VISIBLE_DEVICES=0,-1,1", 1),
        ("CUDA_VISIBLE_DEVICES=0,all", 1),
        ("docker run --gpus 2 image", 0),
        ("docker run --gpus device=0 image", 1),
        ("docker run --gpus all -e CUDA_VISIBLE_DEVICES=1 image", 1),
    ],
)
def test_the_gpus_that_a_command_lets_the_server_see(front: str, code: int) -> None:
    """Variables and containers choose GPUs without a profile; fewer than the layout takes are too few, whatever is counted."""
    words = [*front.split(), *server("--model-path Qwen/Qwen3-32B --tp 2").split()]
    for count in ((), ("--count", "2")):
        found = told("--gpu", "h100", *count, "--engine", "0.5.23", "--", *words)
        assert found[0] == code
        assert ("let it see 2 GPUs" in found[2]) is bool(code)
        assert found[1].startswith("refused by gpu-count; " if code else "pass")


@pytest.mark.parametrize("name", ["CUDA", "HIP", "ROCR"])
def test_amd_counts_by_more_variables(name: str) -> None:
    """ROCm reads two of its own beside CUDA's, and an NVIDIA server knows only that one."""
    words = server("--model-path Qwen/Qwen3-32B --tp 2").split()
    variable = f"{name}_VISIBLE_DEVICES=0"
    for gpu, counts in (("mi300x", True), ("h100", name == "CUDA")):
        _, line, _ = told("--gpu", gpu, "--engine", "0.5.23", "--", variable, *words)
        assert line.startswith("refused by gpu-count; ") is counts


def test_variables_of_a_container_count(tmp_path: Path) -> None:
    """What `-e` and `--env-file` set is the server's environment, and a file's secrets are shown nowhere."""
    file = tmp_path / "env"
    file.write_text(
        "SGLANG_MAX_KV_CHUNK_CAPACITY=65536\nHF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh\n"
    )
    words = server("--model-path deepseek-ai/DeepSeek-R1 --tp 8 --mem-fraction-static 0.85").split()
    options = ("--gpu", "h200", "--engine", "0.5.12", "--")
    docker = ("docker", "run", "--gpus", "all")
    plain, (_, filed), (_, said) = (
        run(*options, "SGLANG_MAX_KV_CHUNK_CAPACITY=65536", *words)[1],
        run(*options, *docker, "--env-file", str(file), "image", *words),
        run(*options, *docker, "-e", "SGLANG_MAX_KV_CHUNK_CAPACITY=65536", "image", *words),
    )
    needs = [each["plans"][0]["reserve_needed_gib"] for each in (plain, filed, said)]
    assert needs[0] == needs[1] == needs[2]
    assert needs[0] != run(*options, *words)[1]["plans"][0]["reserve_needed_gib"]
    assert "hf_abc" not in json.dumps(filed)


def test_flags_that_the_release_lost_are_named() -> None:
    """A parser's refusal says what to write for each flag that was renamed, is ambiguous, or is gone."""
    flags = "--cuda-graph-max-bs 8 --enable-deepep-moe --no-such-flag"
    words = server(f"--model-path Qwen/Qwen3-32B {flags}").split()
    code, line, found = told("--gpu", "h100", "--engine", "0.5.23", "--", *words)
    assert (code, line) == (1, "refused by command-refused; not planned: see the errors\n")
    assert "`--cuda-graph-max-bs`: set `--cuda-graph-max-bs-decode 8` in its place" in found
    assert "`--enable-deepep-moe`: write `--moe-a2a-backend deepep` in its place" in found
    assert "`--no-such-flag`: no release that was read has such a flag" in found


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--kv-cache-dtype fp8", "values that begin so exist: `fp8_e5m2` and `fp8_e4m3`"),
        ("--kv-cache-dtype fp8_e4m4", "a similar value exists: `fp8_e4m3`"),
        ("--attention-backend fa33", "a similar value exists: `fa3`"),
        ("--tp two", "invalid int value: 'two'"),
        ("--mem-fraction-static=", "invalid float value: ''"),
        ("--tp", "expected one argument"),
        ("--tp $TP", "write a value for `$TP`, which is known at start only"),
    ],
)
def test_a_wrong_value_is_not_taken_for_a_wrong_flag(flags: str, said: str) -> None:
    """Where the release has the flag, its value is what the parser stops at."""
    words = server(f"--model-path Qwen/Qwen3-32B {flags}").split()
    code, _, found = told("--gpu", "h100", "--engine", "0.5.23", "--", *words)
    assert code == 1
    assert said in found
    assert "at best" not in found
    assert "in full" not in found


def test_several_values_of_a_renamed_flag_can_be_pasted() -> None:
    """They stand as the command line has them, not as TOML."""
    words = server("--model-path Qwen/Qwen3-32B --cuda-graph-bs 1 2 4").split()
    _, _, found = told("--gpu", "h100", "--engine", "0.5.23", "--", *words)
    assert "write `--cuda-graph-bs-decode 1 2 4` in its place" in found


def test_a_release_that_is_assumed_stands_in_a_refusal_too() -> None:
    """No release takes the flag; which one refused it is said where it is refused."""
    words = server("--model-path Qwen/Qwen3-32B --no-such-flag").split()
    _, _, found = told("--gpu", "h100", "--", *words)
    assert "the newest that takes most of its flags" in " ".join(found.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sglang serve --model-path Qwen/Qwen3-8B"], "the whole command is one word"),
        (["vllm", "serve", "Qwen/Qwen3-8B"], "`vllm serve` starts vLLM"),
        (["python", "-m", "vllm.x"], "`python -m vllm.x` starts no engine that is described"),
        (["run.sh"], "`poolproof adopt --check FILE`"),
        (["sglang serve --api-key hunter2hunter2"], "leave the quotes out: `-- COMMAND`"),
        (["other serve --api-key hunter2hunter2"], "starts no engine that is described"),
    ],
    ids=lambda each: each if isinstance(each, str) else each[0].split()[0],
)
def test_what_is_no_command_of_an_engine_is_named(words: list[str], said: str) -> None:
    """A quoted command, another engine's, and a file are each told what they are, and none is called a release's."""
    code, line, found = told("--gpu", "h100", "--", *words)
    assert (code, line) == (1, "refused by command-refused; not planned: see the errors\n")
    assert said in found
    assert "does not start with this command" not in found
    assert "hunter2" not in found


def test_two_launches_in_one_command_are_not_chosen_from() -> None:
    """A script in a word may start two servers; no option that only `adopt` has is advised."""
    words = server("--model-path Qwen/Qwen3-8B")
    code, line, found = told("--gpu", "h200", "--", "bash", "-c", f"{words} & {words} --port 1")
    assert (code, line.split(";")[0]) == (1, "refused by launch-several")
    assert "--line" not in found


def test_advice_has_no_words_of_profiles() -> None:
    """Raw flags and variables are told as a command has them, in the table of changes and out of it."""
    words = server(
        "--model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp 8 --enable-dp-attention "
        "--context-length 131072 --mem-fraction-static 0.85"
    ).split()
    _, _, found = told("--gpu", "h200", "--engine", "0.5.12", "--", *words)
    assert re.search(r"^ +SGLANG_MAX_KV_CHUNK_CAPACITY=65536 +needs", found, re.MULTILINE)
    assert re.search(r"^ +--disable-chunked-prefix-cache +needs", found, re.MULTILINE)
    assert not re.search(r"flags\.|env\.", found)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--max-total-tokens 1000", "pool = at most 1,000 tokens, the cap"),
        ("--enable-pdmux", "`--enable-pdmux` needs `--chunked-prefill-size -1`"),
    ],
)
def test_findings_have_no_words_of_profiles(flags: str, said: str) -> None:
    """Summaries and arithmetic name flags, not settings."""
    words = server(f"--model-path Qwen/Qwen3-32B --tp 2 {flags}").split()
    _, line, found = told("--gpu", "h100", "--engine", "0.5.23", "--", *words)
    assert said in " ".join((line + found).split())
    assert not re.search(r"\b(memory|serve|parallel)\.\w", line + found)


@pytest.mark.parametrize(
    "flags",
    [
        """--model-path Qwen/Qwen3-32B --context-length 131072 --json-model-override-args '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}'""",
        (
            "--model-path meta-llama/Llama-3.1-8B-Instruct --speculative-algorithm EAGLE3 --speculative-num-steps 3 "
            "--speculative-draft-model-path lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B --speculative-eagle-topk 1 "
            "--speculative-num-draft-tokens 4"
        ),
    ],
)
def test_what_keeps_the_context_is_advised_first(flags: str) -> None:
    """A scaling that reaches, or a draft that learned less, needs a variable and no shorter context; with it the command passes."""
    options = ("--gpu", "h200", "--engine", "0.5.12", "--")
    words = shlex.split(server(flags))
    code, printed = run(*options, *words)
    (found,) = printed["plans"][0]["diagnostics"]
    assert (code, found["code"]) == (1, "context-beyond-model")
    advised = re.match(r"set `(\w+=1)`: ", found["help"][0])
    assert advised
    assert found["help"][1].startswith("or set `--context-length ")
    assert run(*options, advised[1], *words)[0] == 0


def test_arithmetic_stands_once() -> None:
    """Steps that an error has among its notes are not said again by the verdict."""
    words = server("--model-path Qwen/Qwen3-32B --tp 2 --mem-fraction-static 0.4").split()
    _, line, found = told("--gpu", "h100", "--engine", "0.5.23", "--", *words)
    both = line + found
    for step in ("cell = ", "rest = ", "pool = "):
        assert both.count(step) == 1, step
    _, line, _ = told("--gpu", "h200", "--engine", "0.5.23", "--", *words)
    assert "cell = " in line


def test_a_deployment_is_not_judged() -> None:
    """Who reaches the server and reads its key is no part of whether it starts: `adopt --check` says it."""
    words = server("--model-path Qwen/Qwen3-8B --host 0.0.0.0 --api-key secret").split()
    code, _, found = told("--gpu", "h200", "--engine", "0.5.23", "--", *words)
    assert (code, found) == (0, "")


def test_a_refused_layout_does_not_read_as_a_pass() -> None:
    """What refuses a command whose memory passes stands before that."""
    words = server("--model-path Qwen/Qwen3-32B --tp 4").split()
    options = ("--gpu", "h100", "--count", "2", "--engine", "sglang@0.5.23", "--")
    result = CliRunner().invoke(command, [*options, *words], standalone_mode=False)
    assert result.stdout.startswith("refused by gpu-count; memory: pass, pool ")


def test_a_config_of_its_own(tmp_path: Path) -> None:
    """A model that the catalogue does not have is described by its config."""
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "architectures": ["Qwen3ForCausalLM"],
                "hidden_size": 4096,
                "intermediate_size": 12288,
                "num_hidden_layers": 36,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "vocab_size": 151936,
                "max_position_embeddings": 40960,
                "torch_dtype": "bfloat16",
            }
        )
    )
    words = server("--model-path nobody/Qwen3-tuned").split()
    code, printed = run(*OPTIONS, "--model-config", str(config), "--", *words)
    assert code == 0
    assert printed["plans"][0]["pool"]["cell_bytes"] == 147_456


@pytest.mark.parametrize("text", ["", "[]", '{"architectures": ["Qwen3ForCausalLM"]}', None])
def test_a_config_that_does_not_do(tmp_path: Path, text: str | None) -> None:
    """Missing, no JSON, or without a needed key: an error that names the file."""
    config = tmp_path / "config.json"
    if text is not None:
        config.write_text(text)
    words = server("--model-path nobody/Qwen3-tuned").split()
    code, printed = run(*OPTIONS, "--model-config", str(config), "--", *words)
    assert code == 1
    assert printed["plans"] == []
    assert {each["code"] for each in printed["diagnostics"]} == {"checkpoint-invalid"}


def test_a_recorded_boot_from_a_file(tmp_path: Path) -> None:
    """`--boot` reads one, and says what is wrong with a broken one."""
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(
        'engine = "sglang"\nversion = "0.5.11"\nmodel = "Qwen/Qwen3-8B"\ngpu = "h200"\ngpu_count = 1\n'
        'tensor = 1\nkv_dtype = "auto"\npage_size = 1\nfraction = 0.8\ncontext = 40960\n'
        'pool_tokens = 690000\nfree_before_load_gib = 138.0\nsource = "a test"\n'
    )
    bad.write_text('engine = "sglang"\n')
    words = server("--model-path Qwen/Qwen3-8B --mem-fraction-static 0.85").split()
    code, printed = run(*OPTIONS, "--boot", str(good), "--", *words)
    assert (code, printed["plans"][0]["pool"]["evidence"]) == (0, "carried")
    code, printed = run(*OPTIONS, "--boot", str(bad), "--", *words)
    assert (code, printed["diagnostics"][0]["code"]) == (1, "boot-invalid")


def test_predictions_are_arithmetic() -> None:
    """Hundreds a second with the command's own parser; a loose bound, for a busy machine."""
    words = server(f"--model-path {KIMI} --tp 8 --mem-fraction-static 0.85").split()
    asked = predictor()
    question = Question(gpu=CARDS, count=8, engine="sglang", version="0.5.11")
    asked.predict(words, question)
    start = time.perf_counter()
    for _ in range(50):
        asked.predict(words, question)
    assert time.perf_counter() - start < 2.5


@pytest.mark.parametrize(
    ("flags", "setting", "expected"),
    [
        ("--tp 0", "parallel.tensor", "at least 1, found 0"),
        ("--tp -4 --pp-size 0", "parallel.tensor", "at least 1, found -4"),
        ("--tp 100000", "parallel.tensor", "at most 1024, found 100000"),
        ("--context-length 0", "serve.context", "at least 16, found 0"),
        ("--cuda-graph-max-bs 2147483648", "memory.cuda_graph_max_batch", "at most 8192, "),
        ("--mamba-full-memory-ratio nan", "flags.mamba-full-memory-ratio", "a finite number"),
    ],
)
def test_a_number_that_no_profile_may_hold(flags: str, setting: str, expected: str) -> None:
    """`bad-value`, as `check` says of a profile; nothing is sized by it, and no other number is put in its place."""
    judged = ask(server(f"--model-path Qwen/Qwen3-8B {flags}"), gpu="h100", count=1)
    assert judged.plan is None
    assert judged.diagnostics[0].code == "bad-value"
    assert judged.diagnostics[0].summary.startswith(f"`{setting}`: expected {expected}")
    words = server(f"--model-path Qwen/Qwen3-8B {flags}").split()
    assert predictor().layout(words, gpu="h100") is None


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ("--served-model-name qwen:8b", "model-name-colon"),
        ("--port 99999", "flag-value"),
        ("--port -1", "flag-value"),
        ("--cuda-graph-bs 0 8", "flag-value"),
    ],
)
def test_what_no_server_starts_with_is_refused_of_a_command(flags: str, code: str) -> None:
    """A command says by a flag what a profile says by a setting, and the same is wrong with it."""
    judged = ask(server(f"--model-path Qwen/Qwen3-8B {flags}"), gpu="h100", count=1)
    assert code in {each.code for each in judged.diagnostics if each.is_error}


def test_attention_over_one_group_is_counted_with() -> None:
    """The engine drops it only after it has picked its fraction (0.5.11 server_args.py, `__post_init__`), as for a profile."""
    words = server("--model-path deepseek-ai/DeepSeek-R1-0528 --tp 8")
    alone, split = (
        memory_of(ask(each, gpu="b200", version="0.5.18"))
        for each in (words, f"{words} --enable-dp-attention")
    )
    assert split.fraction < alone.fraction
    assert split.pool.cell_bytes == alone.pool.cell_bytes


@pytest.mark.parametrize("option", ["--gpu-memory", "--free-before", "--free-after"])
@pytest.mark.parametrize(("gib", "code"), [("0.0001", 0), ("16384", 0), ("1e300", 2), ("nan", 2)])
def test_how_much_memory_a_card_may_have(option: str, gib: str, code: int) -> None:
    """More than a node has is refused as usage, and what is next to nothing is judged, not divided by."""
    words = server("--model-path Qwen/Qwen3-8B").split()
    options = (*OPTIONS, "--free-before", "70") if option == "--free-after" else OPTIONS
    result = CliRunner().invoke(command, [*options, option, gib, "--", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code == code


@pytest.mark.parametrize(
    ("options", "both"),
    [
        ("--free-before 70 --free-after 70", ("70", "70")),
        ("--free-before 70 --free-after 75.5", ("75.5", "70")),
        ("--free-before 300", ("300", "79.65")),
        ("--free-before 90 --gpu-memory 80", ("90", "80.00")),
        ("--free-after 10", ("10", "without `--free-before`")),
    ],
)
def test_free_memory_that_no_log_shows_is_refused(options: str, both: tuple[str, str]) -> None:
    """What a load leaves is less than there was, of what the card has, and says nothing alone; both figures are named."""
    words = server("--model-path Qwen/Qwen3-8B").split()
    given = ("--gpu", "h100", "--count", "1", "--engine", "0.5.11", "--json", *options.split())
    result = CliRunner().invoke(command, [*given, "--", *words], standalone_mode=False)
    (plan,) = json.loads(result.stdout)["plans"]
    (found,) = plan["diagnostics"]
    assert (plan["verdict"], found["code"]) == ("unknown", "bad-value")
    assert all(each in found["summary"] for each in both)
    assert found["notes"]


@pytest.mark.parametrize(
    ("flags", "given", "gpu", "count"),
    [
        ("--model-path deepseek-ai/DeepSeek-V4-Flash --tp 4", 8000, "h200", 4),
        (
            f"{STAGED} --context-length 131072 --mem-fraction-static 0.94 --disable-custom-all-reduce",
            None,
            CARDS,
            2,
        ),
    ],
)
def test_fewer_running_requests_are_offered_for_a_short_pool(
    flags: str, given: int | None, gpu: str, count: int
) -> None:
    """Where windows and states of requests take the whole pool, fewer keep the promise than asked for, or than the server takes."""

    def asked(requests: int | None) -> Result:
        more = "" if requests is None else f" --max-running-requests {requests}"
        card = ("--gpu", gpu, "--count", str(count), "--engine", "0.5.23")
        return CliRunner().invoke(command, [*card, "--", *server(f"{flags}{more}").split()])

    invoked = asked(given)
    offered = re.search(r"--max-running-requests (\d+)  ", invoked.stderr)
    assert offered, invoked.stderr
    assert asked(int(offered[1])).stdout.startswith("pass")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("--config", "No config file specified"),
        ("--config .", "must be YAML"),
        ("--config a.yaml --config b.yaml", "Multiple config files"),
    ],
)
def test_a_wrong_config_is_not_laid_on_the_release(config: str, said: str) -> None:
    """A release that does not have `--config` at all is no better guess than the newest, which says what is wrong."""
    words = server(f"--model-path Qwen/Qwen3-32B --tp 2 {config}").split()
    _, _, found = told("--gpu", "h100", "--", *words)
    newest = CATALOG.versions("sglang")[-1]
    assert f"sglang {newest} does not start" in found
    assert said in found


@pytest.mark.parametrize("engine", [(), ("--engine", "0.5.11")])
def test_a_server_for_images_is_not_judged(engine: tuple[str, ...]) -> None:
    """It is said to be one, with a release and without, and is no refusal."""
    words = ("sglang", "serve", "--model-path", "black-forest-labs/FLUX.1-dev", "--num-gpus", "1")
    code, told = run(*engine, "--gpu", "h100", "--", *words)
    assert (code, told["outcome"]) == (0, "unknown")
    (plan,) = told["plans"]
    assert [each["code"] for each in plan["diagnostics"]] == ["launch-diffusion"]


@pytest.mark.parametrize(("device", "is_known"), [("cuda", True), ("npu", False), ("cpu", False)])
def test_another_kind_of_device(device: str, *, is_known: bool) -> None:
    """What a server on no such GPU keeps in memory is not worked out from the GPU's."""
    words = ("python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B")
    _, told = run("--gpu", "h100", "--", *words, "--device", device)
    (plan,) = told["plans"]
    assert (plan["pool"] is not None) is is_known


@pytest.mark.parametrize("gpu", ["", " "])
def test_an_empty_gpu_is_a_slip(gpu: str) -> None:
    """A shell's variable that is not set is no kind of GPU that nobody described."""
    done = CliRunner().invoke(command, ["--gpu", gpu, "--", "python", "-m", "sglang.launch_server"])
    assert done.exit_code == 2
    assert "`--gpu` names nothing" in done.stderr


PROMISING = ("--gpu", "l40s", "--count", "1", "--engine", "0.5.23")
SMALL = server("--model-path Qwen/Qwen3-8B").split()


def test_the_promise_is_said() -> None:
    """Without options it is one request of full context, and the lines say that, and by which options it is another."""
    _, out, _ = told(*PROMISING, "--", *SMALL)
    assert (
        "  promised: 1 request of full context, 40,960 tokens; `--concurrency` and `--context` say another"
        in out.splitlines()
    )


@pytest.mark.parametrize(
    ("options", "code", "said", "needed"),
    [
        ("--concurrency 3", 0, "3 requests of full context, 40,960 tokens, at once", "122,871"),
        ("--concurrency 4", 1, "4 requests of full context, 40,960 tokens, at once", "163,828"),
        ("--concurrency 4 --context 8000", 0, "4 requests of 8,000 tokens at once", "31,988"),
        ("--context 8000", 0, "1 request of 8,000 tokens at once", "7,997"),
    ],
)
def test_the_verdict_is_about_the_promise(options: str, code: int, said: str, needed: str) -> None:
    """So many requests at once, of so many tokens, have room in the pool of that very server, or the command is refused."""
    done, out, _ = told(*PROMISING, *options.split(), "--", *SMALL)
    first, *others = out.splitlines()
    assert (done, f"for {needed} tokens" in first) == (code, True)
    assert f"  promised: {said}" in others
    pool = re.search(r"pool ([\d,.]+) for", first)
    plain = re.search(r"pool ([\d,.]+) for", told(*PROMISING, "--", *SMALL)[1])
    assert pool is not None
    assert plain is not None
    assert pool[1] == plain[1]


def test_a_smaller_promise_is_said_by_the_option() -> None:
    """What no flag of the server says is told as the option that says it."""
    code, _, err = told(*PROMISING, "--concurrency", "4", "--", *SMALL)
    assert code == 1
    assert re.search(r"^ +--concurrency 3 ", err, re.MULTILINE)
    assert "serve.concurrency" not in err


def test_longer_requests_than_the_server_takes() -> None:
    """They are refused by the server, however much memory there is."""
    code, _, err = told(*PROMISING, "--context", "99000", "--", *SMALL)
    assert code == 1
    assert "requests of 99,000 tokens are promised, and the server takes 40,960 at most" in flat(
        err
    )
    assert "set `--context-length 99000`" in flat(err)


def test_a_context_that_is_not_promised_whole() -> None:
    """The model's own context, where nothing else is given, is the server's, and not said to be promised."""
    _, out, _ = told(*PROMISING, "--context", "8000", "--", *SMALL)
    assert "no context is given: the model's own 40,960 tokens are the server's" in out


@pytest.mark.parametrize(
    ("options", "words", "first"),
    [
        ((), ("--model-path", "my-org/My-8B"), "`--model-config FILE`"),
        (("--gpu", "zz9"), ("--model-path", "Qwen/Qwen3-8B"), "`--gpu custom --gpu-memory GIB`"),
    ],
)
def test_what_the_prediction_itself_takes_is_named_first(
    options: tuple[str, ...], words: tuple[str, ...], first: str
) -> None:
    """Where nobody described a model or a GPU, its own options come before a file of the catalogue."""
    _, out, err = told(*PROMISING, *options, "--", *server(" ".join(words)).split())
    said = flat(err)
    assert 0 < said.index(first) < said.index("poolproof catalog add-")
    assert "32,768" not in out  # a stand-in is nobody's context


@pytest.mark.parametrize("version", ["0.5.24", "0.3.3"])
def test_a_release_that_nobody_described_has_help(version: str) -> None:
    """How its flags are read is said."""
    _, _, err = told("--gpu", "l40s", "--count", "1", "--engine", version, "--", *SMALL)
    assert "[release-unknown]" in err
    assert "`poolproof catalog add-engine PATH`" in flat(err)


def flat(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())
