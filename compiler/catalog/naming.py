"""A model's name, or a path that ends like one, goes in; the catalogue's id comes out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from compiler.catalog.lookup import Catalog, Kind


_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


def identify_model(name: str, *, names: Mapping[str, str]) -> str:
    """The catalogue's id of a model's name, or of a path that ends like one; what it does not know comes back as it is."""
    whole = name.strip("/").lower()
    if whole in names:
        return names[whole]
    parts = name.rstrip("/").split("/")
    if _HUB_NAME.fullmatch(name):
        # Somebody else's checkpoint of the same name may be quantized in another way.
        return name
    # The hub's own cache has `models--moonshotai--Kimi-K2.6/snapshots/<revision>`.
    cached = [part for part in parts if part.startswith("models--")]
    last = (cached or parts)[-1].rpartition("--")[2].lower()
    return names.get(last, name)


def model_names(catalog: Catalog) -> Mapping[str, str]:
    """Every id in lower case, and its last part where only one id ends like that."""
    ids = [*catalog.ids(Kind.MODEL), *catalog.ids(Kind.DRAFT)]
    ends: dict[str, str | None] = {}
    for each in ids:
        last = each.rpartition("/")[2].lower()
        ends[last] = None if last in ends else each
    known = {end: id_ for end, id_ in ends.items() if id_}
    return known | {each.lower(): each for each in ids}
