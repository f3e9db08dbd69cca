"""What nobody described: said by name, never priced with somebody else's formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.catalog.shelves import file_stem
from compiler.diagnostics import Diagnostic, error, listed, warning
from compiler.engines.known import ENGINES
from compiler.facts import Unknown
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_WHAT: Mapping[str, str] = {
    "engine-unknown": "the engine `{}` is not known",
    "gpu-unknown": "the memory of the GPU `{}` is not known",
    "model-unknown": "the model `{}` is not known",
    "model-unpriced": "the memory of the model `{}` cannot be worked out yet",
    "draft-unknown": "the draft model `{}` is not known",
    "release-unknown": "it is not known how {} counts memory",
    "build-unknown": "the build `{}` is not known",
    "speculation-unpriced": "the memory of the speculation algorithm `{}` is not known",
    "layout-unpriced": "the memory of {} is not known",
    "flag-unpriced": "what `{}` does to memory is not known",
}
_HELP: Mapping[str, tuple[str, ...]] = {
    "gpu-unknown": (
        "describe it with `poolproof catalog add-gpu`; what a log prints before weights load is `--free-before`",
    ),
    "model-unknown": (
        "describe it from its checkpoint: `poolproof catalog add-model FOLDER --id ID`",
        "or by hand in `profiles/catalog/models/{}.toml`, in the form that `poolproof catalog show MODEL` prints",
    ),
    "draft-unknown": ("describe it in `profiles/catalog/drafts/{}.toml`",),
    "build-unknown": ("describe it in `profiles/catalog/engines/ENGINE/builds/{}.toml`",),
}


@rule(*_WHAT)
def unknown(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each thing nobody described, with what would have to be known."""
    for each in plan.unknowns:
        make = error if each.code == "engine-unknown" else warning
        yield make(
            each.code,
            _WHAT[each.code].format(each.name),
            where.primary(each.setting, text=f"not known: {each.missing}"),
            notes=()
            if each.code == "engine-unknown"
            else ("memory is not judged; everything else is",),
            help=_advice(each, plan),
            path=each.setting,
        )


def _of_its_memory(plan: Plan) -> tuple[str, ...]:
    """How the memory of a GPU is described that is known otherwise."""
    engine = ENGINES.get(plan.profile.engine.name)
    told = None if engine is None else engine.tells_free_memory
    return (
        "give its entry `free_before_load_gib`" + ("" if told is None else f", which {told}"),
        "or record a boot of this server: `poolproof measure`",
    )


def _advice(each: Unknown, plan: Plan) -> tuple[str, ...]:
    if each.told_by:
        lines = listed([f"`{line}`" for line in each.told_by])
        return (f"say how much it takes by {lines} under `[flags]`",)
    if each.code == "gpu-unknown" and plan.gpu is not None:
        return _of_its_memory(plan)
    # What is known by name, and not in full, is nearest to itself.
    is_other = each.near is not None and each.near != each.name.partition(" ")[0]
    similar = f"a known name is similar: `{each.near}`"
    if each.code == "gpu-unknown":
        similar += "; take it only if it is that card, since another has other memory"
    stem = file_stem(each.name) or "NAME"
    described = tuple(line.format(stem) for line in _HELP.get(each.code, ()))
    return (similar, *described) if is_other else described
