"""All that the reserve depends on, and how a line of it is written."""

from __future__ import annotations

from attrs import frozen

from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.roles import Role
from compiler.facts import Draft, Evidence, Gpu, Model
from compiler.memory.weights import Split
from compiler.plan import Line
from compiler.ranges import Range
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Server(Value):
    """What a server allocates after its pool.

    Attributes:
        rows: rows of the request table.
        batches: captured batch sizes.
        split: how weights are split over ranks.
        unified: whether aiter is asked for its unified kernels.
        fetched_gib: what a layer has on the GPU while it runs, of what stands in host memory.
    """

    launch: Launch
    gpu: Gpu
    model: Model
    rows: int
    batches: tuple[int, ...]
    split: Split
    unified: bool = False
    fetched_gib: float = 0.0

    @property
    def draft(self) -> Draft | None:
        """The draft model, when it is one of its own."""
        return self.launch.guess.draft

    @property
    def drafts(self) -> bool:
        """Whether a model drafts."""
        return self.launch.guess.draft_layers > 0

    @property
    def block_draft(self) -> Draft | None:
        """The draft when it drafts a block at once."""
        return self.draft if self.launch.guess.drafts_blocks else None

    @property
    def taps(self) -> int:
        """Layers of the target whose hidden states a block drafter reads; 0 without one."""
        guess = self.launch.guess
        drafter = self.block_draft or guess.stages
        return drafter.taps if drafter is not None else 0

    @property
    def batch(self) -> int:
        """The largest captured batch; 0 without graphs."""
        return max(self.batches, default=0)

    @property
    def step(self) -> int:
        """Tokens of the largest step: a chunk of a prompt; without prompts, what all requests verify at once."""
        if self.launch.role is Role.DECODE:
            return max(self.rows, self.batch) * self.launch.verify_width
        return self.launch.chunk

    @property
    def target_tokens(self) -> int:
        """Tokens of the largest captured step of the target."""
        return self.batch * self.launch.verify_width

    @property
    def draft_tokens(self) -> int:
        """Tokens of the largest captured step of a draft that drafts blocks."""
        return self.batch * self.launch.draft_width if self.block_draft else 0


def line(
    item: str, gib: float | Range, formula: str, evidence: Evidence = Evidence.DERIVED
) -> Line:
    """One line of the reserve."""
    known = gib if isinstance(gib, Range) else Range.exactly(gib)
    return Line(item=item, gib=known, evidence=evidence, formula=formula)
