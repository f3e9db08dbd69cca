"""The repository's own profiles and what is committed in `out/`."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest

from checkouts import DEPLOYABLE, FILES_OF_A_PROFILE, REPOSITORY, Checkout, compiled_checkout, run
from judges import program, understood_by_systemd, verify_unit


OURS = Checkout(REPOSITORY)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository's profiles, compiled elsewhere; what is committed is the same, says the first test."""
    return compiled_checkout(tmp_path_factory.mktemp("repository") / "tree")


def folder(name: str) -> str:
    """Where a profile's files for its host are, below `out/`."""
    return f"{name}/ct200"


def test_what_is_committed_is_current() -> None:
    """`compile --check` finds nothing to do, and nothing that is not ours."""
    done = run("compile", "--check", here=REPOSITORY)
    assert (done.code, done.out) == (0, "")


def test_all_of_out_is_committed() -> None:
    """Every file below `out/` is in the repository, with the executable bit where it belongs."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no clone")
    listed = subprocess.run(
        [program("git"), "ls-files", "--stage", "-z", "out"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout
    committed = {line.partition("\t")[2]: line[:6] for line in listed.split("\0") if line}
    expected = {
        f"out/{name}/{path}": "100755" if path.endswith("launch.sh") else "100644"
        for name in DEPLOYABLE
        for path in FILES_OF_A_PROFILE
    }
    assert committed == {"out/MANIFEST": "100644", **expected}


def test_every_profile_keeps_its_promise() -> None:
    """No deployable profile of ours is refused; where one is uncertain, it is about the reserve only."""
    result = run("check", "--json", here=REPOSITORY).json
    assert result["diagnostics"] == []
    verdicts = {plan["profile"]: plan["verdict"] for plan in result["plans"]}
    assert verdicts.keys() == DEPLOYABLE
    assert set(verdicts.values()) <= {"pass", "uncertain"}
    codes = {found["code"] for plan in result["plans"] for found in plan["diagnostics"]}
    assert codes <= {"reserve-uncertain"}


def test_nothing_of_a_machine_is_in_the_output(compiled: Checkout) -> None:
    """Generated files hold no date, no name or version of ours, no host's name, and no path of where they were made."""
    host = socket.gethostname()
    for path, (content, _) in compiled.standing().items():
        text = content.decode()
        assert str(compiled.root) not in text
        assert str(REPOSITORY) not in text
        assert not re.search(r"\b20[2-9][0-9]-[01][0-9]", text), path
        assert not re.search(rf"\b{re.escape(host)}\b", text), path
        assert not re.search(r"poolproof[ /=<>]*\d", text), path


@pytest.mark.parametrize("name", sorted(DEPLOYABLE))
def test_systemd_finds_nothing_wrong(compiled: Checkout, name: str) -> None:
    """`systemd-analyze verify` has no complaint about a unit, on a host that has the engine's Python."""
    unit = (compiled.out / folder(name) / "kimi-k2.6.service").read_text("utf-8")
    assert verify_unit(unit, name="kimi-k2.6.service", programs=("/opt/sglang/bin/python",)) == ""


@pytest.mark.parametrize("name", sorted(DEPLOYABLE))
def test_systemd_reads_the_plan(compiled: Checkout, name: str) -> None:
    """The parser of systemd makes of a unit's command the argv of its plan.json."""
    told = understood_by_systemd(
        (compiled.out / folder(name) / "kimi-k2.6.service").read_text("utf-8")
    )
    plan = json.loads((compiled.out / name / "plan.json").read_text("utf-8"))
    assert told.commands["ExecStart"] == (tuple(plan["argv"]),)
    assert told.complaints == ()


def test_scripts_are_sound(compiled: Checkout) -> None:
    """Neither shellcheck nor bash has anything to say about the launch scripts."""
    scripts = [str(compiled.out / folder(name) / "launch.sh") for name in sorted(DEPLOYABLE)]
    for command in ([program("bash"), "-n"], [program("shellcheck")]):
        for script in scripts:
            done = subprocess.run([*command, script], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_check_says_and_what_is_written_agree(compiled: Checkout) -> None:
    """plan.json has the verdict, the pool, the argv and the environment that `check --json` prints."""
    for plan in compiled.run("check", "--json").json["plans"]:
        written = json.loads((compiled.out / plan["profile"] / "plan.json").read_text("utf-8"))
        shared = plan.keys() & written.keys()
        assert shared >= {"verdict", "pool", "effective", "static", "reserve", "argv", "env"}
        assert {key: plan[key] for key in shared} == {key: written[key] for key in shared}


def test_the_readme_shows_what_is_there() -> None:
    """The profile that README prints is the profile of the repository, comments aside; the files it lists are written."""
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"```toml\n(schema = 1\n.*?)```", readme, re.DOTALL)
    ours = (REPOSITORY / "profiles/k2.6-200k.toml").read_text("utf-8")
    assert without_comments(shown) == without_comments(ours)
    for path in FILES_OF_A_PROFILE:
        assert Path(path).name in readme


def without_comments(text: str) -> list[str]:
    """The lines of a TOML text without what `#` begins; no value of this profile holds one."""
    return [line.partition("#")[0].rstrip() for line in text.splitlines()]
