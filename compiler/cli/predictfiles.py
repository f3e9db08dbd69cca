"""The files that `predict` is given beside a command: a config.json, a checkpoint, and recorded boots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.facts import Boot, Model
from compiler.memory.weights import Split
from compiler.ranges import Range
from compiler.value import Value


_LARGEST_BYTES = 2**24
"""Of a config.json or a recorded boot, which have a few thousand."""


@frozen(kw_only=True, eq=False, repr=False)
class Named(Value):
    """What the named files hold."""

    model: Model | None = None
    weights: Callable[[Split], Range] | None = None
    boots: tuple[Boot, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def read_named(
    *, model_config: Path | None, checkpoint: Path | None, boots: Sequence[Path]
) -> Named:
    """What each of them says, and what is wrong with them."""
    model: Model | None = None
    weights: Callable[[Split], Range] | None = None
    found: list[Diagnostic] = []
    if model_config is not None:
        model, faults = _read_config(model_config)
        found += faults
    if checkpoint is not None:
        # Only a run that reads a checkpoint pays for its reader.
        from compiler.checkpoint import checkpoint_gib, describe_checkpoint  # noqa: PLC0415

        described, doubts = describe_checkpoint(checkpoint, id_=checkpoint.name or "checkpoint")
        found += doubts
        if described is not None:
            model, files = described.model, described.checkpoint

            def weights(split: Split) -> Range:
                return checkpoint_gib(files, model, split=split)

    recorded: list[Boot] = []
    for path in boots:
        boot, faults = _read_boot(path)
        found += faults
        recorded += [boot] if boot is not None else []
    return Named(model=model, weights=weights, boots=tuple(recorded), diagnostics=tuple(found))


def _bytes(path: Path) -> bytes:
    """What a file holds, as far as any such file is long; a device has no end. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(_LARGEST_BYTES)


def _read_config(path: Path) -> tuple[Model | None, tuple[Diagnostic, ...]]:
    from compiler.checkpoint import Missing, model_from_config  # noqa: PLC0415 - as above
    from compiler.checkpoint.headers import checkpoint_fault, parse_json  # noqa: PLC0415 - as above

    shown = path.as_posix()
    try:
        values = parse_json(_bytes(path))
    except OSError as fault:
        reason = reason_of(fault)
        return None, (checkpoint_fault(shown, f"the file cannot be read: {reason}"),)
    if isinstance(values, str):
        return None, (checkpoint_fault(shown, f"the file is no JSON: {values}"),)
    model = model_from_config(values, id_=path.parent.name or "config")
    if not isinstance(model, Missing):
        return model, ()
    if model.is_described:
        return None, tuple(checkpoint_fault(shown, each) for each in model.reasons)
    summary = f"nobody described the architecture `{model.architecture}`"
    return None, (error("model-unknown", summary, notes=model.reasons),)


def _read_boot(path: Path) -> tuple[Boot | None, tuple[Diagnostic, ...]]:
    from compiler.catalog.entries import read_entry  # noqa: PLC0415 - what only some runs need
    from compiler.catalog.shelves import EntryFile  # noqa: PLC0415 - as above

    shown = path.as_posix()
    try:
        data = _bytes(path)
    except OSError as fault:
        reason = reason_of(fault)
        return None, (error("boot-invalid", f"`{shown}` cannot be read: {reason}"),)
    file = EntryFile(data=data, shown=shown, shipped=False)
    given = {"name": path.stem, "file": shown, "shipped": False}
    return read_entry(file, Boot, id_=None, given=given, code="boot-invalid")
