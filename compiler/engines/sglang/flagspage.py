"""The page `docs/flags.md`: the flag each typed setting becomes in each release, and what became of flags that are gone.

`python -m compiler.engines.sglang.flagspage > docs/flags.md` writes it anew; a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from compiler.catalog import Catalog, open_catalog
from compiler.catalog.moves import Move, ValueMove, read_moves
from compiler.engines.sglang.spelling import owned_flags
from compiler.facts import Release


_ENGINE = "sglang"
_ONLY_WITH = {
    "--attn-dp-size": "with `parallel.dp_attention`, which then has no flag of its own",
    "--speculative-dspark-block-size": "with the algorithm `dspark`",
}
"""Flags that take the place of others, and when."""
_TAKEN_OVER = {"--enable-dp-attention": "--attn-dp-size"}
"""Flags that are not written where a release has another one for it."""


def flags_page(catalog: Catalog) -> str:
    """The page, the same text for the same catalogue."""
    found = [catalog.release(_ENGINE, version)[0] for version in catalog.versions(_ENGINE)]
    releases = [each for each in found if each is not None]
    moves = read_moves(_ENGINE)
    lines = [
        "# SGLang flags by release",
        "",
        "<!-- written by: python -m compiler.engines.sglang.flagspage > docs/flags.md -->",
        "",
        "Read, flag by flag, from the source of each of these releases; for one between two of them the earlier counts:",
        f"{', '.join(each.version for each in releases)}.",
        "",
        "The tables stand in `compiler/catalog/data/engines/sglang/flags.json`. A new release is added from its wheel:",
        "",
        "```sh",
        "pip download --no-deps sglang==VERSION",
        "python -m compiler.engines.sglang.extract sglang-VERSION-*.whl",
        "```",
        "",
        "## What a typed setting becomes",
        "",
        "A profile says `memory.cuda_graph_max_batch`, and moving `engine.version` changes the flag. Where a release has none, the",
        "setting is an error that says which releases have it.",
        "",
        "| setting | flag | releases |",
        "|---|---|---|",
        *_setting_lines(releases),
        "",
        "## Flags that are gone",
        "",
        "Up to the last release named the parser takes the old flag. `poolproof check` says what to write instead.",
        "",
        "| flag | last release | in its place |",
        "|---|---|---|",
        *(f"| `{each.flag}` | {each.last} | {_instead(each)} |" for each in moves.moves),
        "",
        "## Values that are gone",
        "",
        "| flag | value | last release | in its place |",
        "|---|---|---|---|",
        *(
            f"| `{each.flag}` | `{each.value}` | {each.last} | {_instead(each)} |"
            for each in moves.values
        ),
    ]
    return "\n".join(lines) + "\n"


def _setting_lines(releases: Sequence[Release]) -> Iterator[str]:
    flags: dict[str, list[str]] = {}
    for flag, setting in owned_flags().items():
        flags.setdefault(setting, []).append(flag)
    for setting, names in flags.items():
        plain = [name for name in names if name not in _ONLY_WITH]
        written = [_written(plain, release) for release in releases]
        for name in sorted(set(written) - {None}, key=written.index):
            places = [place for place, each in enumerate(written) if each == name]
            yield f"| `{setting}` | `{name}` | {_between(places, releases)} |"
        if not any(written):
            yield f"| `{setting}` | `{plain[0]}` | none; a build has it |"
        for name in names:
            if name in _ONLY_WITH:
                places = [place for place, each in enumerate(releases) if name in each.flags]
                where = f"{_between(places, releases)}; {_ONLY_WITH[name]}"
                yield f"| `{setting}` | `{name}` | {where} |"


def _written(names: Sequence[str], release: Release) -> str | None:
    """The name that is written for a release: the newest that its parser takes."""
    return next(
        (
            each
            for each in names
            if (each in release.flags or each in release.aliases)
            and _TAKEN_OVER.get(each) not in release.flags
        ),
        None,
    )


def _between(places: Sequence[int], releases: Sequence[Release]) -> str:
    first, last = releases[places[0]].version, releases[places[-1]].version
    if len(places) == len(releases):
        return "all"
    if len(places) == 1:
        return f"{first} only"
    if places[0] == 0:
        return f"up to {last}"
    return f"from {first} on" if places[-1] == len(releases) - 1 else f"{first} to {last}"


def _instead(move: Move | ValueMove) -> str:
    words = [f"`{move.to}` (from {move.since} on)"] if move.to else []
    if isinstance(move, Move):
        words += [
            f"`{new}` for `{old}`" if old else f"with the value `{new}`"
            for old, new in move.values.items()
        ]
    words += [move.note] if move.note else []
    return "; ".join(words) or "nothing"


if __name__ == "__main__":
    sys.stdout.write(flags_page(open_catalog()))
