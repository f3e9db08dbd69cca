"""Page tables of captured steps under FlashAttention 3: how many a release keeps, and those of attention in chunks."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.memory.weights import GIB
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
DENSE = "Qwen/Qwen2.5-7B-Instruct --context-length 32768 --cuda-graph-max-bs 32"
CHUNKED = "meta-llama/Llama-4-Scout-17B-16E-Instruct --tp 8 --context-length 1000000 --cuda-graph-max-bs 160"


def sizes(command: str, *, version: str, count: int = 1) -> dict[str, float]:
    """The lines of the reserve, GiB by name."""
    words = f"python -m sglang.launch_server --attention-backend fa3 --model-path {command}".split()
    question = Question(gpu="h200", count=count, engine="sglang", version=version)
    plan = make_predictor(CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    assert plan.memory is not None, plan.unknowns
    return {each.item: each.gib.best for each in plan.memory.reserve_lines}


@pytest.mark.parametrize(
    ("version", "tables"), [("0.4.5", 3), ("0.4.6", 2), ("0.4.10.post2", 2), ("0.5.1", 1)]
)
def test_older_releases_keep_more_tables(version: str, tables: int) -> None:
    """A table of every position for each captured request: one for drafts too before 0.5.1, and one more before 0.4.6."""
    found = sizes(DENSE, version=version)["graph page tables"]
    assert found == pytest.approx(tables * 32 * 32_768 * 4 / GIB)


def test_layers_with_a_window_have_a_table_of_their_own() -> None:
    """Where they have a pool of their own."""
    words = "openai/gpt-oss-20b --context-length 32768 --cuda-graph-max-bs 32"
    split, whole = (
        sizes(words, version=version)["graph page tables"] for version in ("0.5.9", "0.5.6")
    )
    assert split == pytest.approx(2 * whole)


@pytest.mark.parametrize(("version", "there"), [("0.4.6.post2", False), ("0.4.6.post3", True)])
def test_attention_in_chunks_has_a_table_of_chunks(version: str, *, there: bool) -> None:
    """For every chunk that a context may have, its pages: 0.6 GiB for a million tokens."""
    found = sizes(CHUNKED, version=version, count=8).get("graph page tables, chunks")
    assert (found is not None) is there
    if found is not None:
        assert found == pytest.approx(160 * 123 * 8192 * 4 / GIB)
