"""Both budgets of one GPU: the static one with the pool, and the reserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from compiler.engines.engine import Facts, KnownBoot, Sized
from compiler.engines.sglang import boots, launch, limits, promise, wording
from compiler.engines.sglang.pool import (
    LAYER_SCALED,
    PRICING,
    Cell,
    Hypothesis,
    Weights,
    draft_cells,
    hypotheses,
    spread,
)
from compiler.engines.sglang.reserve import Server, reserve_lines
from compiler.facts import Draft, Evidence, Gpu, Model
from compiler.memory.attention import cell_bytes
from compiler.memory.tensors import weights_gib
from compiler.memory.weights import GIB, Split
from compiler.plan import Line, Memory, Pool, Reserve
from compiler.ranges import Range, total


if TYPE_CHECKING:
    from collections.abc import Callable

    from compiler.profile import Profile


def size(profile: Profile, facts: Facts, *, fraction: float) -> Sized:
    """Size one GPU, or say what nobody described."""
    unknowns = limits.unknowns(profile, facts)
    width = launch.verify_width(profile, facts.draft)
    if unknowns or facts.gpu is None or facts.model is None:
        return Sized(
            memory=None,
            verify_width=width,
            running_requests=launch.requested_running_requests(profile),
            attention_backend=profile.engine.attention_backend,
            unknowns=unknowns,
        )
    case = Case(
        profile=profile,
        gpu=facts.gpu,
        model=facts.model,
        draft=facts.draft if launch.drafts_blocks(profile) else None,
        launch=launch.launch(profile, gpu=facts.gpu, model=facts.model, draft=facts.draft),
        pricings=limits.draft_pricings(
            profile.speculative.algorithm if profile.speculative else None, facts.release
        ),
        boots=facts.boots,
        fraction=fraction,
    )
    memory = case.memory()
    return Sized(
        memory=memory,
        verify_width=width,
        running_requests=case.launch.table_rows(memory.pool.tokens.best),
        attention_backend=case.launch.backend,
        prefill_chunk=case.launch.chunk,
        assumptions=limits.assumptions(profile, facts),
    )


@frozen(kw_only=True)
class Case:
    """One profile with everything known about it, at one fraction."""

    profile: Profile
    gpu: Gpu
    model: Model
    draft: Draft | None
    launch: launch.Launch
    pricings: tuple[str, ...]
    boots: tuple[KnownBoot, ...]
    fraction: float

    def memory(self) -> Memory:
        """The static budget, then the reserve that it leaves."""
        known = boots.nearest(self.profile, self.launch, self.boots, fraction=self.fraction)
        worlds = self._worlds(known)
        tokens = self._tokens(known)
        pool = self._pool(worlds, known, tokens)
        lines = reserve_lines(self._server(pool))
        return Memory(
            fraction=self.fraction,
            free_before_load_gib=self._free_gib(known),
            pool=pool,
            static=self._static(worlds, known, tokens),
            reserve=Reserve(
                available_gib=spread(world.left_gib(tokens(world)) for world in worlds),
                needed_gib=total(line.gib for line in lines),
            ),
            reserve_lines=lines,
            unpriced=limits.unpriced(self.profile, self.launch),
        )

    def _worlds(self, known: KnownBoot | None) -> tuple[Hypothesis, ...]:
        weights = Weights(
            derived_gib=self._derived_weights_gib(),
            boot=known.boot if known else None,
            boot_cells=self._boot_cells(known) if known else (),
            same_pricing=known is not None and self._prices_alike(known),
        )
        return tuple(hypotheses(self._free_gib(known), self._cells(), weights))

    def _free_gib(self, known: KnownBoot | None) -> Range:
        if known is not None and known.boot.free_before_load_gib is not None:
            return Range.exactly(known.boot.free_before_load_gib)
        if self.gpu.free_before_load_gib is None:
            raise ValueError(f"nothing is known of the free memory of {self.gpu.id}")
        return self.gpu.free_before_load_gib

    def _cells(self) -> tuple[Cell, ...]:
        return self._priced(self.launch.kv_bytes, self.draft, self.pricings)

    def _boot_cells(self, known: KnownBoot) -> tuple[Cell, ...]:
        pricings = limits.draft_pricings(known.boot.algorithm, known.release)
        return self._priced(launch.kv_bytes(known.boot.kv_dtype, self.model), known.draft, pricings)

    def _prices_alike(self, known: KnownBoot) -> bool:
        speculative = self.profile.speculative
        ours = (self.profile.engine.build, speculative.algorithm if speculative else None)
        return ours == (known.boot.build, known.boot.algorithm)

    def _priced(
        self, kv_bytes: int, draft: Draft | None, pricings: tuple[str, ...]
    ) -> tuple[Cell, ...]:
        ranks = self.launch.attention_ranks
        target = cell_bytes(
            self.model.attention, layers=self.model.layers, element_bytes=kv_bytes, ranks=ranks
        )
        if draft is None:
            return (
                Cell(pricing=LAYER_SCALED, priced_bytes=target, target_bytes=target, draft_bytes=0),
            )
        return draft_cells(
            target_bytes=target,
            target_layers=self.model.layers,
            draft_bytes=cell_bytes(
                draft.attention, layers=draft.layers, element_bytes=kv_bytes, ranks=ranks
            ),
            draft_layers=draft.layers,
            pricings=pricings,
        )

    def _derived_weights_gib(self) -> Range:
        split = Split(tensor=self.launch.ranks, expert=self.profile.parallel.expert)
        return weights_gib(self.model, split=split)

    def _tokens(self, known: KnownBoot | None) -> Callable[[Hypothesis], int]:
        """The pool in one world; a boot of exactly these settings knows it in all of them."""
        if known is not None and self.is_measured(known):
            measured = known.boot.pool_tokens
            return lambda _world: measured
        page, limit = self.launch.page, self.profile.memory.max_pool_tokens
        return lambda world: world.tokens(self.fraction, page=page, limit=limit)

    def is_measured(self, known: KnownBoot) -> bool:
        """Whether a boot is of exactly these settings."""
        return not boots.differences(self.profile, self.launch, known.boot, fraction=self.fraction)

    def _evidence(self, known: KnownBoot | None) -> Evidence:
        if known is None:
            return Evidence.DERIVED
        return Evidence.MEASURED if self.is_measured(known) else Evidence.CARRIED

    def _pool(
        self,
        worlds: tuple[Hypothesis, ...],
        known: KnownBoot | None,
        tokens: Callable[[Hypothesis], int],
    ) -> Pool:
        best = worlds[0]
        one = promise.request_tokens(self.profile, self.launch)
        return Pool(
            required_tokens=one * self.profile.serve.concurrency,
            request_tokens=one,
            tokens=spread(tokens(world) for world in worlds),
            cell_bytes=best.cell.priced_bytes,
            cell_choices={world.cell.priced_bytes: PRICING[world.cell.pricing] for world in worlds},
            rest_gib=spread(world.rest_gib(self.fraction) for world in worlds),
            evidence=self._evidence(known),
            best_formula=wording.pool_formula(self, best, known=known, tokens=tokens(best)),
            boot=known.boot if known else None,
        )

    def _static(
        self,
        worlds: tuple[Hypothesis, ...],
        known: KnownBoot | None,
        tokens: Callable[[Hypothesis], int],
    ) -> tuple[Line, ...]:
        evidence = self._evidence(known)
        best = worlds[0]
        lines = [
            Line(
                item="weights",
                gib=spread(world.weights_gib for world in worlds),
                evidence=Evidence.CARRIED if known else Evidence.DERIVED,
                formula=wording.weights_formula(self, best, known=known),
            ),
            Line(
                item="KV pool",
                gib=spread(tokens(world) * world.cell.target_bytes / GIB for world in worlds),
                evidence=evidence,
                formula=f"{tokens(best):,} tokens x {best.cell.target_bytes:,} B",
            ),
        ]
        if self.draft is not None:
            share = [tokens(world) * world.cell.draft_share_bytes / GIB for world in worlds]
            lines.append(
                Line(
                    item="draft's share of the pool budget",
                    gib=spread(share),
                    evidence=Evidence.ASSUMED if len(self.pricings) > 1 else evidence,
                    formula=wording.draft_share_formula(best, tokens=tokens(best)),
                )
            )
        return tuple(lines)

    def _server(self, pool: Pool) -> Server:
        rows = self.launch.table_rows(pool.tokens.best)
        return Server(
            launch=self.launch,
            model=self.model,
            draft=self.draft,
            rows=rows,
            batches=self.launch.captured_batches(rows),
        )
