"""What stands around the profiles: the pin of the compiler, attributes for git, hooks, and a workflow."""

from __future__ import annotations

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


_PIN = """\
# The root of a Poolproof tree. Another compiler than this refuses to compile it, so that everybody gets the same bytes.
requires = "{requires}"
"""


def requires() -> str:
    """The releases of the compiler that write the same as this one: those of its minor number."""
    major, minor = (int(part) for part in __version__.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"
