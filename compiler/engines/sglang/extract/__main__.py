"""Read the flags of releases into the shipped catalogue: `python -m compiler.engines.sglang.extract WHEEL...`.

A wheel comes from `pip download --no-deps sglang==VERSION`; it is read, not installed. Its release is added to those of
`compiler/catalog/data/engines/sglang/flags.json`, or replaces what the file has of it; all others stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from compiler.catalog.series import SERIES, read_series, write_series
from compiler.catalog.shelves import shipped_shelf
from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.extract import extract
from compiler.facts import Flag


_ENGINE = "sglang"
_NAME = f"engines/{_ENGINE}/{SERIES}.json"
_SOURCE = "https://github.com/sgl-project/sglang/tree/v{version}/python/sglang/srt"


def main(arguments: Sequence[str]) -> int:
    """Add the releases of these wheels to the shipped file; writes nothing when one of them cannot be read."""
    tables = _shipped_tables()
    found: list[Diagnostic] = []
    for each in arguments:
        extracted, faults = extract(Path(each))
        found += faults
        if extracted is not None and extracted.version is not None:
            tables[extracted.version] = {flag.name: flag for flag in extracted.flags}
    sys.stderr.writelines(f"{each.severity}: {each.summary}\n" for each in found)
    if not arguments or any(each.is_error for each in found):
        return 1
    path = Path(__file__).parents[3] / "catalog" / "data" / _NAME
    path.write_text(write_series(tables, engine=_ENGINE, source=_SOURCE), encoding="utf-8")
    return 0


def _shipped_tables() -> dict[str, dict[str, Flag]]:
    file, _ = shipped_shelf().open(_NAME)
    series, _ = read_series(file, engine=_ENGINE) if file is not None else (None, ())
    return {each: dict(series.table(each).flags) for each in series.releases} if series else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
