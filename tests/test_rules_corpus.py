"""The rules of SGLang over 935 public launch commands: how often each speaks, so that a rule that refuses too much shows.

A command does not name its GPUs: each release is asked with one kind. `backend-gpu` speaks where a command was written for
another generation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from compiler.catalog import open_catalog
from compiler.engines.sglang.rules import all_rules
from compiler.predict import Question, make_predictor


COMMANDS = Path(__file__).parent / "data" / "launch-commands.jsonl"
CODES = frozenset(code for rule in all_rules() for code in rule.codes)
ENTRIES = {"module": ("python", "-m", "sglang.launch_server"), "serve": ("sglang", "serve")}
# The commands are of many GPUs, and judged on one.
_OF_GPU = frozenset({"backend-gpu", "gpu-too-old"})
MOST_REFUSED = 0.025
"""Share of the commands that may be refused for another reason than the generation of the GPU.

Two of them scale positions and lack the variable that the model's vendor sets with it: the file holds flags alone.
"""


def spoken(version: str, gpu: str) -> tuple[int, Mapping[str, int], int]:
    """The commands that the release's parser takes, how many of them get each code, and how many an error."""
    catalog = open_catalog()
    # Counted from the newest: the file has no sign for the oldest release.
    versions = catalog.versions("sglang")
    at = versions.index(version) - len(versions)
    predictor = make_predictor(catalog, engine="sglang", version=version)
    question = Question(gpu=gpu, count=8, engine="sglang", version=version)
    codes: Counter[str] = Counter()
    judged = refused = 0
    for line in COMMANDS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["accepted"][at] != "+":
            continue
        judged += 1
        found = predictor.predict([*ENTRIES[row["entry"]], *row["argv"]], question).diagnostics
        ours = [each for each in found if each.code in CODES]
        codes.update({each.code for each in ours})
        refused += any(each.is_error and each.code not in _OF_GPU for each in ours)
    return judged, codes, refused


@pytest.mark.parametrize(
    ("version", "gpu", "commands", "expected"),
    [
        (
            "0.5.11",
            "h200",
            566,
            {
                "backend-changed": 1,
                "backend-gpu": 30,
                "code-untrusted": 1,
                "context-beyond-model": 8,
                "draft-tokens-changed": 1,
                "gpu-too-old": 27,
                "group-tiles": 2,
                "mixed-chunk": 4,
                "state-slots": 3,
                "states-draft": 4,
            },
        ),
        pytest.param(
            "0.5.18",
            "b200",
            632,
            {
                "backend-changed": 1,
                "backend-gpu": 16,
                "backend-hybrid": 3,
                "code-untrusted": 1,
                "context-beyond-model": 8,
                "draft-tokens-changed": 1,
                "group-tiles": 2,
                "mixed-chunk": 4,
                "sparse-backend": 3,  # by `tilelang`, as their page has it for AMD
                "state-slots": 3,
            },
            marks=pytest.mark.slow,
        ),
    ],
)
def test_rules_speak_seldom(
    version: str, gpu: str, commands: int, expected: Mapping[str, int]
) -> None:
    """What people run is refused for a reason that was looked at: these codes, as often, and no other."""
    judged, codes, refused = spoken(version, gpu)
    assert judged == commands
    assert codes == expected
    assert refused <= MOST_REFUSED * judged
