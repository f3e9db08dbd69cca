"""Texts that the engine's parser takes as they are, and that are read as something else only afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Argument
from compiler.rules import rule


_OPEN, _FLAG = "$", "-"
"""What a shell puts in before the server reads it is not judged, nor what the parser takes for a flag (`flag-smuggled`),
nor an empty word (`value-empty`)."""

_OBJECTS: Mapping[str, str] = {
    "json-model-override-args": "0.4.1",
    "model-loader-extra-config": "0.4.1",
    "preferred-sampling-params": "0.5.11",
}
"""Flags whose text is loaded as JSON behind the parser, with the first release that was read (0.4.1 to 0.5.23
configs/model_config.py and load_config.py, 0.5.11 server_args.py, `_handle_other_validations`); each is used as a table."""


@rule("flag-value", flags=_OBJECTS)
def objects_are_json(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A text that is no JSON object ends the server while it reads the model's config, or sets up the load."""
    given = given_by(plan)
    for name, first in _OBJECTS.items():
        value = given.value(name)
        wrong = None if value is None else _wrong(value)
        if wrong is None or not given.since(first):
            continue
        yield refusal(
            given,
            "flag-value",
            f"`--{name}` is no JSON object: {wrong}",
            at(given, where, name, text="this text"),
            because="the parser takes any text, and the server stops when it reads this one",
            help=(
                f"""write it as `{name} = '{{"key": "value"}}'`, with double quotes around words""",
            ),
        )


def _wrong(value: Argument) -> str | None:
    """What keeps a value from being a JSON object; nothing where it is one, or a variable is put into it."""
    import json  # noqa: PLC0415 - only where such a flag is given

    if not isinstance(value, str):
        return "expected text"
    if not value or _OPEN in value or value.startswith(_FLAG):
        return None
    try:
        found = json.loads(value)
    except json.JSONDecodeError as fault:
        return f"{fault.msg[:1].lower()}{fault.msg[1:]} at column {fault.colno}"
    except (RecursionError, ValueError):
        return "it nests too deep, or holds a number that is too long"
    return None if isinstance(found, dict) else "expected `{` and `}` around it"
