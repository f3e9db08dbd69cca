"""A server whose images are encoded elsewhere: `--language-only`."""

from __future__ import annotations

from compiler.catalog import open_catalog
from compiler.plan import Plan
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()


def plan_of(model: str, *flags: str, version: str) -> Plan:
    words = ["python", "-m", "sglang.launch_server", "--model-path", model, *flags]
    words += ["--tp-size", "4", "--mem-fraction-static", "0.8"]
    question = Question(gpu="h200", count=4, engine="sglang", version=version, public=False)
    plan = make_predictor(CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    return plan


def test_the_tower_is_there_although_nothing_is_loaded_into_it() -> None:
    """The class makes it all the same, and what is set aside for caches of images stays set aside."""
    model = "Qwen/Qwen3-VL-235B-A22B-Instruct"
    for version in ("0.5.12", "0.5.18"):
        whole = plan_of(model, version=version).memory
        alone = plan_of(model, "--language-only", version=version).memory
        assert whole is not None
        assert alone is not None
        assert alone.load_gib == whole.load_gib
        assert alone.pool.tokens == whole.pool.tokens


def test_a_tower_that_nobody_read_keeps_a_server_from_being_priced() -> None:
    """Of other architectures it is not known what the flag leaves out."""
    (unknown,) = plan_of("google/gemma-3-27b-it", "--language-only", version="0.5.12").unknowns
    assert unknown.name == "--language-only"
