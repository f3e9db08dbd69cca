"""How long `fit` takes to answer once its modules are loaded: many profiles, and every question it can be asked.

The story's profiles with other fractions and requests, and services of other kinds of attention that promise what their
GPUs cannot hold, so that every lever is tried.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from statistics import median


QUESTIONS = ("", "context", "concurrency", "pool")
FRACTIONS = ("0.85", "0.93", '"fit"')
REQUESTS = ("8", "64")

SERVICES = (
    ("Qwen/Qwen3-Next-80B-A3B-Instruct", "h100", 4, "0.5.11"),
    ("Qwen/Qwen3.5-122B-A10B-FP8", "h100", 4, "0.5.11"),
    ("Qwen/Qwen3.8-27B", "h100", 2, "0.5.20"),
    ("XiaomiMiMo/MiMo-V2-Flash", "h200", 4, "0.5.11"),
    ("deepseek-ai/DeepSeek-V3.1", "h200", 8, "0.5.11"),
    ("deepseek-ai/DeepSeek-V3.2", "h200", 8, "0.5.13"),
    ("google/gemma-4-31B-it", "a100", 2, "0.5.11"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "h200", 4, "0.5.11"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8", "rtx-5090", 2, "0.5.11"),
    ("openai/gpt-oss-120b", "h100", 1, "0.5.11"),
)
"""Model, kind of GPU, how many, and release: one or two of each kind of attention and state."""
PROMISES = ((131_072, 64), (30_000, 200))
SERVICE = """schema = 1

[model]
id = "{model}"
path = "/srv/models/one"

[gpus]
kind = "{gpu}"
count = {count}

[parallel]
tensor = {count}

[engine]
name = "sglang"
version = "{version}"
python = "/opt/sglang/bin/python"

[serve]
context = {context}
concurrency = {concurrency}

[memory]
fraction = "fit"

[targets.host-{number}]
kind = "systemd"
user = "sglang"
"""

ANSWERING = """
import contextlib, io, json, os, sys, time
import compiler.cli, compiler.cli.commands, compiler.cli.fit as verb

judge = verb.check_profiles

def answer(profile, most):
    # Each in a child of its own, so that nothing is known from the one before.
    to_read, to_write = os.pipe()
    if os.fork() == 0:
        ends = []

        def judged(*words, **given):
            found = judge(*words, **given)
            ends.append(time.process_time())
            return found

        verb.check_profiles = judged
        sys.argv = ["poolproof", "fit", profile, *(("--max", most) if most else ())]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            with contextlib.suppress(SystemExit):
                compiler.cli.main()
        os.write(to_write, json.dumps((time.process_time() - ends[0]) * 1000).encode())
        os._exit(0)
    os.close(to_write)
    with os.fdopen(to_read, "rb") as pipe:
        text = pipe.read()
    os.wait()
    return json.loads(text)

print(json.dumps([[most, min(answer(profile, most or None) for _ in range(COUNT))]
    for profile in sys.argv[1:] for most in QUESTIONS]))
"""


def write_cases(tree: Path) -> list[str]:
    """The deployable profiles of a tree with other fractions and other requests at once, and other services; their names."""
    names: list[str] = []
    for path in sorted((tree / "profiles").glob("*.toml")):
        text = path.read_text("utf-8")
        for number, (fraction, requests) in enumerate(product(FRACTIONS, REQUESTS)):
            changed = re.sub(r"(?m)^fraction = .*", f"fraction = {fraction}", text)
            changed = re.sub(
                r"(?m)^max_running_requests = .*", f"max_running_requests = {requests}", changed
            )
            name = f"{path.stem}-{number}"
            path.with_name(f"{name}.toml").write_text(changed, "utf-8")
            names.append(name)
    for number, (service, promise) in enumerate(product(SERVICES, PROMISES)):
        model, gpu, count, version = service
        context, concurrency = promise
        text = SERVICE.format(
            number=number,
            model=model,
            gpu=gpu,
            count=count,
            version=version,
            context=context,
            concurrency=concurrency,
        )
        names.append(f"other-{number}")
        (tree / "profiles" / f"{names[-1]}.toml").write_text(text, "utf-8")
    return names


def times(python: str, tree: Path, names: list[str], *, count: int) -> Mapping[str, list[float]]:
    """The answers of each question, CPU ms, the quickest of `count` each: what is more is the machine's."""
    script = ANSWERING.replace("COUNT", str(count)).replace("QUESTIONS", repr(QUESTIONS))
    made = subprocess.run(  # noqa: S603 - our own script, and the names of our own files
        [python, "-c", script, *names], cwd=tree, capture_output=True, text=True, check=True
    )
    found: dict[str, list[float]] = {}
    for question, answered in json.loads(made.stdout):
        found.setdefault(question, []).append(answered)
    return found


def rows(python: str, tree: Path, *, count: int) -> Iterator[str]:
    """The table."""
    yield "| asked | cases | median CPU ms | worst CPU ms |"
    yield "|---|---|---|---|"
    for question, several in times(python, tree, write_cases(tree), count=count).items():
        asked = f"fit --max {question}" if question else "fit"
        yield f"| {asked} | {len(several)} | {median(several):.0f} | {max(several):.0f} |"
