"""The nearest command of tools that people use for this today, for timing against ours; each is used where installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen


@frozen(kw_only=True)
class Peer:
    """One command of another tool, with the files it needs.

    Attributes:
        does: what it does with them, for the table.
    """

    name: str
    does: str
    command: tuple[str, ...]
    files: dict[str, str]


COMPOSE = """\
services:
  kimi:
    image: lmsysorg/sglang:v0.5.11
    command: python3 -m sglang.launch_server --model-path /models/kimi --tp 8 --context-length 200000
    environment:
      NCCL_P2P_LEVEL: SYS
    volumes: ["/srv/models:/models:ro"]
"""
PLAYBOOK = """\
- hosts: localhost
  gather_facts: false
  vars: {context: 200000, tensor: 8}
  tasks:
    - name: unit
      ansible.builtin.template: {src: unit.j2, dest: /tmp/kimi.service}
"""
UNIT = """\
[Service]
ExecStart=/opt/sglang/bin/python -m sglang.launch_server --tp {{ tensor }} --context-length {{ context }}
"""
KAPITAN_UNIT = """\
[Service]
ExecStart=/opt/sglang/bin/python -m sglang.launch_server --tp {{ inventory.parameters.tensor }} --context-length {{ inventory.parameters.context }}
"""
INVENTORY = """\
parameters:
  context: 200000
  tensor: 8
  kapitan:
    vars: {target: kimi}
    compile:
      - {output_path: ., input_type: jinja2, input_paths: [templates/unit.j2]}
"""
TERRAFORM = """\
variable "context" {
  type    = number
  default = 200000
}
output "unit" {
  value = "ExecStart=/opt/sglang/bin/python -m sglang.launch_server --context-length ${var.context}"
}
"""
ALL = (
    Peer(
        name="docker compose",
        does="`config`, one service",
        command=("docker", "compose", "-f", "compose.yaml", "config"),
        files={"compose.yaml": COMPOSE},
    ),
    Peer(
        name="podman-compose",
        does="`config`, one service",
        command=("podman-compose", "-f", "compose.yaml", "config"),
        files={"compose.yaml": COMPOSE},
    ),
    Peer(
        name="ansible",
        does="`--syntax-check`, one template",
        command=("ansible-playbook", "--syntax-check", "-i", "localhost,", "play.yml"),
        files={"play.yml": PLAYBOOK, "templates/unit.j2": UNIT},
    ),
    Peer(
        name="kapitan",
        does="`compile`, one template",
        command=("kapitan", "compile"),
        files={
            "inventory/targets/kimi.yml": INVENTORY,
            "inventory/classes/.keep": "",
            "templates/unit.j2": KAPITAN_UNIT,
        },
    ),
    Peer(
        name="terraform",
        does="`validate`, one output",
        command=("terraform", "validate"),
        files={"main.tf": TERRAFORM},
    ),
)


def installed(scratch: Path) -> Iterator[tuple[Peer, Path]]:
    """The peers that are on PATH, each with a folder that holds its files."""
    for peer in ALL:
        if shutil.which(peer.command[0]):
            folder = scratch / peer.name.replace(" ", "-")
            for name, text in peer.files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, "utf-8")
            yield peer, folder
