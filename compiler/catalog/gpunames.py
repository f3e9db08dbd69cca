"""What somebody calls a GPU goes in; the catalogue's id of it comes out, for sure or as the one that is probably meant."""

from __future__ import annotations

import re

from compiler.catalog.lookup import Catalog
from compiler.catalog.shelves import Kind
from compiler.near import in_any_case


_WORDS = re.compile(r"[a-z]+|\d+")
_MAKERS = frozenset({"nvidia", "geforce", "amd", "instinct", "tesla", "intel", "oam"})
"""Words that say whose it is, and not which."""


def gpu_id(name: str, catalog: Catalog) -> str:
    """The id that a name stands for: the id itself, or what the driver prints, in any case; else the name as it is."""
    ids = tuple(catalog.ids(Kind.GPU))
    found = in_any_case(name, ids)
    if found in ids or not any(map(str.isdigit, name)):
        return found
    wanted = _words(name)
    fitting = [each for each in ids if wanted and wanted in _driver_names(each, catalog)]
    return fitting[0] if len(fitting) == 1 else name


def near_gpu(name: str, catalog: Catalog) -> str | None:
    """The id of a card that a name says more of, or less: `h100-sxm5-80gb`, `rtx pro 6000`."""
    wanted = frozenset(_words(name))
    several = {each: frozenset(_words(each)) for each in sorted(catalog.ids(Kind.GPU), key=len)}
    within = [each for each, words in several.items() if words <= wanted]
    around = [each for each, words in several.items() if wanted and wanted <= words]
    if within:
        return max(within, key=lambda each: len(several[each]))
    return min(around, key=lambda each: len(several[each]), default=None)


def _driver_names(gpu: str, catalog: Catalog) -> tuple[tuple[str, ...], ...]:
    described, _ = catalog.gpu(gpu)
    return tuple(map(_words, described.names)) if described is not None else ()


def _words(name: str) -> tuple[str, ...]:
    return tuple(each for each in _WORDS.findall(name.lower()) if each not in _MAKERS)
