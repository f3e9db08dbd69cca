"""A release's table of flags: which flag a name is, and whether its parser reads a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from attrs import frozen

from compiler.engines.engine import Engine
from compiler.engines.known import ENGINES
from compiler.facts import Action, Flag, Release
from compiler.plan import Option, Plan
from compiler.profile import Profile
from compiler.same import Same
from compiler.value import Value


WORDS: Mapping[str, str] = {
    "int": "a whole number",
    "int-with-suffix": "a whole number, or one such as `16k`",
    "float": "a number",
    "json": "JSON",
    "json-list": "a JSON list",
    "cuda-graph-config": "a JSON object",
}
_PLAIN = frozenset({"str", "int", "float", "int-with-suffix"})
NEGATIVE = re.compile(r"-[0-9]+|-[0-9]*\.[0-9]+")  # as argparse has it
_WITH_SUFFIX = re.compile(r"\d+(\.\d+)?[kMGT]|\d+[KMGT]i")


def find_flag(release: Release, name: str) -> Flag | None:
    """The flag of any of its names."""
    return release.flags.get(full_name(release, name))


def full_name(release: Release | None, name: str) -> str:
    """The flag's first name, when it was given by another."""
    if release is None or name in release.flags:
        return name
    return release.aliases.get(name, name)


def owned_flags(release: Release | None, engine: Engine | None) -> Mapping[str, str]:
    """The first name of each flag that a typed setting writes -> that setting."""
    return _owned_flags(Same(release), Same(engine))


@lru_cache(maxsize=64)  # a tree has many profiles and few releases
def _owned_flags(release: Same[Release | None], engine: Same[Engine | None]) -> Mapping[str, str]:
    # One release calls it by one of its names first, another by another.
    owned = engine.value.owned_flags() if engine.value else {}
    return {full_name(release.value, name): setting for name, setting in owned.items()}


@frozen(kw_only=True, eq=False, repr=False)
class Owner(Value):
    """The typed setting that writes a flag, and whether it is written already."""

    setting: str
    is_written: bool


def typed_owner(plan: Plan, option: Option) -> Owner | None:
    """The typed setting that a raw flag would double: it is written, or could say the same.

    A setting cannot hold every value that a release takes.
    """
    engine = ENGINES.get(plan.profile.engine.name)
    full = full_name(plan.release, option.flag)
    setting = owned_flags(plan.release, engine).get(full)
    if engine is None or setting is None or full in engine.unwritten_flags(plan.profile):
        return None
    if any(each.setting == setting for each in plan.options):
        return Owner(setting=setting, is_written=True)
    if _stands_beside_raw(plan, setting, engine):
        return None
    holds = engine.is_typed(option.flag, option.values, release=plan.release)
    return Owner(setting=setting, is_written=False) if holds else None


def _stands_beside_raw(plan: Plan, setting: str, engine: Engine) -> bool:
    """Whether a table that is not there could not be: the draft of an algorithm that `speculative.algorithm` cannot hold."""
    table = setting.partition(".")[0]
    if getattr(plan.profile, table, None) is not None:
        return False
    owned = owned_flags(plan.release, engine)
    return any(
        owned.get(full_name(plan.release, each.flag), "").startswith(f"{table}.")
        and not engine.is_typed(each.flag, each.values, release=plan.release)
        for each in plan.options
        if each.setting.startswith("flags.")
    )


def flags_of(engine: Engine, release: Release, profile: Profile | None) -> Mapping[str, str]:
    """What a release calls the flag of each setting; of several that it has, the one that the engine names first.

    Where a profile's other settings choose the flag, it is that of the profile.
    """
    others = engine.unwritten_flags(profile) if profile is not None else frozenset()
    return {
        setting: name
        for name, setting in reversed(list(engine.owned_flags().items()))
        if (name in release.flags or name in release.aliases) and name not in others
    }


def value_fault(flag: Flag, name: str, values: Sequence[str], *, engine: str) -> str | None:
    """Why a release's parser stops at the words of a flag, as a clause; `None` when it reads them."""
    if flag.takes is None:
        return f"takes no value; write `{name[2:]} = true`" if values else None
    if not values:
        return None if flag.nargs in {"?", "*"} else f"needs {WORDS.get(flag.takes, 'a value')}"
    if len(values) > 1 and flag.nargs in {None, "?"}:
        return f"takes one value, not {len(values)}"
    for value in values:
        if not _is_number(value, flag.takes):
            return f"takes {WORDS[flag.takes]}"
        if flag.choices and _shortest(value, flag.takes) not in flag.choices:
            return "does not take this value"
        fault = _misread(flag, value, engine=engine)
        if fault is not None:
            return fault
    return None


def _shortest(value: str, takes: str) -> str:
    """A value as choices have it: whole numbers are compared as numbers."""
    return str(int(value)) if takes == "int" else value


def _misread(flag: Flag, value: str, *, engine: str) -> str | None:
    """What the engine's own reader says against a value that is more than a word or a number."""
    known = ENGINES.get(engine)
    is_plain = flag.takes in _PLAIN and flag.effect is Action.STORE
    # What begins like a flag, and is no negative number, is no value at all, which is said elsewhere.
    is_flag = value[:1] == "-" and not NEGATIVE.fullmatch(value)
    reason = None if known is None or is_plain or is_flag else known.misread(flag, value)
    if reason is None:
        return None
    kind = WORDS.get(flag.takes or "")
    return f"takes {kind}: {reason}" if kind else f"cannot read its value: {reason}"


def _is_number(value: str, takes: str) -> bool:
    """Whether the parser can read a value as the number that it wants; true for what is to be no number."""
    try:
        if takes == "float":
            float(value)
        elif takes == "int" or (takes == "int-with-suffix" and not _WITH_SUFFIX.fullmatch(value)):
            int(value)
    except ValueError:
        return False
    return True
