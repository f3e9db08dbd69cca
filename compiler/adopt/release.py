"""A launch and its file in; the release that they name, by the tag of an image or by what is installed, and a word about it out.

A script installs before it launches (`pip install "sglang[all]==0.4.6"`), an image where it is built; a program names the image
that it runs in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.adopt.launch import Change, Launch, Word
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES
from compiler.source import Source


_RELEASE = r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)"
"""As a package or a tag writes it."""
_IN_IMAGE = re.compile(f"[:-]{_RELEASE}")


def tagged(launch: Launch, versions: Sequence[str]) -> str | None:
    """The release that the image's tag names; a count that its builder keeps of his own is none.

    Of an image that is called otherwise than the engine (`sglang-runtime:0.6.1`) only a tag with a `v` is one of its own.
    """
    image = launch.command.image
    names = _image_names(launch.engine)
    if image is None or image.unknown or not re.search(names, image.text):
        return None
    beside = re.search(f"(?:{names})[:-]?{_RELEASE}", image.text)
    found = beside or _IN_IMAGE.search(image.text)
    newest = versions[-1] if versions else ""
    if found is None or found[1].partition(".")[0] != newest.partition(".")[0]:
        return None
    is_own = beside is not None or "v" in found[0]
    return found[1] if is_own or found[1] in versions else None


def _image_names(engine: str) -> str:
    """A part of a pattern: what the images that hold an engine are called."""
    return "|".join(map(re.escape, ENGINES[engine].image_names))


def other_than_image(launch: Launch, versions: Sequence[str], *, version: str) -> Change | None:
    """A word about a release that is asked for where the image's tag names another one."""
    image, named = launch.command.image, tagged(launch, versions)
    if image is None or named is None or named == version:
        return None
    text = f"{launch.engine} {version}, as `--engine` asks: the tag of the image names {named} (`{image.text}`)"
    return Change(kind=ChangeKind.ASSUMED, text=text, span=image.span)


def pinned_release(source: Source, engine: str, *, of_images: bool) -> Word | None:
    """The one release of an engine that a file pins, with its place; `None` where it pins none, or several.

    `of_images`: a tag of an image counts, too, as it does where the launch has no image of its own. Comments do not.
    """
    pattern = rf"\b{re.escape(engine)}(?:\[[\w,\s-]*\])?\s*==\s*{_RELEASE}"
    if of_images:
        pattern += rf"|(?:{_image_names(engine)})[\w.-]*:{_RELEASE}"
    found = {
        next(filter(None, each.groups())): each
        for each in re.finditer(pattern, source.text)
        if "#" not in source.text[source.text.rfind("\n", 0, each.start()) + 1 : each.start()]
    }
    if len(found) != 1:
        return None
    ((version, match),) = found.items()
    return Word(text=version, span=source.span(match.start(), match.end()))


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
