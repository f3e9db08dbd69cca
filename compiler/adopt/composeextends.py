"""A service of a compose file that extends another goes in; the service as Compose merges it comes out.

docs.docker.com, "Extend your Compose file": tables are merged key by key, lists are joined, all else is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from compiler.adopt.volumes import text_of
from compiler.diagnostics import Diagnostic, Label, error
from compiler.source import Source
from compiler.yamltext import Yaml, last_of_each


# Lists that are replaced as a whole, as a command is.
_WHOLE = frozenset({"command", "entrypoint", "healthcheck"})
_OUTRIGHT = "`docker compose config > whole.yaml` writes what Compose makes of it; adopt that file"


def extended(
    name: str, service: Yaml, services: Yaml, *, source: Source
) -> tuple[Yaml, Diagnostic | None]:
    """A service with what it takes from others of the file. Errors: `launch-unreadable`."""
    known = {key.text or "": value for key, value in services.pairs}
    line = [(name, service)]
    while (told := line[-1][1].get("extends")) is not None:
        base = told.text or text_of(told, "service")
        reason = _fault(told, base, known, seen={each for each, _ in line})
        if reason is not None:
            span = source.span(told.start, max(told.start + 1, told.end))
            summary = f"what `{line[-1][0]}` extends cannot be read: {reason}"
            label = Label(evolve(span, end_line=span.line, end_column=span.column + 1))
            return service, error("launch-unreadable", summary, label, help=(_OUTRIGHT,))
        line.append((base, known[base]))
    whole = line[-1][1]
    for _, each in reversed(line[:-1]):
        whole = _merged(whole, each)
    return whole, None


def _fault(told: Yaml, base: str, known: Mapping[str, Yaml], *, seen: set[str]) -> str | None:
    if told.get("file") is not None:
        return f"it stands in another file, `{text_of(told, 'file')}`"
    if base not in known:
        return f"there is no service `{base}`"
    return "it comes back to itself" if base in seen else None


def _merged(base: Yaml, own: Yaml) -> Yaml:
    """Two services as one: what the second says comes last."""
    pairs = [
        (key, _joined(key.text or "", base.get(key.text or ""), value)) for key, value in own.pairs
    ]
    return evolve(own, pairs=last_of_each(base.pairs, pairs))


def _joined(key: str, before: Yaml | None, value: Yaml) -> Yaml:
    if before is None or key in _WHOLE:
        return value
    if before.pairs and value.pairs:
        return evolve(value, pairs=last_of_each(before.pairs, value.pairs))
    return evolve(value, items=(*before.items, *value.items)) if value.items else value
