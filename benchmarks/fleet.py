"""A team's repository of any size, for timing: leaves that share bases, one service a host.

`python -m benchmarks.fleet N FOLDER` writes one to look at.
"""

from __future__ import annotations

import sys
from pathlib import Path


# What the services run: a model of the catalogue, its GPUs, and the context its leaves start from.
KINDS = (
    ("Qwen/Qwen3-32B", "h100", 2, 24_000),
    ("Qwen/Qwen3-30B-A3B", "rtx-5090", 4, 16_000),
    ("meta-llama/Llama-3.3-70B-Instruct", "h100", 4, 32_000),
    ("openai/gpt-oss-120b", "h200", 1, 48_000),
    ("zai-org/GLM-4.6-FP8", "h200", 8, 64_000),
)
RELEASES = ("0.5.6", "0.5.11", "0.5.18", "0.5.23")
STEP_TOKENS = 16
CONTEXTS = 97


def write_fleet(root: Path, *, services: int) -> None:
    """Write `poolproof.toml` and `profiles/` with `services` deployable profiles and the fragments they share."""
    profiles = root / "profiles"
    for folder in ("base", "hw", "services"):
        (profiles / folder).mkdir(parents=True)
    (root / "poolproof.toml").write_text("", "utf-8")
    (profiles / "base/service.toml").write_text(SERVICE, "utf-8")
    for release in RELEASES:
        text = ENGINE.format(release=release)
        (profiles / f"base/sglang-{release}.toml").write_text(text, "utf-8")
    for model, kind, count, _ in KINDS:
        name = _short(model)
        text = MODEL.format(model=model, name=name)
        (profiles / f"base/{name}.toml").write_text(text, "utf-8")
        text = HARDWARE.format(kind=kind, count=count)
        (profiles / f"hw/{count}x-{kind}.toml").write_text(text, "utf-8")
    for number in range(services):
        (profiles / f"services/s{number:04}.toml").write_text(_leaf(number), "utf-8")


def _leaf(number: int) -> str:
    model, kind, count, context = KINDS[number % len(KINDS)]
    return LEAF.format(
        number=number,
        model=_short(model),
        release=RELEASES[number // len(KINDS) % len(RELEASES)],
        hardware=f"{count}x-{kind}",
        context=context + STEP_TOKENS * (number % CONTEXTS),
    )


def _short(model: str) -> str:
    return model.rpartition("/")[2].lower()


SERVICE = """\
schema = 1

# What every service here has in common.
[serve]
host = "0.0.0.0"
port = 30000
concurrency = 1
max_running_requests = 16

[memory]
chunked_prefill = 4096
fraction = 0.85

[flags]
enable-metrics = true

[secrets]
api_key = { file = "/etc/poolproof/secrets/key.yaml" }
"""
ENGINE = """\
schema = 1

[engine]
name = "sglang"
version = "{release}"
python = "/opt/sglang/bin/python"
"""
MODEL = """\
schema = 1

[model]
id = "{model}"
path = "/srv/models/{name}"
"""
HARDWARE = """\
schema = 1

[gpus]
kind = "{kind}"
count = {count}

[parallel]
tensor = {count}
"""
LEAF = """\
schema = 1
extends = ["base/{model}", "base/service", "base/sglang-{release}", "hw/{hardware}"]
description = "service {number}"

[model]
served_name = "service-{number}"

[serve]
context = {context}

[targets.host{number}]
kind = "systemd"
user = "sglang"
start_timeout = "30min"
"""


if __name__ == "__main__":
    write_fleet(Path(sys.argv[2]), services=int(sys.argv[1]))
