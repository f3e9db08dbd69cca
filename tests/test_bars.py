"""Memory as bars: what the terminal and the drawing show is what the plan says."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from checkouts import REPOSITORY, STORY, command, environment
from compiler.bars import Bar, Mark, Part, memory_bars
from compiler.catalog import FolderReader, open_catalog
from compiler.inputs import Inputs
from compiler.language.load import DiskReader
from compiler.pipeline import check_profiles
from compiler.plan import Memory
from compiler.quoting.markup import markup_number, markup_text
from compiler.ranges import Range, total
from compiler.render.picture import WIDTH, render_picture
from compiler.report.drawing import drawing
from compiler.report.prose import NARROWEST
from examples import examples


SVG = "{http://www.w3.org/2000/svg}"
AMOUNTS = st.floats(min_value=0, max_value=1e6, allow_nan=False)
RANGES = st.tuples(AMOUNTS, AMOUNTS, AMOUNTS).map(lambda each: Range(*sorted(each)))
NAMES = st.text(min_size=1, max_size=60)
BARS = st.builds(
    lambda unit, sizes, mark: Bar(
        title="a bar",
        unit=unit,
        parts=tuple(Part(name=name, size=size) for name, size in sizes),
        mark=None if mark is None else Mark(name="reserve", at=mark),
    ),
    st.sampled_from(["tokens", "GiB"]),
    st.lists(st.tuples(NAMES, RANGES), min_size=1, max_size=30),
    st.none() | RANGES,
)


@pytest.fixture(scope="module")
def memory() -> Memory:
    """The memory of the story's plan, as it is committed."""
    folder = REPOSITORY / "profiles"
    inputs = Inputs(reader=DiskReader(folder), catalog=open_catalog(FolderReader(folder)))
    (judged,) = check_profiles((STORY,), inputs).judged
    assert judged.plan is not None
    assert judged.plan.memory is not None
    return judged.plan.memory


def test_the_bars_add_up_to_the_budgets(memory: Memory) -> None:
    """No line of a budget is left out of its bar, and the small ones are drawn together."""
    _, static, reserve = memory_bars(memory)
    assert static.size.best == pytest.approx(total(each.gib for each in memory.static).best)
    assert reserve.size.high == pytest.approx(total(each.gib for each in memory.reserve_lines).high)
    assert len(reserve.parts) < len(memory.reserve_lines)


def test_the_pool_is_held_against_the_promise(memory: Memory) -> None:
    """The first bar has the pool's range, and a mark at what the promise needs."""
    pool, _, _ = memory_bars(memory)
    assert pool.parts[0].size == memory.pool.tokens
    assert pool.mark is not None
    assert pool.mark.at == Range.exactly(memory.pool.required_tokens)


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(st.lists(BARS, min_size=1, max_size=3), st.integers(min_value=20, max_value=200))
def test_no_line_is_wider_than_the_terminal(bars: list[Bar], width: int) -> None:
    """The drawn rows and marks fit into any width from 20 on, whatever the figures are."""
    for line in drawing(bars, width=width, colour=False):
        if line.startswith("  |"):
            assert len(line) <= width
            assert line.count("|") >= 2
        elif not line.startswith(" "):
            assert len(line) <= max(width, NARROWEST) or " " not in line


def test_a_long_name_keeps_its_words_on_a_narrow_terminal() -> None:
    """Two parts that begin alike are told apart: the figures go below the name before any of it is cut."""
    names = ("captured graphs", "captured graphs of prefill steps")
    parts = tuple(Part(name=each, size=Range(0.37, 0.62, 0.91)) for each in names)
    lines = list(drawing((Bar(title="x", unit="GiB", parts=parts),), width=40, colour=False))
    assert lines[-4:] == [
        "  A captured graphs",
        "      0.62 (0.37 to 0.91)",
        "  B captured graphs of prefill steps",
        "      0.62 (0.37 to 0.91)",
    ]
    wide = list(drawing((Bar(title="x", unit="GiB", parts=parts),), width=80, colour=False))
    assert wide[-1] == "  B captured graphs of prefill steps 0.62 (0.37 to 0.91)"


def test_what_is_shared_out_is_known_better_than_its_parts() -> None:
    """Where one part has what the others leave, all end where the whole does; where a part of it is left over they do not."""
    parts = tuple(Part(name=each, size=Range(4, 5, 7)) for each in "ab")
    shared = Bar(title="x", unit="GiB", parts=parts, within=Range(9, 10, 11))
    assert shared.size == Range(9, 10, 11)
    assert evolve(shared, within=Range(19, 20, 21)).size == Range(8, 10, 14)


def test_certainty_shows_without_colour() -> None:
    """A capital is sure, a small letter likely, a dot possible, and a blank free."""
    bar = Bar(
        title="x",
        unit="GiB",
        parts=(Part(name="a", size=Range(40, 60, 80)),),
        mark=Mark(name="reserve", at=Range.exactly(100)),
    )
    row = next(line for line in drawing((bar,), width=104, colour=False) if "|" in line)
    cells = row.strip().strip("|")
    counted = {each: cells.count(each) for each in "Aa. "}
    share = {each: count / len(cells) for each, count in counted.items()}
    assert share["A"] == pytest.approx(0.4, abs=0.02)
    assert share["a"] == pytest.approx(0.2, abs=0.02)
    assert share["."] == pytest.approx(0.2, abs=0.02)
    assert share[" "] == pytest.approx(0.2, abs=0.02)


def test_colour_is_only_where_it_is_asked_for(memory: Memory) -> None:
    """Without colour there is no escape sequence; with it the same cells are drawn as blocks."""
    plain = "\n".join(drawing(memory_bars(memory), width=80, colour=False))
    painted = "\n".join(drawing(memory_bars(memory), width=80, colour=True))
    assert "\x1b" not in plain
    assert "\x1b[34m█" in painted
    assert len(re.sub(r"\x1b\[[0-9]*m", "", painted).split("\n")) == len(plain.split("\n"))


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.text())
def test_any_text_is_text_in_markup(text: str) -> None:
    """What an encoder made reads back as the same text, but for what XML cannot hold."""
    element = ET.fromstring(f'<a b="{markup_text(text)}">{markup_text(text)}</a>')
    shown = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    assert (element.text or "") == shown


@pytest.mark.parametrize(
    ("number", "text"), [(1.25, "1.2"), (-0.01, "0"), (760.0, "760"), (1e5, "100000")]
)
def test_a_length_is_written_to_a_tenth(number: float, text: str) -> None:
    """The same text whatever the last bits are, never an exponent or a negative zero."""
    assert markup_number(number) == text


def test_the_drawing_is_whole_and_runs_nothing(memory: Memory) -> None:
    """The SVG is XML with a title and a description, without scripts, links, or anything fetched."""
    text = render_picture(memory, title="memory of <it>")
    root = ET.fromstring(text)
    assert root.findtext(f"{SVG}title") == "memory of <it>"
    assert "200,005" in (root.findtext(f"{SVG}desc") or "")
    assert not re.search(r"<script|href|@import|url\((?!#)|onload", text)


def test_boxes_lie_end_to_end_inside_the_frame(memory: Memory) -> None:
    """No box begins before the one to its left ends, and none reaches beyond the frame."""
    root = ET.fromstring(render_picture(memory, title="x"))
    bars = root.findall(f"{SVG}g")
    assert bars
    for group in bars:
        frame = next(each for each in group.iter(f"{SVG}rect") if each.get("class") == "frame")
        boxes = [
            each
            for each in group.iter(f"{SVG}rect")
            if (each.get("class") or "").split(" ")[0] in ("sure", "likely", "possible")
        ]
        ends = [(float(each.get("x", "0")), float(each.get("width", "0"))) for each in boxes]
        assert all(a + wide <= b + 0.2 for (a, wide), (b, _) in pairwise(ends))
        assert (
            ends[-1][0] + ends[-1][1]
            <= float(frame.get("x", "0")) + float(frame.get("width", "0")) + 0.2
        )
        left = float((group.get("transform") or "").removeprefix("translate(").split()[0])
        assert left + float(frame.get("width", "0")) <= WIDTH - left


def test_each_bar_has_room_for_all_it_shows(memory: Memory) -> None:
    """The next bar begins below the last line of a bar's legend, and the last one's ends inside the drawing."""
    root = ET.fromstring(render_picture(memory, title="x"))
    tops = [_height_of(group) for group in root.findall(f"{SVG}g")]
    ends = [
        top
        + max(
            max((_height_of(entry) + 14 for entry in group.findall(f"{SVG}g")), default=0.0),
            *(float(text.get("y", "0")) for text in group.findall(f"{SVG}text")),
        )
        for top, group in zip(tops, root.findall(f"{SVG}g"), strict=True)
    ]
    assert all(
        end < top
        for end, top in zip(ends, [*tops[1:], float(root.get("height", "0"))], strict=True)
    )


def _height_of(moved: ET.Element) -> float:
    return float((moved.get("transform") or "").removesuffix(")").split()[1])


def test_the_command_draws_when_asked() -> None:
    """`check --bars` draws below the verdict; without it nothing is drawn."""
    plain = [*command(), "check", STORY]
    drawn = subprocess.run(
        [*plain, "--bars"],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "promised ^" in drawn.stdout
    quiet = subprocess.run(
        plain, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False
    )
    assert "promised ^" not in quiet.stdout
