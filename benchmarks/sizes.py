"""The sizes of public checkpoints against what the catalogue's shapes and number formats come to.

`python -m benchmarks.sizes` prints them. Sizes are summed from the headers of the files, by number format.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen

from compiler.catalog import open_catalog
from compiler.facts import Model
from compiler.memory.tensors import nextn_tensors, target_tensors
from compiler.memory.weights import Split, Tensors


SIZES = Path(__file__).parent / "data" / "sizes.jsonl"
_ROTARY = "rotary tables"
_BITS_A_BYTE = 8


@frozen(kw_only=True)
class Size:
    """One checkpoint.

    Attributes:
        published: bytes of all its tensors.
        described: bytes that its description comes to.
    """

    id: str
    published: int
    described: float

    @property
    def error(self) -> float:
        """The description's relative error."""
        return self.described / self.published - 1


def sizes(path: Path = SIZES) -> Iterator[Size]:
    """Every checkpoint of the file; its own draft is among its tensors, with an embedding and a head where it has them."""
    catalogue = open_catalog()
    for line in path.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        model, faults = catalogue.model(values["id"])
        if model is None:
            raise SystemExit(f"{values['id']}: {faults}")
        described = described_bytes(model, draft_ends=values.get("draft_ends", False))
        yield Size(id=values["id"], published=values["bytes"], described=described)


def described_bytes(model: Model, *, draft_ends: bool = False) -> float:
    """What the files of a description would hold: without tables and copies that an engine makes itself."""
    found = _stored(target_tensors(model, split=Split()))
    if model.nextn is None:
        return found
    return found + _stored(nextn_tensors(model, model.nextn, split=Split(), loading=draft_ends))


def _stored(tensors: Iterable[Tensors]) -> float:
    kept = (each for each in tensors if each.role != _ROTARY and not each.late)
    return sum(each.elements * each.count * each.bits / _BITS_A_BYTE for each in kept)


def main() -> None:
    """Print the table."""
    for each in sizes():
        sys.stdout.write(
            f"{each.id:40} {each.published / 1e9:9.2f} GB {each.described / 1e9:9.2f} {each.error:+7.2%}\n"
        )


if __name__ == "__main__":
    main()
