"""The words in front of a launch that run an image of Apptainer go in; its variables, and what is not carried come out.

apptainer.org, `apptainer exec`: the image has the caller's variables, memory, and network, unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import evolve

from compiler.adopt.container import Container, not_carried
from compiler.adopt.containervariables import VARIABLES, container_variables
from compiler.adopt.files import Files
from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Word
from compiler.adopt.mounts import CHANGING, mounts_of


_RUNTIMES = frozenset({"apptainer", "singularity"})
_VERBS = frozenset({"exec", "run"})
_WITH_VALUE = frozenset(
    {
        *("--env", "--env-file", "--bind", "-B", "--mount", "--home", "-H", "--pwd", "--cwd"),
        *("--overlay", "-o", "--workdir", "-W", "--scratch", "-S", "--network", "--network-args"),
        *("--dns", "--hostname", "--app", "--security", "--add-caps", "--drop-caps", "--memory"),
        *("--cpus", "--no-mount", "--apply-cgroups", "--fusemount", "--pem-path"),
    }
)
_CLOSING = frozenset({"--cleanenv", "-e", "--containall", "-C", "--compat"})
"""They keep the caller's variables out."""
_GPUS = frozenset({"--nv", "--nvccli", "--rocm"})


def read_apptainer(words: Sequence[Word], *, files: Files) -> Container | None:
    """The container of `apptainer exec`; `None` when a command runs none."""
    start = next(
        (
            at + 2
            for at, (word, verb) in enumerate(pairwise(words))
            if word.text.rpartition("/")[2] in _RUNTIMES and verb.text in _VERBS
        ),
        None,
    )
    if start is None:
        return None
    options, at = _options(words, start)
    if at >= len(words):
        return None
    # `-e` is another option here.
    told = [(name, value) for name, value, _ in options if name in VARIABLES - {"-e"}]
    variables = container_variables(told, files=files)
    return Container(
        inside=at + 1,
        image=words[at],
        form=Form.APPTAINER,
        environment=variables.told,
        passed=variables.passed,
        mounts=mounts_of((name, value) for name, value, _ in options),
        is_open=not any(name in _CLOSING for name, _, _ in options),
        changes=(
            *variables.changes,
            *_changes(options),
            not_carried(f"the image `{words[at].text}`", words[at]),
        ),
    )


def _options(words: Sequence[Word], at: int) -> tuple[list[tuple[str, Word | None, Word]], int]:
    options: list[tuple[str, Word | None, Word]] = []
    while at < len(words) and words[at].text.startswith("-"):
        word = words[at]
        name, equals, text = word.text.partition("=")
        value = evolve(word, text=text) if equals else None
        at += 1
        if value is None and name in _WITH_VALUE:
            value = words[at] if at < len(words) else None
            at += 1
        options.append((name, value, word))
    return options, at


def _changes(options: Sequence[tuple[str, Word | None, Word]]) -> Iterator[Change]:
    for name, value, word in options:
        if name not in VARIABLES | _CLOSING | _GPUS:
            shown = name if value is None else f"{name} {value.text}"
            yield not_carried(f"`{shown}`", word, first=name in CHANGING)
