"""What a new tree is for: the answers that `init` asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import field, frozen

from compiler.profile import Argument
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Layout(Value):
    """How a model lies on the GPUs where tensor parallel over all of them is refused.

    Attributes:
        tensor: GPUs that one copy of the model is cut over.
        data: copies of it.
        pipeline: stages of it, each cut over `tensor` GPUs.
        expert: groups that the experts stand in.
        whole_vision: whether every GPU keeps the vision tower whole.
        dp_attention: whether `data` are groups of GPUs that share the model out, each with attention and a pool of its own.
        because: what tensor parallel alone was refused for, in a clause.
    """

    tensor: int
    data: int = 1
    pipeline: int = 1
    expert: int = 1
    whole_vision: bool = False
    dp_attention: bool = False
    because: str = ""

    def said(self, count: int) -> str:
        """Why it is laid out so, as a sentence."""
        ways = (
            (self._copies(), self.data > 1),
            (
                f"its layers run in {self.pipeline} stages, {_each(self.tensor)}",
                self.pipeline > 1,
            ),
            (f"the experts stand in {self.expert} groups {self._group()}", self.expert > 1),
            ("every GPU keeps the vision tower whole", self.whole_vision),
        )
        how = ", and ".join(way for way, is_so in ways if is_so)
        return f"With `tensor = {count}` alone, {self.because}. So {how}."

    @property
    def briefly(self) -> str:
        """How it is laid out, in few words."""
        ways = (
            ("data parallel attention", self.dp_attention),
            (f"{self.data} copies", self.data > 1 and not self.dp_attention),
            (f"{self.pipeline} stages", self.pipeline > 1),
            (f"experts in {self.expert} groups", self.expert > 1),
            ("the vision tower whole on every GPU", self.whole_vision),
        )
        return ", ".join(way for way, is_so in ways if is_so)

    def _copies(self) -> str:
        if self.dp_attention:
            size = self.tensor // self.data
            whose = f"every {size} GPUs keep" if size > 1 else "each GPU keeps"
            own = "their" if size > 1 else "its"
            return f"attention is data parallel, and {whose} the cache of {own} own requests"
        return f"{self.data} copies of the model run, {_each(self.tensor)}"

    def _group(self) -> str:
        size = self.tensor // self.expert
        return f"of {size} GPUs" if size > 1 else "of one GPU"


def _each(tensor: int) -> str:
    return f"each on {tensor} GPUs" if tensor > 1 else "one on each GPU"


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
        flags: what each service is given beside.
        model_flags: what this model is.
        python: the interpreter that has the engine, on the host.
        context: tokens that one request may have.
        concurrency: requests of that size at once.
        layout: how the model lies on the GPUs; `None` for tensor parallel over all of them.
        port: that it listens on; `None` for the port that all share.
        indices: the GPUs of its host that it uses; empty for the first ones.
        requests: that run at most, where the engine's own limit is too many for the memory.
        requests_because: what that limit was refused for, in a clause.
        own_python: the interpreter, where the one of its engine's fragment has another release on its host.
        taken_python: the usual interpreter, where another service of its host has another release there; else empty.
        kv_dtype: the number format of the KV cache; empty for the model's own.
        engine_fragment: the profile that says its engine and release already; empty for the one of the usual name.
        fraction: of the memory, once it is found; `None` for the least that keeps the promise.
        picked: the fraction that the engine would take by itself, where `fraction` is one.
        shares: whether the host uses the GPU's memory, too.
        is_described: whether the model, the GPU, and what the engine does with memory are, so that the fraction can be found.
        custom_code: the parts of the checkpoint that come as code, as words of a sentence.
        target: the host's name.
        user: the account it runs as.
        same_unit: the unit, and the profiles that have it on this host already; empty where it has one of its own.
        own_name: of its deployable profile; empty for the usual one.
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
    own_name: str = ""
    model_flags: Mapping[str, Argument] = field(factory=dict)
    custom_code: str = ""
    layout: Layout | None = None
    port: int | None = None
    indices: tuple[int, ...] = ()
    own_python: str | None = None
    taken_python: str = ""
    requests: int | None = None
    requests_because: str = ""
    kv_dtype: str = ""
    engine_fragment: str = ""
    fraction: float | None = None
    picked: float | None = None
    shares: bool = False
    same_unit: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A word for the model that a file and a unit may be called by."""
        short = self.model.rpartition("/")[2].lower()
        return re.sub(r"[^a-z0-9._-]+", "-", short).strip("-.") or "model"

    @property
    def requests_said(self) -> str:
        """Why fewer run, as a sentence; empty where the limit is the engine's own."""
        if self.requests is None:
            return ""
        return f"With as many running requests as the engine takes by itself, {self.requests_because}. So {self.requests} run at most, and others wait."

    @property
    def profile(self) -> str:
        """The name of its deployable profile."""
        return self.own_name or f"{self.name}-{self.target}"
