"""The links that make a generation the manager's unit; each leads through `current`.

A link is changed or removed only where it points into our own tree. Somebody else's unit is moved aside once, to a
numbered name that systemd does not read. `systemctl enable` is never used: it resolves `current` and so pins one
generation, and `disable` deletes the link of the unit itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compiler.host.machine import Machine
from compiler.host.places import Places
from compiler.quoting.unitfile import read_unit


INSTALL = {"WantedBy": "wants", "RequiredBy": "requires", "UpheldBy": "upholds"}
"""The settings of `[Install]` that are links, and the folders these stand in: systemd.unit(5)."""

ASIDE = ".poolproof-"
"""In the name of a unit that was moved aside: `UNIT.service.poolproof-1`."""


def make_links(machine: Machine, places: Places, unit: bytes) -> str | None:
    """Make the links that are missing, correct ours that are wrong, remove ours that are not wanted any more.

    `unit` is the text of the unit, whose `[Install]` says which links there are. What comes back is where somebody
    else's unit was moved, a path of the host; `None` when none was in the way.
    """
    wanted = (places.unit_path, *_wanted(places, unit))
    for path in links_of(places):
        if path not in wanted:
            machine.remove(path)
            machine.sync(path.parent)
    moved = _move_aside(machine, places)
    for path in wanted:
        if not _is_right(places, path):
            _put_link(machine, places, path)
    return moved


def _wanted(places: Places, unit: bytes) -> tuple[Path, ...]:
    """So that it is started with what wants it."""
    parsed = read_unit(unit.decode("utf-8", "surrogateescape"))
    return tuple(
        places.units / f"{target}.{folder}" / places.unit
        for key, folder in INSTALL.items()
        for value in parsed.values("Install", key=key)
        for target in value.split()
        if "/" not in target
    )


def links_of(places: Places) -> tuple[Path, ...]:
    """Every link of ours to the unit, that of its name last; what a run that was cut off left among them."""
    paths = (*_places_of_links(places), places.unit_path)
    return tuple(each for path in paths for each in (_new(path), path) if places.is_ours(each))


def _new(path: Path) -> Path:
    """The name of a link before it counts."""
    return path.with_name(f".{path.name}.new")


def foreign_links_of(places: Places) -> Mapping[str, str]:
    """Somebody else's links that start the unit with something; they are left alone."""
    return {
        places.on_host(path): str(path.readlink())
        for path in _places_of_links(places)
        if path.is_symlink() and not places.is_ours(path)
    }


def _places_of_links(places: Places) -> list[Path]:
    folders = [path for each in INSTALL.values() for path in sorted(places.units.glob(f"*.{each}"))]
    return [folder / places.unit for folder in folders]


def aside_of(places: Places) -> tuple[str, ...]:
    """The units that were moved aside, the newest last, as paths of the host."""
    found = {
        int(number): path
        for path in places.units.glob(f"{places.unit}{ASIDE}*")
        if (number := path.name.rpartition("-")[2]).isdecimal()
    }
    return tuple(places.on_host(found[each]) for each in sorted(found))


def _is_right(places: Places, path: Path) -> bool:
    """Of somebody else's link in a `.wants` folder only the name counts, and that is the same."""
    if not places.is_ours(path):
        return path != places.unit_path and (path.is_symlink() or path.exists())
    return str(path.readlink()) == places.link_text


def _move_aside(machine: Machine, places: Places) -> str | None:
    path = places.unit_path
    if places.is_ours(path) or not (path.is_symlink() or path.exists()):
        return None
    last = aside_of(places)
    number = 1 + int(last[-1].rpartition("-")[2]) if last else 1
    aside = path.with_name(f"{path.name}{ASIDE}{number}")
    machine.rename(path, aside)
    machine.sync(path.parent)
    return places.on_host(aside)


def _put_link(machine: Machine, places: Places, path: Path) -> None:
    machine.make_folder(path.parent)
    new = _new(path)
    machine.symlink(new, places.link_text)
    machine.rename(new, path)
    machine.sync(path.parent)


def remove_links(machine: Machine, places: Places) -> tuple[str, ...]:
    """Remove every link of ours; their paths on the host."""
    links = links_of(places)
    for path in links:
        machine.remove(path)
    for folder in dict.fromkeys(path.parent for path in links):
        machine.sync(folder)
    return tuple(places.on_host(path) for path in links)
