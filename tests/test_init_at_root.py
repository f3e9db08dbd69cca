"""`init --at-root`: in a repository that holds more, what is read at its root only is written there, and works there."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from checkouts import Done, environment, run


QWEN = (
    *("--model", "Qwen/Qwen3-8B", "--gpu", "h100", "--count", "1"),
    *("--host", "a", "--context", "8192"),
)
WORKFLOW, HOOKS = ".github/workflows/poolproof.yml", ".pre-commit-config.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a repository."""
    (tmp_path / ".git").mkdir()
    return tmp_path


def init(root: Path, *words: str, here: str = ".") -> Done:
    return run("init", *words, here=root / here)


@pytest.mark.parametrize("below", ["deploy/llm", "a b/it's", "x+y/[z]"])
def test_the_workflow_at_the_root_runs_in_the_tree(root: Path, below: str) -> None:
    """Its steps run in the tree's folder, for changes of the tree; below lies what git and the compiler read there."""
    made = init(root, below, "--at-root", *QWEN)
    assert made.code == 0, made.err
    assert "neither GitHub" not in made.err
    job = yaml.safe_load((root / WORKFLOW).read_text())
    assert job["jobs"]["poolproof"]["defaults"] == {"run": {"working-directory": below}}
    on = job[True]  # YAML 1.1 takes `on` for that
    pattern = re.sub(r"([*?+!\[\]])", r"\\\1", below) + "/**"
    assert on["pull_request"]["paths"] == on["push"]["paths"] == [pattern, WORKFLOW]
    assert on["push"]["branches"] == ["main"]
    assert not (root / below / WORKFLOW).exists()
    assert not (root / below / HOOKS).exists()
    assert (root / below / ".gitattributes").exists()
    assert (root / below / "poolproof.toml").exists()


@pytest.mark.parametrize("below", ["deploy/llm", "a b/it's", "x+y/[z]"])
def test_the_hooks_at_the_root_run_in_the_tree(root: Path, below: str) -> None:
    """Each is asked for by the tree's own files, is given none of them, and runs where the tree is."""
    assert init(root, below, "--at-root", *QWEN).code == 0
    (local,) = yaml.safe_load((root / HOOKS).read_text())["repos"]
    fmt, check = local["hooks"]
    assert (fmt["pass_filenames"], check["pass_filenames"]) == (False, False)
    for name, asks in (("profiles/x.toml", (True, True)), ("out/x", (False, True))):
        found = tuple(bool(re.search(each["files"], f"{below}/{name}")) for each in (fmt, check))
        assert found == asks
        assert not any(re.search(each["files"], name) for each in (fmt, check))
    for each in (fmt, check):
        words = shlex.split(each["entry"])  # as pre-commit does
        assert words[:2] == ["sh", "-c"]
        where, _, verb = words[2].partition(" && ")
        told = subprocess.run(
            ["sh", "-c", f"{where} && pwd"],
            cwd=root,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert Path(told.stdout.removesuffix("\n")) == root / below
        assert verb in {"poolproof fmt", "poolproof compile --check"}


def test_a_tree_that_stands_gets_them_alone(root: Path) -> None:
    """What the note of a plain `init` names does it: the files come to the root, and those that nobody reads are named."""
    init(root, "deploy/llm", *QWEN)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    made = init(root, "--at-root", here="deploy/llm")
    assert made.code == 0, made.err
    assert made.out == f"wrote ../../{WORKFLOW}\nwrote ../../{HOOKS}\n"
    assert made.err == "".join(
        f"remove {each}, which nobody reads there\n" for each in (WORKFLOW, HOOKS)
    )
    after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert {*after} - {*before} == {root / WORKFLOW, root / HOOKS}
    assert before.items() <= after.items()
    made = init(root, "deploy/llm", "--at-root", *QWEN)
    assert made.code == 2
    assert "leave `--model` out" in made.err


def test_nothing_at_the_root_is_written_over(root: Path) -> None:
    """A workflow that is there keeps all from being written; hooks that are there stay, and those to add are shown."""
    (root / HOOKS).write_text("repos: []\n")
    made = init(root, "one", "--at-root", *QWEN)
    assert made.code == 0, made.err
    assert (root / HOOKS).read_text() == "repos: []\n"
    told = made.err.partition(
        f"kept {HOOKS}, which is the repository's own; put these below its `repos`:\n"
    )[2]
    shown = yaml.safe_load(told.partition("the workflow installs")[0])
    assert [each["entry"] for each in shown[0]["hooks"]] == [
        "sh -c 'cd one && poolproof fmt'",
        "sh -c 'cd one && poolproof compile --check'",
    ]
    job = "a job in it with `working-directory: two` can check this tree, too"
    made = init(root, "two", "--at-root", *QWEN)
    assert (made.code, (root / "two").exists()) == (1, False)
    assert f"nothing was written:\n  `{WORKFLOW}` is there already; {job}\n" in made.err
    made = init(root, "two", *QWEN)
    assert (made.code, "--at-root" in made.err) == (0, False)
    assert f"{WORKFLOW} is there already: {job}" in made.err
    made = init(root, "two", "--at-root")
    assert (made.code, made.out) == (1, "")


def test_a_root_that_is_none(tmp_path: Path, root: Path) -> None:
    """At the root itself, and where there is no repository, the option is refused, and says why."""
    made = init(root, ".", "--at-root", *QWEN)
    assert made.code == 2
    assert "`.` is the root of its repository: leave the option out" in made.err
    (tmp_path / ".git").rmdir()
    made = init(tmp_path, "x", "--at-root", *QWEN)
    assert made.code == 2
    assert "no folder above `x` has a `.git`" in made.err
    assert [*tmp_path.iterdir()] == []


def test_a_tree_behind_a_link_lies_where_the_link_leads(tmp_path: Path) -> None:
    """The repository is the one that git finds, with the tree's path in it; the tree is named as it was asked for."""
    real = tmp_path / "repo" / "real"
    real.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "lnk").symlink_to(real)
    made = init(tmp_path, "lnk/two", "--at-root", *QWEN)
    assert made.code == 0, made.err
    assert "wrote lnk/two/poolproof.toml" in made.out
    assert "next: cd lnk/two && " in made.err
    job = yaml.safe_load((tmp_path / "repo" / WORKFLOW).read_text())["jobs"]["poolproof"]
    assert job["defaults"] == {"run": {"working-directory": "real/two"}}


def test_a_repository_behind_a_link_is_named_by_it(tmp_path: Path) -> None:
    """What is printed has the root as it was written where the link leads to the root or above it."""
    (tmp_path / "real" / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "lnk").symlink_to(tmp_path / "real")
    made = init(tmp_path, "lnk/repo/two", "--at-root", *QWEN)
    assert made.code == 0, made.err
    assert f"wrote lnk/repo/{WORKFLOW}" in made.out


def test_a_link_out_of_a_repository_leads_to_none(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of what a link leads to elsewhere the repository has nothing, and its workflow would check nothing."""
    (root / "lnk").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    made = init(root, "lnk/two", "--at-root", *QWEN)
    assert made.code == 2
    assert "no folder above `lnk/two` has a `.git`" in made.err
