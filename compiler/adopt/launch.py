"""What a file of somebody's own says about a launch: words with their places, and what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from compiler.adopt.form import Form
from compiler.diagnostics import Diagnostic, Span
from compiler.engines.adopting import ChangeKind
from compiler.engines.found import Found
from compiler.source import Source
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Change(Value):
    """What became of a part that does not stand in the profile as it stood in the file.

    Attributes:
        first: whether it changes what the server does, or where it is found.
        brief: what it is about, where others may be said with it.
    """

    kind: ChangeKind
    text: str
    span: Span | None = None
    first: bool = False
    brief: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Kept(Value):
    """The file on the host that holds a variable.

    Attributes:
        path: as the launch names it.
        is_private: whether others cannot read it; `None` where that is not known.
        is_apart: whether the word's place only names it, or the variable in it.
        name: what the variable is called there, where the launch names it itself, as `${HF_TOKEN}`.
    """

    path: str
    is_private: bool | None = None
    is_apart: bool = False
    name: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Word(Value):
    """One word, unquoted.

    Attributes:
        text: what it says; what is not known stands in it as it is written.
        span: where it stands.
        unknown: the parts of it that are known at start only (`${PORT}`).
        changes: what was taken for granted to come to it.
        kept: the environment file that it comes from.
        names: the variables that it is made of.
    """

    text: str
    span: Span | None = None
    unknown: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    kept: Kept | None = None
    names: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Setting(Value):
    """A setting of the profile that the file decides, with its place."""

    path: tuple[str, ...]
    value: object
    span: Span | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Devices(Value):
    """The GPUs that a container is given.

    Attributes:
        indices: which of the host's; all of them when empty.
        count: how many of the first ones, where only that is said.
    """

    indices: tuple[int, ...] = ()
    count: int | None = None
    span: Span | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Mount(Value):
    """A folder or file of the host, and where a container has it.

    Attributes:
        what: what it is instead, where it is no folder of the host that has a path.
    """

    source: Word
    target: str
    what: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Port(Value):
    """A port of a container that is published: the host's address and number, where they are said, and its own."""

    address: str = ""
    outer: str = ""
    inner: str


@frozen(kw_only=True, eq=False, repr=False)
class Command(Value):
    """One command of a file, with what surrounds it.

    Attributes:
        words: program and arguments; what stands in front of the program, too.
        environment: the variables it gets, a later one of a name before an earlier.
        changes: what is already known not to be carried.
        settings: what else the file decides: the target, the description.
        image: the container's image, when it runs in one.
        devices: the GPUs that this container is given, where it says which.
        mounts: what the container has of the host's.
        form: how the lines are written that it stands in.
        ports: those that are published of the container's.
        is_hosts_network: whether its container has the network of the host.
        names: those of hosts that only what it stands in resolves.
        gpu: the kind of GPU that it asks for, in the words of a cluster.
        unit: the name of its unit, when it is one.
        findings: what is wrong with what it runs in.
        called: where its name stands, when it is one of several that have names; of a function where it is called.
        part: the lines that are about it: its service, its container, its section, its recipe.
        is_untaken: whether it stands in a branch that is known not to be taken.
        pinned: the release that its file installs.
    """

    words: tuple[Word, ...]
    environment: Mapping[str, Word] = field(factory=dict)
    changes: tuple[Change, ...] = ()
    settings: tuple[Setting, ...] = ()
    image: Word | None = None
    devices: Devices | None = None
    mounts: tuple[Mount, ...] = ()
    form: Form = Form.SHELL
    ports: tuple[Port, ...] = ()
    is_hosts_network: bool = False
    names: frozenset[str] = frozenset()
    gpu: Word | None = None
    unit: str | None = None
    findings: tuple[Diagnostic, ...] = ()
    called: Span | None = None
    part: Span | None = None
    is_untaken: bool = False
    pinned: Word | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Document(Value):
    """A file that a script writes.

    Attributes:
        name: as the script calls it; empty where it goes to another program.
        text: with the variables of the script replaced.
        is_exact: whether it stands in the script as it is.
        elsewhere: where the values stand that are put into it, as offsets.
    """

    name: str
    text: Word
    is_exact: bool
    elsewhere: tuple[tuple[int, int], ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Launch(Value):
    """The one command that starts an engine."""

    command: Command
    engine: str
    found: Found

    def noting(self, *changes: Change) -> Launch:
        """The same, with more of what is already known not to be carried."""
        return evolve(self, command=evolve(self.command, changes=(*self.command.changes, *changes)))


@frozen(kw_only=True, eq=False, repr=False)
class Sheet(Value):
    """All that was read: the commands, what is wrong, and the texts to show places in.

    Attributes:
        documents: the files that it writes.
        findings: what is to be said about the unit itself, whether it can be read or not.
    """

    commands: tuple[Command, ...] = ()
    documents: tuple[Document, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(factory=dict)
