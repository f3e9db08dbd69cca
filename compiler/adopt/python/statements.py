"""A statement of a program goes in; what it says is known behind it, and what it runs is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, field

from compiler.adopt.launch import Word
from compiler.adopt.python.expressions import Expressions, called_name, is_environment
from compiler.adopt.python.forms import READERS
from compiler.adopt.python.running import Running
from compiler.adopt.python.values import Known, Listing, Table, text_of, together
from compiler.source import Source


_GOES_ON = frozenset({"append", "extend", "insert"})


@define
class Statements:
    """Reads statements in their order.

    Attributes:
        running: what the program would run.
        made: the lists that it makes.
        said: the texts that it gives names, or gives back.
        doubts: the conditions above, of which nobody knows whether they hold.
    """

    source: Source
    given: Mapping[str, str]
    options: Mapping[str, Known]
    running: Running = field(factory=Running)
    made: list[Listing] = field(factory=list)
    said: list[Word] = field(factory=list)
    doubts: int = 0

    def expressions(self, names: dict[str, Known]) -> Expressions:
        """What reads expressions here."""
        return Expressions(
            source=self.source,
            names=names,
            given=self.given,
            options=self.options,
            readers=READERS,
            made=self.made,
            doubts=self.doubts,
        )

    def statements(self, body: Iterable[ast.stmt], names: dict[str, Known]) -> None:
        """Statements, in their order."""
        for each in body:
            self.statement(each, names)

    def statement(self, node: ast.stmt, names: dict[str, Known]) -> None:
        """One statement."""
        if isinstance(node, ast.Assign):
            self._assign(node.targets, node.value, names)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign([node.target], node.value, names)
        elif isinstance(node, ast.AugAssign):
            self._more(node, names)
        elif isinstance(node, ast.If):
            self._if(node, names)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._loop(node, names)
        elif isinstance(node, ast.Expr | ast.Return):
            self._expression(node, names)
        else:
            self._others(node, names)

    def _others(self, node: ast.stmt, names: dict[str, Known]) -> None:
        """`with`, `try`, and what has no part in it."""
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self.running.visit(item.context_expr, self.expressions(names))
            self.statements(node.body, names)
        elif isinstance(node, ast.Try | ast.TryStar):
            self.statements((*node.body, *node.orelse, *node.finalbody), names)
        elif isinstance(node, ast.Match):
            self._branches([each.body for each in node.cases], names)

    def _expression(self, node: ast.Expr | ast.Return, names: dict[str, Known]) -> None:
        told = self.expressions(names)
        value = node.value
        if isinstance(value, ast.Call) and self._goes_on(value, told):
            return
        if isinstance(node, ast.Return) and value is not None:
            self._say(told.value(value))
        self.running.visit(value, told)

    def _say(self, known: Known) -> None:
        word = text_of(known)
        if word is not None:
            self.said.append(word)

    def _assign(self, targets: Sequence[ast.expr], node: ast.expr, names: dict[str, Known]) -> None:
        told = self.expressions(names)
        known = told.value(node)
        self._say(known)
        self.running.visit(node, told)
        for target in targets:
            self._put(target, known, told)

    def _put(self, target: ast.expr, known: Known, told: Expressions) -> None:
        if isinstance(target, ast.Name):
            told.names[target.id] = known
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            told.names[f"{target.value.id}.{target.attr}"] = known
        elif isinstance(target, ast.Subscript):
            key = text_of(told.value(target.slice))
            if key is None or key.unknown:
                return
            if is_environment(target.value):
                self.running.environment[key.text] = _worded(known, told, target)
                return
            table = told.value(target.value)
            if isinstance(table, Table):
                table.entries[key.text] = known
        elif isinstance(target, ast.Tuple):
            for each in target.elts:
                if isinstance(each, ast.Name):
                    told.names.pop(each.id, None)

    def _more(self, node: ast.AugAssign, names: dict[str, Known]) -> None:
        """`words += [...]`."""
        told = self.expressions(names)
        before = told.value(node.target)
        self.running.visit(node.value, told)
        if isinstance(before, Listing):
            more = [ast.Starred(value=node.value)]
            self._add(before, more, node.value, told, at=len(before.words))
            return
        left, right = text_of(before), text_of(told.value(node.value))
        if isinstance(node.target, ast.Name) and left is not None and right is not None:
            span = told.place(node.target)
            if self.doubts:
                names[node.target.id] = together(
                    (left, told.part(node.value)), span=span, between=" "
                )
            else:
                names[node.target.id] = together((left, right), span=span)

    def _goes_on(self, node: ast.Call, told: Expressions) -> bool:
        """`words.append(...)`, and `table.update(...)`."""
        name = called_name(node)
        if not isinstance(node.func, ast.Attribute) or not node.args:
            return False
        if name == "update":
            return self._update(node, told)
        before = told.value(node.func.value) if name in _GOES_ON else None
        if not isinstance(before, Listing):
            return False
        last = node.args[-1]
        at = _index(node.args[0]) if name == "insert" else len(before.words)
        more = [ast.Starred(value=last) if name == "extend" else last]
        self._add(before, more, last, told, at=at)
        return True

    def _update(self, node: ast.Call, told: Expressions) -> bool:
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        table, more = told.value(of), told.value(node.args[0])
        if isinstance(more, Table) and is_environment(of):
            words = {key: _worded(one, told, node) for key, one in more.entries.items()}
            self.running.environment |= words
        elif isinstance(table, Table):
            table.entries |= more.entries if isinstance(more, Table) else {}
            table.is_whole = table.is_whole and isinstance(more, Table) and more.is_whole
        return isinstance(more, Table)

    def _add(
        self,
        to: Listing,
        several: Sequence[ast.expr],
        shown: ast.expr,
        told: Expressions,
        *,
        at: int | None,
    ) -> None:
        """More words of a list; under a condition that nobody knows, or at an unknown place, they may not be there."""
        words = list(told.words(several))
        if at is None or self.doubts > to.doubts:
            words = [told.part(shown)]
        place = len(to.words) if at is None else at
        to.words[place:place] = words

    def _if(self, node: ast.If, names: dict[str, Known]) -> None:
        told = self.expressions(names)
        self.running.visit(node.test, told)
        held = told.truth(node.test)
        if held is not None or _is_main(node.test):
            self.statements(node.orelse if held is False else node.body, names)
            return
        self._branches([node.body, node.orelse], names)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, names: dict[str, Known]) -> None:
        if not isinstance(node, ast.While):
            self.running.visit(node.iter, self.expressions(names))
            for each in ast.walk(node.target):
                if isinstance(each, ast.Name):
                    names.pop(each.id, None)
        self._branches([node.body], names)
        self.statements(node.orelse, names)

    def _branches(self, bodies: Sequence[Sequence[ast.stmt]], names: dict[str, Known]) -> None:
        """What may be run, or not: what it says otherwise is not known behind it."""
        self.doubts += 1
        several: list[dict[str, Known]] = []
        for body in bodies:
            inner = dict(names)
            self.statements(body, inner)
            several.append(inner)
        self.doubts -= 1
        for key in {key for inner in several for key in inner}:
            behind = [inner.get(key) for inner in several if inner.get(key) is not names.get(key)]
            if behind:
                longer = _longer(names.pop(key, None), behind)
                names |= {key: longer} if longer is not None else {}


def _longer(before: Known | None, several: Sequence[Known | None]) -> Known | None:
    """A text that branches only add to: what each adds may not be there."""
    start = text_of(before)
    told = [text_of(each) for each in several]
    if start is None or not all(each and each.text.startswith(start.text) for each in told):
        return None
    parts = [evolve(each, text=each.text[len(start.text) :]) for each in told if each is not None]
    return together((start, *parts), span=parts[0].span or start.span)


def _index(node: ast.expr) -> int | None:
    """A place in a list, where it is written out."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int else None


def _worded(known: Known, told: Expressions, node: ast.expr) -> Word:
    return text_of(known) or told.unknown(node).word


def _is_main(node: ast.expr) -> bool:
    """`__name__ == "__main__"`."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
    )
