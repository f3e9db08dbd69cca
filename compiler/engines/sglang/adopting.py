"""A launch that somebody wrote goes in; flags on their way into a profile come out, read by the release's own parser.

A flag that the release refuses does not hide the others: it is set aside, and the rest is read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.engines.adopting import (
    Carried,
    ChangeKind,
    Difference,
    LeftOpen,
    Noted,
    Reading,
    Unfolded,
)
from compiler.engines.engine import ReadFile
from compiler.engines.found import Found
from compiler.engines.sglang.adoptnotes import not_known, repeated
from compiler.engines.sglang.arguments import Entry, Given, Parsed, Parser, RefusalKind, make_parser
from compiler.engines.sglang.arguments.actions import RefusedError
from compiler.engines.sglang.arguments.parsed import Refusal
from compiler.engines.sglang.arguments.words import CONFIG, Word, serve_words
from compiler.engines.sglang.commandline import entry_of
from compiler.engines.sglang.comparing import differences, same, values_of
from compiler.engines.sglang.configunfold import unfolded
from compiler.engines.sglang.grouping import (
    Group,
    argument,
    by_name,
    culprits,
    groups,
    lacks_value,
    places_of,
    texts_of,
    unresolved,
)
from compiler.engines.sglang.unspelling import setting_of_flag, settings_of_flag
from compiler.facts import Action, Release
from compiler.profile import Argument
from compiler.secrecy import is_secret
from compiler.value import Value


_STAND_IN = "model"
"""For a model that the launch does not name."""
_NO_MATTER = frozenset({"model.path", "model.served_name", "serve.host", "serve.port"})
"""Settings that no rule refuses another one for; without its path a model is one that nobody described."""
_NO_SIZE = frozenset(
    {
        "--node-rank",
        "--dist-init-addr",
        "--tokenizer-path",
        "--revision",
        "--chat-template",
        "--log-level",
        "--disaggregation-ib-device",
    }
)
"""Flags that leave memory as it is."""
_ARGUMENTS = frozenset({"$@", "$*", "${@}", "${*}"})
"""What a script is given; it starts without, too."""


@frozen(kw_only=True, eq=False, repr=False)
class Adopter(Value):
    """Reads the launches of one release."""

    release: Release
    parser: Parser

    def unfold(
        self, words: Sequence[str], *, found: Found, unknown: frozenset[int], read_file: ReadFile
    ) -> Unfolded | None:
        """As `engines.adopting.Adopter` says."""
        try:
            own = self._server_words(words, found)
        except RefusedError:
            return None  # `read` says so
        return unfolded(own, unknown=unknown, read_file=read_file, release=self.release)

    def lacks(self, words: Sequence[str], *, found: Found, unknown: frozenset[int]) -> int:
        """As `engines.adopting.Adopter` says."""
        try:
            own = self._server_words(words, found)
        except RefusedError:
            return 0
        return unresolved(own, release=self.release, unknown=unknown)

    def read(self, words: Sequence[str], *, found: Found, unknown: frozenset[int]) -> Reading:
        """As `engines.adopting.Adopter` says."""
        try:
            own = self._server_words(words, found)
        except RefusedError as stopped:
            return Reading(refusal=stopped.refusal.message)
        several = tuple(groups(own, release=self.release))
        secret = tuple(each for each in several if _is_secret(each))
        doubtful = tuple(
            each for each in several if each not in secret and not unknown.isdisjoint(each.places)
        )
        rest = tuple(each for each in several if each not in (*secret, *doubtful))
        parsed, kept, refused = self._parse(rest)
        last = {each.flag: each for each in refused if each.flag}
        needed = next((each.full_name for each in kept if not each.places), None)
        given = (each for each in self._carried(parsed, kept) if each.words)
        return Reading(
            carried=(*given, *last.values()),
            secrets=by_name(secret),
            secrets_by_file=CONFIG in self.release.flags,
            lost=tuple(each.words for each in refused if not each.flag),
            open=tuple(self._open(doubtful)),
            notes=(
                *self._notes(parsed, kept),
                *(not_known(each) for each in doubtful),
                *(repeated(each) for each in refused if each.flag and each is not last[each.flag]),
                *self._other_notes(words, own, found),
            ),
            values=values_of(parsed),
            refused=tuple(last.values()),
            missing={}
            if needed is None
            else settings_of_flag(needed, _STAND_IN, release=self.release),
            refusal=parsed.refusal.message if parsed.refusal is not None else None,
        )

    def differences(self, reading: Reading, argv: Sequence[str]) -> tuple[Difference, ...]:
        """As `engines.adopting.Adopter` says."""
        found = entry_of(argv)
        if found is None:
            raise ValueError("the compiled command starts no server")
        behind = [Word(text, place) for place, text in enumerate(argv)][found.arguments :]
        left = list(reading.refused)
        kept: list[Group] = []
        for group in groups(behind, release=self.release):
            known = next((each for each in left if same(each, group)), None)
            if known is None:
                kept.append(group)
            else:
                left.remove(known)
        got = self.parser.parse(texts_of(kept))
        return (
            *(Difference(dest=each.flag, wanted=each.argument, found=None) for each in left),
            *differences(reading, got),
        )

    def _server_words(self, words: Sequence[str], found: Found) -> tuple[Word, ...]:
        """The words that the server's parser gets; raises `RefusedError` where `sglang serve` stops itself."""
        several = tuple(Word(text, place) for place, text in enumerate(words))[found.arguments :]
        entry = _entry(found)
        return serve_words(several, release=self.release) if entry is Entry.SERVE else several

    def _parse(
        self, several: tuple[Group, ...]
    ) -> tuple[Parsed, tuple[Group, ...], tuple[Carried, ...]]:
        """What the parser reads, from which flags, and those that it refuses.

        A flag that is missing gets a stand-in, which stands nowhere in the launch.
        """
        refused: list[Carried] = []
        if any(each.full_name == CONFIG for each in several):
            # Its file may say what is needed, and is not here.
            rest = tuple(each for each in several if each.full_name != CONFIG)
            several = (*self._stand_in(self.parser.parse(texts_of(rest)).refusal), *several)
        while True:
            parsed = self.parser.parse(texts_of(several))
            needed = self._stand_in(parsed.refusal)
            if needed:
                # In front: behind a `--` it would be no flag, and be needed for ever.
                several = (*needed, *several)
                continue
            guilty = () if parsed.refusal is None else culprits(parsed.refusal, several)
            # No profile can hold a flag that lacks its value, nor would a server start with it.
            if not guilty or any(map(lacks_value, guilty)):
                return parsed, several, tuple(sorted(refused, key=lambda each: each.words))
            several = tuple(each for each in several if each not in guilty)
            refused += [self._refused(each) for each in guilty]

    def _stand_in(self, refusal: Refusal | None) -> tuple[Group, ...]:
        """For the flag that the server cannot do without, where that is why it refuses."""
        if refusal is None or refusal.kind is not RefusalKind.REQUIRED or refusal.flag is None:
            return ()
        return tuple(groups((Word(refusal.flag), Word(_STAND_IN)), release=self.release))

    def _refused(self, group: Group) -> Carried:
        """A refused flag; one without a name for a word that belongs to none."""
        value: object = group.values[0] if len(group.values) == 1 else True
        settings = (
            settings_of_flag(group.full_name, value, release=self.release) if group.flag else {}
        )
        return Carried(
            flag=group.full_name,
            argument=argument(group.values),
            words=group.places,
            settings=settings,
        )

    def _carried(self, parsed: Parsed, kept: Sequence[Group]) -> Iterator[Carried]:
        words = [word for group in kept for word in group.words]
        if parsed.config is not None:
            at = next(at for at, word in enumerate(words) if word.text == CONFIG)
            places = places_of(words, (at, at + 1))
            yield Carried(
                flag=CONFIG,
                argument=parsed.config,
                words=places,
                settings=settings_of_flag(CONFIG, parsed.config, release=self.release),
            )
        without_effect = {each.places for each in parsed.overridden}
        for given in parsed.given:
            if given.places in without_effect or given.flag == CONFIG:
                continue
            yield Carried(
                flag=given.flag,
                argument=self._argument(given, words),
                words=places_of(words, given.places),
                settings=settings_of_flag(given.flag, given.value, release=self.release),
                dest=given.dest,
            )

    def _argument(self, given: Given, words: Sequence[Word]) -> Argument:
        if self.release.flags[given.flag].effect is Action.PAIR:
            return not given.spelling.startswith("--no-")
        texts = [words[place].text for place in given.places]
        _, equals, value = texts[0].partition("=")
        return argument([value, *texts[1:]] if equals else texts[1:])

    def _open(self, doubtful: Sequence[Group]) -> Iterator[LeftOpen]:
        for each in doubtful:
            setting = setting_of_flag(each.full_name, release=self.release)
            if setting in _NO_MATTER or each.words[0].text in _ARGUMENTS:
                continue
            yield LeftOpen(
                flag=each.name or each.words[0].text,
                words=each.places,
                sizes=each.full_name not in _NO_SIZE,
                setting=setting,
            )

    def _notes(self, parsed: Parsed, kept: Sequence[Group]) -> Iterator[Noted]:
        words = [word for group in kept for word in group.words]
        last = {each.dest: each for each in parsed.given}
        for given in parsed.overridden:
            yield Noted(
                kind=ChangeKind.FOLDED,
                text=f"`{_shown(given, words)}` has no effect: `{_shown(last[given.dest], words)}` comes later",
                words=places_of(words, given.places),
            )
        for given in parsed.given:
            places = places_of(words, given.places)
            if given.flag == CONFIG:
                yield Noted(
                    kind=ChangeKind.DROPPED,
                    text=f"`{_shown(given, words)}` is read by nobody: the engine looks for `--config` as a word of its own",
                    words=places,
                )
            elif given.abbreviated:
                text = f"`{given.written}` is an abbreviation of `{given.spelling}`"
                yield Noted(kind=ChangeKind.RENAMED, text=text, words=places)
            deprecated = self.release.flags[given.flag].deprecated
            if deprecated:
                text = f"`{given.written}` is on its way out in {self.release.read_version}: {deprecated}"
                yield Noted(kind=ChangeKind.RENAMED, text=text, words=places)

    def _other_notes(
        self, words: Sequence[str], own: Sequence[Word], found: Found
    ) -> Iterator[Noted]:
        """What `sglang serve` takes for itself."""
        kept = {word.place for word in own}
        gone = tuple(at for at in range(found.arguments, len(words)) if at not in kept)
        if gone:
            text = f"`{' '.join(words[at] for at in gone)}` is for `sglang serve`, and the module needs none of it"
            yield Noted(kind=ChangeKind.DROPPED, text=text, words=gone)


def make_adopter(release: Release) -> Adopter:
    """The adopter of a release."""
    return Adopter(release=release, parser=make_parser(release))


def _entry(found: Found) -> Entry:
    return Entry.SERVE if found.arguments - found.entry > 1 else Entry.MODULE


def _is_secret(group: Group) -> bool:
    return group.name is not None and any(
        is_secret(group.full_name, value) for value in group.values
    )


def _shown(given: Given, words: Sequence[Word]) -> str:
    return " ".join(words[at].text for at in given.places)
