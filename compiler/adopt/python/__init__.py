"""The text of a program in Python goes in; the commands that it would run come out. Nothing of it is run.

What is known at the start only stays open, as a variable of a script does: a parameter without a default, what another
module says, and what stands under a condition that hangs on one of these.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping

from compiler.adopt.files import FileKind, kind_of
from compiler.adopt.launch import Command, Document, Sheet, Word
from compiler.adopt.parts import speaks_of_engine
from compiler.adopt.python.expressions import Expressions, assumed, called_name
from compiler.adopt.python.forms import READERS
from compiler.adopt.python.values import OPEN, Known, Scalar, taken
from compiler.adopt.python.walk import Walk, commands_of
from compiler.adopt.shell.known import starts_engine
from compiler.source import Source


_WRITTEN = frozenset(
    {FileKind.UNIT, FileKind.QUADLET, FileKind.COMPOSE, FileKind.MANIFEST, FileKind.SUPERVISOR}
)


def read_python(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """What a program would run; `given` are values of names that it leaves open. Nothing where it is no Python."""
    tree = _tree(source.text)
    if tree is None:
        return Sheet(sources={source.name: source})
    walk = Walk(source=source, given=given, options=_options(tree, source, given))
    try:
        walk.program(tree)
    except RecursionError:
        return Sheet(sources={source.name: source})
    commands = [each for each in commands_of(walk) if _is_of_engine(each)]
    documents = tuple(_documents(tree, source))
    if not commands and not documents:
        shell = Word(text="bash"), Word(text="-c")
        commands = [Command(words=(*shell, word)) for word in walk.said if starts_engine(word.text)]
    return Sheet(commands=tuple(commands), documents=documents, sources={source.name: source})


def _is_of_engine(command: Command) -> bool:
    return speaks_of_engine(" ".join(word.text for word in command.words))


def _tree(text: str) -> ast.Module | None:
    """The syntax tree; a part of a program may be indented."""
    for above in ("", "if True:\n"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(f"{above}{text}")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        lines = above.count("\n")
        return ast.increment_lineno(tree, -lines) if lines else tree
    return None


def _options(tree: ast.Module, source: Source, given: Mapping[str, str]) -> Mapping[str, Known]:
    """The defaults of the options that the program takes itself, by the names that argparse gives them."""
    told = Expressions(source=source, names={}, given=given, options={}, readers=READERS, made=[])
    options: dict[str, Known] = {}
    for each in ast.walk(tree):
        if not (isinstance(each, ast.Call) and called_name(each) == "add_argument" and each.args):
            continue
        named = {one.arg: one.value for one in each.keywords}
        flags = [one.value for one in each.args if isinstance(one, ast.Constant)]
        long = next((str(one) for one in flags if str(one).startswith("--")), "")
        known = told.value(named["default"]) if "default" in named else None
        if (
            long
            and isinstance(known, Scalar)
            and known.value is not OPEN
            and known.value is not None
        ):
            name = long.lstrip("-").replace("-", "_")
            options[name] = taken(known, assumed(long, known.word.text, told.place(each)))
    return options


def _documents(tree: ast.Module, source: Source) -> Iterator[Document]:
    """Texts in it that are files of another kind, as they stand there."""
    for each in ast.walk(tree):
        if not (isinstance(each, ast.Constant) and isinstance(each.value, str)):
            continue
        text = each.value
        at = source.text.find(text) if "\n" in text and speaks_of_engine(text) else -1
        if at >= 0 and (kind_of(Source("", text)) in _WRITTEN or text.startswith("#!")):
            span = source.span(at, at + len(text))
            yield Document(name="", text=Word(text=text, span=span), is_exact=True)
