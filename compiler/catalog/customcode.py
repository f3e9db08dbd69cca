"""Which parts of a model's checkpoint come as code that an engine runs only when it is told to trust it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import evolve, frozen

from compiler.catalog.shelves import Shelf
from compiler.facts import Model
from compiler.language.syntax import parse_toml
from compiler.language.typed import structure_value
from compiler.source import Source
from compiler.value import Value


_FILE = "custom_code.toml"


@frozen(kw_only=True, eq=False, repr=False)
class Parts(Value):
    """Models whose checkpoints bring the same parts as code.

    Attributes:
        code: the parts, as words of a sentence.
        models: their ids.
        source: where this is from.
    """

    code: str
    models: tuple[str, ...]
    source: str


@frozen(kw_only=True, eq=False, repr=False)
class CustomCode(Value):
    """The whole file."""

    parts: tuple[Parts, ...] = ()


def with_code(model: Model | None, known: Callable[[], CustomCode | None]) -> Model | None:
    """The same model with what is known of its code; an entry that says it itself, or is a team's own, stays."""
    if model is None or model.custom_code or not model.shipped:
        return model
    code = known() or CustomCode()
    found = next((each for each in code.parts if model.id in each.models), None)
    if found is None:
        return model
    sources = {**model.sources, "custom_code": found.source}
    return evolve(model, custom_code=found.code, sources=sources)


def read_custom_code(shelves: Iterable[Shelf]) -> CustomCode | None:
    """The file that comes with the compiler; a test holds it to its form."""
    files = (shelf.open(_FILE)[0] for shelf in shelves if shelf.shipped)
    file = next(filter(None, files), None)
    values, _ = (None, ()) if file is None else parse_toml(Source(file.shown, file.data.decode()))
    return None if values is None else structure_value(values, CustomCode)[0]
