"""What a page of the documentation shows: its blocks, the comments that mark them, and a scratch tree that they are done in.

A block is ```` ```LANGUAGE ````. Comments of HTML on the lines right above it mark it:

    <!-- not run: REASON -->    commands for a host, for a code host, or for a network
    <!-- exits: N -->           the last command ends so; without it all end with 0
    <!-- file: PATH -->         the block is this file
    <!-- edit: PATH -->         TOML: the file has these values from here on
    <!-- from: PATH -->         each line is in this file of the repository

A text block right below commands is what they print. `...` in it stands for any text, and on a line of its own for any
lines.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import tomlkit
from attrs import Factory, define, frozen

from checkouts import REPOSITORY, run
from compiler.cli.commands import VERBS


MARKS = ("not run", "exits", "file", "edit", "from")
_BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- [^\n]* -->\n)*)^(?P<fence>`{3,})(?P<language>\S*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^<!-- (?P<name>[a-z ]+): (?P<value>.*) -->$", re.MULTILINE)
_VERB = re.compile(r"\bpoolproof (?P<verb>[a-z]+)")
_OF_A_SHELL = re.compile(r"[|<>&;$*~]")
_GIT: Mapping[str, str] = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Reader"), ("EMAIL", "reader@example.com"))
} | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


@frozen(kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        line: of its fence, counted from 1.
        follows: whether it stands right below the block before it.
    """

    language: str
    text: str
    line: int
    marks: Mapping[str, str]
    follows: bool

    @property
    def commands(self) -> tuple[str, ...]:
        """Its lines with continued ones joined; none are comments."""
        lines = self.text.replace("\\\n", " ").split("\n")
        return tuple(each for each in lines if each.strip() and not each.startswith("#"))

    @property
    def is_output(self) -> bool:
        """Whether it is what the block before it prints."""
        return self.language in ("", "text", "toml", "markdown") and self.follows and not self.marks


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page in order."""
    end = 0
    for found in _BLOCK.finditer(page):
        marks = {each["name"]: each["value"] for each in _MARK.finditer(found["marks"])}
        assert set(marks) <= set(MARKS), f"no such mark: {sorted(set(marks) - set(MARKS))}"
        yield Block(
            language=found["language"],
            text=found["text"],
            line=page.count("\n", 0, found.start("fence")) + 1,
            marks=marks,
            follows=end > 0 and not page[end : found.start()].strip(),
        )
        end = found.end()


def prose(page: str) -> str:
    """A page without its blocks."""
    return _BLOCK.sub("", page)


@define
class Scratch:
    """A reader's folder, in which a page is done as it is read.

    Attributes:
        root: where the reader begins; the shell and its `poolproof` are this Python's.
        printed: by the commands of the last block; none when one of them was not run.
    """

    root: Path
    folder: Path = Factory(lambda self: self.root, takes_self=True)
    printed: str | None = None

    def follow(self, page: str) -> None:
        """Do all that a page says, and hold what comes of it against what the page shows."""
        for block in blocks(page):
            try:
                self._meet(block)
            except AssertionError as failure:
                raise AssertionError(f"the block at line {block.line}: {failure}") from failure

    def _meet(self, block: Block) -> None:
        marks = block.marks
        if block.language == "sh":
            self.printed = None if "not run" in marks else ""
            for number, command in enumerate(block.commands, start=1):
                is_last = number == len(block.commands)
                if "not run" not in marks:
                    self._do(command, exits=int(marks.get("exits", 0)) if is_last else 0)
        elif "file" in marks:
            path = self.folder / marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif "edit" in marks:
            edit(self.folder / marks["edit"], block.text)
        elif "from" in marks:
            text = (REPOSITORY / marks["from"]).read_text("utf-8")
            compare(block.text, text)
        elif block.is_output and self.printed is not None:
            compare(block.text, self.printed)
        elif block.language == "toml" and not block.is_output and "not run" not in marks:
            self._check_fragment(block)

    def _check_fragment(self, block: Block) -> None:
        """Settings that are shown by themselves are those of a fragment."""
        path = self.folder / "profiles/shown" / f"line-{block.line}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"schema = 1\n{block.text}", "utf-8")
        done = run("check", f"shown/{path.stem}", here=self.folder)
        path.unlink()
        assert done.code == 0, done.err

    def _do(self, command: str, *, exits: int) -> None:
        words = shlex.split(command, comments=True)
        if any(found["verb"] not in VERBS for found in _VERB.finditer(command)):
            self.printed = None  # not in this version: nothing is known of what is shown
        elif words[0] == "cd":
            self.folder = (self.folder / words[1]).resolve()
        elif words[0] == "poolproof" and not _OF_A_SHELL.search(command.partition(" #")[0]):
            done = run(*words[1:], here=self.folder, **_GIT)
            self._note(command, done.code, done.out + done.err, exits=exits)
        else:
            ours = self.root.with_name("bin")
            ours.mkdir(exist_ok=True)
            shim = ours / "poolproof"
            shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m compiler "$@"\n', "utf-8")
            shim.chmod(0o755)
            shell = subprocess.run(
                ["bash", "-ec", command],
                cwd=self.folder,
                env={
                    "PATH": f"{ours}{os.pathsep}{os.environ['PATH']}",
                    "PYTHONPATH": str(REPOSITORY),
                    "COLUMNS": "100",
                    **_GIT,
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            self._note(command, shell.returncode, shell.stdout + shell.stderr, exits=exits)

    def _note(self, command: str, code: int, printed: str, *, exits: int) -> None:
        assert code == exits, f"`{command}` exits {code}\n{printed}"
        if self.printed is not None:
            self.printed += printed


def edit(path: Path, text: str) -> None:
    """Give a file the values of a TOML text, and leave the rest of it as it is."""
    document = tomlkit.parse(path.read_text("utf-8"))
    for key, value in tomlkit.parse(text).items():
        if isinstance(value, dict) and key in document:
            document[key].update(value)
        else:
            document[key] = value
    path.write_text(tomlkit.dumps(document), "utf-8")


def compare(shown: str, printed: str) -> None:
    """Each line that is shown was printed."""
    lines = [each.rstrip() for each in printed.split("\n")]
    for wanted in shown.rstrip("\n").split("\n"):
        pattern = ".*".join(re.escape(part) for part in wanted.rstrip().split("..."))
        is_there = any(re.fullmatch(pattern, each) for each in lines)
        assert is_there, f"not printed: {wanted}\nbut:\n{printed}"
