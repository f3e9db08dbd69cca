"""Texts that the engine's parser takes as they are, and that are read as something else only afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.overrides import FLAG as OVERRIDES
from compiler.engines.sglang.rules.places import at, refusal
from compiler.near import near
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Argument
from compiler.rules import rule


_OPEN, _FLAG = "$", "-"
"""What a shell puts in before the server reads it is not judged, nor what the parser takes for a flag (`flag-smuggled`),
nor an empty word (`value-empty`)."""

_OBJECTS: Mapping[str, str] = {
    OVERRIDES: "0.4.1",
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


_ROPES = frozenset(
    {
        *("default", "deepseek_yarn", "dynamic", "linear", "llama3", "longrope", "proportional"),
        *("yarn", "mrope", "su"),  # read as `default` and as `longrope`
        "original",  # Grok's own
    }
)
"""Kinds of rotary scaling that some release reads (0.4.6 layers/rotary_embedding.py to 0.5.23 rotary_embedding/factory.py,
`get_rope`)."""


@rule("rope-kind")
def scaling_is_known(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A kind of scaling that no release reads, in the model's config or in the text laid over it."""
    given, rope = given_by(plan), None if plan.model is None else plan.model.rope
    if rope is None or rope.kind in _ROPES or not given.since("0.4.6"):
        return
    is_laid_over = rope.kind in (given.word(OVERRIDES) or "")
    similar = near(rope.kind, _ROPES)
    yield refusal(
        given,
        "rope-kind",
        f"no release scales positions by `{rope.kind}`",
        at(
            given,
            where,
            OVERRIDES if is_laid_over else "model.id",
            text=f"says `{rope.kind}`",
        ),
        because="the server stops while it builds the first layer: unknown RoPE scaling type",
        help=(f"a known kind is similar: `{similar}`",) if similar else (),
    )
