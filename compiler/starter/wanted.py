"""What a new tree is for: the answers that `init` asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from compiler.profile import Argument
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class FirstService(Value):
    """One service to begin with.

    Attributes:
        model: its id, as in the catalogue or on its hub.
        model_path: where its files are on the host.
        gpu: a kind of GPU of the catalogue.
        count: how many of them one host has; all of them serve it.
        engine: its name.
        version: its release.
        flags: what it is given beside.
        python: the interpreter that has the engine, on the host.
        context: tokens that one request may have.
        concurrency: requests of that size at once.
        fraction: of the memory, once it is found; `None` for the least that keeps the promise.
        is_described: whether the model, the GPU, and what the engine does with memory are, so that the fraction can be found.
        target: the host's name.
        user: the account it runs as.
    """

    model: str
    model_path: str
    gpu: str
    count: int
    engine: str
    version: str
    flags: Mapping[str, Argument]
    python: str
    context: int
    concurrency: int
    is_described: bool
    target: str
    user: str
    fraction: float | None = None

    @property
    def name(self) -> str:
        """A word for the model that a file and a unit may be called by."""
        short = self.model.rpartition("/")[2].lower()
        return re.sub(r"[^a-z0-9._-]+", "-", short).strip("-.") or "model"

    @property
    def profile(self) -> str:
        """The name of its deployable profile."""
        return f"{self.name}-{self.target}"
