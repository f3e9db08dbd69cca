"""What SGLang answers to the planner, the checks, and the verbs: `engines/engine.py` says what each answer means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from compiler.engines.engine import CommandReader, Facts, Footprint, ReadFile, Spelled
from compiler.engines.sglang import sizing, spelling
from compiler.engines.sglang.following import untold
from compiler.engines.sglang.overrides import declared
from compiler.engines.sglang.rules import rules_for
from compiler.engines.sglang.settings import settings_of
from compiler.engines.sglang.speculation import unwritten_block
from compiler.engines.sized import Sizer
from compiler.facts import Flag, Model, Release
from compiler.plan import Memory, Plan
from compiler.profile import Argument, Profile
from compiler.ranges import Range
from compiler.rules import Rule
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.engines.adopting import Adopter
    from compiler.engines.found import Found


@frozen(eq=False, repr=False)
class _Sglang(Value):
    name: str = "sglang"
    entry: tuple[str, ...] = ("python3", *spelling.ENTRY)
    launches: tuple[str, ...] = ("python -m sglang.launch_server ...", "sglang serve ...")
    # AMD's own image is `rocm/sgl-dev`.
    image_names: tuple[str, ...] = ("sglang", "sgl-dev")
    probe: str = "sglang/ready.py"
    # The probe reads the size of the pool there as well, without a key.
    first_flags: Mapping[str, Argument] = field(factory=lambda: {"enable-metrics": True})
    tells_free_memory: str = "SGLang's line `Load weight begin` prints"

    def model_flags(self, model: Model) -> Mapping[str, Argument]:
        return {"is-embedding": True} if model.embeds else {}

    def rules_for(self, plan: Plan) -> tuple[Rule, ...]:
        return rules_for(plan)

    def owned_flags(self) -> Mapping[str, str]:
        return spelling.owned_flags()

    def unwritten_flags(self, profile: Profile) -> frozenset[str]:
        asked = profile.speculative
        return (
            frozenset() if asked is None else frozenset({f"--{unwritten_block(asked.algorithm)}"})
        )

    def spell(
        self, profile: Profile, release: Release | None, *, fraction: float | None
    ) -> Spelled:
        return spelling.spell(profile, release, fraction=fraction)

    def declared(self, model: Model, profile: Profile) -> Model:
        return declared(model, profile)

    def sizer(self, profile: Profile, facts: Facts) -> Sizer:
        return sizing.sizer(profile, facts)

    def command_reader(
        self, release: Release, *, read_file: ReadFile | None = None
    ) -> CommandReader:
        # A run over profiles reads no commands, and does without the parser.
        from compiler.engines.sglang.commandline import command_reader  # noqa: PLC0415

        return command_reader(release, read_file=read_file)

    def find_launch(self, words: Sequence[str]) -> Found | None:
        from compiler.engines.sglang.commandline import entry_of  # noqa: PLC0415 - as above

        return entry_of(words)

    def other_program(self, words: Sequence[str]) -> tuple[str, str] | None:
        from compiler.engines.sglang.relatives import other_program  # noqa: PLC0415 - as above

        return other_program(words)

    def needless(self, flag: str) -> str | None:
        from compiler.engines.sglang.needless import needless  # noqa: PLC0415 - only a mistake pays for it

        return needless(flag)

    def adopter(self, release: Release) -> Adopter:
        from compiler.engines.sglang.adopting import make_adopter  # noqa: PLC0415 - as above

        return make_adopter(release)

    def is_typed(self, flag: str, values: tuple[str, ...], *, release: Release | None) -> bool:
        from compiler.engines.sglang.unspelling import is_typed  # noqa: PLC0415 - as above

        return is_typed(flag, values, release=release)

    def misread(self, flag: Flag, word: str) -> str | None:
        from compiler.engines.sglang.arguments.actions import misread  # noqa: PLC0415 - as above

        return misread(flag, word)

    def automatic_fraction(self, profile: Profile, facts: Facts) -> float | None:
        return sizing.automatic_fraction(profile, facts)

    def choices(self, profile: Profile, facts: Facts) -> Mapping[str, int | str]:
        """By setting what the server takes where a profile leaves it open."""
        from compiler.engines.sglang.choices import choices  # noqa: PLC0415 - only who asks for reasons wants them

        return choices(profile, facts)

    def nodes(self, profile: Profile, release: Release | None) -> int:
        from compiler.engines.sglang import footprint  # noqa: PLC0415 - only some runs have several nodes

        return footprint.nodes(profile, release)

    def untold(self, profile: Profile, release: Release | None) -> str | None:
        settings = settings_of(profile, release)
        return untold(rank=settings.whole("node-rank"), nodes=settings.whole("nnodes"))

    def footprint(self, profile: Profile, release: Release | None) -> Footprint:
        # Only services that share a host have one.
        from compiler.engines.sglang import footprint  # noqa: PLC0415

        return footprint.footprint(profile, release)

    def beside(self, memory: Memory, *, taken: Range, most_tokens: int | None) -> Memory:
        from compiler.engines.sglang import footprint  # noqa: PLC0415 - as above

        return footprint.beside(memory, taken=taken, most_tokens=most_tokens)


SGLANG = _Sglang()
