"""`--json-model-override-args`: what only says how far positions reach moves the context, and leaves the pool."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from compiler.catalog import Kind, open_catalog
from compiler.engines.sglang.overrides import declared, is_read
from compiler.facts import Model
from compiler.judged import Checked, Verdict
from compiler.profile import Profile
from deployments import check_text, codes_of, memory_of, only_plan


SHARED = Path(__file__).parent / "rules" / "shared"
YARN: dict[str, Any] = {
    "rope_type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 32_768,
}
CATALOG = open_catalog()


def checked(
    tmp_path: Path, override: object, *, context: str = '"auto"', more: str = ""
) -> Checked:
    if not (tmp_path / "profiles").exists():
        shutil.copytree(SHARED, tmp_path / "profiles")
    given = (
        ""
        if override is None
        else f"[flags]\njson-model-override-args = '{json.dumps(override)}'\n"
    )
    text = (
        f'schema = 1\nextends = ["base/small"]\n[serve]\ncontext = {context}\n{more}\n{given}'
        '[targets.ct200]\nkind = "systemd"\nuser = "sglang"\n'
    )
    return check_text(tmp_path / "profiles", text)


def model_of(id_: str) -> Model:
    model, _ = CATALOG.model(id_)
    assert model is not None
    return model


def with_override(tmp_path: Path, override: object) -> Profile:
    return only_plan(checked(tmp_path, override)).profile


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_a_scaling_keeps_the_verdict(tmp_path: Path, key: str) -> None:
    """The pool of a token stays, and the tables of positions grow by what the scaling reaches beyond the model's own."""
    variable = '[env]\nSGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN = "1"'
    plain = checked(tmp_path, None)
    scaled = checked(tmp_path, {key: YARN}, context="131_072", more=variable)
    assert scaled.judged[0].verdict is Verdict.PASS
    assert codes_of(scaled) == []
    ours, theirs = memory_of(scaled).pool, memory_of(plain).pool
    assert tuple(ours.cell_choices) == tuple(theirs.cell_choices)
    own = only_plan(plain).profile.serve.tokens
    grown_gib = (131_072 - own) * 128 * 4 / 2**30  # one fp32 table, a head wide
    lost = (theirs.tokens.best - ours.tokens.best) * next(iter(theirs.cell_choices)) / 2**30
    assert lost == pytest.approx(grown_gib, abs=0.001)


def test_a_longer_context_is_derived(tmp_path: Path) -> None:
    """A config that says a longer context, or scales without the length it starts from, lengthens what is promised."""
    for override, context in (
        ({"max_position_embeddings": 65_536}, 65_536),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, 81_920),
        ({"rope_scaling": YARN}, 40_960),
        ({}, 40_960),
    ):
        assert only_plan(checked(tmp_path, override)).profile.serve.tokens == context, override


@pytest.mark.parametrize(
    "override",
    [
        {"max_position_embeddings": 65_536, "num_hidden_layers": 2},
        {"max_position_embeddings": 0},
        {"max_position_embeddings": "65536"},
        {"rope_scaling": {"rope_type": "yarn", "factor": -1}},
        {"rope_scaling": {"factor": True}},
        {"rope_parameters": {"full_attention": YARN}},
        {"text_config": {"rope_scaling": YARN}},
        [1],
        "yarn",
        None,
    ],
)
def test_what_cannot_be_followed(override: object) -> None:
    """Another key, another shape, or a figure that means nothing leaves the flag unpriced, as before."""
    assert not is_read(model_of("Qwen/Qwen3-8B"), json.dumps(override))
    assert not is_read(model_of("Qwen/Qwen3-8B"), "{")
    assert not is_read(None, json.dumps({"rope_scaling": YARN}))


def test_a_text_model_inside_another(tmp_path: Path) -> None:
    """The keys of a model with a vision tower stand one table further in, and nothing outside is read."""
    inside = {"text_config": {"max_position_embeddings": 65_536}}
    # As the vendor's card of Qwen3.5 has it.
    mixed = {**YARN, "mrope_interleaved": True, "mrope_section": [11, 11, 10], "rope_theta": 10**7}
    model = next(
        each
        for id_ in CATALOG.ids(Kind.MODEL)
        if (each := model_of(id_)).vision is not None
        and (each.rope is None or each.rope.kind == "yarn")
    )
    assert is_read(model, json.dumps(inside))
    assert is_read(model, json.dumps({"text_config": {"rope_parameters": mixed}}))
    assert not is_read(model, json.dumps(inside["text_config"]))
    assert declared(model, with_override(tmp_path, inside)).context == 65_536


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            '[env]\nSGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN = "1"',
            "by `env.SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN`, which is set",
        ),
        ('[engine]\nversion = "0.4.9"', "as 0.4.9 does without being asked"),
    ],
)
def test_what_lets_it_start(tmp_path: Path, more: str, said: str) -> None:
    """A context beyond the model says which it is that lets the server start, and names the vendors' way."""
    (found,) = (
        each
        for each in checked(tmp_path, None, context="50_000", more=more).all_diagnostics
        if each.code == "context-beyond-model"
    )
    assert said in found.notes[0]
    assert "YaRN" in "".join(found.help)
