"""How the engine's parser reads one word of a value, by what a flag table says that the flag takes.

The names of the functions stand in the parser's messages, and are the engine's own.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentTypeError
from collections.abc import Callable

from compiler.facts import Flag


Reader = Callable[[str], object]

_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_FACTORS = {
    **{suffix: 10 ** (3 * power) for power, suffix in enumerate("kMGT", 1)},
    **{f"{suffix}i": 2 ** (10 * power) for power, suffix in enumerate("KMGT", 1)},
}
_RETIRED_BACKEND = "tc_piecewise"


def reader_of(flag: Flag) -> Reader:
    """The function for one word of a flag's value; text for a kind that nobody described."""
    if flag.takes == "cuda-graph-config":
        return _cuda_graph_config(flag.keys)
    return _READERS.get(flag.takes or "str", str)


def nullable_str(value: str) -> str | None:
    """Text; nothing for `None` and for no text."""
    return None if value in {"", "None"} else value


def human_readable_int(value: str) -> int:
    """A whole number, or one with a suffix (`16k`, `1.5M`, `4Ki`)."""
    match = _SUFFIXED.fullmatch(value.strip())
    if match is None:
        try:
            return int(value.strip())
        except ValueError:
            raise ArgumentTypeError(
                f"Invalid integer value: '{value.strip()}'. "
                "Use a plain integer, SI suffixes (1k, 1M), or IEC suffixes (1Ki, 1Mi). "
                "Suffixes are case-sensitive."
            ) from None
    from decimal import Decimal  # noqa: PLC0415 - few commands have a number with a suffix

    number, suffix = match.groups()
    if suffix.endswith("i") and "." in number:
        raise ArgumentTypeError(
            f"Decimals are not allowed with IEC suffixes like '{suffix}'. "
            f"Use an integer IEC value such as '{int(Decimal(number))}{suffix}', "
            f"or an SI value such as '{number}{suffix[0]}'."
        )
    return int(Decimal(number) * _FACTORS[suffix])


def json_list_type(value: str) -> object:
    """JSON; a list is what is meant, and nothing looks whether it is one. The engine's reader knows no `NaN`."""
    try:
        return json.loads(value, parse_constant=_no_constant)
    except ValueError:
        raise ArgumentTypeError(
            f"Invalid JSON list: {value}. Please provide a valid JSON list."
        ) from None


def _no_constant(word: str) -> object:
    raise ValueError(word)


def loads(value: str) -> object:
    """JSON."""
    return json.loads(value)


def parse_cuda_graph_backend_arg(value: str) -> str:
    """The name of a graph backend, but for the one that is gone."""
    if value == _RETIRED_BACKEND:
        raise ArgumentTypeError("tc_piecewise was removed; select breakable, full, or disabled")
    return value


def _cuda_graph_config(keys: tuple[str, ...]) -> Reader:
    """A JSON object of phases, each an object with some of its keys."""
    allowed: dict[str, list[str]] = {}
    for each in keys:
        phase, _, key = each.partition(".")
        allowed.setdefault(phase, []).append(key)

    def parse_cuda_graph_config_arg(value: str) -> object:
        try:
            read = json.loads(value)
        except json.JSONDecodeError as fault:
            raise ArgumentTypeError(f"--cuda-graph-config must be valid JSON: {fault}") from None
        wrong = _phase_fault(read, allowed)
        if wrong is not None:
            raise ArgumentTypeError(wrong)
        return read

    return parse_cuda_graph_config_arg


def _phase_fault(read: object, allowed: dict[str, list[str]]) -> str | None:
    if not isinstance(read, dict):
        return f"--cuda-graph-config must be a JSON object, got {type(read).__name__}"
    for phase, settings in read.items():
        if phase not in allowed:
            return f"--cuda-graph-config: unknown phase '{phase}', expected one of {tuple(allowed)}"
        if not isinstance(settings, dict):
            return f"--cuda-graph-config['{phase}'] must be a JSON object, got {type(settings).__name__}"
        unknown = next((key for key in settings if key not in allowed[phase]), None)
        if unknown is not None:
            expected = tuple(allowed[phase])
            return f"--cuda-graph-config['{phase}']: unknown key '{unknown}', expected one of {expected}"
        # The releases whose phases have no compiler have no such backend either.
        retired = "tc_compiler" not in allowed[phase]
        if retired and settings.get("backend") == _RETIRED_BACKEND:
            return "tc_piecewise was removed; select breakable, full, or disabled"
    return None


_READERS: dict[str, Reader] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "json": loads,
    "json-list": json_list_type,
    "int-with-suffix": human_readable_int,
    "text-or-none": nullable_str,
    "cuda-graph-backend": parse_cuda_graph_backend_arg,
}
