"""Public reports of servers that did not start, or not as wanted: which of them a profile tells beforehand.

`data/reports.jsonl` has one report a line, with what was launched. One that can be decided is a pair in `reports/`: `ID.toml`
with its fault, which gives the codes of its line, and `ID-mended.toml`, which does not. A fault between services is a folder
of profiles; one of the host a folder of a profile and a `host.toml`, which is looked over as `switch` does (`machines.py`); one
of a container the file that starts it, which is read as `adopt --check` does; one of a checkpoint a folder with its catalogue.
One of the second round is the command itself (`ID.cmd`, its first line the options), which is put to `predict`.
Each of the others says what it waits for.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from assertions import mismatches, read_assertions
from benchmarks.reports import REPORT, read_rows, report
from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.cli.predict import command as predict
from compiler.diagnostics import Diagnostic
from deployments import check_text, check_texts
from launching import read_text
from machines import look_over


TESTS = Path(__file__).parent
PROFILES = TESTS / "reports"
ROWS = read_rows()
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
    """Of 82 reports about SGLang 57 are cases here, and 25 name what they wait for; 24 are about other engines."""
    assert all(("codes" in row) != bool(row.get("waits")) for row in ROWS)
    engines = [row["engine"] == "sglang" for row in ROWS]
    assert (sum(engines), len(engines) - sum(engines), len(DECIDED)) == (82, 24, 57)
    assert {row["engine"] for row in ROWS if "codes" in row} == {"sglang"}


def test_the_page_is_written() -> None:
    """`python -m benchmarks.reports` would change nothing."""
    assert REPORT.read_text("utf-8") == report(read_rows())


def test_every_decided_report_has_its_two_cases() -> None:
    """There is a case with the fault and a mended one, and none beside them."""
    names = {f"{id_}{end}" for id_ in DECIDED for end in ("", "-mended")}
    found = [path.stem for path in PROFILES.iterdir()]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize("id_", sorted(DECIDED))
@pytest.mark.parametrize("end", ["", "-mended"])
def test_a_report_is_told_beforehand(id_: str, end: str, profiles: Path, catalog: Catalog) -> None:
    """The profile with the fault gives the report's codes, the mended one none of them; nothing else is found unsaid."""
    (path,) = (each for each in PROFILES.iterdir() if each.stem == f"{id_}{end}")
    if path.suffix == ".cmd":
        assert codes_of_command(path) & DECIDED[id_] == (frozenset() if end else DECIDED[id_])
        return
    found = told_of(path, profiles, catalog)
    codes = {each.code for each in found}
    assert codes & DECIDED[id_] == (frozenset() if end else DECIDED[id_])
    case = path / "profile.toml" if path.is_dir() else path
    if case.suffix == ".toml" and case.exists():
        # What is found on a host has no place in a profile.
        placed = [each for each in found if each.primary is not None]
        asserted = read_assertions(case.read_text("utf-8"))
        name = "profile" if path.is_dir() else "case"
        assert mismatches(asserted, placed, case_file=f"profiles/{name}.toml") == ()


def codes_of_command(path: Path) -> frozenset[str]:
    """What `predict` finds in a command as somebody wrote it."""
    options, _, words = path.read_text("utf-8").partition("\n")
    asked = [*shlex.split(options.removeprefix("#")), "--json", "--", *shlex.split(words)]
    result = CliRunner().invoke(predict, asked)
    (plan,) = json.loads(result.stdout)["plans"]
    return frozenset(each["code"] for each in plan["diagnostics"])


def told_of(path: Path, profiles: Path, catalog: Catalog) -> tuple[Diagnostic, ...]:
    """What is found in a profile, in several on one host, on a host, or in a file that starts a server."""
    if path.is_dir():
        return told_of_folder(path, profiles, catalog)
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        return check_text(profiles, text, catalog=catalog).all_diagnostics
    read = read_text(text, name=path.name)
    return (*read.diagnostics, *read.findings)


def told_of_folder(path: Path, profiles: Path, catalog: Catalog) -> tuple[Diagnostic, ...]:
    """What is found in the profiles of a folder, with its own catalogue, and on the host that it describes."""
    own, host = path / "catalog", path / "host.toml"
    if own.is_dir():
        profiles = profiles.parent / path.name / "profiles"
        shutil.copytree(own, profiles / "catalog")
        catalog = open_catalog(FolderReader(profiles))
    texts = {
        each.stem: each.read_text("utf-8")
        for each in sorted(path.iterdir())
        if each.is_file() and each != host
    }
    checked = check_texts(profiles, texts, catalog=catalog)
    if not host.exists():
        return checked.all_diagnostics
    result = look_over(checked, host.read_text("utf-8"), profiles.parent / "out" / path.name)
    return (*checked.all_diagnostics, *result.diagnostics)
