"""A new generation: written beside the others, synced, and only then given its number by one rename."""

from __future__ import annotations

from compiler.host.machine import Machine
from compiler.host.places import CURRENT, GENERATION, MANIFEST, NEW, NEW_CURRENT, OLD, Places
from compiler.host.staged import Staged
from compiler.host.store import Store
from compiler.tree.manifest import ManifestLine, digest, render_manifest


def manifest_of(staged: Staged) -> bytes:
    """The MANIFEST of the generation that a staged tree makes."""
    lines = (
        ManifestLine(
            path=name,
            profile=staged.source,
            sha256=digest(file.content),
            executable=file.executable,
        )
        for name, file in staged.files.items()
    )
    return render_manifest(lines).encode()


def same_generation(store: Store, staged: Staged) -> int | None:
    """The generation that is this tree already: the current one, or the newest.

    An older one is not taken again, so that the way back is always to a lower number.
    """
    wanted = manifest_of(staged)
    for number in (store.current, max(store.generations, default=None)):
        one = None if number is None else store.generations.get(number)
        if one is not None and not one.damage and one.manifest == wanted:
            return one.number
    return None


def clean(machine: Machine, store: Store) -> None:
    """Remove what a run that was cut off left behind."""
    for path in store.leftovers:
        if path.is_dir() and not path.is_symlink():
            machine.remove_tree(path)
        else:
            machine.remove(path)


def write_generation(machine: Machine, places: Places, staged: Staged, *, number: int) -> None:
    """Write a generation and give it its number.

    Raises:
        OSError: from any step; before the last rename nothing counts.
    """
    new = places.state / NEW
    machine.make_folder(new)
    for name, file in sorted(staged.files.items()):
        machine.write(new / name, file.content, mode=0o755 if file.executable else 0o644)
    machine.write(new / MANIFEST, manifest_of(staged), mode=0o644)
    machine.sync(new)
    machine.rename(new, places.generation(number))
    machine.sync(places.state)


def delete_generation(machine: Machine, places: Places, *, number: int) -> None:
    """Delete a generation: it stops being one by a rename, and is removed after that."""
    old = places.state / f"{OLD}{number}"
    machine.rename(places.generation(number), old)
    machine.remove_tree(old)


def point_current(machine: Machine, places: Places, *, number: int) -> None:
    """Make a generation the current one, in one step: whoever looks sees the old one or the new one."""
    current = places.state / CURRENT
    text = f"{GENERATION}{number}"
    if current.is_symlink() and str(current.readlink()) == text:
        return
    new = places.state / NEW_CURRENT
    if new.is_symlink():
        machine.remove(new)
    machine.symlink(new, text)
    machine.rename(new, current)
    machine.sync(places.state)
