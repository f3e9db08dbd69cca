"""A launch goes in; the release it is read by comes out: the one asked for, the one it names, or the newest that takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence

from attrs import evolve, field, frozen

from compiler.adopt.launch import Change, Launch, Word
from compiler.adopt.pinned import RELEASE
from compiler.catalog import Catalog
from compiler.diagnostics import Diagnostic, error
from compiler.engines.adopting import Adopter, ChangeKind, LeftOpen, Reading, unread
from compiler.engines.engine import ReadFile
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.value import Value


_ANY = "any release"
_ENDLESS = 1 << 30
_IN_IMAGE = re.compile(f"[:-]{RELEASE}")


@frozen(kw_only=True, eq=False, repr=False)
class Shelf(Value):
    """The adopters of all releases, each made when it is first asked for; give the same one for many launches.

    Attributes:
        read_file: reads a file that a launch names for its engine; without it none is read.
    """

    catalog: Catalog
    read_file: ReadFile | None = None
    made: MutableMapping[tuple[str, str], tuple[Release, Adopter] | None] = field(factory=dict)

    def adopter(self, engine: str, version: str) -> tuple[Release, Adopter] | None:
        """The release with its adopter; `None` when nobody described it, or wrote none."""
        key = (engine, version)
        if key not in self.made:
            release, _ = self.catalog.release(engine, version)
            adopter = None if release is None else ENGINES[engine].adopter(release)
            self.made[key] = None if release is None or adopter is None else (release, adopter)
        return self.made[key]


@frozen(kw_only=True, eq=False, repr=False)
class Chosen(Value):
    """A release, and the launch as it reads it: with what a file that it names sets among its words."""

    launch: Launch
    version: str
    release: Release
    adopter: Adopter
    reading: Reading
    changes: tuple[Change, ...] = ()


def choose(
    launch: Launch, shelf: Shelf, *, version: str | None, newest: bool
) -> tuple[Chosen | None, tuple[Diagnostic, ...]]:
    """Read a launch by a release; with `newest` the newest one is taken even where it refuses flags.

    Errors: `release-unknown`, and `reader-missing`.
    """
    words = tuple(word.text for word in launch.command.words)
    unknown = frozenset(at for at, word in enumerate(launch.command.words) if word.unknown)
    tagged = None if version is not None else _named(launch, shelf)
    pinned = _pinned(launch, shelf) if version is None and tagged is None else None
    named = version or tagged or pinned
    if named is not None:
        chosen = _read(launch, shelf, named, words, unknown)
        if chosen is None:
            return None, (_unknown(launch, shelf, named),)
        if pinned is not None:
            return _by_file(chosen, launch), ()
        return (chosen if tagged is None else _by_image(chosen, launch)), ()
    known = tuple(reversed(shelf.catalog.versions(launch.engine)))
    if newest:
        chosen = _read(launch, shelf, known[0], words, unknown) if known else None
        if chosen is None:
            return None, (_unknown(launch, shelf, _ANY),)
        fits = _fitting(launch, shelf, chosen, words, unknown)
        return _assumed(chosen, launch, newest=True, fits=fits), ()
    tried = _tried(known, launch, shelf, words, unknown)
    if not tried:
        return None, (_unknown(launch, shelf, _ANY),)
    return _assumed(_least_faulty(tried), launch, newest=False), ()


def _tried(
    known: Sequence[str],
    launch: Launch,
    shelf: Shelf,
    words: Sequence[str],
    unknown: frozenset[int],
) -> Sequence[Chosen]:
    """The launch by the releases that may refuse least of it, newest first; by one alone where that refuses nothing.

    A release that surely refuses more than another does is not asked: its parser takes long to make.
    """
    lacks = [(_lacks(launch, shelf, each, words, unknown), at) for at, each in enumerate(known)]
    tried: dict[int, Chosen] = {}
    best = (_ENDLESS, 0)
    for least, at in (lacks[0], *sorted(lacks[1:])) if known else ():
        if at and (least, at) > best:
            continue
        chosen = _read(launch, shelf, known[at], words, unknown)
        if chosen is None:
            continue
        tried[at] = chosen
        best = min(best, (_fault_count(chosen.reading), at))
    if best[0] == 0:
        return (tried[best[1]],)
    return [tried[at] for at in sorted(tried)]


def _lacks(
    launch: Launch, shelf: Shelf, version: str, words: Sequence[str], unknown: frozenset[int]
) -> int:
    known = shelf.adopter(launch.engine, version)
    return 0 if known is None else known[1].lacks(words, found=launch.found, unknown=unknown)


def _least_faulty(tried: Sequence[Chosen]) -> Chosen:
    """The one that refuses least; but what only lacks flags of the newest is no better guess, since that says what is wrong."""
    best, newest = min(tried, key=lambda each: _fault_count(each.reading)), tried[0]
    names = {each.flag for each in best.reading.refused}
    only_lacks = names and not best.reading.lost and not newest.reading.refused
    return newest if only_lacks and _has(newest.release, names) else best


def _fitting(
    launch: Launch, shelf: Shelf, refusing: Chosen, words: Sequence[str], unknown: frozenset[int]
) -> Chosen | None:
    """The newest release that has every flag which the newest of all refuses, when it takes the whole."""
    names = {each.flag for each in refusing.reading.refused}
    if not names or refusing.reading.lost:
        return None
    for version in reversed(shelf.catalog.versions(launch.engine)):
        known = shelf.adopter(launch.engine, version)
        if version != refusing.version and known is not None and _has(known[0], names):
            fits = _read(launch, shelf, version, words, unknown)
            return fits if fits is not None and not _fault_count(fits.reading) else None
    return None


def _has(release: Release, names: set[str]) -> bool:
    return all(each in release.flags or each in release.aliases for each in names)


def _read(
    launch: Launch, shelf: Shelf, version: str, words: Sequence[str], unknown: frozenset[int]
) -> Chosen | None:
    known = shelf.adopter(launch.engine, version)
    if known is None:
        return None
    release, adopter = known
    launch, changes, left = _unfolded(launch, shelf, adopter, words, unknown)
    if changes:
        words = tuple(word.text for word in launch.command.words)
        unknown = frozenset(at for at, word in enumerate(launch.command.words) if word.unknown)
    reading = adopter.read(words, found=launch.found, unknown=unknown)
    reading = evolve(reading, open=(*left, *reading.open)) if left else reading
    if release.read_version != version:
        text = f"{launch.engine} {version} was not read: the flags of {release.read_version} are taken for its own"
        changes = (*changes, Change(kind=ChangeKind.ASSUMED, text=text))
    return Chosen(
        launch=launch,
        version=version,
        release=release,
        adopter=adopter,
        reading=reading,
        changes=changes,
    )


def _unfolded(
    launch: Launch, shelf: Shelf, adopter: Adopter, words: Sequence[str], unknown: frozenset[int]
) -> tuple[Launch, tuple[Change, ...], tuple[LeftOpen, ...]]:
    """The launch with what a file that it names sets, what there is to say about that, and what it leaves open."""
    if shelf.read_file is None:
        return launch, (), ()
    found = launch.found
    whole = adopter.unfold(words, found=found, unknown=unknown, read_file=shelf.read_file)
    if whole is None:
        return launch, (), ()
    own = launch.command.words
    behind = (
        own[at] if own[at].text == text else Word(text=text, span=own[at].span)
        for text, at in whole.words
    )
    command = evolve(launch.command, words=(*own[: found.arguments], *behind))
    changes = (
        Change(kind=each.kind, text=each.text, span=own[each.words[-1]].span)
        for each in whole.notes
    )
    return evolve(launch, command=command), tuple(changes), whole.open


def _fault_count(reading: Reading) -> int:
    """How much of a launch a release refuses."""
    return len(reading.refused) + len(reading.lost) + (1000 if reading.refusal is not None else 0)


def _named(launch: Launch, shelf: Shelf) -> str | None:
    """The release that the image's tag names; a count that its builder keeps of his own is none.

    Of an image that is called otherwise than the engine (`sglang-runtime:0.6.1`) only a tag with a `v` is one of its own.
    """
    image = launch.command.image
    names = "|".join(map(re.escape, ENGINES[launch.engine].image_names))
    if image is None or image.unknown or not re.search(names, image.text):
        return None
    beside = re.search(f"(?:{names})[:-]?{RELEASE}", image.text)
    found = beside or _IN_IMAGE.search(image.text)
    newest = next(iter(reversed(shelf.catalog.versions(launch.engine))), "")
    if found is None or found[1].partition(".")[0] != newest.partition(".")[0]:
        return None
    is_own = beside is not None or "v" in found[0]
    return found[1] if is_own or found[1] in shelf.catalog.versions(launch.engine) else None


def _pinned(launch: Launch, shelf: Shelf) -> str | None:
    """The release that the launch's file installs, where it is one of those of today's count."""
    pinned = launch.command.pinned
    newest = next(iter(reversed(shelf.catalog.versions(launch.engine))), "")
    if pinned is None or pinned.text.partition(".")[0] != newest.partition(".")[0]:
        return None
    return pinned.text


def _by_file(chosen: Chosen, launch: Launch) -> Chosen:
    """A word about where the release comes from."""
    pinned = launch.command.pinned
    text = f"{launch.engine} {chosen.version}: the one that its file installs, or runs in"
    taken = Change(
        kind=ChangeKind.ASSUMED, text=text, span=pinned.span if pinned is not None else None
    )
    return evolve(chosen, changes=(*chosen.changes, taken))


def _by_image(chosen: Chosen, launch: Launch) -> Chosen:
    """A word about where the release comes from; one before the release itself is not the same."""
    image = launch.command.image
    if image is None:
        return chosen
    early = re.search(rf"{re.escape(chosen.version)}((?:rc|a|b|\.dev)\d+)", image.text)
    told = f", of which `{chosen.version}{early[1]}` is an early build" if early else ""
    text = f"{launch.engine} {chosen.version}{told}: the tag of the image names it"
    taken = Change(kind=ChangeKind.ASSUMED, text=text, span=image.span)
    return evolve(chosen, changes=(*chosen.changes, taken))


def _how_to_tell(launch: Launch) -> str:
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


def _assumed(chosen: Chosen, launch: Launch, *, newest: bool, fits: Chosen | None = None) -> Chosen:
    why = "the newest" if newest else "the newest that takes all of its flags"
    if not newest and _fault_count(chosen.reading):
        why = "the newest that takes most of its flags"
    text = f"{launch.engine} {chosen.version}, {why}: {_how_to_tell(launch)}"
    if fits is not None:
        text += f"; {fits.version} takes all of its flags"
    return evolve(chosen, changes=(*chosen.changes, Change(kind=ChangeKind.ASSUMED, text=text)))


def _unknown(launch: Launch, shelf: Shelf, version: str) -> Diagnostic:
    versions = shelf.catalog.versions(launch.engine)
    if version in versions or (versions and version == _ANY):
        return unread(launch.engine)
    return error(
        "release-unknown",
        f"nobody described {launch.engine} {version}",
        notes=(f"known releases: {', '.join(_known(launch, shelf)) or 'none'}",),
        help=(f"say another: `--engine {launch.engine}@VERSION`",),
    )


def _known(launch: Launch, shelf: Shelf) -> Iterator[str]:
    yield from shelf.catalog.versions(launch.engine)
