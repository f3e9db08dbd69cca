"""A here-document goes in: to which program it is text, and into which file it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from compiler.adopt.launch import Word
from compiler.adopt.shell.syntax import below, raw_text
from compiler.adopt.shell.words import Evaluator


if TYPE_CHECKING:
    from tree_sitter import Node

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_REMOTE = frozenset({"ssh", "sbatch", "su"})
"""They read commands from their input, too."""
_CLUSTER = frozenset({"kubectl", "oc", "k3s", "microk8s"})
_TAKING = frozenset({"apply", "create", "replace"})
# What a shell of another user or host is told to do with it.
_TOLD = re.compile(r"(?:\bcat\s*>>?|\btee(?:\s+-a)?)\s*[\"']?(?P<name>[^\s;&|\"']+)")
_BECOMES = (".service", ".container", ".yaml", ".yml", ".sh")
_INTO = frozenset({">", ">>", ">|", "&>", "&>>"})


def here_text(redirect: Node, evaluator: Evaluator) -> tuple[Word | None, bool]:
    """The text of a here-document, and whether it stands in the script as it is."""
    start = next((each for each in redirect.children if each.type == "heredoc_start"), None)
    body = next((each for each in redirect.children if each.type == "heredoc_body"), None)
    if start is None or body is None:
        return None, True
    is_exact = any(each in raw_text(start) for each in "\"'\\")
    word = (
        Word(text=raw_text(body), span=evaluator.place(body)) if is_exact else evaluator.here(body)
    )
    if any(each.type == "<<-" for each in redirect.children):
        word = evolve(word, text="\n".join(each.lstrip("\t") for each in word.text.split("\n")))
    return word, is_exact and word.text == raw_text(body)


def fed(words: Sequence[Word], text: Word) -> tuple[Word, ...]:
    """A command whose input is a text: a shell that runs it is told it by `-c`."""
    for at, word in enumerate(words):
        names = [each.rpartition("/")[2] for each in word.text.split()]
        if not any(name in SHELLS for name in names):
            continue
        behind = [each for each in words[at + 1 :] if not each.text.startswith("-")]
        is_stdin = any(each.text == "-s" for each in words[at + 1 :]) or "-s" in names
        if behind and not is_stdin:
            return tuple(words)  # it runs a file
        shell = evolve(word, text=next(name for name in names if name in SHELLS))
        return (*words[:at], shell, Word(text="-c"), text, shell, *behind)
    first = words[0].text.rpartition("/")[2] if words else ""
    if first in _REMOTE and not any(_TOLD.search(word.text) for word in words):
        shell = Word(text="bash", span=words[-1].span)
        return (*words, shell, Word(text="-c"), text)
    return tuple(words)


def given_text(words: tuple[Word, ...], text: Word | None) -> tuple[Word, ...]:
    """A command with the text that is its input: `cat` prints it."""
    if text is None:
        return words
    if len(words) == 1 and words[0].text == "cat":
        return (*words, text)
    return fed(words, text)


def input_of(node: Node, evaluator: Evaluator) -> Word | None:
    """What a redirected command reads, where it stands beside it."""
    for each in node.named_children:
        if each.type == "herestring_redirect" and each.named_children:
            return evaluator.text(each.named_children[-1])
        signs = {child.type for child in each.children} if each.type == "file_redirect" else ()
        goal = each.child_by_field_name("destination") if "<" in signs else None
        if goal is not None and goal.type == "process_substitution":
            return evaluator.printed(goal)
    return None


def written_to(nodes: Iterable[Node], evaluator: Evaluator) -> str | None:
    """The file that a here-document becomes; empty where a cluster takes it; `None` where it goes elsewhere."""
    several = list(nodes)
    for redirect in (each for node in several for each in below(node, "file_redirect")):
        signs = [each.type for each in redirect.children]
        name = evaluator.text(redirect.child_by_field_name("destination")).text
        if _INTO & set(signs) and "file_descriptor" not in signs and name != "/dev/null":
            return name
    for command in (each for node in several for each in below(node, "command")):
        words = [
            word.text
            for each in command.named_children
            if each.type != "variable_assignment"
            for word in evaluator.words(each)
        ]
        found = _taken_by(words)
        if found is not None:
            return found
    return None


def _taken_by(words: Sequence[str]) -> str | None:
    names = {each.rpartition("/")[2] for each in words}
    if "tee" in names:
        return next((each for each in reversed(words) if not each.startswith("-")), None)
    if names & _CLUSTER and names & _TAKING:
        return ""
    told = (_TOLD.search(each) for each in words if " " in each or ">" in each)
    # A function of the script's own is given the file by its name.
    named = (each for each in words if each.endswith(_BECOMES))
    return next((each["name"] for each in told if each is not None), next(named, None))
