"""A finding about a profile goes in; the same comes out with its advice in the words of the launch: flags, not settings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping

from attrs import evolve

from compiler.diagnostics import Diagnostic


_RAW = re.compile(r"`(?P<name>[a-z0-9][a-z0-9-]*) = (?P<value>[^`]+)`")
_TYPED = re.compile(r"(?P<setting>[a-z_]+\.[a-z_]+) = (?P<value>\"[^\"]*\"|[\w.-]+)")
_RAW_FLAG = re.compile(
    r"(?<!`)\bflags\.(?P<name>[a-z0-9][a-z0-9-]*) = (?P<value>\"[^\"]*\"|[\w.-]+)"
)
_RAW_VARIABLE = re.compile(r"(?<!`)\benv\.(?P<name>\w+) = \"(?P<value>[^\"]*)\"")
_OFF = re.compile(r"(?:set )?`(?P<setting>[a-z_]+\.[a-z_]+) = false`(?P<more> and )?")
_NAMED = re.compile(r"`(?P<setting>[a-z_]+\.[a-z_]+)`")

_NAMED_RAW = re.compile(r"`flags\.(?P<name>[a-z0-9][a-z0-9-]*)`")
_TWICE = re.compile(r"(`(?P<flag>--[\w-]+)(?: [^`]*)?`) \(`(?P=flag)`\)")

_ABOUT_A_TREE = re.compile(r"poolproof fit .*?, (?=poolproof explain )")


def in_flags(found: Diagnostic, flags: Mapping[str, str]) -> Diagnostic:
    """`flags` are those that settings write in the launch's release (`serve.context` -> `--context-length`)."""
    return evolve(
        found,
        summary=_told(found.summary, flags),
        help=tuple(_aligned(_told(line, flags)) for line in found.help),
    )


def only_in_flags(
    found: Diagnostic, flags: Mapping[str, str], *, then: Callable[[str], str] = str
) -> Diagnostic:
    """As `in_flags`, without the advice that cannot be followed by flags alone, or by what `then` makes of it."""
    told = (then(_aligned(_told(line, flags))) for line in found.help)
    kept = [
        line
        for line, before in zip(told, found.help, strict=True)
        if line != before and not (_TYPED.search(line) or _NAMED.search(line))
    ]
    # What was the second way may be the only one now.
    return evolve(
        found,
        summary=_told(found.summary, flags),
        help=(*(each.removeprefix("or ") for each in kept[:1]), *kept[1:]),
    )


def _aligned(text: str) -> str:
    """A list of changes with what each gives, in two columns again."""
    rows = [line.partition("  ") for line in text.split("\n")]
    width = max((len(change) for change, gap, _ in rows if gap), default=0)
    return "\n".join(
        f"{change.ljust(width)}  {gives.lstrip()}" if gap else change for change, gap, gives in rows
    )


def _told(line: str, flags: Mapping[str, str]) -> str:
    line = _ABOUT_A_TREE.sub("", line.replace(" under `[flags]`", ""))
    line = _RAW.sub(lambda match: f"`{_flag('--' + match['name'], match['value'])}`", line)
    line = _RAW_FLAG.sub(lambda match: _flag("--" + match["name"], match["value"]), line)
    line = _RAW_VARIABLE.sub(lambda match: f"{match['name']}={match['value']}", line)
    line = _OFF.sub(lambda match: _left_out(match, flags), line)
    line = _TYPED.sub(
        lambda match: (
            _flag(flags[match["setting"]], match["value"])
            if match["setting"] in flags
            else match[0]
        ),
        line,
    )
    return _TWICE.sub(r"\1", _named(line, flags))


def _left_out(match: re.Match[str], flags: Mapping[str, str]) -> str:
    """A switch has no value that turns it off: it goes."""
    flag = flags.get(match["setting"])
    if flag is None:
        return match[0]
    return f"leave `{flag}` out" + (", and set " if match["more"] else "")


def _named(text: str, flags: Mapping[str, str]) -> str:
    """The settings that a text names alone, as the flags that set them."""
    text = _NAMED_RAW.sub(r"`--\g<name>`", text)
    return _NAMED.sub(
        lambda match: f"`{flags[match['setting']]}`" if match["setting"] in flags else match[0],
        text,
    )


def _flag(name: str, value: str) -> str:
    """A flag with a value of TOML, as a command line has it."""
    if value == "true":
        return name
    if value.startswith('"'):
        bare = value.strip('"')
        return f"{name} {bare}"
    if value.startswith("["):
        words = tomllib.loads(f"words = {value}")["words"]
        return " ".join((name, *map(str, words)))
    return f"{name} {value.replace('_', '')}"
