"""YAML text to plain values, by PyYAML's safe loader: the one that engines and compose files are read with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Yaml(Value):
    """A value with its place, as offsets into the text.

    Attributes:
        text: of a scalar, as it is written, without quotes; `None` for a list or a table.
        is_null: whether nothing is written.
        items: of a list.
        pairs: of a table, in order; what `<<` brings in comes first.
    """

    start: int
    end: int
    text: str | None = None
    is_null: bool = False
    items: tuple[Yaml, ...] = ()
    pairs: tuple[tuple[Yaml, Yaml], ...] = ()

    def get(self, name: str) -> Yaml | None:
        """The value of a key; the last one counts."""
        return next((value for key, value in reversed(self.pairs) if key.text == name), None)


def parse_yaml(text: str) -> tuple[object, str | None]:
    """The values of a document, or what is wrong with it and where; nothing for an empty one."""
    import yaml  # noqa: PLC0415 - only a command line with a file of settings pays for it

    try:
        return yaml.safe_load(text), None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        line, problem = _fault(fault)
        return None, problem if line is None else f"line {line}: {problem}"


def parse_places(text: str) -> tuple[Yaml | None, tuple[int, str] | None]:
    """A document with the places of its values, or the line and what is wrong there."""
    import yaml  # noqa: PLC0415 - as above

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return (None if node is None else _Values().value(node)), None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        line, problem = _fault(fault)
        return None, (line or 1, problem)


def parse_all_places(text: str) -> tuple[tuple[Yaml, ...], tuple[int, str] | None]:
    """As `parse_places`, of a text that may hold several documents."""
    import yaml  # noqa: PLC0415 - as above

    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        return tuple(_Values().value(node) for node in nodes), None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        line, problem = _fault(fault)
        return (), (line or 1, problem)


def _fault(fault: Exception) -> tuple[int | None, str]:
    if isinstance(fault, RecursionError):
        return None, "it nests too deep"
    mark = getattr(fault, "problem_mark", None)
    problem = getattr(fault, "problem", None) or str(fault)
    return (None if mark is None else mark.line + 1), problem


@define
class _Values:
    """Makes values of nodes, each once, however often aliases name it."""

    made: dict[int, Yaml | None] = field(factory=dict)

    def value(self, node: object) -> Yaml:
        known = self.made.get(id(node), self)
        if known is None:
            raise ValueError("an anchor stands for a part of itself")
        if isinstance(known, Yaml):
            return known
        self.made[id(node)] = None
        value = self._value(node)
        self.made[id(node)] = value
        return value

    def _value(self, node: object) -> Yaml:
        from yaml import MappingNode, Node, ScalarNode, SequenceNode  # noqa: PLC0415 - as above

        if not isinstance(node, Node):
            raise TypeError(node)
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, ScalarNode):
            return Yaml(start=start, end=end, text=node.value, is_null=node.tag.endswith(":null"))
        if isinstance(node, SequenceNode):
            return Yaml(start=start, end=end, items=tuple(map(self.value, node.value)))
        if isinstance(node, MappingNode):
            pairs = [(self.value(key), self.value(value)) for key, value in node.value]
            merged = [pair for key, value in pairs if key.text == "<<" for pair in _merged(value)]
            own = [pair for pair in pairs if pair[0].text != "<<"]
            return Yaml(start=start, end=end, pairs=last_of_each(merged, own))
        raise TypeError(node)


def last_of_each(*several: Iterable[tuple[Yaml, Yaml]]) -> tuple[tuple[Yaml, Yaml], ...]:
    """The pairs of several tables as those of one: of a key that is there twice the last one counts."""
    found: dict[str | None, tuple[Yaml, Yaml]] = {}
    for pairs in several:
        for key, value in pairs:
            found.pop(key.text, None)
            found[key.text] = (key, value)
    return tuple(found.values())


def _merged(value: Yaml) -> Iterator[tuple[Yaml, Yaml]]:
    """What a merge key brings in; of several tables the first wins."""
    for each in reversed(value.items):
        yield from each.pairs
    yield from value.pairs
