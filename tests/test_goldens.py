"""One tree with everything that breaks quoting, from TOML to files: goldens to read, and the programs that judge them."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from checkouts import REPOSITORY, STORY, Checkout, checkout
from judges import program, understood_by_systemd, verify_unit


if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion


NASTY = "nasty"
TREE = Path(__file__).parent / "nasty_tree"
NAMES = {
    "PLAN.md": "md",
    "plan.json": "json",
    "ct300/nasty.service": "service",
    "ct300/nasty.env": "env",
    "ct300/launch.sh": "sh",
}

STUB = """#!{python}
import json, os, sys
json.dump([sys.argv, dict(os.environ), os.getcwd()], sys.stdout)
"""
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The nasty tree, compiled."""
    root = tmp_path_factory.mktemp("nasty") / "tree"
    tree = Checkout(shutil.copytree(TREE, root))
    tree.compile()
    return tree


def golden(extension: str) -> type[SingleFileSnapshotExtension]:
    """Goldens as real files, for reviewers and for the programs that read them."""

    class Golden(SingleFileSnapshotExtension):
        _write_mode = WriteMode.TEXT
        file_extension = extension

    return Golden


def test_goldens(nasty: Checkout, snapshot: SnapshotAssertion) -> None:
    """Each kind of file is, to the byte, what a reviewer has read and found right."""
    texts = {path: (nasty.out / NASTY / path).read_bytes().decode() for path in NAMES}
    matches = {
        path: snapshot(name=NASTY, extension_class=golden(NAMES[path])) == text
        for path, text in texts.items()
    }
    assert matches == dict.fromkeys(NAMES, True)


def test_nothing_else_is_written(nasty: Checkout) -> None:
    """Beside the goldens there are only the probe, the same for every service, and MANIFEST."""
    written = {f"{NASTY}/{path}" for path in (*NAMES, "ct300/ready.py")}
    assert nasty.standing().keys() == {"MANIFEST", *written}
    probe = nasty.standing()[f"{NASTY}/ct300/ready.py"]
    assert probe == ((REPOSITORY / "templates/sglang/ready.py").read_bytes(), 0o644)


def test_systemd_finds_nothing_wrong(nasty: Checkout) -> None:
    """`systemd-analyze verify` has no complaint about the nasty unit on a host that has its program."""
    text = (nasty.out / NASTY / "ct300/nasty.service").read_text("utf-8")
    plan = json.loads((nasty.out / NASTY / "plan.json").read_text("utf-8"))
    assert verify_unit(text, name="nasty.service", programs=(plan["argv"][0],)) == ""


def test_systemd_reads_the_plan(nasty: Checkout) -> None:
    """The parser of systemd makes of `ExecStart=` the words of plan.json, one by one."""
    plan = json.loads((nasty.out / NASTY / "plan.json").read_text("utf-8"))
    told = understood_by_systemd((nasty.out / NASTY / "ct300/nasty.service").read_text("utf-8"))
    assert told.loaded, told.complaints
    assert told.commands["ExecStart"] == (tuple(plan["argv"]),)


@pytest.mark.parametrize("shell", [("bash", "-n"), ("shellcheck",)])
def test_shells_find_nothing_wrong(nasty: Checkout, shell: tuple[str, ...]) -> None:
    """No word of the launch script is beyond bash, and shellcheck has nothing to say about it."""
    script = nasty.out / NASTY / "ct300/launch.sh"
    done = subprocess.run(
        [program(shell[0]), *shell[1:], str(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", [STORY, NASTY])
def test_the_launch_script_starts_what_is_planned(tmp_path: Path, name: str) -> None:
    """`launch.sh` gives an engine the argv and the environment of plan.json, and nothing that was not the caller's."""
    if name == NASTY:
        tree = Checkout(shutil.copytree(TREE, tmp_path / "tree"))
        fragment, python = "base/odd-paths", "/opt/my env/50% $x;[y]/python"
    else:
        tree = checkout(tmp_path / "tree")
        fragment, python = "base/sglang-ddtree", "/opt/sglang/bin/python"
    stub = Path(f"{tmp_path}{python}")
    stub.parent.mkdir(parents=True)
    stub.write_text(STUB.format(python=sys.executable))
    stub.chmod(0o755)
    text = tree.profile(fragment).read_text("utf-8")
    assert text.count(python) == 1
    tree.write(fragment, text.replace(python, str(stub)))
    tree.compile(name)
    plan = json.loads((tree.out / name / "plan.json").read_text("utf-8"))
    (script,) = (tree.out / name).glob("*/launch.sh")
    assert script.stat().st_mode & stat.S_IXUSR
    caller = {"PATH": "/usr/bin:/bin", "PYTHONUTF8": "1", "HOME": "/nowhere"}
    done = subprocess.run([str(script)], cwd=tmp_path, env=caller, capture_output=True, check=True)
    assert done.stderr == b""
    argv, environment, folder = json.loads(done.stdout)
    assert argv == plan["argv"]
    assert plan["argv"][0] == str(stub)
    assert folder == "/"
    given = {key: value for key, value in environment.items() if key not in OF_THE_SHELL}
    given.pop("LC_CTYPE", None)  # what Python itself sets where there is no locale
    assert given == caller | plan["env"]
