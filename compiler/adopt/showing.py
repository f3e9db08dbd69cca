"""An adopted launch goes in; what it takes to talk about it comes out: places, the names of its flags, secrets covered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from compiler.adopt.adopted import Adopted
from compiler.adopt.form import Form, key_advice, variable_secret_advice
from compiler.adopt.launch import Kept, Setting, Word
from compiler.adopt.launchfaults import entry_span
from compiler.checks.table import flags_of
from compiler.diagnostics import Diagnostic, Label, Span, error, warning
from compiler.engines.known import ENGINES
from compiler.origins import NOWHERE, Definition, Level, Origin, Origins
from compiler.report.secrets import COVER, covered_stretch
from compiler.secrecy import hide
from compiler.source import Source


_REFERENCE = re.compile(r"\$(?:\w+|\{\w+\}|\(\w+\))")
"""What names a variable, and holds nothing of it."""


def origins(adopted: Adopted) -> Origins:
    """Where each setting stands in the launch's own file."""
    document = entry_span(adopted.launch) or NOWHERE.document
    by_path = {}
    for each in adopted.settings:
        if each.span is None:
            continue
        key = _key_span(adopted, each)
        definition = Definition(
            path=each.path,
            profile="",
            level=Level.PLAIN,
            key=key,
            value_span=key if each.path[0] == "flags" and each.value is True else each.span,
            value=each.value,
        )
        by_path[each.path] = Origin(winner=definition)
    return Origins(document=document, by_path=by_path)


def flags_of_settings(adopted: Adopted) -> Mapping[str, str]:
    """The flag that each typed setting is in the launch; for what is not given, what its release calls it."""
    known = flags_of(ENGINES[adopted.launch.engine], adopted.chosen.release, adopted.profile)
    given = {
        ".".join(path): owner.flag
        for path, owner in adopted.folded.owners.items()
        if path[0] != "flags"
    }
    flags = {**known, **given}
    # A draft's directory is told by the flag of its name.
    draft = flags.get("speculative.draft")
    return {**flags, **({"speculative.draft_path": draft} if draft is not None else {})}


def secret_findings(adopted: Adopted) -> Iterator[Diagnostic]:
    """The secrets of a launch, in the words of the rules about profiles."""
    words = adopted.launch.command.words
    for flag, places in adopted.chosen.reading.secrets.items():
        word, form = words[places[-1]], adopted.launch.command.form
        if form is Form.POD and word.unknown:
            # It comes out of a Secret, and only who is root on the node reads the command line of a pod.
            continue
        advice = key_advice(form, by_file=adopted.chosen.reading.secrets_by_file, flag=flag)
        yield error(
            "secret-in-argv",
            f"`{flag}` puts a secret on the command line",
            _secret_label(word),
            notes=(
                "everybody who reads the manifest reads it"
                if form is Form.POD
                else "every user of the host reads a command line",
            ),
            help=(advice,),
        )
    for word in adopted.around.secrets:
        if not word.unknown:
            yield from (
                _in_environment(word, adopted.launch.command.form)
                if word.kept is None
                else _in_file(word, word.kept)
            )


def _in_environment(word: Word, form: Form) -> Iterator[Diagnostic]:
    yield error(
        "secret-in-env",
        "a variable of the launch holds a secret",
        _secret_label(word),
        notes=("everybody who reads the file reads it",),
        help=(variable_secret_advice(form),),
    )


def _in_file(word: Word, kept: Kept) -> Iterator[Diagnostic]:
    """A secret in a file that is none of ours is where it should be, as long as others cannot read it."""
    if kept.is_private is None and kept.name:
        return
    if kept.is_private is None:
        yield warning(
            "secret-in-env",
            f"the environment file `{kept.path}` holds a secret",
            _secret_label(word),
            notes=("who reads the file is not known here",),
            help=(f"let nobody else read it on the host: `chmod 600 {kept.path}`",),
        )
    elif not kept.is_private:
        # What names a variable holds no secret itself: nothing is wrong with it.
        found = warning if kept.name else error
        yield found(
            "secret-in-env",
            f"the environment file `{kept.path}` holds a secret, and every user of the host reads it",
            _secret_label(word),
            help=(f"let nobody else read it: `chmod 600 {kept.path}`",),
        )


def _secret_label(word: Word) -> Label | None:
    if word.span is None:
        return None
    if word.kept is not None and word.kept.is_apart:
        return Label(word.span, "names it")
    return Label(word.span, "looks like a secret", secret=True)


def cover(
    sources: Mapping[str, Source], secrets: Iterable[Word], *, hidden: Iterable[str]
) -> Mapping[str, Source]:
    """The texts with the characters of secrets replaced, wherever they stand; lines keep their lengths."""
    covered = {
        name: Source(source.name, _starred(source.text, hidden)) for name, source in sources.items()
    }
    for word in secrets:
        span = word.span
        if word.kept is not None and word.kept.is_apart:
            continue
        source = covered.get(span.file) if span is not None else None
        if source is None or span is None:
            continue
        start, end = source.extent(span)
        if _REFERENCE.fullmatch(source.text[start:end]):
            continue
        covered[span.file] = covered_stretch(source, start, end)
    return covered


def _starred(text: str, values: Iterable[str]) -> str:
    return hide(text, values, cover=lambda each: COVER * len(each))


def _key_span(adopted: Adopted, setting: Setting) -> Span:
    owner = adopted.folded.owners.get(setting.path)
    span = adopted.launch.command.words[owner.words[0]].span if owner and owner.words else None
    return span or setting.span or NOWHERE.document
