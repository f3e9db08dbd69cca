"""Who listens on a TCP port of this host, read from /proc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from attrs import frozen

from compiler.value import Value


_LISTEN: Final = "0A"  # TCP_LISTEN of proc(5)
_WORD: Final = 8  # hexadecimal digits of 32 bits
_UNIT: Final = re.compile(r"/([^/]+\.(?:service|scope|socket))(?:/|$)")


@frozen(kw_only=True, eq=False, repr=False)
class Listener(Value):
    """Something that listens.

    Attributes:
        address: where; unspecified when on every address.
        unit: the unit it belongs to; `None` when it belongs to none, or that cannot be seen.
        pid: its process; `None` when it cannot be seen, because it is another user's.
        program: what it calls itself.
    """

    address: IPv4Address | IPv6Address
    unit: str | None = None
    pid: int | None = None
    program: str = ""


def listeners(port: int, *, proc: Path) -> tuple[Listener, ...]:
    """What listens on a port.

    Raises:
        OSError: when the kernel's tables cannot be read.
    """
    sockets = dict(_sockets((proc / "net/tcp").read_text("utf-8"), port=port))
    if (proc / "net/tcp6").exists():
        sockets |= dict(_sockets((proc / "net/tcp6").read_text("utf-8"), port=port))
    if not sockets:
        return ()
    owners = dict(_owners(proc, set(sockets)))
    return tuple(
        _listener(proc, address, pid=owners.get(inode)) for inode, address in sockets.items()
    )


def _sockets(table: str, *, port: int) -> Iterator[tuple[str, IPv4Address | IPv6Address]]:
    """The listening sockets of a table: inode -> address."""
    for line in table.split("\n")[1:]:
        words = line.split()
        if len(words) > 9 and words[3] == _LISTEN:  # noqa: PLR2004 - the inode is the tenth
            address, _, number = words[1].partition(":")
            if int(number, 16) == port:
                yield words[9], _address(address)


def _address(text: str) -> IPv4Address | IPv6Address:
    """An address as proc(5) has it: words of 32 bits, each with its bytes in the order of this host."""
    words = [text[at : at + _WORD] for at in range(0, len(text), _WORD)]
    packed = b"".join(int(word, 16).to_bytes(4, "little") for word in words)
    return ip_address(packed)


def _owners(proc: Path, inodes: set[str]) -> Iterator[tuple[str, int]]:
    """The processes that hold these sockets, as far as they can be seen."""
    for process in proc.iterdir():
        if not process.name.isdecimal():
            continue
        try:
            links = [each.readlink().name for each in (process / "fd").iterdir()]
        except OSError:
            continue
        for link in links:
            inode = link.removeprefix("socket:[").removesuffix("]")
            if inode in inodes:
                yield inode, int(process.name)


def _listener(proc: Path, address: IPv4Address | IPv6Address, *, pid: int | None) -> Listener:
    if pid is None:
        return Listener(address=address)
    try:
        cgroup = (proc / str(pid) / "cgroup").read_text("utf-8", "replace")
        program = (proc / str(pid) / "comm").read_text("utf-8", "replace").strip()
    except OSError:
        return Listener(address=address, pid=pid)
    units = _UNIT.findall(cgroup.strip().rpartition("\n")[2])
    return Listener(address=address, pid=pid, program=program, unit=units[-1] if units else None)
