"""What became of flags: the shipped facts agree with the releases' tables, and they lead to what a release takes."""

from __future__ import annotations

from functools import cache

import pytest

from compiler.catalog import open_catalog
from compiler.catalog.flags import FlagTable
from compiler.catalog.moves import (
    Move,
    Replacement,
    ValueMove,
    read_moves,
    releases_with,
    replacement,
    value_replacement,
)
from compiler.catalog.series import Series
from compiler.facts import Release
from rows import folded


CATALOG = open_catalog()
VERSIONS = CATALOG.versions("sglang")
MOVES = read_moves("sglang")
NEWEST = VERSIONS[-1]
KERNELS = {"flashmla_prefill": "flashmla_sparse", "flashmla_decode": "flashmla_kv"}
"""Values that were renamed together with their flags."""


@cache
def release_of(version: str) -> Release:
    release, faults = CATALOG.release("sglang", version)
    assert faults == ()
    assert release is not None
    return release


def names_of(version: str) -> set[str]:
    release = release_of(version)
    return {*release.flags, *release.aliases}


def choices_of(version: str, flag: str) -> tuple[str, ...]:
    release = release_of(version)
    known = release.flags.get(release.aliases.get(flag, flag))
    return known.choices if known else ()


@folded("move", MOVES.moves, ids=lambda move: move.flag)
def test_a_move_agrees_with_the_tables(move: Move) -> None:
    """`last` is the last release that takes the old flag, `since` the first that takes the new one; values are choices."""
    assert releases_with(move.flag, engine="sglang")[-1] == move.last
    assert move.to or move.note
    assert (move.to is None) == (move.since is None)
    if move.to is not None:
        takers = releases_with(move.to, engine="sglang")
        assert takers[0] == move.since
        for new in move.values.values():
            assert any(new in choices_of(version, move.to) for version in takers), new


@folded("move", MOVES.values, ids=lambda move: f"{move.flag}={move.value}")
def test_a_value_move_agrees_with_the_tables(move: ValueMove) -> None:
    """`last` is the last release with the old value, `since` the first with the new one."""
    with_old = [each for each in VERSIONS if move.value in choices_of(each, move.flag)]
    assert with_old[-1] == move.last
    assert move.to or move.note
    if move.to is not None:
        with_new = [each for each in VERSIONS if move.to in choices_of(each, move.flag)]
        assert with_new[0] == move.since


def test_every_flag_that_is_gone_is_explained() -> None:
    """There is a move for each name that any release takes and the newest does not, and for no other."""
    gone = {name for version in VERSIONS for name in names_of(version)} - names_of(NEWEST)
    moved = [move.flag for move in MOVES.moves]
    assert sorted(gone) == sorted(moved)


def test_every_value_that_is_gone_is_explained() -> None:
    """There is a move for each choice of a flag of the newest release that an earlier one takes and it does not."""
    newest = release_of(NEWEST)
    gone = {
        (name, choice)
        for name, flag in newest.flags.items()
        for version in VERSIONS
        for choice in choices_of(version, name)
        if flag.choices and choice not in flag.choices
    }
    assert gone == {(move.flag, move.value) for move in MOVES.values}


@pytest.mark.parametrize(
    ("flag", "version", "expected"),
    [
        ("--nsa-decode-backend", NEWEST, Replacement(name="--dsa-decode-backend")),
        ("--nsa-prefill", NEWEST, Replacement(name="--dsa-prefill-backend", values=KERNELS)),
        ("--nsa-prefill", "0.5.9", Replacement(name="--nsa-prefill-backend", values=KERNELS)),
        (
            "--dsa-prefill-backend",
            "0.5.3",
            Replacement(name="--nsa-prefill", values={new: old for old, new in KERNELS.items()}),
        ),
        ("--cuda-graph-max-bs-decode", "0.5.11", Replacement(name="--cuda-graph-max-bs")),
        (
            "--enable-deepep-moe",
            NEWEST,
            Replacement(name="--moe-a2a-backend", values={"": "deepep"}),
        ),
        (
            "--nsa-prefill-cp-mode",
            NEWEST,
            Replacement(
                name="--cp-strategy",
                values={"in-seq-split": "zigzag", "round-robin-split": "interleave"},
            ),
        ),
        (
            "--cp-strategy",
            "0.5.9",
            Replacement(
                name="--nsa-prefill-cp-mode",
                values={"zigzag": "in-seq-split", "interleave": "round-robin-split"},
            ),
        ),
        ("--moe-a2a-backend", "0.4.6.post5", None),
        ("--swa-full-tokens-ratio", "0.4.6.post5", None),
        ("--no-such-flag", NEWEST, None),
    ],
)
def test_a_flag_leads_to_what_the_release_takes(
    flag: str, version: str, expected: Replacement | None
) -> None:
    """Through several renames, forwards and backwards, with values; a flag that does something else leads nowhere back."""
    assert replacement(flag, release=release_of(version)) == expected


def test_a_flag_without_successor_says_what_to_do() -> None:
    """A flag that has nothing in its place gives a note."""
    known = replacement("--collect-tokens-histogram", release=release_of(NEWEST))
    assert known is not None
    assert known.name is None
    assert known.notes == ("`--enable-metrics` collects token histograms, so it can go",)


@pytest.mark.parametrize(
    ("flag", "value", "version", "expected"),
    [
        ("--kv-cache-dtype", "fp4_e2m1", NEWEST, "fp4_mx_block16"),
        ("--load-balance-method", "shortest_queue", NEWEST, "total_requests"),
        ("--load-balance-method", "total_requests", "0.5.3", "shortest_queue"),
        ("--quantization", "qoq", NEWEST, None),
    ],
)
def test_a_value_leads_to_what_the_release_takes(
    flag: str, value: str, version: str, expected: str | None
) -> None:
    """A value that is gone leads to the one in its place, or only to a note."""
    known = value_replacement(flag, value, release=release_of(version))
    assert known is not None
    assert known.name == expected
    assert known.name or known.notes


def test_nothing_is_known_of_other_values_and_engines() -> None:
    """A value, a flag or an engine that nothing is known of gives nothing."""
    release = release_of(NEWEST)
    assert value_replacement("--kv-cache-dtype", "int3", release=release) is None
    assert value_replacement("--no-such-flag", "x", release=release) is None
    assert read_moves("acme").moves == ()
    assert releases_with("--model-path", engine="acme") == ()


def test_the_releases_that_have_a_flag() -> None:
    """A flag is looked for by any of its names."""
    assert releases_with("--speculative-dflash-block-size", engine="sglang")[0] == "0.5.11"
    assert releases_with("--tp-size", engine="sglang") == VERSIONS
    assert releases_with("--no-record-nolora-graph", engine="sglang") == ("0.5.11", "0.5.12")


def test_names_that_no_release_has_are_looked_up_in_one_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A launch for another engine has dozens of such flags, and each would cost all tables once more."""
    read: list[str] = []
    table = Series.table

    def counted(series: Series, version: str) -> FlagTable:
        read.append(version)
        return table(series, version)

    monkeypatch.setattr(Series, "table", counted)
    assert releases_with("--tp-size", engine="sglang")
    assert not any(releases_with(f"--odd-{each}", engine="sglang") for each in range(9))
    assert len(read) <= len(VERSIONS)
