"""What a compiled target needs of its host, read from its plan.json, its unit, and its environment file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from compiler.engines.observers import observer_of
from compiler.engines.observing import HostNeeds
from compiler.host.units import service_name
from compiler.quoting.shellfile import read_env_file
from compiler.quoting.unitfile import Unit, read_unit
from compiler.quoting.unitvalue import read_command_line, read_text
from compiler.value import Value
from compiler.writtenplan import WrittenFacts, WrittenTarget


_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_POOL: Final = "KV pool"


@frozen(kw_only=True, eq=False, repr=False)
class Needs(Value):
    """What the host must have.

    Attributes:
        unit: whole name.
        user: who the service runs as; `None` for the manager's own user.
        python: the engine's interpreter.
        models: setting -> path or public name.
        secrets: files that only the service may read.
        address: where the server listens; `None` when its engine is unknown.
        gpu_kind: catalogue id.
        gpu_names: what the driver may call them; empty where nobody described the kind.
        visible: the GPUs it may see, as `CUDA_VISIBLE_DEVICES` lists them; `None` for all.
        locks_memory: whether the unit asks for unlimited locked memory.
        state_dir: where its generations are.
        size: of its files, bytes.
        environment: what its environment file sets.
        engine: what the engine itself asks of the host; nothing where the engine is unknown.
        version: the release that the plan is for; `None` for a private build, whose own number nobody knows.
        pool_bytes: the least that the plan expects of the pool on one GPU; `None` where memory was not worked out.
    """

    unit: str
    user: str | None
    python: str
    models: Mapping[str, str]
    secrets: tuple[str, ...]
    address: tuple[str, int] | None
    gpu_kind: str
    gpu_names: tuple[str, ...]
    gpu_count: int
    visible: tuple[str, ...] | None
    locks_memory: bool
    state_dir: str
    size: int
    environment: Mapping[str, str]
    engine: HostNeeds
    version: str | None
    pool_bytes: int | None


def read_needs(facts: WrittenFacts, target: WrittenTarget, folder: Path) -> Needs:
    """What the target in a folder needs; `facts` and `target` are of the profile's plan.json.

    Raises:
        OSError: when a file cannot be read.
        LookupError: when the tree is not as a compile writes it.
        ValueError: likewise.
    """
    name = service_name(target.unit)
    unit = read_unit((folder / name).read_text("utf-8", "surrogateescape"))
    argv = _words(unit, "ExecStart")
    observer = observer_of(facts.engine.name)
    secret = None if observer is None else observer.secret_file(argv)
    users = unit.values("Service", key="User")
    limits = unit.values("Service", key="LimitMEMLOCK")
    environment = _environment(folder / f"{name.removesuffix('.service')}.env")
    return Needs(
        unit=name,
        user=read_text(users[-1]).text if users else None,
        python=argv[0],
        models={} if observer is None else dict(observer.folders(argv)),
        secrets=() if secret is None else (secret,),
        address=None if observer is None else observer.address(argv),
        gpu_kind=facts.gpus.kind,
        gpu_names=_names_of(facts.gpus.kind) if facts.gpus.names is None else facts.gpus.names,
        gpu_count=facts.gpus.count,
        visible=_visible(environment),
        locks_memory=limits[-1:] == ("infinity",),
        state_dir=target.state_dir,
        size=sum(each.stat().st_size for each in folder.iterdir()),
        environment=environment,
        engine=HostNeeds()
        if observer is None
        else observer.host_needs(argv, version=facts.engine.version),
        version=None if facts.engine.build else facts.engine.version,
        pool_bytes=_pool_bytes(facts),
    )


def _words(unit: Unit, key: str) -> tuple[str, ...]:
    """The words of the one command of a setting; `LookupError` without one."""
    return read_command_line(unit.values("Service", key=key)[-1]).commands[0].argv


def _names_of(kind: str) -> tuple[str, ...]:
    """As the shipped catalogue knows them."""
    from compiler.catalog import open_catalog  # noqa: PLC0415 - for a plan of an older Poolproof only

    known, _ = open_catalog().gpu(kind)
    return () if known is None else known.names


def _environment(file: Path) -> Mapping[str, str]:
    if not file.is_file():
        return {}
    return read_env_file(file.read_text("utf-8", "surrogateescape")).values


def _visible(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    if _VISIBLE not in environment:
        return None
    return tuple(each.strip() for each in environment[_VISIBLE].split(",") if each.strip())


def _pool_bytes(facts: WrittenFacts) -> int | None:
    pools = [gib.low for item, gib in facts.static if item == _POOL]
    return int(max(0.0, sum(pools)) * 2**30) if pools else None
