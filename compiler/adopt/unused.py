"""How a launch is read goes in, and the variables that are given for it; those that change nothing come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from compiler.adopt.reading import Read
from compiler.diagnostics import Diagnostic, warning


def unused_variables(
    read: Callable[[Mapping[str, str]], Read], given: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """`var-unused` for each variable without which the very same is read."""
    told = _told(read(given))
    for name in given:
        others = {each: value for each, value in given.items() if each != name}
        if told is not None and told == _told(read(others)):
            yield warning(
                "var-unused",
                f"`--var {name}=...` changes nothing",
                notes=(
                    "the launch does not use the variable, sets it for certain itself, or comes to the same value",
                ),
                help=(
                    "look for another spelling of its name; a value that the file itself sets is changed there",
                ),
            )


def _told(read: Read) -> object:
    """All that is read of a launch; `None` where there is not one."""
    if read.launch is None:
        return None
    command = read.launch.command
    return (
        [(word.text, word.unknown) for word in command.words],
        {name: (word.text, word.unknown) for name, word in command.environment.items()},
        [each.text for each in command.changes],
        [each.text for word in command.words for each in word.changes],
        [(each.path, each.value) for each in command.settings],
        command.image.text if command.image is not None else None,
        [each.summary for each in read.diagnostics],
    )
