"""What the engine itself needs of a host, each at its border: memory behind its cache, packages, and a compiler."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from compiler.catalog import open_catalog
from compiler.diagnostics import Diagnostic, Severity
from compiler.host.preflight import Preflight
from compiler.host.preflight_probe import RealProbe, Untold
from compiler.host.units import Scope
from deployments import check_text
from machines import look_over


PROFILE = """\
schema = 1

[model]
id = "Qwen/Qwen3-8B"
path = "/srv/models/Qwen3-8B"

[gpus]
kind = "h200"
count = 2

[engine]
name = "sglang"
version = "{version}"
python = "/opt/sglang/bin/python"

[parallel]
tensor = 2

[serve]
context = 8192
max_running_requests = 8

[memory]
fraction = 0.8

{more}
[targets.ct200]
kind = "systemd"
user = "sglang"
"""


def found(
    tmp_path: Path, more: str = "", *, host: str = "", version: str = "0.5.11"
) -> tuple[Diagnostic, ...]:
    """What is found on a machine for a small deployment with more settings."""
    result = overlook(tmp_path, more, host=host, version=version)
    assert result.skipped == ()
    return result.diagnostics


def overlook(
    tmp_path: Path, more: str = "", *, host: str = "", version: str = "0.5.11"
) -> Preflight:
    text = PROFILE.format(version=version, more=more)
    checked = check_text(tmp_path / "profiles", text, catalog=open_catalog())
    assert not checked.refused, checked.all_diagnostics
    return look_over(checked, host, tmp_path / "out")


def tier(flag: str) -> str:
    return f"[flags]\nenable-hierarchical-cache = true\n{flag}\n"


def test_a_machine_that_has_everything(tmp_path: Path) -> None:
    """Nothing is found where nothing is lacking."""
    assert found(tmp_path) == ()


@pytest.mark.parametrize(
    ("flag", "gib", "codes"),
    [
        # Two ranks of 64 GB are 119.2 GiB, and the engine spares ten.
        ("hicache-size = 64", 130, []),
        ("hicache-size = 64", 129, ["host-memory"]),
        # The pool of one GPU is some 100 GiB.
        ("hicache-ratio = 4", 700, ["host-memory"]),
        ("hicache-ratio = 4", 1100, []),
        ("hicache-ratio = 1.5", 400, []),
        ("", 300, ["host-memory"]),
        ("", 600, []),
    ],
)
def test_memory_behind_the_cache(tmp_path: Path, flag: str, gib: int, codes: list[str]) -> None:
    """`host-memory`: a size is one rank's, a ratio is of the pool, and 2 where nothing is said."""
    got = found(tmp_path, tier(flag), host=f"memory_gib = {gib}")
    assert [each.code for each in got] == codes
    named = {"hicache-size": "size", "hicache-ratio": "ratio"}
    for each in got:
        said = next((name for name in named if name in flag), "enable-hierarchical-cache")
        assert each.path == f"flags.{said}"
        assert each.help


def test_memory_behind_a_cache_of_unknown_size(tmp_path: Path) -> None:
    """A ratio of a pool that nobody worked out is not judged, and that is said."""
    more = tier("hicache-ratio = 4").replace("[flags]", "[flags]\noffload-group-size = 4")
    result = overlook(tmp_path, more, host="memory_gib = 64")
    assert [each.what for each in result.skipped] == ["the tier of host memory"]
    assert result.diagnostics == ()


def test_a_package_that_is_not_there(tmp_path: Path) -> None:
    """`host-package`: what a flag needs beside the engine, by the interpreter's own word."""
    more = '[flags]\ndisaggregation-mode = "prefill"\n'
    (each,) = found(tmp_path, more, host='missing_modules = ["mooncake", "deep_ep"]')
    assert (each.code, each.path) == ("host-package", "flags.disaggregation-transfer-backend")
    assert "`mooncake`" in each.summary
    assert found(tmp_path, more) == ()
    more += 'disaggregation-transfer-backend = "nixl"\n'
    assert found(tmp_path, more, host='missing_modules = ["mooncake"]') == ()


@pytest.mark.parametrize(
    ("release", "severity"),
    [
        ("0.5.11", None),
        ("0.5.11+cu130", None),
        ("0.5.11.post1", Severity.WARNING),
        ("0.5.10", Severity.ERROR),
        ("0.5.10.post2", Severity.ERROR),
        ("0.5.1", Severity.ERROR),
    ],
)
def test_another_release_is_installed(
    tmp_path: Path, release: str, severity: Severity | None
) -> None:
    """`host-release`: another release is an error, another build of the planned one a warning; each by the interpreter's word."""
    got = found(tmp_path, host=f'release = "{release}"')
    assert [(each.code, each.severity) for each in got] == (
        [] if severity is None else [("host-release", severity)]
    )
    if got:
        assert f"has sglang {release}, and the plan is for 0.5.11" in got[0].summary


@pytest.mark.parametrize("release", ["0.5.12.dev3+g0123abc", "unknown", ""])
def test_a_release_that_cannot_be_told(tmp_path: Path, release: str) -> None:
    """A checkout's number is held against nothing, and it is said that nobody looked; a private build is not asked."""
    result = overlook(tmp_path, host=f'release = "{release}"')
    assert result.diagnostics == ()
    assert [each.what for each in result.skipped] == ["which release of the engine is installed"]


def test_a_real_interpreter_tells_what_is_installed() -> None:
    """The version of a package, as its metadata has it; of one that is not there, that it is not."""

    def asked(python: str, package: str) -> str | Untold:
        return RealProbe().installed(python, package, account=None, environment={})

    assert asked(sys.executable, "pytest") == pytest.__version__
    told = asked(sys.executable, "no-such-package")
    assert isinstance(told, Untold)
    assert "knows no installed package `no-such-package`" in told.why
    assert isinstance(asked("/nowhere/python", "pytest"), Untold)


@pytest.mark.parametrize(
    ("env", "programs", "lacking"),
    [
        ("", ["/usr/local/cuda/bin/nvcc", "/usr/bin/ninja"], None),
        ("", ["/usr/bin/nvcc", "/usr/local/bin/ninja"], None),
        ("", ["/opt/cuda/bin/nvcc", "/opt/sglang/bin/ninja"], "no `nvcc` and no `ninja`"),
        ('CUDA_HOME = "/opt/cuda"', ["/opt/cuda/bin/nvcc", "/usr/bin/ninja"], None),
        ('CUDA_PATH = "/opt/cuda"', ["/opt/cuda/bin/nvcc", "/usr/bin/ninja"], None),
        ('CUDA_HOME = "/none"', ["/usr/local/cuda/bin/nvcc", "/usr/bin/ninja"], "no `nvcc`"),
        ('PATH = "/opt/sglang/bin:/opt/cuda/bin"', ["/opt/cuda/bin/nvcc"], "no `ninja`"),
        ('PATH = "/opt/sglang/bin"', ["/opt/sglang/bin/nvcc", "/opt/sglang/bin/ninja"], None),
    ],
)
def test_a_compiler_of_kernels(
    tmp_path: Path, env: str, programs: list[str], lacking: str | None
) -> None:
    """`host-compiler`: both programs are looked for as the engine does, in the unit's environment."""
    got = found(tmp_path, f"[env]\n{env}\n", host=f"programs = {programs}")
    assert [each.code for each in got] == ([] if lacking is None else ["host-compiler"])
    assert all(str(lacking) in each.summary for each in got)


def test_an_engine_that_compiles_nothing(tmp_path: Path) -> None:
    """Older releases bring their kernels."""
    assert found(tmp_path, host="programs = []", version="0.5.6") == ()


def test_the_real_probe_asks_the_interpreter(tmp_path: Path) -> None:
    """Modules are looked for and not imported; an interpreter that is none is told apart."""
    (tmp_path / "bad_one.py").write_text("raise SystemExit(3)\n")
    real, me = RealProbe(), RealProbe().account(None)
    account = None if os.geteuid() == 0 else me
    environment = {"PYTHONPATH": str(tmp_path)}
    asked = ("json", "bad_one", "no_such_module")
    told = real.lacking(sys.executable, asked, account=account, environment=environment)
    assert told == ("no_such_module",)
    told = real.lacking("/none/python", asked, account=account, environment={})
    assert isinstance(told, Untold)
    told = real.lacking("/bin/false", asked, account=account, environment={})
    assert isinstance(told, Untold)


def test_the_real_probe_knows_its_memory() -> None:
    """All memory is a figure."""
    told = RealProbe().memory_bytes()
    assert isinstance(told, int)
    assert told > 1 << 28


def test_a_users_own_path_is_not_known(tmp_path: Path) -> None:
    """A user's manager hands on what its session had; where the unit sets it the programs are looked for."""
    text = PROFILE.format(version="0.5.11", more="")
    checked = check_text(tmp_path / "profiles", text, catalog=open_catalog())
    result = look_over(checked, "", tmp_path / "out", scope=Scope.USER)
    assert [each.what for each in result.skipped] == ["the compiler of kernels"]
