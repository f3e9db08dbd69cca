"""A statement about variables goes in; what a script has said behind it comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from posixpath import normpath
from typing import TYPE_CHECKING

from attrs import evolve

from compiler.adopt.files import LARGEST_BYTES
from compiler.adopt.launch import Change, Word
from compiler.adopt.shell.known import Known, Listed, forgotten, more_word, open_word
from compiler.adopt.shell.lists import element_of, list_of, spoken, with_element, without_element
from compiler.adopt.shell.syntax import below, counted_in, raw_text
from compiler.adopt.shell.told import READING, behind_printf, behind_reading
from compiler.adopt.shell.words import Evaluator
from compiler.engines.adopting import ChangeKind


if TYPE_CHECKING:
    from tree_sitter import Node

_SOURCING = frozenset({"source", "."})
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0|")
"""A number as a shell writes it; an empty one is 0, and what begins with 0 is octal."""
_NOTHING = Word(text="")


def assigned(node: Node, evaluator: Evaluator) -> tuple[Known, str | None]:
    """Behind `NAME=value`, and the name."""
    known = evaluator.known
    name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    adds = any(each.type == "+=" for each in node.children)
    if name_node is None or name_node.type != "variable_name":
        if name_node is None or name_node.type != "subscript":
            return known, None
        return _with_element(name_node, value, evaluator, adds=adds), None
    name = known.named(raw_text(name_node))
    if value is not None and value.type == "array":
        before = known.arrays.get(name, ()) if adds else ()
        is_map = "A" in known.attributes.get(name, ())
        words = list_of(value, evaluator, name=name, before=before)
        # The order of a map is nobody's.
        return known.with_list(name, (more_word(name),) if is_map else words), name
    told = evaluator.text(value)
    if "n" in known.attributes.get(name, ()):
        return referring(known, name, told), name
    if name in known.arrays:
        # Without an index it is the first.
        words = with_element(known.arrays[name], "?" if adds else "0", told, name=name)
        return known.with_list(name, words), name
    if adds:
        told = _added(known, name, told)
    is_own = name in known.said and re.search(rf"\$\{{?{name}\b", raw_text(node)) is not None
    if told.unknown and name in known.said and not adds and not is_own:
        told = known.unsure(name)
    told = _as_declared(known, name, told)
    return known.with_text(name, told if len(told.text) <= LARGEST_BYTES else open_word(name)), name


def _with_element(target: Node, value: Node | None, evaluator: Evaluator, *, adds: bool) -> Known:
    """Behind `NAME[INDEX]=value`."""
    known = evaluator.known
    raw, at = element_of(target, evaluator)
    name = known.named(raw)
    before: Listed = known.arrays.get(name, ())
    if name in known.texts:
        before = (known.texts[name],)
    is_map = "A" in known.attributes.get(name, ())
    at = "?" if adds or is_map else at
    return known.with_list(name, with_element(before, at, evaluator.text(value), name=name))


def _added(known: Known, name: str, told: Word) -> Word:
    """Behind `NAME+=value`."""
    first = known.texts.get(name, _NOTHING)
    if "i" in known.attributes.get(name, ()):
        both = [_INTEGER.fullmatch(each.text) for each in (first, told)]
        number = str(sum(int(each.text or "0") for each in (first, told))) if all(both) else ""
        return evolve(told, text=number) if number else known.unsure(name)
    return evolve(
        told,
        text=first.text + told.text,
        unknown=(*first.unknown, *told.unknown),
        changes=(*first.changes, *told.changes),
    )


def _as_declared(known: Known, name: str, word: Word) -> Word:
    """A value of a variable that is declared a number, or in one case."""
    letters = known.attributes.get(name, frozenset())
    if not letters & {"i", "l", "u"} or word.unknown:
        return word
    if "i" in letters:
        return word if _INTEGER.fullmatch(word.text) and word.text else known.unsure(name)
    return evolve(word, text=word.text.lower() if "l" in letters else word.text.upper())


def referring(known: Known, name: str, target: Word) -> Known:
    """Where a name stands for a variable (`declare -n`)."""
    if target.unknown or _NAME.fullmatch(target.text) is None:
        return known
    attributes = {each: told for each, told in known.attributes.items() if each != name}
    references = {**known.references, name: known.named(target.text)}
    return evolve(known, attributes=attributes, references=references)


def open_exports(node: Node, evaluator: Evaluator) -> Iterator[Change]:
    """The words of `export` that stand for variables which are known at the start only: `$(cat .env)`."""
    if node.children[0].type != "export":
        return
    for child in node.named_children:
        if child.type in {"variable_assignment", "variable_name"}:
            continue
        word = evaluator.text(child)
        if word.unknown and not ASSIGNMENT.fullmatch(word.text):
            text = f"which variables `export {word.text}` sets is not known before the start"
            yield Change(kind=ChangeKind.UNKNOWN, text=text, span=word.span)


def _exporting(known: Known, texts: Sequence[str]) -> Known:
    """Behind `set -a`, `set +a`, and `set -o allexport`."""
    for before, text in pairwise(texts):
        if text == "--":
            break
        if re.fullmatch(r"[-+][a-z]*a[a-z]*", text) or (
            text == "allexport" and before[1:].endswith("o")
        ):
            known = evolve(known, exports_all=(text if text != "allexport" else before)[0] == "-")
    return known


def unset(node: Node, evaluator: Evaluator) -> tuple[Known, frozenset[str]]:
    """Behind `unset`, and the functions that are gone."""
    known = evaluator.known
    functions: set[str] = set()
    several = list(spoken(node.named_children))
    options = "".join(each[1:] for each in several if each.startswith("-"))
    for each in several:
        if "f" in options:
            functions.add(each)
            continue
        without = without_element(known, each, evaluator)
        name = each if "n" in options else known.named(each)
        if without is None and "v" not in options and not {name} & {*known.texts, *known.arrays}:
            functions.add(each)
        if "n" in options:
            references = {one: to for one, to in known.references.items() if one != each}
            known = evolve(known, references=references)
        else:
            known = without if without is not None else forgotten(known, {name})
    return known, frozenset(functions)


def learned(
    node: Node,
    words: Sequence[Word],
    evaluator: Evaluator,
    *,
    text: Word | None = None,
    ifs: str | None = " \t\n",
) -> Known:
    """Behind a command: `set --`, `shift`, a virtual environment, and `${NAME:=default}` among its words.

    `text` is its input, where that stands beside it; `ifs` separates the words that it reads.
    """
    known = evaluator.known
    texts = [word.text for word in words]
    first = texts[0] if texts else ""
    if first == "set":
        known = _exporting(known, texts)
    if first == "set" and "--" in texts:
        known = evolve(known, arguments=tuple(words[texts.index("--") + 1 :]))
    elif first == "shift" and known.arguments is not None:
        count = int(texts[1]) if len(texts) > 1 and texts[1].isdecimal() else 1
        known = evolve(known, arguments=known.arguments[count:])
    elif first in READING:
        known = behind_reading(known, words, text, ifs=ifs)
    elif first == "printf" and len(texts) > len(("printf", "-v", "NAME")) and texts[1] == "-v":
        known = behind_printf(known, words)
    elif len(texts) > 1 and first in _SOURCING and texts[1].endswith("/bin/activate"):
        folder = evolve(words[1], text=texts[1].removesuffix("/bin/activate"))
        if len(texts) > 2:  # noqa: PLR2004 - conda's own script has the name of the environment behind it
            folder = evolve(folder, text=f"{folder.text}/envs/{texts[2]}")
        exported = known.exported | {"VIRTUAL_ENV"}
        known = evolve(known.with_text("VIRTUAL_ENV", folder), exported=exported)
    known = known.without(list(counted_in(node)))
    for each in below(node, "expansion"):
        variable = next(iter(each.named_children), None)
        if variable is not None and any(sign.type in {":=", "="} for sign in each.children):
            known = known.with_text(raw_text(variable), evolve(evaluator, known=known).text(each))
    return _behind_cd(known, words) if first == "cd" else known


def _behind_cd(known: Known, words: Sequence[Word]) -> Known:
    """The folder that a script goes to; one that is told from another is known where that is, and nobody says it."""
    told = words[1] if len(words) == 2 else Word(text="", unknown=("",))  # noqa: PLR2004 - `cd` and a folder
    before = known.texts.get("PWD")
    if not told.unknown and told.text.startswith("/"):
        return known.with_text("PWD", evolve(told, text=normpath(told.text)))
    if before is None or before.unknown:
        return known
    if told.unknown or told.text[:1] in {"", "-", "~"} or "PWD" in known.said:
        return known.without(["PWD"])
    return known.with_text("PWD", evolve(told, text=normpath(f"{before.text}/{told.text}")))
