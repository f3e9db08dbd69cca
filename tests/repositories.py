"""Real git repositories around a tree, for what compares revisions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from checkouts import Checkout


_AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; the same author and time wherever the tests run, and nobody's settings."""
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **_AUTHOR},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


def commit(tree: Checkout, message: str = "as it stands") -> str:
    """Commit all of a tree; the commit's hash."""
    git(tree.root, "add", "--all")
    git(tree.root, "commit", "--quiet", "--message", message)
    return git(tree.root, "rev-parse", "HEAD")


def repository(tree: Checkout) -> Checkout:
    """The tree as a repository with one commit, of few files and folders, for it is copied often."""
    git(tree.root, "init", "--quiet", "--initial-branch", "main", "--template=")
    commit(tree)
    git(tree.root, "repack", "-a", "-d", "--quiet")
    return tree


def everything(root: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file below a folder, the repository's own among them."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }
