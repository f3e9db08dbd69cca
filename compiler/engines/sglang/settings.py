"""What a profile asks for, typed settings and raw flags alike, under the full names of one release's flags."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from attrs import field, frozen

from compiler.facts import Release
from compiler.profile import Argument, Profile
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Settings(Value):
    """A profile with its raw flags by full name, without dashes; a flag that is switched off is not among them.

    Attributes:
        written: the full name of each -> the name it is written by.
    """

    profile: Profile
    flags: Mapping[str, Argument]
    written: Mapping[str, str] = field(factory=dict)

    def setting(self, name: str) -> str:
        """The setting that gives a raw flag, as it is written."""
        return f"flags.{self.written.get(name, name)}"

    def on(self, name: str) -> bool:
        """Whether a flag without a value is given."""
        return self.flags.get(name) is True

    def number(self, *names: str) -> float | None:
        """The first of these flags that is given and is a number."""
        for name in names:
            value = self.flags.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return value
            if isinstance(value, str) and (number := finite(value)) is not None:
                return number
        return None

    def whole(self, *names: str) -> int | None:
        """The same, in whole numbers."""
        value = self.number(*names)
        return None if value is None else int(value)

    def word(self, *names: str) -> str | None:
        """The first of these flags that is given with one word."""
        return next(
            (value for name in names if isinstance(value := self.flags.get(name), str)), None
        )

    def numbers(self, *names: str) -> tuple[int, ...]:
        """The first of these flags that is given as a list of whole numbers."""
        for name in names:
            value = self.flags.get(name)
            if isinstance(value, tuple):
                return tuple(int(each) for each in value if each.isdigit())
            if isinstance(value, int) and not isinstance(value, bool):
                return (value,)
        return ()


_ON, _OFF = frozenset({"1", "true", "yes", "y"}), frozenset({"0", "false", "no", "n"})


def switch(env: Mapping[str, str], name: str) -> bool | None:
    """What a variable switches; `None` where it leaves the default: not set, or another text, which the engine warns about.

    0.5.6 to 0.5.23 srt/environ.py, `EnvBool`.
    """
    text = env.get(name, "").lower()
    if text in _ON or text in _OFF:
        return text in _ON
    return None


def number_in(env: Mapping[str, str], *names: str, usual: int) -> int:
    """The whole number of the first of these variables that is set to one, else the usual."""
    texts = (env.get(name, "") for name in names)
    return next((int(text) for text in texts if text.isdecimal()), usual)


def finite(text: str) -> float | None:
    """The number that a text is; `None` for any other text, and for one that is not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def settings_of(profile: Profile, release: Release | None) -> Settings:
    """Put the raw flags under their full names; what the release does not know keeps the name it has."""
    aliases = release.aliases if release is not None else {}
    written = {aliases.get(f"--{name}", f"--{name}")[2:]: name for name in profile.flags}
    flags = {full: profile.flags[name] for full, name in written.items()}
    return Settings(
        profile=profile,
        flags={name: value for name, value in flags.items() if value is not False},
        written=written,
    )
