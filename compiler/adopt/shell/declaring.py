"""A statement that declares variables goes in; what a script has said behind it comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from compiler.adopt.shell.known import Known
from compiler.adopt.shell.syntax import is_cut_off, raw_text, set_in
from compiler.adopt.shell.variables import ASSIGNMENT, assigned
from compiler.adopt.shell.words import Evaluator


if TYPE_CHECKING:
    from tree_sitter import Node

_ATTRIBUTES = frozenset("ilunA")
_SETTING = frozenset({"variable_assignment", "declaration_command"})


def declared(node: Node, evaluator: Evaluator) -> Known:
    """Behind `export`, `local`, and the like."""
    known = evaluator.known
    given, taken = _letters(node, "-"), _letters(node, "+")
    exports = (node.children[0].type == "export" and "n" not in given) or "x" in given
    before, last = None, None
    for child in node.named_children:
        name = raw_text(child) if child.type == "variable_name" else None
        if child.type == "variable_assignment":
            target = child.child_by_field_name("name")
            name = raw_text(target) if target is not None else None
        if name is not None and node.children[0].type != "export":
            known = _attributed(known, name, given, taken)
        if last is not None and is_cut_off(before, child) and last in known.texts:
            whole = evaluator.numbered(known.texts[last], evaluator.words(child))
            known = known.with_text(last, whole)
        elif child.type == "variable_assignment":
            known, name = assigned(child, evolve(evaluator, known=known))
        elif name is None:
            word = evolve(evaluator, known=known).text(child)
            found = ASSIGNMENT.fullmatch(word.text)
            if found is not None:
                name = found[1]
                known = known.with_text(name, evolve(word, text=found[2]))
        if exports and name is not None:
            known = evolve(known, exported=known.exported | {name})
        elif "n" in given and node.children[0].type == "export" and name is not None:
            known = evolve(known, exported=known.exported - {name})
        before, last = child, name
    return known


def _letters(node: Node, sign: str) -> frozenset[str]:
    """The options of `declare` by their letters."""
    several = (raw_text(each) for each in node.named_children if each.type == "word")
    return frozenset(letter for each in several if each.startswith(sign) for letter in each[1:])


def _attributed(known: Known, name: str, given: frozenset[str], taken: frozenset[str]) -> Known:
    told = (known.attributes.get(name, frozenset()) | (given & _ATTRIBUTES)) - taken
    if told == known.attributes.get(name, frozenset()):
        return known
    references = {each: to for each, to in known.references.items() if each != name}
    return evolve(known, attributes={**known.attributes, name: told}, references=references)


def evaluated(root: Node, evaluator: Evaluator, *, is_sure: bool) -> Known:
    """Behind `eval`: what it sets is known where it does nothing else, and its words are known."""
    known = evaluator.known
    several = [
        each
        for child in root.named_children
        for each in (child.named_children if child.type == "variable_assignments" else [child])
    ]
    if is_sure and all(each.type in _SETTING for each in several):
        for each in several:
            now = evolve(evaluator, known=known)
            is_one = each.type == "variable_assignment"
            known = assigned(each, now)[0] if is_one else declared(each, now)
        return known
    for name in set_in(root):
        known = known.with_text(known.named(name), known.unsure(name))
    return known
