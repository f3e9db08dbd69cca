"""What an engine must tell the planner. Nothing outside `engines/` asks which engine it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from compiler.engines.sized import Sizer
from compiler.facts import Boot, Draft, Flag, Gpu, Model, Release
from compiler.memory.weights import Split
from compiler.plan import Memory, Option, Plan, Variable
from compiler.profile import Argument, Gpus, Profile
from compiler.ranges import Range
from compiler.rules import Rule
from compiler.unknown import Unknown
from compiler.value import Value


if TYPE_CHECKING:
    # Only `adopt` reads launches.
    from compiler.engines.adopting import Adopter
    from compiler.engines.found import Found


@frozen(kw_only=True, eq=False, repr=False)
class KnownBoot(Value):
    """A recorded boot with what the catalogue knows about its draft and its build."""

    boot: Boot
    draft: Draft | None
    release: Release | None


@frozen(kw_only=True, eq=False, repr=False)
class Measured(Value):
    """What a server's log says about this very start, GiB, two decimals.

    Attributes:
        free_before_gib: free memory before weights load.
        free_after_gib: after the last load before the pool is sized.
    """

    free_before_gib: float | None = None
    free_after_gib: float | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Facts(Value):
    """What is known about one profile; `None` for what nobody described.

    Attributes:
        measured: of a log of this very start.
        request_tokens: tokens of a request that are promised, where they are fewer than the server's context.
        weights: what the model's own files take on one GPU, GiB, when their headers were read.
    """

    gpu: Gpu | None
    model: Model | None
    draft: Draft | None
    release: Release | None
    boots: tuple[KnownBoot, ...] = ()
    measured: Measured = Measured()
    request_tokens: int | None = None
    weights: Callable[[Split], Range] | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Spelled(Value):
    """The command line and environment for one release."""

    command: tuple[str, ...]
    options: tuple[Option, ...]
    environment: tuple[Variable, ...]


@frozen(kw_only=True, eq=False, repr=False)
class Asked(Value):
    """What a raw launch command asks for.

    Attributes:
        profile: the same as a profile; `None` when the command is refused.
        fraction_given: whether it sets the static fraction; else the profile has a stand-in.
        context_given: likewise the context.
        unknowns: what it asks for and nobody described.
        refusal: why the server does not start.
        assumptions: sentences about what of the command was taken for granted.
    """

    profile: Profile | None
    fraction_given: bool = False
    context_given: bool = False
    unknowns: tuple[Unknown, ...] = ()
    refusal: str | None = None
    assumptions: tuple[str, ...] = ()


class NoText(Enum):
    """Why a file that a command names has no text here, as a clause; a server stops at the first two, where they are its own."""

    ABSENT = "is not here"
    FOLDER = "is a directory"
    HOST = "is not here, and may be on the host"
    DEVICE = "is no regular file"
    UNREADABLE = "cannot be read here"
    BINARY = "is no UTF-8 text"
    LARGE = "is larger than a file of flags"


ReadFile = Callable[[str], "str | NoText"]
"""The path of a file that a command names, as it names it, to its text."""


@frozen(kw_only=True, eq=False, repr=False)
class PortUse(Value):
    """Ports that a server listens on.

    Attributes:
        first, last: all from one to the other, or, where that is `fixed_by` a setting, one of them.
        what: who listens there.
        setting: the setting that decides it.
        fixed_by: where one of them is drawn, the setting that says which.
        listens: whether it listens there; else it only ends where somebody else does.
    """

    first: int
    last: int
    what: str
    setting: str
    fixed_by: str | None = None
    listens: bool = True

    @property
    def said(self) -> str:
        """Where it listens, and for what."""
        ports = str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
        return f"{'' if self.certain else 'one of '}{ports}, {self.what}"

    @property
    def certain(self) -> bool:
        """Whether all of them are listened on."""
        return self.fixed_by is None


@frozen(kw_only=True, eq=False, repr=False)
class Footprint(Value):
    """What a server takes of its host; `gpus` are the host's indices, `None` when they cannot be told."""

    ports: tuple[PortUse, ...]
    gpus: tuple[int, ...] | None


class CommandReader(Protocol):
    """Reads the launch commands of one release."""

    def read(self, words: Sequence[str], *, gpus: Gpus, identify: Callable[[str], str]) -> Asked:
        """Read a command; `identify` finds the catalogue's id for a model's name or path."""


class Engine(Protocol):
    """One engine."""

    @property
    def name(self) -> str:
        """The name a profile uses."""

    def rules_for(self, plan: Plan) -> tuple[Rule, ...]:
        """Its own cross-flag rules that have something to judge in a plan."""

    def owned_flags(self) -> Mapping[str, str]:
        """Every flag that a typed setting writes, in any release -> that setting."""

    def unwritten_flags(self, profile: Profile) -> frozenset[str]:
        """Those of them that no setting writes in such a profile: its other settings choose another flag."""

    def spell(
        self, profile: Profile, release: Release | None, *, fraction: float | None
    ) -> Spelled:
        """The command line for a release; `fraction` stands where the profile may say "fit"."""

    def declared(self, model: Model, profile: Profile) -> Model:
        """The model as the server reads it, where the profile changes its config."""

    def sizer(self, profile: Profile, facts: Facts) -> Sizer:
        """What gives both budgets of one GPU at a fraction; make it once for many fractions."""

    @property
    def probe(self) -> str | None:
        """The script in `templates/` that waits until a server of it is ready; `None` where nobody wrote one.

        The unit runs it beside the server by the engine's own Python, as `render/start.py` has it: with `--url`, `--timeout`,
        and, where there is such, `--required-tokens` and `--secret`. Its exit codes and its lines are those of SGLang's, which
        `host/ending.py` reads; where another load would end the same it ends the main process by SIGPWR.
        """

    @property
    def first_flags(self) -> Mapping[str, Argument]:
        """The flags that a new tree gives it, by their names without dashes."""

    def model_flags(self, model: Model) -> Mapping[str, Argument]:
        """The flags that a new tree gives a model, without which it would be served as something else."""

    @property
    def tells_free_memory(self) -> str | None:
        """Who tells how much memory is free before weights load, and where: a clause; `None` where nobody does."""

    def command_reader(
        self, release: Release, *, read_file: ReadFile | None = None
    ) -> CommandReader | None:
        """What reads the launch commands of a release; make it once for many; `None` where nobody wrote one.

        `read_file` reads the files that a command names; without it none is read.
        """

    @property
    def entry(self) -> tuple[str, ...]:
        """The words that start it, before its flags."""

    @property
    def launches(self) -> tuple[str, ...]:
        """The commands that `find_launch` finds, an example each."""

    def find_launch(self, words: Sequence[str]) -> Found | None:
        """Where a command starts this engine; `None` when it does not."""

    def other_program(self, words: Sequence[str]) -> tuple[str, str] | None:
        """The words of a command that start a relative of it, and what that is, a clause; `None` where none does."""

    def needless(self, flag: str) -> str | None:
        """Why it has no flag for what this one of another engine asks, and, behind a colon, what to do; `None` if not known."""

    @property
    def image_names(self) -> tuple[str, ...]:
        """What the images that hold it are called by, a part of each name."""

    def adopter(self, release: Release) -> Adopter | None:
        """What reads launches of a release into settings; make it once for many; `None` where nobody wrote one."""

    def is_typed(self, flag: str, values: tuple[str, ...], *, release: Release | None) -> bool:
        """Whether a typed setting can say what a raw flag says."""

    def misread(self, flag: Flag, word: str) -> str | None:
        """Why the parser cannot read a word of a flag's value, a clause; `None` when it can."""

    def automatic_fraction(self, profile: Profile, facts: Facts) -> float | None:
        """The fraction the engine picks when none is given; `None` when that is not known."""

    def choices(self, profile: Profile, facts: Facts) -> Mapping[str, int | str]:
        """By setting what the server takes where a profile leaves it open, whether or not this one does; without what is not known."""

    def nodes(self, profile: Profile, release: Release | None) -> int:
        """The hosts that the server spans; its GPUs are shared out evenly over them."""

    def untold(self, profile: Profile, release: Release | None) -> str | None:
        """Why the server does not tell the size of its pool, a clause, where another node answers for it; else `None`."""

    def footprint(self, profile: Profile, release: Release | None) -> Footprint:
        """The GPUs and ports that the server takes of its host."""

    def beside(self, memory: Memory, *, taken: Range, most_tokens: int | None) -> Memory:
        """Both budgets when others hold `taken` GiB of each GPU before the load; `most_tokens` caps the pool anyway."""
