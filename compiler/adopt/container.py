"""The words in front of a launch that run a container go in; its image, its variables, and what is not carried come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from compiler.adopt.devices import VISIBLE_INSIDE, all_of, devices_of
from compiler.adopt.launch import Change, Devices, Word
from compiler.adopt.sharedmemory import shared_memory
from compiler.diagnostics import Diagnostic
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


_RUNTIMES = frozenset({"docker", "podman", "nerdctl"})
# Options of `docker run` and `podman run` that take no value (docs.docker.com, docs.podman.io).
_SWITCHES = frozenset(
    {
        "--rm",
        "--detach",
        "--interactive",
        "--tty",
        "--init",
        "--privileged",
        "--read-only",
        "--publish-all",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--sig-proxy",
        "--disable-content-trust",
        "--replace",
        "--quiet",
        "--no-hosts",
        "--env-host",
        "--rmi",
        "--tls-verify",
    }
)
_SHORT_SWITCHES = frozenset("ditPq")
_PASSING = frozenset(
    {"--rm", "--detach", "--interactive", "--tty", "--init", "--name", "--sig-proxy", "--replace"}
)
"""What has no meaning for a service of systemd."""
_ENTRYPOINT = "--entrypoint"
_ENVIRONMENT = frozenset({"-e", "--env"})


@frozen(kw_only=True, eq=False, repr=False)
class Container(Value):
    """What runs a container.

    Attributes:
        inside: the index of the first word that is run in it.
        entrypoint: what runs these words, where it is not the image's own.
    """

    inside: int
    image: Word
    entrypoint: Word | None = None
    environment: Mapping[str, Word] = field(factory=dict)
    changes: tuple[Change, ...] = ()
    devices: Devices | None = None
    findings: tuple[Diagnostic, ...] = ()


def read_container(words: Sequence[Word]) -> Container | None:
    """The container that a command runs; `None` when it runs none."""
    start = _run(words)
    if start is None:
        return None
    options, at = _options(words, start)
    if at >= len(words):
        return None
    environment: dict[str, Word] = {}
    for name, value in options:
        if name in _ENVIRONMENT and value is not None:
            variable, equals, text = value.text.partition("=")
            told = Word(text=text, span=value.span, unknown=value.unknown, changes=value.changes)
            # Without a value the caller's own variable is passed on.
            environment[variable] = (
                told if equals else Word(text=f"${variable}", span=value.span, unknown=(variable,))
            )
    return Container(
        inside=at + 1,
        image=words[at],
        entrypoint=next((value for name, value in options if name == _ENTRYPOINT), None),
        environment=environment,
        devices=container_devices(options, environment),
        findings=shared_memory(
            ((name, value.text if value is not None else "") for name, value in options),
            span=words[at].span,
        ),
        changes=(*_changes(options), not_carried(f"the image `{words[at].text}`", words[at])),
    )


def container_devices(
    told: Iterable[tuple[str, Word | None]], environment: Mapping[str, Word]
) -> Devices | None:
    """The GPUs that options give a container, or else the variable of the NVIDIA runtime."""
    asked = (devices_of(name, value) for name, value in told if value is not None)
    found = all_of(each for each in asked if each is not None)
    visible = environment.get(VISIBLE_INSIDE)
    return found or (devices_of(VISIBLE_INSIDE, visible) if visible is not None else None)


def not_carried(what: str, word: Word | None) -> Change:
    """What a container has, and a service of the host has not."""
    span = word.span if word is not None else None
    return Change(
        kind=ChangeKind.DROPPED,
        text=f"{what} is not carried: the engine is started on the host itself",
        span=span,
    )


def _run(words: Sequence[Word]) -> int | None:
    """The index behind `docker run`."""
    for at, word in enumerate(words[:-1]):
        if word.text.rpartition("/")[2] in _RUNTIMES:
            behind = at + 1
            if words[behind].text == "container" and behind + 1 < len(words):
                behind += 1
            return behind + 1 if words[behind].text == "run" else None
    return None


def container_options(words: Sequence[Word]) -> list[tuple[str, Word | None]]:
    """The options of `podman run` that stand alone, as in `PodmanArgs=`."""
    return _options(words, 0)[0]


def _options(words: Sequence[Word], at: int) -> tuple[list[tuple[str, Word | None]], int]:
    """The options with their values, and the index of the image."""
    options: list[tuple[str, Word | None]] = []
    while at < len(words) and words[at].text.startswith("-"):
        word = words[at]
        at += 1
        if word.text == "--":
            break
        name, value = _long(word) if word.text.startswith("--") else _short(word)
        if value is None and not _is_switch(name):
            value = words[at] if at < len(words) else None
            at += 1
        options.append((name, value))
    return options, at


def _long(word: Word) -> tuple[str, Word | None]:
    name, equals, text = word.text.partition("=")
    return name, evolve(word, text=text) if equals else None


def _short(word: Word) -> tuple[str, Word | None]:
    """Several switches may stand in one word, and before one option with its value: `-itp 80:80`, `-eA=1`."""
    letters = word.text[1:].lstrip("".join(_SHORT_SWITCHES))
    if not letters:
        return word.text, None
    text = letters[1:].removeprefix("=")
    return f"-{letters[0]}", evolve(word, text=text) if len(letters) > 1 else None


def _is_switch(name: str) -> bool:
    return name in _SWITCHES or (not name.startswith("--") and set(name[1:]) <= _SHORT_SWITCHES)


def _changes(options: Sequence[tuple[str, Word | None]]) -> Iterator[Change]:
    for name, value in options:
        if name in _ENVIRONMENT or name in _PASSING or name == _ENTRYPOINT:
            continue
        if not name.startswith("--") and _is_switch(name):
            continue
        if value is not None and devices_of(name, value) is not None:
            continue
        yield not_carried(f"`{name} {value.text}`" if value is not None else f"`{name}`", value)
