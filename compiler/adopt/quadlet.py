"""A quadlet of Podman goes in; the command it runs in its container comes out, and what is not carried of the container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve

from compiler.adopt.container import container_devices, container_options, not_carried
from compiler.adopt.devices import devices_of
from compiler.adopt.expansion import expand, shown
from compiler.adopt.files import Files
from compiler.adopt.form import Form
from compiler.adopt.hygiene import judge_unit
from compiler.adopt.launch import Change, Command, Sheet, Word
from compiler.adopt.mounts import CHANGING, mounts_of
from compiler.adopt.places import locate
from compiler.adopt.ports import is_hosts_network, ports_of_options, published
from compiler.adopt.sharedmemory import shared_memory
from compiler.adopt.target import target_changes, target_settings
from compiler.adopt.unitenvironment import unit_environment
from compiler.adopt.unitsheet import CONTAINER, Assigned, UnitSheet, read_sheet
from compiler.diagnostics import Label, error
from compiler.quoting.unitword import read_word, skip_blanks
from compiler.source import Source


# What was looked at, or means nothing without a container.
_LOOKED_AT = frozenset(
    {"Image", "Exec", "Environment", "EnvironmentFile", "ContainerName", "Pull", "Label"}
)


def read_quadlet(source: Source, *, files: Files, given: Mapping[str, str]) -> Sheet:
    """The command of `Exec=`. Errors: `launch-unreadable`; findings of `hygiene`."""
    sheet = read_sheet(source, files=files, given=given)
    inside = unit_environment(sheet, files=files, section=CONTAINER)
    outside = unit_environment(sheet, files=files)
    told = sheet.last(CONTAINER, "Exec")
    image = sheet.last(CONTAINER, "Image")
    found = [*sheet.diagnostics, *inside.diagnostics, *outside.diagnostics]
    words: tuple[Word, ...] = ()
    changes: tuple[Change, ...] = ()
    if told is not None:
        raw, closed = _words(told)
        if not closed:
            label = Label(told.span, "a quote is left open")
            found.append(error("launch-unreadable", "`Exec=` cannot be read", label))
        # Podman is started by systemd, which replaces variables of the unit.
        expanded, changes = expand(
            raw, outside.variables, complete=outside.is_complete, given=given
        )
        words = tuple(shown(word) for word in expanded)
    command = Command(
        words=words,
        environment=inside.variables,
        changes=(
            *published(_all(sheet)),
            *inside.changes,
            *outside.changes,
            *changes,
            *_container(sheet),
            *target_changes(sheet),
        ),
        settings=target_settings(_named(sheet)),
        image=Word(text=image.value, span=image.span) if image is not None else None,
        devices=container_devices(_options(sheet), inside.variables),
        mounts=mounts_of(_all(sheet)),
        form=Form.QUADLET,
        ports=ports_of_options(_all(sheet)),
        is_hosts_network=is_hosts_network(_all(sheet)),
        unit=sheet.name.rpartition(".")[0],
        findings=shared_memory(
            ((each.key, each.raw) for each in sheet.assigned if each.section == CONTAINER),
            span=image.span if image is not None else None,
            form=Form.QUADLET,
        ),
    )
    return Sheet(
        commands=(command,) if words else (),
        diagnostics=tuple(found),
        findings=judge_unit(sheet),
        sources={**sheet.sources, **inside.sources, **outside.sources},
    )


def _named(sheet: UnitSheet) -> UnitSheet:
    """Podman makes a service of the same name from it."""
    return evolve(sheet, name=f"{sheet.name.rpartition('.')[0]}.service")


def _words(told: Assigned) -> tuple[tuple[Word, ...], bool]:
    texts: list[str] = []
    closed = True
    at = skip_blanks(told.value, start=0)
    while at < len(told.value):
        word = read_word(told.value, start=at)
        closed = closed and word.is_closed
        texts.append(word.text.replace("%%", "%"))
        at = word.end
    spans = locate(told.source, texts, start=told.start, end=len(told.source.text))
    words = (Word(text=text, span=span) for text, span in zip(texts, spans, strict=True))
    return tuple(words), closed


def _container(sheet: UnitSheet) -> Iterator[Change]:
    for each in sheet.assigned:
        if each.section != CONTAINER or not each.value or each.key in _LOOKED_AT - {"Image"}:
            continue
        options = _told(each)
        if each.key == "Secret":
            what = f"Podman's secret `{each.raw}`"
            yield not_carried(what, Word(text=each.value, span=each.span))
        elif not options or not all(
            value is not None and devices_of(name, value) for name, value in options
        ):
            word = Word(text=each.value, span=each.span)
            yield not_carried(f"`{each.key}={each.raw}`", word, first=each.key in CHANGING)


def _all(sheet: UnitSheet) -> list[tuple[str, Word | None]]:
    """Every line of `[Container]` as options."""
    lines = (each for each in sheet.assigned if each.section == CONTAINER and each.value)
    return [option for each in lines for option in _told(each)]


def _options(sheet: UnitSheet) -> Iterator[tuple[str, Word | None]]:
    for key in ("AddDevice", "PodmanArgs"):
        for each in sheet.of(CONTAINER, key):
            yield from _told(each)


def _told(each: Assigned) -> list[tuple[str, Word | None]]:
    """A line of `[Container]` as options of `podman run`; `AddDevice=-` skips a device that is not there."""
    if each.key == "PodmanArgs":
        return container_options(_words(each)[0])
    return [(each.key, Word(text=each.value.removeprefix("-"), span=each.span))]
