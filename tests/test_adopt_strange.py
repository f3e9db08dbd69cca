"""Launches of other engines: each form is told whose it is and which engine is read here, and nothing of it is a launch."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import cast

import pytest
from click.testing import CliRunner

from compiler.adopt.strange import IS_STRANGE
from compiler.cli.predict import command as predict
from compiler.engines.engine import Engine
from compiler.engines.known import ENGINES
from compiler.engines.strangers import strange_image, strange_program
from launching import SERVER, outcome, read_text
from other_engine import OtherEngine


FLAGS = "--model Qwen/Qwen3-8B --max-model-len 8192"
SERVICE = "services:\n  llm:\n    image: {image}\n{more}"
POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:latest
    args: [--model, Qwen/Qwen3-8B]
"""
FORMS = {
    "a script": ("run.sh", f"exec vllm serve {FLAGS}\n"),
    "a module": ("run.sh", f"python -m vllm.entrypoints.openai.api_server {FLAGS}\n"),
    "a file of it": ("run.sh", f"python3 /opt/vllm/entrypoints/openai/api_server.py {FLAGS}\n"),
    "a script in a word": ("run.sh", f"tmux new -d 'vllm serve {FLAGS}'\n"),
    "a container": ("run.sh", f"docker run --gpus all vllm/vllm-openai:latest {FLAGS}\n"),
    "a unit": ("llm.service", f"[Service]\nExecStart=/opt/v/bin/vllm serve {FLAGS}\n"),
    "flags alone": (
        "compose.yaml",
        SERVICE.format(image="vllm/vllm-openai:v0.10.0", more=f"    command: {FLAGS}\n"),
    ),
    "nothing but an image": (
        "compose.yaml",
        SERVICE.format(image='"docker.io/vllm/vllm-openai"', more=""),
    ),
    "a service beside": (
        "compose.yaml",
        SERVICE.format(image="rocm/vllm-dev:main", more="  ui:\n    image: ui\n    command: a b\n"),
    ),
    "a Dockerfile": ("Dockerfile", f"FROM vllm/vllm-openai:v0.9.0\nCMD {FLAGS.split()}\n"),
    "an image built on it": ("Dockerfile", "FROM --platform=linux/amd64 vllm/vllm-openai\n"),
    "a quadlet": ("llm.container", f"[Container]\nImage=vllm/vllm-openai\nExec={FLAGS}\n"),
    "a manifest": (
        "pod.yaml",
        POD,
    ),
}


@pytest.mark.parametrize(("name", "text"), FORMS.values(), ids=FORMS)
def test_a_launch_of_another_engine(name: str, text: str) -> None:
    """`launch-missing`: whose launch it is, which engine is read here, and how the model comes there."""
    read = read_text(text, name=name)
    (found,) = read.diagnostics
    assert read.launch is None
    assert found.code == "launch-missing"
    assert "vLLM" in found.summary
    assert found.summary.endswith(IS_STRANGE)
    assert all(f"`{each}`" in found.notes[0] for each in ENGINES["sglang"].launches)
    assert "of each flag of vLLM" in found.help[0]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (f"python -m vllm.entrypoints.openai.api_server {FLAGS}", "vLLM"),
        (f"docker run --gpus all vllm/vllm-openai:latest {FLAGS}", "vLLM"),
        ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m a.gguf", "llama.cpp"),
        ("llama-server -m a.gguf", "llama.cpp"),
        ("text-generation-launcher --model-id a", "Text Generation Inference"),
        ("ollama serve", "Ollama"),
        ("trtllm-serve a", "TensorRT-LLM"),
        ("lmdeploy serve api_server a", "LMDeploy"),
    ],
)
def test_a_pasted_launch_of_another_engine(words: str, name: str) -> None:
    """`command-refused`: `predict` says it in the same words, and repeats none of the command's values."""
    told = ["--gpu", "h200", "--", *words.split(), "--api-key", "hunter2hunter2"]
    said = " ".join(CliRunner().invoke(predict, told, standalone_mode=False).output.split())
    assert f"{name}, {IS_STRANGE}" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "vllm serve Qwen/Qwen3-8B --port 1",
            "write `--model-path Qwen/Qwen3-8B` and its flags behind",
        ),
        ("/opt/bin/vllm serve /srv/m --port 1", "write `--model-path /srv/m` and its flags behind"),
        ("vllm serve --model Qwen/Qwen3-8B", "write its flags behind"),
        ("vllm serve", "write its flags behind"),
        ("vllm serve sk-proj-abcdefghijklmnopqrstuvwxyz0123456789", "write its flags behind"),
        ("python -m vllm.entrypoints.openai.api_server --model a", "write its flags behind"),
    ],
)
def test_a_model_that_stands_behind_no_flag_there(words: str, told: str) -> None:
    """What is a word of its own for the other engine needs a flag here, in a pasted command and in a script."""
    said = CliRunner().invoke(
        predict, ["--gpu", "h200", "--", *words.split()], standalone_mode=False
    )
    assert told in " ".join(said.output.split())
    (found,) = read_text(f"{words}\n").diagnostics
    assert told in found.help[0]


@pytest.mark.parametrize("more", ["", "--max-model-len 8192"])
def test_a_model_behind_no_flag_of_ours(more: str) -> None:
    """A command that was half rewritten is told the flag of its model, and that is all that is said of the model."""
    words = f"{SERVER} Qwen/Qwen3-8B {more}"
    told = ["--gpu", "h200", "--engine", "0.5.23", "--", *words.split()]
    said = " ".join(CliRunner().invoke(predict, told, standalone_mode=False).output.split())
    assert "`Qwen/Qwen3-8B`: write `--model-path Qwen/Qwen3-8B`" in said
    got = outcome(read_text(f"{words}\n"))
    assert "launch-incomplete" not in got.codes
    (lost,) = [each for each in got.found if each.code == "launch-lost"]
    assert lost.help == ("write `--model-path Qwen/Qwen3-8B`",)


@pytest.mark.parametrize(
    "text",
    [
        'echo "vllm serve is gone"\n',
        'pkill -f "vllm serve"\n',
        "vllm bench serve\n",
        "pip install vllm\n",
        "docker run me/not-vllm-at-all --a b\n",
        "docker pull vllm/vllm-openai\n",
    ],
)
def test_what_only_speaks_of_another_engine(text: str) -> None:
    """What is printed, looked for, installed, or measured with starts no server."""
    (found,) = read_text(text).diagnostics
    assert found.code == "launch-missing"
    assert IS_STRANGE not in found.summary


def test_a_launch_beside_another_engines() -> None:
    """A script that starts ours as well has a launch."""
    read = read_text(f"vllm serve a &\n{SERVER} --model-path /m/a\n")
    assert outcome(read).codes == []


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        ("host:5000/team/vllm:x@sha256:0", "host:5000/team/vllm"),
        ("docker://vllm/vllm-openai:x", "vllm/vllm-openai"),
        ("vllm", "vllm"),
        ("lmsysorg/sglang:v0.5.9", None),
        ("novllm/vllmish", None),
        ("https://a:b@vllm/vllm", None),
    ],
)
def test_the_image_of_another_engine(image: str, shown: str | None) -> None:
    """It is told by how a part of its name begins, and shown without tag and digest."""
    told = strange_image(image)
    assert (told.words if told is not None else None) == shown


def test_an_engine_that_is_known_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody adds the engine, it is none of the others any more."""
    monkeypatch.setitem(cast("MutableMapping[str, Engine]", ENGINES), "vllm", OtherEngine())
    assert strange_program(["vllm", "serve"]) is None
    assert strange_image("vllm/vllm-openai") is None
