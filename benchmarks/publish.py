"""The public boots that the catalogue ships: `python -m benchmarks.publish` writes them anew from benchmarks/data/boots.jsonl.

Shipped are those on a kind of GPU that the catalogue knows, of a stated release, checkpoint, fraction, and pool. A boot set
aside, or one of which something is not known, is not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import fields

from benchmarks.asking import HERE, read_cases
from benchmarks.recorded import published
from compiler.catalog.recorded import PUBLIC
from compiler.catalog.shelves import file_stem
from compiler.facts import Boot
from compiler.language.written import key_toml, text_toml


FOLDER = HERE.parent / "compiler" / "catalog" / "data" / "boots"

_NOT_IN_FILES = frozenset({"name", "file", "shipped", "flags"})


def files() -> Mapping[str, str]:
    """The text of each file, by its name below the folder."""
    return {_place(boot): boot_toml(boot) for _, boot in published(read_cases())}


def boot_toml(boot: Boot) -> str:
    """The file of a recorded boot: what differs from a boot's defaults, then the flags."""
    lines = [
        f"{each.name} = {_value(getattr(boot, each.name))}"
        for each in fields(Boot)
        if each.name not in _NOT_IN_FILES and getattr(boot, each.name) != each.default
    ]
    return "\n".join((*lines, *_flags(boot))) + "\n"


def _flags(boot: Boot) -> Iterator[str]:
    yield from ("", "[flags]")
    for name, value in sorted((boot.flags or {}).items()):
        yield f"{key_toml(name)} = {_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return text_toml(str(value))


def _place(boot: Boot) -> str:
    return f"{file_stem(boot.model)}/{boot.name.removeprefix(PUBLIC)}.toml"


def main() -> None:
    """Write every file, and take away those that are no longer among them."""
    wanted = files()
    for there in sorted(FOLDER.glob("*/*.toml")):
        if there.relative_to(FOLDER).as_posix() not in wanted:
            there.unlink()
    for name, text in wanted.items():
        path = FOLDER / Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sys.stdout.write(
        f"{len(wanted)} boots of {len({Path(name).parent for name in wanted})} models\n"
    )


if __name__ == "__main__":
    main()
