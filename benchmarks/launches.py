"""The public launches that `adopt` is measured by: commands as words, and deployments as the files they are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen


DATA = Path(__file__).parent.parent / "tests" / "data"
COMMANDS = DATA / "launch-commands.jsonl"
DEPLOYMENTS = DATA / "deployments.jsonl"

ENTRIES: Mapping[str | None, tuple[str, ...]] = {
    "module": ("python3", "-m", "sglang.launch_server"),
    "serve": ("sglang", "serve"),
}


@frozen(kw_only=True)
class PublicCommand:
    """One launch command; `accepted` are the releases whose parser takes it, oldest first."""

    id: int
    literal: bool
    words: tuple[str, ...]
    accepted: tuple[str, ...]


@frozen(kw_only=True)
class Deployment:
    """One deployment as a file: what it would be called, and its text."""

    id: str
    kind: str
    name: str
    text: str
    literal: bool


def read_commands(versions: tuple[str, ...]) -> Iterator[PublicCommand]:
    """The commands of the file; `versions` are the releases in the order of its signs, the last of them where it has fewer."""
    for line in COMMANDS.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield PublicCommand(
            id=row["id"],
            literal=row["literal"],
            words=(*ENTRIES[row["entry"]], *row["argv"]),
            accepted=tuple(
                each
                for each, sign in zip(
                    versions[-len(row["accepted"]) :], row["accepted"], strict=True
                )
                if sign == "+"
            ),
        )


def read_deployments() -> Iterator[Deployment]:
    """The deployments that start SGLang themselves, each written as the kind of file it is."""
    for line in DEPLOYMENTS.read_text("utf-8").splitlines():
        row = json.loads(line)
        # One has the entries of a file of settings in place of words.
        are_words = not row["argv"] or row["argv"][0].startswith("-")
        if row["entry"] is not None and are_words:
            yield _deployment(row)


def _deployment(row: Mapping[str, Any]) -> Deployment:
    kind = row["kind"]
    argv = [*ENTRIES[row["entry"]], *row["argv"]]
    if row["unit"].get("Container"):
        name, text = "server.container", _unit(row["unit"], exec_key="Exec", argv=argv)
    elif row["unit"]:
        name, text = "server.service", _unit(row["unit"], exec_key=None, argv=argv)
    elif "k8s" in kind and "script" not in kind:
        name, text = "manifest.yaml", _manifest(row, argv)
    elif "compose" in kind or "YAML" in kind:
        name, text = "compose.yaml", _compose(row, argv)
    elif "docker" in kind:
        name, text = "run.sh", _docker(row, argv)
    else:
        name, text = "launch.sh", _script(row, argv)
    said = (*row["argv"], *row["env"].values())
    # Dots stand for words that the data leaves out.
    cut = "..." in text.split()
    literal = not cut and not any("$" in each or "{{" in each for each in said)
    return Deployment(id=row["id"], kind=kind, name=name, text=text, literal=literal)


def _unit(unit: Mapping[str, Any], *, exec_key: str | None, argv: list[str]) -> str:
    lines: list[str] = []
    for section, pairs in unit.items():
        lines.append(f"[{section}]")
        for key, value in pairs:
            # The data cuts a long quadlet short; its words are there in full.
            told = " ".join(f'"{_escaped(each)}"' for each in argv) if key == exec_key else value
            lines.append(f"{key}={told}")
        lines.append("")
    return "\n".join(lines)


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"')


def _compose(row: Mapping[str, Any], argv: list[str]) -> str:
    # JSON is YAML.
    service = {
        "image": row["image"] or "lmsysorg/sglang:latest",
        "environment": row["env"],
        "command": argv,
        "shm_size": "32g",
    }
    return "services:\n  engine: " + json.dumps(service) + "\n"


def _manifest(row: Mapping[str, Any], argv: list[str]) -> str:
    container = {
        "name": "engine",
        "image": row["image"] or "lmsysorg/sglang:latest",
        "command": argv,
        "env": [{"name": name, "value": value} for name, value in row["env"].items()],
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],  # noqa: S108 - in a text
    }
    pod = {"containers": [container]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": pod}) + "\n"


def _docker(row: Mapping[str, Any], argv: list[str]) -> str:
    variables = "".join(
        f"  -e {_shell(f'{name}={value}')} \\\n" for name, value in row["env"].items()
    )
    return (
        "docker run --gpus all --shm-size 32g --ipc=host \\\n"
        f"{variables}  {_shell(row['image'] or 'lmsysorg/sglang:latest')} \\\n"
        f"  {_words(argv)}\n"
    )


def _script(row: Mapping[str, Any], argv: list[str]) -> str:
    exports = "".join(f"export {name}={_shell(value)}\n" for name, value in row["env"].items())
    return f"#!/bin/bash\n{exports}exec {_words(argv)}\n"


def _words(argv: list[str]) -> str:
    return " \\\n    ".join(_shell(each) for each in argv)


def _shell(word: str) -> str:
    """As people write it: what holds a variable in double quotes, so that it is replaced."""
    if "$" not in word:
        return shlex.quote(word)
    if word.count("(") != word.count(")"):
        return shlex.quote(word)  # the data has only the beginning of it
    return word if "$(" in word else f'"{_escaped(word)}"'
