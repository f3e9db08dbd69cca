"""The files of a git revision, read without a checkout. The only place that runs git; it writes nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error
from compiler.value import Value
from compiler.workspace import PROFILES


# No lock for a refreshed index, no download of what a partial clone left out, no question to a person, plain English.
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_LINK, _MODULE = "120000", "160000"
_INSTEAD = "check it out beside this tree, and compare with the folder: `poolproof diff DIR`"
_MOST_LINKS = 8  # one after another; more is a loop
_NAMED = 6  # branches and tags that a message names


@frozen(kw_only=True, eq=False, repr=False)
class Revision(Value):
    """What a revision holds below `profiles/`.

    Attributes:
        name: the revision as it was asked for.
        commit: its full hash.
        files: bytes by path below `profiles/`; `None` for a link that leads nowhere, and for what a partial clone lacks.
    """

    name: str
    commit: str
    files: Mapping[str, bytes | None]


def has_revision(root: Path, name: str) -> bool:
    """Whether a repository around `root` has a commit of that name; no when there is no git or no repository."""
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return done is not None and done.returncode == 0


def was_there(root: Path, path: Path) -> bool:
    """Whether a commit of the repository around `root` had a file below `root`, which is no more; no where nothing tells."""
    if not path.is_relative_to(root) or os.path.lexists(path):
        return False
    file = path.relative_to(root).as_posix()
    listed = ("--name-only", "--relative", "--no-renames", "-m", "--format=", "-z")
    done = _git(root, "--literal-pathspecs", "log", "-1", *listed, "--", file)
    # Of a folder git lists the files below it.
    return done is not None and os.fsencode(file) in done.stdout.split(b"\0")


def branches_and_tags(root: Path) -> tuple[str, ...]:
    """The names that a repository around `root` has for its revisions; none where there is no git or no repository."""
    listed = _git(root, "for-each-ref", "--format=%(refname:short)")
    return tuple(listed.stdout.decode(errors="replace").split()) if listed else ()


def read_revision(root: Path, name: str) -> Revision | Diagnostic:
    """The revision of the repository that `root`, a tree, is in.

    Errors: `git-unusable` (no git, no repository, or git refuses), `revision-unknown`.
    """
    asked = _git(root, "rev-parse", "--is-shallow-repository", "--show-prefix")
    if asked is None:
        return _unusable(
            "git is not installed", "install git, or compare with a folder: `poolproof diff DIR`"
        )
    if asked.returncode != 0:
        return _unusable(
            _reason(asked.stderr), "run this inside a repository, or compare with a folder"
        )
    shallow, prefix = (*asked.stdout.decode(errors="surrogateescape").split("\n"), "")[:2]
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found is None or found.returncode != 0:
        return _unknown(name, root, shallow=shallow == "true")
    commit = found.stdout.decode().strip()
    folder = _folder(root, commit, f"{prefix}{PROFILES}")
    if isinstance(folder, Diagnostic):
        return folder
    listed = _git(root, "ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{folder}/")
    if listed is None or listed.returncode != 0:
        return _unusable(_reason(listed.stderr if listed else b""), "")
    entries = _entries(listed.stdout, below=f"{folder}/")
    blobs = _blobs(root, [oid for _, oid in entries.values()])
    return Revision(name=name, commit=commit, files=_files(entries, blobs))


def _folder(root: Path, commit: str, path: str) -> str | Diagnostic:
    """Where the profiles of a revision stand: the folder itself, or where a link of that name leads within the revision."""
    at = path
    for _ in range(_MOST_LINKS):
        mode, oid = _mode(root, commit, at)
        if mode == _MODULE:
            return _unusable(f"`{at}` is a submodule there, whose files are elsewhere", _INSTEAD)
        if mode != _LINK:
            return at
        target = _blobs(root, [oid]).get(oid, b"").decode(errors="surrogateescape")
        led = _led_to(at, target)
        if not led:
            return _unusable(f"`{at}` is a link there, which leads to `{target}`", _INSTEAD)
        at = led
    return _unusable(f"`{path}` is a link there, which leads to itself", _INSTEAD)


def _mode(root: Path, commit: str, path: str) -> Entry:
    """What a path is in a revision; empty where there is nothing."""
    done = _git(root, "ls-tree", "-z", "--full-tree", commit, "--", path)
    words = (done.stdout if done else b"").decode(errors="surrogateescape").split()
    return (words[0], words[2]) if len(words) > 2 else ("", "")  # noqa: PLR2004 - mode, kind, name


Entry = tuple[str, str]
"""A mode and the name of an object."""


def _entries(listing: bytes, *, below: str) -> dict[str, Entry]:
    """The blobs of a listing by their path below a folder; submodules are left out."""
    found: dict[str, Entry] = {}
    for row in listing.decode(errors="surrogateescape").split("\0"):
        head, _, path = row.partition("\t")
        words = head.split(" ")
        if len(words) == 3 and words[1] == "blob" and path.startswith(below):  # noqa: PLR2004 - mode, kind, name
            found[path.removeprefix(below)] = (words[0], words[2])
    return found


def _blobs(root: Path, names: Sequence[str]) -> Mapping[str, bytes]:
    """The bytes of objects, by one process for all (git-cat-file(1), "Batch output")."""
    several = list(dict.fromkeys(names))
    done = _git(
        root, "cat-file", "--batch", given="".join(f"{each}\n" for each in several).encode()
    )
    found: dict[str, bytes] = {}
    rest = memoryview(done.stdout if done else b"")
    while rest:
        line, _, _ = bytes(rest[:128]).partition(b"\n")
        rest = rest[len(line) + 1 :]
        words = line.decode(errors="replace").split(" ")
        if len(words) == 3 and words[1] == "blob":  # noqa: PLR2004 - name, kind, size; a missing one has no size
            size = int(words[2])
            found[words[0]] = bytes(rest[:size])
            rest = rest[size + 1 :]
    return found


def _files(entries: Mapping[str, Entry], blobs: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
    files: dict[str, bytes | None] = {}
    for path in sorted(entries):
        at: str | None = path
        for _ in range(_MOST_LINKS):
            if at is None or at not in entries or entries[at][0] != _LINK:
                break
            at = _led_to(at, blobs.get(entries[at][1], b"").decode(errors="surrogateescape"))
        entry = entries.get(at) if at is not None else None
        files[path] = blobs.get(entry[1]) if entry and entry[0] != _LINK else None
    return files


def _led_to(path: str, target: str) -> str | None:
    """Where a link leads, below the same folder; `None` for out of it."""
    parts = path.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return None if target.startswith("/") else "/".join(parts)


def _git(
    root: Path, *words: str, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes] | None:
    """What git answers; `None` when there is no git."""
    try:
        return subprocess.run(  # noqa: S603 - a list of words, and no shell
            ["git", "-C", str(root), *words],  # noqa: S607 - the user's own git, as their PATH has it
            env={**os.environ, **_QUIET},
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            check=False,
        )
    except (OSError, ValueError):  # not there, not executable; a NUL in a name
        return None


def _reason(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().split("\n")
    return lines[0].removeprefix("fatal: ").strip().rstrip(".") or "git gives no reason"


def _unusable(reason: str, help_: str) -> Diagnostic:
    return error(
        "git-unusable",
        f"no revision can be read: {reason[:1].lower()}{reason[1:]}",
        help=(help_,) if help_ else (),
    )


def _there_are(names: Sequence[str]) -> tuple[str, ...]:
    """The names that there are instead, the first few: `main` is nothing like `master`."""
    if not names:
        return ()
    said = ", ".join(f"`{each}`" for each in names[:_NAMED])
    more = "" if len(names) <= _NAMED else f", and {len(names) - _NAMED} more"
    return (f"there {'is' if len(names) == 1 else 'are'} {said}{more}",)


def _unknown(name: str, root: Path, *, shallow: bool) -> Diagnostic:
    from compiler.near import near  # noqa: PLC0415 - only a mistake pays for it

    names = branches_and_tags(root)
    if name == "HEAD":
        advice: tuple[str, ...] = ("commit something first, or compare with a folder",)
    elif shallow:
        advice = (
            "this clone is shallow, so it may lack that commit: run `git fetch --unshallow`",
            "in continuous integration, check out with the whole history (`fetch-depth: 0`)",
        )
    else:
        similar = near(name, names)
        advice = (f"a similar name exists: `{similar}`",) if similar else _there_are(names)
    if name == "HEAD":
        summary = "there is no commit yet"
    elif name.startswith((".", "/")):  # which no revision does
        summary, advice = f"there is no folder `{name}`", ()
    else:
        summary = f"there is no revision `{name}`"
    return error("revision-unknown", summary, help=advice)
