"""What stands beside a launch in its file goes in; what is lost with it comes out: names that only its surroundings resolve, and who calls it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import ip_address

from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Launch, Word
from compiler.engines.adopting import ChangeKind


_SCHEME = re.compile(r"[a-z][a-z0-9+.]*://(?:[^/\s@]*@)?")
_ADDRESS = re.compile(r"(?P<host>[A-Za-z][\w-]*(?:\.[\w-]+)*)(?::\d{2,5})?(?:/.*)?")
_CALLED = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+]{0,20}://)(?:[^\s/@]{0,200}@)?(?P<host>[\w.-]+)(?P<port>:\d{2,5})?"
    r"|(?<![\w./@:-])(?P<bare>[A-Za-z][\w.-]{0,100})(?P<number>:\d{2,5})(?!\w)"
)
_OWN = frozenset({"localhost", "host.docker.internal"})
_OF_CLUSTER = re.compile(r"\.svc(?:\.|$)")
_RESOLVES = {Form.POD: "the cluster", Form.COMPOSE: "Compose"}


def told_names(launch: Launch) -> Launch:
    """A launch with a word about each name of a host that is one in the file's own network only."""
    return launch.noting(*_unresolved(launch))


def _unresolved(launch: Launch) -> Iterator[Change]:
    command = launch.command
    where = _RESOLVES.get(command.form)
    if where is None:
        return
    behind = command.words[launch.found.arguments :]
    flag = ""
    for word in behind:
        name = word.text.partition("=")[0] if word.text.startswith("--") else flag
        value = word.text.partition("=")[2] if word.text.startswith("--") else word.text
        yield from _told(value, f"`{name} {value}`", word, command.names, where)
        flag = word.text if word.text.startswith("--") else ""
    for variable, word in command.environment.items():
        yield from _told(word.text, f"the variable `{variable}`", word, command.names, where)


def _told(text: str, what: str, word: Word, names: Collection[str], where: str) -> Iterator[Change]:
    host = host_of(text)
    if host is None or word.unknown:
        return
    labels = set(host.split("."))
    if not labels.isdisjoint(names) or _OF_CLUSTER.search(host):
        told = (
            f"{what}: `{host}` is a name that only {where} resolves: write the address of that host"
        )
        yield Change(kind=ChangeKind.UNKNOWN, text=told, span=word.span, first=True)


def host_of(text: str) -> str | None:
    """The host of an address with a scheme or a port, where it has a name; `None` for anything else."""
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme is not None else text
    if scheme is None and not re.fullmatch(r"[^/\s]+:\d{2,5}", text):
        return None
    found = _ADDRESS.fullmatch(rest)
    if found is None or found["host"] in _OWN or _is_number(found["host"]):
        return None
    return found["host"]


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def calls_in(texts: Iterable[tuple[str, Word]]) -> Mapping[str, tuple[Change, ...]]:
    """For each name of a host the words about the services that call it; `texts` are services with what they say."""
    found: dict[str, dict[tuple[str, str], Change]] = {}
    for caller, word in texts:
        for each in _CALLED.finditer(word.text):
            host = each["host"] or each["bare"]
            # Without what stands before the host, and behind the port: both may be secret.
            said = f"{each['scheme'] or ''}{host}{each['port'] or each['number'] or ''}"
            text = f"`{caller}` calls this one by `{said}`, a name that only Compose resolves: the server on the host is found by the host's own address, and its own port"
            change = Change(kind=ChangeKind.DROPPED, text=text, span=word.span, first=True)
            found.setdefault(host, {}).setdefault((caller, said), change)
    return {host: tuple(several.values()) for host, several in found.items()}
