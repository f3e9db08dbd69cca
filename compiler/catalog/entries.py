"""The bytes of one catalogue file or boot go in; the fact comes out, or what is wrong with the file and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from attrs import AttrsInstance, evolve, fields_dict

from compiler.catalog.misfits import misfits
from compiler.catalog.shelves import CATALOGUE_INVALID, EntryFile, whole_file
from compiler.diagnostics import Diagnostic, Label, error
from compiler.facts import Boot, Build
from compiler.language.scalars import Key
from compiler.language.syntax import parse_toml
from compiler.language.typed import Fault, FaultKind, structure_value
from compiler.source import Source


T = TypeVar("T", bound=AttrsInstance)

ALL_FIGURES = "*"
"""The key of `[sources]` that covers every figure without a source of its own."""

_MAY_BE_ZERO = frozenset(
    [
        "dense_layers",
        "shared_experts",
        "q_lora_rank",
        "qk_rope_head_dim",
        "group_size",
        "scale_bits",
        "projector_parameters",
        "other_parameters",
        "ratios",
        "owners",
        "indexed",
        "first",
        "draft_k_gib",
        "draft_v_gib",
    ]
)
_SWITCHED_OFF = {"chunked_prefill": -1}

# What no file can mean: a share is below one, no model has so many layers, and no GPU so much memory.
_AT_MOST = {
    "fraction": 0.999,
    "layers": 10_000,
    "dense_layers": 10_000,
    "pool_tokens": 10**10,
    "free_before_load_gib": 10_000,
    "free_alone_gib": 10_000,
    "weights_gib": 10_000,
    "low": 10_000,
    "best": 10_000,
    "high": 10_000,
}
_LARGEST = 10**15


def read_entry(
    file: EntryFile, cls: type[T], *, id_: str | None, given: Mapping[str, object], code: str
) -> tuple[T | None, tuple[Diagnostic, ...]]:
    """Read a TOML file into a fact; `given` are the fields that it does not hold itself (`shipped`).

    Beyond the types: the id agrees with the file's name, no figure is negative, and each figure has a source. All
    diagnostics are of the one `code`.
    """
    source, faults = decode(file, code=code)
    if source is None:
        return None, faults
    if not source.text.strip():
        return None, (_empty(file, code=code),)
    values, faults = parse_toml(source)
    if values is None:
        return None, tuple(evolve(each, code=code) for each in faults)
    fact, found = structure_value(values, cls, given=given)
    found = (*found, *_id_faults(values, id_), *_figure_faults(values, cls))
    if fact is not None and not found:
        found = tuple(misfits(fact))
    if found:
        return None, _diagnose(found, source, code=code)
    return fact, ()


def _empty(file: EntryFile, *, code: str) -> Diagnostic:
    """A shell empties a file before the command that shall fill it runs, and that then reads the empty one."""
    return error(
        code,
        "the file is empty",
        Label(whole_file(file.shown)),
        help=(
            "delete it to use the shipped one; print into another file first: `poolproof catalog show ID > entry.toml`",
        )
        if code == CATALOGUE_INVALID
        else ("delete it, or put it back",),
    )


def decode(file: EntryFile, *, code: str) -> tuple[Source | None, tuple[Diagnostic, ...]]:
    """The text of a file, or a diagnostic at the byte that is no UTF-8."""
    try:
        return Source(file.shown, file.data.decode()), ()
    except UnicodeDecodeError as fault:
        source = Source(file.shown, file.data.decode(errors="replace"))
        start = len(file.data[: fault.start].decode())
        place = Label(source.span(start, start + 1), f"byte 0x{file.data[fault.start]:02x}")
        return None, (error(code, "the file is not UTF-8", place, help=("save it as UTF-8",)),)


def _id_faults(values: Mapping[str, Any], id_: str | None) -> Iterator[Fault]:
    given = values.get("id")
    if id_ is not None and isinstance(given, str) and given != id_:
        message = f"expected `{id_}`, which the file's name stands for"
        yield Fault(("id",), FaultKind.BAD_VALUE, message)


def _figure_faults(values: Mapping[str, Any], cls: type[AttrsInstance]) -> Iterator[Fault]:
    if cls is Build:  # its numbers are defaults of flags, not figures
        return
    # Those under `flags` are what a boot was given, not figures of it.
    known = fields_dict(cls).keys() - {"flags"}
    figures = {path: number for path, number in _figures(values, ()) if path[0] in known}
    for path, number in figures.items():
        key = next(part for part in reversed(path) if isinstance(part, str))
        most = _AT_MOST.get(key, _LARGEST)
        if number > most:
            yield Fault(path, FaultKind.BAD_VALUE, f"expected at most {most:g}")
        elif not (
            number > 0 or (number == 0 and key in _MAY_BE_ZERO) or number == _SWITCHED_OFF.get(key)
        ):
            yield Fault(path, FaultKind.BAD_VALUE, "expected more than zero")
    if cls is not Boot:
        yield from _source_faults(values, figures)


def _figures(value: object, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _figures(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _figures(each, (*path, index))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def _source_faults(
    values: Mapping[str, Any], figures: Mapping[tuple[Key, ...], float]
) -> Iterator[Fault]:
    """A source stands under its figure's key, or that of a table around it, dotted (`attention.head_dim`), or `*`."""
    sources = values.get("sources", {})
    if not isinstance(sources, Mapping):
        return
    for name, source in sources.items():
        if source == "":
            yield Fault(("sources", name), FaultKind.BAD_VALUE, "expected a source, found nothing")
        if name != ALL_FIGURES and not _stands_for_something(name, values):
            message = "expected the key of a figure in this file"
            yield Fault(("sources", name), FaultKind.BAD_VALUE, message)
    if ALL_FIGURES in sources:
        return
    for path in figures:
        names = {".".join(str(key) for key in path[:length]) for length in range(1, len(path) + 1)}
        if names.isdisjoint(sources):
            message = (
                f'expected a source for it under `[sources]`, or one for all as `"{ALL_FIGURES}"`'
            )
            yield Fault(path, FaultKind.BAD_VALUE, message)


def _stands_for_something(name: str, values: Mapping[str, Any]) -> bool:
    at: object = values
    for key in name.split("."):
        if not isinstance(at, Mapping) or key not in at or key == "sources":
            return False
        at = at[key]
    return True


def _diagnose(faults: tuple[Fault, ...], source: Source, *, code: str) -> tuple[Diagnostic, ...]:
    from compiler.language.spans import index_spans  # noqa: PLC0415 - positions are only wanted for a fault

    spans = index_spans(source)
    found: list[Diagnostic] = []
    for fault in faults:
        shown = ".".join(str(key) for key in fault.path)
        at = fault.path
        while at and at not in spans:
            at = at[:-1]
        place = spans[at].value if at else whole_file(source.name)
        if fault.kind is FaultKind.UNKNOWN_KEY:
            place = spans[at].key or place
            summary = f"unknown key `{shown}`"
        else:
            summary = f"`{shown}`: {fault.message}"
        advice = () if fault.near is None else (f"a similar name exists: `{fault.near}`",)
        found.append(error(code, summary, Label(place), help=advice))
    return tuple(sorted(found, key=lambda each: (each.primary and each.primary.span, each.summary)))
