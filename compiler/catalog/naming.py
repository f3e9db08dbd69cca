"""A model's name, or a path that ends like one, goes in; the catalogue's id comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.catalog.lookup import Catalog
from compiler.catalog.shelves import Kind
from compiler.catalog.variants import ends
from compiler.value import Value


_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
# Folders that people keep checkpoints in; nobody publishes under these names.
_FOLDERS = frozenset(
    {"cache", "checkpoint", "checkpoints", "ckpt", "ckpts", "data", "hf", "hub", "llm", "llms"}
    | {"local", "mnt", "model", "models", "snapshots", "weight", "weights", "workspace"}
)
_FORMATS = frozenset({"awq", "bnb", "fp4", "fp8", "gguf", "gptq", "int4", "int8", "mxfp4", "nvfp4"})
_SNAPSHOTS = "snapshots"
_CACHED = "models--"


@frozen(kw_only=True, eq=False, repr=False)
class Names(Value):
    """What models are called.

    Attributes:
        known: every id in lower case, and its last part where only one id ends like that.
    """

    catalog: Catalog
    known: Mapping[str, str]

    def identify(self, name: str) -> str:
        """The catalogue's id of a model's name, or of a path that ends like one; what it does not know comes back as it is."""
        whole = name.strip("/").lower()
        if whole in self.known:
            return self.known[whole]
        if _HUB_NAME.fullmatch(name) and name.partition("/")[0].lower() not in _FOLDERS:
            # Somebody else's checkpoint of the same name may be quantized in another way.
            return name
        endings = tuple(_endings(name))
        for each in endings:
            if each.lower() in self.known:
                return self.known[each.lower()]
            variant = self.catalog.variant_id(each)
            if variant is not None:
                return variant
        return endings[0] if _says_publisher(name) else name


def _endings(path: str) -> Iterator[str]:
    """What a path may be called by: the publisher and the name of a hub's cache, or its last two parts, or the last.

    Where the publisher is sure the name alone is none: somebody else's checkpoint may be quantized in another way. So it is
    below a folder that is called by a number format.
    """
    parts = path.rstrip("/").split("/")
    # The hub's own cache has `models--moonshotai--Kimi-K2.6/snapshots/<revision>`.
    cached = [part.removeprefix(_CACHED) for part in parts if part.startswith(_CACHED)]
    if cached:
        parts = cached[-1].split("--")
    elif _SNAPSHOTS in parts[-2:-1]:
        parts = parts[:-2]
    elif "--" in parts[-1]:
        parts = parts[-1].split("--")
    # ModelScope's cache has `___` for a dot.
    parts = [each.replace("___", ".") for each in parts if each]
    if len(parts) > 1:
        yield "/".join(parts[-2:])
    if not _says_publisher(path) and not (len(parts) > 1 and parts[-2].lower() in _FORMATS):
        yield from parts[-1:]


def _says_publisher(path: str) -> bool:
    """Whether a part of the path is `publisher--name`, with or without the hub's own word before it."""
    parts = (part.removeprefix(_CACHED) for part in path.rstrip("/").split("/"))
    return any("--" in part.strip("-") for part in parts)


def model_names(catalog: Catalog) -> Names:
    """What the models of a catalogue are called."""
    ids = (*catalog.ids(Kind.MODEL), *catalog.ids(Kind.DRAFT))
    return Names(catalog=catalog, known={**ends(ids), **{each.lower(): each for each in ids}})
