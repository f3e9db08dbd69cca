"""Strict structuring: what is taken, what is refused, and that a document's faults all come at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any, Literal

import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.facts import Draft, Gpu, Gqa, Mla, Model
from compiler.language.shapes import is_control, say_type
from compiler.language.typed import Fault, FaultKind, structure_value
from compiler.profile import Argument, HostPath, Name, Profile, Text
from compiler.quantities import Duration
from compiler.ranges import Range
from examples import examples


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(200))

UNKNOWN_KEY, MISSING = FaultKind.UNKNOWN_KEY, FaultKind.MISSING
WRONG_TYPE, BAD_VALUE = FaultKind.WRONG_TYPE, FaultKind.BAD_VALUE


X, NAME, PATH = Text("x"), Name("x"), HostPath("/x")
SECOND = Duration(1)


class Colour(StrEnum):
    """An enum of ours."""

    RED = "red"
    GREEN = "green"


@frozen(kw_only=True)
class Inner:
    """A table in a table."""

    number: int
    text: str = "given"


@frozen(kw_only=True)
class All:
    """One field of each type."""

    whole: int = 0
    number: float = 0.0
    switch: bool = False
    text: Text = X
    plain: str = "x"
    name: Name = NAME
    path: HostPath = PATH
    word: Literal["auto", "bf16"] = "auto"
    colour: Colour = Colour.RED
    fraction: float | Literal["fit"] = 1.0
    default: str | int | float | bool | None = None
    argument: Argument = True
    wait: Duration = SECOND
    range: Range | None = None
    numbers: tuple[int, ...] = ()
    inners: tuple[Inner, ...] = ()
    inner: Inner | None = None
    texts: Mapping[str, Text] = field(factory=dict)
    tables: Mapping[str, Inner] = field(factory=dict)
    count: int = field(default=1, metadata={"at_least": 1, "at_most": 8})
    ports: tuple[int, ...] = field(default=(), metadata={"at_least": 1})
    pause: Duration = field(default=Duration(1), metadata={"at_most": Duration(3600)})


@frozen(kw_only=True)
class Strict:
    """A table with required keys."""

    number: int
    inner: Inner
    name: Name
    colour: Colour = Colour.RED


def only_fault(values: dict[str, Any], cls: type[Any] = All) -> Fault:
    """The one fault of a document."""
    made, faults = structure_value(values, cls)
    assert made is None
    assert len(faults) == 1, faults
    return faults[0]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("whole", 8, 8),
        ("number", 0.5, 0.5),
        ("switch", True, True),
        ("text", "ein Wort, zwei Wörter", "ein Wort, zwei Wörter"),
        ("name", "Kimi-K2.6_x", "Kimi-K2.6_x"),
        ("path", "/srv/models/Kimi K2 100%", "/srv/models/Kimi K2 100%"),
        ("word", "bf16", "bf16"),
        ("colour", "green", Colour.GREEN),
        ("fraction", 0.93, 0.93),
        ("fraction", "fit", "fit"),
        ("default", "", ""),
        ("default", False, False),
        ("default", 3, 3),
        ("argument", False, False),
        ("argument", 3, 3),
        ("argument", "", ""),
        ("argument", ["a", 1, 0.5], ("a", "1", "0.5")),
        ("wait", "1h 30min", Duration(5400)),
        ("range", {"low": 1, "best": 2.5, "high": 3}, Range(1.0, 2.5, 3.0)),
        ("range", 94.08, Range(94.08, 94.08, 94.08)),
        ("numbers", [1, 2], (1, 2)),
        ("inners", [{"number": 1}], (Inner(number=1),)),
        ("inner", {"number": 1, "text": "t"}, Inner(number=1, text="t")),
        ("texts", {"A": "", "B": "b"}, {"A": "", "B": "b"}),
        ("tables", {"a": {"number": 1}}, {"a": Inner(number=1)}),
        ("count", 8, 8),
        ("pause", "1h", Duration(3600)),
    ],
)
def test_a_value_of_the_right_type_is_taken(key: str, value: object, expected: object) -> None:
    """A value of the type asked for is taken as it is, in our own form."""
    made, faults = structure_value({key: value}, All)
    assert faults == ()
    got = getattr(made, key)
    assert got == expected
    assert type(got) is type(expected)


def test_a_whole_number_may_stand_for_a_float() -> None:
    """A whole number is fine where a float is wanted, and is stored as one."""
    made, faults = structure_value({"number": 1, "fraction": 1}, All)
    assert faults == ()
    assert made is not None
    assert (type(made.number), type(made.fraction)) == (float, float)


@pytest.mark.parametrize(
    ("key", "value", "expected", "found"),
    [
        ("whole", "8", "a whole number", "text"),
        ("whole", 1.0, "a whole number", "a number with a fraction"),
        ("whole", True, "a whole number", "`true`"),
        ("number", "0.5", "a number", "text"),
        ("number", False, "a number", "`false`"),
        ("switch", 1, "`true` or `false`", "a whole number"),
        ("switch", "false", "`true` or `false`", "text"),
        ("text", 1, "text", "a whole number"),
        ("text", ["a"], "text", "a list"),
        ("text", date(2026, 1, 1), "text", "a date or a time"),
        ("name", 1, "a name", "a whole number"),
        ("path", {}, "an absolute path", "a table"),
        ("word", 1, "`auto` or `bf16`", "a whole number"),
        ("colour", 1, "`red` or `green`", "a whole number"),
        ("fraction", True, "a number or `fit`", "`true`"),
        ("fraction", [], "a number or `fit`", "a list"),
        ("argument", {}, "`true` or `false`, a number, text, or a list of words", "a table"),
        ("wait", 30, "a duration such as `30min`", "a whole number"),
        ("range", "1", "a number, or a table of `low`, `best`, and `high`", "text"),
        ("range", True, "a number, or a table of `low`, `best`, and `high`", "`true`"),
        ("numbers", 1, "a list of whole numbers", "a whole number"),
        ("inner", "x", "a table", "text"),
        ("texts", "x", "a table", "text"),
    ],
)
def test_another_type_is_refused(key: str, value: object, expected: str, found: str) -> None:
    """Nothing is coerced: a value of another type is a fault that says what was expected and what was found."""
    fault = only_fault({key: value})
    assert fault == Fault((key,), WRONG_TYPE, f"expected {expected}, found {found}")


@pytest.mark.parametrize(
    ("key", "value", "wording"),
    [
        ("whole", 2**63, "64 bits"),
        ("number", float("inf"), "finite"),
        ("number", float("nan"), "finite"),
        ("number", 2**63, "64 bits"),
        ("fraction", float("nan"), "finite"),
        ("argument", float("-inf"), "finite"),
        ("text", "a\0", "U+0000) at position 2"),
        ("text", "a\nb", "U+000A) at position 2"),
        ("text", "a\x7f", "U+007F"),
        ("text", "a\u0085", "U+0085"),
        ("text", "a\u2028", "U+2028"),
        ("text", "", "empty"),
        ("plain", "", "empty"),
        ("argument", "a\nb", "U+000A"),
        ("name", "", "letters"),
        ("name", "-x", "letter or a digit first"),
        ("name", "a b", "letters"),
        ("name", "a\n", "letters"),
        ("name", "a" * 201, "at most 200"),
        ("path", "srv/models", "starts with `/`"),
        ("path", "~/models", "starts with `/`"),
        ("path", "/", "slash at its end"),
        ("path", "/srv/", "slash at its end"),
        ("path", "/srv/../etc", "`..`"),
        ("path", "/srv/./etc", "`..`"),
        ("path", "//srv", "`//`"),
        ("path", "/a\0", "U+0000"),
        ("path", "/" + "ä" * 2048, "4095 bytes"),
        ("wait", "30", "is no duration"),
        ("wait", "9" * 400 + "h", "too long"),
        ("wait", "1\nmin", "U+000A"),
        ("range", {"low": 2, "best": 1, "high": 3}, "`low` <= `best` <= `high`"),
        ("count", 0, "from 1 to 8"),
        ("count", 9, "from 1 to 8"),
        ("pause", "2h", "at most 1h"),
    ],
)
def test_a_value_that_cannot_be_is_refused(key: str, value: object, wording: str) -> None:
    """A value of the right type that makes no sense is a fault of its own kind, at its own path."""
    fault = only_fault({key: value})
    assert (fault.path, fault.kind) == ((key,), BAD_VALUE)
    assert wording in fault.message


@pytest.mark.parametrize(
    ("key", "value", "path", "kind"),
    [
        ("numbers", [1, "2", 3], ("numbers", 1), WRONG_TYPE),
        ("ports", [1, 0], ("ports", 1), BAD_VALUE),
        ("argument", ["a", True], ("argument", 1), WRONG_TYPE),
        ("argument", ["a", []], ("argument", 1), WRONG_TYPE),
        ("argument", ["a\n"], ("argument", 0), BAD_VALUE),
        ("inners", [{"number": 1}, {}], ("inners", 1, "number"), MISSING),
        ("inner", {"number": "1"}, ("inner", "number"), WRONG_TYPE),
        ("tables", {"a": {"number": 1, "x": 1}}, ("tables", "a", "x"), UNKNOWN_KEY),
        ("texts", {"A": 1}, ("texts", "A"), WRONG_TYPE),
        ("range", {"low": 1, "best": 2, "high": "3"}, ("range", "high"), WRONG_TYPE),
        ("range", {"low": 1, "high": 3}, ("range", "best"), MISSING),
    ],
)
def test_a_fault_has_the_whole_path(
    key: str, value: object, path: tuple[str | int, ...], kind: FaultKind
) -> None:
    """A fault inside tables and lists carries every key and index on the way to it."""
    fault = only_fault({key: value})
    assert (fault.path, fault.kind) == (path, kind)


def test_all_faults_come_at_once() -> None:
    """An unknown key, a missing one, a wrong type and a bad value are reported together, in tables too."""
    made, faults = structure_value(
        {"nmae": 1, "number": "8", "inner": {"text": 1, "more": 1}, "colour": "blue"}, Strict
    )
    assert made is None
    assert {(each.path, each.kind) for each in faults} == {
        (("nmae",), UNKNOWN_KEY),
        (("name",), MISSING),
        (("number",), WRONG_TYPE),
        (("inner", "number"), MISSING),
        (("inner", "text"), WRONG_TYPE),
        (("inner", "more"), UNKNOWN_KEY),
        (("colour",), BAD_VALUE),
    }


def test_an_unknown_key_has_the_near_one() -> None:
    """The fault of an unknown key names the key of the same table that is like it."""
    assert only_fault({"fracton": 0.9}).near == "fraction"
    assert only_fault({"zzz": 0.9}).near is None


def test_a_word_that_is_none_of_the_choices_has_the_near_one() -> None:
    """The fault of a wrong word lists the choices, repeats the word, and names the near one."""
    fault = only_fault({"word": "fb16"})
    assert fault.message == "expected `auto` or `bf16`, found `fb16`"
    assert fault.near == "bf16"


def test_a_wrong_word_beside_another_type_lists_both() -> None:
    """Where a number or a word may stand, a wrong word is told of both."""
    fault = only_fault({"fraction": "fat"})
    assert fault.message == "expected a number or `fit`, found `fat`"
    assert (fault.kind, fault.near) == (BAD_VALUE, "fit")


def test_a_wrong_word_is_shown_harmlessly() -> None:
    """A wrong word is cut when it is long, and its control characters are spelled out."""
    assert only_fault({"word": "\x1b[31m"}).message.endswith("found `\\u001b[31m`")
    assert only_fault({"word": "x" * 1000}).message.endswith("x...`")


@pytest.mark.parametrize("secret", ["sk-abcdef", "/sk/../abcdef", "sk-abcdef\n"])
@pytest.mark.parametrize("cls_key", ["path", "whole", "name", "inner", "numbers"])
def test_a_value_is_not_repeated(cls_key: str, secret: str) -> None:
    """A message about a path, a name or a type never repeats the value, which may be a secret."""
    _, faults = structure_value({cls_key: secret}, All)
    for fault in faults:
        assert "abcdef" not in fault.message


def model_values(attention: object) -> dict[str, object]:
    """A model's file with this attention."""
    return {
        "id": "a/b",
        "architecture": "A",
        "context": 4096,
        "vocabulary": 1000,
        "hidden": 64,
        "layers": 2,
        "dense_layers": 0,
        "intermediate": 128,
        "heads": 4,
        "attention": attention,
        "checkpoint_gb": 1.5,
    }


GQA = {"kv_heads": 2, "head_dim": 16, "v_head_dim": 16}


def test_the_kind_picks_the_variant() -> None:
    """A table of one class or another says with `kind` which it is."""
    model, faults = structure_value(model_values({"kind": "gqa", **GQA}), Model)
    assert faults == ()
    assert model is not None
    assert model.attention == Gqa(kv_heads=2, head_dim=16, v_head_dim=16)


def test_only_the_picked_variant_reports() -> None:
    """Once the variant is picked, only what that variant expects is reported."""
    _, faults = structure_value(model_values({"kind": "mla", "kv_lora_rank": 512, "x": 1}), Model)
    assert {each.path[-1] for each in faults if each.kind is MISSING} == {
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "v_head_dim",
        "q_lora_rank",
    }
    assert [each.path for each in faults if each.kind is UNKNOWN_KEY] == [("attention", "x")]


@pytest.mark.parametrize(
    ("attention", "path", "kind"),
    [
        (GQA, ("attention", "kind"), MISSING),
        ({"kind": "mha", **GQA}, ("attention", "kind"), BAD_VALUE),
        ({"kind": 1, **GQA}, ("attention", "kind"), WRONG_TYPE),
        ("gqa", ("attention",), WRONG_TYPE),
    ],
)
def test_without_a_variant_only_the_kind_is_reported(
    attention: object, path: tuple[str, ...], kind: FaultKind
) -> None:
    """As long as it is not known which class a table is, nothing else about it is reported."""
    fault = only_fault(model_values(attention), Model)
    assert (fault.path, fault.kind) == (path, kind)


def test_a_class_that_stands_alone_may_say_its_kind() -> None:
    """Where only one class may stand, its `kind` may be given, and must be right."""
    values = {**model_values(GQA), "algorithms": ["dflash"], "targets": ["a/b"], "block_size": 8}
    for key in ("architecture", "vocabulary", "dense_layers", "checkpoint_gb"):
        del values[key]
    values["taps"] = 2
    for attention in (GQA, {"kind": "gqa", **GQA}):
        draft, faults = structure_value({**values, "attention": attention}, Draft)
        assert faults == ()
        assert draft is not None
        assert draft.attention == Gqa(kv_heads=2, head_dim=16, v_head_dim=16)
    fault = only_fault({**values, "attention": {"kind": "mla", **GQA}}, Draft)
    assert fault.path == ("attention", "kind")


def test_given_fields_are_not_the_documents() -> None:
    """A field that the caller gives is set, and an unknown key where the document tries to."""
    values = {
        "id": "x",
        "names": ["X"],
        "total_mib": 1,
        "compute_capability": "9.0",
        "multiprocessors": 1,
        "interconnect": "pcie",
    }
    gpu, _ = structure_value(values, Gpu, given={"shipped": False})
    assert gpu is not None
    assert gpu.shipped is False
    _, faults = structure_value({**values, "shipped": True}, Gpu, given={"shipped": False})
    assert [(each.path, each.kind) for each in faults] == [(("shipped",), UNKNOWN_KEY)]


def test_the_types_are_said_in_words() -> None:
    """Each type has a wording for people, with an Oxford comma in a choice."""
    assert say_type(Literal["a", "b", "c"]) == "`a`, `b`, or `c`"
    assert say_type(Mla | Gqa) == "a table"
    assert say_type(tuple[str, ...]) == "a list of texts"
    assert say_type(int | None) == "a whole number"


JSONLIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["number", "text", "low", "best", "high", "kind", "x"]), inner
        )
    ),
    max_leaves=8,
)
FIELDS = [each.name for each in All.__attrs_attrs__]


@pytest.mark.slow
@PROPERTY
@given(st.dictionaries(st.sampled_from([*FIELDS, "other"]), JSONLIKE))
def test_no_document_makes_it_fall_over(values: dict[str, Any]) -> None:
    """Whatever a document holds, there is either a value or a fault, and each fault points below a key of it."""
    made, faults = structure_value(values, All)
    assert (made is None) == bool(faults)
    for fault in faults:
        assert fault.path[0] in values


@PROPERTY
@given(st.text())
def test_text_is_kept_or_refused_for_a_control_character(text: str) -> None:
    """A text comes out as it went in, unless it is empty or holds a control character."""
    made, _ = structure_value({"text": text}, All)
    if not text or any(map(is_control, text)):
        assert made is None
    else:
        assert made is not None
        assert made.text == text


def test_a_profile_is_structured_quickly_from_cold() -> None:
    """The first profile of a process takes few milliseconds: no code is generated for its classes."""
    program = f"""
import sys, time
sys.path[:0] = {sys.path!r}
from compiler.profile import Profile
from compiler.language.typed import structure_value
values = {STORY!r}
start = time.process_time()
profile, faults = structure_value(values, Profile)
taken = time.process_time() - start
assert not faults, faults
print(taken)
"""
    taken = min(
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        )
        for _ in range(3)
    )
    assert taken < 0.015


STORY = {
    "model": {"id": "moonshotai/Kimi-K2.6", "path": "/srv/models/Kimi-K2.6"},
    "gpus": {"kind": "rtx-pro-6000-blackwell", "count": 8},
    "engine": {"name": "sglang", "version": "0.5.11", "build": "ddtree", "python": "/opt/python"},
    "parallel": {"tensor": 8},
    "serve": {"context": 200_000, "concurrency": 1, "max_running_requests": 8},
    "memory": {"fraction": 0.93, "kv_dtype": "auto", "chunked_prefill": 8192},
    "speculative": {"algorithm": "ddtree", "draft": "z-lab/Kimi-K2.6-DFlash", "block_size": 8},
    "parsers": {"tool_call": "kimi_k2", "reasoning": "kimi_k2"},
    "env": {"NCCL_P2P_LEVEL": "SYS"},
    "flags": {"enable-metrics": True},
    "secrets": {"api_key": {"file": "/etc/poolproof/secrets/k26.yaml"}},
    "targets": {"ct200": {"kind": "systemd", "user": "sglang", "start_timeout": "30min"}},
}


def test_the_story_is_a_profile() -> None:
    """The profile this project is about is taken whole."""
    profile, faults = structure_value(STORY, Profile)
    assert faults == ()
    assert profile is not None
    assert profile.targets["ct200"].start_timeout == Duration(1800)
    assert profile.flags == {"enable-metrics": True}
