"""Recorded boots: a team's own, and the public ones that are shipped, a folder of each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.catalog.agreement import disagreements
from compiler.catalog.entries import read_entry
from compiler.catalog.shelves import EntryFile, Shelf, file_stem, id_of
from compiler.diagnostics import Diagnostic
from compiler.facts import Boot


OWN, PUBLIC = "boots/", "public/"
"""How the names of a team's own boots begin, and those of public ones."""
_FOLDER = "boots"


def own_boots(shelf: Shelf | None) -> tuple[tuple[Boot, ...], tuple[Diagnostic, ...]]:
    """A team's boots, by name; those whose file is broken are left out."""
    if shelf is None:
        return (), ()
    boots: list[Boot] = []
    stems, faults = shelf.stems("", suffix=".toml")
    for stem in stems:
        boot, found = _read(shelf, f"{stem}.toml", name=OWN + stem)
        boots += [boot] if boot is not None else []
        faults = (*faults, *found)
    return tuple(boots), (*faults, *disagreements(boots))


def public_boots(shelves: Sequence[Shelf], model: str) -> Iterator[Boot]:
    """The shipped boots of a model, by name."""
    folder = f"{_FOLDER}/{file_stem(model)}"
    for shelf in _shipped(shelves) if file_stem(model) is not None else ():
        for stem in shelf.stems(folder, suffix=".toml")[0]:
            boot, _ = _read(shelf, f"{folder}/{stem}.toml", name=PUBLIC + stem)
            if boot is not None:
                yield boot


def public_models(shelves: Sequence[Shelf]) -> tuple[str, ...]:
    """The models that there are shipped boots of, sorted."""
    folders = {each for shelf in _shipped(shelves) for each in shelf.stems(_FOLDER, suffix="")[0]}
    return tuple(sorted(map(id_of, folders)))


def public_file(shelves: Sequence[Shelf], name: str) -> EntryFile | None:
    """The file of a shipped boot as it stands, by the boot's name."""
    stem = file_stem(name.removeprefix(PUBLIC))
    for shelf in _shipped(shelves):
        for folder in shelf.stems(_FOLDER, suffix="")[0]:
            file, _ = shelf.open(f"{_FOLDER}/{folder}/{stem}.toml")
            if file is not None:
                return file
    return None


def _shipped(shelves: Sequence[Shelf]) -> Iterator[Shelf]:
    return (each for each in shelves if each.shipped)


def _read(shelf: Shelf, file_name: str, *, name: str) -> tuple[Boot | None, tuple[Diagnostic, ...]]:
    file, faults = shelf.open(file_name)
    if file is None:
        return None, faults
    given = {"name": name, "file": file.shown, "shipped": shelf.shipped}
    return read_entry(file, Boot, id_=None, given=given, code=shelf.code)
