"""`init`: the tree it writes is one that compiles, and nothing that is there is touched."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from attrs import evolve

from checkouts import REPOSITORY, Done, command, environment, run
from compiler.catalog import Kind, open_catalog
from compiler.checks.memory import UNLOADABLE
from compiler.cli.commands import VERBS
from compiler.cli.commands import poolproof as group
from compiler.cli.offered import offers
from compiler.cli.startlayout import ABOUT_MEMORY, eased, laid_out
from compiler.cli.startplace import Place
from compiler.cli.startwanted import CONTEXT_TOKENS
from compiler.judged import Verdict
from compiler.starter import FirstService, shared_attention


CATALOGUE = open_catalog()
EMPTY = Place(folder=Path(), stands=False, catalog=CATALOGUE)
"""A folder with nothing in it: a new service stands alone there."""


QWEN = ("--model", "Qwen/Qwen3-32B", "--gpu", "h100", "--count", "2", "--host", "gpu01")


def poolproof(folder: Path, *words: str) -> Done:
    """The command in a folder, without a terminal."""
    return run(*words, here=folder)


def written(folder: Path) -> set[str]:
    """The files below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def offered_in(made: Done) -> list[str]:
    """The lines that a refusal offers; that each of them passes is said only where no verdict is another."""
    head, _, lines = re.split(r"(each of these passes|none of these is refused):\n", made.err)
    offered = lines.splitlines()
    assert head.endswith("nothing was written; with the rest as it is, ")
    assert ("each of these passes" in made.err) is not any(
        "  uncertain  " in each for each in offered
    )
    return offered


def figures_of(done: Done) -> str:
    """The verdict and the figures of the tree that was written."""
    return " ".join(done.out.splitlines()[0].partition(" on ")[2].split()[1:])


def test_a_new_tree_compiles_and_is_current(tmp_path: Path) -> None:
    """The tree for a known model and GPU passes, compiles, and is then what its profiles give."""
    made = poolproof(tmp_path, "init", *QWEN)
    assert made.code == 0, made.err
    assert "qwen3-32b-gpu01 on gpu01  pass" in made.out
    assert poolproof(tmp_path, "check", "--strict").code == 0
    assert poolproof(tmp_path, "fmt", "--check").code == 0
    assert poolproof(tmp_path, "compile").code == 0
    assert poolproof(tmp_path, "compile", "--check", "--strict").code == 0
    assert (tmp_path / "out/qwen3-32b-gpu01/gpu01/qwen3-32b.service").is_file()


def test_a_new_tree_uses_its_gpus(tmp_path: Path) -> None:
    """The fraction is what the engine would pick, not the least that holds the promise; the comment says how to change it."""
    assert poolproof(tmp_path, "init", *QWEN).code == 0
    text = (tmp_path / "profiles/qwen3-32b-gpu01.toml").read_text("utf-8")
    fraction = tomllib.loads(text)["memory"]["fraction"]
    assert 0.8 < fraction < 0.9
    assert '"fit" is the least' in text
    (command_,) = re.findall(r"`poolproof (fit [^`]*)`", text)
    most = poolproof(tmp_path, *command_.split())
    found = re.search(r"memory.fraction = ([\d.]+)", most.out)
    assert found is not None
    assert float(found[1]) >= fraction


def test_a_host_that_shares_its_memory_is_left_some(tmp_path: Path) -> None:
    """On a DGX Spark the engine's own pick would take what the host's processes need, and the tree would begin with a warning."""
    words = ("--model", "openai/gpt-oss-120b", "--gpu", "gb10", "--count", "1", "--host", "spark")
    assert poolproof(tmp_path, "init", *words, "--context", "131072").code == 0
    assert poolproof(tmp_path, "check", "--strict").code == 0
    text = (tmp_path / "profiles/gpt-oss-120b-spark.toml").read_text("utf-8")
    assert "fraction = 0.8\n" in text
    assert "the host uses the same memory" in text


def test_a_reserve_that_wants_more_gets_a_lower_fraction(tmp_path: Path) -> None:
    """Where the engine's own pick would leave the reserve in doubt, the fraction is as much lower as it has to be."""
    words = ("--model", "Qwen/Qwen3-30B-A3B", "--gpu", "rtx-5090", "--count", "4", "--host", "a")
    made = poolproof(tmp_path, "init", *words)
    assert made.code == 0, made.err
    assert poolproof(tmp_path, "check", "--strict").code == 0


@pytest.mark.parametrize(("dtype", "is_half"), [("fp8_e5m2", True), ("bf16", False)])
def test_only_a_format_of_8_bits_is_said_to_halve_a_token(
    tmp_path: Path, dtype: str, *, is_half: bool
) -> None:
    """The comment beside the number format of the cache is about that one."""
    assert poolproof(tmp_path, "init", *QWEN, "--kv-dtype", dtype).code == 0
    text = (tmp_path / "profiles/qwen3-32b-gpu01.toml").read_text("utf-8")
    (line,) = (each for each in text.splitlines() if each.startswith("kv_dtype"))
    assert f'"{dtype}"' in line
    assert ("half the memory" in line) is is_half


def test_a_new_tree_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    """The folder is made, and everything is below it."""
    assert poolproof(tmp_path, "init", "team", *QWEN).code == 0
    assert {each.split("/")[0] for each in written(tmp_path)} == {"team"}


@pytest.mark.parametrize("there", ["poolproof.toml", "profiles/hw/2x-h100.toml", ".gitattributes"])
def test_nothing_that_is_there_is_written_over(tmp_path: Path, there: str) -> None:
    """One file of the tree that exists keeps all of it from being written, and is named."""
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine\n")
    made = poolproof(tmp_path, "init", *QWEN)
    assert made.code == 1
    assert there in made.err
    assert "nothing was written" in made.err
    assert written(tmp_path) == {there}
    assert (tmp_path / there).read_text() == "mine\n"


def test_a_promise_that_does_not_hold_is_not_written(tmp_path: Path) -> None:
    """A context that no pool of these GPUs holds is refused with its reason, and nothing is written."""
    made = poolproof(tmp_path, "init", *QWEN, "--context", "40960", "--concurrency", "40")
    assert made.code == 1
    assert "error[" in made.err
    assert "nothing was written" in made.err
    assert "poolproof fit" not in made.err  # there is no tree to fit
    assert written(tmp_path) == set()


@pytest.mark.parametrize(
    "asked",
    [
        {"--context": 131_072, "--concurrency": 4},
        {"--context": 131_072},
        {"--context": 40_960, "--concurrency": 40},
        {"--context": 131_072, "--concurrency": 4000},
    ],
)
def test_what_a_refused_tree_may_be_asked_for_instead(
    tmp_path: Path, asked: dict[str, int]
) -> None:
    """Each line that a refusal offers is of options of `init`, and with them, the rest as it was, the tree is written."""
    words = [str(each) for pair in asked.items() for each in pair]
    made = poolproof(tmp_path, "init", *QWEN, *words)
    assert made.code == 1
    assert not set(re.findall(r"memory\.kv_dtype|serve\.\w+|other GPUs|poolproof fit", made.err))
    offered = offered_in(made)
    assert offered
    for number, line in enumerate(offered):
        instead = line.split("  pass")[0].split("  uncertain")[0].split()
        done = poolproof(tmp_path, "init", str(number), *QWEN, *words, *instead)
        assert done.code == 0, (line, done.err)
        assert figures_of(done) in " ".join(line.split())
    if asked.get("--concurrency") == 40:
        more = poolproof(
            tmp_path, "init", "more", *QWEN, "--context", "40960", "--concurrency", "10"
        )
        assert more.code == 1
        assert [each.split()[0] for each in offered] == ["--context", "--concurrency", "--count"]


CODER = ("--model", "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "--gpu", "l40s", "--host", "a")


def test_what_is_offered_is_what_is_then_written(tmp_path: Path) -> None:
    """Figures, groups of experts, and running requests of each line are those of the tree that its options give."""
    words = (*CODER, "--count", "1", "--context", "131072", "--concurrency", "6")
    made = poolproof(tmp_path, "init", *words)
    offered = [" ".join(each.split()) for each in offered_in(made)]
    assert any("--count" in each and each.endswith("; experts in 2 groups") for each in offered)
    for number, line in enumerate(offered):
        instead = re.split(" pass | uncertain ", line)[0].split()
        done = poolproof(tmp_path, "init", str(number), *words, *instead)
        assert done.code == 0, (line, done.err)
        assert figures_of(done) in line
        (path,) = (tmp_path / str(number) / "profiles").glob("*.toml")
        profile = tomllib.loads(path.read_text("utf-8"))
        requests = profile["serve"].get("max_running_requests")
        assert ("run at most" in line) is (requests is not None)
        groups = profile.get("parallel", {}).get("expert")
        assert ("experts in" in line) is (groups is not None)


def test_a_limit_is_one_that_passes(tmp_path: Path) -> None:
    """Where memory holds less than the model's own context, the finding about that names what memory holds."""
    words = ("--model", "Qwen/Qwen3-32B-FP8", "--gpu", "l40s", "--count", "1", "--host", "a")
    made = poolproof(tmp_path, "init", *words, "--context", "131072")
    (offered,) = offered_in(made)
    most = offered.split()[1]
    assert int(most) < 40_960
    assert f"help: set `--context {most}` or less\n" in made.err
    assert "\n      or, once it is written, scale positions as" in made.err
    assert "once it is written, or" not in made.err


KIMI = ("--model", "moonshotai/Kimi-K2.6", "--gpu", "rtx-pro-6000-blackwell", "--count", "8")
V3 = ("--model", "deepseek-ai/DeepSeek-V3", "--gpu", "h200", "--count", "8")


@pytest.mark.parametrize(
    ("asked", "requests", "groups"),
    [
        # the reserve alone is short
        ((*KIMI, "--context", "200000"), True, None),
        # every GPU keeps each latent otherwise
        ((*V3, "--context", "131072", "--concurrency", "8"), False, 8),
        # eight groups leave a request too small a pool
        ((*KIMI, "--context", "131072", "--concurrency", "2"), True, 4),
    ],
)
def test_what_keeps_the_whole_promise_is_tried_before_it_is_refused(
    tmp_path: Path, asked: tuple[str, ...], groups: int | None, *, requests: bool
) -> None:
    """Fewer running requests, then data parallel attention, then both: written, and said with the reason, there and in the file."""
    made = poolproof(tmp_path, "init", *asked, "--host", "a")
    assert made.code == 0, made.err
    (path,) = (tmp_path / "profiles").glob("*.toml")
    text = path.read_text("utf-8")
    profile = tomllib.loads(text)
    serve, comments = profile["serve"], " ".join(re.findall(r"^# (.*)$", text, re.MULTILINE))
    words = dict(zip(asked[::2], asked[1::2], strict=True))
    assert serve["context"] == int(words["--context"])
    assert serve["concurrency"] == int(words.get("--concurrency", 1))
    parallel = None if groups is None else {"data": groups, "dp_attention": True}
    assert profile.get("parallel") == parallel
    assert ("max_running_requests" in serve) is requests
    said = ["is data parallel, and"] if groups else []
    said += [f"So {serve['max_running_requests']} run at most, and others wait"] if requests else []
    assert all(each in made.err and each in comments for each in said)
    assert poolproof(tmp_path, "check", "--strict").code == 0
    assert poolproof(tmp_path, "fmt", "--check").code == 0


def test_a_refusal_says_what_was_tried(tmp_path: Path) -> None:
    """One line names the layouts, and the finding is of the one that came nearest: about the promise, and nothing else."""
    words = ("--host", "a", "--context", "131072", "--concurrency", "64")
    made = poolproof(tmp_path, "init", *V3, *words)
    assert made.code == 1
    assert re.findall(r"error\[(.*?)\]", made.err) == ["pool-too-small"]
    (tried,) = [line for line in made.err.splitlines() if line.startswith("tried: ")]
    assert tried == (
        "tried: tensor parallel over 8 GPUs, and data parallel attention in 8, 4, and 2 groups, each also with fewer running "
        "requests; data parallel attention in 8 groups came nearest, as said above"
    )
    assert "8 of 64 full requests need 1,048,552 slots on each of 8 replicas" in made.err
    assert "the reserve" not in made.err.partition("tried: ")[0]
    assert "raised as far as it goes to 0.999" in made.err
    assert "; reserve" not in made.out


def test_one_layout_that_was_tried(tmp_path: Path) -> None:
    """Heads of keys gain nothing from groups, so that one layout was tried."""
    made = poolproof(tmp_path, "init", *QWEN, "--context", "40960", "--concurrency", "40")
    assert "tried: tensor parallel over 2 GPUs, also with fewer running requests\n" in made.err
    assert re.findall(r"error\[(.*?)\]", made.err) == ["pool-too-small"]


@pytest.mark.parametrize("below", ["deploy/llm", "."])
def test_a_tree_inside_a_larger_repository(tmp_path: Path, below: str) -> None:
    """Where the tree lies below the root, what writes the files there that are read there only is named; at the root nothing is."""
    (tmp_path / ".git").mkdir()
    made = poolproof(tmp_path, "init", below, *QWEN)
    assert made.code == 0, made.err
    told = "neither GitHub nor pre-commit reads files below its root" in made.err
    assert told is (below != ".")
    assert (f"`poolproof init {below} --at-root` writes " in made.err) is told


@pytest.mark.slow
def test_more_is_offered_with_what_else_it_takes(tmp_path: Path) -> None:
    """What passes with fewer requests or groups stands beside what passes without, says so, and is what comes of its options."""
    words = ("--context", "131072", "--concurrency", "16")
    made = poolproof(tmp_path, "init", *KIMI, "--host", "a", *words)
    assert made.code == 1
    offered = offered_in(made)
    most = {each.split()[0]: each for each in offered if each.endswith(" at most")}
    assert [each.split()[0] for each in offered] == [
        "--context",
        "--context",
        "--concurrency",
        "--concurrency",
        "--count",
    ]
    for line in most.values():
        assert "; data parallel attention; " in line
        option, value, verdict = line.split()[:3]
        done = poolproof(
            tmp_path, "init", f"t{option}", *KIMI, "--host", "a", *words, option, value
        )
        assert (done.code, verdict) == (0, "pass"), done.err
        (path,) = (tmp_path / f"t{option}" / "profiles").glob("*.toml")
        requests = tomllib.loads(path.read_text("utf-8"))["serve"]["max_running_requests"]
        assert line.endswith(f"; {requests} requests run at most")


def test_the_most_requests_that_pass_are_taken() -> None:
    """Twice as many do not pass, nor do those of the engine."""
    wanted = evolve(_asked(KIMI[1], KIMI[3], 8), context=200_000)
    found = eased(EMPTY, wanted)
    assert found is not None
    assert found.requests is not None
    assert EMPTY.judge(found).judged[0].verdict is Verdict.PASS
    twice = EMPTY.judge(evolve(found, requests=2 * found.requests))
    assert twice.refused or twice.judged[0].verdict is not Verdict.PASS


def test_heads_of_keys_gain_nothing_from_groups() -> None:
    """Data parallel attention is tried for latents only."""
    for model, some in (("Qwen/Qwen3-32B", False), ("deepseek-ai/DeepSeek-V3", True)):
        known, _ = CATALOGUE.model(model)
        assert known is not None
        assert bool(list(shared_attention(known, 8))) is some


@pytest.mark.parametrize("folder", ["team/profiles", "team/profiles/base", "team/profiles/"])
def test_a_place_for_profiles_is_no_place_for_a_tree(tmp_path: Path, folder: str) -> None:
    """Its tree is the folder above, which is said; no `profiles/profiles` is made."""
    assert poolproof(tmp_path, "init", "team", *QWEN).code == 0
    made = poolproof(tmp_path, "init", folder, *QWEN[:-1], "second")
    assert made.code == 0, made.err
    assert "is a place for profiles: the tree is the folder above, `team`" in made.err
    assert (tmp_path / "team/profiles/qwen3-32b-second.toml").is_file()
    assert not list(tmp_path.rglob("profiles/profiles"))


def test_a_new_tree_is_not_made_inside_its_own_profiles(tmp_path: Path) -> None:
    """Where nothing is yet, the folder of profiles that is named is that of the new tree."""
    made = poolproof(tmp_path, "init", "team/profiles", *QWEN)
    assert made.code == 0, made.err
    assert (tmp_path / "team/poolproof.toml").is_file()
    assert not list(tmp_path.rglob("profiles/profiles"))


def test_a_number_of_gpus_that_does_not_divide(tmp_path: Path) -> None:
    """Where the model is cut over no such number, and copies and stages do not fit, the end names a number that passes."""
    words = ("--model", "Qwen/Qwen3-32B", "--gpu", "l4", "--count", "3", "--host", "a")
    made = poolproof(tmp_path, "init", *words)
    assert made.code == 1
    offered = [each.split("  ")[1] for each in offered_in(made)]
    assert [each for each in offered if not each.startswith("--model ")] == ["--count 4"]
    for number, option in enumerate(offered):
        assert poolproof(tmp_path, "init", str(number), *words, *option.split()).code == 0, option
        shutil.rmtree(tmp_path / str(number))
    assert "With `tensor = 3` alone, " in made.err
    assert written(tmp_path) == set()


def test_a_model_that_no_number_of_gpus_holds(tmp_path: Path) -> None:
    """The end says up to how many GPUs were tried."""
    words = (
        "--model",
        "moonshotai/Kimi-K2.5",
        "--gpu",
        "rtx-5060-ti",
        "--count",
        "8",
        "--host",
        "a",
    )
    made = poolproof(tmp_path, "init", *words)
    assert made.code == 1
    assert made.err.endswith(
        "up to 32 GPUs of this kind were tried, also with fewer running requests, and none passes: "
        "ask for another kind, or for less\n"
    )


def test_a_refusal_names_what_was_typed(tmp_path: Path) -> None:
    """No file was written, so that none is pointed into: the options are named, with what each comes to."""
    made = poolproof(tmp_path, "init", "--model", "Qwen/Qwen3-235B-A22B", *QWEN[2:])
    assert made.code == 1
    assert "profiles/" not in made.err
    assert "`--model Qwen/Qwen3-235B-A22B`: 219.01 GiB" in made.err
    assert "`--gpu h100`: 77.55 GiB" in made.err
    assert "--count 8  pass" in made.err


@pytest.mark.parametrize(
    ("model", "gpu", "count", "expected"),
    [
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "h100", 8, {"parallel": {"expert": 2}}),
        ("Qwen/Qwen2.5-7B-Instruct", "l40s", 8, {"parallel": {"tensor": 4, "data": 2}}),
        ("Qwen/Qwen3-32B", "l40s", 3, {"parallel": {"tensor": 1, "pipeline": 3}}),
        ("zai-org/GLM-4.5V", "l40s", 8, {"flags": {"mm-enable-dp-encoder": True}}),
    ],
)
def test_a_layout_that_the_engine_takes(
    tmp_path: Path, model: str, gpu: str, count: int, expected: dict[str, object]
) -> None:
    """Where tensor parallel over all GPUs is refused, the profile has the next best layout, and says why."""
    made = poolproof(
        tmp_path, "init", "--model", model, "--gpu", gpu, "--count", str(count), "--host", "a"
    )
    assert made.code == 0, made.err
    assert f"With `tensor = {count}` alone, " in made.err
    (path,) = (tmp_path / "profiles").glob("*.toml")
    text = path.read_text("utf-8")
    assert f"# With `tensor = {count}` alone, " in text
    profile = tomllib.loads(text)
    assert {key: profile[key] for key in ("parallel", "flags") if key in profile} == expected
    assert poolproof(tmp_path, "check", "--strict").code == 0
    assert poolproof(tmp_path, "fmt", "--check").code == 0


def _asked(model: str, gpu: str, count: int) -> FirstService:
    known, _ = CATALOGUE.model(model)
    assert known is not None
    return FirstService(
        model=model,
        model_path="/srv/models/m",
        gpu=gpu,
        count=count,
        engine="sglang",
        version=CATALOGUE.versions("sglang")[-1],
        flags={},
        python="/opt/sglang/bin/python",
        context=min(CONTEXT_TOKENS, known.context or CONTEXT_TOKENS),
        concurrency=1,
        is_described=True,
        target="a",
        user="sglang",
    )


_MOST_OFFERED = 16


def _is_beyond(model: str, gpu: str) -> bool:
    """Whether its weights do not even fit on as many GPUs as are ever offered."""
    found = EMPTY.judge(laid_out(EMPTY, _asked(model, gpu, _MOST_OFFERED)))
    return UNLOADABLE in {each.code for each in found.all_diagnostics if each.is_error}


@pytest.mark.parametrize("every", [45, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("gpu", ["h100", "l40s"])
def test_a_model_of_the_catalogue_passes_or_is_too_large(gpu: str, every: int) -> None:
    """On 1, 2, 4, and 8 GPUs each gets a tree that passes, or only memory refuses it and more GPUs or less are offered."""
    for model in CATALOGUE.ids(Kind.MODEL)[::every]:
        for count in (1, 2, 4, 8):
            asked = _asked(model, gpu, count)
            wanted = laid_out(EMPTY, asked)
            found = EMPTY.judge(wanted)
            if not found.refused:
                continue
            codes = {each.code for each in found.all_diagnostics if each.is_error}
            assert codes <= ABOUT_MEMORY, (model, count)
            passing = dict(offers(EMPTY, asked, wanted, found.judged[0]))
            counts = [int(each.split()[1]) for each in passing if each.startswith("--count ")]
            assert passing or _is_beyond(model, gpu), (model, count)
            assert all(each > count for each in counts), (model, count)


def test_a_model_nobody_described_is_said_to_be_unknown(tmp_path: Path) -> None:
    """Without its shapes the tree is written all the same, with a fraction that is said not to be proved."""
    made = poolproof(
        tmp_path,
        "init",
        "--model",
        "acme/Secret-7B",
        "--gpu",
        "h100",
        "--count",
        "1",
        "--host",
        "a",
    )
    assert made.code == 0, made.err
    assert "warning[model-unknown]" in made.err
    profile = (tmp_path / "profiles/secret-7b-a.toml").read_text()
    assert tomllib.loads(profile)["memory"] == {"fraction": 0.85}
    assert "not proved" in profile
    assert poolproof(tmp_path, "compile").code == 0


def test_a_model_whose_memory_is_not_worked_out_there(tmp_path: Path) -> None:
    """No fraction can be fitted on such a GPU, so the tree is written with one that is said not to be proved."""
    words = ("--model", "deepseek-ai/DeepSeek-V4-Flash", "--gpu", "mi300x", "--count", "8")
    made = poolproof(tmp_path, "init", *words, "--host", "a")
    assert made.code == 0, made.err
    profile = (tmp_path / "profiles/deepseek-v4-flash-a.toml").read_text()
    assert tomllib.loads(profile)["memory"] == {"fraction": 0.85}
    assert "not proved" in profile
    assert poolproof(tmp_path, "check").code == 0


def test_what_is_missing_is_named_where_nobody_can_be_asked(tmp_path: Path) -> None:
    """Without a terminal the options that were not given are named, and the exit is that of usage."""
    made = poolproof(tmp_path, "init", "--gpu", "h100")
    assert made.code == 2
    assert "--model, --count, --host" in made.err
    assert written(tmp_path) == set()


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [
        ("--gpu", "3090", "rtx-3090"),
        ("--gpu", "H100 80GB", "h100"),
        ("--gpu", "spark", "gb10"),
        ("--model", "qwen3-32b", "Qwen/Qwen3-32B"),
        ("--model", "qwen/qwen3-32b", "Qwen/Qwen3-32B"),
        ("--model", "Qwen/Qwen3-32", "Qwen/Qwen3-32B"),
        ("--model", "Qwen/Qwne3-32B", "Qwen/Qwen3-32B"),
        ("--model", "qwen3-4b-FP8", "Qwen/Qwen3-4B-FP8"),
    ],
)
def test_a_name_that_was_nearly_hit(tmp_path: Path, option: str, given: str, meant: str) -> None:
    """What is clearly a known one is refused before anything is written, with the name that it has."""
    made = poolproof(tmp_path, "init", *QWEN, option, given)
    assert made.code == 2
    assert f" `{given}`; a similar one is `{meant}`" in made.err
    assert "the catalogue has no " in made.err
    assert written(tmp_path) == set()


@pytest.mark.parametrize("name", ["H100", "NVIDIA H100 80GB HBM3"])
def test_a_gpu_by_its_drivers_name(tmp_path: Path, name: str) -> None:
    """A name that surely is a card of the catalogue is taken, and the tree has its id."""
    made = poolproof(tmp_path, "init", *QWEN, "--gpu", name)
    assert made.code == 0, made.err
    texts = [path.read_text("utf-8") for path in (tmp_path / "profiles/hw").iterdir()]
    assert any('kind = "h100"' in each for each in texts)


def test_a_gpu_that_no_file_can_be_named_after(tmp_path: Path) -> None:
    """A kind that nobody described may be meant, but for one that cannot be an id."""
    made = poolproof(tmp_path, "init", *QWEN, "--gpu", "My Card")
    assert made.code == 2
    assert "the catalogue has no kind of GPU `My Card`; `poolproof catalog list gpus`" in made.err
    assert written(tmp_path) == set()


@pytest.mark.parametrize("name", ["acme/Qwen3-32B-chat", "Qwen/Qwen3-33B", "acme/Qwen3-32B"])
def test_another_model_of_a_like_name_may_be_meant(tmp_path: Path, name: str) -> None:
    """Many models are called alike: the near name is a word on the way."""
    made = poolproof(tmp_path, "init", *QWEN, "--model", name)
    assert made.code == 0, made.err
    assert "a similar one is `Qwen/" in made.err


def test_a_model_that_has_the_figures_of_another(tmp_path: Path) -> None:
    """Whose they are is said, and no word that it is not known; the plan says so, too."""
    made = poolproof(tmp_path, "init", *QWEN, "--model", "Qwen/Qwen3-4B-FP8")
    assert made.code == 0, made.err
    said = "`Qwen/Qwen3-4B-FP8` has no entry of its own: its figures are those of `Qwen/Qwen3-4B`"
    assert said in made.err
    assert "similar" not in made.err
    assert poolproof(tmp_path, "compile").code == 0
    plan = (tmp_path / "out/qwen3-4b-fp8-gpu01/PLAN.md").read_text("utf-8")
    assert f"- {said}, by its name in fp8 (8 bits in blocks of 128 x 128)\n" in plan


@pytest.mark.parametrize("engine", ["0.5.10", "sglang@0.5.10"])
def test_a_release_with_or_without_its_engine(tmp_path: Path, engine: str) -> None:
    """A release is named as the other verbs name it, or by itself."""
    assert poolproof(tmp_path, "init", *QWEN, "--engine", engine).code == 0
    texts = [path.read_text("utf-8") for path in (tmp_path / "profiles").rglob("*.toml")]
    assert any('version = "0.5.10"' in each for each in texts)


@pytest.mark.parametrize("engine", ["vllm@0.5.10", "sglang@", "@0.5.10"])
def test_an_engine_that_init_does_not_write(tmp_path: Path, engine: str) -> None:
    """A starter tree is one for SGLang."""
    made = poolproof(tmp_path, "init", *QWEN, "--engine", engine)
    assert made.code == 2
    assert "expected a release" in made.err


def on_a_terminal(folder: Path, *words: str, answers: bytes) -> str:
    """What `init` says to somebody at a terminal, who gets a tree."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*command(), "init", *words],
        cwd=folder,
        env=environment(),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        os.close(theirs)
        os.write(ours, answers)
        said, _ = running.communicate(timeout=60)
    os.close(ours)
    assert running.returncode == 0, said
    return said


def test_a_terminal_is_asked_again(tmp_path: Path) -> None:
    """On a terminal a name that was nearly hit is asked for again, with the near one."""
    answers = b"H100 80GB\nh100\n2\ngpu01\n\n"
    said = on_a_terminal(tmp_path, "--model", "Qwen/Qwen3-32B", answers=answers)
    assert "a similar one is `h100`" in said


def test_a_terminal_is_asked(tmp_path: Path) -> None:
    """On a terminal the answers are asked for one by one; an empty one takes what is offered."""
    on_a_terminal(tmp_path, "--gpu", "h100", answers=b"Qwen/Qwen3-32B\n2\ngpu01\n\n")
    assert "context = 32_768" in (tmp_path / "profiles/qwen3-32b-gpu01.toml").read_text()


@pytest.mark.parametrize("host", ["", "../up", "a b", "-x", "x\n"])
def test_a_host_that_cannot_be_a_name_is_refused(tmp_path: Path, host: str) -> None:
    """The host's name becomes a file's; one that cannot is refused at once."""
    made = poolproof(tmp_path, "init", *QWEN[:-1], host)
    assert made.code == 2
    assert written(tmp_path) == set()


def test_the_workflow_runs_what_a_pull_request_must_pass(tmp_path: Path) -> None:
    """The workflow is YAML that checks, compares, and comments, with the compiler pinned as in the tree."""
    assert poolproof(tmp_path, "init", *QWEN).code == 0
    workflow = yaml.safe_load((tmp_path / ".github/workflows/poolproof.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["poolproof"]["steps"] if "run" in step]
    for verb in ("check --format github", "compile --check", "diff"):
        assert any(f"poolproof {verb}" in each for each in runs), verb
    pin = tomllib.loads((tmp_path / "poolproof.toml").read_text())["requires"]
    assert workflow["env"]["POOLPROOF"] == f"poolproof{pin}"
    # What comes from outside reaches a script through its environment only.
    assert not any("${{" in each for each in runs)


def test_the_hooks_of_this_repository_and_of_a_new_tree_are_yaml() -> None:
    """Each hook has what pre-commit asks of it."""
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    assert all({"id", "name", "entry", "language", "files"} <= set(each) for each in hooks)
    own = yaml.safe_load((REPOSITORY / "compiler/starter/files/pre-commit-config.yaml").read_text())
    assert all(
        {"id", "entry", "language"} <= set(hook) for repo in own["repos"] for hook in repo["hooks"]
    )


def test_this_repository_has_the_attributes_that_it_gives() -> None:
    """What a new tree gets is what we use."""
    given = (REPOSITORY / "compiler/starter/files/gitattributes").read_text()
    assert (REPOSITORY / ".gitattributes").read_text() == given


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(tmp_path: Path, shell: str) -> None:
    """The script names the command and the variable that asks it."""
    made = poolproof(tmp_path, "completion", shell)
    assert made.code == 0
    assert "_POOLPROOF_COMPLETE" in made.out


TAKE_PROFILES = ("check", "compile", "report", "fit", "show", "why", "diff", "affected", "fmt")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("poolproof comp", {"compile", "completion"}),
        ("poolproof check k2.6-200", {"k2.6-200k", "k2.6-200k-fp8kv"}),
        ("poolproof compile profiles/k2.6-3", {"profiles/k2.6-32k.toml"}),
        ("poolproof explain pool-t", {"pool-too-small"}),
        ("poolproof why k2.6-200k memory.f", {"memory.fraction"}),
        ("poolproof fit k2.6-200k --in base/kimi", {"base/kimi-k2.6"}),
        # The shell's own files, by the empty answer that asks for them.
        ("poolproof affected compiler/catalog/data/gp", {"compiler/catalog/data/gp"}),
        ("poolproof why out/", {"out/"}),
    ],
)
def test_words_are_completed(words: str, offered: set[str]) -> None:
    """Verbs, profiles by name and by path, codes, settings, and files are offered."""
    assert completed(words) == offered


@pytest.mark.parametrize("verb", TAKE_PROFILES)
def test_every_verb_that_takes_a_profile_completes_it(verb: str) -> None:
    """Each argument that its verb calls a profile offers the names there are."""
    assert completed(f"poolproof {verb} k2.6-3") == {"k2.6-32k"}


def test_the_verbs_that_take_a_profile_are_all_of_them() -> None:
    """A verb whose usage names a PROFILE that is there already is among those that are tried."""
    named = set()
    for verb in VERBS:
        command_of = group.get_command(click.Context(group), verb)
        assert command_of is not None
        arguments = [each for each in command_of.params if isinstance(each, click.Argument)]
        usage = " ".join(each.make_metavar(click.Context(command_of)) for each in arguments)
        if re.search(r"(?<!/)\bPROFILE\b|\bFILE\.\.\.|\[FILE\]", usage):
            named.add(verb)
    assert named == set(TAKE_PROFILES)


def completed(words: str) -> set[str]:
    """What bash is offered for the last word."""
    asked = {
        "_POOLPROOF_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    made = subprocess.run(
        command(),
        cwd=REPOSITORY,
        env=environment() | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    return {line.partition(",")[2] for line in made.stdout.splitlines()}


def test_a_new_tree_is_laid_out_as_fmt_does(tmp_path: Path) -> None:
    """The hook of the new tree that lays profiles out finds nothing to do, whether the fraction is found or guessed."""
    for folder, model in (("known", QWEN), ("guessed", ("--model", "acme/Unheard-Of", *QWEN[2:]))):
        made = poolproof(tmp_path, "init", folder, *model, "--context", "16384")
        assert made.code == 0, made.err
        done = poolproof(tmp_path / folder, "fmt", "--check")
        assert (done.code, done.out) == (0, "")


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A file in the way of a folder: what was written before it is taken back, with its folders, and the exit is 5."""
    (tmp_path / "profiles").write_text("a file\n")
    done = poolproof(tmp_path, "init", *QWEN)
    assert (done.code, written(tmp_path)) == (5, {"profiles"})
    assert not (tmp_path / ".github").exists()
    assert "nothing was written" in done.err


def test_the_next_step_can_be_pasted(tmp_path: Path) -> None:
    """A folder with a space is quoted for a shell; an empty name is no folder."""
    said = poolproof(tmp_path, "init", "our team", *QWEN).err
    assert "next: cd 'our team' && poolproof" in said
    assert "where no index of yours has it" in said
    assert poolproof(tmp_path, "init", "", *QWEN).code == 2
    assert {each.split("/")[0] for each in written(tmp_path)} == {"our team"}


@pytest.mark.parametrize(
    ("model", "told"), [("Qwen/Qwen3-Embedding-0.6B", True), ("BAAI/bge-m3", False)]
)
def test_a_model_for_embeddings_is_served_as_one(tmp_path: Path, model: str, *, told: bool) -> None:
    """Where its architecture does not tell, its fragment has the flag; nothing is left to warn of."""
    words = ("--model", model, *QWEN[2:4], "--count", "1", "--host", "a", "--context", "8192")
    made = poolproof(tmp_path, "init", *words)
    assert (made.code, "embedding-off" in made.err) == (0, False), made.err
    name = model.partition("/")[2].lower()
    fragment = tomllib.loads((tmp_path / f"profiles/base/{name}.toml").read_text("utf-8"))
    assert fragment.get("flags") == ({"is-embedding": True} if told else None)
    assert poolproof(tmp_path, "check", "--strict").code == 0
    assert poolproof(tmp_path, "fmt", "--check").code == 0
