"""Configs of further kinds: they come to the parameters that their makers publish, and lists and defaults are understood."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.catalog import Kind, open_catalog
from compiler.checkpoint import model_from_config
from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import Split
from kinds import KINDS


def described(config: dict[str, Any]) -> Model:
    """The model of a config that can be described."""
    model = model_from_config(config, id_="a/b")
    assert isinstance(model, Model), model
    return model


@pytest.mark.parametrize("id_", KINDS)
def test_a_kind_has_as_many_parameters_as_its_makers_say(id_: str) -> None:
    """The tensors of one GPU come to the published count, within half a percent."""
    config, billions = KINDS[id_]
    tensors = target_tensors(described(config), split=Split())
    held = sum(each.elements * each.count for each in tensors if each.role != "rotary tables")
    assert held / 1e9 == pytest.approx(billions, rel=0.005)


@pytest.mark.parametrize("id_", sorted(KINDS.keys() & set(open_catalog().ids(Kind.MODEL))))
def test_an_entry_is_what_its_config_says(id_: str) -> None:
    """Where the catalogue has a model of these, its layers, heads, experts, and ends are those of the config."""
    entry, _ = open_catalog().model(id_)
    model = described(KINDS[id_][0])
    assert entry is not None
    for name in (
        *("architecture", "vocabulary", "hidden", "layers", "pattern", "dense_layers", "heads"),
        *("intermediate", "attention", "window", "state", "moe", "vision", "tied", "wide_layers"),
        *("gated_mlp", "other_parameters", "context", "rope"),
    ):
        assert getattr(model, name) == getattr(entry, name), name
