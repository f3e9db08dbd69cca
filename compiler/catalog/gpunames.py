"""What somebody calls a GPU goes in; the catalogue's id of it comes out, for sure or as the one that is probably meant."""

from __future__ import annotations

import re
from operator import itemgetter

from compiler.catalog.lookup import Catalog
from compiler.catalog.shelves import Kind
from compiler.near import in_any_case


_WORDS = re.compile(r"[a-z]+|\d+")
_MAKERS = frozenset({"nvidia", "geforce", "amd", "instinct", "tesla", "intel", "oam"})
"""Words that say whose it is, and not which."""

_MACHINES = {("dgx", "spark"): "gb10"}
"""Machines that have one kind of GPU only, by which people call it: DGX Spark, see its entry in the catalogue."""


def gpu_id(name: str, catalog: Catalog) -> str:
    """The id that a name stands for: the id itself, what the driver prints, or its only machine, in any case; else the name as it is."""
    ids = tuple(catalog.ids(Kind.GPU))
    found = in_any_case(name, ids)
    if found in ids:
        return found
    wanted = _words(name)
    if wanted in _MACHINES:
        return _MACHINES[wanted]
    if not any(map(str.isdigit, name)):
        return name
    fitting = [each for each in ids if wanted and wanted in _driver_names(each, catalog)]
    return fitting[0] if len(fitting) == 1 else name


def near_gpu(name: str, catalog: Catalog) -> str | None:
    """The id that is probably meant: the one that a name stands for, says more of or less (`h100-sxm5-80gb`), or is a slip of."""
    sure = gpu_id(name, catalog)
    return sure if sure != name else _told_by_words(name, catalog) or catalog.near(Kind.GPU, name)


def _told_by_words(name: str, catalog: Catalog) -> str | None:
    """The card whose words a name holds, or that holds its words."""
    wanted = frozenset(_words(name))
    ids = sorted(catalog.ids(Kind.GPU), key=len)
    several = [(each, frozenset(_words(each))) for each in ids]
    several += [(each, frozenset(words)) for words, each in _MACHINES.items()]
    within = [(len(words), each) for each, words in several if words <= wanted]
    around = [each for each, words in several if wanted and wanted <= words]
    if within:
        return max(within, key=itemgetter(0))[1]
    return next(iter(around), None)


def _driver_names(gpu: str, catalog: Catalog) -> tuple[tuple[str, ...], ...]:
    described, _ = catalog.gpu(gpu)
    return tuple(map(_words, described.names)) if described is not None else ()


def _words(name: str) -> tuple[str, ...]:
    return tuple(each for each in _WORDS.findall(name.lower()) if each not in _MAKERS)
