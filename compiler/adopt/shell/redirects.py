"""A redirect of a shell's syntax tree goes in: the words that a command still gets behind it, and where its output then goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from compiler.adopt.shell.syntax import is_cut_off, raw_text
from compiler.value import Value


if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = frozenset(
    {
        "word",
        "number",
        "string",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "simple_expansion",
        "expansion",
        "arithmetic_expansion",
        "command_substitution",
        "process_substitution",
        "brace_expression",
    }
)
_CLOSING = frozenset({">&-", "<&-"})
_BOTH = frozenset({"&>", "&>>"})
_INTO = frozenset({">", ">>", ">|"})
_NAMED = {"/dev/stdout": "1", "/dev/stderr": "2", "/dev/fd/1": "1", "/dev/fd/2": "2"}


class Stream(Enum):
    """Where what is written arrives."""

    OUTPUT = "what is read of a command"
    ELSEWHERE = "a file, or the terminal"
    UNKNOWN = "known at the start only"


@frozen(kw_only=True, eq=False, repr=False)
class Streams(Value):
    """Where a command writes: by its first descriptor, and by its second."""

    output: Stream = Stream.OUTPUT
    errors: Stream = Stream.ELSEWHERE

    def behind(self, redirects: Iterable[Node]) -> Streams:
        """The same behind redirects, each of which sees what those before it did."""
        now = self
        for each in redirects:
            now = now._redirected(each)
        return now

    def _redirected(self, redirect: Node) -> Streams:
        signs = {each.type for each in redirect.children}
        inside = redirect.named_children
        own = inside[0] if inside and inside[0].type == "file_descriptor" else None
        number = raw_text(own) if own is not None else "1"
        goal = next((each for each in inside if each.type != "file_descriptor"), None)
        into = self._named(raw_text(goal)) if goal is not None else Stream.ELSEWHERE
        if signs & _BOTH:
            return Streams(output=into, errors=into)
        if ">&" in signs and goal is not None:
            name = raw_text(goal)
            if own is None and not name.isdecimal():
                into = self._named(name)
                return Streams(output=into, errors=into)
            into = self._numbered(name)
        elif ">&-" in signs:
            into = Stream.ELSEWHERE
        elif not signs & _INTO:
            return self
        if number == "1":
            return evolve(self, output=into)
        return evolve(self, errors=into) if number == "2" else self

    def _numbered(self, number: str) -> Stream:
        told = {"1": self.output, "2": self.errors}
        return told.get(number, Stream.UNKNOWN)

    def _named(self, name: str) -> Stream:
        name = name.strip("\"'")
        if name in _NAMED:
            return self._numbered(_NAMED[name])
        return Stream.UNKNOWN if "$" in name or "`" in name else Stream.ELSEWHERE


def redirects_of(node: Node) -> list[Node]:
    """The redirects of files that stand at a statement itself."""
    return [each for each in node.named_children if each.type == "file_redirect"]


def arguments_behind(redirect: Node) -> Iterator[Node]:
    """The words behind the file of a redirect: the grammar counts them to it, and a shell to the command."""
    words = [each for each in redirect.named_children if each.type in _WORDS]
    takes_one = redirect.type == "file_redirect" and not any(
        each.type in _CLOSING for each in redirect.children
    )
    at = 0
    if takes_one:
        at = 1
        while at < len(words) and is_cut_off(words[at - 1], words[at]):
            at += 1
    yield from words[at:]
