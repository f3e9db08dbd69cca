"""A tree that lies below the root of a repository: what a code host and pre-commit read at that root only."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from compiler.cli.exits import Exit
from compiler.cli.newfiles import write_new
from compiler.starter import HOOKS, WORKFLOW, files_around, files_at_root
from compiler.value import Value
from compiler.workspace import is_there


OPTION = "--at-root"
_OF_A_SERVICE = (
    *("model", "gpu", "count", "host", "context"),
    *("kv_dtype", "model_path", "python", "user"),
)
"""The options that say something of a new service, and are nothing where none is given."""


@frozen(kw_only=True, eq=False, repr=False)
class Repository(Value):
    """The repository that a tree lies in, and the tree's path below its root."""

    root: Path
    below: str

    @property
    def workflow(self) -> Path:
        """Where the workflow goes, as from where we stand."""
        return Path(os.path.relpath(self.root / WORKFLOW))

    @property
    def hooks(self) -> Path:
        """Where the hooks go, likewise."""
        return Path(os.path.relpath(self.root / HOOKS))

    def files(self) -> Mapping[Path, str]:
        """What goes there; no hooks where some are there already, which `told` lists."""
        texts = files_at_root(self.below)
        files = {self.workflow: texts[WORKFLOW]}
        return files if self.has_hooks() else {**files, self.hooks: texts[HOOKS]}

    def has_hooks(self) -> bool:
        """Whether the repository has hooks, or anything else that is in the way of them."""
        return is_there(self.hooks)

    def tell(self, *, had_hooks: bool) -> None:
        """What is left to do by hand; the lines are copied, and so are not broken for a narrow terminal."""
        if not had_hooks:
            return
        lead = f"kept {self.hooks}, which is the repository's own; put these below its `repos`:"
        _, _, repos = files_at_root(self.below)[HOOKS].partition("repos:\n")
        click.echo(f"{lead}\n{repos.rstrip()}", err=True)

    def another_job(self) -> str:
        """What checks this tree, too, where the workflow's place is taken."""
        return f"a job in it with `working-directory: {self.below}` can check this tree, too"


def repository_of(folder: Path) -> Repository | None:
    """The repository that a folder lies in, as git has it: where links lead; `None` where there is none, or the folder is its root."""
    whole = Path(os.path.realpath(folder))
    if is_there(whole / ".git"):
        return None
    root = next((each for each in whole.parents if is_there(each / ".git")), None)
    if root is None:
        return None
    written = Path(os.path.abspath(folder))  # noqa: PTH100 - `resolve` would lose what is shown
    shown = next((each for each in written.parents if os.path.realpath(each) == str(root)), root)
    return Repository(root=shown, below=whole.relative_to(root).as_posix())


def asked_repository(folder: Path) -> Repository:
    """The same for who asks for its root."""
    found = repository_of(folder)
    if found is None:
        said = (
            f"`{folder}` is the root of its repository: leave the option out"
            if is_there(folder / ".git")
            else f"no folder above `{folder}` has a `.git`, so that there is no repository whose root it could be"
        )
        raise click.BadParameter(said, param_hint=OPTION)
    return found


def files_for(folder: Path, repository: Repository | None) -> Mapping[Path, str]:
    """What stands around the profiles of a new tree, with its path as from where we stand."""
    own = {folder / path: text for path, text in files_around().items()}
    if repository is None:
        return own
    elsewhere = {folder / WORKFLOW, folder / HOOKS}
    kept = {path: text for path, text in own.items() if path not in elsewhere}
    return {**kept, **repository.files()}


def in_the_way(paths: Iterable[Path], repository: Repository | None) -> Iterator[str]:
    """Those of some new files that are there already."""
    for path in paths:
        if is_there(path):
            at_root = repository is not None and path == repository.workflow
            job = f"; {repository.another_job()}" if repository is not None and at_root else ""
            yield f"`{path}` is there already{job}"


def write_at_root(folder: Path, given: Mapping[str, Any]) -> int:
    """These alone, for a tree that stands."""
    repository = asked_repository(folder)
    named = next((each for each in _OF_A_SERVICE if given[each]), None)
    if named is not None:
        option = f"--{named.replace('_', '-')}"
        said = f"a tree stands at `{folder}`, and gets the files at the root alone: leave `{option}` out"
        raise click.BadParameter(said, param_hint=OPTION)
    taken = tuple(in_the_way((repository.workflow,), repository))
    if taken:
        click.echo("\n".join(("nothing was written:", *(f"  {each}" for each in taken))), err=True)
        return Exit.REFUSED
    had_hooks = repository.has_hooks()
    code = write_new(repository.files(), folder)
    if code == Exit.OK:
        repository.tell(had_hooks=had_hooks)
        for path in (folder / WORKFLOW, folder / HOOKS):
            if is_there(path):
                click.echo(f"remove {path}, which nobody reads there", err=True)
    return code


def told_below(folder: Path) -> Iterator[str]:
    """That what `init` wrote is read by nobody where the tree lies below a repository's root, and what mends it."""
    found = repository_of(folder)
    if found is None:
        return
    lies = f"this tree lies in a repository, `{found.root}`, and neither GitHub nor pre-commit reads files below its root"
    if is_there(found.workflow):
        yield f"{lies}; {found.workflow} is there already: {found.another_job()}"
        return
    again = f"poolproof init {shlex.quote(str(folder))} {OPTION}"
    yield f"{lies}: `{again}` writes {found.workflow} and {found.hooks} there"
