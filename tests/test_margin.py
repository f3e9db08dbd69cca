"""What the reserve has more than it needs is one figure, and has one name wherever it is shown."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from checkouts import REPOSITORY, SHORT, STORY, Checkout, compiled_checkout


NAME = "reserve's margin"
OTHER = re.compile(
    r"left in the reserve|pool, [\d.]+ GiB of reserve|(?<!reserve's )\bmargin[,:]? (?:is )?-?\d",
    re.IGNORECASE,
)
"""Other names that the figure had."""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree, and in its profiles less for a reserve; not to be changed."""
    tree = compiled_checkout(tmp_path_factory.mktemp("changed") / "tree")
    text = tree.profile(STORY).read_text("utf-8")
    tree.write(STORY, text.replace("fraction = 0.93", "fraction = 0.94"))
    return tree


@pytest.mark.parametrize(
    "words",
    [
        ("check", STORY),
        ("fit", SHORT),
        ("diff", str(REPOSITORY)),
        ("diff", str(REPOSITORY), "--format", "markdown"),
        ("report", SHORT),
    ],
)
def test_every_way_out_names_the_margin_alike(changed: Checkout, words: tuple[str, ...]) -> None:
    """Findings, changes, comparisons, and the page call it the reserve's margin, and nothing else."""
    done = changed.run(*words)
    seen = re.sub(r"<style>.*?</style>", "", html.unescape(done.out + done.err), flags=re.DOTALL)
    told = re.sub(r"\s+", " ", seen)  # notes are broken where a line ends
    assert NAME in told
    assert OTHER.findall(told) == []


@pytest.mark.parametrize(
    "path",
    [
        *sorted((REPOSITORY / "out").glob("*/PLAN.md")),
        *sorted((REPOSITORY / "docs").rglob("*.md")),
        *sorted((REPOSITORY / "compiler" / "pages").glob("reserve-*.md")),
    ],
    ids=lambda path: path.relative_to(REPOSITORY).as_posix(),
)
def test_every_page_names_the_margin_alike(path: Path) -> None:
    """PLAN.md, the documentation, and what `explain` prints have no other name for it."""
    assert OTHER.findall(path.read_text("utf-8")) == []
    if path.name == "PLAN.md":
        assert f"The {NAME}, what it has more than it needs: " in path.read_text("utf-8")
