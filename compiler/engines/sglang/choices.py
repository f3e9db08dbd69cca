"""A profile and its facts go in; what the server takes for settings that are left to it comes out, as a profile has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.engines.engine import Facts
from compiler.engines.sglang import limits
from compiler.engines.sglang.launch import Launch, default_tier, launch
from compiler.engines.sglang.loading import as_loaded
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.settings import settings_of
from compiler.engines.sglang.speculation import TREE, drafts_blocks
from compiler.profile import Profile


_AS_COMPUTED = "model"
"""The name of a KV format that is the model's own."""


def choices(profile: Profile, facts: Facts) -> Mapping[str, int | str]:
    """By setting; nothing where what decides them is not known."""
    settings, rule = settings_of(profile, facts.release), counting(profile.engine.version)
    gpu, model = facts.gpu, facts.model
    if rule is None or gpu is None or model is None or limits.unknowns(settings, facts):
        return {}
    started = launch(
        settings, rule=rule, gpu=gpu, model=as_loaded(model, settings), draft=facts.draft
    )
    chunk, _ = default_tier(gpu, ranks=profile.parallel.tensor, rule=rule)
    return {
        "memory.chunked_prefill": chunk,
        "memory.kv_dtype": _format(started),
        "memory.page_size": started.page,
        "engine.attention_backend": started.backend,
        **dict(_of_graphs(started)),
        **dict(_of_blocks(profile, started)),
    }


def _format(started: Launch) -> str:
    own = started.kv.name == _AS_COMPUTED
    return f"the model's own, {8 * started.kv_bytes} bits a number" if own else started.kv.name


def _of_graphs(started: Launch) -> Iterator[tuple[str, int]]:
    if started.graph_max_batch > 0:
        yield "memory.cuda_graph_max_batch", started.graph_max_batch


def _of_blocks(profile: Profile, started: Launch) -> Iterator[tuple[str, int]]:
    asked = profile.speculative
    if asked is None or not drafts_blocks(profile):
        return
    yield "speculative.block_size", started.draft_width
    if asked.algorithm == TREE:
        yield "speculative.tree_budget", started.verify_width - 1
