"""Every rule on whole profiles: a case that triggers it, and the nearest one that does not.

A case is a profile in `rules/CODE/`, with what it must be told in its comments; see `assertions`. A folder there is a case
of several profiles, which are judged together. One named `ok-*` does not trigger the code of its folder. What cases share is in `rules/shared/`: copies, so that no case moves when the real ones do.
"""

from __future__ import annotations

import ast
import shutil
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from assertions import Assertion, mismatches, read_assertions
from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.diagnostics import Label, Span, error
from compiler.engines.sglang.extract import extract
from deployments import check_texts
from emitted import emitted_codes
from rows import folded


TESTS = Path(__file__).parent
RULES = TESTS / "rules"
SHARED = RULES / "shared"
FOLDERS = tuple(sorted(path for path in RULES.iterdir() if path != SHARED))

ELSEWHERE = {
    "boot-invalid": "test_catalog.py::test_a_broken_boot_is_left_out_and_reported",
    "boot-lacking": "test_observing.py::test_what_nobody_tells_is_asked_for",
    "boot-set-aside": "test_boot_doubts.py::test_a_boot_that_cannot_be_is_set_aside",
    "boot-unwritable": "test_observing.py::test_a_measured_boot_makes_later_plans_exact",
    "catalogue-id": "test_cli.py::test_a_gpu_that_makes_no_entry",
    "catalogue-invalid": "test_catalog.py::test_a_broken_entry_is_shown_where_it_is_wrong",
    "checkpoint-invalid": "test_checkpoint.py::test_a_missing_shard_is_named",
    "command-refused": "test_predict.py::test_a_flag_of_another_release_is_refused",
    "edit-refused": "test_fmt.py::test_a_symlink_is_left_alone",
    "edit-unproved": "test_fit.py::test_a_neighbour_is_not_broken",
    "edit-unwritable": "test_fmt.py::test_a_file_that_cannot_be_written",
    "engine-unreadable": "test_rules.py::test_what_is_no_engine_gives_no_flags",
    "extends-cycle": "test_graph.py::test_a_cycle_is_shown_whole",
    "extends-deployable": "test_graph.py::test_a_deployable_parent",
    "extends-limit": "test_graph.py::test_a_chain_that_is_too_long",
    "generation-edited": "test_host_switch.py::test_a_generation_that_was_edited",
    "generation-missing": "test_host_cli.py::test_a_unit_that_is_nearly_right",
    "host-busy": "test_host_switch.py::test_two_switches_at_once",
    "host-compiler": "test_preflight_engine.py::test_a_compiler_of_kernels",
    "host-disk": "test_preflight.py::test_free_disk",
    "host-driver": "test_preflight.py::test_a_driver_that_fails",
    "host-gpu": "test_preflight.py::test_the_gpus",
    "host-memlock": "test_preflight.py::test_locked_memory",
    "host-memory": "test_preflight_engine.py::test_memory_behind_the_cache",
    "host-model": "test_preflight.py::test_a_model_that_is_not_there",
    "host-package": "test_preflight_engine.py::test_a_package_that_is_not_there",
    "host-release": "test_preflight_engine.py::test_another_release_is_installed",
    "host-port": "test_preflight.py::test_the_port",
    "host-python": "test_preflight.py::test_the_engines_python",
    "host-secret": "test_preflight.py::test_who_reads_a_secret",
    "host-shared-memory": "test_preflight.py::test_shared_memory",
    "host-tree": "test_preflight.py::test_a_tree_that_is_none",
    "host-unreadable": "test_host_cli.py::test_what_cannot_be_read",
    "host-unwritable": "test_host_crash.py::test_an_error_at_every_step",
    "host-user": "test_preflight.py::test_no_such_user",
    "load-failed": "test_host_switch.py::test_a_failing_switch_goes_back",
    "log-incomplete": "test_observing.py::test_a_start_that_fails",
    "log-unreadable": "test_observing.py::test_a_log_that_is_not_there",
    "fit-impossible": "test_fit.py::test_what_cannot_be_fitted",
    "fit-unchosen": "test_fit.py::test_a_promise_is_given_up_by_a_number_only",
    "file-unknown": "test_diff.py::test_affected_by_what_is_not_there",
    "profile-empty": "test_bad_input.py::test_an_empty_profile",
    "fragment-unused": "test_neighbours.py::test_a_fragment_that_nobody_extends_is_told",
    "git-unusable": "test_diff.py::test_no_repository",
    "line-unknown": "test_why.py::test_a_line_that_is_not_there",
    "instance-not-template": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "launch-cut": "test_adopt_input.py::test_a_comment_that_ends_a_launch",
    "launch-diffusion": "test_adopt_kinds.py::test_a_server_for_images",
    "container-shared-memory": "test_adopt_hygiene.py::test_a_container_with_little_shared_memory",
    "reader-missing": "test_other_engine.py::test_a_command_of_it_is_not_judged",
    "container-loopback": "test_adopt_reach.py::test_a_published_port_that_nobody_listens_on",
    "var-unused": "test_adopt_sourced.py::test_a_variable_that_changes_nothing_is_said",
    "launch-open": "test_adopt_open.py::test_what_hangs_on_an_open_value_is_a_doubt",
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
    "plan-unreadable": "test_observing.py::test_a_plan_that_is_none",
    "pool-short": "test_host_switch.py::test_a_failing_switch_goes_back",
    "profile-not-deployable": "test_cli.py::test_a_fragment_cannot_be_compiled",
    "profile-outside": "test_cli.py::test_a_profile_of_another_tree",
    "profile-unreadable": "test_load.py::test_a_file_that_cannot_be_read",
    "promise-broken": "test_observing.py::test_a_short_pool_breaks_the_promise",
    "promise-unchecked": "test_observing.py::test_what_nothing_tells_is_not_taken_for_kept",
    "rendering-unfaithful": "test_render.py::test_an_unfaithful_file_is_found",
    "return-failed": "test_host_switch.py::test_a_way_back_that_fails_as_well",
    "root-left": "test_host_names.py::test_an_image_whose_links_lead_out",
    "server-silent": "test_observing.py::test_a_server_that_is_not_there",
    "staged-edited": "test_host_cli.py::test_a_tree_that_was_edited",
    "staged-invalid": "test_host_cli.py::test_a_plan_that_cannot_be_run",
    "staged-missing": "test_host_cli.py::test_a_switch_as_json",
    "state-foreign": "test_host_names.py::test_something_else_where_current_belongs",
    "switch-unfinished": "test_host_switch.py::test_manual_restarts_are_left_to_a_person",
    "systemd-refused": "test_host_switch.py::test_a_reload_that_is_refused",
    "systemd-silent": "test_host_switch.py::test_systemd_that_does_not_answer",
    "revision-unknown": "test_diff.py::test_a_revision_that_is_not_there",
    "restart-loops-forever": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "sandbox-hides-gpu": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "sandbox-hides-home": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-kills-others": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-limit-misplaced": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-timeout-unbinding": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "user-unit-needs-system": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "variable-not-expanded": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "tree-missing": "test_cli.py::test_no_tree",
    "unit-drop-in": "test_host_names.py::test_drop_ins_are_told",
    "unit-foreign": "test_host_names.py::test_a_foreign_unit_is_refused",
    "unit-masked": "test_host_names.py::test_a_masked_unit",
    "unit-unknown": "test_host_cli.py::test_nothing_here",
    "unit-unplanned": "test_observing.py::test_a_unit_without_a_plan",
}
"""The codes that no single profile of a sound tree can trigger, with the test that does."""

NEAREST = {
    "boot-invalid": "test_nearest.py::test_a_boot_at_its_limits",
    "boot-lacking": "test_observing_nearest.py::test_one_field_less",
    "boot-set-aside": "test_boot_doubts.py::test_a_boot_that_can_be_counts",
    "boot-unwritable": "test_observing_nearest.py::test_a_file_that_is_there_already",
    "catalogue-id": "test_nearest.py::test_a_name_that_is_just_an_id",
    "catalogue-invalid": "test_nearest.py::test_an_entry_at_its_limits",
    "checkpoint-invalid": "test_nearest.py::test_a_byte_of_a_checkpoint",
    "command-refused": "test_nearest.py::test_a_flag_and_the_release_that_has_it",
    "container-shared-memory": "test_adopt_hygiene.py::test_a_container_with_little_shared_memory",
    "edit-refused": "test_nearest.py::test_a_link_and_what_it_leads_to",
    "edit-unproved": "test_nearest.py::test_a_neighbour_that_just_bears_it",
    "edit-unwritable": "test_nearest.py::test_a_full_disk_and_nothing_to_write",
    "engine-unreadable": "test_nearest.py::test_an_engine_of_one_flag",
    "extends-cycle": "test_nearest.py::test_a_chain_that_just_ends",
    "extends-deployable": "test_nearest.py::test_a_parent_with_just_no_target",
    "extends-limit": "test_nearest.py::test_a_chain_that_is_just_short_enough",
    "file-unknown": "test_nearest.py::test_a_misspelt_fragment",
    "fit-impossible": "test_nearest.py::test_a_model_that_can_just_be_fitted",
    "fit-unchosen": "test_fit.py::test_the_whole_promise_is_kept_before_a_part_is_given_up",
    "profile-empty": "test_bad_input.py::test_a_profile_without_settings",
    "fragment-unused": "test_nearest.py::test_a_fragment_that_is_just_used",
    "generation-edited": "test_host_nearest.py::test_a_byte_of_a_generation",
    "generation-missing": "test_host_nearest.py::test_a_number_beside_the_last",
    "git-unusable": "test_nearest.py::test_a_tree_without_its_repository",
    "host-busy": "test_host_nearest.py::test_a_lock_that_was_just_let_go",
    "host-compiler": "test_preflight_engine.py::test_a_compiler_of_kernels",
    "host-disk": "test_preflight.py::test_free_disk",
    "host-driver": "test_host_nearest.py::test_what_a_host_just_has",
    "host-gpu": "test_host_nearest.py::test_what_a_host_just_has",
    "host-memlock": "test_host_nearest.py::test_what_a_host_just_has",
    "host-memory": "test_preflight_engine.py::test_memory_behind_the_cache",
    "host-model": "test_host_nearest.py::test_what_a_host_just_has",
    "host-package": "test_preflight_engine.py::test_a_package_that_is_not_there",
    "host-release": "test_preflight_engine.py::test_another_release_is_installed",
    "host-port": "test_host_nearest.py::test_what_a_host_just_has",
    "host-python": "test_host_nearest.py::test_what_a_host_just_has",
    "host-secret": "test_host_nearest.py::test_what_a_host_just_has",
    "host-shared-memory": "test_host_nearest.py::test_what_a_host_just_has",
    "host-tree": "test_host_nearest.py::test_a_plan_that_just_tells_its_needs",
    "host-unreadable": "test_host_nearest.py::test_a_folder_that_is_not_there",
    "host-unwritable": "test_host_nearest.py::test_an_error_at_the_last_step",
    "host-user": "test_host_nearest.py::test_what_a_host_just_has",
    "instance-not-template": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "launch-cut": "test_nearest.py::test_a_line_between_joined_lines",
    "launch-diffusion": "test_adopt_kinds.py::test_a_server_for_images",
    "launch-incomplete": "test_nearest.py::test_a_model_that_is_just_known",
    "launch-lost": "test_nearest.py::test_a_value_that_a_profile_just_holds",
    "launch-missing": "test_adopt_input.py::test_a_launch_in_a_terminal_of_its_own",
    "reader-missing": "test_other_engine.py::test_a_release_that_nobody_described",
    "container-loopback": "test_adopt_reach.py::test_a_published_port_that_nobody_listens_on",
    "var-unused": "test_adopt_sourced.py::test_a_given_value_wins_where_none_is_certain",
    "launch-open": "test_adopt_open.py::test_an_address_or_a_name_decides_nothing",
    "launch-refused": "test_nearest.py::test_one_file_of_settings",
    "launch-several": "test_nearest.py::test_a_second_launch_that_just_is_none",
    "launch-unfaithful": "test_nearest.py::test_a_blank_of_an_adopted_profile",
    "launch-unreadable": "test_nearest.py::test_a_quote_that_is_just_closed",
    "line-unknown": "test_nearest.py::test_the_last_line_of_a_file",
    "load-failed": "test_host_nearest.py::test_the_last_look_at_a_start",
    "log-incomplete": "test_observing_nearest.py::test_a_log_up_to_its_summary",
    "log-unreadable": "test_observing_nearest.py::test_a_log_that_is_just_empty",
    "network-not-wanted": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "not-utf8": "test_nearest.py::test_a_byte_of_a_character",
    "out-busy": "test_tree_write.py::test_a_compile_waits_for_a_short_one",
    "out-edited": "test_tree_write.py::test_an_edit_that_is_what_is_produced_is_no_reason",
    "out-foreign": "test_tree_write.py::test_foreign_files_are_left_alone",
    "out-path": "test_nearest.py::test_a_path_at_its_limits",
    "out-unreadable": "test_nearest.py::test_where_a_link_called_out_leads",
    "out-unwritable": "test_nearest.py::test_where_out_is_to_be_written",
    "pin-invalid": "test_nearest.py::test_a_pin_at_this_version",
    "pin-mismatch": "test_nearest.py::test_a_pin_at_this_version",
    "plan-unreadable": "test_observing_nearest.py::test_a_plan_one_step_from_none",
    "pool-short": "test_host_nearest.py::test_the_last_look_at_a_start",
    "profile-not-deployable": "test_nearest.py::test_a_fragment_that_gets_a_target",
    "profile-outside": "test_nearest.py::test_a_path_beside_the_profiles",
    "profile-unreadable": "test_nearest.py::test_a_file_that_is_just_not_there",
    "promise-broken": "test_observing_nearest.py::test_one_less_than_promised",
    "promise-unchecked": "test_observing_nearest.py::test_one_less_than_promised",
    "rendering-unfaithful": "test_nearest.py::test_a_blank_of_a_rendered_file",
    "restart-loops-forever": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "return-failed": "test_host_nearest.py::test_one_answer_of_systemd",
    "revision-unknown": "test_nearest.py::test_a_revision_that_is_just_there",
    "root-left": "test_host_nearest.py::test_a_link_to_the_rim_of_an_image",
    "sandbox-hides-gpu": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "sandbox-hides-home": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "server-silent": "test_observing_nearest.py::test_a_server_that_just_tells_its_pool",
    "staged-edited": "test_host_nearest.py::test_a_byte_of_a_staged_tree",
    "staged-invalid": "test_host_nearest.py::test_a_plan_at_its_limits",
    "staged-missing": "test_host_nearest.py::test_the_name_of_a_staged_target",
    "start-kills-others": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-limit-misplaced": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "start-timeout-unbinding": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "state-foreign": "test_host_nearest.py::test_names_in_the_folder_of_generations",
    "switch-unfinished": "test_host_nearest.py::test_what_a_cut_off_run_leaves",
    "systemd-refused": "test_host_nearest.py::test_one_answer_of_systemd",
    "systemd-silent": "test_host_nearest.py::test_a_manager_that_just_answers",
    "tree-missing": "test_nearest.py::test_one_of_two_marks_of_a_tree",
    "unit-drop-in": "test_host_nearest.py::test_a_file_beside_the_unit",
    "unit-foreign": "test_host_nearest.py::test_where_the_link_of_a_unit_points",
    "unit-masked": "test_host_nearest.py::test_a_unit_of_one_byte",
    "unit-unknown": "test_host_nearest.py::test_the_name_of_a_unit_that_is_here",
    "unit-unplanned": "test_observing_nearest.py::test_the_file_beside_a_unit",
    "user-unit-needs-system": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
    "variable-not-expanded": "test_adopt_hygiene.py::test_a_rule_finds_what_it_is_about",
}
"""The same codes, with a test of the nearest that does not trigger it, beside what does."""


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


def texts_of(case: Path) -> dict[str, str]:
    """The profiles of a case by their names."""
    if case.is_file():
        return {"case": case.read_text("utf-8")}
    return {
        path.relative_to(case).with_suffix("").as_posix(): path.read_text("utf-8")
        for path in sorted(case.rglob("*.toml"))
    }


def asserted(case: Path) -> list[Assertion]:
    """What a case asserts, each with its file."""
    return [
        evolve(each, file=each.file or f"profiles/{name}.toml")
        for name, text in texts_of(case).items()
        for each in read_assertions(text)
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_cases_of_a_code_are_told_what_they_assert(
    folder: Path, profiles: Path, catalog: Catalog
) -> None:
    """Every finding of a case is asserted on its line, and everything asserted is found."""
    wrong = {}
    for case in sorted(folder.iterdir()):
        found = check_texts(profiles, texts_of(case), catalog=catalog).all_diagnostics
        wrong[case.stem] = mismatches(asserted(case), found, case_file="profiles/case.toml")
    assert {case: told for case, told in wrong.items() if told} == {}
    assert wrong


@folded("folder", FOLDERS, ids=lambda folder: folder.name)
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


@folded("code, test", ELSEWHERE.items())
def test_the_test_elsewhere_is_there(code: str, test: str) -> None:
    """The test named in the table exists, and its file names the code."""
    file, _, name = test.partition("::")
    assert name in functions_of(file)
    assert code in (TESTS / file).read_text("utf-8")


def test_a_code_elsewhere_has_a_case_on_each_side() -> None:
    """What just does not trigger a code is a test that exists, in a file that names the code; a new code needs one."""
    assert NEAREST.keys() == ELSEWHERE.keys()
    for code, test in NEAREST.items():
        file, _, name = test.partition("::")
        assert name in functions_of(file), test
        assert code in (TESTS / file).read_text("utf-8"), test


@cache
def functions_of(file: str) -> frozenset[str]:
    """The functions of a file of tests."""
    body = ast.parse((TESTS / file).read_text("utf-8")).body
    return frozenset(each.name for each in body if isinstance(each, ast.FunctionDef))


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


REST = """\
defaults.serve = { context = 200000, concurrency = 1 }
defaults.memory.fraction = 0.9
defaults.targets.ct200 = { kind = "systemd", user = "sglang" }
"""


WITHOUT_HELP = {
    "bad-value": "a unit of time that is none: the summary lists those that there are",
    "flag-unknown": "what a typed setting needs, and an older release has not: the note says which have it",
    "reserve-too-small": "the search for changes found none that keeps the promise",
    "toml-limit": "what is past the limits was written by nobody's hand",
    "toml-syntax": "where a string was meant to end nobody can say",
}
"""Errors of the cases here that name no change, each with the reason."""


@pytest.mark.slow
def test_every_error_names_a_change_that_mends_it(profiles: Path, catalog: Catalog) -> None:
    """An error says what to do about it; one that cannot is in a list, with why."""
    silent = {
        each.code
        for folder in FOLDERS
        for case in sorted(folder.iterdir())
        for each in check_texts(profiles, texts_of(case), catalog=catalog).all_diagnostics
        if each.is_error and not each.help
    }
    assert silent == WITHOUT_HELP.keys()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('engine.version = "0.5"', 'set `engine.version = "0.5.23"`, the newest 0.5.x that is'),
        ('engine.version = "latest"', 'set `engine.version = "0.5.23"`, the newest that is'),
        ('engine.version = "9.9"', "`poolproof catalog list engines`"),
        ('targets.ct200.kind = "docker"', 'write `"systemd"`'),
        ("serve.context = 3", "write `16`"),
        ("serve.port = 70000", "write `65535`"),
        ('memory.fraction = "0.877"', "write `0.877`"),
        ('memory.fraction = "`0.877`"', "write `0.877`"),
        ('engine.name = "torch"', "there is no engine but `sglang`"),
        ("gpus.indices = [0, 0]", "set `gpus.indices = [0, 1]`"),
        ('flags.random-seed = "x"', "remove `flags.random-seed`, or give it a value that it takes"),
    ],
)
def test_what_passes_is_named(profiles: Path, catalog: Catalog, line: str, expected: str) -> None:
    """The nearest value that passes is written out, where there is one."""
    text = f'extends = ["base/kimi-k2.6", "base/service", "base/sglang-ddtree", "hw/8x-rtx-pro-6000"]\n{line}\n'
    found = check_texts(profiles, {"case": REST + text}, catalog=catalog).all_diagnostics
    told = [entry for each in found if each.is_error for entry in each.help]
    assert any(expected in entry for entry in told), told


def test_a_release_below_what_is_priced_names_the_one_to_take(
    profiles: Path, catalog: Catalog
) -> None:
    """A model that a release is not priced for is told with the release from which on it is, and how to try that."""
    text = (
        'extends = ["base/service", "hw/8x-rtx-pro-6000"]\n[model]\nid = "Qwen/Qwen3-8B"\n'
        'path = "/m"\n[engine]\nname = "sglang"\nversion = "0.4.1"\npython = "/p"\n'
    )
    found = check_texts(profiles, {"case": REST + text}, catalog=catalog).all_diagnostics
    (told,) = (each for each in found if each.code == "model-unpriced")
    assert "`poolproof check case --engine sglang@0.4.6`" in told.help[0]
    again = text.replace("0.4.1", "0.4.6")
    found = check_texts(profiles, {"case": REST + again}, catalog=catalog).all_diagnostics
    assert all(each.code != "model-unpriced" for each in found)


@pytest.mark.parametrize("written", ["0.877", "`0.877`", "87.7 %"])
def test_a_number_in_quotes_is_called_that(profiles: Path, catalog: Catalog, written: str) -> None:
    """Where a number is wanted among words, its quotes are the fault, and said to be."""
    text = (
        'extends = ["base/kimi-k2.6", "base/service", "base/sglang-ddtree", "hw/8x-rtx-pro-6000"]\n'
        f'memory.fraction = "{written}"\n'
    )
    found = check_texts(profiles, {"case": text + REST}, catalog=catalog).all_diagnostics
    (told,) = (each for each in found if each.code == "bad-value")
    assert told.summary.endswith("or `auto`, found a number in quotes, which is text")


def test_what_is_accepted_is_told_with_its_figures() -> None:
    """Of a finding that is accepted the headline alone is shown: it has the figures of its places, and the reason."""
    place = Span(file="a", line=1, column=1, end_line=1, end_column=2)
    found = error(
        "pool-likely-short",
        "the pool is short",
        Label(place, "needs 200 slots"),
        secondary=(Label(place, "a limit"), Label(place, "gives 100")),
    )
    assert found.told == "the pool is short"
    told = evolve(found, accepted="seen").told
    assert told == "the pool is short: needs 200 slots, gives 100 (accepted: seen)"
