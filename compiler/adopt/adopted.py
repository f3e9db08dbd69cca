"""A launch goes in; a profile comes out that is compiled to the same, and what could not be carried, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen

from compiler.adopt.around import Around, Wanted, look_around
from compiler.adopt.choice import Chosen, Shelf, choose
from compiler.adopt.diffusion import diffusion_findings, is_diffusion
from compiler.adopt.folding import Folded, Folder, flag_name_fault
from compiler.adopt.gathering import gathered
from compiler.adopt.kindofgpu import with_kind
from compiler.adopt.launch import Change, Launch, Setting, Word
from compiler.adopt.launchfaults import entry_span
from compiler.adopt.lostflags import lost, meant_for_lost, stray_findings, strayed_model
from compiler.adopt.placeholders import placeholder_name
from compiler.adopt.spent import secret_texts
from compiler.catalog.naming import Names
from compiler.diagnostics import Diagnostic, Label, error, warning
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES
from compiler.profile import Profile
from compiler.secrecy import is_literal, quoted_without_secrets, without_secrets
from compiler.value import Value


_BESIDE = frozenset({"description", "targets", "engine"})
"""Tables of settings that neither the command nor its environment come from; of the engine only its Python can fail."""


_PATH_IN_TEMPLATE = re.compile(r"(?<=\{\{)[\s.]*(?:\w+\.)*")
_ELEMENT = re.compile(r"\$\{\w+\[")
_EXPRESSION = re.compile(r"\{(?!\{)(?!\w+\}$)")
"""A part of a program that is more than a name."""
_COUNT = "gpus.count"
_HANGS_ON = {
    "serve.context": "serve.context",
    "memory.fraction": "memory.fraction",
    "parallel.tensor": _COUNT,
    "parallel.pipeline": _COUNT,
    "parallel.data": _COUNT,
}
"""What a profile must say, and a flag that is left open decides."""


@frozen(kw_only=True, eq=False, repr=False)
class Adopted(Value):
    """An adopted launch.

    Attributes:
        profile: what it comes to; `None` when it makes no profile.
        around: what is not decided by flags, the environment that is to arrive among it.
        secrets: where secrets stand in the files.
        hidden: the secrets themselves, which are shown nowhere.
    """

    launch: Launch
    chosen: Chosen
    folded: Folded
    around: Around
    changes: tuple[Change, ...]
    diagnostics: tuple[Diagnostic, ...]
    hidden: frozenset[str] = frozenset()

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All settings of the profile."""
        return self.folded.settings

    @property
    def profile(self) -> Profile | None:
        """The profile, typed."""
        return self.folded.profile

    @property
    def unsaid(self) -> frozenset[str]:
        """The settings that stand in no profile of it: those that it does not say, and those that it leaves open."""
        hanging = (_HANGS_ON.get(each.setting) for each in self.chosen.reading.open)
        is_counted = self.around.is_counted
        return frozenset(self.chosen.reading.missing) | frozenset(
            each for each in hanging if each and not (is_counted and each == _COUNT)
        )

    @property
    def secrets(self) -> tuple[Word, ...]:
        """The words that hold secrets."""
        words = self.launch.command.words
        flags = (
            words[at]
            for name, places in self.chosen.reading.secrets.items()
            for at in places
            # The flag itself is none, but for one that has its value behind `=`.
            if words[at].text != name
        )
        return (*flags, *self.around.secrets)


def adopt(
    launch: Launch,
    shelf: Shelf,
    wanted: Wanted,
    *,
    names: Names,
    hidden: frozenset[str] = frozenset(),
) -> tuple[Adopted | None, tuple[Diagnostic, ...]]:
    """Make a profile of a launch; `hidden` are secrets that its files hold.

    Errors: `release-unknown`, `launch-refused`, `launch-lost`, and `launch-unfaithful`.
    """
    engine = ENGINES[launch.engine]
    version = wanted.engine[1] if wanted.engine is not None else None
    chosen, faults = choose(launch, shelf, version=version, newest=wanted.newest)
    if chosen is None:
        return None, faults
    launch = chosen.launch
    wanted, told = with_kind(wanted, launch, shelf.catalog)
    around = look_around(launch, chosen, wanted, names=names)
    folder = Folder(
        engine=engine,
        release=chosen.release,
        adopter=chosen.adopter,
        reading=chosen.reading,
        spans=tuple(word.span for word in launch.command.words),
        around=around.settings,
    )
    folded = folder.fold()
    hidden |= _secrets(launch, chosen, around)
    changes = gathered(
        *chosen.changes,
        *_of_words(launch),
        *_noted(launch, chosen),
        *told,
        *_secret(launch, chosen),
        *around.changes,
        *_of_nodes(launch, folded),
        *_beside(folded),
        *launch.command.changes,
    )
    adopted = Adopted(
        launch=launch,
        chosen=chosen,
        folded=folded,
        around=around,
        changes=tuple(
            dict.fromkeys(
                evolve(each, text=quoted_without_secrets(each.text, hidden)) for each in changes
            )
        ),
        diagnostics=tuple(
            _masked_finding(each, hidden) for each in _findings(launch, chosen, folded)
        ),
        hidden=hidden,
    )
    return adopted, ()


def _secrets(launch: Launch, chosen: Chosen, around: Around) -> frozenset[str]:
    several = (*secret_texts(launch, chosen), *(word.text for word in around.secrets))
    return frozenset(filter(is_literal, several))


def _of_words(launch: Launch) -> Iterator[Change]:
    for word in launch.command.words:
        yield from word.changes


def _noted(launch: Launch, chosen: Chosen) -> Iterator[Change]:
    for each in chosen.reading.notes:
        span = launch.command.words[each.words[0]].span if each.words else None
        yield Change(kind=each.kind, text=each.text, span=span)


def _of_nodes(launch: Launch, folded: Folded) -> Iterator[Change]:
    """A profile is one node."""
    profile, engine = folded.profile, ENGINES[launch.engine]
    nodes = engine.nodes(profile, None) if profile is not None else 1
    if nodes > 1 and profile is not None:
        text = f"the launch is that of one of {nodes} nodes, and so is the profile; `gpus.count` is that of all nodes together, and each other node needs a profile of its own: adopt its launch, or extend this one and set its rank"
        yield Change(kind=ChangeKind.ASSUMED, text=text, span=entry_span(launch))


def _beside(folded: Folded) -> Iterator[Change]:
    """What does not fit of the settings that a launch does not hang on."""
    for setting, reason in folded.lost:
        if setting.path[0] in _BESIDE:
            text = f"`{'.'.join(setting.path)}` cannot be `{setting.value}`: {reason}"
            yield Change(kind=ChangeKind.DROPPED, text=text, span=setting.span)


def _secret(launch: Launch, chosen: Chosen) -> Iterator[Change]:
    for flag, places in chosen.reading.secrets.items():
        span = launch.command.words[places[0]].span
        where = (
            f"put `{flag[2:]}: ...` into the file that `secrets.api_key` names"
            if chosen.reading.secrets_by_file
            else f"{launch.engine} {chosen.version} takes it on the command line only"
        )
        text = f"the value of `{flag}` is not written: {where}"
        yield Change(kind=ChangeKind.SECRET, text=text, span=span)


def _masked_finding(found: Diagnostic, values: Iterable[str]) -> Diagnostic:
    return evolve(
        found,
        summary=without_secrets(found.summary, values),
        notes=tuple(without_secrets(each, values) for each in found.notes),
    )


def _findings(launch: Launch, chosen: Chosen, folded: Folded) -> Iterator[Diagnostic]:
    release = f"{launch.engine} {chosen.version}"
    yield from diffusion_findings(launch)
    if chosen.reading.refusal is not None and not is_diffusion(launch):
        span = entry_span(launch)
        yield error(
            "launch-refused",
            f"{release} does not start with this launch",
            Label(span, "started here") if span is not None else None,
            notes=(chosen.reading.refusal,),
            help=tuple(advise_variables(launch)),
        )
    model = strayed_model(chosen.reading, launch)
    for name in chosen.reading.missing:
        if model is not None and name.startswith("model."):
            continue
        span = entry_span(launch)
        yield warning(
            "launch-incomplete",
            f"the launch does not say `{name}`, which the server cannot start without",
            Label(span, "nothing known names it") if span is not None else None,
            help=(*advise_variables(launch), f"set `{name}` in the profile"),
            path=name,
        )
    yield from stray_findings(chosen.reading, launch, model=model)
    for setting, reason in folded.lost:
        if setting.path[0] in _BESIDE:
            continue
        yield lost(".".join(setting.path), reason, setting.span)
    for setting in folded.settings:
        fault = flag_name_fault(setting.path[1]) if setting.path[0] == "flags" else None
        if fault is not None:
            owner = folded.owners.get(setting.path)
            found = lost(owner.flag if owner else setting.path[1], fault, setting.span)
            yield found if owner is None else meant_for_lost(found, owner, chosen.release)
    for each in folded.differences:
        span = entry_span(launch)
        yield error(
            "launch-unfaithful",
            f"`{each.dest or 'the command'}` would be another than in the launch",
            Label(span) if span is not None else None,
            notes=(f"the launch says {each.wanted!r}", f"the compiled command says {each.found!r}"),
            help=("write the value in another way in the launch, and adopt it again",),
        )


def advise_variables(launch: Launch, *, words: Sequence[Word] | None = None) -> Iterator[str]:
    """How to say what a launch leaves open, or some words of it, where it is a variable."""
    names = dict.fromkeys(
        name
        for word in (launch.command.words if words is None else words)
        for each in word.unknown
        # Of an element of a list its index is what is open.
        if not (_ELEMENT.match(each) and len(word.unknown) > 1)
        and not _EXPRESSION.match(each)
        and (
            name := placeholder_name(each)
            or re.sub(
                r"\W.*", "", _PATH_IN_TEMPLATE.sub("", each).replace("~", "HOME").lstrip("${ ")
            )
        )
        and name[0].isalpha()
    )
    if names:
        shown = " ".join(f"--var {name}=..." for name in names)
        yield f"say what the launch leaves open: `{shown}`"
