"""A start that was observed in, the file of a recorded boot out; what nobody told is asked for, never made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import NOTHING, evolve, fields_dict, frozen

from compiler.catalog import Catalog, Kind
from compiler.catalog.entries import read_entry
from compiler.catalog.shelves import EntryFile
from compiler.diagnostics import Diagnostic, error
from compiler.engines.observing import FlagState, Observer, Start
from compiler.facts import GIVEN_BY_PLACE, Boot
from compiler.host.promised import Promised
from compiler.language.shapes import alternatives
from compiler.language.written import key_toml, number_toml, text_toml
from compiler.secrecy import is_secret
from compiler.value import Value


# What stands in the file is in the order of `Boot`'s fields, with an empty line before each of these.
_APART: Final = frozenset({"algorithm", "pool_tokens", "source"})
# What was asked for besides is in the profile, and stands in a table of its own.
_NAMES: Final = tuple(name for name in fields_dict(Boot) if name not in {*GIVEN_BY_PLACE, "flags"})
NEEDED: Final = tuple(name for name in _NAMES if fields_dict(Boot)[name].default is NOTHING)
SETTABLE: Final = frozenset(_NAMES) - {"pool_tokens"}
"""What a person may tell: all but what only a server can."""

# What a profile may leave to the release, or asks for under another name.
_ASKED: Final = ("algorithm", "max_running_requests", "kv_dtype", "flags")
_KINDS: Final = {"model": Kind.MODEL, "draft": Kind.DRAFT}
_HUB_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

Plain = str | int | float | bool
Field = Plain | Mapping[str, Plain]


@frozen(kw_only=True, eq=False, repr=False)
class Recorded(Value):
    """The text of a recorded boot, or what is wrong; and what is to be said about it."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


def record(
    start: Start,
    *,
    source: str,
    engine: str,
    observer: Observer,
    promised: Promised | None,
    told: Mapping[str, Field],
    catalog: Catalog,
) -> Recorded:
    """Make the file of a start.

    Args:
        start: what was observed.
        source: where, for a person.
        engine: the engine's name.
        observer: its part that understands settings.
        promised: the plan that the server was started by, where it is known; it fills what the start does not tell.
        told: fields that a person gave; they win.
        catalog: where the names of models and drafts are looked up by their folders.

    Errors: `boot-lacking`, `boot-invalid`.
    """
    fields, unnamed = _identified(_fields(start, promised, observer), catalog)
    at = "" if start.at is None else f", start of {start.at}"
    fields = {
        "engine": engine,
        "source": f"{source.replace('`', '')}{at}",
        **fields,
        **_measured(start),
        **told,
    }
    notes = () if promised is None else tuple(_notes(start, promised, observer))
    lacking = [name for name in (*NEEDED, *unnamed) if name not in fields]
    if lacking:
        return Recorded(text=None, diagnostics=(_lacking(lacking, source),), notes=notes)
    text = boot_toml(fields)
    _, faults = read_entry(
        EntryFile(data=text.encode(), shown="the boot", shipped=False),
        Boot,
        id_=None,
        given={"name": "boot", "file": "boot", "shipped": False},
        code="boot-invalid",
    )
    plain = tuple(evolve(each, primary=None) for each in faults)
    return Recorded(text=None if faults else text, diagnostics=plain, notes=notes)


def boot_toml(fields: Mapping[str, Field]) -> str:
    """The file of a boot; the same text for the same fields."""
    lines: list[str] = []
    for name in _NAMES:
        lines += [""] if name in _APART and lines[-1:] != [""] else []
        lines += [f"{name} = {_toml(fields[name])}"] if name in fields else []
    flags = fields.get("flags")
    if isinstance(flags, Mapping):
        lines += ["", "[flags]"]
        lines += [f"{key_toml(name)} = {_toml(value)}" for name, value in flags.items()]
    return "\n".join(lines) + "\n"


def parse_field(text: str) -> tuple[str, Field] | str:
    """`NAME=VALUE` as a field of a boot; or what is wrong with it, as a sentence."""
    name, equals, value = text.partition("=")
    if not equals or not value:
        return "expected NAME=VALUE"
    if name not in SETTABLE:
        return f"`{name}` is none of {', '.join(sorted(SETTABLE))}"
    kinds = alternatives(fields_dict(Boot)[name].type)
    if bool in kinds:
        return (name, value == "true") if value in {"true", "false"} else "expected true or false"
    if not {int, float} & set(kinds):
        return name, value
    try:
        return name, float(value) if float in kinds else int(value.replace("_", ""))
    except ValueError:
        return f"`{name}` is a number"


def _fields(start: Start, promised: Promised | None, observer: Observer) -> dict[str, Field]:
    """What the server's arguments tell, and where they are not told those of the plan."""
    server = _given(observer.boot_fields(start.settings))
    if promised is None:
        return server
    plan = _asked(promised, observer)
    known = _given(
        {
            "version": promised.version,
            "build": promised.build,
            "gpu": promised.gpu,
            "gpu_count": promised.gpu_count,
        }
    )
    if not _tells_arguments(start, observer):
        named = _given({"model": promised.model, "draft": promised.draft})
        return {**plan, **known, **named}
    fields = {**known, **server}
    if server.get("model") == plan.get("model"):
        fields["model"] = promised.model
    if promised.draft is not None and "draft" in server and server["draft"] == plan.get("draft"):
        fields["draft"] = promised.draft
    if _is_of(promised, start, observer):
        # A release may put another value in the place of what was asked for (`NEXTN` runs as `EAGLE`).
        without = {name: value for name, value in fields.items() if name not in _ASKED}
        fields = {**without, **{name: plan[name] for name in _ASKED if name in plan}}
    return fields


def _tells_arguments(start: Start, observer: Observer) -> bool:
    """Whether the server's arguments are told as a whole, and not its model's name alone."""
    return "fraction" in observer.boot_fields(start.settings)


def _asked(promised: Promised, observer: Observer) -> dict[str, Field]:
    return _given({"kv_dtype": "auto", **observer.boot_fields(observer.asked(promised.argv))})


def _is_of(promised: Promised, start: Start, observer: Observer) -> bool:
    """Whether a start can have been by the command line of the plan."""
    seen = observer.compare(promised.argv, settings=start.settings)
    server, plan = observer.boot_fields(start.settings), _asked(promised, observer)
    is_same = server.get("fraction") == plan.get("fraction", server.get("fraction"))
    return is_same and all(each.state is not FlagState.DIFFERENT for each in seen)


def _measured(start: Start) -> dict[str, Field]:
    draft = start.draft
    return _given(
        {
            "version": start.version,
            "context": start.context,
            "chunked_prefill": start.chunked_prefill,
            "pool_tokens": start.pool_tokens,
            "free_before_load_gib": start.free_before_gib,
            "weights_gib": start.weights_gib,
            "draft_k_gib": None if draft is None else draft.k_gib,
            "draft_v_gib": None if draft is None else draft.v_gib,
        }
    )


def _notes(start: Start, promised: Promised, observer: Observer) -> Iterable[str]:
    if start.version is not None and start.version != promised.version:
        yield f"the server is of release {start.version}, the plan of {promised.version}"
    if not _tells_arguments(start, observer):
        yield "the server's arguments are not told; those of the plan stand for them"
    for each in observer.compare(promised.argv, settings=start.settings):
        if each.state in {FlagState.DIFFERENT, FlagState.CHANGED}:
            yield f"`{each.flag}` is `{each.found}`, and `{each.asked}` in the plan"


def _identified(
    fields: dict[str, Field], catalog: Catalog
) -> tuple[dict[str, Field], tuple[str, ...]]:
    """The fields with ids in the place of folders, which say nothing to another machine; and those that have none."""
    places = {name: str(fields[name]) for name in _KINDS if name in fields}
    if places.get("draft") == places.get("model"):
        places.pop("draft", None)  # a model that drafts for itself
    ids = {name: _id_of(place, catalog.ids(_KINDS[name])) for name, place in places.items()}
    kept = {name: value for name, value in fields.items() if name not in _KINDS}
    named = {name: id_ for name, id_ in ids.items() if id_ is not None}
    return {**kept, **named}, tuple(ids.keys() - named.keys() - {"model"})


def _id_of(place: str, ids: tuple[str, ...]) -> str | None:
    """The id of a name, or of a folder that is named like one."""
    if place in ids or _HUB_NAME.fullmatch(place):
        return place
    parts = place.rstrip("/").split("/")
    # The hub's own cache has `models--moonshotai--Kimi-K2.6/snapshots/<revision>`.
    cached = [part for part in parts if part.startswith("models--")]
    last = (cached or parts)[-1].rpartition("--")[2].lower()
    found = [each for each in ids if each.rpartition("/")[2].lower() == last]
    return found[0] if len(found) == 1 else None


def _given(fields: Mapping[str, object]) -> dict[str, Field]:
    """The fields that are told, and hold no secret."""
    told: dict[str, Field] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            told[name] = {
                key: each for key, each in _given(value).items() if isinstance(each, Plain)
            }
        elif isinstance(value, (str, int, float)) and not is_secret(name, str(value)):
            told[name] = value
    return told


def _toml(value: Field) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_toml(value)
    return number_toml(value) if isinstance(value, int | float) else str(value)


def _lacking(names: list[str], source: str) -> Diagnostic:
    listed = ", ".join(f"`{name}`" for name in names)
    plan = "`--plan out/PROFILE/plan.json`, the plan that the server was started by"
    sets = " ".join(f"--set {name}=..." for name in names if name in SETTABLE)
    return error(
        "boot-lacking",
        f"{source} does not tell {listed}",
        notes=("a recorded boot holds what was measured, and nothing is guessed for it",),
        help=(f"give {plan}", f"or `{sets}`") if sets else (),
    )
