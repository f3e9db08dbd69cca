"""The flags of a release and those of a private build go in; what the build changes comes out, as data and as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from compiler.catalog.series import said
from compiler.catalog.writing import texts_toml
from compiler.facts import Build, Flag
from compiler.language.written import key_toml, text_toml


@frozen(kw_only=True)
class Overlay:
    """What a build's flags are, beside those of its release.

    Attributes:
        added: flags the release does not have.
        widened: flags that take the release's choices and more, and are the same otherwise, as the build has them.
        changed: flags that differ in any other way, as the build has them.
        removed: flags of the release that it does not have.
    """

    added: tuple[Flag, ...] = ()
    widened: tuple[Flag, ...] = ()
    changed: tuple[Flag, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The flags that the build has otherwise than the release, by name."""
        return tuple(sorted((*self.added, *self.widened, *self.changed), key=lambda f: f.name))


def overlay(base: Mapping[str, Flag], flags: Mapping[str, Flag]) -> Overlay:
    """What leads from the flags of a release (`base`) to those of a build."""
    added = [flag for name, flag in flags.items() if name not in base]
    other = [flag for name, flag in flags.items() if name in base and flag != base[name]]
    widened = [flag for flag in other if _widens(base[flag.name], flag)]
    return Overlay(
        added=tuple(added),
        widened=tuple(widened),
        changed=tuple(flag for flag in other if flag not in widened),
        removed=tuple(name for name in base if name not in flags),
    )


def new_choices(base: Mapping[str, Flag], wider: Overlay, *, flag: str) -> tuple[str, ...]:
    """The choices that a build adds to a flag of its release."""
    known = base[flag].choices if flag in base else ()
    found = next((each for each in wider.flags if each.name == flag), None)
    return tuple(each for each in (found.choices if found else ()) if each not in known)


def _widens(flag: Flag, other: Flag) -> bool:
    """Whether `other` takes all that `flag` takes, and more. A flag without choices takes everything."""
    if not flag.choices or evolve(other, choices=flag.choices) != flag:
        return False
    return not other.choices or set(flag.choices) < set(other.choices)


def build_toml(build: Build, *, read_from: str) -> str:
    """The file of a build, the same text for the same build; what nobody can read from its source is left open."""
    lines = [
        f"# What a private build of release {build.release} has that the release has not, read from {read_from}.",
        "# Its flags are read from its source; what it does with memory is for you to say.",
        "",
        f"id = {text_toml(build.id)}",
        f"release = {text_toml(build.release)}",
        "",
        "# The speculation algorithms it adds, in lower case.",
        f"algorithms = {texts_toml(build.algorithms)}",
        "",
        "# How it counts the draft when it works out the bytes of one token, likeliest first:",
        '# draft_pricing = ["layer-scaled", "exact", "none"]',
        "",
        "# Sentences about what is taken for granted; the output repeats them.",
        f"assumptions = {texts_toml(build.assumptions)}",
        *(("", f"removed = {texts_toml(build.removed)}") if build.removed else ()),
        "",
        '# Settings it works with only, such as page_size = "1".',
        "[needs]",
        *(f"{key_toml(key)} = {text_toml(value)}" for key, value in sorted(build.needs.items())),
        *(line for flag in build.flags for line in _flag_lines(flag)),
        "",
        "[sources]",
        *(f"{key_toml(key)} = {text_toml(text)}" for key, text in sorted(build.sources.items())),
    ]
    return "\n".join(lines) + "\n"


def _flag_lines(flag: Flag) -> Iterator[str]:
    yield from ("", "[[flags]]", f"name = {text_toml(flag.name)}")
    yield from (f"{key} = {_value(value)}" for key, value in said(flag).items())


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return texts_toml(value)
    if isinstance(value, str):
        return text_toml(str(value))
    return str(value).lower() if isinstance(value, bool) else repr(value)
