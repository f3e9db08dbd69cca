"""A compiled target in `out/`: read, held against MANIFEST, and refused where it is not what a compile wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from compiler.diagnostics import Diagnostic, error
from compiler.host.service import REVIEW, Service, service_of
from compiler.near import near
from compiler.tree.disk import EntryKind, look, survey
from compiler.tree.locks import WAIT_S, locked
from compiler.tree.manifest import ManifestLine, parse_manifest
from compiler.tree.places import JOURNAL, MANIFEST, PENDING, path_fault
from compiler.tree.states import Version
from compiler.tree.troubles import busy
from compiler.value import Value
from compiler.writtenplan import PLAN, WrittenPlan, read_plan


@frozen(kw_only=True, eq=False, repr=False)
class Staged(Value):
    """One compiled target.

    Attributes:
        folder: `OUT/PROFILE/TARGET`.
        plan: what its plan.json says.
        files: everything that makes its generation, by name.
    """

    profile: str
    target: str
    folder: Path
    service: Service
    plan: WrittenPlan
    files: Mapping[str, Version] = field(repr=False)

    @property
    def source(self) -> str:
        """`PROFILE/TARGET`, the name it has in its generation."""
        return f"{self.profile}/{self.target}"

    def content(self) -> Mapping[str, bytes]:
        """Its files by name."""
        return {name: file.content for name, file in self.files.items()}


def read_staged(out: Path, profile: str, *, target: str | None) -> Staged | Diagnostic:
    """Read a target of a compiled tree; without a name, the only one.

    Errors: `staged-missing`, `staged-edited`, `staged-invalid`, `out-busy`.

    Raises:
        OSError: when `out/` cannot be read.
    """
    if path_fault(profile) is not None or not (out / profile).is_dir():
        return _no_profile(out, profile)
    with locked(out, exclusive=False, wait_s=WAIT_S) as is_held:
        return _read(out, profile, target=target) if is_held else busy(out)


def _read(out: Path, profile: str, *, target: str | None) -> Staged | Diagnostic:
    lines, faults = _read_manifest(out, profile)
    faults = faults or _compare(out, profile, lines)
    if faults:
        return _edited(out, profile, faults)
    found = {line.path.removeprefix(f"{profile}/"): look(out, line.path) for line in lines}
    versions = {name: each.version for name, each in found.items() if each.version is not None}
    plan = read_plan(versions[PLAN].content) if PLAN in versions else "it is missing"
    if isinstance(plan, str):
        return _invalid(profile, f"of its `{PLAN}`: {plan}")
    chosen = _choose(profile, sorted(plan.targets), target)
    if isinstance(chosen, Diagnostic):
        return chosen
    service = service_of(plan, chosen)
    own = {
        name.removeprefix(f"{chosen}/"): each
        for name, each in versions.items()
        if name in (PLAN, REVIEW) or name.startswith(f"{chosen}/")
    }
    if isinstance(service, str):
        return _invalid(f"{profile}/{chosen}", service)
    if service.unit not in own:
        return _invalid(f"{profile}/{chosen}", f"`{service.unit}` is not in it")
    return Staged(
        profile=profile,
        target=chosen,
        folder=out / profile / chosen,
        service=service,
        plan=plan,
        files=own,
    )


def _read_manifest(out: Path, profile: str) -> tuple[tuple[ManifestLine, ...], list[str]]:
    standing = look(out, MANIFEST)
    if standing.version is None:
        return (), [f"there is no {MANIFEST} in `{out.name}`"]
    parsed = parse_manifest(standing.version.content)
    faults = [f"{MANIFEST}: {each}" for each in parsed.faults]
    if look(out, f"{PENDING}/{JOURNAL}").kind is not EntryKind.ABSENT:
        faults.append("a compile was cut off in it")
    lines = tuple(line for line in parsed.lines if line.profile == profile)
    outside = [line.path for line in lines if not line.path.startswith(f"{profile}/")]
    faults += [f"{MANIFEST}: `{path}` is outside the folder of its profile" for path in outside]
    return lines, faults


def _compare(out: Path, profile: str, lines: tuple[ManifestLine, ...]) -> list[str]:
    faults = []
    for line in lines:
        standing = look(out, line.path)
        if standing.version is None:
            faults.append(f"`{line.path}` is missing, or no file")
        elif standing.version.identity != line.identity:
            faults.append(f"`{line.path}` was changed after it was compiled")
    listed = {line.path for line in lines}
    return faults + [
        f"`{path}` is there and not in {MANIFEST}"
        for path in survey(out, profile)
        if path not in listed
    ]


def _choose(profile: str, targets: list[str], target: str | None) -> str | Diagnostic:
    if target is None and len(targets) == 1:
        return targets[0]
    if target in targets:
        return target
    what = "has several targets; say which" if target is None else f"has no target `{target}`"
    several = ", ".join(f"`{profile}/{each}`" for each in targets)
    return error("staged-missing", f"`{profile}` {what}", notes=(f"there are {several}",))


def _no_profile(out: Path, profile: str) -> Diagnostic:
    if not out.is_dir():
        return error(
            "staged-missing",
            f"`{out}` is not there, so nothing compiled is",
            help=("say where with `--out DIR`, or compile first",),
        )
    known = sorted(each.name for each in out.iterdir() if (each / PLAN).is_file())
    similar = near(profile, known)
    names = ", ".join(f"`{each}`" for each in known) or "nothing"
    return error(
        "staged-missing",
        f"`{out.name}` holds no compiled `{profile}`",
        notes=(f"it holds {names}",),
        help=(f"a similar one is there: `{similar}`" if similar else "compile it first",),
    )


def _edited(out: Path, profile: str, faults: list[str]) -> Diagnostic:
    return error(
        "staged-edited",
        f"`{profile}` in `{out.name}` is not what a compile wrote, so it is not what was reviewed",
        notes=tuple(faults),
        help=(
            f"run `poolproof compile --overwrite {profile}`, which writes over what was edited, and review the difference",
        ),
    )


def _invalid(name: str, why: str) -> Diagnostic:
    return error("staged-invalid", f"`{name}` cannot be switched to: {why}")
