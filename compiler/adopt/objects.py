"""The documents of a manifest go in; what objects of a cluster they are comes out, and which kind of GPU a pod asks for.

The labels are those of NVIDIA's and AMD's own labellers (GPU feature discovery, `k8s-device-plugin`), and GKE's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from compiler.adopt.container import not_carried
from compiler.adopt.launch import Change, Port, Word
from compiler.adopt.volumes import items_of, text_of
from compiler.catalog import Catalog
from compiler.catalog.shelves import Kind
from compiler.diagnostics import Span
from compiler.value import Value
from compiler.yamltext import Yaml


_PRODUCTS = frozenset(
    {"nvidia.com/gpu.product", "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name"}
)
_GKE = "cloud.google.com/gke-accelerator"
GPU_RESOURCES = frozenset({"nvidia.com/gpu", "amd.com/gpu"})
"""What a container asks whole GPUs by."""
_PROBES = ("readinessProbe", "livenessProbe", "startupProbe")
_MOST_OBJECTS = 20
"""Of a file that are named; a chart may be rendered to hundreds."""
_BLANKS = re.compile(r"[\s_-]+")
_MODULES = frozenset({"oam"})
"""What a label has behind the name that the driver prints: the form of a module."""


@frozen(kw_only=True, eq=False, repr=False)
class Object(Value):
    """One object of a cluster."""

    kind: str
    name: str
    node: Yaml


def objects_of(documents: Iterable[Yaml]) -> Iterator[Object]:
    """The objects of a file, those of a `List` each by itself."""
    for document in documents:
        kind = text_of(document, "kind")
        if kind == "List":
            yield from objects_of(items_of(document, "items"))
        elif kind and document.get("apiVersion") is not None:
            metadata = document.get("metadata")
            name = text_of(metadata, "name") if metadata is not None else ""
            yield Object(kind=kind, name=name, node=document)


def left_behind(
    objects: Sequence[Object], above: Sequence[Yaml], place: Callable[[Yaml], Span]
) -> Iterator[Change]:
    """A word about each object beside the one that holds a container; `above` are the tables that do."""
    others = [each for each in objects if all(each.node is not one for one in above)]
    for each in others[:_MOST_OBJECTS] if above else ():
        word = Word(text="", span=place(each.node))
        yield not_carried(f"the {each.kind} `{each.name}`", word)
    if above and len(others) > _MOST_OBJECTS:
        word = Word(text="", span=place(others[_MOST_OBJECTS].node))
        yield not_carried(f"{len(others) - _MOST_OBJECTS} more objects", word)


def gpu_of(pod: Yaml | None, node: Yaml, place: Callable[[Yaml], Span]) -> Word | None:
    """The label with a kind of GPU that a pod is to find on its node: `KEY: VALUE`."""
    for table in (pod, node):
        for key, value in _selected(table):
            if key in {*_PRODUCTS, _GKE} and value.text:
                return Word(text=f"{key}: {value.text}", span=place(value))
    return None


def _selected(table: Yaml | None) -> Iterator[tuple[str, Yaml]]:
    """What `nodeSelector` and a required `nodeAffinity` with a single value say."""
    selector = table.get("nodeSelector") if table is not None else None
    for key, value in selector.pairs if selector is not None else ():
        yield key.text or "", value
    found: Yaml | None = table
    for name in ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
        found = found.get(name) if found is not None else None
    terms = items_of(found, "nodeSelectorTerms")
    for each in items_of(terms[0], "matchExpressions") if len(terms) == 1 else ():
        values = items_of(each, "values")
        if text_of(each, "operator") == "In" and len(values) == 1:
            yield text_of(each, "key"), values[0]


def named_gpu(label: str, catalog: Catalog) -> str | None:
    """The one kind of the catalogue that a label names for sure; `None` where it may be another.

    A labeller writes the driver's whole name, with other blanks. GKE writes the words that tell its kinds apart: they
    must be in the name of one kind alone.
    """
    key, _, value = label.partition(": ")
    words = frozenset(_BLANKS.split(value.lower()))
    fitting = {
        gpu
        for gpu, names in _names(catalog).items()
        for each in names
        if (words <= each if key == _GKE else words - _MODULES == each)
    }
    return fitting.pop() if len(fitting) == 1 else None


def _names(catalog: Catalog) -> Mapping[str, tuple[frozenset[str], ...]]:
    """The names of each kind, as words."""
    kinds = ((each, catalog.gpu(each)[0]) for each in catalog.ids(Kind.GPU))
    return {
        name: tuple(frozenset(_BLANKS.split(one.lower())) for one in gpu.names)
        for name, gpu in kinds
        if gpu is not None
    }


def listened_ports(node: Yaml) -> Iterator[Port]:
    """The ports of a container that others come in by: those that it names, and those of its probes."""
    for each in items_of(node, "ports"):
        if text_of(each, "containerPort"):
            yield Port(inner=text_of(each, "containerPort"))
    for name in _PROBES:
        probe = node.get(name)
        for key in ("httpGet", "tcpSocket"):
            told = probe.get(key) if probe is not None else None
            if told is not None and not text_of(told, "host"):
                yield Port(inner=text_of(told, "port"))


def are_only_gpus(resources: Yaml, asked: Yaml) -> bool:
    """Whether resources are GPUs and nothing else."""
    tables = [value for _, value in resources.pairs if not value.is_null]
    return all(
        key.text in GPU_RESOURCES and value.text == asked.text
        for table in tables
        for key, value in table.pairs
    )
