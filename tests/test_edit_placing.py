"""An edit by its place: one value changes, and every other value and line stays."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.edit.placing import Assignment, place
from compiler.edit.proof import stray_changes
from compiler.edit.witness import witnessed
from compiler.language.load import Document, load_document
from documents import documents
from examples import examples


class Memory:
    """A reader of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, name: str) -> bytes | None:
        """As in `Reader`."""
        del name
        return self.text.encode()

    def names(self) -> tuple[str, ...]:
        """As in `Reader`."""
        return ("x",)


def document_of(text: str) -> Document:
    document, faults = load_document(Memory(text), "x")
    assert document is not None, faults
    return document


def placed(text: str, *assignments: Assignment) -> str:
    """The text with new values, which are the only thing that changed."""
    before = document_of(text)
    after = place(before, assignments)
    assert stray_changes(before, document_of(after), assignments) == ()
    return after


FRACTION = Assignment(setting=("memory", "fraction"), written="0.93")
KV = Assignment(setting=("memory", "kv_dtype"), written='"fp8_e4m3"')
REQUESTS = Assignment(setting=("serve", "max_running_requests"), written="3")
NO_WAIVER = Assignment(setting=("accept",), written=None)
NO_DRAFT = Assignment(setting=("speculative",), written=None, inherited=True)


@pytest.mark.parametrize(
    ("before", "assignments", "after"),
    [
        # a key more at the end of a table, and the next table gone
        (
            '[memory]\nfraction = 0.9\n[accept]\nx = "y"\n[serve]\nport = 1\n',
            [FRACTION, KV, NO_WAIVER],
            '[memory]\nfraction = 0.93\nkv_dtype = "fp8_e4m3"\n[serve]\nport = 1\n',
        ),
        (
            'schema = 1\naccept = { x = "y" }\n[memory]\nfraction = 0.9\n',
            [KV, NO_WAIVER],
            'schema = 1\n[memory]\nfraction = 0.9\nkv_dtype = "fp8_e4m3"\n',
        ),
        # a value in its place, its comment kept
        ("[memory]\nfraction=0.9   # why\n", [FRACTION], "[memory]\nfraction=0.93   # why\n"),
        ("memory = { fraction = 0.9 } # c\n", [FRACTION], "memory = { fraction = 0.93 } # c\n"),
        ("memory.fraction = 0.9\n", [FRACTION], "memory.fraction = 0.93\n"),
        ("[memory]\nfraction = 0.9", [FRACTION], "[memory]\nfraction = 0.93"),
        # at the level that counts most
        (
            "[memory]\nfraction = 0.8\n[force.memory]\nfraction = 0.9\n",
            [FRACTION],
            "[memory]\nfraction = 0.8\n[force.memory]\nfraction = 0.93\n",
        ),
        ("[defaults.memory]\nfraction = 0.9\n", [FRACTION], "[defaults.memory]\nfraction = 0.93\n"),
        # a new key behind the last of its table, before what belongs to the next
        (
            "[memory]\n  fraction = 0.9\n\n# the host\n[targets.a]\n",
            [KV],
            '[memory]\n  fraction = 0.9\n  kv_dtype = "fp8_e4m3"\n\n# the host\n[targets.a]\n',
        ),
        ("[memory]\n", [KV, FRACTION], '[memory]\nkv_dtype = "fp8_e4m3"\nfraction = 0.93\n'),
        ("memory = {}\n", [FRACTION], "memory = { fraction = 0.93 }\n"),
        ("memory = {page_size = 1}\n", [FRACTION], "memory = {page_size = 1, fraction = 0.93}\n"),
        (
            "memory.page_size = 1\n[serve]\n",
            [FRACTION],
            "memory.page_size = 1\nmemory.fraction = 0.93\n[serve]\n",
        ),
        # a new table where the order of settings has it
        (
            "schema = 1\n\n[model]\nid = 'x'\n\n# the host\n[targets.a]\n",
            [KV, REQUESTS, FRACTION],
            """schema = 1\n\n[model]\nid = 'x'\n\n[serve]\nmax_running_requests = 3

[memory]\nkv_dtype = "fp8_e4m3"\nfraction = 0.93\n\n# the host\n[targets.a]\n""",
        ),
        ("schema = 1", [FRACTION], "schema = 1\n\n[memory]\nfraction = 0.93\n"),
        # a table that goes
        (
            "schema = 1\nextends = ['a']\n[serve]\nport = 1\n",
            [NO_DRAFT],
            "schema = 1\nextends = ['a']\nunset = [\"speculative\"]\n[serve]\nport = 1\n",
        ),
        ("unset = ['x', ]\n", [NO_DRAFT], "unset = ['x', \"speculative\" ]\n"),
        ("unset = []\n", [NO_DRAFT], 'unset = ["speculative"]\n'),
        ("[serve]\n", [NO_DRAFT], 'unset = ["speculative"]\n[serve]\n'),
        (
            "[speculative]\nalgorithm = 'dflash'\n[serve]\nport = 1\n",
            [Assignment(setting=("speculative",), written=None)],
            "[serve]\nport = 1\n",
        ),
        (
            "schema = 1\n\n[speculative]\nalgorithm = 'x' # c\n\n# kept\ndraft = 'y'\n\n[serve]\nport = 1\n",
            [Assignment(setting=("speculative",), written=None)],
            "schema = 1\n\n# kept\n[serve]\nport = 1\n",
        ),
        # what the file itself unset before
        (
            'unset = ["memory.fraction"]\n[memory]\npage_size = 1\n',
            [FRACTION],
            "[memory]\npage_size = 1\nfraction = 0.93\n",
        ),
        (
            'unset = ["a", "memory.fraction", "b"]\n',
            [FRACTION],
            'unset = ["a", "b"]\n\n[memory]\nfraction = 0.93\n',
        ),
        (
            'unset = ["a", "memory.fraction"]\n[memory]\n',
            [FRACTION],
            'unset = ["a"]\n[memory]\nfraction = 0.93\n',
        ),
        # other line ends
        (
            "[memory]\r\npage_size = 1\r\n",
            [FRACTION],
            "[memory]\r\npage_size = 1\r\nfraction = 0.93\r\n",
        ),
    ],
)
def test_an_edit_by_example(before: str, assignments: list[Assignment], after: str) -> None:
    """The new text is the old one with the least that there is to change, and means what tomlkit makes of it."""
    assert placed(before, *assignments) == after
    assert witnessed(document_of(before), document_of(after), assignments)


SETTINGS = st.sampled_from(
    [
        (("memory", "fraction"), "0.5"),
        (("memory", "kv_dtype"), '"auto"'),
        (("serve", "context"), "1_000"),
        (("parallel", "tensor"), "4"),
        (("gpus", "count"), "4"),
    ]
)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(documents(), st.lists(SETTINGS, min_size=1, max_size=3, unique_by=lambda each: each[0]))
def test_an_edit_of_any_document(text: str, wanted: list[tuple[tuple[str, str], str]]) -> None:
    """Whatever stands in the file: the values are there, and tomlkit comes to the same document."""
    assignments = [Assignment(setting=setting, written=written) for setting, written in wanted]
    after = placed(text, *assignments)
    assert witnessed(document_of(text), document_of(after), assignments)
    values = tomllib.loads(after)
    for (table, key), written in wanted:
        forced = values.get("force", {}).get(table, {}).get(key)
        plain = values.get(table, {}).get(key)
        weak = values.get("defaults", {}).get(table, {}).get(key)
        standing = next(each for each in (forced, plain, weak) if each is not None)
        assert standing == tomllib.loads(f"x = {written}")["x"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[memory]\nfraction = 0.9\n", "[memory]\nfraction = 0.93\npage_size = 1\n"),
        (
            "[memory]\nfraction = 0.9 # why\n[serve]\nport = 1\n",
            "[memory]\nfraction = 0.93 # why\n[serve]\nport = 1.0\n",
        ),
        ("# a\n[memory]\nfraction = 0.9\n", "[memory]\nfraction = 0.93\n"),
        (
            "[memory]\nfraction = 0.9\n[serve]\nport=1\n",
            "[memory]\nfraction = 0.93\n[serve]\nport = 1\n",
        ),
        ("[memory]\nfraction = 0.9\nport = 1\n", "[memory]\nfraction = 0.93\n"),
        ("[memory]\n\nfraction = 0.9\n", "[memory]\nfraction = 0.93\n"),
        ("[memory]\nfraction = 0.9\n", "[memory]\nfraction = 0.93\n[serve]\n"),
        (
            "extends = ['a']\nunset = ['b']\n[memory]\nfraction = 0.9\n",
            "extends = ['a']\n[memory]\nfraction = 0.93\n",
        ),
    ],
)
def test_a_stray_change_is_seen(before: str, after: str) -> None:
    """A value, its type, a comment, or the spacing of another line: the proof tells each."""
    assert stray_changes(document_of(before), document_of(after), (FRACTION,))


@pytest.mark.parametrize(
    "after",
    [
        "[memory]\nfraction = 0.94\npage_size = 1\n",
        "[memory]\nfraction = 0.93\npage_size = 1.0\n",
        "[memory]\nfraction = 0.93\n",
        "[memory]\nfraction = 0.93\npage_size = 1\n[serve]\n",
    ],
)
def test_the_witness_speaks_up(after: str) -> None:
    """Another value, another type, a key that went, and a table that came are each another document to tomlkit."""
    before = document_of("[memory]\nfraction = 0.9\npage_size = 1\n")
    assert not witnessed(before, document_of(after), (FRACTION,))
