"""What the server decides by itself: the sentences among a plan's assumptions."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from compiler.catalog import open_catalog
from compiler.engines.sglang.changes import changes
from compiler.engines.sglang.settings import settings_of
from compiler.facts import Model
from compiler.profile import Argument, Name, Parallel, Profile, Speculative, Text, Version
from plans import story_profile


def said(
    version: str,
    *,
    algorithm: str | None = None,
    flags: dict[str, Argument] | None = None,
    parallel: Parallel | None = None,
    env: dict[str, str] | None = None,
    requests: int | None = 8,
    model: Model | None = None,
) -> str:
    """All sentences about the story's profile with these settings."""
    story = story_profile()
    changed: dict[str, Any] = {
        "engine": evolve(story.engine, version=Version(version), build=None),
        "speculative": Speculative(algorithm=algorithm) if algorithm else None,  # type: ignore[arg-type]
        "flags": flags or {},
        "parallel": parallel or Parallel(tensor=8),
        "env": {name: Text(value) for name, value in (env or {}).items()},
        "serve": evolve(story.serve, max_running_requests=requests),
    }
    profile: Profile = evolve(story, **changed)
    return "\n".join(changes(settings_of(profile, None), model))


def test_nothing_is_said_where_nothing_is_decided() -> None:
    """A server without any of it has no sentence."""
    assert said("0.5.11") == ""


def test_speculation_bounds_the_requests() -> None:
    """48 when no number is given, and nothing when one is."""
    assert "takes 48" in said("0.5.23", algorithm="eagle", requests=None)
    assert said("0.5.23", algorithm="eagle") == ""


def test_compressed_attention_bounds_the_requests() -> None:
    """256 whether it speculates or not, and nothing when a number is given."""
    model, _ = open_catalog().model("deepseek-ai/DeepSeek-V4-Flash-0731")
    for algorithm in ("dspark", None):
        assert "takes 256" in said("0.5.23", algorithm=algorithm, requests=None, model=model)
    assert said("0.5.23", algorithm="dspark", model=model) == ""


def test_groups_share_a_prefill_step() -> None:
    """8,192 tokens over four groups are 2,048 on each."""
    parallel = Parallel(tensor=8, data=4, dp_attention=True)
    assert "2,048 on each of 4 groups" in said("0.5.11", parallel=parallel)
    assert said("0.5.11", parallel=Parallel(tensor=8, data=4)) == ""


@pytest.mark.parametrize(
    ("version", "algorithm", "off"),
    [
        ("0.5.13", "dflash", True),
        ("0.5.14", "dflash", False),
        ("0.5.12", "ngram", True),
        ("0.5.13", "ngram", False),
        ("0.5.6", "eagle", True),
        ("0.5.10", "eagle", True),
        ("0.5.11", "eagle", False),
        ("0.5.13", "eagle", False),
    ],
)
def test_overlap_by_release(version: str, algorithm: str, *, off: bool) -> None:
    """Each algorithm learned to overlap in another release."""
    assert ("does not overlap" in said(version, algorithm=algorithm)) is off


def test_overlap_by_switches() -> None:
    """A variable, a tree, stages, and the flag that switches it off anyway."""
    v2 = {"SGLANG_ENABLE_SPEC_V2": "1"}
    tree: dict[str, Argument] = {"speculative-eagle-topk": 4}
    assert said("0.5.9", algorithm="eagle", env=v2) == ""
    assert "tree" in said("0.5.11", algorithm="eagle", flags=tree)
    assert "stages" in said("0.5.23", parallel=Parallel(tensor=4, pipeline=2))
    assert said("0.5.9", algorithm="eagle", flags={"disable-overlap-schedule": True}) == ""


def test_the_variable_that_would_overlap_is_named() -> None:
    """Where a variable lets a release overlap after all, the sentence names it; an earlier one has no such way."""
    assert "only with `env.SGLANG_ENABLE_SPEC_V2`" in said("0.5.10", algorithm="eagle")
    assert "this release cannot" in said("0.5.6", algorithm="eagle")


def test_the_host_pays_for_each_rank() -> None:
    """64 GB on four ranks are 256 GB of the host, and none where the tier is off."""
    tier: dict[str, Argument] = {"enable-hierarchical-cache": True, "hicache-size": 64}
    assert "256 GB" in said("0.5.17", flags=tier, parallel=Parallel(tensor=4))
    assert said("0.5.17", flags={"hicache-size": 64}) == ""


@pytest.mark.parametrize(
    ("version", "backend", "moved"),
    [("0.5.11", "fa3", True), ("0.5.14", "fa3", False), ("0.5.11", "triton", False)],
)
def test_decoding_moves_from_flash_attention(version: str, backend: str, *, moved: bool) -> None:
    """Beside a tier of host memory FlashAttention 3 does not decode, up to 0.5.13."""
    flags: dict[str, Argument] = {
        "enable-hierarchical-cache": True,
        "attention-backend": Name(backend),
    }
    assert ("decoding uses" in said(version, flags=flags)) is moved
