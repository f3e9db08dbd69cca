"""The same profiles give the same bytes: in every environment, for every user, and from an installed wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from checkouts import (
    REPOSITORY,
    Checkout,
    Standing,
    checkout,
    command,
    environment,
    give_away,
    open_checkout,
)
from forks import run_unprivileged


NASTY_TREE = Path(__file__).parent / "nasty_tree"

INSTALLED_MOST = 25_000_000
"""Bytes that Poolproof may take with all it depends on."""

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "a hash seed": {"PYTHONHASHSEED": "1"},
    "another hash seed, a time zone, a home, and a terminal": {
        "PYTHONHASHSEED": "4294967295",
        "TZ": "Asia/Kathmandu",
        "SOURCE_DATE_EPOCH": "0",
        "HOME": "/nowhere",
        "USER": "somebody",
        "COLUMNS": "20",
        "FORCE_COLOR": "1",
        "TERM": "xterm",
    },
    "no locale": {"LC_ALL": "C", "LANG": "C"},
    "ASCII only": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "a language": {"LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8", "LANGUAGE": "de"},
}

QUICK = {"another hash seed, a time zone, a home, and a terminal", "ASCII only"}


def both(tree: Checkout) -> Checkout:
    """The repository's tree with the nasty one, which has more variables and flags, in it."""
    shutil.copytree(NASTY_TREE / "profiles", tree.root / "profiles", dirs_exist_ok=True)
    return tree


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Standing:
    """What a compile in this process gives."""
    tree = both(checkout(tmp_path_factory.mktemp("wanted") / "tree"))
    tree.compile()
    return tree.standing()


def compile_apart(
    tree: Checkout, *, here: Path, umask: int = -1, variables: Mapping[str, str] | None = None
) -> None:
    """Compile a tree in a process of its own, from a folder."""
    done = subprocess.run(
        command("compile"),
        cwd=here,
        env=environment(**(variables or {})),
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert tree.out.exists()


@pytest.mark.parametrize(
    "variables",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in ENVIRONMENTS
    ],
)
def test_environments(tmp_path: Path, wanted: Standing, variables: str) -> None:
    """No variable of the environment reaches a byte or a mode of the output."""
    tree = both(checkout(tmp_path / "tree"))
    compile_apart(tree, here=tree.root, variables=ENVIRONMENTS[variables])
    assert tree.standing() == wanted


@pytest.mark.parametrize("umask", [pytest.param(0o000, marks=pytest.mark.slow), 0o077])
def test_masks(tmp_path: Path, wanted: Standing, umask: int) -> None:
    """Modes are ours, whatever the mask of the process."""
    tree = both(checkout(tmp_path / "tree"))
    compile_apart(tree, here=tree.root, umask=umask)
    assert tree.standing() == wanted
    assert {mode for _, mode in wanted.values()} == {0o644, 0o755}


def test_folders(tmp_path: Path, wanted: Standing) -> None:
    """Where the tree is, what it is called, and where the command is run from does not show."""
    tree = both(checkout(tmp_path / "größe 50% $x/a tree"))
    compile_apart(tree, here=tree.root / "profiles/base")
    assert tree.standing() == wanted


def test_order_of_files(tmp_path: Path, wanted: Standing) -> None:
    """In which order the files were made, and what stands beside them, does not show."""
    tree = Checkout(tmp_path / "tree")
    for source in (NASTY_TREE / "profiles", REPOSITORY / "profiles"):
        for path in sorted(source.rglob("*.toml"), reverse=True):
            tree.write(path.relative_to(source).as_posix().removesuffix(".toml"), path.read_bytes())
    (tree.root / "profiles/notes.md").write_text("nothing")
    (tree.root / "profiles/.hidden.toml").write_text("no TOML")
    tree.compile()
    assert tree.standing() == wanted


def test_the_way_there(tmp_path: Path, wanted: Standing) -> None:
    """One profile after the other gives what all at once give, and so does a detour over another tree."""
    tree = both(checkout(tmp_path / "tree"))
    for name in ("nasty", "k2.6-32k", "k2.6-200k", "k2.6-200k-fp8kv"):
        tree.compile(name)
    assert tree.standing() == wanted
    text = tree.profile("base/service").read_text("utf-8")
    tree.write("base/service", text.replace("30000", "30001"))
    tree.compile()
    assert tree.standing() != wanted
    tree.write("base/service", text)
    tree.compile()
    assert tree.standing() == wanted


def test_users(wanted: Standing) -> None:
    """Another user gets the same bytes and modes."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with open_checkout() as tree:
        give_away(both(tree).root)
        done = run_unprivileged(tree, "compile")
        assert done.code == 0, done.err
        assert tree.standing() == wanted
        assert (tree.out / "MANIFEST").stat().st_uid != os.geteuid()


# --- the wheel -----------------------------------------------------------------------------------


def quietly(*words: str | Path, here: Path) -> subprocess.CompletedProcess[str]:
    """Run a program without this checkout in its path."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(each) for each in words],
        cwd=here,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with Poolproof's wheel and what it depends on; skips where there is no network."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    built = quietly(
        python,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        folder,
        REPOSITORY,
        here=folder,
    )
    if built.returncode == 0:
        (wheel,) = folder.glob("poolproof-*.whl")
        built = quietly(python, "-m", "pip", "install", "--quiet", wheel, here=folder)
    if built.returncode != 0:
        pytest.skip(f"the wheel or its dependencies are not to be had: {built.stderr[-300:]}")
    return folder / "venv"


@pytest.mark.slow
def test_the_wheel_gives_the_same(tmp_path: Path, installed: Path, wanted: Standing) -> None:
    """The installed command, outside any checkout, compiles a tree to the same bytes."""
    tree = both(checkout(tmp_path / "tree"))
    done = quietly(installed / "bin/poolproof", "compile", here=tree.root)
    assert done.returncode == 0, done.stderr
    assert tree.standing() == wanted
    where = quietly(
        installed / "bin/python", "-c", "import compiler; print(compiler.__file__)", here=tmp_path
    )
    assert where.stdout.startswith(str(installed))


@pytest.mark.slow
def test_the_wheel_has_every_verb(tmp_path: Path, installed: Path) -> None:
    """What the verbs read, templates, catalogue and pages, is in the wheel."""
    for words in (
        ("--help",),
        ("catalog", "list"),
        ("catalog", "show", "h100"),
        ("explain", "pool-too-small"),
    ):
        done = quietly(installed / "bin/poolproof", *words, here=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


@pytest.mark.slow
def test_the_installed_size(installed: Path) -> None:
    """Poolproof and all it depends on take less than 25 MB, pip and its like aside."""
    (packages,) = installed.glob("lib/python*/site-packages")
    sizes = {
        path: path.stat().st_size
        for path in packages.rglob("*")
        if path.is_file()
        and path.relative_to(packages).parts[0].split("-")[0]
        not in ("pip", "setuptools", "_distutils_hack")
    }
    assert any("compiler" in path.parts for path in sizes)
    assert sum(sizes.values()) < INSTALLED_MOST
