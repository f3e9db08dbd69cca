"""A server whose images are encoded elsewhere: `--language-only`."""

from __future__ import annotations

from servers import planned, sized


FLAGS = "--tp-size 4 --mem-fraction-static 0.8"


def test_the_tower_is_there_although_nothing_is_loaded_into_it() -> None:
    """The class makes it all the same, and what is set aside for caches of images stays set aside."""
    words = f"--model-path Qwen/Qwen3-VL-235B-A22B-Instruct {FLAGS}"
    for version in ("0.5.12", "0.5.18"):
        whole, alone = (
            sized(each, version=version, count=4, public=False)
            for each in (words, f"{words} --language-only")
        )
        assert alone.load_gib == whole.load_gib
        assert alone.pool.tokens == whole.pool.tokens


def test_a_tower_that_nobody_read_keeps_a_server_from_being_priced() -> None:
    """Of other architectures it is not known what the flag leaves out."""
    words = f"--model-path google/gemma-3-27b-it {FLAGS} --language-only"
    (unknown,) = planned(words, version="0.5.12", count=4, public=False).unknowns
    assert unknown.name == "--language-only"
