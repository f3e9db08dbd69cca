"""What a container mounts goes in; the paths of a launch in it come out as the host has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from posixpath import normpath

from attrs import evolve

from compiler.adopt.files import Files
from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Command, Launch, Mount, Word
from compiler.adopt.masking import masked
from compiler.adopt.ports import PORTS
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind


_VOLUMES = frozenset({"-v", "--volume", "Volume", "--bind", "-B", "volumes"})
_MOUNTS = frozenset({"--mount", "Mount"})
CHANGING = _VOLUMES | _MOUNTS | PORTS
"""Options that decide what the server finds, and where it is found."""
_FOLDER = "PWD"
_FROM_FOLDER = re.compile(r"(?:\.(?=/|$)|(?P<up>\.\.)(?=/|$)|\$PWD\b|\$\{PWD\}|\$\(pwd\)|`pwd`)/?")
"""How a folder is told from the one that a launch is run in."""
_CACHE = "/root/.cache/huggingface"
"""Where the images of engines, which run as root, keep what they load (huggingface.co, `HF_HOME`)."""
_HUB_NAME = re.compile(r"(?:--[\w-]+=)?[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PATHS = re.compile(r"""(?:^|(?<=[=@"':,]))/(?!/)(?:(?![:,]/)[^"'])*""")
"""The paths of a word: the whole, those of a list, behind a name (`name=/path`) or `@`, and the strings of JSON."""
_NO_FILES = ("--served-model-name", "--fastapi-root-path", "--uvicorn-access-log-exclude-prefixes")
"""Flags of servers whose values are names or addresses that clients use, however they begin."""
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_SET_IT = "set its place on the host in the profile"
_SOURCES = ("source", "src")
_TARGETS = ("target", "dst", "destination")


def mounts_of(options: Iterable[tuple[str, Word | None]]) -> tuple[Mount, ...]:
    """The folders of the host that options put into a container; a volume that has a name is none of them."""
    told = (_mount(name, value) for name, value in options if value is not None)
    return tuple(each for each in told if each is not None)


def mount_of(source: Word, target: str) -> Mount | None:
    """One of them, by its two paths; a source without any slash is the name of a volume."""
    if not target.startswith("/"):
        return None
    is_path = source.text.startswith(("/", ".", "~", "$")) or bool(source.unknown)
    what = "" if is_path or not source.text else f"volume `{source.text}`"
    return Mount(source=source, target=target.rstrip("/") or "/", what=what)


def _mount(name: str, value: Word) -> Mount | None:
    # What is not known may hold a colon of its own: `${DIR:-/srv}`.
    text, signs = masked(value)
    if name in _VOLUMES:
        source, colon, rest = text.partition(":")
        target = rest.partition(":")[0] if colon else ""
    elif name in _MOUNTS:
        told = dict(each.partition("=")[::2] for each in text.split(","))
        source = next((told[each] for each in _SOURCES if each in told), "")
        target = next((told[each] for each in _TARGETS if each in told), "")
    else:
        return None
    unknown = tuple(part for sign, part in signs.items() if chr(sign) in source)
    return mount_of(evolve(value, text=source.translate(signs), unknown=unknown), target)


def moved(path: str, mounts: Sequence[Mount]) -> Word | None:
    """A path of a container as the host has it; `None` where it is below no folder of the host."""
    mount = _mount_at(path, mounts)
    if mount is None or mount.what:
        return None
    rest = str(PurePosixPath(path).relative_to(mount.target))
    text = mount.source.text if rest == "." else f"{mount.source.text.rstrip('/')}/{rest}"
    return evolve(mount.source, text=text)


def _mount_at(path: str, mounts: Sequence[Mount]) -> Mount | None:
    at = PurePosixPath(path)
    fitting = [each for each in mounts if at.is_relative_to(each.target)]
    # Of two for the same place the last one counts, and the inner one before the outer.
    return max(reversed(fitting), key=lambda each: len(each.target)) if fitting else None


def inside_of(mounts: Sequence[Mount], files: Files) -> Files:
    """Files as a script in a container names them."""

    def there(path: str) -> str | None:
        word = moved(path, mounts)
        return None if word is None or word.unknown or word.text.startswith("~") else word.text

    return evolve(files, moved=there)


def on_host(launch: Launch, given: Mapping[str, str], *, here: str | None = None) -> Launch:
    """A launch in a container with the host's paths, and a word about each; `given` may have the folder it is run in.

    `here` is the folder that names of files are told from: Compose knows the folder of its own file.
    """
    command, image = launch.command, launch.command.image
    if image is None:
        return launch
    folder = given.get(_FOLDER)
    own_folder = _folder_of(image.span, here) if command.form is Form.COMPOSE else None
    from_file = folder is None and own_folder is not None
    mounts = tuple(_absolute(each, folder or own_folder) for each in command.mounts)
    noted = tuple(_from_file(command.mounts, mounts, own_folder) if from_file else ())
    command = evolve(command, mounts=mounts, changes=(*command.changes, *noted))
    own: list[str] = []
    words = [*command.words[: launch.found.arguments]]
    flag = ""
    for word in command.words[launch.found.arguments :]:
        flag = word.text.partition("=")[0] if word.text.startswith("--") else flag
        is_file = not (flag and any(each.startswith(flag) for each in _NO_FILES))
        words.append(_moved(word, command, own) if is_file else word)
    environment = {
        name: _moved_variable(word, command, own) for name, word in command.environment.items()
    }
    changes = (*command.changes, *_kept_models(command))
    if own:
        shown = ", ".join(f"`{each}`" for each in dict.fromkeys(own))
        text = f"the paths in the container are taken to be the host's own, too: {shown}"
        taken = Change(kind=ChangeKind.ASSUMED, text=text, span=image.span)
        changes = (*changes, taken)
    told = evolve(command, words=tuple(words), environment=environment, changes=changes)
    return evolve(launch, command=told)


def _folder_of(span: Span | None, here: str | None) -> str | None:
    """The folder of the file that a place is in; `None` where it is not known."""
    if span is None or not span.file:
        return None
    folder = PurePosixPath(here or "") / PurePosixPath(span.file).parent
    return normpath(str(folder)) if folder.is_absolute() else None


def _from_file(
    before: Sequence[Mount], after: Sequence[Mount], folder: str | None
) -> Iterator[Change]:
    """A word about the folders that Compose takes from where its file lies."""
    placed = [one for one, other in zip(before, after, strict=True) if one is not other]
    if placed:
        shown = ", ".join(f"`{each.source.text}`" for each in placed)
        text = f"{shown}: from the folder of the compose file, which is `{folder}` here; say another, `--var {_FOLDER}=...`"
        yield Change(kind=ChangeKind.ASSUMED, text=text, span=placed[0].source.span, first=True)


def _moved_variable(word: Word, command: Command, own: list[str]) -> Word:
    """A variable with its path as the host has it; one of several paths is only told of."""
    parts = word.text.split(":")
    if len(parts) == 1 or word.unknown or not all(each.startswith("/") for each in parts):
        return _moved(word, command, own)
    inside = [each for each in parts if _mount_at(each, _inner(command)) is not None]
    if not inside:
        return word
    shown = ", ".join(f"`{each}`" for each in inside)
    change = _noted(word, f"`{word.text}` has paths of the container in it ({shown}): {_SET_IT}")
    return evolve(word, changes=(*word.changes, change))


def _inner(command: Command) -> list[Mount]:
    return [each for each in command.mounts if each.target != "/"]


def _absolute(mount: Mount, folder: str | None) -> Mount:
    """A folder that is told from the one a launch is run in, where that is known: `./models`, `$(pwd)/models`."""
    text = mount.source.text
    found = _FROM_FOLDER.match(text)
    if folder is None or mount.what or found is None:
        return mount
    unknown = tuple(each for each in mount.source.unknown if each not in found[0])
    up = found["up"] or ""
    path = normpath(f"{folder}/{up}/{text[found.end() :]}")
    return evolve(mount, source=evolve(mount.source, text=path, unknown=unknown))


def _kept_models(command: Command) -> Iterator[Change]:
    """A word about the folder that models are loaded into, where the host has it under another path."""
    is_named = any(each.unknown or _HUB_NAME.fullmatch(each.text) for each in command.words)
    if "HF_HOME" in command.environment or not is_named:
        return
    mount = _mount_at(_CACHE, _inner(command))
    if mount is None:
        return
    there = moved(_CACHE, command.mounts)
    kept = f"models that are given by name are kept in the container's `{_CACHE}`"
    text = (
        f"{kept}, which is `{there.text}` on the host: set `HF_HOME` under `[env]` to that folder, or they are loaded again"
        if there is not None
        else f"{kept}, in its {mount.what}: they are loaded again, unless `HF_HOME` under `[env]` is a folder that has them"
    )
    yield Change(kind=ChangeKind.DROPPED, text=text, span=mount.source.span, first=True)


def _moved(word: Word, command: Command, own: list[str]) -> Word:
    """A word as the host has it; what has no other place there is added to `own`."""
    if word.unknown:
        return word
    parts: list[str] = []
    at = 0
    for found in _PATHS.finditer(word.text):
        there, change = _place(found[0], word, command.mounts, own)
        word = word if change is None else evolve(word, changes=(*word.changes, change))
        parts += [word.text[at : found.start()], there]
        at = found.end()
    return evolve(word, text="".join((*parts, word.text[at:]))) if parts else word


def _place(
    path: str, word: Word, mounts: Sequence[Mount], own: list[str]
) -> tuple[str, Change | None]:
    """One path of a word as the host has it, and a word about it."""
    there = moved(path, mounts)
    if there is None:
        mount = _mount_at(path, mounts)
        if mount is None:
            own += [path]
            return path, None
        return path, _noted(word, f"`{path}` is in the container's {mount.what}: {_SET_IT}")
    if there.unknown or not there.text.startswith("/"):
        why = _why_open(there)
        text = f"`{path}` is the container's own path: on the host it is `{there.text}`, {why}"
        return path, _noted(word, text)
    if there.text == path:
        return path, None
    text = f"`{path}` in the container is `{there.text}` on the host"
    return there.text, Change(kind=ChangeKind.ASSUMED, text=text, span=word.span, first=True)


def _noted(word: Word, text: str) -> Change:
    return Change(kind=ChangeKind.UNKNOWN, text=text, span=word.span, first=True)


def _why_open(there: Word) -> str:
    """Why a folder has no path, and how to say it."""
    if _FROM_FOLDER.match(there.text) is not None:
        return f"from the folder that it is run in: say that folder, `--var {_FOLDER}=...`"
    named = _NAMED.match(there.text.replace("~", "$HOME", 1))
    told = f": say `--var {named[1]}=...`" if named is not None else f": {_SET_IT}"
    return f"which is known at start only{told}"
