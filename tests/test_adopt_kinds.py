"""Kinds of files that hold launches: pages, Makefiles, templates, playbooks; and programs, which are not run."""

from __future__ import annotations

import time

import pytest

from compiler.adopt.files import FileKind, kind_of
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from launching import SERVER, Outcome, outcome, read_text


def adopted(text: str, name: str, **given: str) -> Outcome:
    return outcome(read_text(text, name=name, given=given), version=None)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("README.md", f"```sh\n{SERVER}\n```\n", FileKind.PAGE),
        ("Makefile", "serve:\n\tx\n", FileKind.MAKEFILE),
        ("serve.mk", "serve:\n\tx\n", FileKind.MAKEFILE),
        ("serve.py", "x = 1\n", FileKind.PROGRAM),
        ("serve", "#!/usr/bin/env python3\nx = 1\n", FileKind.PROGRAM),
        ("serve", "from sglang.utils import launch_server_cmd\n", FileKind.PROGRAM),
        ("serve", "import subprocess\n", FileKind.PROGRAM),
        ("serve.ps1", f"{SERVER} `\n", FileKind.PROGRAM),
        ("Dockerfile", "FROM lmsysorg/sglang:v0.5.9\n", FileKind.DOCKERFILE),
        ("serve", "FROM lmsysorg/sglang:v0.5.9\n", FileKind.DOCKERFILE),
        ("llm.service.j2", "[Service]\n", FileKind.UNIT),
        ("serve.sh.example", f"{SERVER}\n", FileKind.SCRIPT),
        ("compose.yaml.tmpl", "x: 1\n", FileKind.COMPOSE),
        ("serve", f"importer x\n{SERVER}\n", FileKind.SCRIPT),
    ],
)
def test_what_a_file_is(name: str, text: str, kind: FileKind) -> None:
    """The name says it, in a template the name in front of its ending; else the text."""
    assert kind_of(Source(name, text)) is kind


PAGE = f"""\
# Serving

Install it:

```bash
pip install sglang
echo "an open quote is none of ours
```

Then start it:

  ```console
  $ CUDA_VISIBLE_DEVICES=0,1 {SERVER} \\
      --model-path /m/a --tp 2
  INFO: started "it
  $ curl localhost
  ```
"""


def test_a_page() -> None:
    """Its blocks are read one by one: what no launch stands in says nothing against it, and what was printed is no command."""
    got = adopted(PAGE, "README.md")
    assert got.codes == []
    assert got.settings["gpus.indices"] == [0, 1]
    assert got.settings["parallel.tensor"] == 2
    assert got.adopted is not None
    assert got.adopted.launch.command.words[0].span is not None
    assert got.adopted.launch.command.words[0].span.line == 13


BLOCKS = {
    "yaml": ("yaml", f"services:\n  a:\n    command: {SERVER} --model-path /m/a --tp 2\n"),
    "ini": ("ini", f"[Service]\nExecStart=/usr/bin/env {SERVER} --model-path /m/a --tp 2\n"),
    "dockerfile": ("dockerfile", f"FROM x\nCMD {SERVER} --model-path /m/a --tp 2\n"),
    "none": ("", f"{SERVER} --model-path /m/a --tp 2\n"),
    "tildes": ("sh title=x", f"{SERVER} --model-path /m/a --tp 2\n"),
}


@pytest.mark.parametrize("way", BLOCKS)
def test_a_block_is_read_as_its_language(way: str) -> None:
    """What holds a launch may be a unit or a compose file, too."""
    language, text = BLOCKS[way]
    got = adopted(f"Text.\n\n~~~~{language}\n{text}~~~~\n", "README.md")
    assert got.settings["parallel.tensor"] == 2


def test_two_launches_of_a_page() -> None:
    """They are told apart by their lines, in one block or in two."""
    text = f"```sh\n{SERVER} --model-path /m/a\n```\n\n```sh\n{SERVER} --model-path /m/b\n```\n"
    got = outcome(read_text(text, name="a.md"), version=None)
    assert got.codes == ["launch-several"]
    assert "in this page" in got.found[0].summary
    chosen = outcome(read_text(text, name="a.md", line=6), version=None)
    assert chosen.settings["model.path"] == "/m/b"


MAKEFILE = f"""\
MODEL ?= /m/a
PORT := 8001
ARGS = --port $(PORT)
ARGS += --dtype bfloat16   # of half the size

ifdef DEBUG
LEVEL = debug
endif

.PHONY: build serve

build:
\tdocker build -t x .

serve: build
\t@echo "starting"
\t-CUDA_VISIBLE_DEVICES=2 {SERVER} \\
\t\t--model-path $(MODEL) $(ARGS) \\
\t\t$(if $(TP),--tp $(TP),) \\
\t\t--host $(or $(HOST),127.0.0.1) --log-level $(LEVEL) \\
\t\t--mem-fraction-static $(shell cat frac) --served-model-name "$$NAME" $(EXTRA)
"""


def test_a_makefile() -> None:
    """The recipe that holds the launch is read as a script, with the variables of make."""
    got = adopted(MAKEFILE, "Makefile")
    assert got.codes == []
    assert got.settings["model.path"] == "/m/a"
    assert got.settings["serve.port"] == 8001
    assert got.settings["flags.dtype"] == "bfloat16"
    assert got.settings["serve.host"] == "127.0.0.1"
    assert got.settings["gpus.indices"] == [2]
    assumed = "\n".join(got.changes(ChangeKind.ASSUMED))
    assert "`$(MODEL)` is taken to be `/m/a`, its default" in assumed
    assert "`$(TP)` is taken not to be set" in assumed
    assert "`$(HOST)` is taken not to be set" in assumed
    unknown = "\n".join(got.changes(ChangeKind.UNKNOWN))
    assert "`--mem-fraction-static $(shell cat frac)` is not known" in unknown
    assert "`--log-level ${LEVEL}` is not known" in unknown
    assert "`--served-model-name $NAME` is not known" in unknown
    assert "`${EXTRA}` may hold more flags" in unknown


def test_the_variables_of_make_are_given() -> None:
    """As `make NAME=value` sets them, before the Makefile's own."""
    got = adopted(MAKEFILE, "Makefile", MODEL="/m/b", TP="2", EXTRA="--trust-remote-code")
    assert got.settings["model.path"] == "/m/b"
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["model.trust_remote_code"] is True


@pytest.mark.parametrize(
    "model", ["$(A)", "$(word 1,$(A))", "$(call f,1,(2))", "$(foreach x,1 2,$(x))"]
)
def test_what_make_would_work_out(model: str) -> None:
    """Variables that name each other, and functions of make, are known at start only."""
    text = f"A = $(B)\nB = $(A)\nx:\n\t{SERVER} --model-path {model} --tp 2\n"
    got = adopted(text, "Makefile")
    assert got.codes == ["launch-incomplete"]
    assert got.settings["parallel.tensor"] == 2


@pytest.mark.parametrize("text", ["\tno target\n", "x: y\n", "A = $(B\n", "x:\n\techo $(A\n", "$"])
def test_a_makefile_without_a_launch(text: str) -> None:
    """A recipe without a target, and a bracket that is left open, are no launch."""
    got = adopted(text, "Makefile")
    assert got.codes == ["launch-missing"]


@pytest.mark.parametrize(
    ("name", "text", "language", "line"),
    [
        ("a.py", "import x\nx.run('sglang.launch_server', X)\n", "Python", 2),
        ("a.ps1", "$a = 1\npython -m sglang.launch_server `\n", "PowerShell", 2),
        ("a.bat", "python -m sglang.launch_server ^\n", "batch", 1),
        ("a", "import sglang as sgl\nllm = sgl.Engine(model_path='/m/a')\n", "Python", 1),
    ],
)
def test_a_program_is_not_run(name: str, text: str, language: str, line: int) -> None:
    """What it starts is known when it runs: how to adopt that is said."""
    (found,) = read_text(text, name=name).diagnostics
    assert found.code == "launch-unreadable"
    assert f"is a program in {language}" in found.summary
    assert found.primary is not None
    assert found.primary.span.line == line
    assert "/proc/PID/cmdline" in found.help[1]


PLAY = """\
- hosts: gpu
  vars: {tp: 2}
  tasks:
    - name: start
      %s
"""

TASKS = {
    "free form": f'ansible.builtin.command: {SERVER} --model-path "{{{{ model }}}}" --port 8001',
    "cmd": f"ansible.builtin.command: {{cmd: '{SERVER} --model-path {{{{ model }}}} --port 8001'}}",
    "shell": f"shell: nohup {SERVER} --model-path {{{{ model | quote }}}} --port 8001 &",
    "container": f"docker_container: {{image: 'lmsysorg/sglang:v0.5.9', command: '{SERVER} --model-path {{{{ model }}}} --port 8001', volumes: ['/srv/m:/m']}}",
}


@pytest.mark.parametrize("way", TASKS)
def test_a_playbook(way: str) -> None:
    """What a template leaves open is known at start only, wherever it stands; it is never taken for a value."""
    got = adopted(PLAY % TASKS[way], "play.yml")
    assert got.codes == ["launch-incomplete"]
    assert got.settings["serve.port"] == 8001
    assert any("--model-path {{ model" in each for each in got.changes(ChangeKind.UNKNOWN))
    assert "model=..." in "".join(got.found[0].help)
    if "quote" not in TASKS[way]:
        told = adopted(PLAY % TASKS[way], "play.yml", model="/m/a")
        place = "/srv/m/a" if way == "container" else "/m/a"
        assert told.settings["model.path"] == place


def test_a_template_of_a_unit() -> None:
    """Its words are split at blanks, also within what is to be filled in."""
    text = f"[Service]\nExecStart=/usr/bin/env {SERVER} --model-path /m/a --port {{{{ .Values.port }}}} --tp={{{{ tp }}}}\n"
    got = adopted(text, "a.service.j2")
    assert got.codes == []
    unknown = "\n".join(got.changes(ChangeKind.UNKNOWN))
    assert "`--port {{ .Values.port }}` is not known" in unknown
    assert "`--tp={{ tp }}` is not known" in unknown
    told = adopted(text, "a.service.j2", port="8001", tp="2")
    assert told.settings["serve.port"] == 8001
    assert told.settings["parallel.tensor"] == 2


@pytest.mark.parametrize(
    "text",
    [
        f'sbatch --gres=gpu:2 --wrap="{SERVER} --model-path /m/a --tp 2"\n',
        f'./worker start --subprocess "docker run lmsysorg/sglang:v0.5.9 {SERVER} --model-path /m/a --tp 2" --seed 1\n',
        f'pm2 start "{SERVER} --model-path /m/a --tp 2" --name llm\n',
    ],
)
def test_a_command_in_one_word(text: str) -> None:
    """Whatever program is given it, by an option that says so."""
    assert adopted(text, "launch.sh").settings["parallel.tensor"] == 2


def test_a_word_that_only_speaks_of_a_launch() -> None:
    """A message is none."""
    got = outcome(read_text(f'notify --message "{SERVER} --model-path /m/a"\n'), version=None)
    assert got.codes == ["launch-missing"]


@pytest.mark.parametrize(
    ("command", "is_other"),
    [
        ("sglang serve --model-path Tongyi-MAI/Z-Image-Turbo", True),
        ("sglang serve --model-path /m/FLUX.1-dev --port 8001", True),
        ("sglang serve --model-path /m/x --ulysses-degree=2", True),
        ("sglang serve --model-path /m/x --model-type diffusion", True),
        ("sglang serve --model-path Qwen/Qwen-Image --model-type llm", False),
        ("sglang serve --model-path google/diffusiongemma-26B-A4B-it", False),
        ("sglang serve --model-path Qwen/Qwen3-8B", False),
        (f"{SERVER} --model-path Tongyi-MAI/Z-Image-Turbo", False),
    ],
)
def test_a_server_for_images(command: str, *, is_other: bool) -> None:
    """`sglang serve` is two servers: one word on the one that is not judged, not one on each of its flags."""
    got = adopted(f"{command}\n", "launch.sh")
    assert ("launch-diffusion" in got.codes) is is_other


@pytest.mark.parametrize(
    ("front", "left"),
    [
        ("env -u A", {"B": "2"}),
        ("env --unset=A -u B", {}),
        ("env -i C=3", {"C": "3"}),
        ("env", {"A": "1", "B": "2"}),
    ],
)
def test_what_env_takes_away(front: str, left: dict[str, str]) -> None:
    """A variable that the server does not get is none of its own."""
    got = adopted(f"export A=1 B=2\n{front} {SERVER} --model-path /m/a\n", "launch.sh")
    env = {name[4:]: value for name, value in got.settings.items() if name.startswith("env.")}
    assert env == left


HARD = {
    "a page of many blocks": ("a.md", "```sh\nsglang\n```\n" * 20_000),
    "a fence that is none": ("a.md", f"```{'a' * 500_000}`\n"),
    "variables that multiply": (
        "Makefile",
        "".join(f"A{n} = $(A{n + 1})$(A{n + 1})$(A{n + 1})\n" for n in range(40)) + "A40 = sglang\nx:\n\t$(A0)\n",
    ),
    "a long recipe": ("Makefile", "x:\n" + "\techo\n" * 100_000),
    "brackets": ("Makefile", "A = sglang\nx:\n\t" + "$(" * 100_000 + "\n"),
}  # fmt: skip


@pytest.mark.parametrize("way", HARD)
def test_what_is_made_to_be_hard_takes_no_time(way: str) -> None:
    """Many parts, long ones, and what names itself are refused in words, and soon."""
    name, text = HARD[way]
    began = time.process_time()
    got = outcome(read_text(text, name=name), version=None)
    assert time.process_time() - began < 5
    assert got.codes == ["launch-missing"]
