"""The catalogue: ids in, facts out. A file is read when it is first asked for, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import AttrsInstance, field, frozen

from compiler.catalog.customcode import CustomCode, read_custom_code, with_code
from compiler.catalog.entries import read_entry
from compiler.catalog.flags import FlagTable, flag_table, read_flags
from compiler.catalog.recorded import (
    OWN,
    PUBLIC,
    own_boots,
    public_boots,
    public_file,
    public_models,
)
from compiler.catalog.series import SERIES, Series, read_series
from compiler.catalog.shelves import (
    CATALOGUE_INVALID,
    EntryFile,
    Kind,
    Reader,
    Shelf,
    boot_shelf,
    file_stem,
    id_of,
    shipped_shelf,
    team_shelf,
    whole_file,
)
from compiler.catalog.standing import as_draft
from compiler.diagnostics import Diagnostic, Label, warning
from compiler.facts import Boot, Build, Draft, Gpu, Model, Release
from compiler.source import Source
from compiler.value import Value
from compiler.versions import version_key


if TYPE_CHECKING:
    # Most names that are asked for have an entry.
    from compiler.catalog.variants import Variants


T = TypeVar("T")
E = TypeVar("E", bound=AttrsInstance)
Found = tuple[T | None, tuple[Diagnostic, ...]]
"""A fact, or `None` for what nobody described; and what is wrong with its file."""


@frozen(kw_only=True, eq=False, repr=False)
class Catalog(Value):
    """What is known.

    A team's entry counts before a shipped one of the same id, also when it is broken. Asked again, a lookup gives the
    same diagnostics again. Errors: `catalogue-invalid`, and `boot-invalid` for a recorded boot.

    Attributes:
        shelves: where entries are looked for, the first that has one counts.
        boot_shelf: where recorded boots are.
    """

    shelves: tuple[Shelf, ...]
    boot_shelf: Shelf | None = None
    _known: dict[tuple[str, ...], Found[Any]] = field(
        factory=dict, init=False, eq=False, repr=False
    )

    def gpu(self, id_: str) -> Found[Gpu]:
        """A kind of GPU."""
        return self._entry(Kind.GPU, id_, Gpu)

    def model(self, id_: str) -> Found[Model]:
        """A model: of its own entry, or of that of a model whose shapes it has for sure."""
        found, faults = self._entry(Kind.MODEL, id_, Model)
        if found is not None or faults:
            return self._once(("code", id_), lambda: (with_code(found, self._code), faults))
        return self._once(("variant", id_), lambda: (self._variant(id_), ()))

    def draft(self, id_: str) -> Found[Draft]:
        """A draft model, or a whole model that drafts by itself."""
        entry = self._entry(Kind.DRAFT, id_, Draft)
        return entry if any(entry) else (as_draft(self.model(id_)[0]), ())

    def release(self, engine: str, version: str, build: str | None = None) -> Found[Release]:
        """A release of an engine, with the overlay of a build.

        For a release that was not read the nearest lower one stands in (`read_version`); below the lowest there is
        none. `build` is `None` in the answer when nobody described it or its file is broken; when it was described for
        another release there is the warning `build-other-release`.
        """
        key = ("release", engine, version, *(() if build is None else (build,)))
        return self._once(key, lambda: self._release(engine, version, build))

    def _release(self, engine: str, version: str, build: str | None) -> Found[Release]:
        read_version = self._nearest(engine, version)
        if read_version is None:
            return None, ()
        table, faults = self._flags(engine, read_version)
        folder = _builds(engine)
        overlay, overlay_faults = self._entry(folder, build, Build) if build else (None, ())
        faults = (*faults, *overlay_faults)
        if table is None:
            return None, faults
        if overlay is not None:
            table = flag_table(table.flags.changed(overlay.flags, without=overlay.removed))
            if overlay.release != version:
                faults = (*faults, self._other_release(engine, version, overlay))
        release = Release(
            engine=engine,
            version=version,
            read_version=read_version,
            flags=table.flags,
            aliases=table.aliases,
            build=overlay,
        )
        return release, faults

    def boots(self) -> tuple[tuple[Boot, ...], tuple[Diagnostic, ...]]:
        """A team's recorded boots, by name; those whose file is broken are left out."""
        boots, faults = self._once(("boots",), lambda: own_boots(self.boot_shelf))
        return boots or (), faults

    def public_boots(self, model: str) -> tuple[Boot, ...]:
        """The shipped boots of a model, by name: starts that somebody else published."""
        key = ("public", model)
        return self._once(key, lambda: (tuple(public_boots(self.shelves, model)), ()))[0] or ()

    def public_models(self) -> tuple[str, ...]:
        """The models that there are shipped boots of, sorted."""
        return public_models(self.shelves)

    def ids(self, kind: Kind) -> tuple[str, ...]:
        """The ids of a kind, sorted."""
        return tuple(id_of(stem) for stem in self._stems(kind))

    def engines(self) -> tuple[str, ...]:
        """The engines there is anything about, sorted."""
        return self._stems("engines", suffix="")

    def versions(self, engine: str) -> tuple[str, ...]:
        """The releases of an engine that were read, the oldest first."""
        known: set[str] = set()
        for shelf in self.shelves:
            stems, _ = shelf.stems(_engine(engine), suffix=".json")
            series, _ = self._series(engine, shelf) if SERIES in stems else (None, ())
            known.update(stems, series.releases if series else ())
        return tuple(sorted(known - {SERIES}, key=_release_order))

    def builds(self, engine: str) -> tuple[str, ...]:
        """The builds of an engine, sorted."""
        return tuple(id_of(stem) for stem in self._stems(_builds(engine)))

    def variant_id(self, id_: str) -> str | None:
        """The id of a name without an entry that says whose shapes and number formats it has; a folder is no publisher."""
        published = id_.rpartition("/")[0].lower() in {"", *self._variants().publishers}
        found = self.model(id_)[0] if published else None
        return None if found is None else found.id

    def near(self, kind: Kind, id_: str) -> str | None:
        """A known id that somebody who wrote this one may have meant, or of the model that it may be made from."""
        from compiler.catalog.variants import near_id  # noqa: PLC0415 - as said above

        return near_id(id_, kind, self.ids, self.variant_id)

    def source(self, shown: str) -> Source | None:
        """The text of a file by its name in diagnostics, for messages to quote; `None` for a file not of ours."""
        shelves = (*self.shelves, *([self.boot_shelf] if self.boot_shelf else []))
        return next(filter(None, (each.source(shown) for each in shelves)), None)

    def entry_file(self, kind: Kind, id_: str) -> EntryFile | None:
        """The file of an entry as it stands, to be shown; `None` when there is none, or it cannot be read."""
        stem = file_stem(id_)
        return None if stem is None else self._open(f"{kind}/{stem}.toml")[0]

    def build_file(self, engine: str, id_: str) -> EntryFile | None:
        """The file of a build as it stands; as `entry_file`."""
        stem = file_stem(id_)
        return None if stem is None else self._open(f"{_builds(engine)}/{stem}.toml")[0]

    def boot_file(self, name: str) -> EntryFile | None:
        """The file of a recorded boot, by its name (`boots/ct200-0.85`, or one that begins with `public/`)."""
        if name.startswith(PUBLIC):
            return public_file(self.shelves, name)
        stem = file_stem(name.removeprefix(OWN))
        if stem is None or self.boot_shelf is None:
            return None
        return self.boot_shelf.open(f"{stem}.toml")[0]

    def _once(self, key: tuple[str, ...], read: Callable[[], Found[T]]) -> Found[T]:
        if key not in self._known:
            self._known[key] = read()
        return self._known[key]

    def _entry(self, folder: str, id_: str, cls: type[E]) -> Found[E]:
        def read() -> Found[E]:
            stem = file_stem(id_)
            file, faults = self._open(f"{folder}/{stem}.toml") if stem is not None else (None, ())
            if file is None:
                return None, faults
            given = {"shipped": file.shipped}
            return read_entry(file, cls, id_=id_, given=given, code=CATALOGUE_INVALID)

        return self._once((folder, id_), read)

    def _variant(self, id_: str) -> Model | None:
        from compiler.catalog.variants import ends, variant  # noqa: PLC0415 - as said above

        last, known = ends(self.ids(Kind.MODEL)), self._variants()
        return variant(id_, known, last=last, model=lambda each: self.model(each)[0])

    def _code(self) -> CustomCode | None:
        return self._once(("custom code",), lambda: (read_custom_code(self.shelves), ()))[0]

    def _variants(self) -> Variants:
        from compiler.catalog.variants import Variants, read_variants  # noqa: PLC0415 - as said above

        return self._once(("variants",), lambda: (read_variants(self.shelves), ()))[0] or Variants()

    def _other_release(self, engine: str, version: str, build: Build) -> Diagnostic:
        file, _ = self._open(f"{_builds(engine)}/{file_stem(build.id)}.toml")
        wanted = f"{engine} {build.release}"
        return warning(
            "build-other-release",
            f"the build `{build.id}` is described for {wanted}, not for {engine} {version}",
            None if file is None else Label(whole_file(file.shown), "described here"),
            notes=("its flags and rules are taken to be the same",),
            path="engine.build",
        )

    def _flags(self, engine: str, version: str) -> Found[FlagTable]:
        """The table of a release that was read, from the first shelf that has it by itself or among others."""

        def read() -> Found[FlagTable]:
            for shelf in self.shelves:
                file, faults = shelf.open(f"{_engine(engine)}/{version}.json")
                if file is not None:
                    return read_flags(file, engine=engine, version=version)
                series, found = self._series(engine, shelf) if not faults else (None, ())
                if faults or found:
                    return None, (*faults, *found)
                if series is not None and version in series.releases:
                    return series.table(version), ()
            return None, ()

        return self._once(("flags", engine, version), read)

    def _series(self, engine: str, shelf: Shelf) -> Found[Series]:
        def read() -> Found[Series]:
            file, faults = shelf.open(f"{_engine(engine)}/{SERIES}.json")
            return read_series(file, engine=engine) if file is not None else (None, faults)

        return self._once(("series", engine, shelf.shown), read)

    def _nearest(self, engine: str, version: str) -> str | None:
        """The release that was read and is the same, or the highest below."""
        versions = self.versions(engine) if file_stem(engine) == engine else ()
        if version in versions:
            return version
        wanted = version_key(version)
        lower = [
            each
            for each in versions
            if wanted is not None and (key := version_key(each)) is not None and key <= wanted
        ]
        return lower[-1] if lower else None

    def _open(self, name: str) -> Found[EntryFile]:
        opened = (shelf.open(name) for shelf in self.shelves)
        return next((each for each in opened if each[0] is not None or each[1]), (None, ()))

    def _stems(self, folder: str, *, suffix: str = ".toml") -> tuple[str, ...]:
        def read() -> Found[tuple[str, ...]]:
            several = (shelf.stems(folder, suffix=suffix)[0] for shelf in self.shelves)
            return tuple(sorted({stem for stems in several for stem in stems})), ()

        return self._once(("stems", folder, suffix), read)[0] or ()


def _engine(engine: str) -> str:
    return f"engines/{engine}"


def _builds(engine: str) -> str:
    return f"{_engine(engine)}/builds"


def _release_order(version: str) -> tuple[tuple[int, ...], int, int]:
    return version_key(version) or ((), 0, 0)


def open_catalog(profiles: Reader | None = None) -> Catalog:
    """The shipped catalogue, and a team's own when `profiles` reads below its folder `profiles`."""
    if profiles is None:
        return Catalog(shelves=(shipped_shelf(),))
    return Catalog(shelves=(team_shelf(profiles), shipped_shelf()), boot_shelf=boot_shelf(profiles))
