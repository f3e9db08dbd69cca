"""The units that are here: by the links in the managers' folders, and by the folder where generations are as a rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compiler.diagnostics import Diagnostic, error
from compiler.host.live import Live, Systemd
from compiler.host.places import CURRENT, Places, below, unit_folder
from compiler.host.record import Record, read_record
from compiler.host.service import Service, service_of
from compiler.host.store import Generation, Store, read_store
from compiler.host.units import Scope, service_name
from compiler.near import near
from compiler.writtenplan import PLAN, WrittenPlan, read_plan


STATE_ROOT = "/var/lib/poolproof"
"""`service.STATE_ROOT` of the compiler: where a target keeps its generations when it does not say."""


def find_units(root: Path) -> tuple[Places, ...]:
    """Every unit with generations, sorted by name; of a user's manager only the caller's own.

    Raises:
        OSError: when a folder cannot be listed.
    """
    found = {each.state_dir: each for each in (*_by_folder(root), *_by_link(root))}
    return tuple(sorted(found.values(), key=lambda each: (each.unit, each.state_dir)))


def _by_folder(root: Path) -> Iterator[Places]:
    folder = below(root, STATE_ROOT)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        record = read_record(path)
        if record is not None:
            yield _places(root, f"{STATE_ROOT}/{path.name}", record, scope=Scope.SYSTEM)


def _by_link(root: Path) -> Iterator[Places]:
    for scope in Scope:
        folder = below(root, unit_folder(scope))
        for path in sorted(folder.glob("*.service")) if folder.is_dir() else ():
            text = str(path.readlink()) if path.is_symlink() else ""
            state_dir = text.removesuffix(f"/{CURRENT}/{path.name}")
            if not state_dir.startswith("/") or state_dir == text:
                continue
            record = read_record(below(root, state_dir))
            if record is not None:
                yield _places(root, state_dir, record, scope=scope)


def _places(root: Path, state_dir: str, record: Record, *, scope: Scope) -> Places:
    return Places(root=root, scope=scope, state_dir=state_dir, unit=record.unit)


def find_unit(root: Path, asked: str | None) -> Store | Diagnostic:
    """The generations of one unit: by its name, by the folder of its generations, or the only one there is.

    Errors: `unit-unknown`, `state-foreign`.

    Raises:
        OSError: when something cannot be read.
    """
    if asked is not None and asked.startswith("/"):
        record = read_record(below(root, asked))
        if record is None:
            return error("unit-unknown", f"`{asked}` holds no generations")
        return read_store(_places(root, asked.rstrip("/"), record, scope=_scope_of(root, asked)))
    known = find_units(root)
    several = [each for each in known if asked is None or each.unit == service_name(asked)]
    return read_store(several[0]) if len(several) == 1 else _unknown(asked, several or known)


def stores_of(root: Path, asked: str | None) -> tuple[tuple[Store, ...], tuple[Diagnostic, ...]]:
    """The generations of one unit, or of all; none at all is no error.

    Errors: as `find_unit`.

    Raises:
        OSError: when something cannot be read.
    """
    if asked is not None:
        one = find_unit(root, asked)
        return ((), (one,)) if isinstance(one, Diagnostic) else ((one,), ())
    several = [read_store(each) for each in find_units(root)]
    return (
        tuple(each for each in several if isinstance(each, Store)),
        tuple(each for each in several if isinstance(each, Diagnostic)),
    )


def live_of_store(store: Store, root: Path) -> Live | None:
    """Who answers for a unit that is here; nobody in an image."""
    if root != Path("/"):
        return None
    one = store.in_use or next(reversed([*store.generations.values()]), None)
    service = None if one is None else service_in(one)
    if (
        service is None
    ):  # without its plan only its name is known, and that is enough to ask and to stop
        service = Service(
            unit=store.places.unit,
            scope=store.places.scope,
            state_dir=store.places.state_dir,
            engine=None,
            start_timeout_s=0,
            stop_timeout_s=0,
            restarts_itself=False,
        )
    return Systemd(service=service)


def _scope_of(root: Path, state_dir: str) -> Scope:
    """The manager that its plan names; the system's where nothing does."""
    for path in sorted(below(root, state_dir).glob(f"gen-*/{PLAN}")):
        plan = read_plan(path.read_bytes())
        if isinstance(plan, str):
            continue
        for target in plan.targets:
            service = service_of(plan, target)
            if isinstance(service, Service) and service.state_dir == state_dir.rstrip("/"):
                return service.scope
    return Scope.SYSTEM


def _unknown(asked: str | None, known: list[Places] | tuple[Places, ...]) -> Diagnostic:
    names = sorted({each.unit for each in known})
    if not known:
        return error(
            "unit-unknown",
            "no unit here has generations"
            if asked is None
            else f"`{asked}` has no generations here",
            help=(
                "`poolproof switch OUT/PROFILE/TARGET` makes the first",
                "of a unit that was retired, give the folder of its generations",
            ),
        )
    if asked is None:
        listed = ", ".join(f"`{each}`" for each in names)
        return error("unit-unknown", f"say which unit: there are {listed}")
    if names == [service_name(asked)]:
        folders = tuple(f"`{each.state_dir}`" for each in known)
        return error(
            "unit-unknown",
            f"`{asked}` has generations in several folders; give the folder",
            notes=folders,
        )
    similar = near(service_name(asked), names)
    hint = f"a similar one is there: `{similar}`" if similar else f"there are {', '.join(names)}"
    return error("unit-unknown", f"`{asked}` has no generations here", help=(hint,))


def service_in(one: Generation) -> Service | None:
    """What a generation's own plan says of its service; `None` where it cannot be read."""
    content = one.content().get(PLAN)
    plan = None if content is None else read_plan(content)
    service = service_of(plan, one.target) if isinstance(plan, WrittenPlan) else None
    return service if isinstance(service, Service) else None
