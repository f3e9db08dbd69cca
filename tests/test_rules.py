"""Every rule on whole profiles: a case that triggers it, and the nearest one that does not.

A case is a profile in `rules/CODE/`, with what it must be told in its comments; see `assertions`. One named `ok-*` does not
trigger the code of its folder. What cases share is in `rules/shared/`: copies, so that no case moves when the real ones do.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from assertions import Assertion, mismatches, read_assertions
from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.diagnostics import Label, Span, error
from compiler.engines.sglang.extract import extract
from deployments import check_text
from emitted import emitted_codes


TESTS = Path(__file__).parent
RULES = TESTS / "rules"
SHARED = RULES / "shared"
CASES = tuple(sorted(path for path in RULES.glob("*/*.toml") if path.parent != SHARED))
FOLDERS = tuple(sorted(path for path in RULES.iterdir() if path != SHARED))

ELSEWHERE = {
    "boot-invalid": "test_catalog.py::test_a_broken_boot_is_left_out_and_reported",
    "catalogue-id": "test_cli.py::test_a_gpu_that_makes_no_entry",
    "catalogue-invalid": "test_catalog.py::test_a_broken_entry_is_shown_where_it_is_wrong",
    "checkpoint-invalid": "test_checkpoint.py::test_a_missing_shard_is_named",
    "command-refused": "test_predict.py::test_a_flag_of_another_release_is_refused",
    "engine-unreadable": "test_rules.py::test_what_is_no_engine_gives_no_flags",
    "extends-cycle": "test_graph.py::test_a_cycle_is_shown_whole",
    "extends-deployable": "test_graph.py::test_a_deployable_parent",
    "instance-not-template": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "launch-cut": "test_adopt_input.py::test_a_comment_that_ends_a_launch",
    "launch-incomplete": "test_adopt.py::test_a_launch_without_a_model_is_a_fragment",
    "launch-lost": "test_adopt.py::test_what_a_profile_cannot_hold_is_refused",
    "launch-missing": "test_adopt_input.py::test_a_script_that_is_no_launch",
    "launch-refused": "test_adopt.py::test_a_launch_that_no_server_starts_with",
    "launch-several": "test_adopt_input.py::test_two_launches_in_one_file",
    "launch-unfaithful": "test_adopt.py::test_the_proof_finds_what_parts",
    "launch-unreadable": "test_adopt_input.py::test_a_file_that_cannot_be_read",
    "network-not-wanted": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "not-utf8": "test_load.py::test_a_file_that_is_not_utf8",
    "out-busy": "test_tree_write.py::test_one_compile_at_a_time",
    "out-edited": "test_tree_write.py::test_an_edited_file_is_not_written_over",
    "out-foreign": "test_tree_write.py::test_a_foreign_file_is_not_written_over",
    "out-path": "test_tree.py::test_a_path_that_cannot_be_written_is_refused",
    "out-unreadable": "test_tree.py::test_out_that_is_a_file_is_said",
    "out-unwritable": "test_tree_write.py::test_out_that_is_a_file",
    "pin-invalid": "test_cli.py::test_a_pin_that_does_not_allow_this_compiler",
    "pin-mismatch": "test_cli.py::test_a_pin_that_does_not_allow_this_compiler",
    "profile-not-deployable": "test_cli.py::test_a_fragment_cannot_be_compiled",
    "profile-outside": "test_cli.py::test_a_profile_of_another_tree",
    "profile-unreadable": "test_load.py::test_a_file_that_cannot_be_read",
    "restart-loops-forever": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "sandbox-hides-gpu": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "sandbox-hides-home": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-kills-others": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-limit-misplaced": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-timeout-unbinding": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "rendering-unfaithful": "test_render.py::test_an_unfaithful_file_is_found",
    "user-unit-needs-system": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "variable-not-expanded": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "tree-missing": "test_cli.py::test_no_tree",
}
"""The codes that no single profile of a sound tree can trigger, with the test that does."""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with what the cases share; each writes itself over the one before."""
    folder = tmp_path_factory.mktemp("tree") / "profiles"
    shutil.copytree(SHARED, folder)
    return folder


@pytest.fixture(scope="module")
def catalog(profiles: Path) -> Catalog:
    """What is known in that tree; no case changes it."""
    return open_catalog(FolderReader(profiles))


def asserted(case: Path) -> list[Assertion]:
    return list(read_assertions(case.read_text("utf-8")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_a_case_is_told_what_it_asserts(case: Path, profiles: Path, catalog: Catalog) -> None:
    """Every finding is asserted on its line, and everything asserted is found."""
    checked = check_text(profiles, case.read_text("utf-8"), catalog=catalog)
    found = checked.all_diagnostics
    assert mismatches(asserted(case), found, case_file="profiles/case.toml") == ()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_code_has_a_case_on_each_side(folder: Path) -> None:
    """Some case asserts the code of its folder, and some `ok-*` case does not."""
    cases = {
        path: folder.name in {each.code for each in asserted(path)} for path in folder.iterdir()
    }
    passing = {path for path in cases if path.stem.startswith("ok-")}
    assert passing == {path for path, triggers in cases.items() if not triggers}
    assert passing
    assert len(cases) > len(passing)


def test_every_code_is_tested() -> None:
    """A code that the source can emit has a folder of cases, or stands in the table with the test that triggers it."""
    with_cases = {folder.name for folder in FOLDERS}
    assert with_cases | ELSEWHERE.keys() == emitted_codes().keys()
    assert with_cases.isdisjoint(ELSEWHERE)


@pytest.mark.parametrize(("code", "test"), ELSEWHERE.items())
def test_the_test_elsewhere_is_there(code: str, test: str) -> None:
    """The test named in the table exists, and its file names the code."""
    file, _, name = test.partition("::")
    text = (TESTS / file).read_text("utf-8")
    functions = {each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
    assert name in functions
    assert code in text


def test_what_is_no_engine_gives_no_flags(tmp_path: Path) -> None:
    """`engine-unreadable`: an empty folder holds no SGLang."""
    extracted, found = extract(tmp_path)
    assert extracted is None
    assert [each.code for each in found] == ["engine-unreadable"]


@pytest.mark.parametrize(
    ("case", "lines", "complaints"),
    [
        ("x = 1  # error: [a-code]", [1], 0),
        ("x = 1  # error: [a-code]", [], 1),
        ("x = 1  # error: [a-code]", [1, 1], 1),
        ("x = 1  # error: [a-code]", [2], 2),
        ("x = 1  # error: [a-code] error: [a-code]", [1, 1], 0),
        ("x = 1  # warning: [a-code]", [1], 2),
        ("x = 1  # error: [b-code]", [1], 2),
        ('x = 1  # error: [a-code] "of it"', [1], 0),
        ('x = 1  # error: [a-code] "of them"', [1], 2),
        ("# elsewhere: error: [a-code] profiles/base/x.toml", [1], 2),
        ("x = 1", [], 0),
        ("x = 1", [1], 1),
    ],
)
def test_assertions_can_fail(case: str, lines: list[int], complaints: int) -> None:
    """What is missing, what is too much, and what stands elsewhere or is said otherwise is complained of."""
    spans = [Span(file="f", line=line, column=1, end_line=line, end_column=2) for line in lines]
    found = [error("a-code", "the sum of it", Label(span)) for span in spans]
    assert len(mismatches(read_assertions(case), found, case_file="f")) == complaints
