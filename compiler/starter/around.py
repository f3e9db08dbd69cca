"""What stands around the profiles: the pin of the compiler, attributes for git, hooks, and a workflow."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files

from compiler import __version__


HOOKS = ".pre-commit-config.yaml"
WORKFLOW = ".github/workflows/poolproof.yml"
_TEXTS: Mapping[str, str] = {
    ".gitattributes": "gitattributes",
    HOOKS: "pre-commit-config.yaml",
    WORKFLOW: "workflow.yml",
}
"""Where each goes, and the file of this package that it is."""


def files_around() -> Mapping[str, str]:
    """The text of each file, by its path in the new tree."""
    folder = files("compiler.starter") / "files"
    texts = {path: (folder / name).read_text("utf-8") for path, name in _TEXTS.items()}
    filled = {path: text.replace("@REQUIRES@", requires()) for path, text in texts.items()}
    return {"poolproof.toml": _PIN.format(requires=requires()), **filled}


def files_at_root(below: str) -> Mapping[str, str]:
    """What a code host and pre-commit read at a repository's root only, for a tree that lies `below` it."""
    around = files_around()
    return {WORKFLOW: _workflow(around[WORKFLOW], below), HOOKS: _hooks(around[HOOKS], below)}


def _workflow(text: str, below: str) -> str:
    """The steps run in the tree, and only for what changes it."""
    within = re.sub(r"([*?+!\[\]\\])", r"\\\1", below)
    paths = json.dumps([f"{within}/**", WORKFLOW], ensure_ascii=False)
    where = json.dumps(below, ensure_ascii=False)
    return (
        text.replace(
            "on:\n  pull_request:\n", f"{_PATHS}on:\n  pull_request:\n    paths: {paths}\n"
        )
        .replace("    branches: [main]\n", f"    branches: [main]\n    paths: {paths}\n")
        .replace(
            "    steps:\n",
            f"    defaults:\n      run:\n        working-directory: {where}\n    steps:\n",
        )
    )


_PATHS = """\
# It runs where something of the tree changes. A check that a branch requires waits for ever where its workflow does not run:
# if this is one, leave `paths` out.
"""


def _hooks(text: str, below: str) -> str:
    """Each runs in the tree, and is asked for by the tree's files only."""
    there = shlex.quote(below)

    def within(entry: re.Match[str]) -> str:
        words = json.dumps(f"sh -c {shlex.quote(f'cd {there} && {entry[1]}')}", ensure_ascii=False)
        return f"        entry: {words}\n"

    text = text.replace("        pass_filenames: false\n", "")
    text = re.sub(r"        entry: (.*)\n", within, text)
    return re.sub(
        r"        files: \^(.*)\n",
        lambda asked: (
            f"        files: {_quoted(f'^{re.escape(below)}/{asked[1]}')}\n        pass_filenames: false\n"
        ),
        text,
    )


def _quoted(text: str) -> str:
    """A YAML string in which a backslash is one."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


_PIN = """\
# The root of a Poolproof tree. Another compiler than this refuses to compile it, so that everybody gets the same bytes.
requires = "{requires}"
"""


def requires() -> str:
    """The releases of the compiler that write the same as this one: those of its minor number."""
    major, minor = (int(part) for part in __version__.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"
