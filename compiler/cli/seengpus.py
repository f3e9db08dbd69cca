"""The GPUs of a launch command: those that are counted, those that its layout takes, those that it lets its server see."""

from __future__ import annotations

from attrs import evolve, frozen

from compiler.cli.plaincommand import Said
from compiler.diagnostics import Diagnostic
from compiler.predict import Predictor
from compiler.quantities import counted
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class ServerGpus(Value):
    """The GPUs of a command.

    Attributes:
        assumed: that nobody counted them.
        hides: how many the layout takes, where the command hides some of them from the server.
    """

    count: int
    assumed: tuple[str, ...] = ()
    hides: int | None = None


def gpus_of(said: Said, predictor: Predictor, *, gpu: str, count: int | None) -> ServerGpus:
    """Those that are counted; else those of the layout, of which a command may hide some."""
    takes = predictor.layout(said.words, gpu=gpu)
    sees = said.sees_of(predictor.catalog.gpu(gpu)[0])
    seen = predictor.layout(said.words, gpu=gpu, sees=sees)
    if seen != takes:
        return ServerGpus(count=seen or 0, hides=takes or 1)
    if count is not None:
        return ServerGpus(count=count)
    if takes is None:
        return ServerGpus(count=1)
    told = f"no `--count`: the layout takes {counted(takes, 'GPU')}"
    return ServerGpus(count=takes or 1, assumed=(told,))


def unseen(found: Diagnostic, takes: int) -> Diagnostic:
    """Of GPUs that the command hides, what shows them."""
    if found.code != "gpu-count":
        return found
    return evolve(
        found,
        notes=(*found.notes, "the command hides the others of its host from the server"),
        help=(f"let it see {counted(takes, 'GPU')}, or change the layout",),
    )
