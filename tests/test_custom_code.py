"""Checkpoints that bring code: what the catalogue says of them, and what is made of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from checkouts import Done, run
from compiler.catalog import open_catalog
from compiler.catalog.customcode import read_custom_code
from compiler.catalog.shelves import shipped_shelf


KIMI = ("--model", "moonshotai/Kimi-K2.6", "--gpu", "h200", "--count", "8", "--host", "n")


def test_the_table_is_of_its_form() -> None:
    """Each row has a source with an address and names models that the catalogue knows, each once."""
    read = read_custom_code([shipped_shelf()])
    assert read is not None
    rows = read.parts
    named = [model for row in rows for model in row.models]
    assert rows
    assert all(row.source.startswith("https://huggingface.co/") and row.code for row in rows)
    assert len(named) == len(set(named))
    catalog = open_catalog()
    for model in named:
        known, _ = catalog.model(model)
        assert known is not None
        assert known.custom_code
        assert known.sources["custom_code"]


def test_a_checkpoint_of_the_same_files_brings_the_same_code() -> None:
    """A copy and a twin bring what the maker's checkpoint brings; other models bring none that is known."""
    catalog = open_catalog()
    for id_ in ("unsloth/Kimi-K2-Instruct", "moonshotai/Kimi-K2-Base"):
        known, _ = catalog.model(id_)
        assert known is not None
        assert known.custom_code == "the tokenizer"
    plain, _ = catalog.model("Qwen/Qwen3-8B")
    assert plain is not None
    assert plain.custom_code == ""


def made(folder: Path, *words: str) -> Done:
    return run("init", str(folder / "tree"), *words, "--context", "16384", here=folder)


def test_init_trusts_what_does_not_load_without(tmp_path: Path) -> None:
    """A new tree for Kimi runs the checkpoint's code, says which part it is, and is not warned of."""
    done = made(tmp_path, *KIMI)
    assert done.code == 0, done.err
    assert "code-untrusted" not in done.err
    text = (tmp_path / "tree" / "profiles" / "base" / "kimi-k2.6.toml").read_text("utf-8")
    assert tomllib.loads(text)["model"]["trust_remote_code"] is True
    parts = "the tokenizer and the image processor come as code"
    assert f"# {parts}: read it" in text
    assert f"`model.trust_remote_code` is set: {parts}; read it first" in " ".join(done.err.split())


def test_init_trusts_nothing_else(tmp_path: Path) -> None:
    """A model that brings no code is not trusted with any."""
    done = made(tmp_path, "--model", "Qwen/Qwen3-8B", *KIMI[2:4], "--count", "1", "--host", "n")
    assert done.code == 0, done.err
    text = (tmp_path / "tree" / "profiles" / "base" / "qwen3-8b.toml").read_text("utf-8")
    assert "trust_remote_code" not in text + done.err


@pytest.mark.parametrize(("flag", "told"), [("", True), ("--trust-remote-code", False)])
def test_a_launch_that_is_judged_is_told(tmp_path: Path, flag: str, *, told: bool) -> None:
    """`adopt --check` and `predict` say it of a command, in its own words."""
    command = f"python -m sglang.launch_server --model-path moonshotai/Kimi-K2.6 --tp 8 {flag}"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\nexec {command}\n")
    done = run("adopt", str(script), "--check", "--gpu", "h200", here=tmp_path)
    assert ("warning[code-untrusted]" in done.err) is told
    done = run("predict", "--gpu", "h200", "--", *command.split(), here=tmp_path)
    assert ("warning[code-untrusted]" in done.err) is told
