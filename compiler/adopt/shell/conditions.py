"""The test of a branch goes in; whether it holds comes out, where its words are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from compiler.adopt.launch import Change, Word
from compiler.adopt.shell.syntax import leaves, raw_text, split_item
from compiler.adopt.shell.words import Evaluator
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


if TYPE_CHECKING:
    from tree_sitter import Node

# Commands that are run for their exit code.
_TESTS = frozenset(
    {"test", "grep", "egrep", "command", "which", "type", "pgrep", "curl", "nc", "cmp"}
)
_NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_OF_FILES = frozenset({"-f", "-e", "-r", "-s"})
_EMPTY = frozenset({"$1", "${1}", "$@", "$*"})


@frozen(kw_only=True, eq=False, repr=False)
class Condition(Value):
    """What is known of a test.

    Attributes:
        holds: whether it holds; `None` where that is known at the start only.
        is_test: whether it is one, and no step that is taken to work out.
        changes: what was taken for granted to come to it.
    """

    holds: bool | None = None
    is_test: bool = True
    changes: tuple[Change, ...] = ()

    def negated(self) -> Condition:
        """The other way round."""
        return self if self.holds is None else evolve(self, holds=not self.holds)


def decide(node: Node, evaluator: Evaluator) -> Condition:
    """What a test comes to."""
    if node.type == "negated_command":
        return decide(node.named_children[-1], evaluator).negated()
    if node.type == "test_command":
        inside = node.named_children
        return _test(inside[0], evaluator) if len(inside) == 1 else Condition()
    if node.type == "pipeline":
        return evolve(decide(node.named_children[-1], evaluator), holds=None)
    if node.type == "list":
        return Condition(
            is_test=any(decide(each, evaluator).is_test for each in node.named_children)
        )
    name = node.child_by_field_name("name") if node.type == "command" else None
    return Condition(is_test=name is not None and raw_text(name) in _TESTS)


def decide_clause(tests: Sequence[Node], body: Sequence[Node], evaluator: Evaluator) -> Condition:
    """A branch of an `if`; one that would end the script is not what its author starts it for."""
    if not tests:
        return Condition(holds=True)  # `else`
    told = decide(tests[-1], evaluator)
    return Condition() if told.holds and leaves(body) else told


def decide_case(node: Node, evaluator: Evaluator) -> Iterator[tuple[Condition, list[Node]]]:
    """Each item of a `case` with what is known of it, and what it does."""
    value = node.child_by_field_name("value")
    word = evaluator.text(value)
    for item in (each for each in node.named_children if each.type == "case_item"):
        patterns, body = split_item(item)
        holds = True if patterns == ["*"] else None
        if value is not None and not word.unknown:
            holds = any(fnmatchcase(word.text, each) for each in patterns)
        yield Condition(holds=holds, changes=word.changes), body


def decide_loop(node: Node, evaluator: Evaluator) -> Condition:
    """Whether a loop is gone through: one over the script's own arguments is taken to have none."""
    if evaluator.known.arguments is not None:
        return Condition()
    condition = node.child_by_field_name("condition")
    over = [raw_text(each) for each in node.children_by_field_name("value")]
    told = raw_text(condition) if condition is not None else ""
    is_bare = node.type == "for_statement" and not over
    if not (
        is_bare
        or "$#" in told
        or "getopts" in told
        or any("$@" in each or "$*" in each for each in over)
    ):
        return Condition()
    return Condition(holds=False, changes=(_without_arguments(evaluator.place(node)),))


def _without_arguments(span: Span) -> Change:
    """What is said where a script's own arguments decide."""
    text = "the script is taken to be started without arguments"
    return Change(kind=ChangeKind.ASSUMED, text=text, span=span)


def _test(node: Node, evaluator: Evaluator) -> Condition:
    if node.type == "parenthesized_expression" and len(node.named_children) == 1:
        return _test(node.named_children[0], evaluator)
    if node.type == "unary_expression" and len(node.children) > 1:
        sign, operand = raw_text(node.children[0]), node.children[-1]
        if sign == "!":
            return _test(operand, evaluator).negated()
        word = _word(operand, evaluator)
        if sign in _OF_FILES and evaluator.is_here(word):
            text = f"`{raw_text(node)}` is taken to hold: the file is here"
            taken = Change(kind=ChangeKind.ASSUMED, text=text, span=evaluator.place(node))
            return Condition(holds=True, changes=(taken,))
        if sign not in {"-z", "-n"} or word.unknown:
            return Condition()
        return Condition(holds=bool(word.text) is (sign == "-n"), changes=word.changes)
    if node.type == "binary_expression" and len(node.children) == len(("left", "sign", "right")):
        return _compared(node, evaluator)
    if node.type in {"string", "word", "simple_expansion", "expansion", "concatenation"}:
        word = _word(node, evaluator)
        return Condition(holds=None if word.unknown else bool(word.text), changes=word.changes)
    return Condition()


def _compared(node: Node, evaluator: Evaluator) -> Condition:
    left, sign_node, right = node.children
    sign = raw_text(sign_node)
    if sign in {"&&", "||", "-a", "-o"}:
        return _both(_test(left, evaluator), _test(right, evaluator), is_and=sign in {"&&", "-a"})
    one, other = _word(left, evaluator), _word(right, evaluator)
    if one.unknown or other.unknown:
        return Condition()
    changes = (*one.changes, *other.changes)
    if sign in {"=", "==", "!="}:
        is_pattern = right.type in {"extglob_pattern", "regex"}
        same = fnmatchcase(one.text, other.text) if is_pattern else one.text == other.text
        return Condition(holds=same is (sign != "!="), changes=changes)
    compare = _NUMBERS.get(sign)
    if compare is None or not (one.text.isdecimal() and other.text.isdecimal()):
        return Condition()
    return Condition(holds=compare(int(one.text), int(other.text)), changes=changes)


def _both(one: Condition, other: Condition, *, is_and: bool) -> Condition:
    """`&&` and `||`: one that fails, or holds, is enough."""
    for each in (one, other):
        if each.holds is (not is_and):
            return each
    if one.holds is None or other.holds is None:
        return Condition()
    return Condition(holds=is_and, changes=(*one.changes, *other.changes))


def _word(node: Node, evaluator: Evaluator) -> Word:
    """A word of a test; the script itself is taken to have no arguments."""
    word = evaluator.text(node)
    if word.unknown and evaluator.known.arguments is None and len(word.unknown) == 1:
        span = evaluator.place(node)
        if word.text == "$#":
            return Word(text="0", changes=(_without_arguments(span),))
        if word.text in _EMPTY:
            return Word(text="", changes=(_without_arguments(span),))
    return word
