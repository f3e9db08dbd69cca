"""What is offered for a name that is not there: a slip's own name, and nothing where there was no slip."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.catalog import Kind, open_catalog
from compiler.cli.commands import VERBS
from compiler.explain import codes
from compiler.language.settings import all_settings
from compiler.near import in_any_case, is_mistyped, near
from compiler.origins import dotted
from examples import examples


@cache
def names_of(kind: str) -> tuple[str, ...]:
    catalog = open_catalog()
    names: dict[str, Callable[[], Iterable[str]]] = {
        "verb": lambda: VERBS,
        "code": codes,
        "gpu": lambda: catalog.ids(Kind.GPU),
        "model": lambda: catalog.ids(Kind.MODEL),
        "setting": lambda: (dotted(each.path) for each in all_settings()),
    }
    return tuple(names[kind]())


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        ("verb", "chekc", "check"),
        ("verb", "complie", "compile"),
        ("verb", "explian", "explain"),
        ("code", "pool-small", "pool-too-small"),
        ("code", "pool-to-small", "pool-too-small"),
        ("code", "port-clsh", "port-clash"),
        ("code", "gpu-overcommit", "gpu-overcommitted"),
        ("gpu", "h-100", "h100"),
        ("gpu", "rtx4090", "rtx-4090"),
        ("gpu", "rtx-pro-6000", "rtx-pro-6000-blackwell"),
        ("gpu", "3090", "rtx-3090"),
        ("model", "acme/Qwen3-32B-chat", "Qwen/Qwen3-32B"),
        ("model", "qwen/qwen3-32B", "Qwen/Qwen3-32B"),
        ("model", "Qwen/Qwen3-32b-FP", "Qwen/Qwen3-32B-FP8"),
        ("model", "moonshot/Kimi-K2.6", "moonshotai/Kimi-K2.6"),
        ("model", "gpt-oss-120", "openai/gpt-oss-120b"),
        ("setting", "memory.fracton", "memory.fraction"),
        ("setting", "memory.kv_cache_dtype", "memory.kv_dtype"),
        ("setting", "serve.max_runing_request", "serve.max_running_requests"),
    ],
)
def test_a_slip_is_told(kind: str, name: str, meant: str) -> None:
    """A letter or two, or a word that is missing or too many, leads to the name that was meant."""
    assert near(name, names_of(kind)) == meant


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("verb", "deploy"),
        ("verb", "remove"),
        ("verb", "start"),
        ("code", "nope"),
        ("code", "memory"),
        ("code", "out-of-memory"),
        ("gpu", "rtx-6000-turing"),
        ("gpu", "p100-16gb"),
        ("gpu", "gaudi3"),
        ("model", "nope"),
        ("model", "acme/secret-7B"),
        ("setting", "serve.nope"),
        ("setting", "nope"),
        ("setting", "memory.pages"),
    ],
)
def test_another_name_is_not_offered(kind: str, name: str) -> None:
    """What is only spelt of much the same letters is not called similar."""
    assert near(name, names_of(kind)) is None


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(kind=st.sampled_from(["verb", "code", "gpu", "setting"]), data=st.data())
def test_a_name_with_two_letters_swapped_is_known_again(kind: str, data: st.DataObject) -> None:
    """Any name of six letters and more is offered for itself with two letters the wrong way round, or one as near is."""
    name = data.draw(st.sampled_from([each for each in names_of(kind) if len(each) > 5]))
    at = data.draw(st.integers(min_value=0, max_value=len(name) - 2))
    slip = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    assert near(slip, names_of(kind)) is not None


@pytest.mark.parametrize(
    ("name", "meant", "is_slip"),
    [
        ("Qwen/Qwen3-32", "Qwen/Qwen3-32B", True),
        ("qwen/qwen3-32b", "Qwen/Qwen3-32B", True),
        ("Qwen/Qwne3-32B", "Qwen/Qwen3-32B", True),
        ("a/b-8B-Instrct", "a/b-8B-Instruct", True),
        ("zai-org/GLM-4.6", "zai-org/GLM-4.6V", False),
        ("acme/gemma3", "acme/gemma3n", False),
        ("deepseek-ai/DeepSeek-V1", "deepseek-ai/DeepSeek-R1", False),
        ("google/gemma-3-27b-pt", "google/gemma-3-27b-it", False),
        ("Qwen/Qwen3-33B", "Qwen/Qwen3-32B", False),
        ("acme/Qwen3-32B", "Qwen/Qwen3-32B", False),
        ("Qwen/Qwen3-32B-chat", "Qwen/Qwen3-32B", False),
    ],
)
def test_what_is_surely_mistyped(name: str, meant: str, *, is_slip: bool) -> None:
    """A letter of a long word, or of a size; never a number, a short word, or a word more, which name other models."""
    assert is_mistyped(name, meant) is is_slip


def test_a_name_in_any_case() -> None:
    """Capitals alone make no other name, unless several have it."""
    assert in_any_case("H100", ("h100", "h200")) == "h100"
    assert in_any_case("A", ("a", "A")) == "A"
    assert in_any_case("Ab", ("aB", "AB")) == "Ab"
