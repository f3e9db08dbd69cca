"""A command that its release's parser refuses goes in; the same comes out with what to write for each flag that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.adopt.advice import in_flags
from compiler.adopt.choice import Chosen, Shelf, choose
from compiler.adopt.launch import Launch, Word
from compiler.adopt.lostflags import behind_flag, strayed_model
from compiler.catalog import Catalog
from compiler.checks.meant import flag_meant, value_meant
from compiler.checks.table import find_flag, flags_of, value_fault
from compiler.cli.namedfiles import named_text
from compiler.cli.pasted import read_pasted
from compiler.cli.plaincommand import Said
from compiler.diagnostics import Diagnostic
from compiler.engines.adopting import Carried
from compiler.engines.known import ENGINES
from compiler.facts import Flag
from compiler.judged import Judged
from compiler.plan import Option
from compiler.profile import Argument


def with_meant(judged: Judged, said: Said, catalog: Catalog) -> Judged:
    """The same, with the advice of `flag-unknown`, and with what was assumed where no plan can say it."""
    if not any(each.code == "command-refused" for each in judged.diagnostics):
        return judged
    launch = _launch(said, catalog)
    if launch is None:
        return judged
    told = tuple(_meant(each, launch, said, catalog) for each in judged.diagnostics)
    return evolve(judged, diagnostics=told)


def _launch(said: Said, catalog: Catalog) -> Launch | None:
    """As `adopt` finds it, also where a plain command did without."""
    if said.launch is not None:
        return said.launch
    again = read_pasted(said.words, catalog, engine=(said.engine, said.version))
    return again.launch if isinstance(again, Said) else None


def _meant(found: Diagnostic, launch: Launch, said: Said, catalog: Catalog) -> Diagnostic:
    shelf = Shelf(catalog=catalog, read_file=named_text)
    chosen, _ = choose(launch, shelf, version=said.version, newest=False)
    if found.code != "command-refused" or chosen is None:
        return found
    release = chosen.release
    notes: list[str] = []
    advice: list[str] = []
    model = strayed_model(chosen.reading, chosen.launch)
    if model is not None:
        written = behind_flag(model.text, chosen.launch.engine)
        advice.append(f"`{model.text}`: write `{written}`, since it belongs to no flag")
    for each in chosen.reading.refused:
        flag = find_flag(release, each.flag)
        if flag is not None:  # then it is the value
            notes += _value_said(each, flag, chosen, launch)
            similar = value_meant(_option(each), flag=flag, release=release)
            advice += (f"`{each.flag}`: {line}" for line in similar)
            continue
        told, meant = flag_meant(_option(each), release=release, outcome="")
        notes += (f"`{each.flag}`: {note}" for note in told if note)
        advice += (f"`{each.flag}`: {line}" for line in meant)
        if not meant and not any(told):
            notes.append(f"`{each.flag}`: no release that was read has such a flag")
    for word in launch.command.words:
        if word.unknown:
            advice.append(f"write a value for `{word.text}`, which is known at start only")
    asked = evolve(found, notes=(*found.notes, *notes, *said.assumed), help=tuple(advice))
    return in_flags(asked, flags_of(ENGINES[release.engine], release, None))


def _value_said(carried: Carried, flag: Flag, chosen: Chosen, launch: Launch) -> Iterator[str]:
    """Which words they are, of the command or of a file that it names, and what the flag takes."""
    engine = chosen.release.engine
    fault = value_fault(flag, carried.flag, tuple(_values(carried.argument)), engine=engine)
    words = [chosen.launch.command.words[at] for at in carried.words]
    if fault is None or not words:
        return
    file = next((_file_of(each, launch) for each in words if each not in launch.command.words), "")
    shown = " ".join(each.text for each in words)
    # The parser speaks of a flag by all of its names.
    name = "it" if words[0].text == carried.flag else f"`{carried.flag}`"
    yield f"`{shown}`{file}: {name} {fault}"


def _file_of(word: Word, launch: Launch) -> str:
    """The file that a word comes from stands in the place of it."""
    names = (each.text for each in launch.command.words if each.span == word.span)
    return next((f" in `{name}`" for name in names), "")


def _option(carried: Carried) -> Option:
    return Option(
        flag=carried.flag,
        values=tuple(_values(carried.argument)),
        setting=f"flags.{carried.flag.lstrip('-')}",
    )


def _values(argument: Argument) -> Iterator[str]:
    if isinstance(argument, bool):
        return
    yield from argument if isinstance(argument, tuple) else (str(argument),)
