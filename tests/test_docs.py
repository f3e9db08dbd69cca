"""The documentation: what it shows is done, where it leads to is there, and nothing is left out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from checkouts import REPOSITORY, STORY, checkout
from compiler.catalog import open_catalog
from compiler.catalog.shelves import Kind
from compiler.cli.commands import VERBS
from shown import Scratch, blocks, edit, prose


DOCS = REPOSITORY / "docs"
WRITTEN = "from-the-product"
"""The folder of the pages that a build of the site writes; not committed."""

HOW_TOS = sorted((DOCS / "how-to").glob("*.md"))
PAGES = sorted(each for each in DOCS.rglob("*.md") if WRITTEN not in each.parts)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@cache
def text_of(page: Path) -> str:
    return page.read_text("utf-8")


@pytest.mark.parametrize("page", [DOCS / "tutorial.md", DOCS / "memory.md", *HOW_TOS], ids=named)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    """The commands of a page end as it says and print what it shows, and its settings are sound."""
    if shutil.which("git") is None:
        pytest.skip("`git` is not installed")
    (tmp_path / "reader").mkdir()
    Scratch(tmp_path / "reader").follow(text_of(page))


_KNOB = re.compile(r"^\| .*`([a-z_]+) = ([\d._]+)`.* \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
_TABLE_OF = {"fraction": "memory", "max_running_requests": "serve", "context": "serve"}


def test_the_table_of_knobs_is_what_check_prints(tmp_path: Path) -> None:
    """Each row of the memory page's example has the pool, the reserve, and the verdict of that setting."""
    tree = checkout(tmp_path / "tree")
    story = tree.profile(STORY).read_text("utf-8")
    rows = _KNOB.findall(text_of(DOCS / "memory.md"))
    assert {name for name, *_ in rows} == set(_TABLE_OF)
    for name, value, pool, reserve, verdict in rows:
        tree.write(STORY, story)
        edit(tree.profile(STORY), f"[{_TABLE_OF[name]}]\n{name} = {value}\n")
        line = tree.run("check", STORY).out
        low, high = pool.split(" to ")
        assert f"pool {low}..{high.partition(', for')[0]} for " in line
        assert f"reserve {reserve} GiB" in line
        assert verdict.partition(",")[0] in line


@pytest.mark.parametrize("page", [DOCS / "tutorial.md", *HOW_TOS], ids=named)
def test_a_page_shows_something_that_is_done(page: Path) -> None:
    """Not every block of a page is marked as one that is not run."""
    done = [each for each in blocks(text_of(page)) if each.language in ("sh", "toml")]
    assert any("not run" not in each.marks for each in done)


@pytest.mark.parametrize("page", [DOCS / "tutorial.md", *HOW_TOS], ids=named)
def test_a_file_is_named_in_sight(page: Path) -> None:
    """What a mark says of a block, which file it is, the words above it say too: a mark is not shown to a reader."""
    for part in re.split(
        r"(^```.*?^```$|^#[^\n]*$)", text_of(page), flags=re.MULTILINE | re.DOTALL
    ):
        for path in re.findall(r"^<!-- (?:file|edit): (.*) -->$", part, re.MULTILINE):
            assert f"`{path}`" in re.sub(r"<!--.*?-->", "", part), path


_FIGURE = re.compile(r"(?<![\w.,:/@-])(?:\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?![\w.]*\w)")
"""A number with a point or with groups: one that somebody read off."""
_NOT_SHOWN: dict[str, frozenset[str]] = {
    # What a recorded boot saves is of a `check` on a host, less what an earlier block shows.
    "tutorial.md": frozenset({"3.11", "0.878", "0.4"}),
    "leave-a-container.md": frozenset({"3.11"}),
}
"""Releases of Python, and what is worked out from two blocks."""


@pytest.mark.parametrize("page", [DOCS / "tutorial.md", *HOW_TOS], ids=named)
def test_a_figure_of_the_prose_is_one_that_a_block_shows(page: Path) -> None:
    """What a page says of a figure is what its commands print, which is held against the product."""
    lines = text_of(page).split("\n")
    several = list(blocks(text_of(page)))
    ends = [each.line + each.text.count("\n") + 1 for each in several]  # of the closing fences
    missing: set[str] = set()
    for number, start in enumerate([0, *ends]):
        stop = several[number].line - 1 if number < len(several) else len(lines)
        said = _FIGURE.findall(re.sub(r"`[^`]*`|\]\([^)]*\)", "", "\n".join(lines[start:stop])))
        # What follows at once may be what the sentence leads to.
        shown = "\n".join(each.text for each in several[: number + 1])
        shown = shown.replace("_", ",").replace("..", " ")
        missing |= {each for each in said if not re.search(_alone(each), shown)}
    assert missing == _NOT_SHOWN.get(page.name, frozenset())


def _alone(figure: str) -> str:
    return rf"(?<![\d.,]){re.escape(figure)}(?!\d)"


@pytest.mark.parametrize(
    "page", [REPOSITORY / "README.md", REPOSITORY / "CHANGELOG.md", *PAGES], ids=named
)
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link leads to a file that is there in a clone, and its anchor to a heading of that file."""
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{named(page)}: {link}"
        assert WRITTEN not in target.parts, f"{named(page)}: {link}"
        assert not anchor or anchor in anchors(target), f"{named(page)}: {link}"


def links(page: Path) -> Iterator[str]:
    """The relative links of a page."""
    for target in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(text_of(page)))):
        if not re.match(r"[a-z]+:", target):
            yield target


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as code hosts and the site make them."""
    heads = _HEADING.findall(prose(text_of(page)))
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_told_of(verb: str) -> None:
    """A person who reads the pages, and not only the list of commands, meets each verb."""
    assert any(
        re.search(rf"\bpoolproof {verb}\b", text_of(page))
        for page in PAGES
        if page.name not in ("commands.md", "flags.md")
    )


def test_every_module_beside_the_rooms_is_told_of() -> None:
    """What stands beside the rooms is named on the page of the design."""
    told = text_of(DOCS / "design.md")
    beside = (each.stem for each in (REPOSITORY / "compiler").glob("[!_]*.py"))
    assert [each for each in beside if f"`{each}`" not in told] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    """The site's front page leads to each page there is."""
    entries = {
        line for tree in _TOCTREE.findall(text_of(DOCS / "index.md")) for line in tree.split("\n")
    }
    pages = {each.relative_to(DOCS).with_suffix("").as_posix() for each in PAGES} - {"index"}
    assert pages <= entries


def test_what_is_counted_is_as_many() -> None:
    """The README and the changelog say how much the catalogue holds, and how many public reports are told, as it is."""
    catalog = open_catalog()
    versions = catalog.versions("sglang")
    readme, changelog = (
        " ".join(text_of(REPOSITORY / f"{each}.md").split()) for each in ("README", "CHANGELOG")
    )
    gpus, models, drafts = (len(catalog.ids(each)) for each in (Kind.GPU, Kind.MODEL, Kind.DRAFT))
    boots = len(list((REPOSITORY / "compiler" / "catalog" / "data" / "boots").rglob("*.toml")))
    told = re.search(r"Of (\d+) reports about SGLang (\d+) are told", text_of(DOCS / "reports.md"))
    assert told is not None
    assert f"flags of {len(versions)} releases from {versions[0]} to {versions[-1]}" in readme
    assert (
        f"{gpus} GPUs, {models} models, {drafts} drafts, the flags of {len(versions)} releases"
        in changelog
    )
    assert f"- {boots} public boots come with the catalogue" in changelog
    assert f"Of {told[1]} public reports" in readme
    assert f", {told[2]} are told beforehand" in readme
    assert f"; {told[2]} public reports are cases" in changelog
