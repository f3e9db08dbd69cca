"""What `check` says about flags that another release had: the name, the value, or the words to write instead."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.catalog.moves import releases_with
from compiler.diagnostics import Diagnostic
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


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with what the rule cases share."""
    folder = tmp_path_factory.mktemp("tree") / "profiles"
    shutil.copytree(SHARED, folder)
    return folder


@pytest.fixture(scope="module")
def catalog(profiles: Path) -> Catalog:
    """What is known in that tree."""
    return open_catalog(FolderReader(profiles))


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
    """A flag that is gone for good says what to do instead, as a note."""
    flags = "collect-tokens-histogram = true"
    (found,) = flag_findings(profiles, catalog, version="0.5.23", flags=flags)
    assert found.code == "flag-unknown"
    assert "`--enable-metrics` collects token histograms, so it can go" in found.notes
    assert found.help == ()


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
    oldest, *others = catalog.versions("sglang")
    found = flag_findings(profiles, catalog, version=oldest, memory=memory)
    lacking = {"memory.page_size"}
    assert lacking < {each.path for each in found if each.code == "flag-unknown"}
    for version in others:
        found = flag_findings(profiles, catalog, version=version, memory=memory)
        refused = {each.path: each.notes for each in found if each.code == "flag-unknown"}
        if version in releases_with("--config", engine="sglang"):
            assert refused == {}, version
        else:
            note = "of the releases read, 0.5.3 to 0.5.23 have it"
            assert [note in notes for notes in refused.values()] == [True], version


def test_a_flag_by_the_name_of_another_release_is_still_one(
    profiles: Path, catalog: Catalog
) -> None:
    """A raw flag that a typed setting writes is found under whatever name the release has for it."""
    for version in ("0.5.11", "0.5.23"):
        (found,) = flag_findings(profiles, catalog, version=version, flags="tp-size = 4")
        assert found.code == "flag-duplicated"
        assert "`parallel.tensor`" in found.summary
