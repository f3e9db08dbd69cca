"""The templates, and the guard that lets nothing into a file that no encoder made. Alone in using jinja2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from attrs import fields, has

import compiler
from compiler.quoting import encoders, markdown, markup
from compiler.render.bytecode import kept_code


if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.nodes import Node


def fill(template: str, **values: object) -> str:
    """The template with its values, each through an encoder.

    Raises:
        Unrepresentable: when a value cannot be written where the template puts it.
        TypeError: when a template prints a value without an encoder.
    """
    return _template(folder(), template).render(values)


def verbatim(file: str) -> str:
    """The text of a file: a template, or what is copied as it is.

    Raises:
        FileNotFoundError: when Poolproof was installed without it.
    """
    return _copied(folder(), file)


@cache  # each service gets a copy
def _copied(templates: Path, file: str) -> str:
    path = templates / file
    if not path.is_file():
        raise FileNotFoundError(
            f"`{path.name}` is missing from the templates; this is a bug in how Poolproof was packaged"
        )
    return path.read_bytes().decode()


@cache
def folder() -> Path:
    """Where the templates are: inside the package when installed, beside it in a checkout."""
    package = Path(compiler.__file__).parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


_FILTERS: tuple[Callable[..., encoders.Encoded], ...] = (
    encoders.comment,
    encoders.env_file_line,
    markdown.markdown_cell,
    markdown.html_text,
    markdown.markdown_code,
    markdown.markdown_code_cell,
    markdown.markdown_lines,
    markdown.markdown_text,
    markup.markup_number,
    markup.markup_prose,
    markup.markup_text,
    markup.markup_whole,
    encoders.environment_file_path,
    encoders.exec_command,
    encoders.exec_words,
    encoders.shell_assignment,
    encoders.shell_words,
    encoders.unit_text,
)


_ENCODERS = frozenset(each.__name__ for each in _FILTERS)


@cache
def _template(templates: Path, name: str) -> Template:
    """A template with its filters; its code is kept, and is the same whatever the filters write."""
    from jinja2 import compiler as writer  # noqa: PLC0415 - as below
    from jinja2 import idtracking, lexer, nodes, optimizer, parser  # noqa: PLC0415 - as below

    # All that makes code of a text; the options of the environment stand in this module.
    makers = (
        lexer.__file__,
        parser.__file__,
        nodes.__file__,
        idtracking.__file__,
        optimizer.__file__,
        writer.__file__,
        __file__,
    )
    stamps = [_stamp(each) for each in makers]
    environment, path = _environment(), templates / name
    text = verbatim(name)
    code = kept_code(
        path,
        kind="jinja",
        depends=f"{stamps} {text}".encode(),
        compiled=lambda: environment.compile(text, name, str(path)),
    )
    return environment.template_class.from_code(environment, code, environment.globals)


def _stamp(module: str) -> tuple[int, int]:
    """What tells Python, too, that a module is another one."""
    found = Path(module).stat()
    return found.st_mtime_ns, found.st_size


@cache
def _environment() -> Environment:
    environment = _bare_environment()
    environment.filters.update({each.__name__: each for each in _FILTERS})
    return environment


def _bare_environment() -> Environment:
    # Loading jinja2 takes longer than a whole `check`, which renders nothing.
    from jinja2 import Environment, StrictUndefined, nodes  # noqa: PLC0415

    class Guarded(Environment):
        """Compiles no template that prints what no encoder made."""

        # What templates look into are values of ours: an attribute is all they ask for, hundreds of times a service.
        getattr = staticmethod(getattr)  # type: ignore[assignment]

        def _generate(
            self,
            source: nodes.Template,
            name: str | None,
            filename: str | None,
            defer_init: bool = False,  # noqa: FBT001, FBT002 - as jinja2 has it
        ) -> str:
            for output in source.find_all(nodes.Output):
                for each in output.nodes:
                    if not isinstance(each, nodes.TemplateData) and not _is_encoded(each):
                        raise TypeError(f"a template prints {each!r} without an encoder")
            return super()._generate(source, name, filename, defer_init)

    def _is_encoded(printed: nodes.Expr) -> bool:
        return isinstance(printed, nodes.Filter) and printed.name in _ENCODERS

    environment = Guarded(
        undefined=StrictUndefined,
        autoescape=False,  # no HTML: the guard refuses what is not encoded for its own place
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
    )
    environment.globals.clear()  # `range`, `lipsum`, and the like: looked at for each file, and used by none
    return environment


_MARKS = 0xF0000  # Supplementary Private Use Area-A: 65,534 characters that mean nothing
_MOST_MARKS = 0xFFFE
_ANY_MARK = re.compile(f"[{chr(_MARKS)}-{chr(_MARKS + _MOST_MARKS - 1)}]")


class _Traced(str):
    """A text that knows which value of a template it is."""

    __slots__ = ("path",)
    path: str


class _TracedNumber(float):
    """The same of a place in a drawing."""

    __slots__ = ("path",)
    path: str


def trace(template: str, **values: object) -> tuple[frozenset[str], ...]:
    """For each line of the filled template the values that it prints, by their paths (`start.options.3.words.1`).

    Each encoder's output is marked with a character on its way, and the marks are counted line by line. A line that prints none
    and is there only by a value has that one's name behind a `?`; any other without one is the template's own.
    """
    marks: list[frozenset[str]] = []
    environment = _bare_environment()
    environment.filters.update({each.__name__: _marking(each, marks) for each in _FILTERS})
    tree = environment.parse(verbatim(template))
    _mark_own(tree.body, "", values, marks)
    made = environment.template_class.from_code(
        environment, environment.compile(tree, template), environment.globals
    )
    text = made.render({name: _traced(value, name) for name, value in values.items()})
    return tuple(
        _of_line([marks[ord(mark) - _MARKS] for mark in _ANY_MARK.findall(line)])
        for line in text.split("\n")
    )


def _of_line(found: Sequence[frozenset[str]]) -> frozenset[str]:
    """The values of a line; where it prints none, the first that it is there by."""
    asked = [each for each in found if any(path.startswith(_ASKED) for path in each)]
    printed = frozenset[str]().union(*(each for each in found if each not in asked))
    return printed or next(iter(asked), frozenset())


_ASKED = "?"


def _mark_own(
    several: Sequence[Node], mark: str, values: Mapping[str, object], marks: list[frozenset[str]]
) -> None:
    """Mark the words of a template that are there by one of its values, with that of the innermost."""
    from jinja2 import nodes  # noqa: PLC0415 - as in `_bare_environment`

    for each in several:
        if isinstance(each, nodes.If):
            inner = mark
            if isinstance(each.test, nodes.Name) and each.test.name in values:
                inner = chr(_MARKS + len(marks))
                marks.append(frozenset({f"{_ASKED}{each.test.name}"}))
            _mark_own(each.body, inner, values, marks)
            _mark_own([*each.elif_, *each.else_], mark, values, marks)
        elif isinstance(each, nodes.TemplateData):
            *lines, last = each.data.split("\n")
            each.data = "".join(f"{mark}{line}\n" for line in lines) + (last and mark + last)
        else:
            _mark_own(list(each.iter_child_nodes()), mark, values, marks)


def _traced(value: object, path: str) -> object:
    """The value with every text and place in it traced; a mark that somebody wrote is no mark."""
    if isinstance(value, str | float):
        traced = (
            _Traced(_ANY_MARK.sub("?", value)) if isinstance(value, str) else _TracedNumber(value)
        )
        traced.path = path
        return traced
    if isinstance(value, tuple):
        return tuple(_traced(each, f"{path}.{place}") for place, each in enumerate(value))
    cls = type(value)
    if has(cls):
        names = [each.name for each in fields(cls)]
        return SimpleNamespace(
            **{name: _traced(getattr(value, name), f"{path}.{name}") for name in names}
        )
    return value


def _marking(
    encoder: Callable[..., encoders.Encoded], marks: list[frozenset[str]]
) -> Callable[..., encoders.Encoded]:
    def marking(value: object, /, **others: object) -> encoders.Encoded:
        paths = frozenset(path for each in (value, *others.values()) for path in _paths(each))
        lines = encoder(value, **others).split("\n")
        # Nobody reads so far: what comes after the last mark has none.
        mark = chr(_MARKS + len(marks)) if len(marks) < _MOST_MARKS else ""
        marks.append(paths)
        return encoders.Encoded("\n".join(f"{mark}{line}" for line in lines))

    return marking


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, _Traced | _TracedNumber):
        yield value.path
    elif isinstance(value, tuple):
        for each in value:
            yield from _paths(each)
