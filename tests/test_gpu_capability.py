"""What a format asks of a GPU: as the wheels' own classes say, release by release."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from attrs import evolve

from compiler.architecture import Format, Quantization, Role
from compiler.catalog import open_catalog
from compiler.engines.sglang.rules.capability import OLDEST, least_capability, scheme_capability
from compiler.facts import Model
from wheels import fetch_wheel, unpack


def classes(trees: list[ast.Module]) -> Mapping[str, set[int]]:
    """Each class with `get_min_capability`, and every whole number that this may return."""
    return {
        node.name: {
            each.value
            for method in node.body
            if isinstance(method, ast.FunctionDef) and method.name == "get_min_capability"
            for found in ast.walk(method)
            if isinstance(found, ast.Return)
            for each in ast.walk(found)
            if isinstance(each, ast.Constant) and isinstance(each.value, int)
        }
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def formats(trees: list[ast.Module]) -> Iterator[tuple[str, str]]:
    """Each format with its class, of all tables that name one."""
    for tree in trees:
        for node in ast.walk(tree):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values, strict=True):
                if not isinstance(key, ast.Constant) or not isinstance(value, ast.Name):
                    continue
                if isinstance(key.value, str) and value.id.endswith("Config"):
                    yield key.value, value.id


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.4.6", "0.5.9", "0.5.12.post1", "0.5.13", "0.5.23"])
def test_every_format_asks_for_what_its_class_says(version: str, tmp_path: Path) -> None:
    """No figure is another than the class has, and no class that asks for more than the engine is left out."""
    unpack(fetch_wheel(version, tmp_path), tmp_path)
    folder = tmp_path / "sglang" / "srt" / "layers" / "quantization"
    trees = [ast.parse(each.read_text("utf-8-sig")) for each in folder.rglob("*.py")]
    asked = classes(trees)
    # A format may have a class of its own on other makers' GPUs.
    said: dict[str, set[int]] = {}
    for name, of in formats(trees):
        said.setdefault(name, set()).update(asked.get(of, ()))
    ours = {name: least_capability(name, version) for name in said}
    known = {name: least for name, least in ours.items() if least is not None and said[name]}
    assert known
    assert {name for name, least in known.items() if least not in said[name]} == set()
    strict = {name for name, figures in said.items() if min(figures, default=0) > OLDEST}
    assert strict <= known.keys()


def _stored(method: str, **figures: float) -> Model:
    stored = Format(roles=(Role.ATTENTION,), **figures)  # type: ignore[arg-type]  # as a test has it
    model, _ = open_catalog().model("Qwen/Qwen3-8B")
    assert model is not None
    return evolve(model, quantization=Quantization(method=method, formats=(stored,)))


@pytest.mark.parametrize(
    ("model", "version", "asks"),
    [
        (_stored("compressed-tensors", bits=8), "0.5.11", 80),
        (_stored("compressed-tensors", bits=4, group_size=16, scale_bits=8), "0.5.21", 100),
        (_stored("compressed-tensors", bits=4, group_size=16, scale_bits=8), "0.5.22", 80),
        (_stored("quark", bits=8), "0.5.11", 89),
        (_stored("quark", bits=4, group_size=32, scale_bits=8), "0.5.11", None),
        (_stored("awq", bits=4, group_size=128, scale_bits=16), "0.5.11", None),
    ],
)
def test_matrices_ask_for_what_their_scheme_says(
    model: Model, version: str, asks: int | None
) -> None:
    """A format that has a scheme for each kind of number is judged by that."""
    assert model.quantization is not None
    assert scheme_capability(model, model.quantization.method, version) == asks


def test_experts_alone_are_not_judged() -> None:
    """Kimi K2.6 has nothing else in four bits, and experts are not held against their scheme."""
    model, _ = open_catalog().model("moonshotai/Kimi-K2.6")
    assert model is not None
    assert scheme_capability(model, "compressed-tensors", "0.5.11") is None
