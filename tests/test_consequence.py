"""What a new generation changes for the running service: decided from what the files mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.consequence import Action, Consequence, decide
from compiler.plan import Option, Plan, Variable
from compiler.render import render_target
from examples import examples
from nasty import texts
from plans import story_plan


UNIT = "kimi-k2.6.service"
FOLDER = Path(__file__).parent.parent / "out/k2.6-200k/ct200"
FILES = {each.name: each.read_bytes() for each in FOLDER.iterdir()}


def rendered(plan: Plan) -> Mapping[str, bytes]:
    """The files of a plan."""
    return {each.path: each.text.encode() for each in render_target(plan)}


def changed(old: str, new: str, *, file: str = UNIT) -> Consequence:
    """What a replacement in one of the files needs."""
    assert old.encode() in FILES[file]
    return decide(
        FILES, {**FILES, file: FILES[file].replace(old.encode(), new.encode())}, unit=UNIT
    )


def test_the_same_is_no_change() -> None:
    """Equal files need nothing, by either name of the unit."""
    assert decide(FILES, FILES, unit=UNIT) == Consequence(action=Action.NOTHING)
    assert decide(FILES, dict(FILES), unit="kimi-k2.6") == Consequence(action=Action.NOTHING)


def plan_for(version: str, build: str | None = None) -> Mapping[str, bytes]:
    """The files with a plan for a release."""
    engine = {"name": "sglang", "version": version, "build": build}
    plan = {"schema": 1, "targets": {}, "engine": engine}
    return {**FILES, "plan.json": json.dumps(plan).encode()}


def test_another_engine_behind_the_same_unit_needs_a_restart() -> None:
    """The unit may be the same to the byte: what runs is the engine it was started from."""
    change = decide(plan_for("0.5.10"), plan_for("0.5.11"), unit=UNIT)
    assert change == Consequence(
        action=Action.RESTART,
        reasons=(
            "the engine changed from `sglang 0.5.10` to `sglang 0.5.11`; the one that is installed is what starts",
        ),
    )
    built = decide(plan_for("0.5.11"), plan_for("0.5.11", "ddtree"), unit=UNIT)
    assert built.action is Action.RESTART
    assert decide(plan_for("0.5.11"), plan_for("0.5.11"), unit=UNIT).action is Action.NOTHING
    # What no plan tells is no difference.
    assert decide(FILES, plan_for("0.5.11"), unit=UNIT).action is Action.NOTHING


def test_the_first_generation_is_started() -> None:
    """With nothing before it there is everything to start."""
    assert decide(None, FILES, unit=UNIT).action is Action.RESTART


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Generated from", "# Made from"),
        ("Type=exec\n", "\n  Type = exec  \n"),
        (
            "LimitMEMLOCK=infinity\nLimitNOFILE=65536\n",
            "LimitNOFILE=65536\nLimitMEMLOCK=infinity\n",
        ),
        ("  --port 30000 \\\n", '   "--port" \\\n # a remark\n  3\\x30000 \\\n'),
        ("Type=exec\n", "Type=exec\nX-Mine=1\n"),
        ("WorkingDirectory=/\n", "WorkingDirectory=/x\nWorkingDirectory=\nWorkingDirectory=/\n"),
        ("[Install]", "[X-Poolproof]\nMade=today\n[Install]"),
    ],
)
def test_what_says_the_same_is_no_change(old: str, new: str) -> None:
    """Remarks, blanks, quotes, the order of settings, and what systemd ignores say nothing."""
    assert changed(old, new) == Consequence(action=Action.NOTHING)


def test_the_order_of_flags_says_nothing() -> None:
    """A flag may stand elsewhere, and its value behind an equals sign."""
    unit = FILES[UNIT].replace(b"  --port 30000 \\\n", b"")
    moved = unit.replace(b"  --enable-metrics\n", b"  --enable-metrics --port=30000\n")
    assert moved.count(b"--port") == 1
    assert decide(FILES, {**FILES, UNIT: moved}, unit=UNIT) == Consequence(action=Action.NOTHING)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("--port 30000", "--port 30001", "`--port` changed from `30000` to `30001`"),
        ("  --enable-metrics\n", "  --enable-cache\n", "`--enable-metrics` is gone"),
        ("  --port 30000 \\\n", "  --port 30000 --x \\\n", "`--x` is new"),
        ("  --port 30000 \\\n", "  --port 30000 --x y \\\n", "`--x` is new: `y`"),
        ("--port 30000", "--port 30000 --port 3", "`--port` changed from `30000` to `30000, 3`"),
        (
            "-m sglang.launch_server",
            "-m sglang.other",
            "the words of `ExecStart` changed from `-m sglang.launch_server` to `-m sglang.other`",
        ),
        ("ExecStart=:/opt", "ExecStart=/opt", "`ExecStart` changed from `:/opt/sglang/bin/python`"),
        ("User=sglang", "User=root", "`User` changed from `sglang` to `root`"),
        ("User=sglang\n", "", "`User` is gone"),
        ("LimitNOFILE=65536", "LimitNOFILE=1", "`LimitNOFILE` changed from `65536` to `1`"),
        ("Type=exec", "Type=exec\nSomeNewKey=1", "`SomeNewKey` is new: `1`"),
        ("Type=exec", "Type=exec\nEnvironment=A=1", "`A` is new: `1`"),
        ("[Install]", "[Mount]\nWhat=x\n[Install]", "`What` is new: `x`"),
        ("ExecStart=:", "ExecStartPre=/bin/true\nExecStart=:", "the commands of `ExecStartPre`"),
    ],
)
def test_what_needs_a_restart(old: str, new: str, reason: str) -> None:
    """What the running process was started with, and every setting that nobody knows better of."""
    change = changed(old, new)
    assert change.action is Action.RESTART
    assert change.reasons[0].startswith(reason)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Description=Kimi", "Description=kimi"),
        ("StartLimitBurst=3", "StartLimitBurst=4"),
        ("RestartSec=30s", "RestartSec=31s"),
        ("TimeoutStopSec=2min", "TimeoutStopSec=3min"),
        ("WantedBy=multi-user.target", "WantedBy=default.target"),
        ("--required-tokens 200005", "--required-tokens 200006"),
        ("After=network-online.target", "After=network-online.target remote-fs.target"),
    ],
)
def test_what_a_reload_applies(old: str, new: str) -> None:
    """Settings that systemd looks up when it needs them leave the server running."""
    assert changed(old, new).action is Action.RELOAD


def test_the_environment() -> None:
    """A variable is told by its name, wherever it stands in the file; its comments are nothing."""
    change = changed("SYS", "PHB", file="kimi-k2.6.env")
    assert change == Consequence(
        action=Action.RESTART, reasons=("`NCCL_P2P_LEVEL` changed from `SYS` to `PHB`",)
    )
    env = FILES["kimi-k2.6.env"]
    assert decide(FILES, {**FILES, "kimi-k2.6.env": env + b"# x\nA=1\n"}, unit=UNIT).reasons == (
        "`A` is new: `1`",
    )
    assert decide(FILES, {**FILES, "kimi-k2.6.env": b"\n; y\n" + env}, unit=UNIT).reasons == ()
    without = {name: file for name, file in FILES.items() if name != "kimi-k2.6.env"}
    assert decide(FILES, without, unit=UNIT).reasons == ("`NCCL_P2P_LEVEL` is gone",)


def test_a_secret_is_never_told() -> None:
    """What looks like a secret is said to have changed, and no more."""
    for change in (
        changed('NCCL_P2P_LEVEL="SYS"', 'HF_TOKEN="sesame-opens"', file="kimi-k2.6.env"),
        changed("--port 30000", "--port 30000 --api-key sesame-opens"),
        changed("--port 30000", "--port 30000 --x=sk-sesameopens1234"),
        changed("Type=exec", "Type=exec\nEnvironment=DB_PASSWORD=sesame-opens"),
    ):
        assert change.action is Action.RESTART
        assert "sesame" not in "".join(change.reasons)
        assert any("is not shown" in each for each in change.reasons)


def test_the_probe() -> None:
    """A probe that does something else is told and needs no restart; its remarks are nothing."""
    probe = FILES["ready.py"]
    other = probe.replace(b"POLL_S = 1.0", b"POLL_S = 2.0")
    assert decide(FILES, {**FILES, "ready.py": other}, unit=UNIT).action is Action.RELOAD
    remarks = b"# first\n" + probe.replace(b"  # between two questions", b"")
    assert decide(FILES, {**FILES, "ready.py": remarks}, unit=UNIT).action is Action.NOTHING
    broken = {**FILES, "ready.py": b"def\0"}
    assert decide(FILES, broken, unit=UNIT).action is Action.RELOAD


def test_what_only_people_read_is_no_change() -> None:
    """The plan, its review and the launch script are not what runs."""
    extra = {**FILES, "plan.json": b"{}", "PLAN.md": b"x", "launch.sh": b"#!/bin/sh\n"}
    assert decide(FILES, extra, unit=UNIT).action is Action.NOTHING


def test_a_command_that_cannot_be_read() -> None:
    """Of a line with an open quote nothing is known, so any difference counts."""
    units = [
        FILES[UNIT].replace(b"ExecStart=", b'ExecStart="/x %s' % end, 1) for end in (b"a", b"b")
    ]
    files = [{**FILES, UNIT: each} for each in units]
    assert decide(files[0], files[1], unit=UNIT).action is Action.RESTART
    assert decide(files[0], dict(files[0]), unit=UNIT).action is Action.NOTHING


def test_what_needs_a_restart_is_told_first() -> None:
    """Reasons stand in the order of what they take."""
    unit = (
        FILES[UNIT]
        .replace(b"Description=Kimi", b"Description=x")
        .replace(b"User=sglang", b"User=y")
    )
    change = decide(FILES, {**FILES, UNIT: unit}, unit=UNIT)
    assert [each.split("`")[1] for each in change.reasons] == ["User", "Description"]


@pytest.mark.parametrize("damage", [b"[Service\nType=x\n", b"\xff\n", b""])
def test_a_unit_that_cannot_be_read(damage: bytes) -> None:
    """A running service whose old unit is damaged is restarted rather than guessed at."""
    assert decide({**FILES, UNIT: damage}, FILES, unit=UNIT).action is Action.RESTART
    assert (
        decide({**FILES, UNIT: damage}, {**FILES, UNIT: damage}, unit=UNIT).action is Action.NOTHING
    )


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(values=st.lists(texts, min_size=2, max_size=6))
def test_any_change_of_a_word_or_a_variable_is_seen(values: list[str]) -> None:
    """Of two plans that differ in one value the second needs a restart; the same plan again needs nothing."""
    flags = tuple(
        Option(flag=f"--t{n}", values=(text,), setting="flags.x")
        for n, text in enumerate(values)
        if not text.startswith("--")
    )
    variables = tuple(
        Variable(name=f"T_{n}", value=text, setting="env.x") for n, text in enumerate(values)
    )
    plan = story_plan(options=(*story_plan().options, *flags), environment=variables)
    files = rendered(plan)
    assert decide(files, rendered(plan), unit=UNIT).action is Action.NOTHING
    for each in variables:
        other = evolve(each, value=each.value + "x")
        rest = tuple(one for one in variables if one is not each)
        change = decide(files, rendered(evolve(plan, environment=(*rest, other))), unit=UNIT)
        assert change.action is Action.RESTART
    for flag in flags:
        other_flag = evolve(flag, values=(flag.values[0] + "x",))
        options = tuple(other_flag if one is flag else one for one in plan.options)
        change = decide(files, rendered(evolve(plan, options=options)), unit=UNIT)
        assert change.action is Action.RESTART
