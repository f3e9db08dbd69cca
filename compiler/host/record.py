"""What is remembered beside the generations: the last number, what was started last, and how each one did."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, field, fields_dict, frozen
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from compiler.host.machine import Machine
from compiler.host.places import NEW_RECORD, RECORD
from compiler.host.service import is_unit_name
from compiler.value import Value


T = TypeVar("T")
_Structure = Callable[[Mapping[str, Any], Any], T]

SCHEMA = 1
_HIGHEST = 10**12
"""Of a number or a time; more is none that a switch wrote."""


class State(StrEnum):
    """How a generation did."""

    NEW = "new"
    """It was never started."""
    STARTING = "starting"
    """It was started, and nobody waited to the end of its load."""
    GOOD = "good"
    """It became ready, with the pool that was promised."""
    FAILED = "failed"


@frozen(kw_only=True, eq=False, repr=False)
class Note(Value):
    """What is remembered of one generation.

    Attributes:
        why: why it failed, one line.
        load_s: how long its last load took, whole seconds.
        left: when another one became current in its place, seconds since 1970; `None` while it is current or never was.
    """

    state: State = State.NEW
    why: str | None = None
    load_s: int | None = None
    left: float | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Record(Value):
    """The record of one unit.

    Attributes:
        unit: whose it is, with `.service`.
        last: the highest number that was ever given.
        loaded: the generation that systemd read last; `None` when that is not known.
        started: the generation that a verb started last; `None` when none was, or it was stopped.
        invocation: the id systemd gave to that start; where the unit has another, it was started again since.
    """

    unit: str
    last: int = 0
    loaded: int | None = None
    started: int | None = None
    invocation: str | None = None
    notes: Mapping[int, Note] = field(factory=dict)

    def note(self, number: int) -> Note:
        """What is remembered of a generation; of an unknown one nothing."""
        return self.notes.get(number, Note())

    def noted(self, number: int, **changes: Any) -> Record:  # noqa: ANN401 - as attrs.evolve has it
        """The same with something new about one generation."""
        return evolve(self, notes={**self.notes, number: evolve(self.note(number), **changes)})

    def without(self, number: int) -> Record:
        """The same without a generation that is gone; its number stays taken."""
        return evolve(self, notes={n: note for n, note in self.notes.items() if n != number})


def read_record(state: Path) -> Record | None:
    """The record in a folder of generations; `None` where there is none that can be read.

    Raises:
        OSError: when there is one and the system does not give it.
    """
    try:
        text = (state / RECORD).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        value = json.loads(text)
        if value["schema"] != SCHEMA or not is_unit_name(value["unit"]):
            return None
        return _converter().structure(value, Record)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write_record(machine: Machine, state: Path, record: Record) -> None:
    """Put a record in the place of the one before, in one step."""
    value = {"schema": SCHEMA, **_converter().unstructure(record)}
    new = state / NEW_RECORD
    if new.exists():
        machine.remove(new)
    machine.write(new, (json.dumps(value, indent=2) + "\n").encode(), mode=0o644)
    machine.rename(new, state / RECORD)
    machine.sync(state)


@cache
def _converter() -> Converter:
    """Records to JSON and back, strictly: what a switch would not write is no record."""
    converter = Converter(detailed_validation=False)
    converter.register_structure_hook(int, _number)
    converter.register_structure_hook(float, _time)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(State, lambda value, _: State(value))

    def notes_in(value: Mapping[str, object], _: object) -> Mapping[int, Note]:
        return {int(number): converter.structure(each, Note) for number, each in value.items()}

    def notes_out(notes: Mapping[int, Note]) -> Mapping[str, object]:
        return {str(number): converter.unstructure(note) for number, note in sorted(notes.items())}

    notes = override(rename="generations", struct_hook=notes_in, unstruct_hook=notes_out)
    note = make_dict_structure_fn(Note, converter)
    record = make_dict_structure_fn(Record, converter, notes=notes)
    converter.register_structure_hook(Note, _whole(note, frozenset(fields_dict(Note))))
    keys = frozenset(fields_dict(Record)) - {"notes"} | {"generations"}
    converter.register_structure_hook(Record, _whole(record, keys))
    converter.register_unstructure_hook(
        Record, make_dict_unstructure_fn(Record, converter, notes=notes)
    )
    return converter


def _whole(structure: _Structure[T], keys: frozenset[str]) -> _Structure[T]:
    """Of a table with all of its keys: cattrs alone takes a text for a table, and gives what is missing its default."""

    def whole(value: Mapping[str, Any], kind: Any) -> T:  # noqa: ANN401 - as cattrs has it
        if not isinstance(value, dict) or not keys <= value.keys():
            raise ValueError
        return structure(value, kind)

    return whole


def _number(value: object, _: object) -> int:
    if type(value) is int and 0 <= value <= _HIGHEST:
        return value
    raise ValueError


def _time(value: object, _: object) -> float:
    """Seconds since 1970; a clock may have been wrong, but it was a clock."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HIGHEST:
        return value
    raise ValueError


def _text(value: object, _: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError
