"""The file of `--config`: read where it is here or the script writes it, and said where it is not."""

from __future__ import annotations

import pytest

from compiler.adopt.adopted import adopt
from compiler.adopt.around import Wanted
from compiler.adopt.choice import Shelf
from compiler.adopt.leftopen import open_settings
from compiler.cli.namedfiles import text_beside
from launching import NAMES, SHELF, read_text


CONFIG = "model-path: /m/a\ntensor-parallel-size: 2\n"
SERVER = "python -m sglang.launch_server"


def settings_of(text: str, *, name: str = "launch.sh") -> tuple[dict[str, object], list[str]]:
    """The settings of a launch, and what it leaves open; no file is beside it."""
    read = read_text(text, name=f"/nowhere/{name}")
    assert read.launch is not None
    shelf = Shelf(catalog=SHELF.catalog, read_file=text_beside(read.launch, written=read.written))
    got, faults = adopt(read.launch, shelf, Wanted(engine=("sglang", "0.5.11")), names=NAMES)
    assert got is not None, faults
    return {".".join(each.path): each.value for each in got.settings}, [
        text for text, _ in open_settings(got)
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"cat > c.yaml << EOF\n{CONFIG}EOF\n{SERVER} --config c.yaml\n", "launch.sh"),
        (f"```bash\ncat > c.yaml <<'EOF'\n{CONFIG}EOF\n{SERVER} --config c.yaml\n```\n", "page.md"),
    ],
)
def test_a_file_that_the_script_writes(text: str, name: str) -> None:
    """What it sets counts as if it stood in the launch."""
    settings, left = settings_of(text, name=name)
    assert (settings["model.path"], settings["parallel.tensor"], left) == ("/m/a", 2, [])


@pytest.mark.parametrize("path", ["c.yaml", "/etc/llm/c.yaml"])
def test_a_file_that_is_not_here(path: str) -> None:
    """It is left open, with how to make it known; memory is not judged, and a model is asked for."""
    settings, (left,) = settings_of(f"{SERVER} --config {path} --tp 2\n")
    assert settings["parallel.tensor"] == 2
    assert left.startswith(
        "`--config` is known at start only, and memory is not judged before: put a copy of"
    )
    assert path in left


def test_a_file_with_a_part_that_is_open() -> None:
    """Of one whose text hangs on the start nothing is taken."""
    text = f"cat > c.yaml <<EOF\nmodel-path: $MODEL\nEOF\n{SERVER} --config c.yaml\n"
    _, left = settings_of(text)
    assert len(left) == 1
