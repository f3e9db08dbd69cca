"""The extractor and the parser against the engine's own, in the wheel of each release that was read."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from compiler.catalog import open_catalog
from compiler.engines.sglang.arguments import Entry, Parsed, make_parser
from compiler.engines.sglang.extract import extract
from compiler.facts import Action, Flag, Release
from wheels import ask, commands, fetch_wheel, install_needed, plain, unpack


pytestmark = pytest.mark.slow

VERSIONS = open_catalog().versions("sglang")
COMMANDS = commands(Path(__file__).parent / "data" / "launch-commands.jsonl")
RANDOM_COMMANDS = 300

READERS = {
    "loads": "json",
    "json_list_type": "json-list",
    "human_readable_int": "int-with-suffix",
    "nullable_str": "text-or-none",
    "parse_cuda_graph_config_arg": "cuda-graph-config",
    "parse_cuda_graph_backend_arg": "cuda-graph-backend",
    None: "str",
}


@pytest.fixture(scope="module", params=VERSIONS)
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of each release."""
    return fetch_wheel(request.param, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def needed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every wheel needs beside it."""
    folder = tmp_path_factory.mktemp("needed")
    install_needed(folder)
    return folder


@pytest.fixture(scope="module")
def engine(wheel: Path, needed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel, ready to be asked."""
    folder = tmp_path_factory.mktemp("engine")
    unpack(wheel, folder)
    for each in needed.iterdir():
        (folder / each.name).symlink_to(each)
    return folder


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


@cache
def release_of(version: str) -> Release:
    release, faults = open_catalog().release("sglang", version)
    assert faults == ()
    assert release is not None
    return release


def test_the_shipped_table_is_what_the_wheel_says(wheel: Path) -> None:
    """Extracting the wheel gives the flags that the catalogue ships for the release, and nothing is left open."""
    extracted, faults = extract(wheel)
    assert faults == ()
    assert extracted is not None
    assert extracted.version == version_of(wheel)
    assert {flag.name: flag for flag in extracted.flags} == dict(
        release_of(extracted.version).flags
    )


def test_the_flags_are_those_of_the_parser(wheel: Path, engine: Path) -> None:
    """Names, setting, kind of value, number of values, choices, default and need are the real parser's, flag by flag."""
    actions, _ = ask(engine, ())
    real = {
        next(each for each in action["names"] if each.startswith("--")): action
        for action in actions
        if action["dest"] != "help"
    }
    flags = release_of(version_of(wheel)).flags
    assert set(flags) == set(real)
    assert {name: told(flag) for name, flag in flags.items()} == {
        name: asked(action) for name, action in real.items()
    }


def told(flag: Flag) -> dict[str, object]:
    """A flag as the table has it."""
    default: object = list(flag.default) if isinstance(flag.default, tuple) else flag.default
    return {
        "names": sorted(flag.spellings),
        "dest": flag.destination,
        "takes": flag.takes,
        "nargs": flag.nargs,
        "choices": sorted(flag.choices),
        "default": False if flag.effect is Action.TRUE and default is None else default,
        "required": flag.required,
    }


def asked(action: Mapping[str, Any]) -> dict[str, object]:
    """A flag as the parser has it. A default that is not set at all, for an old name of a flag, is none."""
    valueless = action["nargs"] == 0
    reader = READERS.get(action["type"], action["type"])
    return {
        "names": sorted(action["names"]),
        "dest": action["dest"],
        "takes": None if valueless else reader,
        "nargs": None if valueless or action["nargs"] is None else str(action["nargs"]),
        "choices": sorted(action["choices"] or ()),
        "default": None if action["default"] == "==SUPPRESS==" else action["default"],
        "required": action["required"],
    }


def test_every_public_command_is_read_as_the_engine_reads_it(wheel: Path, engine: Path) -> None:
    """Each command is accepted or refused as there, each setting has the value it has there, and the record is right."""
    version = version_of(wheel)
    parser = make_parser(release_of(version))
    _, answers = ask(engine, COMMANDS)
    # The record goes back from the newest release; 0.4.1 was read after it was made.
    place = VERSIONS.index(version) - len(VERSIONS)
    for command, answer in zip(COMMANDS, answers, strict=True):
        parsed = parser.parse(command["argv"], entry=Entry(command["entry"]))
        assert outcome(parsed) == answer.get("values"), (command["id"], answer, parsed.refusal)
        recorded = command["accepted"].rjust(len(VERSIONS), "?")[place]
        assert recorded in ("?", "+" if "values" in answer else "-"), command["id"]


def outcome(parsed: Parsed) -> object:
    return plain(parsed.values) if parsed.refusal is None else None


def test_random_commands_are_read_as_the_engine_reads_them(
    wheel: Path, engine: Path, tmp_path: Path
) -> None:
    """Beginnings of names, `=`, odd values, too many and too few of them, help, and files of settings."""
    version = version_of(wheel)
    release = release_of(version)
    parser = make_parser(release)
    drawn = list(random_commands(release, tmp_path))
    _, answers = ask(engine, [{"argv": argv, "entry": entry} for argv, entry in drawn])
    for (argv, entry), answer in zip(drawn, answers, strict=True):
        parsed = parser.parse(argv, entry=Entry(entry), read_config=read_config)
        assert outcome(parsed) == answer.get("values"), (argv, answer, parsed.refusal)


def read_config(path: str) -> str | None:
    file = Path(path)
    return file.read_text("utf-8") if file.is_file() else None


VALUES = (
    *("1", "-1", "0", "0.5", "-0.5", "1e3", "abc", "", "None", "true", "a=b", "x y", "--x y", "-"),
    *("16k", "1.5M", "4Ki", "1.5Ki", "-3k", " 7 ", "-abc", "auto", "tc_piecewise", "{}", "[1,2]"),
    *('{"a":1}', '{"decode":{"max_bs":3}}', '{"prefill":{"tc_compiler":"eager"}}', "NaN"),
    *('{"decode":{"backend":"tc_piecewise"}}', '{"lora_name":"a"}', "{bad}"),
    '{"lora_name":"a","lora_path":"b"}',
)
STRAYS = ("stray", "-h", "--help", "--h", "--foo", "-x", "--")
SETTINGS = ("true", "false", "1", "0.5", "auto", "null", "[1, 2]", "[]", "{a: 1}", "tcp")
STARTS = (
    ["m"],
    ["--model-type", "llm"],
    ["--model-type=auto"],
    ["--model-type", "no"],
    ["--model-type"],
)


def random_commands(release: Release, folder: Path) -> Iterator[tuple[list[str], str]]:
    """Command lines with their entry, the same for the same release."""
    draw = random.Random(release.version)
    names = [each for flag in release.flags.values() for each in flag.spellings]
    for number in range(RANDOM_COMMANDS):
        argv = [
            word for _ in range(draw.randint(0, 4)) for word in random_flag(draw, names, release)
        ]
        if draw.random() < 0.9:
            argv = draw.choice((["--model-path", "m", *argv], [*argv, "--model", "m"]))
        if draw.random() < 0.1:
            argv.insert(draw.randint(0, len(argv)), draw.choice(STRAYS))
        if draw.random() < 0.3:
            argv += random_config(draw, names, folder / f"{number}.{draw.choice(('yaml', 'txt'))}")
        entry = draw.choice(("module", "module", "serve"))
        if entry == "serve" and draw.random() < 0.3:
            argv = [*draw.choice(STARTS), *argv]
        yield argv, entry


def random_flag(draw: random.Random, names: list[str], release: Release) -> list[str]:
    """A flag, or the beginning of its name, with values that it may or may not take."""
    name = draw.choice(names)
    flag = release.flags[release.aliases.get(name, name)]
    if draw.random() < 0.3:
        name = name[: draw.randint(3, len(name))]
    if flag.takes is None and draw.random() < 0.9:
        return [name]
    count = 1 if flag.nargs is None else draw.choice((0, 1, 2, 3))
    count += draw.random() < 0.05
    values = [draw.choice((*flag.choices * 3, *VALUES, "1", "2", "30")) for _ in range(count)]
    if values and draw.random() < 0.3:
        return [f"{name}={values[0]}", *values[1:]]
    return [name, *values]


def random_config(draw: random.Random, names: list[str], path: Path) -> list[str]:
    """A file of settings, and the words that name it."""
    chosen = [draw.choice(names)[2:] for _ in range(draw.randint(0, 3))]
    keys = [each.replace("-", "_") if draw.random() < 0.2 else each for each in chosen]
    lines = [f"{key}: {draw.choice(SETTINGS)}" for key in dict.fromkeys(keys)]
    odd = draw.choice(("", "[1]", "a: [", "1: 2", "3"))
    path.write_text("\n".join(lines) if draw.random() < 0.9 else odd, encoding="utf-8")
    if draw.random() < 0.1:
        return [f"--config={path}"]
    return [draw.choice(("--config", "--config", "--confi")), str(path)]
