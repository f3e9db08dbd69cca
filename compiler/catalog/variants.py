"""The name of a checkpoint without an entry of its own goes in; out comes the model it has the shapes of, in its number formats.

Only what is sure is answered: who publishes under a name, or a name that says it all, decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from attrs import evolve, field, frozen

from compiler.architecture import BLOCK_VALUES, Format, Quantization
from compiler.catalog.shelves import Kind, Shelf
from compiler.diagnostics import listed
from compiler.facts import Model
from compiler.language.syntax import parse_toml
from compiler.language.typed import structure_value
from compiler.near import is_mistyped, near
from compiler.source import Source
from compiler.value import Value


_FILE = "variants.toml"


@frozen(kw_only=True, eq=False, repr=False)
class Recipe(Value):
    """How checkpoints of one ending are quantized, and which.

    Attributes:
        endings: of the name, in lower case; what stands before is the model's own name.
        publishers: whose checkpoints these are, in lower case.
        alone: the ending says it all, whoever published the checkpoint.
        bare: nobody else makes these: a folder that is called like one, without a publisher, is one.
        architectures: the models that it is known of.
        quantization: instead of the model's own; `None`: none.
        source: where this is from.
    """

    endings: tuple[str, ...]
    publishers: tuple[str, ...] = ()
    alone: bool = False
    bare: bool = False
    architectures: tuple[str, ...]
    quantization: Quantization | None = None
    source: str


@frozen(kw_only=True, eq=False, repr=False)
class Variants(Value):
    """What is known of checkpoints that have no entry.

    Attributes:
        copies: publishers of the makers' own files under the makers' names, in lower case.
        same: checkpoints of the shapes and number formats of another, by id.
    """

    copies: tuple[str, ...] = ()
    same: Mapping[str, str] = field(factory=dict)
    recipes: tuple[Recipe, ...] = ()

    @property
    def publishers(self) -> frozenset[str]:
        """All that are known to publish, in lower case."""
        named = (each.partition("/")[0].lower() for each in self.same)
        return frozenset(named).union(self.copies, *(each.publishers for each in self.recipes))

    def twin(self, id_: str) -> str | None:
        """The checkpoint that another has all figures of; a name without its publisher will do."""
        wanted = id_.lower()
        names = ((key.lower(), known) for key, known in self.same.items())
        return next(
            (known for key, known in names if wanted in (key, key.rpartition("/")[2])), None
        )

    def made_by(self, id_: str) -> Iterator[tuple[str, Recipe | None]]:
        """The model's own name, and the recipe, that a name may stand for; without one it is a copy."""
        publisher, _, name = id_.lower().rpartition("/")
        for recipe in self.recipes:
            if recipe.alone or publisher in recipe.publishers or (recipe.bare and not publisher):
                for ending in recipe.endings:
                    if name.endswith(ending):
                        yield name.removesuffix(ending), recipe
        if publisher in self.copies:
            yield name, None


def read_variants(shelves: Iterable[Shelf]) -> Variants | None:
    """The file that comes with the compiler; a test holds it to its form."""
    files = (shelf.open(_FILE)[0] for shelf in shelves if shelf.shipped)
    file = next(filter(None, files), None)
    values, _ = (None, ()) if file is None else parse_toml(Source(file.shown, file.data.decode()))
    return None if values is None else structure_value(values, Variants)[0]


def variant(
    id_: str,
    variants: Variants,
    *,
    last: Mapping[str, str],
    model: Callable[[str], Model | None],
) -> Model | None:
    """The model of a name without an entry; `last` are the last parts of known ids."""
    twin = variants.twin(id_)
    if twin is not None:
        found = model(twin)
        how = "whose shapes and number formats it has"
        return None if found is None else _like(found, id_, how)
    for name, recipe in variants.made_by(id_):
        known = last.get(name) or variants.twin(name)
        found = None if known is None else model(known)
        if found is None:
            continue
        if recipe is None:
            return _like(found, id_, "a copy of which it is by its name")
        if found.architecture in recipe.architectures:
            sources = {**found.sources, "quantization": recipe.source}
            called = id_ if "/" in id_ or not recipe.bare else f"{recipe.publishers[0]}/{id_}"
            like = _like(found, called, f"by its name in {_formats(found, recipe.quantization)}")
            return evolve(like, quantization=recipe.quantization, sources=sources)
    return None


def _like(known: Model, id_: str, how: str) -> Model:
    likeness = f"`{id_}` has no entry of its own: its figures are those of `{known.id}`, {how}"
    return evolve(known, id=id_, like=known.id, likeness=likeness)


def _formats(model: Model, quantization: Quantization | None) -> str:
    """In what the weights are, in words."""
    if quantization is None:
        return f"{model.dtype_bits} bits"
    several = dict.fromkeys(map(_values, quantization.formats))
    return f"{quantization.method} ({listed([*several])})"


def _values(each: Format) -> str:
    together = (
        "blocks of 128 x 128" if each.group_size == BLOCK_VALUES else f"groups of {each.group_size}"
    )
    return f"{each.bits:g} bits{f' in {together}' if each.group_size else ''}"


@lru_cache(maxsize=8)  # of a catalogue, which is asked about many names
def ends(ids: tuple[str, ...]) -> Mapping[str, str]:
    """The last part of each id, in lower case, where only one of these ends like that."""
    found: dict[str, str | None] = {}
    for each in ids:
        last = each.rpartition("/")[2].lower()
        found[last] = None if last in found else each
    return {last: id_ for last, id_ in found.items() if id_}


def near_id(
    id_: str,
    kind: Kind,
    ids: Callable[[Kind], Sequence[str]],
    variant_id: Callable[[str], str | None],
) -> str | None:
    """A known id that somebody who wrote this one may have meant, or of the model that it may be made from.

    Of that model's own checkpoints the one in the same number formats, where its name says that it is one: `variant_id` tells.
    """
    if kind is Kind.MODEL:
        found = meant_model(id_, ids(kind))
        return found and (_ending_alike(id_, found, variant_id) or found)
    if kind is Kind.DRAFT:
        return _meant_draft(id_, ids(kind), ids(Kind.MODEL))
    return near(id_, ids(kind))


def meant_model(id_: str, ids: Sequence[str]) -> str | None:
    """The known model whose name this one begins with, the longest, or one that is called alike."""
    last = ends(tuple(ids))
    name = id_.rstrip("/").rpartition("/")[2].lower()
    starts = (name[: each.start()] for each in reversed(list(re.finditer(r"[-._]", name))))
    return next((last[each] for each in starts if each in last), None) or near(id_, ids)


def _ending_alike(id_: str, found: str, variant_id: Callable[[str], str | None]) -> str | None:
    """What a known model is called with the end of another name, where that is known to be a checkpoint of it."""
    name = id_.rstrip("/").rpartition("/")[2]
    ends_ = (name[each.start() :] for each in reversed(list(re.finditer(r"[-._]", name))))
    longer = (found + each for each in ends_ if not found.lower().endswith(each.lower()))
    return next(filter(None, map(variant_id, longer)), None)


def _meant_draft(id_: str, drafts: Sequence[str], models: Sequence[str]) -> str | None:
    """The known draft that ends so or is called alike, or the model: one that is only longer or shorter is no draft."""
    found = ends((*drafts, *models)).get(id_.rstrip("/").rpartition("/")[2].lower())
    mistyped = (each for each in models if is_mistyped(id_, each))
    return found or near(id_, drafts) or next(mistyped, None)
