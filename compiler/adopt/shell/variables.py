"""A statement about variables goes in; what a script has said behind it comes out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import evolve

from compiler.adopt.files import LARGEST_BYTES
from compiler.adopt.launch import Change, Word
from compiler.adopt.shell.known import Known, open_word
from compiler.adopt.shell.syntax import below, counted_in, is_cut_off, raw_text
from compiler.adopt.shell.words import Evaluator
from compiler.engines.adopting import ChangeKind


if TYPE_CHECKING:
    from tree_sitter import Node

_READING = frozenset({"read", "mapfile", "readarray", "getopts"})
"""They set variables from what is known at the start only."""
_SOURCING = frozenset({"source", "."})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_NOTHING = Word(text="")
_MOST_WORDS = 10_000
"""Of a list; what doubles itself is no launch."""


def assigned(node: Node, evaluator: Evaluator) -> tuple[Known, str | None]:
    """Behind `NAME=value`, and the name."""
    known = evaluator.known
    name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name_node is None or name_node.type != "variable_name":
        return known, None
    name = raw_text(name_node)
    adds = any(each.type == "+=" for each in node.children)
    if value is not None and value.type == "array":
        words = evaluator.listed([each for each in value.named_children if each.type != "comment"])
        before = known.arrays.get(name, ()) if adds else ()
        several = (*before, *words)
        if len(several) > _MOST_WORDS:
            several = (open_word(f"{name}[@]"),)
        return evolve(known, arrays={**known.arrays, name: several}), name
    told = evaluator.text(value)
    if adds:
        first = known.texts.get(name, _NOTHING)
        told = evolve(
            told,
            text=first.text + told.text,
            unknown=(*first.unknown, *told.unknown),
            changes=(*first.changes, *told.changes),
        )
    is_own = name in known.said and re.search(rf"\$\{{?{name}\b", raw_text(node)) is not None
    if told.unknown and name in known.said and not adds and not is_own:
        told = known.unsure(name)
    return known.with_text(name, told if len(told.text) <= LARGEST_BYTES else open_word(name)), name


def declared(node: Node, evaluator: Evaluator) -> Known:
    """Behind `export`, `local`, and the like."""
    exports = node.children[0].type == "export"
    known = evaluator.known
    before, last = None, None
    for child in node.named_children:
        name = raw_text(child) if child.type == "variable_name" else None
        if last is not None and is_cut_off(before, child) and last in known.texts:
            whole = evaluator.numbered(known.texts[last], evaluator.words(child))
            known = known.with_text(last, whole)
        elif child.type == "variable_assignment":
            known, name = assigned(child, evolve(evaluator, known=known))
        elif name is None:
            word = evolve(evaluator, known=known).text(child)
            found = _ASSIGNMENT.fullmatch(word.text)
            if found is not None:
                name = found[1]
                known = known.with_text(name, evolve(word, text=found[2]))
        if exports and name is not None:
            known = evolve(known, exported=known.exported | {name})
        before, last = child, name
    return known


def open_exports(node: Node, evaluator: Evaluator) -> Iterator[Change]:
    """The words of `export` that stand for variables which are known at the start only: `$(cat .env)`."""
    if node.children[0].type != "export":
        return
    for child in node.named_children:
        if child.type in {"variable_assignment", "variable_name"}:
            continue
        word = evaluator.text(child)
        if word.unknown and not _ASSIGNMENT.fullmatch(word.text):
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


def unset(node: Node, known: Known) -> Known:
    """Behind `unset`."""
    return forgotten(known, {raw_text(each) for each in node.named_children})


def forgotten(known: Known, names: Collection[str]) -> Known:
    """Without some variables."""
    texts = {name: word for name, word in known.texts.items() if name not in names}
    arrays = {name: words for name, words in known.arrays.items() if name not in names}
    return evolve(known, texts=texts, arrays=arrays)


def learned(
    node: Node, words: Sequence[Word], evaluator: Evaluator, *, text: Word | None = None
) -> Known:
    """Behind a command: `set --`, `shift`, a virtual environment, and `${NAME:=default}` among its words.

    `text` is its input, where that stands beside it.
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
    elif first in _READING:
        known = _behind_reading(known, texts, text)
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
    return known


def _behind_reading(known: Known, texts: Sequence[str], text: Word | None) -> Known:
    """Behind `read` and its like: what they set is known where it stands beside them, or is said."""
    names = {each for each in texts[1:] if not each.startswith("-")}
    known = forgotten(known, names)
    for name in names & known.said.keys():
        known = known.with_text(name, known.unsure(name))
    to_the_end = any(one[:1] == "-" and one[-1:] == "d" and not end for one, end in pairwise(texts))
    if texts[0] == "read" and text is not None and to_the_end:
        known = known.with_text(texts[-1], evolve(text, text=text.text.strip()))
    return known
