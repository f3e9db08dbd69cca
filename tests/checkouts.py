"""Copies of this repository's tree, and the command run over them: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from compiler.cli import main


REPOSITORY = Path(__file__).parents[1]
STORY = "k2.6-200k"
SHORT = "k2.6-32k"
FP8 = "k2.6-200k-fp8kv"
DEPLOYABLE = {STORY, SHORT, FP8}

UNIT = f"{STORY}/ct200/kimi-k2.6.service"
ENV_FILE = f"{STORY}/ct200/kimi-k2.6.env"
SCRIPT = f"{STORY}/ct200/launch.sh"

FILES_OF_A_PROFILE = {
    "PLAN.md",
    "memory.svg",
    "plan.json",
    "ct200/kimi-k2.6.service",
    "ct200/kimi-k2.6.env",
    "ct200/launch.sh",
    "ct200/ready.py",
}

_OF_THE_CALLER = ("NO_COLOR", "FORCE_COLOR", "TERM", "PYTHONUNBUFFERED", "PYTHONIOENCODING")


Standing = Mapping[str, tuple[bytes, int]]
"""Bytes and mode of each file below `out/`."""


@frozen(kw_only=True)
class Done:
    """What came of one run of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was printed
        """Standard output as the one JSON object that it is."""
        return json.loads(self.out)


@frozen
class Checkout:
    """A tree: `profiles/`, `poolproof.toml`, and what is compiled from them."""

    root: Path

    @property
    def out(self) -> Path:
        """What is written."""
        return self.root / "out"

    def profile(self, name: str) -> Path:
        """The file of a profile."""
        return self.root / "profiles" / f"{name}.toml"

    def write(self, name: str, text: str | bytes) -> Path:
        """Put a profile there."""
        path = self.profile(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def run(self, *words: str, within: str | Path = ".", **environment: str) -> Done:
        """Run the command in this process, in a folder of the tree."""
        return run(*words, here=self.root / within, **environment)

    def compile(self, *words: str) -> Done:
        """A compile that ends well."""
        done = self.run("compile", *words)
        assert done.code == 0, done.err
        return done

    def offered(self, name: str) -> dict[str, tuple[str, int]]:
        """What `fit` offers alone for a profile: each setting with its value, and the number of the change."""
        told = self.run("fit", name, "--json").json
        return {
            each["settings"][0]["setting"]: (each["settings"][0]["value"], number)
            for number, each in enumerate(told["changes"], 1)
            if len(each["settings"]) == 1
        }

    def compared(self, *words: str) -> tuple[int, dict[str, str]]:
        """The exit code of `compile --check`, and the word it has for each path below `out/`."""
        done = self.run("compile", "--check", *words)
        lines = [line.split(maxsplit=2)[:2] for line in done.out.splitlines()]
        return done.code, {path.removeprefix("out/"): word for word, path in lines}

    def copy(self, root: Path) -> Checkout:
        """All of it again, with its times and modes."""
        return Checkout(shutil.copytree(self.root, root, symlinks=True))

    def standing(self) -> Standing:
        """Bytes and mode of every file below `out/`."""
        return {
            path.relative_to(self.out).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
            for path in self.out.rglob("*")
            if path.is_file()
        }

    def times(self) -> dict[str, tuple[int, int]]:
        """When each file and folder below `out/` was last written, and which file it is."""
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_ino)
            for path in (self.out, *self.out.rglob("*"))
        }


def checkout(root: Path) -> Checkout:
    """A copy of this repository's tree, without `out/`."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copytree(REPOSITORY / "profiles", root / "profiles")
    shutil.copy(REPOSITORY / "poolproof.toml", root)
    return Checkout(root)


def compiled_checkout(root: Path) -> Checkout:
    """A copy of this repository's tree, compiled."""
    tree = checkout(root)
    tree.compile()
    return tree


def run(*words: str, here: Path, **environment: str) -> Done:
    """Run the command in this process, in a folder."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(here):
        patch.setattr(sys, "argv", ["poolproof", *words])
        if sys.stdin is sys.__stdin__:  # not given by the test: nobody is there to be asked
            patch.setattr(sys, "stdin", StringIO())
        for name in _OF_THE_CALLER:
            patch.delenv(name, raising=False)
        for name, value in ({"COLUMNS": "100"} | environment).items():
            patch.setenv(name, value)
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
            main()
    code = end.value.code
    assert isinstance(code, int)
    return Done(code=code, out=out.getvalue(), err=err.getvalue())


def command(*words: str) -> list[str]:
    """The command line of a process of its own."""
    return [sys.executable, "-m", "compiler", *words]


def environment(**changes: str) -> dict[str, str]:
    """The environment of such a process: little, and the same wherever the tests run."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), **changes}


def run_apart(*words: str, here: Path, **changes: str) -> Done:
    """Run the command in a process of its own."""
    done = subprocess.run(
        command(*words),
        cwd=here,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


NOBODY = 65534
"""Who is nobody in particular; not root."""


@contextmanager
def open_checkout() -> Iterator[Checkout]:
    """A copy of this repository's tree that every user of the machine can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield checkout(folder / "tree")
    finally:
        for path in (folder, *folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


def give_away(root: Path) -> None:
    """Give all of a tree to the user that `run_unprivileged` runs as."""
    if os.geteuid() == 0:
        for path in (root, *root.rglob("*")):
            shutil.chown(path, NOBODY, NOBODY)
