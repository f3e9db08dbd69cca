"""The explanation pages: one for each code, each with the same parts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.accept import ACCEPTABLE
from compiler.diagnostics import Diagnostic
from compiler.explain import codes, page
from compiler.memory.outcome import MEMORY_CODES
from compiler.report.verdicts import verdict_lines
from deployments import check_text, codes_of
from emitted import PACKAGE, emitted_codes
from rows import folded


PARTS = ("Why", "Example", "How to mend it")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SHORTEST, LONGEST = 15, 40
"""Lines of a page: enough to say why, and still one screen."""

PROFILES = Path(__file__).parents[1] / "profiles"
STORY = """\
schema = 1
extends = ["base/kimi-k2.6", "base/service", "base/sglang-ddtree", "hw/8x-rtx-pro-6000"]
{settings}[targets.ct200]
kind = "systemd"
user = "sglang"
"""
FIGURE = re.compile(r"(?<![\w.])-?\d+(?:[,.]\d+)+(?![\w.]*\d)")
"""A number with a point or with groups: one that somebody worked out."""


def text_of(code: str) -> str:
    text = page(code)
    assert text is not None
    return text


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    """The pages are those of the codes that the source can emit; how these are found is told in `emitted`."""
    assert sorted(emitted_codes()) == list(codes())


@folded("code", codes())
def test_a_page_has_its_parts(code: str) -> None:
    """The code, a sentence of what it means, then why, an example, and how to mend it, none of them empty."""
    prose = FENCED.sub("CODE", text_of(code))
    assert HEADING.findall(prose) == [f"# {code}", *(f"## {part}" for part in PARTS)]
    before, meaning, *parts = (each.strip() for each in HEADING.split(prose))
    assert before == ""
    assert meaning.endswith(".")
    assert all(parts)
    assert "CODE" in parts[PARTS.index("Example")]


@folded("code", codes())
def test_a_page_says_whether_it_can_be_accepted(code: str) -> None:
    """The findings that `[accept]` may name say so and show how; the others do not."""
    assert (f'can be accepted: `[accept] {code} = "why"`' in text_of(code)) == (code in ACCEPTABLE)


@folded("code", sorted(ACCEPTABLE))
def test_what_can_be_accepted_is_listed(code: str) -> None:
    """Who misspells a code reads all that there are."""
    assert f"`{code}`" in text_of("accept-unknown")


@folded("code", codes())
def test_a_page_is_a_screen_long(code: str) -> None:
    """Between 15 and 40 lines of at most 120 characters, with one newline at the end."""
    lines = text_of(code).split("\n")
    assert lines[-1] == ""
    assert lines[-2] != ""
    assert SHORTEST <= len(lines) - 1 <= LONGEST
    assert max(map(len, lines)) <= 120


@folded("code", codes())
def test_a_page_names_codes_that_there_are(code: str) -> None:
    """A page that sends the reader to another one names one that exists."""
    named = re.findall(r"poolproof explain ([a-z0-9-]+)", text_of(code))
    assert set(named) <= set(codes())


@pytest.mark.parametrize(
    "code", ["", "no-such-code", "../explain", "../../README", "pool-too-small.md"]
)
def test_what_is_no_code_has_no_page(code: str) -> None:
    """Only the codes themselves are looked up, never a path."""
    assert page(code) is None


def test_pages_are_read_without_the_compiler() -> None:
    """Explaining a code imports nothing else of ours and no third party."""
    script = (
        "import sys; before = set(sys.modules); import compiler.explain; "
        "print(*sorted(each for each in set(sys.modules) - before if each.partition('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
    )
    assert done.stdout.split() == ["compiler", "compiler.explain"]


def test_the_pages_are_part_of_the_package() -> None:
    """They lie below the package, so that a wheel carries them."""
    assert (PACKAGE / "pages").is_dir()
    assert all(Path(each).suffix == ".md" for each in (PACKAGE / "pages").iterdir())


def story_of(code: str) -> str:
    """The example of a page as a whole profile: the story's fragments, and what the example leaves out."""
    (example,) = re.findall(r"^```toml\n(.*?)^```$", text_of(code), re.MULTILINE | re.DOTALL)
    values = tomllib.loads(example)
    values["serve"] = {"context": 100_000, "max_running_requests": 8, **values["serve"]}
    settings = (
        f"{table}.{key} = {value}\n"
        for table in ("serve", "memory")
        for key, value in values[table].items()
    )
    return STORY.format(settings="".join(settings))


def said(found: Diagnostic) -> Iterator[str]:
    yield from (found.primary.text if found.primary else "", *found.notes, *found.help)
    yield from (each.text for each in found.secondary)


@pytest.mark.parametrize("code", sorted(MEMORY_CODES))
def test_a_page_about_memory_says_what_the_product_says(code: str, tmp_path: Path) -> None:
    """The example gives the finding that its page explains, and each figure of the page stands in what is printed then."""
    for each in ("base", "hw", "boots"):
        shutil.copytree(PROFILES / each, tmp_path / "profiles" / each)
    checked = check_text(tmp_path / "profiles", story_of(code))
    assert code in codes_of(checked)
    printed = "\n".join(
        (
            *verdict_lines(checked.judged),
            *(text for each in checked.all_diagnostics for text in said(each)),
        )
    )
    printed = re.sub(r"(?<=\d)_(?=\d)", ",", printed)
    text = text_of(code)
    comments = re.findall(r"^[^\n`]*#(.*)$", text[text.index("```toml") :], re.MULTILINE)
    advice = text.partition("## How to mend it")[2]
    figures = set(FIGURE.findall("\n".join((*comments, advice))))
    settings = set(re.findall(r"`([a-z_]+ = [\d.]+)`", advice))
    assert figures <= set(FIGURE.findall(printed.replace("..", " "))), figures
    assert settings <= set(re.findall(r"[a-z_]+ = [\d.]+", printed))
