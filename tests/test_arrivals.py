"""Since which release the engine has each architecture: as the wheels say, and what is said of an older release."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from compiler.catalog import open_catalog
from compiler.catalog.shelves import Kind
from compiler.checkpoint.families import FAMILIES
from compiler.engines.sglang.architectures import ARRIVALS, between, unread
from compiler.predict import Question, make_predictor
from wheels import fetch_wheel, unpack


CATALOG = open_catalog()
# Names of a config that no class has: what the sources of the release know them by.
UNCLASSED = {
    "DeepseekV41ForCausalLM": "deepseek_v41",
    "Gemma3TextModel": "is_embedding_gemma",
    "Olmo3ForCausalLM": "Olmo3ForCausalLM",
    "SeedOssForCausalLM": "TransformersForCausalLM",
    "SmolLM3ForCausalLM": "TransformersForCausalLM",
}
# The release right before, where that is another one than the last whose builds may have the class.
RIGHT_BEFORE = {
    "0.4.4.post2": "0.4.4.post1",
    "0.4.5": "0.4.4.post4",
    "0.4.6.post2": "0.4.6.post1",
    "0.4.6.post3": "0.4.6.post2",
    "0.4.6.post5": "0.4.6.post4",
    "0.4.7": "0.4.6.post5",
    "0.4.7.post1": "0.4.7",
    "0.4.8": "0.4.7.post1",
    "0.4.8.post1": "0.4.8",
    "0.4.9.post2": "0.4.9.post1",
    "0.4.9.post3": "0.4.9.post2",
    "0.4.9.post5": "0.4.9.post4",
    "0.4.10": "0.4.9.post6",
    "0.5.1": "0.4.10.post2",
    "0.5.2": "0.5.1.post3",
    "0.5.4": "0.5.3.post3",
    "0.5.4.post2": "0.5.4.post1",
    "0.5.6": "0.5.5.post3",
    "0.5.7": "0.5.6.post2",
    "0.5.9": "0.5.8.post1",
    "0.5.11": "0.5.10.post1",
    "0.5.13": "0.5.12.post1",
    "0.5.16": "0.5.15.post1",
}


@cache
def sources(version: str, folder: Path) -> Path:
    """The Python files of a release."""
    place = folder / version
    place.mkdir()
    unpack(fetch_wheel(version, place), place)
    return place / "sglang" / "srt"


def classes(source: str) -> Iterator[str]:
    """The names that a module hands to the engine's registry."""
    for node in ast.walk(ast.parse(source)):
        named = isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == "EntryClass" for each in node.targets
        )
        if named and isinstance(node, ast.Assign):
            yield from (each.id for each in ast.walk(node.value) if isinstance(each, ast.Name))


def knows(architecture: str, folder: Path) -> bool:
    """Whether the sources of a release have an architecture."""
    word = UNCLASSED.get(architecture)
    if word is not None:
        return any(word in each.read_text("utf-8") for each in folder.rglob("*.py"))
    texts = (each.read_text("utf-8-sig") for each in (folder / "models").rglob("*.py"))
    return any(
        architecture in text and architecture in classes(text)
        for text in texts
        if "EntryClass" in text
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where wheels are unpacked."""
    return tmp_path_factory.mktemp("wheels")


@pytest.mark.slow
@pytest.mark.parametrize("name", ARRIVALS)
def test_the_first_wheel_that_has_it(name: str, folder: Path) -> None:
    """The release's wheel has the class, and the wheel right before lacks it."""
    came = ARRIVALS[name]
    assert knows(name, sources(came.release, folder))
    assert not knows(name, sources(RIGHT_BEFORE.get(came.release, came.after), folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAMILIES.keys() - ARRIVALS.keys()))
def test_all_others_are_in_the_oldest_release_that_was_read(name: str, folder: Path) -> None:
    """0.4.6 has the class of every architecture that is described and has no row of its own."""
    assert knows(name, sources("0.4.6", folder))


def test_every_row_is_of_an_architecture_that_is_described() -> None:
    """No row is dead: a config.json of it is read, or a model of the catalogue is of it."""
    found = (CATALOG.model(each)[0] for each in CATALOG.ids(Kind.MODEL))
    entries = {each.architecture for each in found if each is not None}
    assert ARRIVALS.keys() <= FAMILIES.keys() | entries
    assert entries <= FAMILIES.keys() | ARRIVALS.keys()


def test_a_release_that_lacks_the_class_is_said() -> None:
    """Two releases before it is not priced; between the two it is, as a build; from then on nothing is said."""
    name, path = "KimiK25ForConditionalGeneration", "moonshotai/Kimi-K2.5"
    assert unread(name, "0.5.7") == "its architecture: sglang has it from 0.5.9 on"
    assert unread(name, "0.5.8") is None
    words = f"python -m sglang.launch_server --model-path {path} --tp 8".split()
    for version, said, priced in (
        ("0.5.7", False, False),
        ("0.5.8", True, True),
        ("0.5.9", False, True),
    ):
        question = Question(gpu="b200", count=8, engine="sglang", version=version)
        predictor = make_predictor(CATALOG, engine="sglang", version=version)
        plan = predictor.predict(words, question).plan
        assert plan is not None
        assert (plan.memory is not None) is priced
        assert (between(name, version) in plan.assumptions) is said
        assert ("model-unpriced" in {each.code for each in plan.unknowns}) is not priced
