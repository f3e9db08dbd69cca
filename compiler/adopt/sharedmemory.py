"""What a container is told goes in; whether its processes can share memory comes out.

Docker and Podman give a container 64 MiB of `/dev/shm` where nothing else is said (docs.docker.com, docs.podman.io: `--shm-size`),
and the ranks of a server, NCCL, and the workers of a tokenizer exchange more than that.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.adopt.form import Form, memory_advice
from compiler.diagnostics import Diagnostic, Label, Span, warning


_OF_ITS_OWN = frozenset({"ipc", "ipc=private", "ipc=none", "ipc=shareable"})


def shared_memory(
    told: Iterable[tuple[str, str]], *, span: Span | None, form: Form
) -> tuple[Diagnostic, ...]:
    """A finding for a container whose shared memory is left as it is; `told` are its options with their values."""
    for name, value in told:
        key = name.lstrip("-").lower().replace("_", "").replace("-", "")
        if key == "shmsize" or "/dev/shm" in value:  # noqa: S108 - looked for in a text
            return ()
        if key == "ipc" and f"ipc={value}".lower() not in _OF_ITS_OWN:
            return ()
        if key == "podmanargs" and ("--shm-size" in value or "--ipc" in value):
            return ()
    return (
        warning(
            "container-shared-memory",
            "the container has 64 MiB of shared memory, which its processes outgrow",
            Label(span, "says nothing of it") if span is not None else None,
            notes=(
                "a rank that finds it full is killed by a bus error: `scheduler died during initialization (exit code: -7)`",
            ),
            help=(memory_advice(form),),
        ),
    )
