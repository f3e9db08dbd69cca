"""The folder of a checkpoint in; its model described for the catalogue out, or what keeps it from being described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import evolve, frozen

from compiler.catalog.shelves import whole_file
from compiler.checkpoint.agreeing import belied
from compiler.checkpoint.brought import code_brought
from compiler.checkpoint.config import Missing, model_from_config
from compiler.checkpoint.folder import CONFIG, Checkpoint, read_checkpoint, read_config
from compiler.checkpoint.headers import checkpoint_fault
from compiler.checkpoint.placing import place_checkpoint
from compiler.checkpoint.shards import unread_weights
from compiler.diagnostics import Diagnostic, Label, error, warning
from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import Split, exact_gib


_GGUF = ".gguf"
_ALIKE = 0.01
"""Norms, biases, and what is too small to list stay within this share."""


@frozen(kw_only=True)
class Described:
    """A model and the checkpoint it was described from."""

    model: Model
    checkpoint: Checkpoint


def describe_checkpoint(
    folder: Path, *, id_: str, shown: str | None = None
) -> tuple[Described | None, tuple[Diagnostic, ...]]:
    """Describe the model of a folder; `shown` is the folder's name in messages.

    Errors: `checkpoint-invalid` for a broken folder, a key its config lacks or its tensors belie, `model-unknown` for an architecture
    that nobody described. Warnings of the same codes: tensors that no role is known for, and a config that its tensors
    do not bear out.
    """
    name = shown if shown is not None else folder.as_posix()
    checkpoint, faults = read_checkpoint(folder, shown=name)
    if checkpoint is None:
        return None, faults
    size = round(checkpoint.bytes / 1e9, 2)
    model = model_from_config(checkpoint.config, id_=id_, checkpoint_gb=size)
    place = Label(whole_file(f"{name}/{CONFIG}"))
    if isinstance(model, Missing):
        return None, tuple(_missing(model, place))
    wrong = [checkpoint_fault(f"{name}/{CONFIG}", each) for each in belied(model, checkpoint)]
    if wrong:
        return None, tuple(wrong)
    doubts = tuple(_doubts(model, checkpoint, place))
    return Described(model=_with_code(model, folder), checkpoint=checkpoint), doubts


def describe_config(folder: Path, *, id_: str) -> tuple[Model | None, tuple[Diagnostic, ...]]:
    """Describe the model of a folder that holds a config and no weights: the size of its files stays unsaid.

    Errors as of `describe_checkpoint`, and weights in GGUF: its number formats are not those of the config.
    """
    name = folder.as_posix()
    other = next((each for each in unread_weights(folder) if each.endswith(_GGUF)), None)
    if other is not None:
        note = "its number formats are not those that `config.json` describes; one that lies alone is described as it says"
        return None, (checkpoint_fault(f"{name}/{other}", "weights in GGUF are not read", note),)
    config, faults = read_config(folder, shown=name)
    if config is None:
        return None, faults
    model = model_from_config(config, id_=id_)
    if isinstance(model, Missing):
        return None, tuple(_missing(model, Label(whole_file(f"{name}/{CONFIG}"))))
    return _with_code(model, folder), ()


def _with_code(model: Model, folder: Path) -> Model:
    """The same with what of the checkpoint comes as code."""
    code = code_brought(folder)
    if not code:
        return model
    sources = {**model.sources, "custom_code": "auto_map of the files beside its config.json"}
    return evolve(model, custom_code=code, sources=sources)


def _missing(found: Missing, place: Label) -> Iterator[Diagnostic]:
    if not found.is_described:
        name = found.architecture
        yield error(
            "model-unknown",
            f"nobody described the architecture `{name}`",
            place,
            notes=tuple(f"not known: {each}" for each in found.reasons),
        )
        return
    for reason in found.reasons:
        yield error("checkpoint-invalid", reason, place)


def _doubts(model: Model, checkpoint: Checkpoint, place: Label) -> Iterator[Diagnostic]:
    placed = place_checkpoint(checkpoint, model, split=Split())
    if placed.unplaced:
        yield warning(
            "model-unknown",
            f"no role is known for {len(placed.unplaced)} kinds of its tensors",
            place,
            notes=tuple(f"`{each}`" for each in placed.unplaced[:5]),
        )
    held, described = exact_gib(placed.tensors), exact_gib(target_tensors(model, split=Split()))
    if abs(held - described) > _ALIKE * described:
        yield warning(
            "checkpoint-invalid",
            f"its tensors come to {_apart(held, described)} GiB, and its config describes {_apart(described, held)}",
            place,
            notes=("the tensors count; the description is not to be trusted",),
        )


def _apart(gib: float, other: float) -> str:
    """A size, in two decimals unless the other would read the same."""
    return f"{gib:.2f}" if f"{gib:.2f}" != f"{other:.2f}" else f"{gib:.6f}"
