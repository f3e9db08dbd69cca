"""A manifest of a cluster goes in; the command of each container in it comes out, and what is not carried of it.

Any resource that holds containers is read: a pod, a Deployment, a LeaderWorkerSet, the values of a chart, and also the
tasks of SkyPilot, dstack, and Ansible, which are shell scripts or commands. kubernetes.io, "Define a Command and Arguments for a Container".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from attrs import evolve, frozen

from compiler.adopt.container import not_carried
from compiler.adopt.devices import counted
from compiler.adopt.files import unreadable
from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Command, Devices, Setting, Sheet, Word
from compiler.adopt.objects import (
    GPU_RESOURCES,
    Object,
    are_only_gpus,
    gpu_of,
    left_behind,
    listened_ports,
    objects_of,
)
from compiler.adopt.places import locate, part_between
from compiler.adopt.tasks import files_of, script_of
from compiler.adopt.volumes import memory_of_pod, ports_of, text_of, volumes_of
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from compiler.value import Value
from compiler.yamltext import Yaml, parse_all_places


_REFERENCE = re.compile(r"\$\$(?=\()|\$\((?P<name>[A-Za-z_][\w.-]*)\)")
_PROGRAM = ("command", "args", "argv")
_TABLES = ("env", "envs", "environment")
_LOOKED_AT = frozenset({*_PROGRAM, *_TABLES, "name", "image", "imagePullPolicy", "enabled"})
_TASK_LOOKED_AT = frozenset({"run", "commands", *_TABLES, "name", "type", "image"})
_COUNTS = frozenset({"replicas", "size", "parallelism", "completions", "num_nodes", "nodes"})
_LONGEST = 100
"""Characters of a value that is only named."""


def read_manifest(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The commands of all containers; `given` are variables that the cluster sets. Errors: `launch-unreadable`."""
    documents, fault = parse_all_places(source.text)
    if fault is not None:
        line, problem = fault
        about = "; render the chart first: `helm template`" if "{{" in source.text else ""
        found = unreadable(source.name, f"this is no YAML: {problem}{about}", line=line)
        return Sheet(diagnostics=(found,), sources={source.name: source})
    objects = tuple(objects_of(documents))
    names = frozenset(each.name for each in objects if each.name)
    reader = _Reader(source=source, given=given, objects=objects, names=names)
    seen: set[int] = set()
    commands = tuple(
        each for document in documents for each in reader.commands(document, (), seen=seen)
    )
    told: set[int] = set()
    files = (each for document in documents for each in files_of(document, source, seen=told))
    return Sheet(commands=commands, documents=tuple(files), sources={source.name: source})


@frozen(kw_only=True, eq=False, repr=False)
class _Reader(Value):
    """Reads one file."""

    source: Source
    given: Mapping[str, str]
    objects: tuple[Object, ...]
    names: frozenset[str]

    def commands(self, node: Yaml, above: tuple[Yaml, ...], *, seen: set[int]) -> Iterator[Command]:
        """The commands at a node and below it, each once; `above` are the tables that hold it, the nearest last."""
        # Aliases of aliases make a tree that is far larger than its text.
        if id(node) in seen:
            return
        seen.add(id(node))
        if any(_is_program(node.get(key)) for key in _PROGRAM):
            yield self.container(node, above)
            return
        if script_of(node) is not None:
            yield self.task(node)
            return
        for key, value in node.pairs:
            if key.text not in {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}:
                yield from self.commands(value, (*above, node), seen=seen)
        for each in node.items:
            yield from self.commands(each, above, seen=seen)

    def container(self, node: Yaml, above: tuple[Yaml, ...]) -> Command:
        """What one container runs; of an Ansible module that is given a list, its task says the variables."""
        task = above[-1] if above and node.get("argv") is not None else node
        environment, changes = self.environment(task)
        words = tuple(
            self.expanded(word, environment)
            for key in _PROGRAM
            for word in self.words(node.get(key))
        )
        image = self.image(node)
        devices, asked = self.devices(node)
        pod = above[-1] if above and above[-1].get("containers") is not None else None
        return Command(
            words=words,
            environment=environment,
            changes=(
                *changes,
                *ports_of(node, self.word),
                *self.changes(node, above, pod, asked=asked),
            ),
            settings=self.described(task, above),
            image=image,
            devices=devices,
            mounts=tuple(
                volumes_of(node, pod, self.word, lambda word: self.expanded(word, environment))
            ),
            form=Form.POD if image is not None else Form.SHELL,
            ports=tuple(listened_ports(node)),
            names=self.names,
            gpu=gpu_of(pod, node, self.place),
            is_hosts_network=pod is not None and text_of(pod, "hostNetwork").lower() == "true",
            findings=memory_of_pod(node, pod, span=self.place(node.get("image") or node))
            if image is not None
            else (),
            called=self.place(task.get("name") or node),
            part=part_between(self.source, task.start, task.end),
        )

    def task(self, node: Yaml) -> Command:
        """What a script of a task runs."""
        environment, changes = self.environment(node)
        script = script_of(node)
        if script is None:
            raise ValueError(node)
        text, place = script
        shell = (Word(text="bash", span=self.place(place)), Word(text="-c"))
        others = tuple(
            not_carried(f"`{self.shown(key, value)}`", Word(text="", span=self.place(key)))
            for key, value in node.pairs
            if key.text not in _TASK_LOOKED_AT and value is not place
        )
        return Command(
            words=(*shell, Word(text=text, span=self.place(place))),
            environment=environment,
            changes=(*changes, *others),
            settings=self.described(node, ()),
            image=self.image(node),
            part=part_between(self.source, node.start, node.end),
        )

    def described(self, node: Yaml, above: tuple[Yaml, ...]) -> tuple[Setting, ...]:
        """A word on where it comes from."""
        named = (each.get("metadata") for each in (*above[:1], node))
        names = (text_of(each, "name") for each in named if each is not None)
        name = next((each for each in names if each), text_of(node, "name"))
        file = PurePosixPath(self.source.name).name
        value = f"{name}, from {file}" if name else f"from {file}"
        return (Setting(path=("description",), value=value),)

    def place(self, node: Yaml) -> Span:
        """Where a value stands; of a table its first line."""
        return self.source.span(node.start, max(node.start, node.end))

    def word(self, node: Yaml) -> Word:
        """A scalar as it is."""
        return Word(text=node.text or "", span=self.place(node))

    def words(self, node: Yaml | None) -> tuple[Word, ...]:
        """A list as it is, a text as a shell splits it."""
        if node is None or node.is_null:
            return ()
        if node.text is None:
            return tuple(self.word(each) for each in node.items)
        try:
            texts = shlex.split(node.text)
        except ValueError:
            texts = [node.text]
        spans = locate(self.source, texts, start=node.start, end=node.end)
        return tuple(Word(text=text, span=span) for text, span in zip(texts, spans, strict=True))

    def expanded(self, word: Word, environment: Mapping[str, Word]) -> Word:
        """`$(NAME)` replaced, where the container has a variable of this name."""
        unknown: list[str] = []
        names: list[str] = []

        def replace(found: re.Match[str]) -> str:
            if found["name"] is None:
                return "$"
            name = found["name"]
            value = environment.get(name)
            if value is not None and not value.unknown:
                names.extend((name, *value.names))
                return value.text
            if name in self.given:
                return self.given[name]
            unknown.append(f"${name}")
            return found[0]

        text = _REFERENCE.sub(replace, word.text)
        return evolve(
            word, text=text, unknown=(*word.unknown, *unknown), names=(*word.names, *names)
        )

    def image(self, node: Yaml) -> Word | None:
        """The image, which a chart has in parts."""
        told = node.get("image")
        if told is None or told.text is not None:
            return self.word(told) if told is not None else None
        name, tag = text_of(told, "repository"), text_of(told, "tag")
        return Word(text=f"{name}:{tag}" if tag else name, span=self.place(told)) if name else None

    def environment(self, node: Yaml) -> tuple[Mapping[str, Word], tuple[Change, ...]]:
        """The variables of a container, each with what stands before it."""
        variables: dict[str, Word] = {}
        for table in map(node.get, _TABLES):
            for key, value in table.pairs if table is not None else ():
                variables[key.text or ""] = self.variable(key, value, variables)
            for each in table.items if table is not None else ():
                name, equals, text = (each.text or "").partition("=")
                if each.text is None:
                    name = text_of(each, "name")
                    variables[name] = self.variable(each, each.get("value"), variables)
                elif equals:
                    variables[name] = Word(text=text, span=self.place(each))
                else:
                    variables[name] = self.variable(each, None, variables)
        told = node.get("envFrom")
        if told is None:
            return variables, ()
        text = f"`envFrom: {self.short(told)}`: its variables are known to the cluster only"
        return variables, (Change(kind=ChangeKind.UNKNOWN, text=text, span=self.place(told)),)

    def variable(self, node: Yaml, value: Yaml | None, before: Mapping[str, Word]) -> Word:
        """One variable; its value may come from elsewhere."""
        if value is not None and value.text is not None and not value.is_null:
            return self.expanded(self.word(value), before)
        name = node.text or text_of(node, "name")
        if name in self.given:
            return Word(text=self.given[name], span=self.place(node))
        return Word(text=f"${name}", span=self.place(node), unknown=(f"${name}",))

    def devices(self, node: Yaml) -> tuple[Devices | None, Yaml | None]:
        """How many GPUs a container asks for, and where."""
        resources = node.get("resources")
        for part in ("limits", "requests"):
            table = resources.get(part) if resources is not None else None
            for key, value in table.pairs if table is not None else ():
                if key.text in GPU_RESOURCES and value.text is not None:
                    return counted(self.word(value)), value
        return None, None

    def changes(
        self, node: Yaml, above: tuple[Yaml, ...], pod: Yaml | None, *, asked: Yaml | None
    ) -> Iterator[Change]:
        """What a service of a host does not have."""
        image = node.get("image")
        pairs = [("image", image)] if image is not None else []
        pairs += [
            (key.text or "", value) for key, value in node.pairs if key.text not in _LOOKED_AT
        ]
        if pod is not None:
            pairs += [
                (key.text or "", value) for key, value in pod.pairs if key.text != "containers"
            ]
        for table in above:
            pairs += [(key.text or "", value) for key, value in table.pairs if key.text in _COUNTS]
        yield from left_behind(self.objects, above, self.place)
        for key, value in pairs:
            if key == "resources" and asked is not None and are_only_gpus(value, asked):
                continue
            word = Word(text="", span=self.place(value))
            yield not_carried(f"`{key}: {self.short(value)}`", word)

    def shown(self, key: Yaml, value: Yaml) -> str:
        """A key with the beginning of its value."""
        return f"{key.text}: {self.short(value)}"

    def short(self, node: Yaml) -> str:
        """A value on one line."""
        text = node.text if node.text is not None else self.source.text[node.start : node.end]
        line = " ".join(text.split())
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _is_program(node: Yaml | None) -> bool:
    return node is not None and not node.is_null and (bool(node.items) or node.text is not None)
