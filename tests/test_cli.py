"""The command from end to end: what it writes, what it compares, how it ends, and what it prints where."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import tempfile
import termios
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from checkouts import (
    DEPLOYABLE,
    FILES_OF_A_PROFILE,
    FP8,
    REPOSITORY,
    SCRIPT,
    SHORT,
    STORY,
    UNIT,
    Checkout,
    Done,
    checkout,
    command,
    compiled_checkout,
    environment,
    run,
    run_apart,
)
from compiler.cli.commands import GROUPS, VERBS, poolproof
from compiler.cli.explain import index_lines
from compiler.explain import codes
from compiler.workspace import Workspace, check_pin
from examples import examples


Change = Callable[[Checkout], object]

PLAN_KEYS = {
    # the contract as it was first written down
    *("profile", "target", "verdict", "engine", "pool", "effective", "static", "reserve"),
    *("argv", "env", "diagnostics"),
    # what was added to it since; nothing may be taken away
    *("fraction", "free_before_load_gib", "reserve_available_gib", "reserve_needed_gib"),
    *("reserve_margin_gib", "unknowns", "unpriced", "assumptions", "outcome", "refused_by"),
}
DIAGNOSTIC_KEYS = {"code", "severity", "summary", "path", "spans", "notes", "help"}
SPAN_KEYS = {"file", "line", "column", "end_line", "end_column", "label"}
POOL_KEYS = {"required_tokens", "low", "best", "high", "cell_bytes", "evidence"}
LINE_KEYS = {"item", "low_gib", "best_gib", "high_gib", "evidence"}

BROKEN = 'schema = 1\n[serve\ncontext = "x"\n'
ESCAPE = "\x1b["


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A tree that was compiled; not to be changed."""
    return compiled_checkout(tmp_path_factory.mktemp("once") / "tree")


@pytest.fixture
def compiled(once: Checkout, tmp_path: Path) -> Checkout:
    """A tree that was compiled."""
    return once.copy(tmp_path / "compiled")


def edit(path: Path, old: str, new: str) -> None:
    """Replace what stands once in a file."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def refuse(tree: Checkout, name: str = STORY) -> None:
    """Make a profile one that is refused."""
    edit(tree.profile(name), "context = 200_000", "context = 2_000_000")


# --- compile -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("within", "asked"),
    [
        (".", f"profiles/{STORY}.toml"),
        (".", f"./profiles/{STORY}.toml"),
        (".", f"./{STORY}"),
        ("profiles", f"./{STORY}"),
        ("profiles/base", f"../{STORY}"),
        (".", STORY),
        (".", f"{STORY}.toml"),
        (".", f"profiles/{STORY}"),
        ("profiles", f"{STORY}.toml"),
        ("profiles", STORY),
        ("profiles/base", f"../{STORY}.toml"),
        ("profiles/base", STORY),
        ("..", f"tree/profiles/{STORY}.toml"),
        ("../beside", f"../tree/profiles/{STORY}.toml"),
        ("/", f"{{tree}}/profiles/{STORY}.toml"),
    ],
)
def test_one_profile_by_path_or_name(tree: Checkout, within: str, asked: str) -> None:
    """A profile that is asked for by its path or its name, from wherever, is written to its own folder only."""
    (tree.root / "../beside").mkdir()
    done = tree.run("compile", asked.format(tree=tree.root), within=within)
    assert done.code == 0
    assert tree.standing().keys() == {
        "MANIFEST",
        *(f"{STORY}/{each}" for each in FILES_OF_A_PROFILE),
    }
    assert not (tree.root / "../out").exists()


def test_all_profiles(tree: Checkout) -> None:
    """Without a name every deployable profile is written and no fragment; only `launch.sh` is executable."""
    done = tree.compile()
    expected = {f"{name}/{each}" for name in DEPLOYABLE for each in FILES_OF_A_PROFILE}
    standing = tree.standing()
    assert standing.keys() == {"MANIFEST", *expected}
    assert {path for path, (_, mode) in standing.items() if mode == 0o755} == {
        path for path in expected if path.endswith("launch.sh")
    }
    assert {mode for _, mode in standing.values()} == {0o644, 0o755}
    assert "wrote 21 files below out/, 0 unchanged" in done.out


def test_a_second_run_touches_nothing(compiled: Checkout) -> None:
    """Compiling again writes no file and no folder, and says so."""
    before = compiled.times()
    assert "wrote 0 files below out/, 21 unchanged" in compiled.compile().out
    assert "wrote 0 files below out/, 7 unchanged" in compiled.compile(STORY).out
    assert compiled.times() == before


def test_only_what_changed_is_written(compiled: Checkout) -> None:
    """A profile that changes touches the files that follow from it, and no other."""
    before = compiled.times()
    edit(compiled.profile(SHORT), "many requests", "many short requests")
    compiled.compile()
    after = compiled.times()
    changed = {
        Path(path).relative_to(compiled.out).as_posix()
        for path in after
        if Path(path).is_file() and after[path] != before[path]
    }
    assert changed == {
        "MANIFEST",
        f"{SHORT}/PLAN.md",
        f"{SHORT}/plan.json",
        f"{SHORT}/ct200/kimi-k2.6.service",
    }


def test_a_named_compile_leaves_the_others(compiled: Checkout) -> None:
    """With a name only its folder and its lines of MANIFEST change, though the others are stale by then."""
    before = compiled.standing()
    edit(compiled.profile("base/service"), "port = 30000", "port = 30001")
    compiled.compile(STORY)
    after = compiled.standing()
    assert {path for path in after if after[path] != before[path]} >= {"MANIFEST", UNIT, SCRIPT}
    assert all(after[path] == before[path] for path in after if path.startswith((SHORT, FP8)))
    lines = {
        line for line in before["MANIFEST"][0].splitlines() if STORY.encode() + b"/" not in line
    }
    assert lines <= set(after["MANIFEST"][0].splitlines())
    assert compiled.compared(STORY) == (0, {})
    code, words = compiled.compared()
    assert (code, set(words.values())) == (3, {"stale"})
    assert {path.partition("/")[0] for path in words} == {SHORT, FP8}


def test_names_may_be_repeated(tree: Checkout) -> None:
    """One profile under two spellings is compiled once."""
    done = tree.compile(STORY, f"profiles/{STORY}.toml", SHORT)
    assert done.out.count(f"{STORY} on ct200") == 1
    assert "wrote 14 files" in done.out


def test_orphans_go(compiled: Checkout) -> None:
    """The files of a profile that is gone are removed with their folder, and named."""
    compiled.profile(FP8).unlink()
    done = compiled.compile()
    assert f"removed out/{FP8}/PLAN.md" in done.out
    assert not (compiled.out / FP8).exists()
    assert FP8 not in (compiled.out / "MANIFEST").read_text()
    assert compiled.compared() == (0, {})


def test_a_fragment_cannot_be_compiled(tree: Checkout) -> None:
    """Asking for a fragment by name is an error, not silence."""
    done = tree.run("compile", "base/service")
    assert (done.code, tree.out.exists()) == (1, False)
    assert "error[profile-not-deployable]: `base/service` has no target" in done.err


@pytest.mark.parametrize("words", [(), (STORY,), (SHORT, STORY)])
def test_a_refused_profile_writes_nothing(tree: Checkout, words: tuple[str, ...]) -> None:
    """When one of the profiles that are asked for is refused, none is written."""
    refuse(tree)
    done = tree.run("compile", *words)
    assert (done.code, done.out) == (1, "")
    assert "error[context-beyond-model]" in done.err
    assert done.err.endswith("nothing was written\n")
    assert not tree.out.exists()


def test_a_profile_that_makes_no_plan_is_refused_by_name(tree: Checkout) -> None:
    """The last line is that of any refusal, not a verdict about a memory that nobody looked at."""
    path = tree.profile(SHORT)
    path.write_text(f"{path.read_text()}\n[serving]\ncontext = 1\n")
    done = tree.run("check", SHORT)
    said = f"{SHORT}  refused by unknown-key; not planned: see the errors\n"
    assert (done.code, done.out) == (1, said)


def test_a_refused_profile_leaves_what_stands(compiled: Checkout) -> None:
    """A refusal does not touch the output of an earlier run, and comparing refuses the same."""
    before = compiled.times()
    refuse(compiled)
    assert compiled.run("compile").code == 1
    assert compiled.run("compile", "--check").code == 1
    assert compiled.times() == before


def test_a_broken_profile_elsewhere(tree: Checkout) -> None:
    """A broken profile stops a compile of all, and not one of others by name."""
    tree.write("broken", BROKEN)
    tree.compile(STORY)
    assert tree.compared(STORY) == (0, {})
    before = tree.times()
    done = tree.run("compile")
    assert done.code == 1
    assert "profiles/broken.toml:2:7" in done.err
    assert tree.times() == before


# --- compile --check -----------------------------------------------------------------------------


def touch_a_byte(tree: Checkout) -> None:
    """Change one byte of a unit."""
    content = bytearray((tree.out / UNIT).read_bytes())
    content[-2] ^= 1
    (tree.out / UNIT).write_bytes(content)


def put_a_link(tree: Checkout) -> None:
    """Put a symlink in the place of a unit."""
    (tree.out / UNIT).unlink()
    (tree.out / UNIT).symlink_to("/dev/null")


def add_foreign(tree: Checkout) -> None:
    """Put a file there that is nobody's."""
    (tree.out / "notes.txt").write_text("mine\n")


CHANGES: dict[str, tuple[Change, int, dict[str, str]]] = {
    "nothing": (lambda tree: tree, 0, {}),
    "a byte": (touch_a_byte, 3, {UNIT: "edited"}),
    "a file is gone": (lambda tree: (tree.out / SCRIPT).unlink(), 3, {SCRIPT: "missing"}),
    "the executable bit is lost": (
        lambda tree: (tree.out / SCRIPT).chmod(0o644),
        3,
        {SCRIPT: "edited"},
    ),
    "an executable bit too many": (
        lambda tree: (tree.out / UNIT).chmod(0o755),
        3,
        {UNIT: "edited"},
    ),
    "the group may write": (lambda tree: (tree.out / UNIT).chmod(0o664), 0, {}),
    "a base profile": (
        lambda tree: edit(tree.profile("hw/8x-rtx-pro-6000"), '"SYS" ', '"PHB" '),
        3,
        {
            f"{name}/{each}": "stale"
            for name in DEPLOYABLE
            for each in ("plan.json", "ct200/kimi-k2.6.env", "ct200/launch.sh")
        },
    ),
    "a profile is gone": (
        lambda tree: tree.profile(FP8).unlink(),
        3,
        {f"{FP8}/{each}": "orphan" for each in FILES_OF_A_PROFILE},
    ),
    "a foreign file": (add_foreign, 0, {"notes.txt": "foreign"}),
    "MANIFEST is gone": (lambda tree: (tree.out / "MANIFEST").unlink(), 3, {"MANIFEST": "missing"}),
    "a link in its place": (
        put_a_link,
        3,
        {UNIT: "edited"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_told_apart(compiled: Checkout, change: str) -> None:
    """Each way in which `out/` can differ has its word, its paths and its exit code, and comparing writes nothing."""
    apply, code, words = CHANGES[change]
    apply(compiled)
    before = compiled.times()
    assert compiled.compared() == (code, words)
    assert compiled.times() == before


def test_all_changes_at_once(compiled: Checkout) -> None:
    """Every path has its own word when several things are wrong at the same time."""
    for change in ("a byte", "a file is gone", "a profile is gone", "a foreign file"):
        CHANGES[change][0](compiled)
    edit(compiled.profile(SHORT), '"30min"', '"31min"')
    code, words = compiled.compared()
    assert code == 3
    assert words[UNIT] == "edited"
    assert words[SCRIPT] == "missing"
    assert words[f"{FP8}/plan.json"] == "orphan"
    assert words["notes.txt"] == "foreign"
    assert words[f"{SHORT}/ct200/kimi-k2.6.service"] == "stale"


def test_edited_and_stale_at_once(compiled: Checkout) -> None:
    """A file that was edited, and whose inputs changed too, is an edit, and both are said."""
    touch_a_byte(compiled)
    edit(compiled.profile("base/service"), "port = 30000", "port = 30001")
    done = compiled.run("compile", "--check")
    assert f"edited   out/{UNIT} (edited by hand; its inputs changed too)" in done.out


def test_never_compiled(tree: Checkout) -> None:
    """Without `out/` all is missing, and nothing is made by looking."""
    code, words = tree.compared()
    assert (code, set(words.values()), len(words)) == (3, {"missing"}, 22)
    assert not tree.out.exists()


def test_strict_counts_foreign_files(compiled: Checkout) -> None:
    """With `--strict` a foreign file is reason enough for exit 3; the profile compared has no warning of its own."""
    assert compiled.run("compile", "--check", "--strict", SHORT).code == 0
    (compiled.out / SHORT / "notes.txt").write_text("mine\n")
    assert compiled.run("compile", "--check", SHORT).code == 0
    done = compiled.run("compile", "--check", "--strict", SHORT)
    assert done.code == 3
    assert f"foreign  out/{SHORT}/notes.txt" in done.out


def test_a_comparison_by_name_looks_at_its_folder(compiled: Checkout) -> None:
    """With a name only that profile's folder is compared."""
    touch_a_byte(compiled)
    assert compiled.compared(SHORT) == (0, {})
    assert compiled.compared(STORY) == (3, {UNIT: "edited"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("a byte", "--overwrite"),
        ("a file is gone", "run `poolproof compile` and commit the result"),
    ],
)
def test_the_way_out_is_said(compiled: Checkout, change: str, said: str) -> None:
    """A comparison that fails says on stderr what to run."""
    CHANGES[change][0](compiled)
    assert said in compiled.run("compile", "--check").err


def test_diff(compiled: Checkout) -> None:
    """`--diff` prints a unified diff from what stands to what would be written, in which a changed flag is one line."""
    edit(compiled.profile(STORY), "max_running_requests = 8 ", "max_running_requests = 7 ")
    done = compiled.run("compile", "--check", "--diff")
    assert done.code == 3
    assert f"--- out/{UNIT}\n+++ out/{UNIT}\n@@ " in done.out
    changed = [line for line in diff_of(done.out, UNIT) if line.startswith(("-", "+"))]
    assert changed == ["-  --max-running-requests 8 \\", "+  --max-running-requests 7 \\"]


def diff_of(text: str, path: str) -> list[str]:
    """The lines of one file's diff, after its two header lines."""
    body = text.split(f"+++ out/{path}\n")[1]
    return re.split(r"^--- ", body, flags=re.MULTILINE)[0].splitlines()


def test_diff_of_an_edit_shows_what_would_be_undone(compiled: Checkout) -> None:
    """The diff of a hand edit goes from the edit to what is produced, and that of a bit is a line of its own."""
    edit(compiled.out / UNIT, "KillMode=mixed", "KillMode=process")
    (compiled.out / SCRIPT).chmod(0o644)
    done = compiled.run("compile", "--check", "--diff", STORY)
    assert "-KillMode=process\n+KillMode=mixed\n" in done.out
    assert f"+++ out/{SCRIPT}\nmode 644 -> 755\n" in done.out


def test_diff_belongs_to_check(compiled: Checkout) -> None:
    """`--diff` without `--check` is a usage error rather than a compile."""
    done = compiled.run("compile", "--diff")
    assert (done.code, done.out) == (2, "")
    assert "--diff goes with --check" in done.err


# --- hand edits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), (STORY,)])
def test_a_hand_edit_is_not_written_over(compiled: Checkout, words: tuple[str, ...]) -> None:
    """A file that was edited stops the whole write, with its path and the way out."""
    touch_a_byte(compiled)
    edit(compiled.profile("base/service"), "port = 30000", "port = 30001")
    before = compiled.times()
    done = compiled.run("compile", *words)
    assert (done.code, done.out) == (1, "")
    assert "error[out-edited]: 1 file was edited by hand in `out`" in done.err
    assert f"`{UNIT}`" in done.err
    assert "`poolproof compile --overwrite`" in done.err
    assert compiled.times() == before


def test_overwrite(compiled: Checkout) -> None:
    """`--overwrite` puts an edited file right, and takes the place of what stands in its way."""
    before = compiled.standing()
    touch_a_byte(compiled)
    (compiled.out / SCRIPT).chmod(0o644)
    assert "wrote 2 files" in compiled.compile("--overwrite").out
    assert compiled.standing() == before


def test_a_foreign_file_in_the_way(tree: Checkout) -> None:
    """A file that no compile wrote, where one is to be written, refuses; nothing is lost without `--overwrite`."""
    (tree.out / UNIT).parent.mkdir(parents=True)
    (tree.out / UNIT).write_text("mine\n")
    done = tree.run("compile")
    assert done.code == 1
    assert "error[out-foreign]" in done.err
    assert f"`{UNIT}`" in done.err
    assert tree.standing() == {UNIT: (b"mine\n", 0o644)}
    tree.compile("--overwrite")
    assert tree.compared() == (0, {})


def test_foreign_files_stay(compiled: Checkout) -> None:
    """A compile leaves a file of somebody else where it is, even in the folder of a profile that is gone."""
    (compiled.out / FP8 / "notes.txt").write_text("mine\n")
    compiled.profile(FP8).unlink()
    compiled.compile()
    assert {path for path in compiled.standing() if path.startswith(FP8 + "/")} == {
        f"{FP8}/notes.txt"
    }


# --- the pin -------------------------------------------------------------------------------------

PINS: dict[str, tuple[str | bytes, str, str]] = {
    "another version": ('requires = ">=9.1"', "pin-mismatch", "poolproof.toml:1:12"),
    "an older version": ('# about\nrequires = "<0.1"', "pin-mismatch", "poolproof.toml:2:12"),
    "no range": ('requires = "soon"', "pin-invalid", "poolproof.toml:1:12"),
    "no end of digits": (f'requires = ">={"9" * 5000}"', "pin-invalid", "poolproof.toml:1:12"),
    "a number": ("requires = 1", "pin-invalid", "poolproof.toml:1:12"),
    "a misspelled key": ('\nrequire = ">=0.1"', "pin-invalid", "poolproof.toml:2:1"),
    "no TOML": ("requires = ", "toml-syntax", "poolproof.toml:1:"),
    "a byte order mark": ('\ufeffrequires = ">=0.1"', "toml-syntax", "poolproof.toml:1:1"),
    "a NUL": ('requires = "\0"', "toml-syntax", "poolproof.toml:1:13"),
    "too deep": ("x = " + "[" * 3_000, "toml-limit", "poolproof.toml:1:"),
    "no UTF-8": (b'requires = "\xff"', "pin-invalid", "poolproof.toml:1:1"),
}


@pytest.mark.parametrize("pin", PINS)
def test_a_pin_that_does_not_allow_this_compiler(tree: Checkout, pin: str) -> None:
    """A pin that asks for another compiler, or that cannot be read, refuses every verb at its place."""
    content, code, place = PINS[pin]
    (tree.root / "poolproof.toml").write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    for words in (("check",), ("check", STORY), ("compile",), ("compile", "--check")):
        done = tree.run(*words)
        assert (done.code, done.out) == (1, "")
        assert f"error[{code}]" in done.err
        assert f"--> {place}" in done.err
    assert not tree.out.exists()
    (found,) = tree.run("check", "--json").json["diagnostics"]
    assert found["code"] == code


def test_both_ways_out_of_a_pin(tree: Checkout) -> None:
    """A refused version says which one to install, and how to move the pin instead."""
    (tree.root / "poolproof.toml").write_text('requires = ">=9.1"')
    said = tree.run("compile").err
    assert "this tree wants poolproof >=9.1, this is " in said
    assert "pip install 'poolproof>=9.1'" in said
    assert "or move the pin in `poolproof.toml`" in said


@pytest.mark.parametrize("pin", ["", "# nothing\n", 'requires = ">=0.1"\n', 'requires = ""\n'])
def test_a_pin_that_allows_this_compiler(tree: Checkout, pin: str) -> None:
    """A pin that this version satisfies, or an empty file, changes nothing."""
    (tree.root / "poolproof.toml").write_text(pin)
    assert tree.run("check", SHORT).code == 0


NUMBERS = st.lists(st.sampled_from(["0", "1", "2", "10"]), min_size=1, max_size=3).map(".".join)
RANGES = st.lists(
    st.tuples(st.sampled_from([">=", "<", ">= ", " <", "==", "~=", "!=", ">", "<="]), NUMBERS).map(
        "".join
    ),
    min_size=1,
    max_size=3,
).map(",".join)


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(pin=RANGES, version=NUMBERS)
def test_pins_mean_what_they_mean_to_packaging(pin: str, version: str) -> None:
    """A range allows the versions that Python's packaging says it allows, short cut or not."""
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "poolproof.toml").write_text(f'requires = "{pin}"')
        found = check_pin(Workspace(root), version=version)
    try:
        allowed = SpecifierSet(pin).contains(version)
    except InvalidSpecifier:
        assert [each.code for each in found] == ["pin-invalid"]
    else:
        assert [each.code for each in found] == ([] if allowed else ["pin-mismatch"])


def test_a_later_pin_may_have_other_keys(tree: Checkout) -> None:
    """Of a pin for another version only the version is complained about: its other keys may be right there."""
    (tree.root / "poolproof.toml").write_text('requires = ">=9.1"\nnew = 1\n')
    (found,) = tree.run("check", "--json").json["diagnostics"]
    assert found["code"] == "pin-mismatch"


def test_without_a_pin(tree: Checkout) -> None:
    """A tree needs no `poolproof.toml`."""
    (tree.root / "poolproof.toml").unlink()
    tree.compile(SHORT)
    assert tree.compared(SHORT) == (0, {})


# --- exit codes and streams ----------------------------------------------------------------------


def occupy(tree: Checkout) -> None:
    """Put a file where `out/` must be."""
    tree.out.write_text("mine\n")


ENDS: dict[str, tuple[Change, tuple[str, ...], int]] = {
    "check": (lambda tree: tree, ("check", SHORT), 0),
    "warnings": (lambda tree: tree, ("check", STORY), 0),
    "strict": (lambda tree: tree, ("check", "--strict", STORY), 1),
    "strict compile": (lambda tree: tree, ("compile", "--strict", STORY), 1),
    "refused": (refuse, ("check", STORY), 1),
    "no such profile": (lambda tree: tree, ("check", "k2.6-200"), 1),
    "no such verb": (lambda tree: tree, ("chekc",), 2),
    "no such option": (lambda tree: tree, ("check", "--stict"), 2),
    "no such format": (lambda tree: tree, ("check", "--format", "xml"), 2),
    "no verb": (lambda tree: tree, (), 2),
    "stale": (lambda tree: tree, ("compile", "--check"), 3),
    "no folder": (occupy, ("compile",), 5),
    "no folder to compare": (occupy, ("compile", "--check"), 5),
    "version": (lambda tree: tree, ("--version",), 0),
    "help": (lambda tree: tree, ("--help",), 0),
}


@pytest.mark.parametrize("end", ENDS)
def test_exit_codes(tree: Checkout, end: str) -> None:
    """Each outcome has the exit code that is documented for it."""
    change, words, code = ENDS[end]
    change(tree)
    done = tree.run(*words)
    assert done.code == code
    assert "Traceback" not in done.out + done.err


def test_no_tree(tmp_path: Path) -> None:
    """Outside a tree the folder that was looked in is named; so is that of a path that leads out of one."""
    done = run("check", here=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert (
        f"error[tree-missing]: there is no `profiles/` or `poolproof.toml` in `{tmp_path}`"
        in done.err
    )
    tree = checkout(tmp_path / "tree")
    (tmp_path / "x.toml").write_text("")
    done = tree.run("check", "../x.toml")
    assert done.code == 1
    assert f"in `{tmp_path}`" in done.err


def test_a_profile_of_another_tree(tree: Checkout, tmp_path: Path) -> None:
    """All profiles of a run are of one tree: that of the first one."""
    other = checkout(tmp_path / "other")
    done = tree.run("check", f"profiles/{SHORT}.toml", str(other.profile(SHORT)))
    assert done.code == 1
    assert "error[profile-outside]" in done.err
    assert f"is not below `{tree.root}/profiles`" in done.err


def test_a_profile_that_is_a_symlink(tree: Checkout) -> None:
    """A profile whose file is elsewhere is the same by its path as by its name."""
    tree.profile(SHORT).rename(tree.root / "elsewhere.toml")
    tree.profile(SHORT).symlink_to("../elsewhere.toml")
    assert tree.run("check", SHORT).code == 0
    assert tree.run("check", f"profiles/{SHORT}.toml").code == 0


@pytest.mark.parametrize(
    "asked", ["profiles/k2.6-200.toml", "./profiles/k2.6-200.toml", "{tree}/profiles/k2.6-200.toml"]
)
def test_a_path_that_is_not_there(tree: Checkout, asked: str) -> None:
    """A path to a profile that does not exist is a profile that is missing, with the one that was meant."""
    done = tree.run("check", asked.format(tree=tree.root))
    assert done.code == 1
    assert "error[profile-missing]: there is no profile `k2.6-200`" in done.err
    assert f"a profile with a similar name exists: `{STORY}`" in done.err


@pytest.mark.parametrize(
    "words",
    [("check",), ("verify", "--profile", "k2.6-200k", "--log", os.devnull), ("affected", "x.toml")],
)
def test_the_working_directory_is_gone(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A working directory that was removed is said to be gone."""
    gone = tmp_path / "gone"
    gone.mkdir()
    process = subprocess.Popen(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *command(*words)],
        cwd=gone,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "the working directory is not there any more" in said


def test_the_help_lists_every_verb(tree: Checkout) -> None:
    """Each verb stands under what it is for, with the whole of its first sentence."""
    assert sorted(verb for verbs in GROUPS.values() for verb in verbs) == sorted(VERBS)
    told = tree.run("--help").out
    assert [told.index(f"{heading}:\n") for heading in GROUPS] == sorted(
        told.index(f"{heading}:\n") for heading in GROUPS
    )
    assert "..." not in told.partition("A start:")[2]


def test_results_and_prose(tree: Checkout) -> None:
    """Verdicts go to stdout and findings to stderr, so that either can be kept alone."""
    done = tree.run("check")
    assert [line.split()[0] for line in done.out.splitlines()] == sorted(DEPLOYABLE)
    assert done.err.startswith("warning[reserve-uncertain]: ")
    assert done.err.endswith("\n1 warning\n")
    assert "warning" not in done.out


def test_nothing_to_say(tree: Checkout) -> None:
    """A profile without a finding prints its verdict and nothing else."""
    done = tree.run("check", SHORT)
    assert done.err == ""
    assert re.fullmatch(rf"{SHORT} on ct200  pass  .*\n", done.out)


def test_a_finding_of_a_shared_file_is_shown_once(tree: Checkout) -> None:
    """What is wrong with a fragment that three profiles extend is one error, not three."""
    edit(tree.profile("base/service"), "port = 30000", "prot = 30000")
    done = tree.run("check")
    assert done.err.count("error[unknown-key]") == 1
    assert done.err.endswith("\n1 error\n")
    result = tree.run("check", "--json").json
    assert result["diagnostics"] == []
    assert [[each["code"] for each in plan["diagnostics"]] for plan in result["plans"]] == [
        ["unknown-key"]
    ] * 3


def test_a_parent_that_is_gone_is_one_finding(tree: Checkout) -> None:
    """Of a file that is deleted, each profile that extends it is a place of one finding, and refused by that."""
    tree.profile("base/service").unlink()
    done = tree.run("check")
    assert done.err.count("error[profile-missing]") == 1
    assert done.err.endswith("\n1 error\n")
    places = [f"profiles/{name}.toml:2:30" for name in sorted(DEPLOYABLE)]
    assert sorted(re.findall(r"(?:-->|:::) (\S+)", done.err)) == sorted(places)
    told = [plan["diagnostics"] for plan in tree.run("check", "--json").json["plans"]]
    assert told == [told[0]] * len(DEPLOYABLE)
    assert [len(each["spans"]) for each in told[0]] == [len(DEPLOYABLE)]


def test_a_parent_that_is_deployed_is_one_finding(tree: Checkout) -> None:
    """Who extends a profile with a target is told together, and where that target stands comes last."""
    edit(tree.profile("base/service"), "schema = 1", 'schema = 1\ntargets.one.kind = "systemd"')
    done = tree.run("check")
    assert done.err.count("error[extends-deployable]") == 1
    (told,) = tree.run("check", SHORT, "--json").json["plans"][0]["diagnostics"]
    assert [each["label"] for each in told["spans"]] == ["", "its target"]


def test_a_conflict_of_shared_fragments_is_one_finding(tree: Checkout) -> None:
    """What many profiles cannot merge is told once, with who they are; in text, JSON, and for GitHub, each of them refused."""
    tree.write("base/port", "schema = 1\nserve.port = 1\n")
    names = [f"p{number}" for number in range(1, 7)]
    text = tree.profile(STORY).read_text("utf-8")
    first = text.replace('["', '["base/port", "', 1)
    last = text.replace('"]', '", "base/port"]', 1)
    for at, name in enumerate(names):
        tree.write(name, first if at % 2 else last)
    done = tree.run("check")
    assert done.err.count("error[merge-conflict]") == 1
    assert "6 files extend these: `p1`, `p2`, `p3`, `p4`, and 2 more" in done.err
    assert "set `serve.port` in each of them; a file wins" in done.err
    assert tree.run("check", "--format", "github").out.count("title=merge-conflict") == 1
    plans = tree.run("check", "--json").json["plans"]
    told = [plan["diagnostics"] for plan in plans if plan["profile"] in names]
    assert told == [told[0]] * len(names)
    assert [each["code"] for each in told[0]] == ["merge-conflict"]


def test_a_conflict_is_settled_in_the_fragment_that_makes_it(tree: Checkout) -> None:
    """Where a fragment of many profiles extends both it is the one file to set it in; with one profile that is the profile."""
    tree.write("base/port", "schema = 1\nserve.port = 1\n")
    edit(tree.profile(SHORT), '"base/service"', '"base/service", "base/port"')
    assert f"set `serve.port` in `{SHORT}`; a file wins" in tree.run("check").err
    edit(tree.profile(SHORT), '"base/service", "base/port"', '"base/service"')
    tree.write("base/both", 'schema = 1\nextends = ["base/service", "base/port"]\n')
    for name in DEPLOYABLE:
        edit(tree.profile(name), '"base/service"', '"base/both"')
    done = tree.run("check")
    assert done.err.count("error[merge-conflict]") == 1
    assert "set `serve.port` in `base/both`; a file wins" in done.err
    assert done.err.count("files extend these") == 0
    tree.write("base/both", 'schema = 1\nextends = ["base/service", "base/port"]\nserve.port = 2\n')
    assert tree.run("check").code == 0


def test_a_finding_of_a_fragment_alone(tree: Checkout) -> None:
    """What is wrong with a fragment that no deployable profile extends belongs to no plan."""
    tree.write("base/unused", "schema = 1\nserv.port = 1\n")
    done = tree.run("check")
    assert done.code == 1
    assert "--> profiles/base/unused.toml:2:1" in done.err
    result = tree.run("check", "--json").json
    assert [each["code"] for each in result["diagnostics"]] == ["unknown-key", "fragment-unused"]
    assert {plan["verdict"] for plan in result["plans"]} == {"pass", "uncertain"}


# --- bugs and interrupts -------------------------------------------------------------------------


def fail(*_: object, **__: object) -> None:
    """What no code of ours should do."""
    raise LookupError("nobody looked")


def interrupt(*_: object, **__: object) -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    "place", ["check.check_asked", "check.open_session", "check._print_verdicts"]
)
def test_a_bug_says_that_it_is_one(
    tree: Checkout, monkeypatch: pytest.MonkeyPatch, place: str, *, debug: bool
) -> None:
    """A fault of ours exits 70 and says whose it is and where; the traceback comes only with `--debug`."""
    monkeypatch.setattr(f"compiler.cli.{place}", fail)
    done = tree.run(*(["--debug"] if debug else []), "check", SHORT)
    assert done.code == 70
    assert "this is a bug in Poolproof, not in your profiles" in done.err
    assert "LookupError: nobody looked" in done.err
    assert "in command (cli/check.py:" in done.err
    assert ("Traceback" in done.err) is debug


def test_an_interrupt(tree: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and one word."""
    monkeypatch.setattr("compiler.cli.check.check_asked", interrupt)
    done = tree.run("check")
    assert (done.code, done.out, done.err.strip()) == (130, "", "interrupted")


def test_an_interrupt_while_importing(tree: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before a verb has been found ends the same way."""
    monkeypatch.setattr("compiler.cli.commands.import_module", interrupt)
    done = tree.run("check")
    assert (done.code, done.out, done.err.strip()) == (130, "", "interrupted")


def test_a_real_interrupt_while_waiting(compiled: Checkout) -> None:
    """SIGINT while another compile holds `out/` ends the run with 130, and nothing was touched."""
    before = compiled.times()
    holder = os.open(compiled.out, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        process = subprocess.Popen(
            command("compile"),
            cwd=compiled.root,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: holds(process.pid, compiled.out))
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    finally:
        os.close(holder)
    assert process.returncode == 130
    assert said.endswith("interrupted\n")
    assert "Traceback" not in said
    assert compiled.times() == before


def test_another_compile_at_work(compiled: Checkout) -> None:
    """A run that cannot have `out/` in time says that another one is at work, and exits 5."""
    holder = os.open(compiled.out, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        done = compiled.run("compile", SHORT)
    finally:
        os.close(holder)
    assert done.code == 5
    assert "error[out-busy]: another compile is writing `out`" in done.err


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for something to become true; fail when it does not in time."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def holds(process: int, place: Path) -> bool:
    """Whether a process has a file or folder open."""
    for each in Path(f"/proc/{process}/fd").iterdir():
        try:
            if each.readlink() == place:
                return True
        except FileNotFoundError:
            continue
    return False


# --- JSON and annotations ------------------------------------------------------------------------


def test_the_keys_of_the_contract(tree: Checkout) -> None:
    """`check --json` prints one object with exactly the keys that are documented, at every level."""
    done = tree.run("check", "--json")
    assert (done.code, done.err) == (0, "")
    result = done.json
    assert list(result) == ["schema", "diagnostics", "plans", "outcome", "refused_by", "unseen"]
    assert result["schema"] == 1
    assert [each["profile"] for each in result["plans"]] == sorted(DEPLOYABLE)
    for plan in result["plans"]:
        assert plan.keys() == PLAN_KEYS
        assert plan["target"] == "ct200"
        assert plan["verdict"] in ("pass", "uncertain")
        assert plan["engine"] == {"name": "sglang", "version": "0.5.11", "build": "ddtree"}
        assert plan["pool"].keys() == POOL_KEYS
        assert plan["effective"].keys() == {"context", "concurrency"}
        assert {key for line in (*plan["static"], *plan["reserve"]) for key in line} == LINE_KEYS
        assert plan["argv"][:3] == ["/opt/sglang/bin/python", "-m", "sglang.launch_server"]
        assert plan["env"] == {"NCCL_P2P_LEVEL": "SYS"}
    (found,) = (each for plan in result["plans"] for each in plan["diagnostics"])
    assert found.keys() == DIAGNOSTIC_KEYS
    assert {frozenset(span) for span in found["spans"]} == {frozenset(SPAN_KEYS)}


def test_the_places_of_the_contract(tree: Checkout) -> None:
    """A diagnostic of `--json` has the places that the text shows: file, line, and column."""
    (plan,) = tree.run("check", "--json", STORY).json["plans"]
    (found,) = plan["diagnostics"]
    first = found["spans"][0]
    assert (first["file"], first["line"], first["column"]) == (f"profiles/{STORY}.toml", 11, 12)
    assert f"--> profiles/{STORY}.toml:11:12" in tree.run("check", STORY).err


def test_format_json_is_json(tree: Checkout) -> None:
    """`--json` is short for `--format json`."""
    assert tree.run("check", "--format", "json") == tree.run("check", "--json")


def no_tree(tree: Checkout) -> None:
    """Leave nothing of a tree."""
    (tree.root / "poolproof.toml").unlink()
    (tree.root / "profiles").rename(tree.root / "something")


INPUTS: dict[str, tuple[Change, tuple[str, ...], int]] = {
    "all is well": (lambda tree: tree, (), 0),
    "a fragment": (lambda tree: tree, ("base/service",), 0),
    "refused": (refuse, (STORY,), 1),
    "malformed TOML": (lambda tree: tree.write(STORY, BROKEN), (STORY,), 1),
    "malformed parent": (lambda tree: tree.write("base/service", BROKEN), (), 1),
    "no UTF-8": (lambda tree: tree.write(STORY, b"a = '\xff'"), (STORY,), 1),
    "wrong types": (
        lambda tree: tree.write(STORY, "schema = 1\nserve = 3\n[targets.x]\nkind = 1"),
        (STORY,),
        1,
    ),
    "unknown model": (
        lambda tree: edit(tree.profile("base/kimi-k2.6"), 'Kimi-K2.6"\npath', 'Kimi-K9"\npath'),
        (STORY,),
        0,
    ),
    "no such profile": (lambda tree: tree, ("nothing",), 1),
    "no tree": (no_tree, (), 1),
    "a pin": (lambda tree: (tree.root / "poolproof.toml").write_text('requires = ">9"'), (), 1),
    "no profiles": (lambda tree: (tree.root / "profiles").rename(tree.root / "x"), (), 1),
    "bytes as a name": (lambda tree: tree, ("a\udcffb",), 1),
    "a control character": (lambda tree: tree, ("a\x1bb",), 1),
}


@pytest.mark.parametrize("given", INPUTS)
def test_json_whatever_is_given(tree: Checkout, given: str) -> None:
    """Whatever the input, `--json` prints one object of the same shape, nothing on stderr, and the exit code agrees."""
    change, words, code = INPUTS[given]
    change(tree)
    done = tree.run("check", "--json", *words)
    assert (done.code, done.err) == (code, "")
    result = done.json
    assert list(result) == ["schema", "diagnostics", "plans", "outcome", "refused_by", "unseen"]
    assert all(plan.keys() == PLAN_KEYS for plan in result["plans"])
    found = [
        *result["diagnostics"],
        *(each for plan in result["plans"] for each in plan["diagnostics"]),
    ]
    assert all(each.keys() == DIAGNOSTIC_KEYS for each in found)
    assert ("error" in {each["severity"] for each in found}) is (code == 1)
    assert done.out.isascii()


def test_annotations(tree: Checkout) -> None:
    """`--format github` prints a workflow command for each finding on stdout, at the path in the repository."""
    edit(tree.profile("base/service"), "port = 30000", "prot = 30000")
    done = tree.run("check", "--format", "github")
    assert (done.code, done.err) == (1, "")
    lines = [line for line in done.out.splitlines() if line.startswith("::")]
    assert len(lines) == 1
    assert lines[0].startswith("::error file=profiles/base/service.toml,line=6,endLine=6,col=1,")
    done = tree.run("compile", "--format", "github")
    assert lines[0] in done.out


def test_annotations_of_what_the_machine_would_not(tree: Checkout) -> None:
    """Trouble with `out/` is an annotation as well, whether writing or comparing."""
    occupy(tree)
    for words in (("compile",), ("compile", "--check")):
        done = tree.run(*words, "--format", "github", SHORT)
        assert done.code == 5
        assert "::error title=out-un" in done.out


# --- colour, pipes, encodings --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_colour_is_asked_for(tree: Checkout, variables: dict[str, str], *, coloured: bool) -> None:
    """Away from a terminal there is colour only with `FORCE_COLOR`, and `NO_COLOR` wins; an empty one is none."""
    done = tree.run("check", STORY, **variables)
    assert (ESCAPE in done.err) is coloured
    assert ESCAPE not in done.out


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, False, marks=pytest.mark.slow),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colour_on_a_terminal(tree: Checkout, variables: dict[str, str], *, coloured: bool) -> None:
    """On a terminal findings are coloured, unless it is dumb or `NO_COLOR` is set."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("check", STORY),
        cwd=tree.root,
        env=environment(**variables),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = read_all(ours)
    assert process.wait(timeout=60) == 0
    assert b"reserve-uncertain" in said
    assert (ESCAPE.encode() in said) is coloured


FIRST = ("--model", "Qwen/Qwen3-8B", "--gpu", "h100", "--count", "1", "--host", "a")


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--bars"),
        ("fit", SHORT),
        pytest.param(("fit", STORY), marks=pytest.mark.slow),
        ("predict", "--gpu", "h100", "--", "sglang", "serve", "--model-path", "Qwen/Qwen3-8B"),
        ("why", STORY, "serve.context", "memory.fraction"),
        ("init", "new", *FIRST),
    ],
)
def test_a_terminal_of_40_columns(tree: Checkout, words: tuple[str, ...]) -> None:
    """Verdicts, answers, and bars keep to 40 columns; what is one word, or a formula, stays whole."""
    lines = on_40_columns(tree, *words)
    assert any("reserve" in line or "serve.context" in line for line in lines)
    # The name of a file stays whole.
    assert max(len(line) for line in lines if not line.startswith("wrote ")) <= 40


def test_a_merged_profile_on_40_columns(tree: Checkout) -> None:
    """What does not fit beside a setting stands below it as a comment, and all of it is the same TOML."""
    lines = on_40_columns(tree, "show", STORY, "--origins")
    said = tree.run("show", STORY, "--origins").out
    assert tomllib.loads("\n".join(lines)) == tomllib.loads(said)
    assert f"# profiles/{STORY}.toml:11:12" in {line.strip() for line in lines}
    # A text of the profile, and a place, are one word.
    assert [line for line in lines if len(line) > 40 and "  # " in line] == []


def on_40_columns(tree: Checkout, *words: str) -> list[str]:
    """The lines that a run writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    process = subprocess.Popen(
        command(*words),
        cwd=tree.root,
        env=environment(TERM="dumb"),
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    lines = read_all(ours).decode().replace("\r", "").split("\n")
    assert process.wait(timeout=60) == 0
    return lines


def test_two_forms_at_once(tree: Checkout) -> None:
    """Of `--json` and another form neither is chosen in silence; the same form twice is one."""
    done = tree.run("check", STORY, "--json", "--format", "github")
    assert (done.code, done.out) == (2, "")
    assert "`--json` and `--format github` are two forms" in done.err
    assert tree.run("check", STORY, "--json", "--format", "text").code == 2
    assert tree.run("check", STORY, "--json", "--format", "json").json["outcome"] == "uncertain"


def read_all(terminal: int) -> bytes:
    """All that is written to a terminal until nobody holds its other end."""
    said = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            more = b""
        if not more:
            os.close(terminal)
            return said
        said += more


@pytest.mark.parametrize(
    ("words", "code", "unbuffered"),
    [
        (("check", "--json"), 1, ""),
        (("check", "--json", SHORT), 0, "1"),
        (("catalog", "list"), 0, ""),
        pytest.param(("check", "--json"), 1, "1", marks=pytest.mark.slow),
        pytest.param(("check",), 1, "", marks=pytest.mark.slow),
        pytest.param(("check",), 1, "1", marks=pytest.mark.slow),
        pytest.param(("check", "--json", SHORT), 0, "", marks=pytest.mark.slow),
        pytest.param(("catalog", "list"), 0, "1", marks=pytest.mark.slow),
    ],
)
def test_a_reader_who_goes_away(
    tree: Checkout, words: tuple[str, ...], code: int, unbuffered: str
) -> None:
    """A pipe that nobody reads any more (`| head -1`) is quiet, and the exit code is what it would have been."""
    refuse(tree)
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        command(*words),
        cwd=tree.root,
        env=environment(PYTHONUNBUFFERED=unbuffered),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == code
    assert "Error" not in said
    assert "Traceback" not in said


def test_a_reader_of_both_streams_who_goes_away(tree: Checkout) -> None:
    """With stderr in the same pipe (`2>&1 | head -1`) the run goes on to its end, too."""
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        command("compile"), cwd=tree.root, env=environment(), stdout=writer, stderr=writer
    )
    os.close(writer)
    assert process.wait(timeout=60) == 0
    assert tree.compared() == (0, {})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout(tree: Checkout) -> None:
    """Output that cannot be written is the machine's fault: exit 5 with the reason."""
    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(
            command("check", SHORT),
            cwd=tree.root,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (
        5,
        "the output cannot be written: no space left on device\n",
    )


def test_closed_streams(tree: Checkout) -> None:
    """A caller that has closed both streams gets the exit code, and the tree."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command("compile")],
        cwd=tree.root,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0
    assert tree.compared() == (0, {})


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.slow)])
def test_encodings(tree: Checkout, encoding: str) -> None:
    """Whatever the encoding of the streams, text that it does not have is spelled out, and JSON is JSON."""
    tree.write("größe-日", 'schema = 1\nx = "日本"')
    for words in (("check", "--json"), ("check",), ("check", "--format", "github")):
        process = subprocess.run(
            command(*words, "größe-日"),
            cwd=tree.root,
            env=environment(PYTHONIOENCODING=encoding, PYTHONUTF8="1"),
            capture_output=True,
            check=False,
        )
        assert process.returncode == 1
        assert b"unknown-key" in process.stdout + process.stderr
        if "--json" in words:
            (found,) = json.loads(process.stdout)["diagnostics"]
            assert found["spans"][0]["file"] == "profiles/größe-日.toml"


# --- the other verbs -----------------------------------------------------------------------------


def test_as_a_module_and_as_a_script(tree: Checkout) -> None:
    """`python -m compiler` is what `poolproof` is: it compiles, and its exit code is the verb's."""
    done = run_apart("compile", f"profiles/{STORY}.toml", here=tree.root)
    assert (done.code, "wrote 7 files" in done.out) == (0, True)
    assert run_apart("compile", "--check", here=tree.root).code == 3
    assert run_apart("--version", here=tree.root).out == tree.run("--version").out
    # The process ends without being taken apart: nothing of what it printed is lost by that.
    assert run_apart("schema", here=tree.root).out == tree.run("schema").out
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"poolproof": "compiler.cli:command"}


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    """Each verb that asks where it stands says so, and what to do; it is no bug of ours."""
    folder = tmp_path / "gone"
    for words in (("init", "x"), ("check",), ("diff",)):
        folder.mkdir()
        line = f"cd {folder} && rmdir {folder} && exec {shlex.join(command(*words))}"
        done = subprocess.run(
            ["sh", "-c", line], env=environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, words
        assert "the working directory is not there any more" in done.stderr


def test_version(tree: Checkout) -> None:
    """`--version` is that of the project."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert tree.run("--version").out == f"poolproof {project['version']}\n"


def test_help_names_every_verb(tree: Checkout) -> None:
    """`--help` lists the verbs, each verb has its own, and all of it goes to stdout."""
    listed = tree.run("--help").out
    for verb in VERBS:
        assert f"\n  {verb}  " in listed
        done = tree.run(verb, "--help")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"Usage: poolproof {verb}")


OF_A_UNIT = ("switch", "rollback", "generations", "status", "gc", "retire", "verify", "measure")


@pytest.mark.parametrize("verb", OF_A_UNIT)
def test_help_of_the_verbs_of_a_host_says_which_unit(tree: Checkout, verb: str) -> None:
    """What names the unit, whether it has to be given, and lines to type that the verb takes as they stand."""
    shown = tree.run(verb, "--help").out
    told = " ".join(shown.split())
    assert "arget's `unit`, else one made of the name that its model is served by" in told
    if verb in {"verify", "measure"}:
        assert "exactly one of --unit, --url, --log, and `-`" in told
        assert "by --plan or --profile" in told
    lines = shown.partition("Such as:\n")[2].splitlines()
    assert lines
    command = poolproof.get_command(click.Context(poolproof), verb)
    assert command is not None
    for line in lines:
        first, named, *words = line.split()
        assert (first, named) == ("poolproof", verb)
        command.make_context(verb, words)


def test_every_verb_of_a_host_is_held_to_its_help() -> None:
    """A verb that is added to those of the host or of a running server is among the ones above."""
    assert set(OF_A_UNIT) == {*GROUPS["On the host"], *GROUPS["A running server"]}


def test_a_verb_that_is_misspelled(tree: Checkout) -> None:
    """A verb that is not there is refused with the one that was meant, on stderr."""
    done = tree.run("chekc")
    assert (done.code, done.out) == (2, "")
    assert "no verb is called `chekc`; a similar verb exists: `check`" in done.err


def test_explain(tree: Checkout) -> None:
    """`explain` lists the codes, has a page for each, and knows what was meant by a code that is not there."""
    lines = tree.run("explain").out.splitlines()
    listed = [line.split()[0] for line in lines]
    said = dict(line.split(maxsplit=1) for line in lines)
    assert said["setting-missing"].startswith(
        "A setting that every deployment needs is set neither"
    )
    assert "pool-too-small" in listed
    pages = {code: tree.run("explain", code) for code in listed}
    assert {page.code for page in pages.values()} == {0}
    assert len({page.out for page in pages.values()}) == len(listed)
    done = tree.run("explain", "pool-to-small")
    assert (done.code, done.out) == (1, "")
    assert "a code with a similar name exists: `pool-too-small`" in done.err


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_of_codes_fits_a_terminal(width: int) -> None:
    """What a code means stands beside it, wrapped under itself, and every code begins a line."""
    lines = list(index_lines(width=width))
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines if line[:1].strip()] == list(codes())


GPU = (
    *("catalog", "add-gpu", "our-gpu-48gb", "--name", "Our GPU", "--total-mib", "49140"),
    *("--compute-capability", "9.0", "--multiprocessors", "100", "--interconnect", "pcie"),
)


def test_the_catalogue_is_listed(tree: Checkout) -> None:
    """`catalog list` has every kind; with a KIND only that; and works outside a tree."""
    kinds = {line.split()[0] for line in tree.run("catalog", "list").out.splitlines()}
    assert kinds == {"gpus", "models", "drafts", "engines", "boots"}
    assert tree.run("catalog", "list", "boots").out.startswith(
        "boots    boots/ct200-0.85  pool 101,134 at 0.85"
    )
    assert "rtx-pro-6000-blackwell" in run("catalog", "list", "gpus", here=Path("/")).out
    public = "public/glm47-fp8-8rtx6000-tp8"
    assert (
        f"{public}  pool 864,247 at 0.848: zai-org/GLM-4.7-FP8 on 8 rtx-pro"
        in run("catalog", "list", "boots", here=Path("/")).out
    )
    shown = tree.run("catalog", "show", public).out
    assert "(shipped with poolproof)" in shown
    assert 'source = "https://' in shown
    assert tree.run("catalog", "show", "public/nothing").code == 1


def test_an_entry_is_shown(tree: Checkout) -> None:
    """`catalog show` prints an entry's file with its sources; an id that is not there, the one that was meant."""
    done = tree.run("catalog", "show", "moonshotai/Kimi-K2.6")
    assert done.code == 0
    assert "(shipped with poolproof)" in done.out
    assert "[sources]" in done.out
    done = tree.run("catalog", "show", "moonshotai/Kimi-K26")
    assert (done.code, done.out) == (1, "")
    assert "a similar id exists: `moonshotai/Kimi-K2.6`" in done.err


def test_a_gpu_of_our_own(tree: Checkout) -> None:
    """A GPU that is added can be listed, shown, and used by a profile at once; it is never written over."""
    done = tree.run(*GPU, "--free-before", "46.9", "--free-before", "47.1", "--source", "our log")
    assert done.code == 0
    assert "our-gpu-48gb  (this tree's own)" in tree.run("catalog", "list", "gpus").out
    assert "(this tree's own)" in tree.run("catalog", "show", "our-gpu-48gb").out
    text = (tree.root / "profiles/catalog/gpus/our-gpu-48gb.toml").read_text("utf-8")
    assert tomllib.loads(text)["free_before_load_gib"] == {"low": 46.9, "best": 47.1, "high": 47.1}
    edit(tree.profile("hw/8x-rtx-pro-6000"), "rtx-pro-6000-blackwell", "our-gpu-48gb")
    (plan,) = tree.run("check", "--json", SHORT).json["plans"]
    assert plan["verdict"] == "refused"
    done = tree.run(*GPU, "--source", "another log")
    assert done.code == 1
    assert "is there already" in done.err
    assert (tree.root / "profiles/catalog/gpus/our-gpu-48gb.toml").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((*GPU, "--source", ""), 1, "expected a source"),
        ((*GPU, "--source", "x", "--free-before", "nan"), 2, "expected a number of GiB"),
        ((*GPU, "--source", "x", "--free-before", "-1"), 1, "expected more than zero"),
        ((*GPU, "--source", "x", "--free-before", "much"), 2, "is not a valid float"),
        ((*GPU[:2], "../up", *GPU[3:], "--source", "x"), 1, "error[catalogue-id]"),
        ((*GPU[:2], "our/gpu", *GPU[3:], "--source", "x"), 1, "error[catalogue-id]"),
        (GPU, 2, "Missing option '--source'"),
    ],
)
def test_a_gpu_that_makes_no_entry(
    tree: Checkout, words: tuple[str, ...], code: int, said: str
) -> None:
    """An entry that the catalogue would refuse is not written."""
    done = tree.run(*words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert not (tree.root / "profiles/catalog").exists()


def test_a_lost_executable_bit_is_named(tree: Checkout) -> None:
    """A script that lost its mode, and nothing else, is told so."""
    tree.compile()
    script = tree.out / "k2.6-200k/ct200/launch.sh"
    script.chmod(0o644)
    done = tree.run("compile", "--check")
    assert done.code == 3
    assert "only its executable bit differs" in done.out


def test_another_release_is_tried_without_editing(tree: Checkout) -> None:
    """`--engine` judges the profiles as if they named another release, and spells their flags for it."""
    own = json.loads(tree.run("check", "k2.6-200k", "--json").out)["plans"][0]
    other = json.loads(tree.run("check", "k2.6-200k", "--json", "--engine", "sglang@0.5.13").out)[
        "plans"
    ][0]
    assert (own["engine"]["version"], other["engine"]["version"]) == ("0.5.11", "0.5.13")
    assert "--speculative-dflash-draft-window-size" in own["argv"]
    assert "--speculative-draft-window-size" in other["argv"]


def test_a_release_by_itself_is_of_the_default_engine(tree: Checkout) -> None:
    """A bare version reads as `sglang@` it, as for every verb that asks for an engine."""
    whole, bare = (
        tree.run("check", "k2.6-200k", "--json", "--engine", each).out
        for each in ("sglang@0.5.13", "0.5.13")
    )
    assert bare == whole


@pytest.mark.parametrize("asked", ["sglang", "@0.5.11", "sglang@", "s g@1"])
def test_an_engine_that_is_none(tree: Checkout, asked: str) -> None:
    """What is no engine with a release is a usage error."""
    assert tree.run("check", "--engine", asked).code == 2


def places_of(done: Done, code: str) -> list[tuple[str, int, str]]:
    """The primary place of each finding of a code, with what it says."""
    found = [each for plan in done.json["plans"] for each in plan["diagnostics"]]
    firsts = [each["spans"][0] for each in found if each["code"] == code]
    return [(each["file"], each["line"], each["label"]) for each in firsts]


def test_a_tried_release_points_to_the_setting_it_refuses(tree: Checkout) -> None:
    """Under `--engine` a flag that the release lacks is shown where its setting stands, that of a secret too."""
    base = tree.profile("base/service").read_text("utf-8").splitlines()
    line = next(number for number, each in enumerate(base, 1) if each.startswith("api_key"))
    told = places_of(tree.run("check", SHORT, "--json", "--engine", "0.5.2"), "flag-unknown")
    assert ("profiles/base/service.toml", line, "this flag") in told
    assert {file for file, _, _ in told} <= {
        "profiles/base/service.toml",
        "profiles/base/sglang-ddtree.toml",
    }


def test_a_tried_release_stands_in_no_file(tree: Checkout) -> None:
    """What is found about the release of `--engine` points to no file and says why, once whatever profiles are asked for."""
    tried = "the release is given by `--engine`, and stands in no file"
    done = tree.run("check", "--engine", "0.9.0")
    assert done.err.count("warning[release-unknown]: ") == 1
    _, _, told = done.err.partition("warning[release-unknown]: ")
    assert " ".join(told.split()).startswith(
        "it is not known how sglang 0.9.0 counts memory "
        f"= note: not known: how it counts memory; {tried} = note: "
    )
    assert "`poolproof catalog add-engine PATH`" in told
    assert done.out.count("unknown") == 3
    done = tree.run("check", SHORT, "--engine", "sglnag@0.5.11")
    assert "help: try `--engine sglang@0.5.11`" in done.err
    edit(tree.profile("base/sglang-ddtree"), '"0.5.11"', '"0.9.0"')
    (place,) = places_of(tree.run("check", SHORT, "--json"), "release-unknown")
    assert place[0] == "profiles/base/sglang-ddtree.toml"
    assert tried not in place[2]
