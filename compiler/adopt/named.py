"""The release that a launch names by itself, by its image's tag or by what its file installs, and a word about that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.adopt.launch import Change, Launch, Word
from compiler.adopt.pinned import RELEASE
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES


_IN_IMAGE = re.compile(f"[:-]{RELEASE}")


def tagged(launch: Launch, versions: Sequence[str]) -> str | None:
    """The release that the image's tag names; a count that its builder keeps of his own is none.

    Of an image that is called otherwise than the engine (`sglang-runtime:0.6.1`) only a tag with a `v` is one of its own.
    """
    image = launch.command.image
    names = "|".join(map(re.escape, ENGINES[launch.engine].image_names))
    if image is None or image.unknown or not re.search(names, image.text):
        return None
    beside = re.search(f"(?:{names})[:-]?{RELEASE}", image.text)
    found = beside or _IN_IMAGE.search(image.text)
    newest = versions[-1] if versions else ""
    if found is None or found[1].partition(".")[0] != newest.partition(".")[0]:
        return None
    is_own = beside is not None or "v" in found[0]
    return found[1] if is_own or found[1] in versions else None


def other_than_image(launch: Launch, versions: Sequence[str], *, version: str) -> Change | None:
    """A word about a release that is asked for where the image's tag names another one."""
    image, named = launch.command.image, tagged(launch, versions)
    if image is None or named is None or named == version:
        return None
    text = f"{launch.engine} {version}, as `--engine` asks: the tag of the image names {named} (`{image.text}`)"
    return Change(kind=ChangeKind.ASSUMED, text=text, span=image.span)


def installed(launch: Launch, versions: Sequence[str]) -> Word | None:
    """The release that the launch's file installs, where it is one of those of today's count."""
    pinned = launch.command.pinned
    newest = versions[-1] if versions else ""
    if pinned is None or pinned.text.partition(".")[0] != newest.partition(".")[0]:
        return None
    return pinned


def by_file(launch: Launch, pinned: Word) -> Change:
    """A word about where the release comes from."""
    text = f"{launch.engine} {pinned.text}: the one that its file installs, or runs in"
    return Change(kind=ChangeKind.ASSUMED, text=text, span=pinned.span)


def by_image(launch: Launch, *, version: str) -> Change | None:
    """A word about where the release comes from; one before the release itself is not the same."""
    image = launch.command.image
    if image is None:
        return None
    early = re.search(rf"{re.escape(version)}((?:rc|a|b|\.dev)\d+)", image.text)
    told = f", of which `{version}{early[1]}` is an early build" if early else ""
    text = f"{launch.engine} {version}{told}: the tag of the image names it"
    return Change(kind=ChangeKind.ASSUMED, text=text, span=image.span)


def how_to_tell(launch: Launch) -> str:
    """How somebody learns which release a launch runs on."""
    image, engine = launch.command.image, launch.engine
    say = f"`--engine {engine}@VERSION`"
    if image is None:
        return f"the launch does not say its release ({say})"
    if image.unknown:
        names = dict.fromkeys(
            name for each in image.unknown if (name := each.strip("${}").partition(":")[0])
        )
        shown = " ".join(f"--var {each}=..." for each in names if each.isidentifier())
        return f"the image is known at start only ({f'`{shown}`, or ' if shown else ''}{say})"
    ask = f"python3 -c 'import {engine}; print({engine}.__version__)'"
    return f"the image `{image.text}` does not name its release: `{ask}` in it does ({say})"
