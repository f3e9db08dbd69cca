"""What `check` says about flags that another release had: the name, the value, or the words to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compiler.catalog import Catalog
from compiler.catalog.moves import Move, read_moves, releases_with
from compiler.checks.table import value_fault
from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.arguments import make_parser
from compiler.facts import Action, Flag
from deployments import check_text


SHARED = Path(__file__).parent / "rules" / "shared"
PROFILE = """schema = 1
extends = ["base/kimi-k2.6", "base/service", "base/sglang-plain", "hw/8x-rtx-pro-6000"]
description = "a profile of another release"

[serve]
context = 32_768
concurrency = 1
max_running_requests = 8

[memory]
fraction = 0.85
{memory}

[engine]
version = "{version}"

[flags]
{flags}

[targets.ct200]
kind = "systemd"
user = "sglang"
"""


def flag_findings(
    profiles: Path, catalog: Catalog, *, version: str, flags: str = "", memory: str = ""
) -> list[Diagnostic]:
    """The findings about flags, for a profile with these lines."""
    text = PROFILE.format(version=version, flags=flags, memory=memory)
    found = check_text(profiles, text, catalog=catalog).all_diagnostics
    return [each for each in found if each.code.startswith("flag-")]


def raw(found: list[Diagnostic]) -> list[Diagnostic]:
    """Those about flags that the profile gives by name."""
    return [each for each in found if each.path is not None and each.path.startswith("flags.")]


@pytest.mark.parametrize(
    ("version", "flag", "summary", "help_"),
    [
        (
            "0.5.23",
            'nsa-decode-backend = "flashmla_kv"',
            "sglang 0.5.23 has no flag `--nsa-decode-backend`",
            'write `dsa-decode-backend = "flashmla_kv"` in its place',
        ),
        (
            "0.5.20",
            'nsa-prefill-cp-mode = "in-seq-split"',
            "sglang 0.5.20 has no flag `--nsa-prefill-cp-mode`",
            'write `cp-strategy = "zigzag"` in its place',
        ),
        (
            "0.5.20",
            "disable-piecewise-cuda-graph = true",
            "sglang 0.5.20 has no flag `--disable-piecewise-cuda-graph`",
            'write `cuda-graph-backend-prefill = "disabled"` in its place',
        ),
        (
            "0.5.11",
            "cuda-graph-bs-decode = [1, 2, 4]",
            "sglang 0.5.11 has no flag `--cuda-graph-bs-decode`",
            "write `cuda-graph-bs = [1, 2, 4]` in its place",
        ),
        (
            "0.5.3",
            "enable-deepep-moe = true",
            "sglang 0.5.3 refuses the flag `--enable-deepep-moe`",
            'write `moe-a2a-backend = "deepep"` in its place',
        ),
        (  # a setting writes the new one
            "0.5.11",
            "enable-flashinfer-mla = true",
            "sglang 0.5.11 has no flag `--enable-flashinfer-mla`",
            'set `engine.attention_backend = "flashinfer"` in its place',
        ),
        (  # a flag without a value became one with a number
            "0.5.23",
            "enable-ep-moe = true",
            "sglang 0.5.23 has no flag `--enable-ep-moe`",
            "`--ep-size` took its place, and takes a whole number",
        ),
        (  # the number means something else
            "0.5.23",
            "speculative-ngram-branch-length = 18",
            "sglang 0.5.23 has no flag `--speculative-ngram-branch-length`",
            "`--speculative-ngram-max-trie-depth` took its place, and takes a whole number",
        ),
        (  # a flag with a value became one without
            "0.5.23",
            "multi-item-scoring-delimiter = 198",
            "sglang 0.5.23 has no flag `--multi-item-scoring-delimiter`",
            "write `enable-mis = true` in its place",
        ),
        (  # a text that TOML must escape
            "0.5.20",
            "oltp-traces-endpoint = 'a \"b\"'",
            "sglang 0.5.20 has no flag `--oltp-traces-endpoint`",
            'write `otlp-traces-endpoint = "a \\"b\\""` in its place',
        ),
        (  # its value is gone, too
            "0.5.23",
            "enforce-piecewise-cuda-graph = true",
            "sglang 0.5.23 has no flag `--enforce-piecewise-cuda-graph`",
            "`--cuda-graph-backend-prefill` took its place, and takes `full`, `breakable`, `disabled`",
        ),
    ],
)
def test_a_flag_of_another_release_is_told_its_successor(
    profiles: Path, catalog: Catalog, *, version: str, flag: str, summary: str, help_: str
) -> None:
    """Renamed, made a value, or refused by name: the help is the line to write, whichever way one moves."""
    (found,) = raw(flag_findings(profiles, catalog, version=version, flags=flag))
    assert (found.code, found.is_error) == ("flag-unknown", True)
    assert found.summary == summary
    assert found.help == (help_,)


def test_a_flag_without_successor_is_told_why(profiles: Path, catalog: Catalog) -> None:
    """A flag that is gone for good says what to do instead, as a note, and that it can go."""
    flags = "collect-tokens-histogram = true"
    (found,) = flag_findings(profiles, catalog, version="0.5.23", flags=flags)
    assert found.code == "flag-unknown"
    assert "`--enable-metrics` collects token histograms, so it can go" in found.notes
    assert found.help == ("remove `flags.collect-tokens-histogram`",)


def test_a_flag_of_later_releases_is_told_where_it_is(profiles: Path, catalog: Catalog) -> None:
    """A flag that this release does not have yet says which have it."""
    flags = "enable-mis = true"
    (found,) = flag_findings(profiles, catalog, version="0.5.9", flags=flags)
    assert found.code == "flag-unknown"
    assert "of the releases read, 0.5.11 to 0.5.23 have it" in found.notes


def test_a_flag_on_its_way_out_is_told_its_successor(profiles: Path, catalog: Catalog) -> None:
    """A deprecated flag is a warning with the line to write."""
    flags = 'mamba-scheduler-strategy = "auto"'
    (found,) = flag_findings(profiles, catalog, version="0.5.15", flags=flags)
    assert (found.code, found.is_error) == ("flag-deprecated", False)
    assert found.help == ('write `mamba-radix-cache-strategy = "auto"` in its place',)


def test_a_value_that_is_gone_is_told_the_one_in_its_place(
    profiles: Path, catalog: Catalog
) -> None:
    """A value of another release leads to the one that means the same, or to a note; others are listed."""
    flags = 'load-balance-method = "shortest_queue"\nquantization = "qoq"\ndtype = "int3"'
    found = flag_findings(profiles, catalog, version="0.5.23", flags=flags)
    help_of = {each.path: each.help for each in found}
    replaced = "`total_requests` took the place of `shortest_queue`"
    assert help_of["flags.load-balance-method"][0] == replaced
    assert help_of["flags.quantization"][0] == "`qoq` is gone: QoQ quantization is gone"
    assert help_of["flags.dtype"][-1].startswith("sglang 0.5.23 takes `auto`, `half`")


def test_a_typed_setting_is_spelled_for_every_release(profiles: Path, catalog: Catalog) -> None:
    """Moving the version changes the flag of a typed setting; one that a release has no flag for says which have it."""
    memory = "cuda_graph_max_batch = 8\npage_size = 1"
    flags = {
        "memory.page_size": "--page-size",
        "parsers.reasoning": "--reasoning-parser",
        "parsers.tool_call": "--tool-call-parser",
        "secrets.api_key": "--config",
    }
    takers = {path: releases_with(flag, engine="sglang") for path, flag in flags.items()}
    lacking: set[str] = set()
    for version in catalog.versions("sglang"):
        found = flag_findings(profiles, catalog, version=version, memory=memory)
        refused = {each.path: each.notes for each in found if each.code == "flag-unknown"}
        assert refused.keys() == {path for path in flags if version not in takers[path]}, version
        for path, notes in refused.items():
            note = (
                f"of the releases read, {takers[str(path)][0]} to {takers[str(path)][-1]} have it"
            )
            assert note in notes, (version, path)
            lacking.add(str(path))
    assert lacking == flags.keys()


def test_a_flag_by_the_name_of_another_release_is_still_one(
    profiles: Path, catalog: Catalog
) -> None:
    """A raw flag that a typed setting writes is found under whatever name the release has for it."""
    for version in ("0.5.11", "0.5.23"):
        (found,) = flag_findings(profiles, catalog, version=version, flags="tp-size = 4")
        assert found.code == "flag-duplicated"
        assert "`parallel.tensor`" in found.summary


WORDS = (
    (), ("1",), ("x",), ("1.5",), ("-1",), ("16k",), ("1e3",), ("{",), ("{}",), ("[1]",), ("NaN",), ("1 ",), ("",), ("1", "2"),
    ("a", "b"), ("None",), ("tc_piecewise",), ("1_000",), ("1.5Ki",), ('{"decode":{"x":1}}',), ('{"lora_name":"a"}',), ("0x10",),
)  # fmt: skip
"""Words that one kind of value takes and another does not."""


@pytest.mark.parametrize(
    "version",
    [
        "0.5.3",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("0.4.6", "0.5.11", "0.5.23")),
    ],
)
def test_a_check_reads_values_as_the_parser_does(catalog: Catalog, version: str) -> None:
    """Of every flag, a value that the release's parser refuses is refused here, and no other."""
    release, _ = catalog.release("sglang", version)
    assert release is not None
    parser = make_parser(release)
    wrong = [
        (name, words)
        for name, flag in release.flags.items()
        if flag.effect is not Action.REFUSE and name not in {"--config", "--help", "--version"}
        for words in (*WORDS, *((each,) for each in flag.choices[:1]))
        for front in [() if name == "--model-path" else ("--model-path", "m")]
        if (parser.parse((*front, name, *words)).refusal is None)
        != (value_fault(flag, name, words, engine="sglang") is None)
    ]
    assert wrong == []


_LINE = re.compile(r"(?:write|set) `(?:(?P<table>[a-z]+)\.)?(?P<key>[a-z_-]+) = (?P<value>[^`]+)`")


_REFUSALS = {"flag-unknown", "flag-value", "flag-duplicated", "flag-smuggled"}


@pytest.mark.slow
@pytest.mark.parametrize("move", read_moves("sglang").moves, ids=lambda move: move.flag)
def test_what_is_to_be_written_in_its_place_is_taken(
    profiles: Path, catalog: Catalog, move: Move
) -> None:
    """Whatever a flag that is gone is told, the newest release takes it: nobody is led from one refusal to the next."""
    newest = catalog.versions("sglang")[-1]
    release, _ = catalog.release("sglang", move.last)
    assert release is not None
    flag = release.flags[release.aliases.get(move.flag, move.flag)]
    for value in values_of(flag):
        given = f"{move.flag[2:]} = {value}"
        found = raw(flag_findings(profiles, catalog, version=newest, flags=given))
        gone = next(each for each in found if each.code == "flag-unknown")
        helps = gone.help
        assert helps or len(gone.notes) > 1
        for told in filter(None, map(_LINE.search, helps)):
            line = f"{told['key']} = {told['value']}"
            place = told["table"] or "flags"
            if place in {"flags", "memory"}:
                after = flag_findings(profiles, catalog, version=newest, **{place: line})
                assert [each.summary for each in after if each.code in _REFUSALS] == [], line


def values_of(flag: Flag) -> tuple[str, ...]:
    """Values of a flag, as TOML has them."""
    if flag.takes is None or flag.effect in {Action.NOTHING, Action.REFUSE}:
        return ("true",)
    if flag.choices:
        return tuple(f'"{each}"' for each in flag.choices)
    return ("3",) if flag.takes in {"int", "float"} else ('"x"',)
