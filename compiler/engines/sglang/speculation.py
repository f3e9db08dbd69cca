"""What speculation asks for: how many tokens are drafted and verified at once, and which draft does it."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from compiler.engines.sglang.releases import Counting, at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Draft, Model, Nextn, Stages
from compiler.profile import Profile, Speculative
from compiler.value import Value


TREE = "ddtree"
DSPARK = "dspark"
DSPARK_SINCE = "0.5.16"
"""The release that brings it (speculative/spec_info.py, `SpeculativeAlgorithm`)."""
BLOCK_DRAFTED = frozenset({"dflash", TREE, DSPARK})
"""The algorithms that draft a block at once, and whose draft keeps the target's states in a pool like DFlash's.

DSpark's draft may be stages that the model brings (DeepSeek V4), which keep windows alone.
"""
STANDALONE = "standalone"
"""A whole model drafts, with an embedding and a head that it keeps."""
STEPWISE = frozenset({"eagle", "eagle3", "nextn", STANDALONE})
"""The algorithms whose draft works token by token, with a pool of its own."""
NGRAM = "ngram"
"""Drafts from what was seen before; no draft model."""

RUNNING_REQUESTS = 48
"""Most requests at once under speculation when nothing is set (server_args.py of every release)."""
DFLASH_BLOCK_SIZE = 16
"""Block size when neither the flag nor the draft's config gives one (0.5.11 server_args.py, lines 3395-3412)."""
DSPARK_BLOCK_SIZE = 7
"""The same of DSpark (0.5.16 to 0.5.23 speculative/dspark_components/dspark_config.py, `DEFAULT_DSPARK_GAMMA`)."""
BLOCK_FLAGS: Mapping[str, frozenset[str]] = {
    "speculative-dflash-block-size": BLOCK_DRAFTED - {DSPARK},
    "speculative-dspark-block-size": frozenset({DSPARK}),
}
"""The flags of a block's size -> the algorithms that read each (0.5.16 to 0.5.23 arg_groups/speculative_hook.py)."""
NGRAM_TOKENS = 12
"""Tokens verified at once without a flag (0.5.11 server_args.py, line 3592)."""

# Steps, branches and tokens when none is given (0.5.11 server_args.py, `auto_choose_speculative_params`).
_CHAIN = (5, 4, 8)
_CHAIN_FOR = ("Llama", "Grok")
_SHORT = (3, 1, 4)


@frozen(kw_only=True, eq=False, repr=False)
class Speculation(Value):
    """How a server speculates.

    Attributes:
        verify_width: tokens a request verifies at once, and the slots its last step wants free.
        draft_width: tokens drafted at once; 1 for a draft that works token by token.
        steps, branches: of a draft that works token by token.
        draft: the draft model, when it is one of its own.
        nextn: the model's own extra layers, when they draft.
        stages: the model's own block drafter, when it drafts.
        writes_only: whether a draft of its own keeps nothing but what writes KV: DSpark's on servers that only prefill.
    """

    algorithm: str | None = None
    verify_width: int = 1
    draft_width: int = 1
    steps: int = 0
    branches: int = 0
    draft: Draft | None = None
    nextn: Nextn | None = None
    stages: Stages | None = None
    writes_only: bool = False

    @property
    def drafts_blocks(self) -> bool:
        """Whether a block is drafted at once."""
        return self.algorithm in BLOCK_DRAFTED

    @property
    def stepwise(self) -> bool:
        """Whether the draft works token by token."""
        return self.algorithm in STEPWISE

    @property
    def draft_layers(self) -> int:
        """Layers of the draft that keep KV."""
        if self.draft is not None:
            return self.draft.layers
        own = self.nextn or self.stages
        return own.layers if own is not None else 0

    def enlargement(self, *, rule: Counting, rows: int) -> int:
        """Slots that old releases add for what `rows` requests may have in flight (0.5.3 model_runner.py, line 1441)."""
        if rule.enlarged_for and self.algorithm not in rule.enlarged_for:
            return 0
        return rows * (self.steps * self.branches + self.verify_width) + 100


def speculation(settings: Settings, *, model: Model | None, draft: Draft | None) -> Speculation:
    """Fill in the engine's defaults."""
    profile = settings.profile
    asked = profile.speculative
    if asked is None:
        return Speculation()
    algorithm = asked.algorithm
    if algorithm in BLOCK_DRAFTED:
        stages = own_stages(profile, draft, model)
        block = draft_width(profile, draft or stages, tokens=_tokens(settings))
        return Speculation(
            algorithm=algorithm,
            verify_width=_verified(asked, block),
            draft_width=block,
            draft=draft,
            stages=stages,
            writes_only=_writes_only(settings, algorithm),
        )
    if algorithm == NGRAM:
        return Speculation(algorithm=algorithm, verify_width=_tokens(settings) or NGRAM_TOKENS)
    steps, branches, tokens = _steps(settings, model)
    own = draft is None and model is not None
    return Speculation(
        algorithm=algorithm,
        verify_width=tokens,
        steps=steps,
        branches=branches,
        draft=draft,
        nextn=model.nextn if own and model is not None else None,
    )


_WRITES_ONLY_SINCE = "0.5.17"
"""speculative/dspark_components/dspark_worker_v2.py, `_is_pd_prefill`; models/dspark.py, `prune_to_ctx_kv_injection`."""


def _writes_only(settings: Settings, algorithm: str) -> bool:
    prefills = settings.word("disaggregation-mode") == "prefill"
    late = at_least(settings.profile.engine.version, _WRITES_ONLY_SINCE)
    return algorithm == DSPARK and prefills and late


def _tokens(settings: Settings) -> int | None:
    return settings.whole("speculative-num-draft-tokens")


def _steps(settings: Settings, model: Model | None) -> tuple[int, int, int]:
    usual = _CHAIN if model and model.architecture.startswith(_CHAIN_FOR) else _SHORT
    steps = settings.whole("speculative-num-steps")
    branches = settings.whole("speculative-eagle-topk")
    tokens = _tokens(settings)
    if steps is None and branches is None and tokens is None:
        return usual
    steps = steps if steps is not None else usual[0]
    branches = branches if branches is not None else 1
    # One branch is a line: as many tokens as steps, and the one before them.
    return steps, branches, steps + 1 if branches == 1 else tokens or usual[2]


def own_stages(profile: Profile, draft: Draft | None, model: Model | None) -> Stages | None:
    """The model's own block drafter, where it is asked to draft; `None` where another draft is named."""
    asked = profile.speculative
    if asked is None or asked.algorithm != DSPARK or draft is not None or model is None:
        return None
    return None if asked.draft else model.stages


_NAMES = {TREE: "DDTree", "dflash": "DFlash", DSPARK: "DSpark"}


def algorithm_name(asked: Speculative) -> str:
    """The algorithm as a reader knows it."""
    return _NAMES.get(asked.algorithm, asked.algorithm.upper())


def unwritten_block(algorithm: str) -> str:
    """The flag of a block's size that `speculative.block_size` is not written as beside an algorithm."""
    dflash, dspark = BLOCK_FLAGS
    return dflash if algorithm == DSPARK else dspark


def drafts_blocks(profile: Profile) -> bool:
    """Whether the profile's draft drafts a block at once."""
    return profile.speculative is not None and profile.speculative.algorithm in BLOCK_DRAFTED


def draft_width(
    profile: Profile, draft: Draft | Stages | None, *, tokens: int | None = None
) -> int:
    """Tokens drafted at once by DFlash and what rides on it, or by DSpark; 1 for everything else.

    `tokens` are those of `--speculative-num-draft-tokens`: with DSpark one more than the block, and where the draft says its
    own block another number is refused.
    """
    asked = profile.speculative
    if asked is None or asked.algorithm not in BLOCK_DRAFTED:
        return 1
    trained = draft.block_size if draft else None
    if asked.algorithm == DSPARK:
        given = tokens - 1 if tokens is not None and tokens > 1 else None
        return asked.block_size or trained or given or DSPARK_BLOCK_SIZE
    return asked.block_size or tokens or trained or DFLASH_BLOCK_SIZE


def _verified(asked: Speculative, block: int) -> int:
    """Tokens a request verifies at once: the block, with DSpark the token before it, or a tree's nodes and its root.

    The tree's default budget is the block size less one (sglang pull request 29907). DSpark: 0.5.16 to 0.5.23
    arg_groups/speculative_hook.py, `_handle_dspark`.
    """
    if asked.algorithm == DSPARK:
        return block + 1
    return block if asked.algorithm != TREE else (asked.tree_budget or block - 1) + 1
