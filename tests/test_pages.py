"""The explanation pages: one for each code, each with the same parts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.accept import ACCEPTABLE
from compiler.explain import codes, page
from emitted import PACKAGE, emitted_codes


PARTS = ("Why", "Example", "How to mend it")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SHORTEST, LONGEST = 15, 40
"""Lines of a page: enough to say why, and still one screen."""


def text_of(code: str) -> str:
    text = page(code)
    assert text is not None
    return text


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    """The pages are those of the codes that the source can emit; how these are found is told in `emitted`."""
    assert sorted(emitted_codes()) == list(codes())


@pytest.mark.parametrize("code", codes())
def test_a_page_has_its_parts(code: str) -> None:
    """The code, a sentence of what it means, then why, an example, and how to mend it, none of them empty."""
    prose = FENCED.sub("CODE", text_of(code))
    assert HEADING.findall(prose) == [f"# {code}", *(f"## {part}" for part in PARTS)]
    before, meaning, *parts = (each.strip() for each in HEADING.split(prose))
    assert before == ""
    assert meaning.endswith(".")
    assert all(parts)
    assert "CODE" in parts[PARTS.index("Example")]


@pytest.mark.parametrize("code", codes())
def test_a_page_says_whether_it_can_be_accepted(code: str) -> None:
    """The findings that `[accept]` may name say so and show how; the others do not."""
    assert (f'can be accepted: `[accept] {code} = "why"`' in text_of(code)) == (code in ACCEPTABLE)


@pytest.mark.parametrize("code", codes())
def test_a_page_is_a_screen_long(code: str) -> None:
    """Between 15 and 40 lines of at most 120 characters, with one newline at the end."""
    lines = text_of(code).split("\n")
    assert lines[-1] == ""
    assert lines[-2] != ""
    assert SHORTEST <= len(lines) - 1 <= LONGEST
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("code", codes())
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
