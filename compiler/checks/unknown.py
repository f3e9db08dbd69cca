"""What nobody described: said by name, never priced with somebody else's formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve

from compiler.catalog.shelves import file_stem
from compiler.diagnostics import Diagnostic, error, listed, present, warning
from compiler.engines.known import ENGINES
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule
from compiler.unknown import Unknown


_WHAT: Mapping[str, str] = {
    "engine-unknown": "the engine `{}` is not known",
    "gpu-unknown": "the memory of the GPU `{}` is not known",
    "model-unknown": "the model `{}` is not known",
    "model-unpriced": "the memory of the model `{}` cannot be worked out yet",
    "draft-unknown": "the draft model `{}` is not known",
    "draft-unpriced": "the memory of `{}` as a draft cannot be worked out yet",
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


FITTED = "the least that keeps the promise"
"""What stands beside a fraction of "fit"."""
WRITTEN = "write a fraction, such as one that a boot of this server was seen to hold"
"""What is left to do where it cannot be worked out."""
_UNFITTED = '`memory.fraction = "fit"` cannot be worked out without it'


@rule(*_WHAT)
def unknown(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each thing nobody described, with what would have to be known."""
    for each in plan.unknowns:
        is_wrong = _is_wrong(each)
        unfits = unfitted(plan) and not is_wrong and each.code in _HELP
        make = error if is_wrong or unfits else warning
        advice = _advice(each, plan, is_tried=each.setting in where.tried)
        notes = () if is_wrong else (_UNFITTED if unfits else _unjudged(each, plan),)
        yield make(
            each.code,
            _said(each),
            where.primary(each.setting, text=_label(each)),
            secondary=present(where.label("memory.fraction", FITTED)) if unfits else (),
            notes=notes,
            help=(*advice, *((f"or {WRITTEN}",) if unfits else ())),
            path=each.setting,
        )


def unfitted(plan: Plan) -> bool:
    """Whether the least fraction is asked for, and there is none, since memory is not known."""
    return plan.profile.memory.fraction == "fit" and plan.memory is None


def explains_itself(each: Unknown) -> bool:
    """Whether its own finding refuses what asks for the least fraction: it is wrong, or can be described."""
    return _is_wrong(each) or each.code in _HELP


def _is_wrong(each: Unknown) -> bool:
    return each.is_sure or each.code == "engine-unknown"


def _said(each: Unknown) -> str:
    if not each.name:  # of a command whose file of settings is not here
        return "what is told here names no model"
    if each.is_sure:
        return f"`{each.name}` is a name of the GPU that the catalogue calls `{each.near}`"
    return _WHAT[each.code].format(each.name)


def _label(each: Unknown) -> str:
    return "a profile has its id" if each.is_sure else f"not known: {each.missing}"


# What is there by choice, and what it is called in the sentence about it.
_CHOSEN: Mapping[str, str] = {"flag-unpriced": "it", "draft-unpriced": "this draft"}


def _unjudged(each: Unknown, plan: Plan) -> str:
    """What is not judged; of what one can do without, if nothing else is in the way, that memory is judged without it."""
    said = "memory is not judged; everything else is"
    chosen = _CHOSEN.get(each.code)
    alone = {(other.code, other.name) for other in plan.unknowns} == {(each.code, each.name)}
    return f"{said}, and without {chosen} memory is, too" if chosen and alone else said


def placeless(found: Diagnostic) -> Diagnostic:
    """A finding for those who are shown no place: what is not known of a thing, which is said there, is a note."""
    if found.code not in _WHAT or found.primary is None:
        return found
    return evolve(found, notes=(found.primary.text, *found.notes))


def _of_its_memory(plan: Plan) -> tuple[str, ...]:
    """How the memory of a GPU is described that is known otherwise."""
    engine = ENGINES.get(plan.profile.engine.name)
    told = None if engine is None else engine.tells_free_memory
    return (
        "give its entry `free_before_load_gib`" + ("" if told is None else f", which {told}"),
        "or record a boot of this server: `poolproof measure`",
    )


READ_FLAGS = "read its flags from its wheel or its source: `poolproof catalog add-engine PATH`"
"""What can be done about a release that nobody described."""


def _of_a_release(plan: Plan) -> Iterator[str]:
    """How its flags are read, which says nothing of its memory, and the release to take instead."""
    release, version = plan.release, plan.profile.engine.version
    if release is None or release.read_version != version:
        yield READ_FLAGS
    known = "" if release is None or release.read_version == version else release.read_version
    take = f"; {known} is known" if known else ""
    yield f"how it counts memory comes with a newer Poolproof only{take}"


def _of_a_gpu(each: Unknown, plan: Plan) -> tuple[str, ...]:
    """How one is described of which more is known than that it has no entry; nothing for another."""
    if plan.gpu is not None:
        return _of_its_memory(plan)
    from compiler.catalog.slices import NO_SLICE, described_slice, is_slice  # noqa: PLC0415 - only a mistake pays for it

    if each.is_sure or not is_slice(each.name):
        return ()
    return NO_SLICE, described_slice(file_stem(each.name) or "ID")


def _advice(each: Unknown, plan: Plan, *, is_tried: bool) -> tuple[str, ...]:
    if not each.name:
        return ("name it in the command itself",)
    if each.code == "engine-unknown":
        return _another_engine(each, plan, is_tried=is_tried)
    if each.since is not None or each.told_by:
        return _known_otherwise(each, plan)
    if each.code == "gpu-unknown" and (told := _of_a_gpu(each, plan)):
        return told
    if each.code == "release-unknown":
        return tuple(_of_a_release(plan))
    if each.is_sure:
        return (f'set `{each.setting} = "{each.near}"`',)
    # What is known by name, and not in full, is nearest to itself.
    is_other = each.near is not None and each.near != each.name.partition(" ")[0]
    similar = f"a known name is similar: `{each.near}`"
    if each.code == "gpu-unknown":
        similar += "; take it only if it is that card, since another has other memory"
    stem = file_stem(each.name) or "NAME"
    described = tuple(line.format(stem) for line in _HELP.get(each.code, ()))
    return (similar, *described) if is_other else described


def _another_engine(each: Unknown, plan: Plan, *, is_tried: bool) -> tuple[str, ...]:
    from compiler.near import near  # noqa: PLC0415 - only a mistake pays for it

    known = near(each.name, ENGINES)
    if known is None:
        return (f"there is no engine but {listed([f'`{name}`' for name in ENGINES])}",)
    if is_tried:
        return (f"try `--engine {known}@{plan.profile.engine.version}`",)
    return (f'set `{each.setting} = "{known}"`',)


def _known_otherwise(each: Unknown, plan: Plan) -> tuple[str, ...]:
    """With which release it is known, or with which flags."""
    if each.since is not None:
        tried = (
            f"poolproof check {plan.profile_name} --engine {plan.profile.engine.name}@{each.since}"
        )
        return (
            f"`{tried}` judges it with {each.since}; set `engine.version` where the host has that, or a later one",
        )
    lines = listed([f"`{line}`" for line in each.told_by])
    return (f"say how much it takes by {lines} under `[flags]`",)
