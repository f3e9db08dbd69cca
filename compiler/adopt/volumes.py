"""A container of a manifest goes in; what of the host is in it comes out, and whether its processes can share memory.

kubernetes.io, "Volumes": only a `hostPath` is a folder of the host; `subPath` is a part of it. Ansible's modules for
containers have lists as Compose has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Mount, Word
from compiler.adopt.mounts import mounts_of
from compiler.adopt.ports import published
from compiler.adopt.sharedmemory import shared_memory
from compiler.diagnostics import Diagnostic, Span
from compiler.yamltext import Yaml


_MEND = (
    "mount a volume of memory there: `emptyDir: {medium: Memory, sizeLimit: 16Gi}` at `/dev/shm`"
)
_PORTS = ("ports", "published_ports")


def volumes_of(node: Yaml, pod: Yaml | None, word: Callable[[Yaml], Word]) -> Iterator[Mount]:
    """The volumes of one container of a pod; `word` makes a word of a scalar."""
    for each in items_of(node, "volumes"):
        if each.text is not None:
            yield from mounts_of([("volumes", word(each))])
    told = {text_of(each, "name"): each for each in items_of(pod, "volumes")}
    for each in items_of(node, "volumeMounts"):
        path, volume = text_of(each, "mountPath").rstrip("/"), told.get(text_of(each, "name"))
        if path and volume is not None:
            yield _mount(volume, path, text_of(each, "subPath"), word)


def _mount(volume: Yaml, path: str, part: str, word: Callable[[Yaml], Word]) -> Mount:
    folder = volume.get("hostPath")
    place = folder.get("path") if folder is not None else None
    if place is None:
        kind = next((key.text or "" for key, _ in volume.pairs if key.text != "name"), "volume")
        what = f"volume `{text_of(volume, 'name')}` ({kind})"
        return Mount(source=Word(text=""), target=path, what=what)
    source = word(place)
    text = "/".join((source.text.rstrip("/"), part.strip("/"))) if part else source.text
    return Mount(source=evolve(source, text=text), target=path)


def ports_of(node: Yaml, word: Callable[[Yaml], Word]) -> Iterator[Change]:
    """The ports that clients know by another number."""
    for key in _PORTS:
        several = (each for each in items_of(node, key) if each.text is not None)
        yield from published(("ports", word(each)) for each in several)


def memory_of_pod(node: Yaml, pod: Yaml | None, *, span: Span) -> tuple[Diagnostic, ...]:
    """A pod has 64 MiB of shared memory, too."""
    if pod is None:
        return ()
    paths = [text_of(each, "mountPath") for each in items_of(node, "volumeMounts")]
    told = [("volume", each) for each in paths]
    told += [("ipc", "host")] if text_of(pod, "hostIPC").lower() == "true" else []
    return tuple(
        evolve(each, help=(_MEND,)) for each in shared_memory(told, span=span, form=Form.POD)
    )


def items_of(table: Yaml | None, key: str) -> tuple[Yaml, ...]:
    """The items of a list of a table."""
    value = table.get(key) if table is not None else None
    return value.items if value is not None else ()


def text_of(table: Yaml, key: str) -> str:
    """A scalar of a table; nothing where there is none."""
    value = table.get(key)
    return (value.text or "") if value is not None else ""
