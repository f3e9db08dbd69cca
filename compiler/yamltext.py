"""YAML text to plain values, by PyYAML's safe loader: the one that engines and compose files are read with."""

from __future__ import annotations


def parse_yaml(text: str) -> tuple[object, str | None]:
    """The values of a document, or what is wrong with it and where; nothing for an empty one."""
    import yaml  # noqa: PLC0415 - only a command line with a file of settings pays for it

    try:
        return yaml.safe_load(text), None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        mark = getattr(fault, "problem_mark", None)
        problem = getattr(fault, "problem", None) or str(fault) or "it nests too deep"
        return None, problem if mark is None else f"line {mark.line + 1}: {problem}"
