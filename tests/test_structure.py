"""From merged values to a typed profile: each fault at its place, under its code, with the help that applies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import frozen

from compiler.diagnostics import Diagnostic, Label
from compiler.language.graph import link
from compiler.language.merge import Resolved, merge_graph
from compiler.language.settings import list_settings
from compiler.language.structure import check_fragment, structure_profile
from compiler.report.text import render_text
from compiler.source import Source


STORY = """\
schema = 1
extends = ["base"]

[model]
id = "moonshotai/Kimi-K2.6"
path = "/srv/models/Kimi-K2.6"

[serve]
context = 200_000

[targets.ct200]
kind = "systemd"
"""
BASE = """\
schema = 1

[gpus]
kind = "rtx-pro-6000-blackwell"
count = 8

[engine]
name = "sglang"
version = "0.5.11"

[memory]
fraction = 0.93
"""


@frozen
class Texts:
    """A reader of profiles that are given as text."""

    files: Mapping[str, str]

    def read(self, name: str) -> bytes | None:
        """The bytes of a profile."""
        text = self.files.get(name)
        return None if text is None else text.encode()

    def names(self) -> tuple[str, ...]:
        """All profiles."""
        return tuple(sorted(self.files))


def resolve(profile: str, base: str = BASE) -> Resolved:
    """Merge a profile, named `k`, that may extend `base`."""
    graph, faults = link(Texts({"k": profile, "base": base}), "k")
    assert graph is not None, faults
    resolved, faults = merge_graph(graph, list_settings=list_settings())
    assert resolved is not None, faults
    return resolved


def faults_of(profile: str, base: str = BASE) -> tuple[Diagnostic, ...]:
    """What is wrong with a profile."""
    made, faults = structure_profile(resolve(profile, base))
    assert (made is None) == bool(faults)
    return faults


def only_fault(extra: str) -> Diagnostic:
    """The one thing wrong with the story once this is added to it."""
    faults = faults_of(STORY + extra)
    assert len(faults) == 1, faults
    return faults[0]


def pointed_at(label: Label | None, profile: str, base: str = BASE) -> str:
    """The text a label stands under, on its first line."""
    assert label is not None
    text = {"profiles/k.toml": profile, "profiles/base.toml": base}[label.span.file]
    line = text.splitlines()[label.span.line - 1]
    end = label.span.end_column if label.span.end_line == label.span.line else len(line) + 1
    return line[label.span.column - 1 : end - 1]


def test_a_sound_profile_is_structured() -> None:
    """A profile without faults becomes a `Profile`, with its defaults filled in."""
    profile, faults = structure_profile(resolve(STORY))
    assert faults == ()
    assert profile is not None
    assert (profile.gpus.count, profile.serve.port, profile.memory.fraction) == (8, 30000, 0.93)


@pytest.mark.parametrize(
    ("extra", "code", "under", "summary"),
    [
        (
            "user = 1",
            "wrong-type",
            "1",
            "`targets.ct200.user`: expected a name, found a whole number",
        ),
        ('start_timeout = "soon"', "bad-value", '"soon"', "`soon` is no duration"),
        (
            "restarts = 0",
            "bad-value",
            "0",
            "`targets.ct200.restarts`: expected a value from 1 to 1000",
        ),
        ("[env]\nA = 1", "wrong-type", "1", "`env.A`: expected text, found a whole number"),
        (
            '[env]\nA = "a\\u0000"',
            "bad-value",
            '"a\\u0000"',
            "a control character (U+0000) at position 2",
        ),
        ('[env]\n1A = "a"', "bad-value", "1A", "`env.1A`: expected a variable's name"),
        ("[flags]\nx = [1, [2]]", "wrong-type", "[2]", "`flags.x[1]`: expected text or a number"),
        ("[flags]\n--x = true", "bad-value", "--x", "without dashes in front"),
        ("[flags]\nenable_x = true", "bad-value", "enable_x", "with `-` between words"),
        ('[flags]\n"a b" = true', "bad-value", '"a b"', "small letters, digits, and `-`"),
        ('[targets."a b"]\nkind = "systemd"', "bad-value", '[targets."a b"]', "a host's name"),
        (
            "[parallel]\ntensor = 0",
            "bad-value",
            "0",
            "`parallel.tensor`: expected a value from 1 to 1024",
        ),
        (
            "[gpus]\nindices = [0, -1]",
            "bad-value",
            "-1",
            "`gpus.indices[1]`: expected a value from 0 to 1023",
        ),
        ("[parsers]\ntool_call = { x = 1 }", "wrong-type", "{ x = 1 }", "found a table"),
        ('[speculative]\nalgorithm = "ddtre"', "bad-value", '"ddtre"', "found `ddtre`"),
    ],
)
def test_a_wrong_value_is_shown_where_it_stands(
    extra: str, code: str, under: str, summary: str
) -> None:
    """A wrong value is marked at the value, down to the item of a list; a wrong name at the key or its header."""
    fault = only_fault(extra)
    assert fault.code == code
    assert pointed_at(fault.primary, STORY + extra) == under
    assert summary in fault.summary


def test_a_fault_in_what_it_extends_is_shown_there() -> None:
    """A wrong value that comes from a fragment is marked in the fragment's file."""
    base = BASE.replace("count = 8", 'count = "8"')
    (fault,) = faults_of(STORY, base)
    assert pointed_at(fault.primary, STORY, base) == '"8"'
    assert fault.path == "gpus.count"


@pytest.mark.parametrize(
    ("extra", "under", "summary", "help_"),
    [
        (
            "[memory]\nfracton = 0.9",
            "fracton",
            "unknown setting `memory.fracton`",
            "a setting with a similar name exists: `memory.fraction`",
        ),
        (
            "[memory]\ncontext = 1",
            "context",
            "unknown setting `memory.context`",
            "a setting of this name exists: `serve.context`",
        ),
        (
            "[serve]\nkv-dtype = 1",
            "kv-dtype",
            "unknown setting `serve.kv-dtype`",
            "a setting of this name exists: `memory.kv_dtype`",
        ),
        (
            "[memori]\nfraction = 1",
            "memori",
            "unknown table `memori`",
            "a table with a similar name exists: `memory`",
        ),
        (
            "usr = 1",
            "usr",
            "unknown setting `targets.ct200.usr`",
            "a setting with a similar name exists: `targets.ct200.user`",
        ),
        (
            '[memory]\nextends = ["a"]',
            "extends",
            "unknown setting `memory.extends`",
            "`extends` belongs at the top of the file, in front of its first table",
        ),
    ],
)
def test_an_unknown_key_says_what_is_like_it(
    extra: str, under: str, summary: str, help_: str
) -> None:
    """An unknown key is marked at the key and told the setting that was probably meant, wherever that stands."""
    profile = STORY.replace("[serve]\ncontext = 200_000\n\n", "") + "\n" + extra
    base = BASE.replace("[memory]\nfraction = 0.93\n", "")
    rest = "" if "[memory]" in extra else "[memory]\nfraction = 0.93\n"
    base += rest + ("" if "[serve]" in extra else "[serve]\ncontext = 200_000\n")
    faults = [each for each in faults_of(profile, base) if each.code == "unknown-key"]
    assert [each.summary for each in faults] == [summary]
    assert pointed_at(faults[0].primary, profile, base).strip("[]") == under
    assert faults[0].help == (help_,)


def test_a_wrong_key_at_the_top_is_compared_with_the_files_own_words() -> None:
    """At the top of a file `extend` is told of `extends`, which is no setting."""
    (fault,) = faults_of(STORY.replace("schema = 1", "schema = 1\nextend = 1"))
    assert fault.help == ("a setting with a similar name exists: `extends`",)


def test_an_unknown_key_unlike_any_is_told_what_there_is() -> None:
    """With no similar name, the table's keys are listed, and `[flags]` is named for an engine's flag."""
    (fault,) = faults_of(STORY.replace("[serve]", "[serve]\nzzzz = 1"))
    assert fault.help[0].startswith("`[serve]` may hold `context`, `concurrency`")
    assert "`[flags]`" in fault.help[1]


def test_a_missing_setting_is_marked_at_its_table() -> None:
    """A required setting nobody gives is marked at the table that others opened, and help says where to put it."""
    profile = STORY.replace("context = 200_000", "port = 1")
    (fault,) = faults_of(profile)
    assert (fault.code, fault.path) == ("setting-missing", "serve.context")
    assert fault.summary == "required setting `serve.context` is not set"
    assert pointed_at(fault.primary, profile).strip("[]") == "serve"
    assert fault.help == (
        "put `context = ...` under `[serve]`, in this profile or in one it extends",
    )


def test_a_missing_table_names_each_setting_it_has_to_have() -> None:
    """When a whole table is missing, each of its required settings is, at the start of the profile."""
    faults = faults_of(STORY, "schema = 1\n[memory]\nfraction = 0.9\n")
    assert [each.path for each in faults] == [
        "engine.name",
        "engine.version",
        "gpus.count",
        "gpus.kind",
    ]
    for fault in faults:
        assert fault.primary is not None
        assert (fault.primary.span.file, fault.primary.span.line) == ("profiles/k.toml", 1)


def test_a_removed_setting_is_marked_at_its_removal() -> None:
    """A required setting that `unset` took away is marked there."""
    profile = STORY.replace("schema = 1", 'schema = 1\nunset = ["memory.fraction"]')
    (fault,) = faults_of(profile)
    assert (fault.code, fault.path) == ("setting-missing", "memory.fraction")
    assert pointed_at(fault.primary, profile) == '"memory.fraction"'


def test_what_an_optional_table_requires_is_missed_in_it() -> None:
    """A table that may be left out misses its required settings once it is there."""
    fault = only_fault("[speculative]\nblock_size = 8")
    assert (fault.code, fault.path) == ("setting-missing", "speculative.algorithm")


@pytest.mark.parametrize(
    "extra",
    [
        'secrets = "sk-abcdef"',
        '[secrets]\napi_key = "sk-abcdef"',
        '[secrets.api_key]\nvalue = "sk-abcdef"',
        '[secrets]\napi_key = { file = "sk-abcdef" }',
        '[secrets]\nhf_token = "sk-abcdef"',
        '[secrets]\nhf_token = { value = "sk-abcdef" }',
        '[secrets]\napi_key = { value = "sk-abcdef" }',
        '[secrets]\napi_key = ["sk-abcdef"]',
    ],
)
def test_an_inline_secret_is_refused_and_never_repeated(extra: str) -> None:
    """A secret given by its value is told to be given by its file, and no message holds any of it."""
    at_top = extra.startswith("secrets =")
    profile = STORY.replace("extends", f"{extra}\nextends") if at_top else STORY + extra
    faults = faults_of(profile)
    assert faults
    assert "abcdef" not in repr(faults)
    sources = {"profiles/k.toml": Source("profiles/k.toml", profile)}
    assert "abcdef" not in render_text(faults, sources=sources, colour=False, width=100)
    assert any("`api_key = { file =" in each for fault in faults for each in fault.help)


def test_all_faults_come_at_once_in_the_order_of_the_files() -> None:
    """One run shows every fault of a profile, sorted by file and place."""
    base = BASE.replace("0.93", '"0.93"').replace("count = 8", "count = 0")
    profile = STORY + "user = 1\nusr = 1\n"
    faults = faults_of(profile, base)
    assert [each.path for each in faults] == [
        "gpus.count",
        "memory.fraction",
        "targets.ct200.user",
        "targets.ct200.usr",
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("mem", "a table with a similar name exists: `memory`"),
        ("Memory", "a table with a similar name exists: `memory`"),
        ("memory_", "a table with a similar name exists: `memory`"),
        ("pool", "all that is in it belongs under `[memory]`"),
    ],
)
def test_a_misspelt_table_is_one_mistake(table: str, said: str) -> None:
    """The near table is named, and what is required in it is not asked for as well."""
    faults = faults_of(STORY, BASE.replace("[memory]", f"[{table}]"))
    assert [(each.code, each.help) for each in faults] == [("unknown-key", (said,))]


def test_a_misspelt_table_beside_the_right_one() -> None:
    """What it holds is not asked for; what neither holds is."""
    beside = "[memory]\npage_size = 64\n[mem]\n"
    base = BASE.replace("[memory]\n", beside)
    assert [each.path for each in faults_of(STORY, base)] == ["mem"]
    base = base.replace("fraction = 0.93", "max_pool_tokens = 1")
    assert [each.path for each in faults_of(STORY, base)] == ["mem", "memory.fraction"]


def test_what_is_not_set_comes_after_its_cause() -> None:
    """A key that is not known stands before the required one that it may be."""
    faults = faults_of(STORY, BASE.replace("fraction =", "share ="))
    assert [each.path for each in faults] == ["memory.share", "memory.fraction"]


def test_a_fragment_may_leave_out_what_is_required() -> None:
    """A fragment is not asked for what a deployable profile needs, but what it has must be right."""
    assert check_fragment(resolve(BASE)) == ()
    faults = check_fragment(resolve(BASE + "\n[speculative]\nblock_size = 0\nx = 1\n"))
    assert [each.code for each in faults] == ["bad-value", "unknown-key"]


def test_control_characters_of_a_key_do_not_reach_a_message() -> None:
    """A key that holds an escape sequence is spelled out in the summary."""
    fault = only_fault('"\\u001b[31m" = 1')
    assert "\x1b" not in fault.summary
    assert "\\u001b" in fault.summary


def test_the_real_profiles_are_sound() -> None:
    """Every profile of this repository is structured, and every fragment of it has sound keys and types."""
    root = Path(__file__).parent.parent / "profiles"
    files = {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in root.rglob("*.toml")
        if path.relative_to(root).parts[0] not in ("boots", "catalog")
    }
    deployable = 0
    for name in files:
        graph, faults = link(Texts(files), name)
        assert graph is not None, faults
        resolved, faults = merge_graph(graph, list_settings=list_settings())
        assert resolved is not None, faults
        if "targets" in resolved.values:
            deployable += 1
            assert structure_profile(resolved)[1] == ()
        assert check_fragment(resolved) == ()
    assert 0 < deployable < len(files)
