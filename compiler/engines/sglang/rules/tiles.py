"""Weights that are cut by rank into pieces a kernel does not take: quantized tiles, and the heads of a vision tower."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.architecture import BLOCK_VALUES
from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.launch import takes_images
from compiler.engines.sglang.rules.parallel import expert_groups
from compiler.engines.sglang.rules.places import at, caution, refusal
from compiler.engines.sglang.settings import settings_of
from compiler.facts import Format, Model, Role, VisionPart
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Parallel
from compiler.ranks import resized
from compiler.rules import rule


_BLOCK = 128
_FP8, _EIGHT_BITS = "fp8", 8
_FOUR_BITS = 4
_GROUPED = frozenset({"awq", "gptq", "compressed-tensors"})  # mxfp4 pads its experts
_USUAL_RANKS = (1, 2, 4, 8, 16, 32)


def _format(model: Model, role: Role) -> Format | None:
    formats = model.quantization.formats if model.quantization is not None else ()
    return next((each for each in formats if role in each.roles), None)


def _expert_ranks(given: Given) -> int:
    """Ranks that share one expert's matrices."""
    copies = given.whole("moe-data-parallel-size", "moe-dp-size") or 1
    return max(1, given.plan.profile.parallel.tensor // (expert_groups(given) * copies))


def _sliced(given: Given, model: Model, role: Role) -> tuple[int, int]:
    """Width of an expert or of a dense MLP, and the ranks that share it."""
    if role is Role.EXPERTS:
        return (model.moe.intermediate if model.moe is not None else 0), _expert_ranks(given)
    ranks = given.whole("moe-dense-tp-size") or given.plan.profile.parallel.tensor
    return (model.intermediate if model.dense_layers else 0), ranks


def _mended(plan: Plan, model: Model, role: Role, *, unit: int) -> Iterator[str]:
    """The fewest groups of experts with whole units on each rank, and the largest smaller size that has them."""
    parallel = plan.profile.parallel
    groups = range(parallel.expert + 1, parallel.tensor + 1) if role is Role.EXPERTS else ()
    experts = model.moe.routed_experts if model.moe is not None else 1
    several = (evolve(parallel, expert=each) for each in groups if not experts % each)
    fewer = (
        evolve(parallel, tensor=each)
        for each in reversed(_USUAL_RANKS)
        if each < parallel.tensor and not each % (parallel.expert if groups else 1)
    )
    lead = ""
    for ways in (several, fewer):
        way = next((each for each in ways if _is_whole(plan, model, role, each, unit=unit)), None)
        if way is not None and way.tensor == parallel.tensor:
            yield f"set `parallel.expert = {way.expert}`"
            lead = "or "
        elif way is not None:
            yield f"{lead}{resized(way, way.tensor)}"


def _is_whole(plan: Plan, model: Model, role: Role, parallel: Parallel, *, unit: int) -> bool:
    tried = evolve(plan, profile=evolve(plan.profile, parallel=parallel))
    width, ranks = _sliced(given_by(tried), model, role)
    return parallel.tensor % parallel.expert == 0 and (ranks == 1 or width % (ranks * unit) == 0)


_NAMES = {Role.EXPERTS: "an expert", Role.DENSE: "the dense MLP"}


@rule("block-tiles")
def whole_blocks(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Weights in fp8 blocks of 128 x 128 are cut at blocks only.

    0.4.6 to 0.5.23 layers/quantization/fp8.py, `create_weights`, and from 0.5.6 model_runner.py,
    `check_quantized_moe_compatibility`, before the load; not on AMD, which pads.
    """
    model, given = plan.model, given_by(plan)
    if model is None or model.quantization is None or model.quantization.method != _FP8:
        return
    if plan.gpu is None or platform(plan.gpu) is not Platform.CUDA:
        return
    for role, name in _NAMES.items():
        form = _format(model, role)
        width, ranks = _sliced(given, model, role)
        if form is None or form.bits != _EIGHT_BITS or form.group_size != BLOCK_VALUES:
            continue
        if ranks == 1 or width % (ranks * _BLOCK) == 0:
            continue
        yield refusal(
            given,
            "block-tiles",
            f"{name} of width {width:,} does not divide over {ranks} ranks in blocks of {_BLOCK}",
            at(
                given,
                where,
                "parallel.tensor",
                text=f"{ranks} ranks share it",
                beside={
                    "model.id": "fp8 in blocks of 128 x 128",
                    "parallel.expert": f"{plan.profile.parallel.expert} groups",
                },
            ),
            because=f"{width:,} / {ranks} = {width / ranks:g}, no multiple of {_BLOCK}; the server stops while it builds the model",
            help=tuple(_mended(plan, model, role, unit=_BLOCK)),
        )


@rule("group-tiles")
def whole_groups(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Weights of four bits are cut at whole groups, each with one scale.

    AWQ and GPTQ refuse it in `create_weights` (0.5.11 layers/quantization/awq/schemes/awq_linear.py, line 41; gptq.py, line
    474; marlin_utils.py, `verify_marlin_supports_shape`; seen in intel/auto-round#643); compressed-tensors checks nothing for
    experts. A warning: which class loads a checkpoint is the release's choice.
    """
    model, given = plan.model, given_by(plan)
    if model is None or model.quantization is None or model.quantization.method not in _GROUPED:
        return
    for role, name in _NAMES.items():
        form = _format(model, role)
        width, ranks = _sliced(given, model, role)
        if form is None or form.bits != _FOUR_BITS or not 0 < form.group_size < BLOCK_VALUES:
            continue
        if ranks == 1 or width % (ranks * form.group_size) == 0:
            continue
        yield caution(
            "group-tiles",
            f"{name} of width {width:,} does not divide over {ranks} ranks in groups of {form.group_size}",
            at(
                given,
                where,
                "parallel.tensor",
                text=f"{ranks} ranks share it",
                beside={"model.id": f"four bits in groups of {form.group_size}"},
            ),
            because=f"{width:,} / {ranks} = {width / ranks:g}, no multiple of {form.group_size}; the load or the first step is likely to fail",
            help=tuple(_mended(plan, model, role, unit=form.group_size)),
        )


@rule("vision-heads")
def vision_heads(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The heads of the vision tower divide over the ranks of attention, too.

    0.4.6 to 0.5.23 layers/attention/vision.py, `dist_utils.divide`; not where the tower stands whole on every rank
    (`--mm-enable-dp-encoder`), nor where no images are taken.
    """
    model, given, parallel = plan.model, given_by(plan), plan.profile.parallel
    vision = model.vision if model is not None else None
    if model is None or vision is None or vision.heads is None:
        return
    ranks = max(1, parallel.tensor // parallel.data) if parallel.dp_attention else parallel.tensor
    split = VisionPart.ATTENTION in vision.split and not given.on("mm-enable-dp-encoder")
    if not split or vision.heads % ranks == 0:
        return
    if not takes_images(settings_of(plan.profile, plan.release), model):
        return
    shares = parallel.data if parallel.dp_attention else 1
    sizes = [each * shares for each in _USUAL_RANKS if vision.heads % each == 0]
    fitting = max((each for each in sizes if each < parallel.tensor), default=None)
    yield refusal(
        given,
        "vision-heads",
        f"the vision tower's {vision.heads} heads do not divide over {ranks} ranks",
        at(
            given,
            where,
            "parallel.tensor",
            text=f"{ranks} ranks",
            beside={"model.id": f"a vision tower with {vision.heads} heads"},
        ),
        because="the server stops with an assertion while it builds the model",
        help=(
            *((resized(parallel, fitting),) if fitting else ()),
            *(
                (
                    f"{'or ' if fitting else ''}set `mm-enable-dp-encoder = true` under `[flags]`: every rank keeps the tower",
                )
                if plan.release is not None and "--mm-enable-dp-encoder" in plan.release.flags
                else ()
            ),
        ),
    )
