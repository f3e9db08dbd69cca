"""A launch goes in; the release it is read by comes out: the one asked for, the one it names, or the newest that takes it."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cached_property

from attrs import evolve, field, frozen

from compiler.adopt.launch import Change, Launch, Word
from compiler.adopt.release import (
    by_file,
    by_image,
    how_to_tell,
    installed,
    other_than_image,
    tagged,
)
from compiler.catalog import Catalog
from compiler.checks.unknown import READ_FLAGS
from compiler.diagnostics import Diagnostic, error, listed
from compiler.engines.adopting import Adopter, ChangeKind, Reading, Unfolded, unread
from compiler.engines.engine import ReadFile
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.value import Value


_ANY = "any release"
_ENDLESS = 1 << 30


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


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class _Asking(Value):
    """A launch that releases are asked about, each by its adopter on the shelf."""

    launch: Launch
    shelf: Shelf

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The launch as its engine gets it, as far as that is known."""
        return tuple(word.text for word in self.launch.command.words)

    @cached_property
    def unknown(self) -> frozenset[int]:
        """Which of the words are known at start only."""
        return frozenset(at for at, word in enumerate(self.launch.command.words) if word.unknown)

    def adopter(self, version: str) -> tuple[Release, Adopter] | None:
        """A release with its adopter, as the shelf has them."""
        return self.shelf.adopter(self.launch.engine, version)


def choose(
    launch: Launch, shelf: Shelf, *, version: str | None, newest: bool
) -> tuple[Chosen | None, tuple[Diagnostic, ...]]:
    """Read a launch by a release; with `newest` the newest one is taken even where it refuses flags.

    Errors: `release-unknown`, and `reader-missing`.
    """
    asking = _Asking(launch=launch, shelf=shelf)
    versions = shelf.catalog.versions(launch.engine)
    image = None if version is not None else tagged(launch, versions)
    pinned = installed(launch, versions) if version is None and image is None else None
    named = version or image or (None if pinned is None else pinned.text)
    if named is not None:
        chosen = _read(asking, named)
        if chosen is None:
            return None, (_unknown(launch, shelf, named),)
        if pinned is not None:
            said: Change | None = by_file(launch, pinned)
        elif image is not None:
            said = by_image(launch, version=named)
        else:
            said = other_than_image(launch, versions, version=named)
        return (chosen if said is None else evolve(chosen, changes=(*chosen.changes, said))), ()
    known = tuple(reversed(versions))
    if newest:
        chosen = _read(asking, known[0]) if known else None
        if chosen is None:
            return None, (_unknown(launch, shelf, _ANY),)
        fits = _fitting(asking, chosen)
        return _assumed(chosen, launch, newest=True, fits=fits), ()
    tried = _tried(asking, known)
    if not tried:
        return None, (_unknown(launch, shelf, _ANY),)
    chosen = _least_faulty(tried)
    at = known.index(chosen.version)
    driven = at > 0 and _fault_count(chosen.reading) == 0
    newer = _read(asking, known[at - 1]) if driven else None
    return _assumed(chosen, launch, newest=False, newer=newer), ()


def _tried(asking: _Asking, known: Sequence[str]) -> Sequence[Chosen]:
    """The launch by the releases that may refuse least of it, newest first; by one alone where that refuses nothing.

    A release that surely refuses more than another does is not asked: its parser takes long to make.
    """
    lacks = [(_lacks(asking, each), at) for at, each in enumerate(known)]
    tried: dict[int, Chosen] = {}
    best = (_ENDLESS, 0)
    for least, at in (lacks[0], *sorted(lacks[1:])) if known else ():
        if at and (least, at) > best:
            continue
        chosen = _read(asking, known[at])
        if chosen is None:
            continue
        tried[at] = chosen
        best = min(best, (_fault_count(chosen.reading), at))
    if best[0] == 0:
        return (tried[best[1]],)
    return [tried[at] for at in sorted(tried)]


def _lacks(asking: _Asking, version: str) -> int:
    known = asking.adopter(version)
    if known is None:
        return 0
    return known[1].lacks(asking.words, found=asking.launch.found, unknown=asking.unknown)


def _least_faulty(tried: Sequence[Chosen]) -> Chosen:
    """The one that refuses least; but what only lacks flags of the newest is no better guess, since that says what is wrong."""
    best, newest = min(tried, key=lambda each: _fault_count(each.reading)), tried[0]
    names = {each.flag for each in best.reading.refused}
    only_lacks = names and not best.reading.lost and not newest.reading.refused
    return newest if only_lacks and _has(newest.release, names) else best


def _fitting(asking: _Asking, refusing: Chosen) -> Chosen | None:
    """The newest release that has every flag which the newest of all refuses, when it takes the whole."""
    names = {each.flag for each in refusing.reading.refused}
    if not names or refusing.reading.lost:
        return None
    for version in reversed(asking.shelf.catalog.versions(asking.launch.engine)):
        known = asking.adopter(version)
        if version != refusing.version and known is not None and _has(known[0], names):
            fits = _read(asking, version)
            return fits if fits is not None and not _fault_count(fits.reading) else None
    return None


def _has(release: Release, names: set[str]) -> bool:
    return all(each in release.flags or each in release.aliases for each in names)


def _read(asking: _Asking, version: str) -> Chosen | None:
    known = asking.adopter(version)
    if known is None:
        return None
    release, adopter = known
    launch, changes, whole = _unfolded(asking, adopter)
    if launch is not asking.launch:
        asking = evolve(asking, launch=launch)
    reading = adopter.read(asking.words, found=launch.found, unknown=asking.unknown)
    if whole is not None:
        refusal = whole.refusal or reading.refusal
        reading = evolve(reading, refusal=refusal, open=(*whole.open, *reading.open))
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
    asking: _Asking, adopter: Adopter
) -> tuple[Launch, tuple[Change, ...], Unfolded | None]:
    """The launch with what a file that it names sets, what there is to say about that, and what came of the file."""
    launch, read_file = asking.launch, asking.shelf.read_file
    if read_file is None:
        return launch, (), None
    found = launch.found
    whole = adopter.unfold(asking.words, found=found, unknown=asking.unknown, read_file=read_file)
    if whole is None or whole.refusal is not None:
        return launch, (), whole
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
    return evolve(launch, command=command), tuple(changes), whole


def _fault_count(reading: Reading) -> int:
    """How much of a launch a release refuses."""
    return len(reading.refused) + len(reading.lost) + (1000 if reading.refusal is not None else 0)


def _assumed(
    chosen: Chosen,
    launch: Launch,
    *,
    newest: bool,
    fits: Chosen | None = None,
    newer: Chosen | None = None,
) -> Chosen:
    """The same with a word about how it was chosen; `newer` is the release after it, where that was tried."""
    why = "the newest" if newest else "the newest that takes all of its flags"
    if newer is not None:
        why += f" ({_stops(newer)})"
    if not newest and _fault_count(chosen.reading):
        why = "the newest that takes most of its flags"
    text = f"{launch.engine} {chosen.version}, {why}: {how_to_tell(launch)}"
    if fits is not None:
        text += f"; {fits.version} takes all of its flags"
    return evolve(chosen, changes=(*chosen.changes, Change(kind=ChangeKind.ASSUMED, text=text)))


def _stops(refusing: Chosen) -> str:
    """What a release does not take of a launch, as a clause."""
    reading, words = refusing.reading, refusing.launch.command.words
    flags = [f"`{each.flag}`" for each in reading.refused]
    lost = [f"`{words[at].text}`" for places in reading.lost for at in places[:1]]
    if flags or lost:
        return f"{refusing.version} does not take {listed([*flags, *lost])}"
    return f"{refusing.version} does not start with it: {reading.refusal}"


def _unknown(launch: Launch, shelf: Shelf, version: str) -> Diagnostic:
    versions = shelf.catalog.versions(launch.engine)
    if version in versions or (versions and version == _ANY):
        return unread(launch.engine)
    return error(
        "release-unknown",
        f"nobody described {launch.engine} {version}",
        notes=(f"known releases: {', '.join(versions) or 'none'}",),
        help=(
            f"say another: `--engine {launch.engine}@VERSION`",
            *(() if version == _ANY else (f"or {READ_FLAGS}",)),
        ),
    )
