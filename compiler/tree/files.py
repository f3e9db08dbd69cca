"""What a compile produces: files with their paths below `out/`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import field, frozen

from compiler.diagnostics import Diagnostic, error, printable
from compiler.tree.places import parents, path_fault
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class OutFile(Value):
    """One file to write.

    Attributes:
        path: relative to `out/`, in the folder of its profile (`k2.6-200k/ct200/kimi-k2.6.service`).
        text: its content; written as UTF-8, line ends as they are.
        executable: mode 755, else 644.
        profile: the profile it comes from.
    """

    path: str
    text: str = field(repr=False)
    executable: bool = False
    profile: str


@frozen(eq=False, repr=False)
class OutTree(Value):
    """All files of a compile, by path. Made by `assemble`; a path that leaves its folder is a bug here."""

    files: Mapping[str, OutFile]

    def __attrs_post_init__(self) -> None:
        """Whoever made the tree, nothing in it is written outside `out/`."""
        for path, file in self.files.items():
            if path != file.path or _fault(file) is not None:
                raise ValueError(f"not a path of a tree: {path!r}")

    def of(self, profiles: frozenset[str] | None) -> tuple[OutFile, ...]:
        """The files of these profiles, sorted by path; `None` means all."""
        return tuple(
            file
            for _, file in sorted(self.files.items())
            if profiles is None or file.profile in profiles
        )


def assemble(files: Iterable[OutFile]) -> OutTree | tuple[Diagnostic, ...]:
    """The tree of these files, or why they make none.

    Errors: `out-path` for a path that cannot be, two files with one path, and a file where another needs a folder.
    """
    taken: dict[str, OutFile] = {}
    faults: list[Diagnostic] = []
    for file in files:
        fault = _fault(file)
        if fault is None and file.path in taken:
            fault = _written_twice(taken[file.path], file)
        if fault is None:
            taken[file.path] = file
        else:
            faults.append(_refused(file, fault))
    folders = {path.rpartition("/")[0] for path in taken}
    if any(above in taken for folder in folders for above in (*parents(folder), folder)):
        faults += _in_the_way(taken)
    return tuple(faults) or OutTree(taken)


def _in_the_way(taken: Mapping[str, OutFile]) -> Iterator[Diagnostic]:
    """Files that need a folder where another file is."""
    for _, file in sorted(taken.items()):
        for above in parents(file.path):
            if above in taken:
                yield _refused(file, f"needs a folder where the file `{above}` is written")


def _fault(file: OutFile) -> str | None:
    fault = path_fault(file.path)
    if fault is None and not file.path.startswith(f"{file.profile}/"):
        return f"is outside the folder of its profile `{printable(file.profile)}`"
    return fault


def _written_twice(first: OutFile, second: OutFile) -> str:
    if first.profile == second.profile:
        return f"is written twice by `{first.profile}`"
    return f"is written by both `{first.profile}` and `{second.profile}`"


def _refused(file: OutFile, fault: str) -> Diagnostic:
    return error(
        "out-path",
        f"the output path `{printable(file.path)}` {fault}",
        help=("rename the profile, the target, or the unit",),
    )
