"""Launches that are written to be hard: each is read as its own program would, or refused at its line. Never slow, never a crash."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.adopt.launchfaults import MOST_WORDS
from compiler.adopt.reading import read_words
from compiler.cli.adopt import command
from compiler.cli.predict import command as predict
from compiler.engines.adopting import ChangeKind
from compiler.engines.sglang.extract.sources import open_tree
from launching import SERVER, outcome, read_text


S = "SECRETVALUE1234567890abcdef"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
MERGES = "a: &a {k: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [*{before}, *{before}], {name}: 1}}\n"
    for before, name in zip("abcdefghijklmnopqrstuvw", "bcdefghijklmnopqrstuvwx", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", f"{BOMB}services:\n  a:\n    command: *l\n", "starts an engine"),
        ("a.yaml", f"{MERGES}services:\n  a:\n    <<: *x\n    command: run\n", "starts an engine"),
        ("a.yaml", f"services:\n  a:\n    command: {'[' * 800}\n", "it nests too deep"),
        pytest.param("a.yaml", f"services:\n  a:\n    command: {'[' * 9000}\n", "it nests too deep", marks=pytest.mark.slow),
        ("a.yaml", "services: &s\n  a: *s\n", "an anchor stands for a part of itself"),
        ("a.sh", f"{'(' * 2000}{SERVER}{')' * 2000}\n", "it nests too deep"),
        ("a.sh", f"echo {'${a:-' * 2000}{'}' * 2000}\n{SERVER}\n", "it nests too deep"),
        ("a.sh", f"{SERVER} --model-path /m/a {'--tp 2 ' * 5_000}\n", "words; none has more than 2,000"),
        pytest.param("a.sh", f"{SERVER} --model-path /m/a {'--tp 2 ' * 50_000}\n", "words; none has more than 2,000", marks=pytest.mark.slow),
        ("a.sh", f"cat > x.txt <<'E'\n{SERVER} --model-path /m/a\nE\n", "starts an engine"),
        ("a.yaml", f"{BOMB}kind: Pod\nspec: *l\n", "starts an engine"),
        ("a.yaml", f"{MERGES}kind: Pod\nspec: *x\n", "starts an engine"),
        ("a.sh", f"f() {{ f; f; }}\ng() {{ f; f; f; }}\n{'g; ' * 500}\n", "starts an engine"),
        ("a.sh", f"{'if x; then A=$A$A; fi; ' * 140}\necho $A\n", "starts an engine"),
        ("a.sh", f"A=xxxxxxxxxx\n{'A=$A$A; ' * 40}\necho $A\n", "starts an engine"),
        ("a.sh", f"A=(x y)\n{'A=($A ${A[@]} ${A[@]}); ' * 60}\necho $A\n", "starts an engine"),
    ],
)  # fmt: skip
def test_what_is_made_to_be_hard_is_refused_soon(name: str, text: str, said: str) -> None:
    """Aliases that multiply, depth, and length are refused in words, and take seconds at most."""
    began = time.process_time()
    read = read_text(text, name=name)
    assert time.process_time() - began < 10
    (found,) = read.diagnostics
    assert said in found.summary
    assert found.code in {"launch-unreadable", "launch-missing"}


def test_a_launch_of_many_words_takes_no_time_of_its_square() -> None:
    """A flag that is given a thousand times is read within seconds."""
    words = f"{SERVER} --model-path /m/a {'--tp 2 ' * (MOST_WORDS // 2 - 3)}".split()
    read = read_words(words)
    began = time.process_time()
    assert outcome(read).settings["parallel.tensor"] == 2
    assert time.process_time() - began < 20


EXTENDS = """services:
  base:
    image: lmsysorg/sglang:v0.5.11
    entrypoint: ["python3", "-m", "sglang.launch_server"]
    environment: {A: "1", B: "1"}
    volumes: ["/m:/m"]
  big:
    extends: {service: base}
    environment: {B: "2"}
    volumes: ["/n:/n"]
    command: ["--model-path", "/m/b", "--tp", "2"]
"""


def test_a_service_that_extends_another() -> None:
    """Tables are merged key by key, lists are joined; the line of a service's name says which is meant."""
    got = outcome(read_text(EXTENDS, name="compose.yaml", line=7), version=None)
    wanted = {"model.path": "/m/b", "parallel.tensor": 2, "env.A": "1", "env.B": "2"}
    assert wanted.items() <= got.settings.items()
    volumes = [each for each in got.changes(ChangeKind.DROPPED) if "volumes" in each]
    assert len(volumes) == 1


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("{file: other.yaml, service: base}", "it stands in another file, `other.yaml`"),
        ("{service: nobody}", "there is no service `nobody`"),
        ("{service: big}", "it comes back to itself"),
    ],
)
def test_what_cannot_be_extended(told: str, said: str) -> None:
    """`launch-unreadable`, and the command of Compose that makes one file of all."""
    text = EXTENDS.replace("{service: base}", told)
    found = [each for each in read_text(text, name="compose.yaml").diagnostics if each.help]
    assert said in found[0].summary
    assert "docker compose config" in found[0].help[0]


def test_services_of_one_command_are_told_by_their_names() -> None:
    """Two services whose command is one anchor stand at two lines."""
    text = (
        f"x: &c {SERVER} --model-path /m/a\nservices:\n  a: {{command: *c}}\n  b: {{command: *c}}\n"
    )
    (found,) = read_text(text, name="compose.yaml").diagnostics
    assert found.primary is not None
    assert [found.primary.span.line, *(each.span.line for each in found.secondary)] == [3, 4]
    assert outcome(read_text(text, name="compose.yaml", line=4)).settings["model.path"] == "/m/a"


def test_a_template_s_instance_and_its_variables_can_be_given() -> None:
    """`--var i=NAME` is `%i`, and a variable that no file sets is taken as it is given."""
    text = "[Service]\nEnvironmentFile=/etc/s/%i.env\nExecStart=/v/bin/python -m sglang.launch_server --model-path /m/%i --tp $TP $MORE\n"
    files = {"/etc/s/big.env": "TP=4\n"}
    (found,) = read_text(text, name="s@.service", files=files).diagnostics
    assert found.help == ("say which instance: `--var i=NAME`",)
    given = {"i": "big", "MORE": "--page-size 16"}
    got = outcome(read_text(text, name="s@.service", files=files, given=given))
    wanted = {"model.path": "/m/big", "parallel.tensor": 4, "memory.page_size": 16}
    assert wanted.items() <= got.settings.items()


def test_a_script_uses_the_variables_it_is_started_with() -> None:
    """What a unit or a container sets, the `bash -c` in it knows."""
    unit = f"[Service]\nEnvironment=M=/m/a TP=4\nExecStart=/bin/bash -c 'exec {SERVER} --model-path $$M --tp $${{TP}}'\n"
    assert outcome(read_text(unit, name="a.service")).settings["parallel.tensor"] == 4
    docker = f'docker run -e M=/m/a lmsysorg/sglang:v0.5.11 bash -c "{SERVER} --model-path \\$M"\n'
    got = outcome(read_text(docker), version=None)
    assert got.settings["model.path"] == "/m/a"


def test_the_ways_to_write_a_container_are_one() -> None:
    """Switches in one word, values behind `=` or at once, and an entrypoint give the same profile as the plain words."""
    plain = f"docker run -i -t -p 80:80 -e A=1 -e B=2 lmsysorg/sglang:v0.5.11 {SERVER} --model-path /m/a --tp 2\n"
    others = (
        f"docker run -itp 80:80 -eA=1 --env=B=2 lmsysorg/sglang:v0.5.11 {SERVER} --model-path=/m/a --tp=2\n",
        "docker run -it -p=80:80 -e=A=1 --env B=2 --entrypoint python3 lmsysorg/sglang:v0.5.11 -m sglang.launch_server --model-path /m/a --tp 2\n",
        f"sudo podman container run -itp80:80 -eA=1 -eB=2 lmsysorg/sglang:v0.5.11 {SERVER} --model-path /m/a --tp-size 2\n",
        "docker run -itp80:80 -eA=1 -eB=2 lmsysorg/sglang:v0.5.11 --model-path /m/a --tp 2\n",
    )
    first = outcome(read_text(plain), version=None).settings
    assert (first["env.A"], first["env.B"], first["parallel.tensor"]) == ("1", "2", 2)
    assert [outcome(read_text(each), version=None).settings for each in others] == [first] * 4


def test_what_is_not_known_is_one_word() -> None:
    """A command substitution without quotes may hold blanks, which do not make flags of its words."""
    got = outcome(read_text(f"N=$(nvidia-smi -L | wc -l)\n{SERVER} --model-path /m/a --tp $N\n"))
    assert got.changes(ChangeKind.UNKNOWN) == [
        "2: `--tp $(nvidia-smi -L | wc -l)` is not known before the start"
    ]


def test_python_s_own_options_are_python_s() -> None:
    """`-X dev` has its value in a word of its own, which is no program."""
    got = outcome(read_text("/v/bin/python3 -u -X dev -m sglang.launch_server --model-path /m/a\n"))
    assert got.settings["engine.python"] == "/v/bin/python3"
    assert "1: `-u -X dev`, said to `python3`, is not carried" in got.changes(ChangeKind.DROPPED)


LEAKING: dict[str, tuple[str, str]] = {
    "flags": ("a.sh", f"{SERVER} --model-path /m/a --api-key {S} --admin-api-key={S} --ssl-keyfile-password '{S}'"),
    "JSON": ("a.sh", f"""{SERVER} --model-path /m/a --json-model-override-args '{{"api_key": "{S}"}}'"""),
    "a header": ("a.sh", f"""{SERVER} --model-path /m/a --extra-metric-labels '{{"x": "Bearer {S}"}}'"""),
    "an address": ("a.sh", f"{SERVER} --model-path https://me:{S}@host/m"),
    "variables": ("a.sh", f"export MY_TOKEN2={S} HFTOKEN={S} http_proxy=http://u:{S}@p:1\n{SERVER} --model-path /m/a"),
    "a default": ("a.sh", f"{SERVER} --model-path /m/a --api-key ${{K:-{S}}}"),
    "twice": ("a.sh", f"{SERVER} --model-path /m/a --api-key {S} {S} --bogus-token {S} --port {S}"),
    "an open quote": ("a.sh", f'{SERVER} --model-path /m/a --api-key "{S}'),
    "no launch": ("a.sh", f"run --api-key {S}"),
    "a container": ("a.sh", f"docker run -e API_KEY={S} -l token={S} --hf-token {S} x/sglang:v0.5.11 --model-path /m/a"),
    "compose": ("a.yaml", f"services:\n  a:\n    image: u:{S}@reg.io/sglang:v0.5.11\n    labels: {{token: {S}}}\n    environment: [DB_PASSWORD={S}]\n    command: {SERVER} --model-path /m/a\n"),
    "a unit": ("a.service", f"[Service]\nExecStartPre=/bin/curl -H 'Authorization: Bearer {S}' x\nExecStopPost=/bin/curl -u admin:{S} x\nExecStart=/v/bin/python -m sglang.launch_server --model-path /m/a\n"),
    "a quadlet": ("a.container", f"[Container]\nImage=x/sglang:v0.5.11\nExec={SERVER} --model-path /m/a\nPodmanArgs=--creds u:{S} --env=TOKEN={S}\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKING)
@pytest.mark.parametrize("options", [(), ("--check",), ("--json",), ("--check", "--json")])
def test_a_secret_is_printed_nowhere(
    name: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a launch is written in, no way of the verb shows its secrets, nor do they stand in the profile."""
    monkeypatch.chdir(tmp_path)
    file, text = LEAKING[name]
    Path(file).write_text(f"{text}\n", "utf-8")
    done = CliRunner().invoke(command, [*options, file], standalone_mode=False)
    assert done.exception is None, done.exception
    assert S not in done.output


GO = f"{SERVER} --model-path /m/a"
SHORT: dict[str, tuple[str, str]] = {
    "a default": ("run.sh", f'{GO} --api-key "${{KEY:-hunter2}}"'),
    "a default of a recipe": ("Makefile", f"KEY ?= hunter2\nrun:\n\t{GO} --api-key $(KEY)"),
    "a script that is cut short": ("run.sh", f'bash -c "echo hunter2 | login; {GO} --api-key hunter2 --tp"'),
    "another program's": ("run.sh", f"docker login -p hunter2 && {GO} --api-key hunter2"),
    "an abbreviation": ("run.sh", f"echo hunter2\n{GO} --api-ke hunter2 --tp x"),
    "a flag that is not there": ("run.sh", f"{GO} --admin-api-key hunter2 --bogus hunter2"),
    "a flag of another release": ("run.sh", f"{GO} --ssl-keyfile-password=hunter2"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("options", [("--check",), ("--check", "--json"), ("-o", "p.toml")])
def test_a_short_secret_is_printed_nowhere(
    name: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name says what it is, so that its length does not matter."""
    monkeypatch.chdir(tmp_path)
    file, text = SHORT[name]
    Path(file).write_text(f"{text}\n", "utf-8")
    front = ["--engine", "sglang@0.5.6", *options, file]
    done = CliRunner().invoke(command, front, standalone_mode=False)
    assert done.exception is None, done.exception
    assert "hunter2" not in done.output
    if name == "a default" and Path("p.toml").exists():
        assert "hunter2" not in Path("p.toml").read_text("utf-8")


@pytest.mark.parametrize(
    "words", ["--api-key hunter2", "--api-ke hunter2", "--api-key=q7", "--admin-api-key q7"]
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_prediction_prints_no_short_secret(words: str, options: tuple[str, ...]) -> None:
    """Nor is one of two letters, where the flag says what it is."""
    front = ["--gpu", "h200", "--count", "1", "--engine", "sglang@0.5.6", *options, "--"]
    launch = f"{SERVER} --model-path Qwen/Qwen3-8B {words}".split()
    done = CliRunner().invoke(predict, [*front, *launch], standalone_mode=False)
    assert done.exception is None, done.exception
    assert "hunter2" not in done.output
    assert "q7" not in done.output


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(
    "words", [f"--api-key {S} {S}", f"--apikey={S}", f"--api-key={S} --port {S}"]
)
def test_a_prediction_prints_no_secret(words: str, options: tuple[str, ...]) -> None:
    """Nor does `predict`, whatever the parser says against the words."""
    front = ["--gpu", "h200", "--count", "1", "--engine", "sglang@0.5.11", *options, "--"]
    launch = f"{SERVER} --model-path Qwen/Qwen3-8B {words}".split()
    done = CliRunner().invoke(predict, [*front, *launch], standalone_mode=False)
    assert done.exception is None, done.exception
    assert S not in done.output


def test_what_has_no_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device is no wheel; of a config, a boot, and stdin no more is read than one may be long."""
    monkeypatch.chdir(tmp_path)
    front = ["--gpu", "h200", "--count", "1", "--engine", "sglang@0.5.11"]
    behind = ["--", *f"{SERVER} --model-path Qwen/Qwen3-8B".split()]
    for option in ("--model-config", "--boot"):
        done = CliRunner().invoke(
            predict, [*front, option, "/dev/zero", *behind], standalone_mode=False
        )
        assert (done.exception, done.return_value) == (None, 1)
    tree, (found,) = open_tree(Path("/dev/zero"))
    assert (tree, found.code) == (None, "engine-unreadable")
    assert "it is no regular file" in found.summary


def test_a_flag_that_is_missing_behind_two_dashes(tmp_path: Path) -> None:
    """Its stand-in is a flag all the same: what the launch lacks is told, and not looked for without end."""
    script = tmp_path / "run.sh"
    script.write_text(f"{SERVER} --port 1 -- a b\n", "utf-8")
    result = CliRunner().invoke(command, [str(script)], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == 1


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    """It is no number that a shell counts with, and not known."""
    script = tmp_path / "run.sh"
    script.write_text(f"{SERVER} --model-path Qwen/Qwen3-8B --tp $(({'9' * 5000}))\n", "utf-8")
    result = CliRunner().invoke(command, [str(script)], standalone_mode=False)
    assert result.exception is None, result.exception
    assert "is not known before the start" in result.output


@pytest.mark.parametrize("options", [(), ("--overwrite",)])
def test_a_full_disk_leaves_what_was_there(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No part of a profile stays, under its name or beside it."""
    script, profile = tmp_path / "run.sh", tmp_path / "p.toml"
    script.write_text(f"{GO} --tp 2\n", "utf-8")
    if options:
        profile.write_text("before\n", "utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    monkeypatch.setattr(Path, "hardlink_to", full)
    given = [str(script), "--engine", "sglang@0.5.11", "-o", str(profile), *options]
    done = CliRunner().invoke(command, given, standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 5)
    assert "cannot be written: no space left on device" in done.output
    kept = {"run.sh", "p.toml"} if options else {"run.sh"}
    assert {each.name for each in tmp_path.iterdir()} == kept
    assert not options or profile.read_text("utf-8") == "before\n"


def test_a_circle_of_links_is_told_as_the_system_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Python 3.13 `pathlib` has words of its own for it, with a capital letter."""
    script, profile = tmp_path / "run.sh", tmp_path / "p.toml"
    script.write_text(f"{GO} --tp 2\n", "utf-8")

    def circle(*_: object, **__: object) -> None:
        raise RuntimeError("Symlink loop from 'p.toml'")

    monkeypatch.setattr("compiler.cli.newfile.write_whole", circle)
    given = [str(script), "--engine", "sglang@0.5.11", "-o", str(profile)]
    done = CliRunner().invoke(command, given, standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 5)
    assert "cannot be written: too many levels of symbolic links" in done.output


def test_a_profile_is_written_over_when_told_only(tmp_path: Path) -> None:
    """Also where the name is a link that leads nowhere."""
    script, profile = tmp_path / "run.sh", tmp_path / "p.toml"
    script.write_text(f"{GO} --tp 2\n", "utf-8")
    profile.symlink_to(tmp_path / "nowhere.toml")
    given = [str(script), "--engine", "sglang@0.5.11", "-o", str(profile)]
    done = CliRunner().invoke(command, given, standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 1)
    done = CliRunner().invoke(command, [*given, "--overwrite"], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0)
    assert profile.is_symlink()
    assert "tensor = 2" in (tmp_path / "nowhere.toml").read_text("utf-8")
