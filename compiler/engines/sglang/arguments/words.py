"""The words the parser is given: those of the command line with their places, and those a file or an entry puts among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.engines.sglang.arguments.actions import HELP, Met, RefusedError
from compiler.engines.sglang.arguments.parsed import Given, Refusal, RefusalKind
from compiler.facts import Action, Release
from compiler.value import Value
from compiler.versions import version_key


CONFIG = "--config"
"""The flag of a file of settings, see `configfile`."""
_MODEL_NAMES = ("--model-path", "--model")
_MODEL_TYPE = "--model-type"
_OTHER_SERVER = "diffusion"
_MODEL_TYPES = ("auto", "llm", _OTHER_SERVER)


@frozen(eq=False, repr=False)
class Word(Value):
    """One word, and its index in the command line; no index for a word of the file of `--config`."""

    text: str
    place: int | None = None


def words_of(argv: Sequence[str]) -> tuple[Word, ...]:
    """The words of a command line."""
    return tuple([Word(text, place) for place, text in enumerate(argv)])


def at_least(release: Release, version: str) -> bool:
    """Whether a release is a given one or a later one; one whose number says nothing is taken for the newest."""
    key, other = version_key(release.version), version_key(version)
    return key is None or other is None or key >= other


def serve_words(words: Sequence[Word], *, release: Release) -> tuple[Word, ...]:
    """What `sglang serve` hands to the server's parser; raises `RefusedError` where it stops itself."""
    if not at_least(release, "0.5.5"):
        raise _stopped(f"the command `sglang` is not there in {release.version}, only the module")
    if any(word.text in {"-h", "--help"} for word in words):
        raise RefusedError(HELP)
    words = _without_model_type(words) if at_least(release, "0.5.10") else tuple(words)
    if at_least(release, "0.5.16") and words and not words[0].text.startswith("-"):
        words = (Word(_MODEL_NAMES[0], words[0].place), *words)
    names = _MODEL_NAMES if at_least(release, "0.5.11") else _MODEL_NAMES[:1]
    if not _names_model(words, names):
        raise _stopped("Error: --model-path is required. Please provide the path to the model.")
    return tuple(words)


def _without_model_type(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words without the choice between a language model and a diffusion model."""
    kept: list[Word] = []
    chosen = "auto"
    rest = iter(words)
    for word in rest:
        name, equals, value = word.text.partition("=")
        if name != _MODEL_TYPE:
            kept.append(word)
            continue
        following = None if equals else next(rest, None)
        if not equals and following is None:
            raise _stopped(f"Error: {_MODEL_TYPE} requires a value.")
        chosen = following.text if following is not None else value
    if chosen not in _MODEL_TYPES:
        raise _stopped(
            f"Error: invalid {_MODEL_TYPE} '{chosen}'. Valid values are: {', '.join(_MODEL_TYPES)}."
        )
    if chosen == _OTHER_SERVER:
        raise _stopped("this starts the server for diffusion models, which has a parser of its own")
    return tuple(kept)


def _names_model(words: Sequence[Word], names: Sequence[str]) -> bool:
    texts = [word.text for word in words]
    return any(text in names for text in texts[:-1]) or any(
        text.startswith(f"{name}=") for text in texts for name in names
    )


def _stopped(message: str) -> RefusedError:
    return RefusedError(Refusal(kind=RefusalKind.ENTRY, message=message))


def place(met: Sequence[Met], words: Sequence[Word]) -> Iterator[Given]:
    """Each flag that was met with the words that made it.

    The parser meets flags in the order of the words. Between two of them stand only values, which the first took.
    """
    at = 0
    for each in met:
        while words[at].text != each.spelling and not _is(words[at].text, each.spelling):
            at += 1
        name, equals, _ = words[at].text.partition("=")
        end = at + 1 if equals else at + 1 + _count(each, words, at + 1)
        places = [word.place for word in words[at:end] if word.place is not None]
        yield Given(
            flag=each.flag.name,
            spelling=each.spelling,
            written=name,
            dest=None if each.flag.effect is Action.NOTHING else each.flag.destination,
            value=each.value,
            places=tuple(dict.fromkeys(places)),
        )
        at = end


def _is(word: str, spelling: str) -> bool:
    """Whether a word is an option string, or the beginning of it that the parser completed."""
    name = word.partition("=")[0]
    return name == spelling or (name.startswith("--") and spelling.startswith(name))


def _count(met: Met, words: Sequence[Word], after: int) -> int:
    """How many words behind an option string, those from `after` on, are its value."""
    if met.words is not None:
        return met.words
    return int(after < len(words) and not words[after].text.startswith("-"))
