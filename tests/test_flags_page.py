"""The page of flags by release is the one that the catalogue gives."""

from __future__ import annotations

from pathlib import Path

from compiler.catalog import open_catalog
from compiler.engines.sglang.flagspage import flags_page
from compiler.engines.sglang.spelling import owned_flags


PAGE = Path(__file__).parent.parent / "docs" / "flags.md"


def test_the_page_is_up_to_date() -> None:
    """`python -m compiler.engines.sglang.flagspage > docs/flags.md` would change nothing."""
    assert PAGE.read_text("utf-8") == flags_page(open_catalog())


def test_the_page_has_every_typed_setting() -> None:
    """Each setting that writes a flag is in the table, with each flag that is written for some release."""
    text = flags_page(open_catalog())
    for flag, setting in owned_flags().items():
        assert f"| `{setting}` | `{flag}` |" in text


def test_the_page_says_where_a_flag_changed() -> None:
    """A setting whose flag was renamed has a line for each name, without a gap or an overlap."""
    lines = flags_page(open_catalog()).splitlines()
    assert "| `memory.cuda_graph_max_batch` | `--cuda-graph-max-bs` | up to 0.5.13 |" in lines
    assert (
        "| `memory.cuda_graph_max_batch` | `--cuda-graph-max-bs-decode` | from 0.5.14 on |" in lines
    )
    assert "| `model.path` | `--model-path` | all |" in lines
    assert "| `secrets.api_key` | `--config` | from 0.5.3 on |" in lines
