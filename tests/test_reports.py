"""Public reports of servers that did not start, or not as wanted: which of them a profile tells beforehand.

`data/reports.jsonl` has one report a line, with what was launched. One that can be decided is a pair of profiles in
`reports/`: `ID.toml` with its fault, which gives the codes of its line, and `ID-mended.toml`, which does not. Each of the
others says what it waits for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assertions import mismatches, read_assertions
from compiler.catalog import Catalog, FolderReader, open_catalog
from deployments import check_text


TESTS = Path(__file__).parent
PROFILES = TESTS / "reports"
ROWS: tuple[dict[str, Any], ...] = tuple(
    json.loads(line) for line in (TESTS / "data" / "reports.jsonl").read_text("utf-8").splitlines()
)
DECIDED = {row["id"]: frozenset(row["codes"]) for row in ROWS if "codes" in row}


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree without fragments: each report stands for itself."""
    folder = tmp_path_factory.mktemp("tree") / "profiles"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def catalog(profiles: Path) -> Catalog:
    """What is shipped."""
    return open_catalog(FolderReader(profiles))


def test_every_report_is_decided_or_says_why_not() -> None:
    """Of 49 reports about SGLang 24 are profiles here, and 25 name what they wait for; 24 are about other engines."""
    assert all(("codes" in row) != bool(row.get("waits")) for row in ROWS)
    engines = [row["engine"] == "sglang" for row in ROWS]
    assert (sum(engines), len(engines) - sum(engines), len(DECIDED)) == (49, 24, 24)
    assert {row["engine"] for row in ROWS if "codes" in row} == {"sglang"}


def test_every_decided_report_has_its_two_profiles() -> None:
    """There is a profile with the fault and a mended one, and none beside them."""
    names = {f"{id_}{end}.toml" for id_ in DECIDED for end in ("", "-mended")}
    assert {path.name for path in PROFILES.iterdir()} == names


@pytest.mark.parametrize("id_", sorted(DECIDED))
@pytest.mark.parametrize("end", ["", "-mended"])
def test_a_report_is_told_beforehand(id_: str, end: str, profiles: Path, catalog: Catalog) -> None:
    """The profile with the fault gives the report's codes, the mended one none of them; nothing else is found unsaid."""
    text = (PROFILES / f"{id_}{end}.toml").read_text("utf-8")
    found = check_text(profiles, text, catalog=catalog).all_diagnostics
    codes = {each.code for each in found}
    assert codes & DECIDED[id_] == (frozenset() if end else DECIDED[id_])
    assert mismatches(read_assertions(text), found, case_file="profiles/case.toml") == ()
