"""Cases as recorded boots: which of them the catalogue ships, and what one says about another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from benchmarks.asking import Answer, Case, ask
from compiler.catalog.recorded import PUBLIC
from compiler.facts import Boot
from compiler.profile import Profile


def carried(cases: Iterable[Case]) -> Iterator[Answer]:
    """Each boot predicted from every other one of the same model on the same GPUs."""
    known = [(case, boot) for case in cases if (boot := boot_of(case)) is not None]
    for case, _ in known:
        for other, boot in known:
            alike = (case.model, case.gpu, case.count) == (other.model, other.gpu, other.count)
            if not alike or other.id == case.id:
                continue
            answer = ask(case, boots=(boot,))
            if answer.memory is not None and answer.memory.pool.boot is not None:
                yield answer


def boot_of(case: Case) -> Boot | None:
    """The case as a recorded boot; nothing of it is taken from a prediction but the settings' defaults."""
    recorded = case.started and case.is_named and case.tokens
    if not recorded or "--mem-fraction-static" not in case.command:
        return None
    plan = ask(case).plan
    if plan is None or plan.memory is None or plan.profile.env:
        return None  # a recorded boot has no variables
    profile = plan.profile
    speculative = profile.speculative
    return Boot(
        name=case.id,
        engine="sglang",
        version=case.version,
        model=profile.model.id,
        gpu=profile.gpus.kind,
        gpu_count=profile.gpus.count,
        tensor=profile.parallel.tensor,
        pipeline=profile.parallel.pipeline,
        data=profile.parallel.data,
        expert=profile.parallel.expert,
        dp_attention=profile.parallel.dp_attention,
        kv_dtype=profile.memory.kv_dtype,
        page_size=profile.memory.page_size or 1,
        fraction=float(profile.memory.fraction),
        context=profile.serve.tokens,
        max_running_requests=profile.serve.max_running_requests,
        chunked_prefill=profile.memory.chunked_prefill,
        algorithm=speculative.algorithm if speculative else None,
        draft=_draft_of(profile),
        block_size=speculative.block_size if speculative else None,
        draft_window=speculative.draft_window if speculative else None,
        tree_budget=speculative.tree_budget if speculative else None,
        tree_topk=speculative.tree_topk if speculative else None,
        pool_tokens=case.tokens or 0,
        free_before_load_gib=case.free_before_gib,
        flags={k: v for k, v in profile.flags.items() if not isinstance(v, tuple)},
        source=case.source,
    )


def _draft_of(profile: Profile) -> str | None:
    speculative = profile.speculative
    if speculative is None:
        return None
    return speculative.draft or (profile.model.id if speculative.draft_path else None)


def published(cases: Iterable[Case]) -> Iterator[tuple[Case, Boot]]:
    """The boots that the catalogue ships: of a kind of GPU it knows, release, checkpoint, fraction and pool all stated."""
    for case in cases:
        stated = case.version_stated and case.checkpoint_named and case.aside is None
        if stated and case.gpu_memory_gib is None and not case.not_known:
            boot = boot_of(case)
            if boot is not None:
                yield case, evolve(boot, name=f"{PUBLIC}{case.id}", shipped=True)


def with_others(cases: Iterable[Case], *, by_source: bool) -> Iterator[Answer]:
    """Each case with the shipped boots but its own; with `by_source` none that its source published counts."""
    several = tuple(cases)
    known = tuple(published(several))
    for case in several:
        others = tuple(
            boot
            for other, boot in known
            if other.id != case.id and not (by_source and _origin(other) == _origin(case))
        )
        yield ask(case, boots=others)


_REPOSITORY_PARTS = 5
"""Of an address: `https://github.com/owner/name`."""


def _origin(case: Case) -> str:
    """Who published a case; those whose address was not kept may all be from one."""
    return "/".join(case.source.split("/")[:_REPOSITORY_PARTS])
