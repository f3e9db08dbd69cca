"""What an engine must tell the planner. Nothing outside `engines/` asks which engine it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from attrs import frozen

from compiler.facts import Boot, Draft, Gpu, Model, Release, Unknown
from compiler.plan import Memory, Option, Variable
from compiler.profile import Profile
from compiler.rules import Rule
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class KnownBoot(Value):
    """A recorded boot with what the catalogue knows about its draft and its build."""

    boot: Boot
    draft: Draft | None
    release: Release | None


@frozen(kw_only=True, eq=False, repr=False)
class Facts(Value):
    """What the catalogue knows about one profile; `None` for what nobody described."""

    gpu: Gpu | None
    model: Model | None
    draft: Draft | None
    release: Release | None
    boots: tuple[KnownBoot, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Spelled(Value):
    """The command line and environment for one release."""

    command: tuple[str, ...]
    options: tuple[Option, ...]
    environment: tuple[Variable, ...]


@frozen(kw_only=True, eq=False, repr=False)
class Sized(Value):
    """What the engine will do with the GPU.

    Attributes:
        memory: both budgets; `None` when `unknowns` says why not.
        prefill_chunk: tokens of a prefill step; `None` when unknown.
        attention_backend: what the engine will use; `None` when unknown.
        required_tokens: slots the promise needs, also where memory is not known.
        verify_width: slots the last verify step of a request wants.
        running_requests: most requests at once, defaults filled in.
        assumptions: sentences about what was taken for granted.
    """

    memory: Memory | None
    required_tokens: int
    verify_width: int
    running_requests: int | None
    attention_backend: str | None = None
    prefill_chunk: int | None = None
    unknowns: tuple[Unknown, ...] = ()
    assumptions: tuple[str, ...] = ()


class Engine(Protocol):
    """One engine."""

    @property
    def name(self) -> str:
        """The name a profile uses."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Its own cross-flag rules."""

    def owned_flags(self) -> Mapping[str, str]:
        """Every flag that a typed setting writes, in any release -> that setting."""

    def spell(
        self, profile: Profile, release: Release | None, *, fraction: float | None
    ) -> Spelled:
        """The command line for a release; `fraction` stands where the profile may say "fit"."""

    def size(self, profile: Profile, facts: Facts, *, fraction: float) -> Sized:
        """Both budgets of one GPU at a fraction."""
