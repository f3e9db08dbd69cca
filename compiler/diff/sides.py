"""What can be compared: a tree on the disk, a tree of a revision; each as readers and the profiles it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import field, frozen

from compiler.catalog import FolderReader, open_catalog
from compiler.diff.git import Revision
from compiler.inputs import Inputs
from compiler.language.load import NO_PROFILES, SUFFIX, DiskReader
from compiler.value import Value


@frozen(eq=False, repr=False)
class HeldFiles(Value):
    """Files in memory, by path below `profiles/`, as the catalogue reads them."""

    files: Mapping[str, bytes | None]

    def read(self, name: str) -> bytes | None:
        """As in `catalog.Reader`."""
        if name in self.files and self.files[name] is None:
            raise FileNotFoundError(2, "the revision holds no such content here", name)
        return self.files.get(name)

    def list(self, folder: str) -> tuple[str, ...]:
        """As in `catalog.Reader`."""
        start = f"{folder.rstrip('/')}/" if folder else ""
        below = (path.removeprefix(start) for path in self.files if path.startswith(start))
        return tuple(sorted({path.partition("/")[0] for path in below}))


@frozen(eq=False, repr=False)
class HeldProfiles(Value):
    """The same files, as profiles are read."""

    files: HeldFiles

    def read(self, name: str) -> bytes | None:
        """As in `language.load.Reader`."""
        return self.files.read(f"{name}{SUFFIX}")

    def names(self) -> tuple[str, ...]:
        """As in `language.load.Reader`."""
        return tuple(
            sorted(
                path.removesuffix(SUFFIX)
                for path in self.files.files
                if path.endswith(SUFFIX)
                and not any(part.startswith(".") for part in path.split("/"))
                and path.partition("/")[0] not in NO_PROFILES
            )
        )


@frozen(kw_only=True, eq=False, repr=False)
class Side(Value):
    """One tree to compare.

    Attributes:
        label: what it is called in messages.
        names: its profiles.
        texts: the bytes of every profile, boot and catalogue file, by path below `profiles/`; `None` for what cannot be read.
    """

    label: str
    inputs: Inputs
    names: tuple[str, ...]
    texts: Mapping[str, bytes | None] = field(repr=False)


def side_of_revision(revision: Revision) -> Side:
    """The tree of a revision; it has no profiles when there was no `profiles/` yet."""
    files = HeldFiles(revision.files)
    reader = HeldProfiles(files)
    short = revision.commit[:12]
    same = revision.commit.startswith(revision.name)
    return Side(
        label=short if same else f"{revision.name} ({short})",
        inputs=Inputs(reader=reader, catalog=open_catalog(files)),
        names=reader.names(),
        texts={path: each for path, each in revision.files.items() if _is_read(path)},
    )


SUFFIXES = (SUFFIX, ".json")
"""What profiles, boots, and catalogue files end with."""


def _is_read(path: str) -> bool:
    """Whether a file below `profiles/` is a profile, a boot, or an entry; the editors' `schema.json` beside them is none."""
    first, *_ = parts = path.split("/")
    hidden = any(part.startswith(".") for part in parts)
    return not hidden and path.endswith(SUFFIXES if first in NO_PROFILES else SUFFIX)


def side_of_folder(profiles: Path, *, label: str, inputs: Inputs | None = None) -> Side:
    """The tree of a folder `profiles` on the disk; `inputs` where it is open already.

    Raises:
        OSError: when it cannot be listed.
    """
    reader = DiskReader(profiles)
    names = reader.names()
    facts = FolderReader(profiles)
    texts = {f"{name}{SUFFIX}": _bytes(facts, f"{name}{SUFFIX}") for name in names}
    for folder in sorted(NO_PROFILES):
        texts.update({path: _bytes(facts, path) for path in _below(profiles / folder, profiles)})
    opened = inputs or Inputs(reader=reader, catalog=open_catalog(facts))
    return Side(label=label, inputs=opened, names=names, texts=texts)


def _below(folder: Path, root: Path) -> Iterator[str]:
    several = (path.relative_to(root).as_posix() for path in sorted(folder.rglob("*")))
    yield from filter(_is_read, several)


def _bytes(files: FolderReader, path: str) -> bytes | None:
    try:
        return files.read(path)
    except OSError:
        return None
