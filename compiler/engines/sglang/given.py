"""What a plan gives the server, typed settings and raw flags alike: the one place that rules ask for a flag's value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from attrs import frozen

from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import switch
from compiler.engines.sglang.spelling import typed_rows
from compiler.facts import Release
from compiler.plan import Plan
from compiler.profile import Argument
from compiler.same import Same
from compiler.value import Value
from compiler.versions import version_key


ALGORITHM = "speculative-algorithm"
"""The flag that every speculation has."""
BACKENDS = BACKEND, PREFILL_BACKEND, DECODE_BACKEND = (
    "attention-backend",
    "prefill-attention-backend",
    "decode-attention-backend",
)
"""The attention backend of both steps, and of each."""

_NOT_GIVEN: tuple[str, Argument | None] = ("", None)
_FRACTION = "mem-fraction-static"


@frozen(kw_only=True, eq=False, repr=False)
class Given(Value):
    """The flags of one plan, as they are given; what a release takes when nothing is given is not among them.

    A flag is asked for by any of its names without dashes; where releases renamed it, by all of them, newest first.

    Attributes:
        found: every name of a flag -> the setting that gives it, and the value; a flag that is switched off is not among
            them.
    """

    plan: Plan
    found: Mapping[str, tuple[str, Argument]]

    def value(self, *names: str) -> Argument | None:
        """The value of the first of these that is given; `None` when none is."""
        return next(filter(None, map(self.found.get, names)), _NOT_GIVEN)[1]

    def setting(self, *names: str) -> str:
        """The setting that gives it; a name with a dot is a setting already."""
        for name in names:
            if "." in name:
                return name
            found = self.found.get(name)
            if found is not None:
                return found[0]
        return f"flags.{names[0]}"

    def on(self, *names: str) -> bool:
        """Whether a flag without a value is given."""
        # As `value` has it, without the call: rules ask a hundred times for one plan.
        return next(filter(None, map(self.found.get, names)), _NOT_GIVEN)[1] is True

    def whole(self, *names: str) -> int | None:
        """A value that is a whole number, or a text that reads as one."""
        value = self.value(*names)
        if isinstance(value, bool) or value is None or isinstance(value, tuple):
            return None
        try:
            return int(value)
        except ValueError:
            return None

    def word(self, *names: str) -> str | None:
        """A value that is one word."""
        value = next(filter(None, map(self.found.get, names)), _NOT_GIVEN)[1]
        return value if isinstance(value, str) else None

    def words(self, *names: str) -> tuple[str, ...]:
        """A value as its words; none when it is not given."""
        value = self.value(*names)
        if value is None or isinstance(value, bool):
            return ()
        return value if isinstance(value, tuple) else (str(value),)

    def switched_on(self, variable: str) -> bool:
        """Whether an environment variable is one of the texts that the engine takes for true."""
        return switch(self.plan.profile.env, variable) is True

    def since(self, release: str) -> bool:
        """Whether the server is this release or a later one."""
        return at_least(self.plan.profile.engine.version, release)

    def before(self, release: str) -> bool:
        """Whether the server is a release before this one; a version that is no number is neither."""
        version = self.plan.profile.engine.version
        return version_key(version) is not None and not at_least(version, release)

    @property
    def doubt(self) -> str | None:
        """Why the server may judge otherwise than the rules; `None` when its release was read."""
        release, engine = self.plan.release, self.plan.profile.engine
        if release is None or release.read_version != release.version:
            return f"{engine.name} {engine.version} was not read, and may differ"
        if engine.build is not None and release.build is None:
            return f"the build `{engine.build}` is not described, and may differ"
        return None


def given_by(plan: Plan) -> Given:
    """The flags of a plan; what the release does not know keeps the name it has."""
    return _gathered(Same(plan))


@lru_cache(maxsize=1)  # all rules of the engine ask, one after the other
def _gathered(same: Same[Plan]) -> Given:
    plan = same.value
    names = _NO_NAMES if plan.release is None else _names(Same(plan.release))
    found = {
        names.full.get(name, name): (f"flags.{name}", value)
        for name, value in plan.profile.flags.items()
        if value is not False
    }
    for name, answer in _typed(plan):
        if names.full.get(name, name) not in found:
            found.setdefault(name, answer)
    for name, answer in tuple(found.items()):
        for other in names.others.get(name, ()):
            found.setdefault(other, answer)
    return Given(plan=plan, found=found)


@frozen(kw_only=True, eq=False, repr=False)
class _Names(Value):
    """The names of a release's flags, without their dashes: other name -> full name, and full name -> other names."""

    full: Mapping[str, str]
    others: Mapping[str, tuple[str, ...]]


_NO_NAMES = _Names(full={}, others={})
_RELEASES = 64
"""Of so many releases the names are remembered."""


@lru_cache(_RELEASES)
def _names(release: Same[Release]) -> _Names:
    full = {name[2:]: whole[2:] for name, whole in release.value.aliases.items()}
    others: dict[str, tuple[str, ...]] = {}
    for name, whole in full.items():
        others[whole] = (*others.get(whole, ()), name)
    return _Names(full=full, others=others)


def _typed(plan: Plan) -> Iterator[tuple[str, tuple[str, Argument]]]:
    """What typed settings give, by every name that their flags had in any release."""
    fraction = _fraction(plan)
    if fraction is not None:
        yield _FRACTION, ("memory.fraction", fraction)
    for row in typed_rows():
        words = row.words(plan.profile)
        if words is not None:
            value = words[0] if len(words) == 1 else words or True
            for flag in row.flags:
                yield flag[2:], (row.setting, value)


def _fraction(plan: Plan) -> float | None:
    """The static fraction; the one that "fit" found, where it found one."""
    asked = plan.profile.memory.fraction
    if not isinstance(asked, str):
        return asked
    return plan.memory.fraction if plan.memory is not None else None
