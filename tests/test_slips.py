"""What newcomers to TOML write, and what they are told to write in its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from compiler.language.syntax import parse_toml
from compiler.source import Source
from deployments import check_text


SLIPS = [
    ("fraction = fit", '"fit"'),
    ("fraction = fit  # least", '"fit"'),
    ("x = True", "true"),
    ("x = FALSE", "false"),
    ("x = yes", "true"),
    ("fraction = 0,76", "0.76"),
    ("fraction = .76", "0.76"),
    ("fraction = 76%", "0.76"),
    ("context = 32,768", "32_768"),
    ("context = 32 768", "32_768"),
    ("context = 40k", "40_000"),
    ("port = 030000", "30000"),
    ("timeout = 30min", '"30min"'),
    ("version = 0.5.23", '"0.5.23"'),
    ("path = /srv/models/A", '"/srv/models/A"'),
    ("description = Kimi K2.6, one  # x", '"Kimi K2.6, one"'),
    ("list = [8, fit]", '"fit"'),
    ("list = [\n    1,\n    True,\n]", "true"),
    ("pair = { a = 1, b = fit }", '"fit"'),
]


@pytest.mark.parametrize(("text", "meant"), SLIPS)
def test_a_slip_is_told(text: str, meant: str) -> None:
    """The value that was meant is valid TOML, and the first of the help."""
    values, (fault,) = parse_toml(Source("p.toml", f"schema = 1\n{text}\n"))
    assert (values, fault.code) == (None, "toml-syntax")
    assert f"`{meant}`" in fault.help[0]
    assert tomllib.loads(f"x = {meant}")


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "a = 1 b = 2",
        'a = "x" y',
        "a == 3",
        "a = 40_",
        "a = 'b'c'",
        "a = [1 2]",
        "a = {",
        "a: 3",
    ],
)
def test_nothing_is_told_of_what_is_not_plain(text: str) -> None:
    """Advice that would not mend it is none."""
    _, (fault,) = parse_toml(Source("p.toml", f"schema = 1\n{text}\n"))
    assert fault.help == ()


@pytest.mark.parametrize(
    "value", ["0" * 5000, "a" * 5000, "1," + "000," * 2000, "0" + " " * 5000 + "x"]
)
def test_a_long_value_is_not_repeated(value: str) -> None:
    """It is refused like a short one, in a line."""
    _, (fault,) = parse_toml(Source("p.toml", f"schema = 1\na = {value}\n"))
    assert fault.code == "toml-syntax"
    assert all(len(each) < 200 for each in fault.help)


def test_a_secret_is_not_repeated() -> None:
    """The advice for a key has the rule alone."""
    _, (fault,) = parse_toml(Source("p.toml", "[env]\nHF_TOKEN = hf_abcdef\n"))
    assert fault.help == ("text stands in quotes",)


PROFILE = """\
schema = 1
[model]
id = "Qwen/Qwen3-8B"
path = "/srv/models/Qwen3-8B"
[engine]
name = "sglang"
version = "0.5.23"
[gpus]
kind = "h200"
count = 1
{gpus}
[parallel]
{parallel}
[serve]
{serve}
[memory]
{memory}
[targets.a]
kind = "systemd"
user = "sglang"
{target}
"""


@pytest.mark.parametrize(
    ("table", "line", "meant"),
    [
        ("serve", 'context = "40k"', "`40_000` or `40_960`"),
        ("serve", 'context = "32768"', "`32768`"),
        ("serve", 'context = "32,768"', "`32_768`"),
        ("serve", "context = 8192.0", "`8192`"),
        ("serve", 'port = "30000"', "`30000`"),
        ("memory", 'fraction = "0.76"', "`0.76`"),
        ("memory", 'fraction = "0,76"', "`0.76`"),
        ("memory", 'fraction = "76 %"', "`0.76`"),
        ("memory", 'kv_dtype = "fp8"', '`"fp8_e4m3"` or `"fp8_e5m2"`'),
        ("memory", 'kv_dtype = "FP8"', '`"fp8_e4m3"` or `"fp8_e5m2"`'),
        ("parallel", 'dp_attention = "True"', "`true`"),
        ("parallel", "dp_attention = 0", "`false`"),
        ("gpus", "indices = 0", "`[0]`"),
        ("gpus", 'indices = "0, 1"', "`[0, 1]`"),
        ("gpus", 'indices = ["0"]', "`0`"),
        ("target", "start_timeout = 600", '`"10min"`'),
        ("target", 'stop_timeout = "90"', '`"90s"`'),
        ("target", "unit = 5", '`"5"`'),
        ("serve", 'port = "http"', None),
        ("serve", "concurrency = true", None),
        ("target", "state_dir = 1", None),
    ],
)
def test_a_value_of_another_type(tmp_path: Path, table: str, line: str, meant: str | None) -> None:
    """Where it is plain what was meant, the help has the value to write, and that is accepted."""
    usual = {"serve": "context = 8192", "memory": "fraction = 0.8"}
    tables = dict.fromkeys(("gpus", "parallel", "serve", "memory", "target"), "") | usual

    def found(line: str) -> list[tuple[str, tuple[str, ...]]]:
        own = line if line.partition(" ")[0] in tables[table] else f"{tables[table]}\n{line}"
        checked = check_text(tmp_path / "profiles", PROFILE.format(**tables | {table: own}))
        codes = ("wrong-type", "bad-value")
        return [(each.code, each.help) for each in checked.all_diagnostics if each.code in codes]

    ((_, help_),) = found(line)
    assert help_ == (() if meant is None else (f"write {meant}",))
    if meant is not None and "[" not in line:
        assert found(f"{line.partition(' ')[0]} = {meant.split('`')[1]}") == []
