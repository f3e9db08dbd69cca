"""A launch goes in; the settings that its flags do not decide come out: engine, GPUs, environment, secrets, target."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from attrs import evolve, field, frozen

from compiler.adopt.choice import Chosen
from compiler.adopt.launch import Change, Launch, Setting, Word
from compiler.adopt.launchfaults import entry_span
from compiler.adopt.spent import (
    secret_goes,
    secret_texts,
    secret_variables,
    spent_variables,
    told_spent,
)
from compiler.adopt.target import DEFAULT_TARGET, TARGET
from compiler.adopt.visible import visible_gpus
from compiler.catalog.naming import Names
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.profile import AUTO, Profile, Text
from compiler.value import Value
from compiler.visibledevices import VISIBLE


UNKNOWN_GPU = "unknown"
SECRETS = "/etc/poolproof/secrets"
_VENV = "VIRTUAL_ENV"
_PYTHON = re.compile(r"python[\d.]*")
_LAYOUT = (("parallel", "tensor"), ("parallel", "pipeline"), ("parallel", "data"))


@frozen(kw_only=True, eq=False, repr=False)
class Wanted(Value):
    """What is known beside the launch.

    Attributes:
        engine: an engine's name and release.
        newest: whether the newest release judges a launch that names none, even where it refuses it.
    """

    gpu: str | None = None
    count: int | None = None
    engine: tuple[str, str] | None = None
    target: str | None = None
    newest: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class Around(Value):
    """What stands around the flags.

    Attributes:
        environment: the variables that the server is to get, secrets and what is not known left out.
        secrets: where secrets stand.
        is_counted: whether the count of GPUs is said beside the launch.
    """

    settings: tuple[Setting, ...]
    environment: Mapping[str, str] = field(factory=dict)
    changes: tuple[Change, ...] = ()
    secrets: tuple[Word, ...] = ()
    is_counted: bool = False


def look_around(launch: Launch, chosen: Chosen, wanted: Wanted, *, names: Names) -> Around:
    """All settings but those of flags."""
    variables, changes, secrets = _environment(launch, chosen)
    flags = _flag_settings(chosen)
    gpus, kept = _gpus(launch, chosen, wanted, variables)
    python, said = _python(launch)
    changes = [*changes, *said, *_relative(launch, flags), *kept]
    settings = [
        *_model(chosen, flags, launch, names=names),
        *gpus,
        Setting(path=("engine", "name"), value=launch.engine, span=entry_span(launch)),
        Setting(path=("engine", "version"), value=chosen.version, span=_version_span(launch)),
        *python,
        Setting(path=("serve", "context"), value=AUTO, span=entry_span(launch)),
        Setting(path=("memory", "fraction"), value=AUTO, span=entry_span(launch)),
        *_targets(launch, wanted),
    ]
    environment = {name: word.text for name, word in variables.items()}
    indices = next((each for each in settings if each.path == ("gpus", "indices")), None)
    if indices is not None and isinstance(indices.value, list):
        environment[VISIBLE] = ",".join(map(str, indices.value))
    for name, word in variables.items():
        if name != VISIBLE or indices is None:
            settings.append(Setting(path=("env", name), value=word.text, span=word.span))
    if chosen.reading.secrets and chosen.reading.secrets_by_file:
        settings.append(_secret_file(launch, chosen))
    return Around(
        settings=tuple(settings),
        environment=environment,
        changes=tuple(changes),
        secrets=tuple(secrets),
        is_counted=wanted.count is not None,
    )


def known_name(profile: Profile, *, names: Names) -> Profile:
    """The profile with its model as the catalogue spells it: `qwen/qwen3-32b` is the hub's `Qwen/Qwen3-32B`, too."""
    known = names.identify(profile.model.id)
    if profile.model.path is not None or known == profile.model.id:
        return profile
    return evolve(profile, model=evolve(profile.model, id=Text(known)))


def _environment(
    launch: Launch, chosen: Chosen
) -> tuple[dict[str, Word], list[Change], list[Word]]:
    variables: dict[str, Word] = {}
    changes: list[Change] = []
    secrets: list[Word] = []
    spent = spent_variables(launch)
    given = secret_texts(launch, chosen)
    hidden = secret_variables(launch, chosen)
    for name, word in launch.command.environment.items():
        changes += word.changes
        if name in hidden:
            secrets.append(word)
            goes = secret_goes(name, word, is_replaced=name in spent and word.text in given)
            text = f"the variable `{name}` holds a secret: {goes}"
            changes.append(Change(kind=ChangeKind.SECRET, text=text, span=word.span))
        elif name == _VENV or name in spent:
            continue
        elif word.unknown:
            shown = ", ".join(f"`{each}`" for each in dict.fromkeys(word.unknown))
            text = f"the variable `{name}`: {shown} is not known before the start"
            changes.append(Change(kind=ChangeKind.UNKNOWN, text=text, span=word.span))
        else:
            variables[name] = word
    changes += told_spent(launch, spent)
    return variables, changes, secrets


def _flag_settings(chosen: Chosen) -> Mapping[tuple[str, ...], object]:
    return {
        tuple(name.split(".")): value
        for carried in chosen.reading.carried
        for name, value in carried.settings.items()
    }


def _model(
    chosen: Chosen,
    flags: Mapping[tuple[str, ...], object],
    launch: Launch,
    *,
    names: Names,
) -> Iterator[Setting]:
    for name, stand_in in chosen.reading.missing.items():
        yield Setting(path=tuple(name.split(".")), value=stand_in, span=entry_span(launch))
    path = flags.get(("model", "path"))
    if isinstance(path, str):
        known = names.identify(path)
        last = PurePosixPath(path).name or path
        span = next(
            (
                launch.command.words[each.words[-1]].span
                for each in chosen.reading.carried
                if "model.path" in each.settings
            ),
            None,
        )
        yield Setting(path=("model", "id"), value=last if known == path else known, span=span)


def _relative(launch: Launch, flags: Mapping[tuple[str, ...], object]) -> Iterator[Change]:
    """A model that is given by a path from the folder that the launch runs in."""
    name = flags.get(("model", "id"))
    if isinstance(name, str) and name.startswith((".", "~")):
        text = f"`{name}` is a path from the launch's own folder, and the unit that is written runs in `/`: make it absolute"
        yield Change(kind=ChangeKind.DROPPED, text=text, span=entry_span(launch))


def _gpus(
    launch: Launch,
    chosen: Chosen,
    wanted: Wanted,
    variables: Mapping[str, Word],
) -> tuple[tuple[Setting, ...], tuple[Change, ...]]:
    flags = _flag_settings(chosen)
    sizes = [value for path in _LAYOUT if isinstance(value := flags.get(path, 1), int)]
    if flags.get(("parallel", "dp_attention")):
        sizes = sizes[:2]
    count = wanted.count or math.prod(sizes)
    settings = (
        Setting(path=("gpus", "kind"), value=wanted.gpu or UNKNOWN_GPU),
        Setting(path=("gpus", "count"), value=count),
    )
    indices, changes = visible_gpus(
        launch.command.devices,
        variables.get(VISIBLE),
        count=count,
        # `--base-gpu-id` and its like choose among what is seen.
        in_order=not any(each.setting.startswith("parallel.") for each in chosen.reading.open)
        and not any("gpu-id" in each.flag for each in chosen.reading.carried),
    )
    return (*settings, *((indices,) if indices is not None else ())), changes


def _version_span(launch: Launch) -> Span | None:
    image = launch.command.image
    return image.span if image is not None and image.span is not None else entry_span(launch)


def _python(launch: Launch) -> tuple[tuple[Setting, ...], tuple[Change, ...]]:
    """The Python that has the engine; one in a container is none of the host's."""
    program = launch.command.words[0]
    options = launch.command.words[1 : max(1, launch.found.entry - 1)]
    changes: list[Change] = []
    if options:
        shown = " ".join(word.text for word in options)
        by = program.text.rpartition("/")[2]
        changes.append(_dropped(f"`{shown}`, said to `{by}`, is not carried", options[0]))
    folder, name = program.text.rpartition("/")[::2]
    if program.unknown:
        text = f"which Python is `{program.text}` is not known before the start"
        changes.append(Change(kind=ChangeKind.UNKNOWN, text=text, span=program.span))
    elif launch.command.image is None:
        venv = launch.command.environment.get(_VENV)
        if not folder and venv is not None and not venv.unknown:
            folder = f"{venv.text}/bin"
        if folder.startswith("/"):
            python = (
                program.text
                if _PYTHON.fullmatch(name) and program.text.startswith("/")
                else f"{folder}/python"
            )
            if python != program.text:
                text = f"the Python of `{program.text}` is taken to be `{python}`"
                changes.append(Change(kind=ChangeKind.ASSUMED, text=text, span=program.span))
            return (Setting(path=("engine", "python"), value=python, span=program.span),), tuple(
                changes
            )
    return (), tuple(changes)


def _dropped(text: str, word: Word) -> Change:
    return Change(kind=ChangeKind.DROPPED, text=text, span=word.span)


def _secret_file(launch: Launch, chosen: Chosen) -> Setting:
    served = _flag_settings(chosen).get(("model", "served_name")) or _flag_settings(chosen).get(
        ("model", "id")
    )
    name = launch.command.unit or str(served or launch.engine).rpartition("/")[2]
    safe = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or launch.engine
    place = next(iter(chosen.reading.secrets.values()))
    return Setting(
        path=("secrets", "api_key"),
        value={"file": f"{SECRETS}/{safe}.yaml"},
        span=launch.command.words[place[0]].span,
    )


def _targets(launch: Launch, wanted: Wanted) -> Iterator[Setting]:
    own = launch.command.settings
    is_unit = any(each.path[0] == "targets" for each in own)
    name = wanted.target or DEFAULT_TARGET
    for each in own:
        yield evolve(each, path=tuple(name if key == TARGET else key for key in each.path))
    if wanted.target is not None and not is_unit:
        yield Setting(path=("targets", name, "kind"), value="systemd")
