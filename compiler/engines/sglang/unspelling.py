"""A flag with its value goes in; the typed settings that write the same come out. The way back from `spelling`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.engines.sglang.spelling import owned_flags
from compiler.facts import Release
from compiler.language.typed import structure_value
from compiler.profile import Profile


_ATTENTION = "--attn-dp-size"


def settings_of_flag(name: str, value: object, *, release: Release) -> Mapping[str, object]:
    """The settings for a flag's value as the parser reads it; none where no setting writes this flag."""
    setting = _owners(release).get(name)
    if setting is None or value is None:
        return {}
    if name == _ATTENTION:
        return {setting: value, "parallel.dp_attention": True}
    special = _SPECIAL.get(setting)
    return {setting: value} if special is None else special(value)


def setting_of_flag(name: str, *, release: Release) -> str:
    """The typed setting that writes a flag, by its full name; empty where none does."""
    return _owners(release).get(name, "")


def is_typed(name: str, values: tuple[str, ...], *, release: Release | None) -> bool:
    """Whether a typed setting can say what a raw flag says."""
    if release is None:
        return True
    full = release.aliases.get(name, name)
    word: object = values[0] if len(values) == 1 else True
    settings = settings_of_flag(full, word, release=release)
    return bool(settings) and all(_fits(each, told) for each, told in settings.items())


def _owners(release: Release) -> Mapping[str, str]:
    """The full name of each flag that a typed setting writes -> that setting."""
    return {release.aliases.get(name, name): setting for name, setting in owned_flags().items()}


def _fits(setting: str, value: object) -> bool:
    """Whether a setting can have a value; what is written as a number is one."""
    table, _, key = setting.partition(".")
    for told in (value, *_numbers(value)):
        _, faults = structure_value({table: {key: told}}, Profile)
        if not any(fault.path[:2] == (table, key) for fault in faults):
            return True
    return False


def _numbers(value: object) -> tuple[float, ...]:
    found: list[float] = []
    for kind in (int, float):
        try:
            found.append(kind(str(value)))
        except ValueError:
            continue
    return tuple(found)


def _model(value: object) -> Mapping[str, object]:
    return {"model.path" if str(value).startswith("/") else "model.id": value}


def _draft(value: object) -> Mapping[str, object]:
    absolute = str(value).startswith("/")
    return {"speculative.draft_path" if absolute else "speculative.draft": value}


def _algorithm(value: object) -> Mapping[str, object]:
    """It is written in capitals."""
    word = str(value)
    return {"speculative.algorithm": word.lower()} if word == word.upper() else {}


def _config(value: object) -> Mapping[str, object]:
    return {"secrets.api_key": {"file": value}}


_SPECIAL: Mapping[str, Callable[[object], Mapping[str, object]]] = {
    "model.path": _model,
    "speculative.draft": _draft,
    "speculative.algorithm": _algorithm,
    "secrets.api_key": _config,
}
