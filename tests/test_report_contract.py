"""The JSON of `--json`, against the contract other tools build on."""

from __future__ import annotations

import json

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from compiler.diagnostics import Label, Span, error, warning
from compiler.facts import Evidence
from compiler.judged import Judged, Verdict
from compiler.plan import Effective, Line, Memory, Option, Plan, Pool, Reserve, Variable
from compiler.profile import (
    CheckpointPath,
    Engine,
    Gpus,
    Model,
    Name,
    Profile,
    Serve,
    Text,
    Version,
)
from compiler.profile import Memory as MemorySettings
from compiler.ranges import Range
from compiler.report.contract import CheckJson, check_json, diagnostic_json
from compiler.unknown import Unknown


class JsonFile(SingleFileSnapshotExtension):
    """Goldens that other tools could read."""

    _write_mode = WriteMode.TEXT
    file_extension = "json"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The golden files of this module."""
    return snapshot.use_extension(JsonFile)


def label(line: int, text: str = "") -> Label:
    """A label in a profile."""
    return Label(Span(file="a.toml", line=line, column=2, end_line=line, end_column=7), text)


MEMORY = Memory(
    fraction=0.93,
    free_before_load_gib=Range(94.0, 94.05, 94.14),
    pool=Pool(
        required_tokens=200_005,
        request_tokens=200_005,
        tokens=Range(205_750.0, 205_751.0, 215_400.0),
        cell_bytes=77_184,
        cell_choices={77_184: "layer-scaled", 70_272: "not counted"},
        rest_gib=Range(14.79, 14.8, 14.81),
        evidence=Evidence.CARRIED,
        best_formula=("rest = 94.0 x 0.93 - 72.63",),
    ),
    static=(
        Line(item="weights", gib=Range.exactly(0.1 + 0.2), evidence=Evidence.CARRIED, formula="x"),
    ),
    reserve=Reserve(
        available_gib=Range.exactly(6.58),
        needed_gib=Range(4.0, 5.0, 6.600049),
    ),
    reserve_lines=(
        Line(item="logits", gib=Range(-0.00001, 0.5, 1.0), evidence=Evidence.ASSUMED, formula="y"),
    ),
    unpriced=("the vision tower's workspace",),
)


def plan(*, memory: Memory | None = MEMORY) -> Plan:
    """A plan with one option, one variable, one thing nobody described."""
    return Plan(
        profile_name="k2.6-200k",
        target_name="ct200",
        profile=Profile(
            model=Model(id=Text("moonshotai/Kimi-K2.6"), path=CheckpointPath("/srv/k26")),
            gpus=Gpus(kind=Text("rtx-pro-6000-blackwell"), count=8),
            engine=Engine(name=Name("sglang"), version=Version("0.5.11"), build=Name("ddtree")),
            serve=Serve(context=200_000),
            memory=MemorySettings(fraction=0.93),
        ),
        target=None,
        service=None,
        gpu=None,
        model=None,
        draft=None,
        release=None,
        command=("python", "-m", "sglang.launch_server"),
        options=(Option(flag="--tp-size", values=("8",), setting="parallel.tensor"),),
        environment=(Variable(name="NCCL_P2P_LEVEL", value="SYS", setting="env.NCCL_P2P_LEVEL"),),
        memory=memory,
        effective=None if memory is None else Effective(context=200_000, concurrency=1),
        unknowns=(
            Unknown(
                code="draft-unknown", name="d", setting="speculative.draft", missing="its layers"
            ),
        ),
        assumptions=("the build prices the draft",),
    )


def checked(*, planned: Plan | None = None) -> CheckJson:
    """A check of one profile."""
    found = error(
        "pool-too-small",
        "the pool is too small\x1b",
        label(1, "needs 5"),
        secondary=(label(2, "gives 4"), label(3)),
        notes=("why",),
        help=("do this", "or that"),
        path="memory.fraction",
    )
    judged = Judged(
        profile_name="k2.6-200k",
        target_name=None if planned is None else planned.target_name,
        verdict=Verdict.REFUSED,
        plan=planned,
        diagnostics=(found, found),
    )
    return check_json([warning("orphan", "nothing extends `base/old`")], judged=[judged])


def test_the_whole_contract(golden: SnapshotAssertion) -> None:
    """A planned profile gives every key of the contract, GiB in four decimals and tokens as whole numbers."""
    text = json.dumps(checked(planned=plan()), indent=2) + "\n"
    assert text == golden(name="planned")


def test_without_a_plan_every_key_is_there_and_empty() -> None:
    """A profile that could not be planned has its diagnostics, nulls and empty lists, and no key less."""
    (full,) = checked(planned=plan())["plans"]
    (empty,) = checked()["plans"]
    assert list(empty) == list(full)
    said = ("profile", "target", "verdict", "outcome", "refused_by", "diagnostics")
    assert {key: value for key, value in empty.items() if key not in said and value} == {}
    assert empty["diagnostics"] == full["diagnostics"] != []
    assert (empty["engine"], empty["pool"], empty["effective"]) == (None, None, None)


def test_without_a_memory_plan_the_command_is_still_there() -> None:
    """An unknown model leaves pool and budgets empty, and argv, environment and unknowns filled."""
    (entry,) = checked(planned=plan(memory=None))["plans"]
    assert (entry["pool"], entry["effective"], entry["fraction"]) == (None, None, None)
    assert (entry["static"], entry["reserve"]) == ([], [])
    assert entry["argv"] == ["python", "-m", "sglang.launch_server", "--tp-size", "8"]
    assert entry["env"] == {"NCCL_P2P_LEVEL": "SYS"}
    assert [each["name"] for each in entry["unknowns"]] == ["d"]


def test_the_primary_span_comes_first() -> None:
    """Spans are the primary one, then the secondary ones in their order, a missing label as an empty text."""
    found = error("x", "y", label(9, "here"), secondary=(label(1), label(5)))
    spans = diagnostic_json(found)["spans"]
    assert [each["line"] for each in spans] == [9, 1, 5]
    assert [each["label"] for each in spans] == ["here", "", ""]


def test_a_diagnostic_without_a_place_has_no_spans() -> None:
    """What points nowhere has an empty list of spans and a null path."""
    entry = diagnostic_json(warning("x", "y"))
    assert entry["spans"] == []
    assert entry["path"] is None


def test_verdicts_are_spelled_as_the_contract_has_them() -> None:
    """The verdicts, best to worst, are the four words of the contract."""
    assert [each.value for each in Verdict] == ["pass", "uncertain", "unknown", "refused"]
