"""A container of a manifest goes in; what of the host is in it comes out, and whether its processes can share memory.

kubernetes.io, "Volumes": only a `hostPath` is a folder of the host; `subPath` is a part of it. Ansible's modules for
containers have lists as Compose has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

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


def volumes_of(
    node: Yaml,
    pod: Yaml | None,
    word: Callable[[Yaml], Word],
    expanded: Callable[[Word], Word],
) -> Iterator[Mount]:
    """The volumes of one container of a pod; `word` makes a word of a scalar, `expanded` puts its variables in."""
    for each in items_of(node, "volumes"):
        if each.text is not None:
            yield from mounts_of([("volumes", word(each))])
    told = {text_of(each, "name"): each for each in items_of(pod, "volumes")}
    for each in items_of(node, "volumeMounts"):
        path, volume = text_of(each, "mountPath").rstrip("/"), told.get(text_of(each, "name"))
        if path and volume is not None:
            yield _mount(volume, path, _part(each, word, expanded), word)


def _part(node: Yaml, word: Callable[[Yaml], Word], expanded: Callable[[Word], Word]) -> Word:
    """The folder of a volume that is mounted; of a template (`subPathExpr`) with the container's variables."""
    plain, template = node.get("subPath"), node.get("subPathExpr")
    if template is not None and not template.is_null:
        return expanded(word(template))
    return word(plain) if plain is not None and not plain.is_null else Word(text="")


def _mount(volume: Yaml, path: str, part: Word, word: Callable[[Yaml], Word]) -> Mount:
    folder = volume.get("hostPath")
    place = folder.get("path") if folder is not None else None
    name = text_of(volume, "name")
    if place is None:
        kind = next((key.text or "" for key, _ in volume.pairs if key.text != "name"), "volume")
        return Mount(source=Word(text=""), target=path, what=f"volume `{name}` ({kind})")
    source = word(place)
    if part.unknown:
        what = f"volume `{name}`, in its folder `{part.text}`, which is known at start only"
        return Mount(source=Word(text=""), target=path, what=what)
    # Its API server takes no way up, and no part that is absolute.
    refused = [each for each in (part.text, source.text) if ".." in PurePosixPath(each).parts]
    refused += [part.text] if part.text.startswith("/") else []
    if refused:
        what = f"volume `{name}`, whose path `{refused[0]}` Kubernetes refuses"
        return Mount(source=Word(text=""), target=path, what=what)
    text = "/".join((source.text.rstrip("/"), part.text.strip("/"))) if part.text else source.text
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
