"""A machine from a TOML text, for cases: it has what a profile needs of it, but for what the text says.

```toml
gpus = ["NVIDIA RTX A4000", "NVIDIA GeForce RTX 3090"]   # in order; those of the profile when not said
memory_gib = 512
shared_memory_mib = 1024        # free in /dev/shm
programs = ["/usr/bin/ninja"]   # the compiler and the builder of kernels, where they are
missing_modules = ["deep_ep"]   # that the engine's Python does not find

[ports]
30000 = "python3"               # who listens already
```
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Collection, Mapping
from ipaddress import IPv4Address
from pathlib import Path, PurePosixPath

from attrs import field, frozen

from compiler.host.ports import Listener
from compiler.host.preflight import Preflight, preflight
from compiler.host.preflight_probe import Account, Entry, Gpu, Untold
from compiler.host.units import Scope
from compiler.judged import Checked
from compiler.pipeline import render_checked
from compiler.tree import OutTree
from compiler.value import Value
from compiler.writtenplan import WrittenFacts, WrittenPlan, read_plan


PROGRAMS = ("/usr/local/cuda/bin/nvcc", "/usr/bin/ninja")


@frozen(kw_only=True, eq=False, repr=False)
class Machine(Value):
    """A host that has what it is asked for, unless told otherwise."""

    names: tuple[str, ...]
    memory_gib: int = 1024
    shared_memory_mib: int = 65_536
    programs: tuple[str, ...] = PROGRAMS
    missing_modules: tuple[str, ...] = ()
    ports: Mapping[int, str] = field(factory=dict)
    release: str | None = None

    def account(self, name: str | None) -> Account | None:
        """Anybody."""
        return Account(name=name or "root", uid=990, gids=frozenset({990}))

    def trail(self, path: str) -> tuple[Entry, ...] | Untold | None:
        """Any path that is not a program's, and the programs that there are."""
        if PurePosixPath(path).name in {"nvcc", "ninja"} and path not in self.programs:
            return None
        kind = stat.S_IFREG if "/bin/" in path else stat.S_IFDIR
        return (Entry(path=path, mode=kind | 0o755, uid=0, gid=0),)

    def others_in_group(self, gid: int, *, uid: int) -> tuple[str, ...]:
        """Nobody."""
        del gid, uid
        return ()

    def gpus(self) -> tuple[Gpu, ...] | Untold | None:
        """As named."""
        return tuple(
            Gpu(index=number, uuid=f"GPU-{number}", name=name)
            for number, name in enumerate(self.names)
        )

    def listeners(self, port: int) -> tuple[Listener, ...] | Untold:
        """Who is said to listen."""
        program = self.ports.get(port)
        if program is None:
            return ()
        return (Listener(address=IPv4Address("0.0.0.0"), pid=1234, program=program),)

    def memlock_bytes(self, scope: Scope) -> int | Untold | None:
        """No limit."""
        del scope
        return None

    def shared_memory_bytes(self) -> int | Untold:
        """As given."""
        return self.shared_memory_mib << 20

    def free_disk_bytes(self, path: str) -> int | Untold:
        """Enough."""
        del path
        return 1 << 40

    def memory_bytes(self) -> int | Untold:
        """As given."""
        return self.memory_gib << 30

    def lacking(
        self,
        python: str,
        modules: Collection[str],
        *,
        account: Account | None,
        environment: Mapping[str, str],
    ) -> tuple[str, ...] | Untold:
        """Those that are missing."""
        del python, account, environment
        return tuple(each for each in modules if each in self.missing_modules)

    def installed(
        self, python: str, package: str, *, account: Account | None, environment: Mapping[str, str]
    ) -> str | Untold:
        """As given."""
        del account, environment
        return self.release or Untold(why=f"`{python}` knows no installed package `{package}`")


def machine(text: str, *, gpus: tuple[str, ...], release: str) -> Machine:
    """The machine of a TOML text; `gpus` are there when it names none, and the engine's `release`."""
    said = tomllib.loads(text)
    return Machine(
        names=tuple(said.get("gpus", gpus)),
        memory_gib=said.get("memory_gib", 1024),
        shared_memory_mib=said.get("shared_memory_mib", 65_536),
        programs=tuple(said.get("programs", PROGRAMS)),
        missing_modules=tuple(said.get("missing_modules", ())),
        release=said.get("release", release),
        ports={int(port): name for port, name in said.get("ports", {}).items()},
    )


def look_over(
    checked: Checked, text: str, folder: Path, *, scope: Scope = Scope.SYSTEM
) -> Preflight:
    """What `switch` would find on a machine before it installs the one target of a checked profile, rendered below a folder."""
    tree = render_checked(checked)
    assert isinstance(tree, OutTree), tree
    for each in tree.files.values():
        path = folder / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each.text, "utf-8")
    (unit,) = folder.rglob("*.service")
    plan = read_plan((unit.parent.parent / "plan.json").read_bytes())
    assert isinstance(plan, WrittenPlan)
    assert isinstance(plan.facts, WrittenFacts)
    names = (plan.facts.gpus.names or ())[:1] * plan.facts.gpus.count
    return preflight(
        plan,
        unit.parent,
        scope=scope,
        probe=machine(text, gpus=names, release=plan.facts.engine.version),
    )
