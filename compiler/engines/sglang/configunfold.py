"""The words of a launch in; out the same with those of the file of `--config` among them, as the engine puts them there."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.engines.adopting import ChangeKind, LeftOpen, Noted, Unfolded
from compiler.engines.engine import NoText, ReadFile
from compiler.engines.sglang.arguments.actions import RefusedError
from compiler.engines.sglang.arguments.configfile import (
    config_path,
    config_words,
    no_config,
    unread_config,
    without_config,
)
from compiler.engines.sglang.arguments.words import CONFIG, Word
from compiler.facts import Release
from compiler.secrecy import is_secret


def unfolded(
    own: Sequence[Word], *, unknown: frozenset[int], read_file: ReadFile, release: Release
) -> Unfolded | None:
    """The server's words with the file's in front, which come from the word that names it."""
    try:
        path = config_path(own, release=release)
        if path is None:
            return None
        at = next(at for at, word in enumerate(own) if word.text == CONFIG)
        places = tuple(word.place for word in own[at : at + 2] if word.place is not None)
        if not unknown.isdisjoint(places):
            return None
        text = read_file(path)
        if text is NoText.FOLDER:
            return Unfolded(refusal=no_config(path))
        if isinstance(text, NoText):
            note = Noted(kind=ChangeKind.ASSUMED, text=unread_config(path, text), words=places)
            how = f"put a copy of `{path}` where the launch names it, or write what it sets into the profile"
            left = LeftOpen(flag=CONFIG, words=places, how=how)
            return Unfolded(words=_placed(own, places[-1]), notes=(note,), open=(left,))
        held = config_words(text, path=path, release=release)
    except RefusedError as stopped:
        return Unfolded(refusal=stopped.refusal.message)
    if _holds_keys_alone(held):
        return None  # a profile names such a file itself
    words = (*held, *without_config(own))
    said = f"`{CONFIG} {path}` is left out: what the file sets stands in the profile"
    note = Noted(kind=ChangeKind.DROPPED, text=said, words=places)
    return Unfolded(words=_placed(words, places[-1]), notes=(note,))


def _holds_keys_alone(held: Sequence[Word]) -> bool:
    pairs = zip(held[::2], held[1::2], strict=False)
    return len(held) % 2 == 0 and all(is_secret(name.text, value.text) for name, value in pairs)


def _placed(words: Sequence[Word], otherwise: int) -> tuple[tuple[str, int], ...]:
    return tuple((word.text, otherwise if word.place is None else word.place) for word in words)
