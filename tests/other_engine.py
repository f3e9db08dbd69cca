"""A second engine, of three flags, that knows nothing of memory, of probes, and of launches: what each room may not take for granted."""

# ruff: noqa: ARG002 - an engine that answers the same whatever it is asked about

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from compiler.engines.adopting import Adopter
from compiler.engines.engine import CommandReader, Facts, Footprint, PortUse, ReadFile, Spelled
from compiler.engines.found import Found
from compiler.engines.sized import Fixed, Sized, Sizer
from compiler.facts import Flag, Model, Release
from compiler.plan import Memory, Option, Plan
from compiler.profile import Argument, Profile
from compiler.ranges import Range
from compiler.rules import Rule
from compiler.unknown import Unknown
from compiler.value import Value


TABLE = """\
{"engine": "vllm", "version": "0.9.0", "source": "https://example.org/arg_utils.py", "flags": [
{"name": "--model", "takes": "str", "required": true},
{"name": "--port", "takes": "int", "default": 8000},
{"name": "--max-model-len", "takes": "int"}
]}
"""
"""Its flags, as a team's catalogue has them."""

_OWNED = {"--model": "model.path", "--port": "serve.port", "--max-model-len": "serve.context"}


@frozen(kw_only=True, eq=False, repr=False)
class OtherEngine(Value):
    """An engine that answers as little as one may; `finds` says whether it knows a launch of its own."""

    name: str = "vllm"
    entry: tuple[str, ...] = ("python3", "-m", "vllm.entrypoints.openai.api_server")
    launches: tuple[str, ...] = ("python3 -m vllm.entrypoints.openai.api_server ...",)
    image_names: tuple[str, ...] = ("vllm",)
    probe: str | None = None
    tells_free_memory: str | None = None
    first_flags: Mapping[str, Argument] = field(factory=dict)

    def rules_for(self, plan: Plan) -> tuple[Rule, ...]:
        """None of its own."""
        return ()

    def model_flags(self, model: Model) -> Mapping[str, Argument]:
        """None, whatever the model."""
        return {}

    def owned_flags(self) -> Mapping[str, str]:
        """All three."""
        return _OWNED

    def unwritten_flags(self, profile: Profile) -> frozenset[str]:
        """None, whatever the profile."""
        return frozenset()

    def spell(
        self, profile: Profile, release: Release | None, *, fraction: float | None
    ) -> Spelled:
        """The three flags, and what is given beside."""
        values = (profile.model.path or profile.model.id, profile.serve.port, profile.serve.context)
        options = tuple(
            Option(flag=flag, values=(str(value),), setting=setting)
            for (flag, setting), value in zip(_OWNED.items(), values, strict=True)
        )
        given = tuple(
            Option(flag=f"--{name}", values=(str(value),), setting=f"flags.{name}")
            for name, value in profile.flags.items()
        )
        python = profile.engine.python or self.entry[0]
        return Spelled(
            command=(python, *self.entry[1:]), options=(*options, *given), environment=()
        )

    def declared(self, model: Model, profile: Profile) -> Model:
        """As it is."""
        return model

    def sizer(self, profile: Profile, facts: Facts) -> Sizer:
        """No size, and why."""
        engine, gpu = profile.engine, facts.gpu
        unknown = Unknown(
            code="release-unknown",
            name=f"{engine.name} {engine.version}",
            setting="engine.version",
            missing="what it charges to which budget",
        )
        if gpu is not None and gpu.free_before_load_gib is None:
            unknown = Unknown(
                code="gpu-unknown", name=gpu.id, setting="gpus.kind", missing="free memory"
            )
        return Fixed(
            sized=Sized(
                memory=None,
                required_tokens=profile.serve.concurrency * profile.serve.tokens,
                verify_width=1,
                running_requests=None,
                unknowns=(unknown,),
            )
        )

    def command_reader(
        self, release: Release, *, read_file: ReadFile | None = None
    ) -> CommandReader | None:
        """None."""
        return None

    def find_launch(self, words: Sequence[str]) -> Found | None:
        """Where its module is named."""
        module = self.entry[-1]
        if module not in words:
            return None
        at = list(words).index(module)
        return Found(entry=at, arguments=at + 1)

    def other_program(self, words: Sequence[str]) -> tuple[str, str] | None:
        """It has no relatives."""
        return None

    def needless(self, flag: str) -> str | None:
        """Nothing is known of others' flags."""
        return None

    def adopter(self, release: Release) -> Adopter | None:
        """None."""
        return None

    def is_typed(self, flag: str, values: tuple[str, ...], *, release: Release | None) -> bool:
        """Its three flags."""
        return flag in _OWNED

    def misread(self, flag: Flag, word: str) -> str | None:
        """It takes any word."""
        return None

    def automatic_fraction(self, profile: Profile, facts: Facts) -> float | None:
        """Not known."""
        return None

    def choices(self, profile: Profile, facts: Facts) -> Mapping[str, int | str]:
        """Not known."""
        return {}

    def nodes(self, profile: Profile, release: Release | None) -> int:
        """One host."""
        return 1

    def untold(self, profile: Profile, release: Release | None) -> str | None:
        """Its server tells what there is to tell."""
        return None

    def footprint(self, profile: Profile, release: Release | None) -> Footprint:
        """Its own port, and all its GPUs."""
        port = profile.serve.port
        own = PortUse(first=port, last=port, what="the server itself", setting="serve.port")
        return Footprint(ports=(own,), gpus=profile.gpus.indices or None)

    def beside(self, memory: Memory, *, taken: Range, most_tokens: int | None) -> Memory:
        """Not asked: it has no memory plan."""
        raise AssertionError(memory)
