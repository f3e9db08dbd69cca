"""A compose file goes in; the command of each of its services comes out, and what is not carried of its container."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from attrs import evolve, frozen

from compiler.adopt.composedevices import asked_of, left_of
from compiler.adopt.composeextends import extended
from compiler.adopt.composenetwork import is_hosts_network, network_of, other_ports, ports_of
from compiler.adopt.container import container_devices, not_carried
from compiler.adopt.devices import all_of
from compiler.adopt.files import Files, as_source, unreadable
from compiler.adopt.form import Form
from compiler.adopt.interpolation import interpolate
from compiler.adopt.launch import Change, Command, Kept, Mount, Setting, Sheet, Word
from compiler.adopt.limits import table_in_unit
from compiler.adopt.mounts import CHANGING, mount_of, mounts_of
from compiler.adopt.places import locate, part_between
from compiler.adopt.sharedmemory import shared_memory
from compiler.adopt.unreadfiles import optional_file
from compiler.adopt.volumes import items_of
from compiler.diagnostics import Diagnostic, Label, error
from compiler.quoting.shellfile import read_env_file
from compiler.source import Source
from compiler.value import Value
from compiler.yamltext import Yaml, parse_places


_DOTENV = ".env"
# What was looked at, or means nothing without a container.
_LOOKED_AT = frozenset(
    {
        "command",
        "entrypoint",
        "environment",
        "env_file",
        "extends",
    }
)


def read_compose(source: Source, *, files: Files, given: Mapping[str, str]) -> Sheet:
    """The commands of all services. Errors: `launch-unreadable`."""
    document, fault = parse_places(source.text)
    if fault is not None:
        line, problem = fault
        return _empty(source, unreadable(source.name, f"this is no YAML: {problem}", line=line))
    services = document.get("services") if document is not None else None
    if services is None or not services.pairs:
        return _empty(
            source, unreadable(source.name, "there is no `services:` with a service in it")
        )
    beside = _dotenv(source, files)
    reader = _Reader(
        source=source,
        files=files,
        given={**beside, **given},
        kept={name: _kept(source, files, name, given=given) for name in {**beside, **given}},
    )
    network = network_of(services, reader.word)
    commands: list[Command] = []
    found: list[Diagnostic] = []
    for name, written in services.pairs:
        service, fault_of_it = extended(name.text or "", written, services, source=source)
        if fault_of_it is not None:
            found.append(fault_of_it)
            continue
        command, faults = reader.command(name, service, written=written)
        command = network.around(command, name.text or "")
        found += faults
        commands += [command] if command.words else []
    return Sheet(commands=tuple(commands), diagnostics=tuple(found), sources={source.name: source})


def _empty(source: Source, fault: Diagnostic) -> Sheet:
    return Sheet(diagnostics=(fault,), sources={source.name: source})


def _kept(source: Source, files: Files, name: str, *, given: Mapping[str, str]) -> Kept:
    """Where the value of a variable is that the file only names: in `.env`, or with who adopts it."""
    path = str(PurePosixPath(source.name).parent / _DOTENV)
    return Kept(
        path="" if name in given else path,
        is_private=None if name in given else files.is_private(path),
        is_apart=True,
        name=name,
    )


def _dotenv(source: Source, files: Files) -> Mapping[str, str]:
    """Compose reads `.env` beside the file."""
    data = files.read(str(PurePosixPath(source.name).parent / _DOTENV))
    text, _ = as_source(_DOTENV, data) if data else (None, ())
    return read_env_file(text.text).values if text is not None else {}


@frozen(kw_only=True, eq=False, repr=False)
class _Reader(Value):
    """Reads the services of one file."""

    source: Source
    files: Files
    given: Mapping[str, str]
    kept: Mapping[str, Kept]

    def command(
        self, name: Yaml, service: Yaml, *, written: Yaml
    ) -> tuple[Command, tuple[Diagnostic, ...]]:
        """What one service runs; `written` is what stands under its name, without what it extends."""
        entrypoint, faults = self.words(service.get("entrypoint"))
        command, more = self.words(service.get("command"))
        environment, others = self.environment(service)
        image = service.get("image")
        asked = tuple(asked_of(service, self.word))
        description = Setting(
            path=("description",), value=f"{name.text}, from {PurePosixPath(self.source.name).name}"
        )
        return Command(
            words=(*entrypoint, *command),
            environment=environment,
            changes=(
                *other_ports(service, self.word),
                *self.maybe_there(service),
                *self.changes(service, carried=tuple(each.node for each in asked)),
            ),
            mounts=tuple(self.mounts(service)),
            settings=(description,),
            image=self.word(image) if image is not None else None,
            devices=all_of(each.devices for each in asked) or container_devices((), environment),
            findings=shared_memory(
                ((key.text or "", self.told(value)) for key, value in service.pairs),
                span=self.source.span(name.start, name.end),
                form=Form.COMPOSE,
            ),
            form=Form.COMPOSE,
            ports=tuple(ports_of(service, self.word)),
            is_hosts_network=is_hosts_network(service),
            called=self.source.span(name.start, name.end),
            part=part_between(self.source, name.start, max(name.end, written.end)),
        ), (*faults, *more, *others)

    def word(self, node: Yaml) -> Word:
        """One scalar, interpolated."""
        span = self.source.span(node.start, max(node.start, node.end))
        return interpolate(node.text or "", self.given, span=span, kept=self.kept)

    def words(self, node: Yaml | None) -> tuple[tuple[Word, ...], tuple[Diagnostic, ...]]:
        """The words of a command: a list as it is, a text as a shell splits it."""
        if node is None or node.is_null:
            return (), ()
        if node.text is None:
            return tuple(self.word(each) for each in node.items), ()
        whole = self.word(node)
        try:
            texts = shlex.split(whole.text, comments=False)
        except ValueError:
            label = Label(
                self.source.span(node.start, node.start + 1), "a quote is left open in it"
            )
            return (), (error("launch-unreadable", "the command cannot be read", label),)
        spans = locate(self.source, texts, start=node.start, end=node.end)
        return tuple(
            Word(
                text=text,
                span=span,
                unknown=tuple(each for each in whole.unknown if each in text),
                changes=tuple(each for each in whole.changes) if at == 0 else (),
            )
            for at, (text, span) in enumerate(zip(texts, spans, strict=True))
        ), ()

    def environment(self, service: Yaml) -> tuple[Mapping[str, Word], tuple[Diagnostic, ...]]:
        """Its variables: those of files, then its own."""
        variables: dict[str, Word] = {}
        found: list[Diagnostic] = []
        told = service.get("env_file")
        for node in (told.items or (told,)) if told is not None else ():
            read, faults = self.env_file(node)
            variables |= read or {}
            found += faults
        own = service.get("environment")
        if own is not None:
            variables |= dict(self.own(own))
        return variables, tuple(found)

    def own(self, node: Yaml) -> Iterator[tuple[str, Word]]:
        """`environment:` as a table or as a list."""
        for key, value in node.pairs:
            yield key.text or "", self.passed(key) if value.is_null else self.word(value)
        for each in node.items:
            word = self.word(each)
            name, equals, text = word.text.partition("=")
            yield name, evolve(word, text=text) if equals else self.passed(each)

    def passed(self, node: Yaml) -> Word:
        """A variable without a value: that of whoever starts Compose."""
        name = node.text or ""
        span = self.source.span(node.start, node.end)
        value = self.given.get(name)
        return (
            Word(text=f"${name}", span=span, unknown=(f"${name}",))
            if value is None
            else Word(text=value, span=span, kept=self.kept.get(name))
        )

    def env_file(self, node: Yaml) -> tuple[Mapping[str, Word] | None, tuple[Diagnostic, ...]]:
        """A file of variables; the long form has `path` and `required`. `None` for one that is neither here nor required."""
        path_node = node.get("path") or node
        required = node.get("required")
        path = self.word(path_node)
        full = self.beside(path)
        data = None if path.unknown else self.files.read(full)
        if data is None:
            if required is not None and (required.text or "").lower() == "false":
                return None, ()
            label = Label(path.span, "names it") if path.span is not None else None
            summary = f"the environment file `{path.text}` is not here"
            return {}, (
                error(
                    "launch-unreadable",
                    summary,
                    label,
                    help=(f"put a copy at `{full}`, or run this on the host",),
                ),
            )
        text, faults = as_source(full, data) if data.strip() else (None, ())
        if text is None:
            return {}, faults
        kept = Kept(path=full, is_private=self.files.is_private(full), is_apart=True)
        return {
            name: Word(text=value, span=path.span, kept=kept)
            for name, value in read_env_file(text.text).values.items()
        }, ()

    def beside(self, path: Word) -> str:
        """A path from the folder of the file."""
        return str(PurePosixPath(self.source.name).parent / path.text)

    def maybe_there(self, service: Yaml) -> Iterator[Change]:
        """The files of variables that are neither here nor required."""
        for node in items_of(service, "env_file"):
            if self.env_file(node)[0] is None:
                path = self.word(node.get("path") or node)
                yield optional_file(path.text, copy=self.beside(path), span=path.span)

    def told(self, value: Yaml) -> str:
        """A value as it is written."""
        return value.text if value.text is not None else self.source.text[value.start : value.end]

    def changes(self, service: Yaml, *, carried: tuple[Yaml, ...]) -> Iterator[Change]:
        """What a service of the host does not have."""
        for key, value in service.pairs:
            if key.text in _LOOKED_AT:
                continue
            place = Word(text="", span=self.source.span(key.start, key.end))
            for name, left in left_of(key.text or "", value, carried):
                shown = " ".join(self.told(left).split())
                if table_in_unit(name, shown):
                    continue
                yield not_carried(f"`{name}: {shown}`", place, first=key.text in CHANGING)

    def mounts(self, service: Yaml) -> Iterator[Mount]:
        """What of the host is in the container, in the short form and the long one."""
        for each in items_of(service, "volumes"):
            source, target = each.get("source"), each.get("target")
            if each.text is not None:
                yield from mounts_of([("volumes", self.word(each))])
            elif source is not None and target is not None:
                mount = mount_of(self.word(source), self.word(target).text)
                yield from () if mount is None else (mount,)
