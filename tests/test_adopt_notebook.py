"""Cells of a notebook, and blocks of a page that show a terminal or a script."""

from __future__ import annotations

import json

import pytest

from compiler.engines.adopting import ChangeKind
from launching import outcome, read_text


LAUNCH = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2"


def notebook(*cells: list[str]) -> str:
    """A notebook of cells of code, as it is written."""
    code = [{"cell_type": "code", "source": [f"{each}\n" for each in cell]} for cell in cells]
    whole = {"cells": [{"cell_type": "markdown", "source": [LAUNCH]}, *code], "nbformat": 4}
    return json.dumps(whole, indent=1)


@pytest.mark.parametrize(
    "cell",
    [
        [f"!{LAUNCH} &"],
        ["import os", "!nohup python -m sglang.launch_server \\", "  --model-path Qwen/Qwen3-8B --tp 2"],
        ["%%bash", f"nohup {LAUNCH} > log 2>&1 &"],
        ["%%writefile start.sh", "#!/bin/bash", LAUNCH],
        ["from sglang.utils import launch_server_cmd", f"launch_server_cmd('{LAUNCH}')"],
        ["%env MODEL=Qwen/Qwen3-8B", '!python -m sglang.launch_server --model-path "$MODEL" --tp 2'],
        ["tp = 2", "!python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp {tp}"],
        ["import subprocess", f"subprocess.Popen({LAUNCH.split()!r})"],
    ],
)  # fmt: skip
def test_a_cell_starts_a_server(cell: list[str]) -> None:
    """A line behind `!`, a cell of a shell, a script that a cell writes, and a program."""
    pip = ["!pip install sglang==0.5.9"]
    got = outcome(read_text(notebook(pip, cell), name="serve.ipynb"), version=None)
    said = dict(got.settings)
    names = ("model.id", "parallel.tensor", "engine.version")
    assert tuple(said.get(each) for each in names) == ("Qwen/Qwen3-8B", 2, "0.5.9")


def test_a_name_of_the_program_that_is_set_twice_stays_open() -> None:
    """As one does that is worked out."""
    cell = ["tp = 2", "tp = 4", "!python -m sglang.launch_server --model-path /m/a --tp {tp}"]
    got = outcome(read_text(notebook(cell), name="serve.ipynb"))
    assert "parallel.tensor" not in got.settings
    assert got.changes(ChangeKind.UNKNOWN)


@pytest.mark.parametrize("text", ["{}", "[1]", "no notebook", '{"cells": [1, {"source": 3}]}'])
def test_a_file_without_cells_of_code_is_said(text: str) -> None:
    """It is no fault of the reader."""
    got = read_text(text, name="serve.ipynb")
    (found,) = got.diagnostics
    assert found.summary == "no command in this notebook starts an engine that is known"
    assert found.notes == ("none of its cells does",)


@pytest.mark.parametrize(
    "block",
    [
        f"```\n# Launch the server of sglang\n{LAUNCH}\n```",
        f"```console\n{LAUNCH}\n```",
        f"```bash\n$ export A=1\n$ {LAUNCH}\n[gpu0] it starts\n```",
        f"```\nroot@node-1:/work# {LAUNCH}\nit is started\n```",
        f"```\n# python -m sglang.launch_server --model-path old --tp 8\n{LAUNCH}\n```",
        f"```\n# {LAUNCH}\n```",
    ],
)
def test_a_block_is_a_script_or_a_terminal(block: str) -> None:
    """By its prompts, and by what stands behind them."""
    said = dict(outcome(read_text(block, name="README.md")).settings)
    assert (said["model.id"], said["parallel.tensor"]) == ("Qwen/Qwen3-8B", 2)
