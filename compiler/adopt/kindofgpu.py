"""What is asked for and a launch go in; the kind of GPU comes out, and what is taken for granted of it."""

from __future__ import annotations

from attrs import evolve

from compiler.adopt.around import Wanted
from compiler.adopt.launch import Change, Launch
from compiler.adopt.objects import named_gpu
from compiler.catalog import Catalog
from compiler.catalog.gpunames import gpu_id
from compiler.catalog.slices import NO_SLICE, is_slice
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.memory.cards import other_sizes


def with_kind(
    wanted: Wanted, launch: Launch, catalog: Catalog
) -> tuple[Wanted, tuple[Change, ...]]:
    """The same with the kind of GPU that a cluster's own label names, where nobody says another, and a word about it.

    One that is said is meant in any case, and may be what the driver prints.
    """
    label = launch.command.gpu
    if wanted.gpu is not None:
        kind = gpu_id(wanted.gpu, catalog)
        return evolve(wanted, gpu=kind), _of_its_size(kind, None, catalog)
    if label is None:
        return wanted, ()
    named, value = named_gpu(label.text, catalog), label.text.partition(": ")[2]
    if named is None:
        which = f"; {NO_SLICE}" if is_slice(value) else ""
        text = f"the label `{value}` names no GPU that is described for sure{which}: say its kind, `--gpu KIND`"
        return wanted, (Change(kind=ChangeKind.UNKNOWN, text=text, span=label.span),)
    text = f"the GPU is `{named}`: the label `{value}` names it"
    taken = Change(kind=ChangeKind.ASSUMED, text=text, span=label.span)
    return evolve(wanted, gpu=named), (taken, *_of_its_size(named, label.span, catalog))


def _of_its_size(kind: str, span: Span | None, catalog: Catalog) -> tuple[Change, ...]:
    known, _ = catalog.gpu(kind)
    others = None if known is None else other_sizes(known)
    if others is None:
        return ()
    text = f"{others}: `poolproof catalog add-gpu` describes it, and `predict --gpu-memory GIB` judges it"
    return (Change(kind=ChangeKind.ASSUMED, text=text, span=span),)
