"""The file of `--config` counts wherever a launch is read: by `predict`, and by `adopt`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compiler.cli.adopt import command as adopt
from compiler.cli.predict import command as predict


START = ["python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-32B"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cfg.yaml").write_text(
        "tp-size: 2\ncontext-length: 32768\nmem-fraction-static: 0.8\n", encoding="utf-8"
    )


def predicted(*words: str, version: str = "0.5.23") -> dict[str, Any]:
    """What `predict` prints of a command."""
    options = ["--json", "--gpu", "h100", "--count", "2", "--engine", version]
    done = CliRunner().invoke(predict, [*options, "--", *START, *words], standalone_mode=False)
    (plan,) = json.loads(done.stdout)["plans"]
    return dict(plan)


def context(*words: str) -> object:
    """The context that a command runs with."""
    return predicted(*words)["effective"]["context"]


@pytest.mark.parametrize("version", ["0.5.3", "0.5.11", "0.5.23"])
def test_a_file_counts_as_its_flags_do(version: str) -> None:
    """The verdict is that of the same flags on the command line."""
    flags = ["--tp-size", "2", "--context-length", "32768", "--mem-fraction-static", "0.8"]
    by_file, by_flags = (
        predicted(*each, version=version) for each in (("--config", "cfg.yaml"), flags)
    )
    assert by_file["pool"]["required_tokens"] < 32768
    for each in ("pool", "fraction", "effective", "outcome"):
        assert by_file[each] == by_flags[each]


def test_the_command_line_comes_after_the_file() -> None:
    """Where both set something, the command line counts, wherever it stands."""
    assert context("--config", "cfg.yaml", "--context-length", "16384") == 16384
    assert context("--context-length", "16384", "--config", "cfg.yaml") == 16384
    assert context("--config", "cfg.yaml") == 32768


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nope.yaml", "Config file not found: nope.yaml"),
        ("cfg.toml", "Config file must be YAML format, got: .toml"),
        ("odd.yaml", "unrecognized arguments: --no-such-flag 1"),
        ("folder.yaml", "`folder.yaml`, which `--config` names, is a directory"),
    ],
)
def test_a_file_that_the_engine_stops_at_is_refused(path: str, said: str) -> None:
    """With the engine's own words, where it has any that say it."""
    Path("odd.yaml").write_text("no-such-flag: 1\n", encoding="utf-8")
    Path("folder.yaml").mkdir()
    (found,) = predicted("--config", path)["diagnostics"]
    assert found["code"] == "command-refused"
    assert found["notes"][0] == said


def test_a_file_of_the_host_is_said_to_be_unread(tmp_path: Path) -> None:
    """An absolute path that is not here may be there, and what it sets is not known."""
    told = predicted("--config", f"{tmp_path}/etc/cfg.yaml", "--tp", "2")
    (said,) = [each for each in told["assumptions"] if "cfg.yaml" in each]
    assert said.endswith(
        "which `--config` names, is not here, and may be on the host: nothing of it counts here"
    )
    assert not any("cfg.yaml" in each for each in predicted("--tp", "2")["assumptions"])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("a pipe", "is no regular file"),
        ("too large", "is larger than a file of flags"),
        ("no text", "is no UTF-8 text"),
        ("a circle", "cannot be read here"),
    ],
)
def test_a_file_that_is_not_read_whole_counts_for_nothing(kind: str, said: str) -> None:
    """Of one that is cut off, half the flags would count; a pipe would be waited for. Why is said of each."""
    odd = Path("odd.yaml")
    if kind == "a pipe":
        os.mkfifo(odd)
    elif kind == "a circle":
        odd.symlink_to(odd)
    else:
        odd.write_bytes(b"\xff\n" if kind == "no text" else b"tp-size: 2\n" + b"#\n" * 2**19)
    told = predicted("--config", "odd.yaml", "--tp", "2")
    wanted = f"`odd.yaml`, which `--config` names, {said}: nothing of it counts here"
    assert wanted in told["assumptions"]


def test_a_value_of_a_file_is_told_with_its_file() -> None:
    """The parser names the flag; where the value stands and what it should be is said beside it."""
    Path("two.yaml").write_text("tp: two\n", encoding="utf-8")
    (found,) = predicted("--config", "two.yaml")["diagnostics"]
    assert "`--tp two` in `two.yaml`: `--tp-size` takes a whole number" in found["notes"]


def adopted(folder: str, *words: str) -> dict[str, Any]:
    """What `adopt --check` prints of a script in a folder."""
    Path(folder).mkdir(exist_ok=True)
    script = Path(folder) / "run.sh"
    script.write_text(f"#!/bin/sh\nexec {' '.join([*START, *words])}\n", encoding="utf-8")
    options = ["--check", "--json", "--gpu", "h100", "--engine", "0.5.23"]
    done = CliRunner().invoke(adopt, [*options, str(script)], standalone_mode=False)
    return dict(json.loads(done.stdout))


def test_an_adopted_launch_has_what_its_file_sets() -> None:
    """A relative path is one beside the file that holds the launch."""
    Path("deploy").mkdir()
    Path("cfg.yaml").rename("deploy/cfg.yaml")
    told = adopted("deploy", "--config", "cfg.yaml", "--context-length", "16384")
    (plan,) = told["plans"]
    assert (plan["effective"]["context"], plan["fraction"]) == (16384, 0.8)
    said = [each["text"] for each in told["changes"]]
    assert "`--config cfg.yaml` is left out: what the file sets stands in the profile" in said
    assert "`--context-length 32768` has no effect: `--context-length 16384` comes later" in said


def test_an_adopted_launch_says_which_file_was_not_read() -> None:
    """Whether it is on the host or nowhere."""
    for path in ("nope.yaml", "/no/such/cfg.yaml"):
        told = adopted("deploy", "--config", path, "--tp", "2")
        assert any(f"`{path}`, which `--config` names" in each["text"] for each in told["changes"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("cfg.toml", "", "Config file must be YAML format, got: .toml"),
        ("open.yaml", "tp: [1\n", "open.yaml is no YAML: "),
        ("folder.yaml", None, "`folder.yaml`, which `--config` names, is a directory"),
    ],
)
def test_an_adopted_launch_is_refused_for_a_file_that_the_engine_stops_at(
    name: str, text: str | None, said: str
) -> None:
    """As `predict` refuses it: nothing of such a launch starts."""
    place = Path("deploy") / name
    place.parent.mkdir()
    if text is None:
        place.mkdir()
    else:
        place.write_text(text, encoding="utf-8")
    (found,) = [
        each
        for each in adopted("deploy", "--config", name)["diagnostics"]
        if each["severity"] == "error"
    ]
    assert found["code"] == "launch-refused"
    assert found["notes"][0].startswith(said)


def test_a_file_of_keys_alone_stays_where_it_is() -> None:
    """It is what `secrets.api_key` names in a profile."""
    Path("keys.yaml").write_text("api-key: sk-0123456789abcdef\n", encoding="utf-8")
    script = Path("run.sh")
    words = [*START, "--config", str(Path("keys.yaml").resolve()), "--tp", "2"]
    script.write_text(f"exec {' '.join(words)}\n", encoding="utf-8")
    options = ["--gpu", "h100", "--engine", "0.5.23", str(script)]
    done = CliRunner().invoke(adopt, options, standalone_mode=False)
    assert "[secrets.api_key]" in done.stdout or "api_key = {" in done.stdout
    assert "keys.yaml" in done.stdout
    assert "0123456789abcdef" not in done.output


def test_a_profile_of_a_launch_stands_without_the_file() -> None:
    """What is written is compiled to the same, keys of the file and all, and a secret of it is written nowhere."""
    with Path("cfg.yaml").open("a", encoding="utf-8") as file:
        file.write("api-key: sk-0123456789abcdef\nenable-metrics: true\n")
    script = Path("run.sh")
    script.write_text(f"exec {' '.join([*START, '--config', 'cfg.yaml'])}\n", encoding="utf-8")
    options = ["--gpu", "h100", "--engine", "0.5.23", str(script)]
    done = CliRunner().invoke(adopt, options, standalone_mode=False)
    assert done.exit_code == 0
    assert "tensor = 2" in done.stdout
    assert "enable-metrics = true" in done.stdout
    assert "0123456789abcdef" not in done.output
