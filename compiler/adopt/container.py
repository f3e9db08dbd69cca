"""The words in front of a launch that run a container go in; its image, its variables, and what is not carried come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from compiler.adopt.containervariables import VARIABLES, container_variables
from compiler.adopt.devices import VISIBLE_INSIDE, all_of, devices_of
from compiler.adopt.files import NO_FILES, Files
from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Devices, Mount, Port, Word
from compiler.adopt.limits import option_in_unit
from compiler.adopt.mounts import CHANGING, mounts_of
from compiler.adopt.ports import is_hosts_network, ports_of_options, published
from compiler.adopt.sharedmemory import shared_memory
from compiler.diagnostics import Diagnostic
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


_RUNTIMES = frozenset({"docker", "podman", "nerdctl"})
_VERBS = frozenset({"run", "create"})
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
_OPTIONS_BY_NAME = re.compile(r"args|opts|options|flags|env|mounts|volumes|gpus", re.IGNORECASE)
"""What a variable is called that holds options, and no image."""


@frozen(kw_only=True, eq=False, repr=False)
class Container(Value):
    """What runs a container.

    Attributes:
        inside: the index of the first word that is run in it.
        entrypoint: what runs these words, where it is not the image's own.
        passed: the variables of the caller that it is told to pass on.
        is_open: whether it gets all of the caller's variables.
    """

    inside: int
    image: Word
    entrypoint: Word | None = None
    environment: Mapping[str, Word] = field(factory=dict)
    passed: tuple[str, ...] = ()
    is_open: bool = False
    changes: tuple[Change, ...] = ()
    devices: Devices | None = None
    mounts: tuple[Mount, ...] = ()
    form: Form = Form.DOCKER
    ports: tuple[Port, ...] = ()
    is_hosts_network: bool = False
    findings: tuple[Diagnostic, ...] = ()


def read_container(words: Sequence[Word], *, files: Files = NO_FILES) -> Container | None:
    """The container that a command runs; `None` when it runs none. `files` are those that `--env-file` names."""
    start = _run(words)
    if start is None:
        return None
    placed, at = _options(words, start)
    if at >= len(words):
        return None
    options = [(name, value) for name, value, _ in placed]
    variables = container_variables(options, files=files)
    return Container(
        inside=at + 1,
        image=words[at],
        entrypoint=next((value for name, value in options if name == _ENTRYPOINT), None),
        environment=variables.told,
        passed=variables.passed,
        devices=container_devices(options, variables.told),
        mounts=mounts_of(options),
        ports=ports_of_options(options),
        is_hosts_network=is_hosts_network(options),
        findings=shared_memory(
            ((name, value.text if value is not None else "") for name, value in options),
            span=words[at].span,
            form=Form.DOCKER,
        ),
        changes=(
            *published(options),
            *variables.changes,
            *_changes(placed),
            not_carried(f"the image `{words[at].text}`", words[at]),
        ),
    )


def container_devices(
    told: Iterable[tuple[str, Word | None]], environment: Mapping[str, Word]
) -> Devices | None:
    """The GPUs that options give a container, or else the variable of the NVIDIA runtime."""
    asked = (devices_of(name, value) for name, value in told if value is not None)
    found = all_of(each for each in asked if each is not None)
    visible = environment.get(VISIBLE_INSIDE)
    return found or (devices_of(VISIBLE_INSIDE, visible) if visible is not None else None)


def not_carried(what: str, word: Word | None, *, first: bool = False) -> Change:
    """What a container has, and a service of the host has not; `first` where the server is another without."""
    span = word.span if word is not None else None
    return Change(
        kind=ChangeKind.DROPPED,
        text=f"{what} is not carried: the engine is started on the host itself",
        span=span,
        first=first,
        brief=what,
    )


def _run(words: Sequence[Word]) -> int | None:
    """The index behind `docker run`."""
    for at, word in enumerate(words[:-1]):
        if word.text.rpartition("/")[2] in _RUNTIMES:
            behind = at + 1
            if words[behind].text == "container" and behind + 1 < len(words):
                behind += 1
            return behind + 1 if words[behind].text in _VERBS else None
    return None


def container_options(words: Sequence[Word]) -> list[tuple[str, Word | None]]:
    """The options of `podman run` that stand alone, as in `PodmanArgs=`."""
    return [(name, value) for name, value, _ in _options(words, 0)[0]]


def _options(words: Sequence[Word], at: int) -> tuple[list[tuple[str, Word | None, Word]], int]:
    """The options with their values and where they stand, and the index of the image."""
    options: list[tuple[str, Word | None, Word]] = []
    while at < len(words) and (words[at].text.startswith("-") or _is_more(words, at)):
        word = words[at]
        at += 1
        if word.text == "--":
            break
        if not word.text.startswith("-"):
            options.append((word.text, None, word))
            continue
        name, value = _long(word) if word.text.startswith("--") else _short(word)
        if value is None and not _is_switch(name):
            value = words[at] if at < len(words) else None
            at += 1
        options.append((name, value, word))
    return options, at


def _is_more(words: Sequence[Word], at: int) -> bool:
    """Whether a word stands for options that are known at the start only: a list, or what has an option behind it."""
    word = words[at]
    if not word.unknown or at + 1 >= len(words) or word.text not in word.unknown:
        return False
    is_named_so = _OPTIONS_BY_NAME.search(word.text) is not None
    return word.text.endswith("[@]}") or (is_named_so and words[at + 1].text.startswith("-"))


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


def _changes(options: Sequence[tuple[str, Word | None, Word]]) -> Iterator[Change]:
    for name, value, word in options:
        if name in VARIABLES or name in _PASSING or name == _ENTRYPOINT:
            continue
        if not name.startswith("--") and name.startswith("-") and _is_switch(name):
            continue
        if value is not None and (
            devices_of(name, value) is not None or option_in_unit(name, value.text)
        ):
            continue
        what = f"`{name} {value.text}`" if value is not None else f"`{name}`"
        yield not_carried(what, value if value is not None else word, first=name in CHANGING)
