"""What each public report of a failed server gives: `python -m benchmarks.reports` writes docs/reports.md.

The reports stand in tests/data/reports.jsonl; that each gives what the page says, and its mended case does not, is
tests/test_reports.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.quoting.markdown import markdown_cell


ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "reports.md"
ROWS = ROOT / "tests" / "data" / "reports.jsonl"
CASES = ROOT / "tests" / "reports"
ENGINE = "sglang"
SECOND = 2
"""The round of reports that were looked for when the first was done."""

Row = Mapping[str, Any]


def read_rows() -> tuple[Row, ...]:
    """All reports, in the order of the file."""
    return tuple(json.loads(line) for line in ROWS.read_text("utf-8").splitlines())


def report(rows: Sequence[Row]) -> str:
    """The page."""
    ours = [row for row in rows if row["engine"] == ENGINE]
    told = [row for row in ours if "codes" in row]
    later = [row for row in ours if row.get("round") == SECOND]
    others = len(rows) - len(ours)
    return "\n".join(
        (
            "# What public reports give",
            "",
            "Written by `python -m benchmarks.reports` from `tests/data/reports.jsonl`. Each is a server that did not start,",
            "or not as it was meant, as somebody wrote of it in public. What can be told before a start is a case with the",
            "fault, which gives the code, and a mended one, which does not: `tests/reports/`.",
            "",
            f"Of {len(ours)} reports about SGLang {len(told)} are told, and {len(ours) - len(told)} are not.",
            f"{others} more are about other engines, and wait for those.",
            "",
            f"{len(later)} of those about SGLang are of a second round, looked for when the first was done: put to the tool as it",
            f"was then, {sum(row.get('told_at_first', False) for row in later)} were told, and {sum('codes' in row for row in later)} are now. Their cases are the commands themselves.",
            "",
            "## Told",
            "",
            "| report | what happened | code | by |",
            "|---|---|---|---|",
            *(_told(row) for row in told),
            "",
            "`check` needs the profile alone, and `predict` the command; `switch` looks the host over before it writes anything;",
            "`adopt --check` reads the file that starts a container.",
            "",
            "## Not told",
            "",
            "| report | what happened | why not |",
            "|---|---|---|",
            *(_waiting(row) for row in ours if "codes" not in row),
            "",
        )
    )


def _told(row: Row) -> str:
    codes = ", ".join(f"`{code}`" for code in row["codes"])
    return _cells(_source(row), markdown_cell(row["fault"]), codes, f"`{_verb(row['id'])}`")


def _waiting(row: Row) -> str:
    return _cells(_source(row), markdown_cell(row["fault"]), markdown_cell(row["waits"]))


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _source(row: Row) -> str:
    """The report's name, and its address where it is one that leads somewhere."""
    address = str(row["source"]).partition(",")[0]
    return f"[{row['id']}]({address})" if address.startswith("https://") else str(row["id"])


def _verb(id_: str) -> str:
    """Which verb tells it, by the form of its case."""
    if (CASES / id_ / "host.toml").exists():
        return "switch"
    if (CASES / f"{id_}.cmd").exists():
        return "predict"
    return "adopt --check" if (CASES / f"{id_}.yaml").exists() else "check"


if __name__ == "__main__":
    REPORT.write_text(report(read_rows()), "utf-8")
