"""Checkpoints without an entry of their own: whose shapes they have is known by who made them, or by a name that says it all."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.sizes import described_bytes
from compiler.architecture import LayerKind, Role
from compiler.catalog import open_catalog
from compiler.catalog.naming import Names, model_names
from compiler.catalog.shelves import Kind, shipped_shelf
from compiler.catalog.variants import Variants, ends, meant_model, read_variants
from compiler.facts import Model
from compiler.language.syntax import parse_toml
from compiler.language.typed import structure_value
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import Split, exact_gib
from compiler.predict import Question, make_predictor
from compiler.source import Source


DATA = Path(__file__).parent.parent / "compiler" / "catalog" / "data"
SERVER = ("python", "-m", "sglang.launch_server")
DEPLOYED = Path(__file__).parent.parent / "benchmarks" / "data" / "deployed.txt"


@pytest.fixture(scope="module")
def names() -> Names:
    """What the shipped models are called."""
    return model_names(open_catalog())


def model(names: Names, id_: str) -> Model:
    """A model that is known by its own entry or by another's."""
    found, faults = names.catalog.model(id_)
    assert found is not None, faults
    return found


def weights(found: Model) -> float:
    """All of its tensors on one GPU, GiB."""
    return exact_gib(target_tensors(found, split=Split()))


def shipped() -> Variants:
    """What is shipped about such checkpoints."""
    found = read_variants([shipped_shelf()])
    assert found is not None
    return found


def test_the_file_is_whole() -> None:
    """The shipped file has the form of its class, and nothing that is left out."""
    text = (DATA / "variants.toml").read_text("utf-8")
    values, faults = parse_toml(Source("variants.toml", text))
    assert values is not None, faults
    found, wrong = structure_value(values, Variants)
    assert found is not None, wrong
    assert all(each.source.startswith("https://") for each in found.recipes)


def test_every_twin_is_of_a_model_with_an_entry(names: Names) -> None:
    """What a checkpoint is said to be the same as has an entry, and the checkpoint itself has none."""
    known = set(names.catalog.ids(Kind.MODEL))
    assert set(shipped().same.values()) <= known
    assert not set(shipped().same) & known


def test_every_recipe_is_of_a_model_that_is_known(names: Names) -> None:
    """No recipe is for an architecture that no entry has, and each is compared in lower case."""
    architectures = {model(names, each).architecture for each in names.catalog.ids(Kind.MODEL)}
    for recipe in shipped().recipes:
        assert set(recipe.architectures) <= architectures
        assert all(each == each.lower() for each in (*recipe.endings, *recipe.publishers))
        assert recipe.alone or recipe.publishers


@pytest.mark.parametrize(
    ("path", "id_"),
    [
        ("/models/Qwen3-235B-A22B-Instruct-2507-FP8", "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8"),
        ("/data/hub/models--Qwen--Qwen3-8B/snapshots/b968826d9c46", "Qwen/Qwen3-8B"),
        ("/hub/LLM-Research/Meta-Llama-3___1-8B", "LLM-Research/Meta-Llama-3.1-8B"),
        ("models/DeepSeek-R1-Distill-Qwen-32B/", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
        ("/hub/Qwen3-8B/snapshots/b968826d9c46", "Qwen/Qwen3-8B"),
        ("/models/Qwen3-32B-FP8-dynamic", "Qwen3-32B-FP8-dynamic"),
        ("/data/amd/GLM-5.1-MXFP4", "amd/GLM-5.1-MXFP4"),
        ("/hub/models--RedHatAI--Qwen3-32B-NVFP4/snapshots/a", "RedHatAI/Qwen3-32B-NVFP4"),
        # A folder is no publisher, and who made these four bits is not said.
        ("/models/Qwen3.5-27B-AWQ", "/models/Qwen3.5-27B-AWQ"),
        ("/nvidia/models/Qwen3-32B-NVFP4", "/nvidia/models/Qwen3-32B-NVFP4"),
        ("somebody/Qwen3-8B", "somebody/Qwen3-8B"),
    ],
)
def test_a_path_is_called_by_what_it_ends_like(names: Names, path: str, id_: str) -> None:
    """The hub's cache, ModelScope's, a folder with its publisher, and a folder alone say which model it is."""
    assert names.identify(path) == id_


@pytest.mark.parametrize(
    ("id_", "same"),
    [
        ("unsloth/Meta-Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct"),
        ("tngtech/DeepSeek-TNG-R1T2-Chimera", "deepseek-ai/DeepSeek-R1"),
    ],
)
def test_a_copy_has_all_figures_of_the_other(names: Names, id_: str, same: str) -> None:
    """Another publisher's files of the same shapes and number formats weigh the same, under their own id."""
    assert model(names, id_).id == id_
    assert weights(model(names, id_)) == weights(model(names, same))


@pytest.mark.parametrize(
    ("id_", "gib"),
    [
        # Sizes of the checkpoints' files in public listings, without what the engine adds; rotary tables are small.
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", 67.7),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", 37.0),
        ("nvidia/Llama-3.3-70B-Instruct-FP4", 39.9),
    ],
)
def test_a_recipe_weighs_what_such_a_checkpoint_does(names: Names, id_: str, gib: float) -> None:
    """The number formats of a recipe give the size of the files that are published, within a twentieth."""
    assert weights(model(names, id_)) == pytest.approx(gib, rel=0.05)


def test_a_recipe_of_one_publisher_is_not_another_s(names: Names) -> None:
    """NVIDIA's four bits come with a cache in fp8; those of others do not, and somebody's are not known."""
    ours, theirs = model(names, "nvidia/Qwen3-32B-NVFP4"), model(names, "RedHatAI/Qwen3-32B-NVFP4")
    assert ours.quantization is not None
    assert theirs.quantization is not None
    assert ours.quantization.kv_cache == "fp8_e4m3"
    assert theirs.quantization.kv_cache is None
    assert names.catalog.model("somebody/Qwen3-32B-NVFP4") == (None, ())


def test_a_recipe_stays_with_its_architectures(names: Names) -> None:
    """Layers with a state, and towers, may be left as they were: nothing is said of them."""
    assert names.catalog.model("RedHatAI/Qwen3.5-27B-FP8-dynamic") == (None, ())
    assert LayerKind.STATE in model(names, "Qwen/Qwen3.5-27B").pattern


def test_amd_s_experts_are_in_four_bits(names: Names) -> None:
    """Quark leaves latent attention and its indexer in sixteen bits, as two public logs weigh it."""
    found = model(names, "amd/GLM-5.1-MXFP4").quantization
    assert found is not None
    assert {role for each in found.formats for role in each.roles} == {Role.EXPERTS, Role.SHARED}


@pytest.mark.parametrize(
    ("id_", "gigabytes"),
    [
        ("RadixArk/GLM-5.3-Flash-NVFP4", 202.9),
        ("LibertAIDAI/GLM-5.3-Flash-NVFP4", 194.7),
        ("amd/GLM-5.3-Flash-Quark-MXFP4", 185.066_521_464),
    ],
)
def test_what_stays_in_16_bits_of_glm_5_3_flash(names: Names, id_: str, gigabytes: float) -> None:
    """Attention does, and of shared experts, dense MLPs, and the model's own draft each maker says otherwise."""
    assert described_bytes(model(names, id_)) / 1e9 == pytest.approx(gigabytes, rel=0.001)


def test_a_folder_of_an_ending_that_one_publisher_has_is_theirs(names: Names) -> None:
    """A folder that is called like a checkpoint that AMD alone makes is AMD's; somebody else's by name is not known."""
    assert names.identify("/mnt/vast/models/GLM-5.2-MXFP4") == "amd/GLM-5.2-MXFP4"
    assert names.catalog.model("somebody/GLM-5.2-MXFP4")[0] is None
    assert names.identify("/mnt/models/Qwen3-8B-FP8-KV") == "/mnt/models/Qwen3-8B-FP8-KV"


def test_what_is_not_known_is_near_the_model_it_is_made_from(names: Names) -> None:
    """A name that goes on after a known one is near that, however long it is."""
    assert names.catalog.near(Kind.MODEL, "/models/Qwen3.5-27B-AWQ") == "Qwen/Qwen3.5-27B"
    assert meant_model(
        "cyankiwi/GLM-4.5-Air-AWQ-4bit", ["zai-org/GLM-4.5", "zai-org/GLM-4.5-Air"]
    ) == ("zai-org/GLM-4.5-Air")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("/models/Qwen3-Coder-30B-A3B-Instruct-FP8", "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8"),
        ("Qwen3-30B-A3B-GPTQ-Int4", "Qwen/Qwen3-30B-A3B-GPTQ-Int4"),
        ("somebody/Qwen3-8B-FP8", "Qwen/Qwen3-8B-FP8"),
        # Its maker has none of these, and who does is not said.
        ("/models/Qwen3-32B-NVFP4", "Qwen/Qwen3-32B"),
        ("/models/Qwen3-32B-chat", "Qwen/Qwen3-32B"),
    ],
)
def test_what_is_near_keeps_its_number_formats(names: Names, name: str, meant: str) -> None:
    """Of a checkpoint in few bits the maker's own in these bits is near, where it is priced."""
    assert names.catalog.near(Kind.MODEL, name) == meant


def test_a_plan_says_whose_figures_it_rests_on(names: Names) -> None:
    """A model or a draft without an entry of its own is said to be taken for another; one with an entry is not."""
    predictor = make_predictor(names.catalog, engine="sglang", version="0.5.21")

    def assumed(model_: str, draft: str) -> str:
        words = ("--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", draft)
        judged = predictor.predict(
            (*SERVER, "--model-path", model_, *words),
            Question(gpu="h200", count=1, engine="sglang", version="0.5.21"),
        )
        assert judged.plan is not None
        return "\n".join(judged.plan.assumptions)

    both = assumed("Qwen/Qwen3-4B-FP8", "unsloth/Qwen3-0.6B")
    assert "are those of `Qwen/Qwen3-4B`, by its name in fp8" in both
    assert "are those of `Qwen/Qwen3-0.6B`, a copy of which it is by its name" in both
    assert "no entry" not in assumed("Qwen/Qwen3-4B", "Qwen/Qwen3-0.6B")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/h/models--Qwen--Qwen3-32B/snapshots/abc", "Qwen/Qwen3-32B"),
        ("/h/models--foo--Kimi-K2.5-NVFP4/snapshots/abc", "foo/Kimi-K2.5-NVFP4"),
        ("/x/foo--Qwen3-32B", "foo/Qwen3-32B"),
        ("/models/AWQ/Qwen3-32B", "/models/AWQ/Qwen3-32B"),
        ("/models/Qwen3-32B", "Qwen/Qwen3-32B"),
    ],
)
def test_a_publisher_that_a_path_says_counts(names: Names, path: str, expected: str) -> None:
    """Somebody else's checkpoint of a name, and one below a folder of a number format, are not the maker's own."""
    assert names.identify(path) == expected


def test_a_last_part_that_two_share_is_nobody_s() -> None:
    """A name without its publisher is known where only one model is called so."""
    assert ends(("a/X", "b/x", "c/Y")) == {"y": "c/Y"}


def test_most_names_that_people_deploy_are_priced() -> None:
    """Of the list of deployed models three in four are priced at least, each by the name that people write."""
    predictor = make_predictor(open_catalog(), engine="sglang", version="0.5.21")
    lines = DEPLOYED.read_text("utf-8").splitlines()
    asked = [line.split() for line in lines if line and not line.startswith("#")]
    priced = 0
    for name, gpu, count in asked:
        question = Question(gpu=gpu, count=int(count), engine="sglang", version="0.5.21")
        words = (*SERVER, "--model-path", name, "--tp-size", count)
        plan = predictor.predict(words, question).plan
        priced += plan is not None and plan.memory is not None
    assert len(asked) >= 250
    assert priced >= 0.75 * len(asked)
