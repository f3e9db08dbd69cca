"""A private host with a tree of profiles on it whose engine is `stub_engine.py`: compiled, switched to, and run for real."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checkouts import Done, run
from compiler.host.units import Scope, UnitState, show
from hosts import UID, USER, PrivateHost


ROOT = Path(__file__).parent.parent
STUB = ROOT / "tests/stub_engine.py"
KEY = "sk-0123-very-secret-key"
NAME = "kimi-k2.6"
UNIT = f"{NAME}.service"
STATE = f"/var/lib/poolproof/{NAME}"
HOME_STATE = f"/var/lib/home/poolproof/{NAME}"
STOP_S = 2

PROFILE = """
schema = 1
extends = ["base/kimi-k2.6", "base/service", "base/sglang-ddtree", "hw/8x-rtx-pro-6000"]
description = "{name}"

[engine]
python = "{folder}/python"

[model]
path = "{folder}/model"

[speculative]
draft_path = "{folder}/draft"

[serve]
host = "127.0.0.1"
context = 32_768
concurrency = {concurrency}
max_running_requests = 64

[memory]
fraction = 0.85

[secrets]
api_key = {{ file = "{folder}/secret.yaml" }}

[env]
STUB_SCENARIO = "{folder}/{scenario}.json"

[targets.here]
kind = "systemd"
user = "{user}"
start_timeout = "{start_s}s"
stop_timeout = "{stop_s}s"
restart_delay = "1s"
{more}
"""
OF_A_USER = f"""manager = "user"
state_dir = "{HOME_STATE}"
"""


class Rig:
    """The host, the tree on it, and the command run inside."""

    def __init__(self, host: PrivateHost) -> None:
        self.host = host
        self.began_s = time.time()
        self.folder = host.folder / f"rig-{os.urandom(4).hex()}"
        shutil.copytree(ROOT / "profiles", self.folder / "profiles")
        (self.folder / "poolproof.toml").write_text("")
        for each in ("model", "draft"):
            (self.folder / each).mkdir()
        engine = self.folder / "python"
        engine.write_text(f'#!/bin/sh\nexec {sys.executable} {STUB} "$@"\n')
        engine.chmod(0o755)
        secret = self.folder / "secret.yaml"
        secret.write_text(f"api-key: {KEY}\n")
        os.chown(secret, UID, UID)
        secret.chmod(0o600)

    def compile(
        self,
        name: str,
        *,
        scenario: Mapping[str, Any] | None = None,
        concurrency: int = 3,
        start_s: int = 20,
        more: str = "",
    ) -> str:
        """Compile a profile of the unit, whose server is like the story's with this changed. Its tree."""
        story = json.loads((ROOT / "tests/scenarios/story.json").read_text())
        like = {**story, "context": 32_768, "shards": 4, **(scenario or {})}
        scenario_of = name if scenario is not None else "story"
        (self.folder / f"{scenario_of}.json").write_text(json.dumps(like))
        profile = PROFILE.format(
            name=name,
            folder=self.folder,
            concurrency=concurrency,
            scenario=scenario_of,
            user=USER,
            start_s=start_s,
            stop_s=STOP_S,
            more=more,
        )
        if more == OF_A_USER:
            profile = profile.replace(f'user = "{USER}"\n', "")
        (self.folder / f"profiles/{name}.toml").write_text(profile)
        self.command("compile", name)
        return str(self.folder / "out" / name / "here")

    def command(self, *words: str) -> Done:
        """Run the command outside, in the tree, and demand success."""
        done = run(*words, here=self.folder)
        assert done.code == 0, done.err
        return done

    def __call__(self, *words: str, code: int = 0, user: int | None = None) -> Done:
        """Run the command inside, and demand its exit code. Nothing it prints may hold the key."""
        ended = self.host.run(sys.executable, "-m", "compiler", *words, check=False, user=user)
        done = Done(code=ended.returncode, out=ended.stdout, err=ended.stderr)
        assert done.code == code, done
        assert KEY not in done.out + done.err
        return done

    @property
    def status(self) -> Any:  # noqa: ANN401 - what JSON gives
        """What `status --json` says of the unit; it exits 1 while a start is under way."""
        command = (sys.executable, "-m", "compiler", "status", UNIT, "--json")
        (unit,) = json.loads(self.host.run(*command, check=False).stdout)["units"]
        return unit

    @property
    def state(self) -> UnitState:
        """The unit as systemd has it."""
        state = show(UNIT, scope=Scope.SYSTEM)
        assert state is not None
        return state

    def runs(self, name: str) -> bool:
        """Whether the process has the argv and the environment of a profile."""
        plan = json.loads((self.folder / "out" / name / "plan.json").read_text())
        return self.process() == (plan["argv"][1:], plan["env"]["STUB_SCENARIO"])

    def process(self) -> tuple[Sequence[str], str | None]:
        """The words of the engine that runs, without its interpreter, and its scenario."""
        told = self.host.run(
            "cat", f"/proc/{self.state.main_pid}/cmdline", check=False
        ).stdout.split("\0")
        environment = self.host.run(
            "cat", f"/proc/{self.state.main_pid}/environ", check=False
        ).stdout.split("\0")
        scenario = [each for each in environment if each.startswith("STUB_SCENARIO=")]
        return told[2:-1], scenario[0].partition("=")[2] if scenario else None

    def loads(self) -> int:
        """How often the unit's engine began to load, by its journal."""
        return sum("TP0] Load weight begin. avail mem=94.08" in each for each in self.journal())

    def journal(self) -> list[str]:
        """What the unit said since this began: of the test before, what is younger than a second stays in the journal."""
        return self.host.journal(UNIT, since_s=self.began_s)

    def remove(self) -> None:
        """Leave the host as it was, but for what its journal took up in the last second."""
        self.host.clear()
        for each in ("poolproof", "home/poolproof"):
            shutil.rmtree(self.host.folder / "lib" / each, ignore_errors=True)
        shutil.rmtree(self.folder)
        self.host.run("journalctl", "--rotate")
        self.host.run("journalctl", "--vacuum-time=1s", check=False)
