"""A command line goes in, what a release's parser makes of it comes out: settings with the words that set them, or its refusal.

`parser` builds the parser, on Python's argparse, and `actions` say what flags do; `words` and `configfile` put together what it is given; `parsed` has the
types.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from compiler.engines.sglang.arguments.actions import Namespace, RefusedError
from compiler.engines.sglang.arguments.parsed import Entry, Given, Parsed, Refusal, RefusalKind
from compiler.engines.sglang.arguments.parser import FlagParser, flag_parser
from compiler.engines.sglang.arguments.words import CONFIG, Word, place, serve_words, words_of
from compiler.facts import Action, Release
from compiler.value import Value


__all__ = [
    "ConfigReader",
    "Entry",
    "Given",
    "Parsed",
    "Parser",
    "Refusal",
    "RefusalKind",
    "make_parser",
    "parse",
]

ConfigReader = Callable[[str], str | None]
"""The path of a file of `--config` to its text; `None` when there is no such file."""


@frozen(kw_only=True, eq=False, repr=False)
class _Read(Value):
    """The words as the parser got them, and what it wrote before it ended or refused."""

    words: tuple[Word, ...]
    namespace: Namespace
    config: str | None
    refusal: Refusal | None


@frozen(kw_only=True, eq=False, repr=False)
class Parser(Value):
    """The parser of one release; it keeps nothing from one command line to the next."""

    release: Release
    _parser: FlagParser = field(alias="parser", repr=False)

    def parse(
        self,
        argv: Sequence[str],
        *,
        entry: Entry = Entry.MODULE,
        read_config: ConfigReader | None = None,
    ) -> Parsed:
        """Read the words behind `sglang.launch_server` or `sglang serve`.

        Without `read_config` the file of `--config` is not known; what it might set is then not missed.
        """
        read = self._read(argv, entry=entry, read_config=read_config)
        return Parsed(
            values={}
            if read.refusal is not None
            else ChainMap(read.namespace.settings(), self._parser.unset),
            given=tuple(place(read.namespace.met_, read.words)),
            config=read.config,
            config_read=read.config is None or read_config is not None,
            refusal=read.refusal,
        )

    def written(
        self,
        argv: Sequence[str],
        *,
        entry: Entry = Entry.MODULE,
        read_config: ConfigReader | None = None,
    ) -> tuple[Mapping[str, Any], Refusal | None]:
        """What `parse` says that flags write, each setting's last value; it costs less where no place is asked for."""
        read = self._read(argv, entry=entry, read_config=read_config)
        written = {
            each.flag.destination: each.value
            for each in read.namespace.met_
            if each.flag.effect is not Action.NOTHING
        }
        return written, read.refusal

    def config(self, argv: Sequence[str], *, entry: Entry = Entry.MODULE) -> str | None:
        """The path of the file of `--config`; `None` where there is none to read."""
        try:
            words = words_of(argv)
            if entry is Entry.SERVE:
                words = serve_words(words, release=self.release)
            if all(word.text != CONFIG for word in words):
                return None
            from compiler.engines.sglang.arguments import configfile  # noqa: PLC0415 - as below

            return configfile.config_path(words, release=self.release)
        except RefusedError:
            return None

    def _read(
        self, argv: Sequence[str], *, entry: Entry, read_config: ConfigReader | None
    ) -> _Read:
        namespace = Namespace()
        words = words_of(argv)
        path: str | None = None
        refusal: Refusal | None = None
        try:
            if entry is Entry.SERVE:
                words = serve_words(words, release=self.release)
            if any(word.text == CONFIG for word in words):
                path, words = self._configured(words, read_config)
            self._run(words, namespace, lenient=path is not None and read_config is None)
        except RefusedError as refused:
            refusal = refused.refusal
        return _Read(words=words, namespace=namespace, config=path, refusal=refusal)

    def _configured(
        self, words: tuple[Word, ...], read_config: ConfigReader | None
    ) -> tuple[str | None, tuple[Word, ...]]:
        """The file's path, and the words with its entries before them."""
        # Few commands have a file of settings, and YAML is for these alone.
        from compiler.engines.sglang.arguments import configfile  # noqa: PLC0415

        path = configfile.config_path(words, release=self.release)
        if path is None:
            return None, words
        rest = configfile.without_config(words)
        if read_config is None:
            return path, rest
        entries = configfile.config_words(read_config(path), path=path, release=self.release)
        return path, (*entries, *rest)

    def _run(self, words: tuple[Word, ...], namespace: Namespace, *, lenient: bool) -> None:
        """Raises `RefusedError` where the release's parser stops."""
        texts = [word.text for word in words]
        extra = self._parser.read(texts, namespace)
        lacking = self._parser.missing(namespace.met_)
        if lacking is not None and not lenient:
            raise RefusedError(lacking)
        if extra:
            message = f"unrecognized arguments: {' '.join(extra)}"
            raise RefusedError(
                Refusal(kind=RefusalKind.UNRECOGNIZED, message=message, words=tuple(extra))
            )


def make_parser(release: Release) -> Parser:
    """The parser of a release; make it once for many command lines."""
    return Parser(release=release, parser=flag_parser(release))


def parse(
    argv: Sequence[str],
    *,
    release: Release,
    entry: Entry = Entry.MODULE,
    read_config: ConfigReader | None = None,
) -> Parsed:
    """`Parser.parse` of a release, for one command line."""
    return make_parser(release).parse(argv, entry=entry, read_config=read_config)
