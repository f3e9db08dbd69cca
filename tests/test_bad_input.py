"""Whatever stands in a tree or around it: an error with a place and the documented exit code, and nothing lost."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkouts import (
    DEPLOYABLE,
    FP8,
    REPOSITORY,
    SHORT,
    STORY,
    UNIT,
    Checkout,
    Done,
    Standing,
    checkout,
    compiled_checkout,
    give_away,
    open_checkout,
)
from examples import examples
from forks import Fork, run_forked, run_unprivileged


LONG = 200_000
"""More than the kernel takes in one argument."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A tree whose story is written anew by each case."""
    return checkout(tmp_path_factory.mktemp("bad") / "tree")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A tree that was compiled; not to be changed."""
    return compiled_checkout(tmp_path_factory.mktemp("once") / "tree")


@pytest.fixture
def compiled(once: Checkout, tmp_path: Path) -> Checkout:
    """A tree that was compiled."""
    return once.copy(tmp_path / "compiled")


@pytest.fixture
def wanted(once: Checkout) -> Standing:
    """What a sound compile of the whole tree writes."""
    return once.standing()


def is_refused(done: Done, *, code: str, place: str) -> None:
    """A run ended with an error of this code at this place, and said it without a traceback."""
    assert done.code == 1, done.err
    assert f"error[{code}]" in done.err
    assert place in done.err
    assert "Traceback" not in done.err


# --- what is in a profile ------------------------------------------------------------------------

EDITS: dict[str, tuple[str, str, str, str]] = {
    # TOML itself
    "no value": ("context = 200_000", "context = ", "toml-syntax", "6:11"),
    "no end": ("[serve]", "[serve", "toml-syntax", "5:7"),
    "a key twice": ("context = 200_000", "context = 1\ncontext = 2", "toml-syntax", "7:1"),
    "a table twice": ("[memory]", "[serve]", "toml-syntax", "10:7"),
    "a raw NUL": ('"Kimi', '"\0Kimi', "toml-syntax", "3:16"),
    "a raw newline": ('"Kimi', '"\nKimi', "toml-syntax", "3:15"),
    "half a pair": ("Kimi K2.6, one", "\\ud800", "toml-syntax", "3:22"),
    "a byte order mark": ("schema = 1", "\ufeffschema = 1", "toml-syntax", "1:1"),
    "old line ends": ("schema = 1\n", "schema = 1\r", "toml-syntax", "1:11"),
    "deep lists": ("[serve]", f"x = {'[' * 5000}{']' * 5000}\n[serve]", "toml-limit", "5:37"),
    "deep tables": ("[serve]", f"x = {'{a=' * 99}1{'}' * 99}\n[serve]", "toml-limit", "5:101"),
    "deep keys": ("[serve]", f"{'.'.join('a' * 99)} = 1\n[serve]", "toml-limit", "5:65"),
    "endless keys": ("[serve]", f"{'.'.join('a' * 20_000)} = 1\n[serve]", "toml-limit", "5:65"),
    "deep headers": ("[serve]", f"[{'.'.join('a' * 5000)}]\n[serve]", "toml-limit", "5:66"),
    "more than 64 bits": ("200_000\n", f"{2**63}\n", "toml-limit", "6:11"),
    "thousands of digits": ("200_000\n", f"{'9' * 5000}\n", "toml-limit", "6:11"),
    # parents
    "no such parent": ('"base/service"', '"base/servise"', "profile-missing", "2:30"),
    "a parent with suffix": ('"base/service"', '"base/service.toml"', "profile-missing", "2:30"),
    "itself": ('"base/service"', f'"{STORY}"', "extends-cycle", "2:30"),
    "a deployable parent": ('"base/service"', f'"{SHORT}"', "extends-deployable", "2:30"),
    "a parent elsewhere": ('"base/service"', '"../../etc/passwd"', "profile-name", "2:30"),
    "an absolute parent": ('"base/service"', '"/etc/passwd"', "profile-name", "2:30"),
    "a NUL in a parent": ('"base/service"', '"base\\u0000service"', "profile-name", "2:30"),
    "a parent twice": ('"base/service"', '"hw/8x-rtx-pro-6000"', "extends-duplicate", "2:74"),
    "a number as parent": ('"base/service"', "5", "wrong-type", "2:30"),
    # types
    "text": ("200_000\n", '"200k"\n', "bad-value", "6:11"),
    "a fraction": ("200_000\n", "200_000.0\n", "wrong-type", "6:11"),
    "true": ("200_000\n", "true\n", "wrong-type", "6:11"),
    "a date": ("200_000\n", "1979-05-27\n", "wrong-type", "6:11"),
    "a list": ("200_000\n", "[1]\n", "wrong-type", "6:11"),
    "a table": ("200_000\n", "{ a = 1 }\n", "wrong-type", "6:11"),
    "zero": ("200_000\n", "0\n", "bad-value", "6:11"),
    "less than zero": ("200_000\n", "-5\n", "bad-value", "6:11"),
    "no number": ("0.93", "nan", "bad-value", "11:12"),
    "infinity": ("0.93", "1e400", "bad-value", "11:12"),
    "a misspelled word": ("0.93", '"fitt"', "bad-value", "11:12"),
    "a value for a table": ("schema = 1", "schema = 1\ngpus = 3", "merge-shape", "2:8"),
    "a table for a value": ("[memory]\n", "[memory]\nkv_dtype.a = 1\n", "wrong-type", "11:1"),
    "no duration": ('"30min"', '"half an hour"', "bad-value", "16:17"),
    "an endless duration": ('"30min"', '"99999999999999999999h"', "bad-value", "16:17"),
    "an unknown key": ("schema = 1", "schema = 1\nshema = 1", "unknown-key", "2:1"),
    "an unknown table": ("[serve]", "[serv]\n[serve]", "unknown-key", "5:2"),
    "a later schema": ("schema = 1", "schema = 2", "schema-unknown", "1:10"),
    # what no value may hold
    "a NUL": ('"Kimi', '"\\u0000Kimi', "bad-value", "3:15"),
    "a newline": ('"Kimi', '"Kimi\\n', "bad-value", "3:15"),
    "a noncharacter": ('"Kimi', '"\\uFFFFKimi', "unrepresentable", "3:15"),
    "a NUL in a path": ("[serve]", '[model]\npath = "/a\\u0000b"\n[serve]', "bad-value", "6:8"),
    "a newline in a path": ("[serve]", '[model]\npath = "/a\\nb"\n[serve]', "bad-value", "6:8"),
    "a relative path": ("[serve]", '[model]\npath = "a/b"\n[serve]', "bad-value", "6:8"),
    "no path": ("[serve]", '[model]\npath = ""\n[serve]', "bad-value", "6:8"),
    "a quote in a program": ("[serve]", "[engine]\npython = \"/a'b\"\n[serve]", "unrepresentable", "6:10"),
    "a newline in a variable": ("[serve]", '[env]\nA = "x\\ny"\n[serve]', "bad-value", "6:5"),
    "a variable's name": ("[serve]", '[env]\n"A B" = "x"\n[serve]', "bad-value", "6:1"),
    "a variable of the shell": ("[serve]", '[env]\nUID = "0"\n[serve]', "unrepresentable", "6:7"),
    "a NUL in a flag": ("[serve]", '[flags]\nchat-template = "\\u0000"\n[serve]', "bad-value", "6:17"),
    "a flag's name": ("[serve]", '[flags]\n"--port" = 1\n[serve]', "bad-value", "6:1"),
    "a user's name": ('"sglang"\n', '"sg lang"\n', "bad-value", "15:8"),
    "a unit elsewhere": ("[targets.ct200]", '[targets.ct200]\nunit = "../x"', "bad-value", "14:8"),
    "a target elsewhere": ("[targets.ct200]", '[targets."../x"]', "bad-value", "13:1"),
    "a target without name": ("[targets.ct200]", '[targets.""]', "bad-value", "13:1"),
    # what is too long
    "a long path": ("[serve]", f'[model]\npath = "/{"x" * LONG}"\n[serve]', "bad-value", "6:8"),
    "a long variable": ("[serve]", f'[env]\nA = "{"x" * LONG}"\n[serve]', "unrepresentable", "6:5"),
    "a long flag": ("[serve]", f'[flags]\nchat-template = "{"x" * LONG}"\n[serve]', "unrepresentable", "6:17"),
    "a long target": ("[targets.ct200]", f"[targets.{'x' * 300}]", "bad-value", "13:1"),
    "a long key": ("[serve]", f"{'x' * LONG} = 1\n[serve]", "unknown-key", "5:1"),
}  # fmt: skip


@pytest.mark.parametrize("case", EDITS)
def test_a_bad_profile(shared: Checkout, case: str) -> None:
    """A profile that cannot be is refused at its place, and nothing is written."""
    old, new, code, place = EDITS[case]
    assert old in original(STORY)
    shared.write(STORY, original(STORY).replace(old, new, 1))
    is_refused(shared.run("compile", STORY), code=code, place=f"profiles/{STORY}.toml:{place}\n")
    assert not shared.out.exists()


def original(name: str) -> str:
    """A profile as it is in the repository."""
    return (REPOSITORY / "profiles" / f"{name}.toml").read_text("utf-8")


def test_a_cycle_of_fragments(tree: Checkout) -> None:
    """Fragments that extend each other are shown as a chain, at the place that closes it."""
    tree.write("base/a", 'schema = 1\nextends = ["base/b"]\n')
    tree.write("base/b", 'schema = 1\nextends = ["base/a"]\n')
    done = tree.run("check", "base/a")
    is_refused(done, code="extends-cycle", place="profiles/base/a.toml:2:12")
    assert "`base/a` -> `base/b` -> `base/a`" in done.err


def test_a_secret_is_not_shown(tree: Checkout) -> None:
    """A secret on the command line is refused without its characters, where people read it."""
    tree.write(STORY, original(STORY).replace("[serve]", '[flags]\napi-key = "hunter2"\n[serve]'))
    for words in (("check",), ("check", "--format", "github"), ("compile",)):
        done = tree.run(*words, STORY)
        assert done.code == 1
        assert "secret-in-argv" in done.out + done.err
        assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("content", "holds"),
    [(b"", "is empty"), (b"\n", "is empty"), (b"# nothing\n", "has comments only")],
)
def test_an_empty_profile(tree: Checkout, content: bytes, holds: str) -> None:
    """`profile-empty`: a file that holds nothing may have been emptied; it is warned of, once, alone and in the whole tree."""
    tree.write("empty", content)
    done = tree.run("check", "empty")
    assert done.code == 0
    assert f"warning[profile-empty]: `empty` sets nothing: its file {holds}" in done.err
    assert done.out.startswith("empty  not judged: a fragment")
    assert tree.run("check", "empty", "--strict").code == 1
    assert tree.run("compile", "empty").code == 1
    told = tree.run("check", "--json").json["diagnostics"]
    assert [each["code"] for each in told].count("profile-empty") == 1


@pytest.mark.parametrize("content", [b"schema = 1", b"schema = 1\r\n# \xc3\xbc\r\n"])
def test_a_profile_without_settings(tree: Checkout, content: bytes) -> None:
    """A file without settings is a fragment like any other: fine to check, and not to be compiled."""
    tree.write("empty", content)
    done = tree.run("check", "empty")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("empty  not judged: a fragment")
    assert tree.run("compile", "empty").code == 1
    assert tree.run("check").code == 0


def test_windows_line_ends(tree: Checkout) -> None:
    """A tree with CRLF line ends gives the bytes of one with LF."""
    tree.compile()
    before = tree.standing()
    for path in (tree.root / "profiles").rglob("*.toml"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert tree.compared() == (0, {})
    shutil.rmtree(tree.out)
    tree.compile()
    assert tree.standing() == before


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding(tree: Checkout, encoding: str) -> None:
    """A profile in another encoding is refused at its first wrong byte, and quoted as far as it can be."""
    tree.write(STORY, original(STORY).replace("Kimi K2.6, one", "größe").encode(encoding))
    is_refused(tree.run("check", STORY), code="not-utf8", place=f"profiles/{STORY}.toml:")


def test_a_binary_file(tree: Checkout) -> None:
    """A file of arbitrary bytes with the name of a profile is an error at a place in it."""
    tree.write("blob", random.Random(0).randbytes(10_000))
    is_refused(tree.run("check"), code="not-utf8", place="profiles/blob.toml:1:")


def test_a_huge_profile(tree: Checkout) -> None:
    """Ten megabytes in one profile are refused before they are read; a little less than the limit is judged."""
    lines = "".join(f"# {number} {'x' * 1000}\n" for number in range(10_000))
    tree.write(STORY, f"{lines}{original(STORY)}")
    is_refused(tree.run("check", STORY), code="toml-limit", place=f"profiles/{STORY}.toml:1:1")
    lines = "".join(f"# {number:04} {'x' * 100}\n" for number in range(5_000))
    tree.write(STORY, f"{lines}{original(STORY)}prot = 1\n")
    is_refused(tree.run("check", STORY), code="unknown-key", place=f"profiles/{STORY}.toml:5017:1")


@pytest.mark.slow
def test_a_profile_with_very_many_keys(tree: Checkout) -> None:
    """Twenty thousand variables in one profile take a while, and end."""
    lines = "".join(f'V{number} = "{"x" * 20}"\n' for number in range(20_000))
    tree.write(STORY, f"{original(STORY)}\n[env]\n{lines}")
    assert tree.run("check", STORY).code == 0


ODD_NAMES = (
    "größe",
    "日本",
    "a b",
    "50%",
    "%h",
    "$HOME",
    "it's",
    'say"hi"',
    "back`tick",
    "#x",
    "-x",
    "...",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_of_profiles(tree: Checkout, name: str) -> None:
    """A profile may be called nearly anything; what cannot be a path of `out/` is an error and not a broken tree."""
    tree.profile(SHORT).rename(tree.profile(name))
    asked = tree.run("check", f"./profiles/{name}.toml")
    done = tree.run("compile", f"./profiles/{name}.toml")
    assert f"{name} on ct200" in asked.out
    assert asked.code == done.code
    if " " in name:
        assert done.code == 1
        assert "error[name-unwritable]" in done.err
        assert not tree.out.exists()
    else:
        assert done.code == 0
        assert (tree.out / name / "plan.json").exists()
        unit = (tree.out / name / "ct200/kimi-k2.6.service").read_text("utf-8")
        assert unit.startswith(f"# Generated from profiles/{name}.toml;")
        assert tree.compared("./profiles/" + name + ".toml") == (0, {})


BAD_NAMES = (
    "../x",
    "base/../../x",
    "/etc/passwd",
    "",
    ".",
    "a//b",
    "a/",
    "a\nb",
    "a\0b",
    "a\x1b[31m",
    "a\\b",
    "a\udcffb",
    "x" * 5_000,
    "x/" * 3_000 + "x",
)


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name[:12]))
def test_names_that_no_profile_has(tree: Checkout, name: str) -> None:
    """A name that leads elsewhere, or that no file can have, is an error, and reaches no terminal as it is."""
    done = tree.run("check", name)
    assert done.code == 1
    assert re.match(r"error\[profile-(name|missing|unreadable)\]", done.err)
    assert "\x1b" not in done.out + done.err
    assert "\udcff" not in done.err
    assert tree.run("compile", name).code == 1
    assert not tree.out.exists()


# --- what stands in `profiles/` ------------------------------------------------------------------


def link(target: str) -> Callable[[Path], None]:
    """What makes a path a symlink to a target."""
    return lambda path: path.symlink_to(target)


NO_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (os.mkfifo, "profile-unreadable"),
    "a device": (link("/dev/zero"), "profile-unreadable"),
    "a folder": (Path.mkdir, "profile-unreadable"),
    "a loop": (link("odd.toml"), "profile-unreadable"),
    "a link to nowhere": (link("nowhere.toml"), "profile-missing"),
}


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file(tree: Checkout, kind: str) -> None:
    """What is no regular file is never waited for: an error, by name, by path, and as a parent."""
    make, code = NO_FILES[kind]
    make(tree.profile("odd"))
    make(tree.profile("base/odd"))
    tree.write(STORY, original(STORY).replace('"base/service"', '"base/odd"'))
    endless = kind in (
        "a pipe",
        "a device",
    )  # where it is waited for, the time of the process is limited
    for words in (("check", "odd", STORY), ("compile", "profiles/odd.toml")):
        done = run_forked(tree, *words) if endless else tree.run(*words)
        assert done.code == 1
        assert done.err.count(f"error[{code}]") == len(words) - 1
        assert "Traceback" not in done.err


def test_a_pipe_elsewhere(tree: Checkout) -> None:
    """A pipe among boots and catalogue entries, or as `poolproof.toml`, is not waited for either."""
    os.mkfifo(tree.root / "profiles/boots/pipe.toml")
    done = run_forked(tree, "check", SHORT)
    is_refused(done, code="boot-invalid", place="profiles/boots/pipe.toml")
    (tree.root / "poolproof.toml").unlink()
    os.mkfifo(tree.root / "poolproof.toml")
    done = run_forked(tree, "check", SHORT)
    is_refused(done, code="pin-invalid", place="poolproof.toml:1:1")


def test_a_folder_that_leads_back(tree: Checkout) -> None:
    """A symlink to a folder above is not searched, and the tree is compiled as without it."""
    (tree.root / "profiles/again").symlink_to("..")
    tree.compile()
    assert {path.partition("/")[0] for path in tree.standing()} == {"MANIFEST", *DEPLOYABLE}


@pytest.mark.parametrize("kind", ["gone", "a file"])
def test_no_profiles(tree: Checkout, kind: str) -> None:
    """A tree without its folder of profiles is refused, whatever is asked for."""
    shutil.rmtree(tree.root / "profiles")
    if kind == "a file":
        (tree.root / "profiles").write_text("")
    for words in (("check",), ("compile",), ("compile", "--check")):
        is_refused(
            tree.run(*words), code="profile-unreadable", place="`profiles/` cannot be listed"
        )
    is_refused(tree.run("check", STORY), code="profile-missing", place=f"`{STORY}`")


def test_an_empty_folder_of_profiles(tree: Checkout) -> None:
    """A tree without a profile is fine, and compiles to nothing."""
    shutil.rmtree(tree.root / "profiles")
    (tree.root / "profiles").mkdir()
    assert tree.run("check").code == 0
    tree.compile()
    assert not tree.out.exists()


@pytest.fixture
def open_tree() -> Iterator[Checkout]:
    """A tree that every user of the machine can reach."""
    with open_checkout() as tree:
        yield tree


def test_an_unreadable_profile(open_tree: Checkout) -> None:
    """A profile that the user may not read is named with the system's reason, as a parent too."""
    open_tree.profile("base/service").chmod(0)
    done = run_unprivileged(open_tree, "check", STORY)
    is_refused(done, code="profile-unreadable", place="profiles/base/service.toml:1:1")
    assert "permission denied" in done.err
    open_tree.profile(SHORT).chmod(0)
    done = run_unprivileged(open_tree, "check", f"profiles/{SHORT}.toml")
    is_refused(done, code="profile-unreadable", place=f"profiles/{SHORT}.toml:1:1")


def test_an_unreadable_folder(open_tree: Checkout) -> None:
    """A folder that cannot be listed is an error, and not a tree with fewer profiles."""
    (open_tree.root / "profiles/hw").chmod(0)
    done = run_unprivileged(open_tree, "check")
    is_refused(done, code="profile-unreadable", place="cannot be listed: permission denied")
    done = run_unprivileged(open_tree, "check", "profiles/hw/8x-rtx-pro-6000.toml")
    is_refused(done, code="profile-unreadable", place="profiles/hw/8x-rtx-pro-6000.toml:1:1")


# --- what stands in `out/` -----------------------------------------------------------------------


def is_the_machines_fault(done: Done, *, code: str, said: str) -> None:
    """A run ended with exit 5, a code, and the system's reason."""
    assert done.code == 5, done.err
    assert f"error[{code}]" in done.err
    assert said in done.err
    assert "Traceback" not in done.err


def test_out_that_cannot_be_made(open_tree: Checkout) -> None:
    """A root that the user may not write to: exit 5, the reason and the place, and nothing is left."""
    give_away(open_tree.root)
    open_tree.root.chmod(0o555)
    done = run_unprivileged(open_tree, "compile")
    is_the_machines_fault(done, code="out-unwritable", said="permission denied")
    assert f"at `{open_tree.out}`" in done.err
    assert not open_tree.out.exists()


def test_out_that_cannot_be_written(open_tree: Checkout) -> None:
    """A folder of `out/` without the right to write: exit 5, the place, and every file as it was."""
    open_tree.compile()
    before = open_tree.standing()
    give_away(open_tree.root)
    open_tree.write(STORY, original(STORY).replace("= 8 ", "= 7 "))
    closed = (open_tree.out / UNIT).parent
    closed.chmod(0o555)
    done = run_unprivileged(open_tree, "compile")
    is_the_machines_fault(done, code="out-unwritable", said=f"at `{closed}`")
    assert "nothing was changed" in done.err
    assert open_tree.standing() == before


def test_out_that_cannot_be_read(open_tree: Checkout) -> None:
    """An `out/` that the user may not look into: exit 5 for writing and for comparing."""
    open_tree.compile()
    give_away(open_tree.root)
    open_tree.out.chmod(0)
    done = run_unprivileged(open_tree, "compile")
    is_the_machines_fault(done, code="out-unwritable", said="permission denied")
    done = run_unprivileged(open_tree, "compile", "--check")
    is_the_machines_fault(done, code="out-unreadable", said="permission denied")


@pytest.mark.parametrize("kind", ["a file", "a pipe", "a link to nowhere"])
def test_out_that_is_no_folder(tree: Checkout, kind: str) -> None:
    """Something else where `out/` must be is left alone: exit 5, and it is as it was."""
    if kind == "a file":
        tree.out.write_text("mine\n")
    elif kind == "a pipe":
        os.mkfifo(tree.out)
    else:
        tree.out.symlink_to("nowhere")
    before = tree.out.lstat()
    done = run_forked(tree, "compile")
    is_the_machines_fault(done, code="out-unwritable", said="`out` cannot be written")
    assert (tree.out.lstat().st_mode, tree.out.lstat().st_ino) == (before.st_mode, before.st_ino)


def test_out_that_is_a_link(tree: Checkout, tmp_path: Path) -> None:
    """`out/` may be a symlink to a folder."""
    (tmp_path / "elsewhere").mkdir()
    tree.out.symlink_to(tmp_path / "elsewhere")
    tree.compile()
    assert (tmp_path / "elsewhere" / UNIT).exists()
    assert tree.compared() == (0, {})


def leave_something(out: Path) -> None:
    """What a run leaves that is killed while it stages."""
    (out / ".pending").mkdir()
    (out / ".pending/0").write_text("half a fi")


HALVES: dict[str, Callable[[Path], object]] = {
    "no MANIFEST": lambda out: (out / "MANIFEST").unlink(),
    "half a MANIFEST": lambda out: os.truncate(out / "MANIFEST", 700),
    "an empty MANIFEST": lambda out: os.truncate(out / "MANIFEST", 0),
    "conflict markers": lambda out: (out / "MANIFEST").write_text(
        f"<<<<<<< HEAD\n{(out / 'MANIFEST').read_text()}=======\n>>>>>>> theirs\n"
    ),
    "a profile is gone": lambda out: shutil.rmtree(out / FP8),
    "a file is gone": lambda out: (out / UNIT).unlink(),
    "something pending": leave_something,
    "an empty folder more": lambda out: (out / "nothing/in/here").mkdir(parents=True),
}


@pytest.mark.parametrize("half", HALVES)
def test_a_half_written_out(compiled: Checkout, wanted: Standing, half: str) -> None:
    """What is left of an `out/` is no edit: the next compile makes it whole without being told to overwrite."""
    HALVES[half](compiled.out)
    code, words = compiled.compared()
    assert code in (0, 3)
    assert {path for path, word in words.items() if word == "edited"} <= {"MANIFEST"}
    assert set(words.values()) <= {"missing", "edited", "foreign", "stale"}
    compiled.compile()
    assert compiled.standing() == wanted
    assert compiled.compared() == (0, {})


def test_a_truncated_file_is_an_edit(compiled: Checkout) -> None:
    """A file that lost its end differs from MANIFEST as an edit does, so it is refused and not guessed about."""
    os.truncate(compiled.out / UNIT, 100)
    assert compiled.compared() == (3, {UNIT: "edited"})
    assert compiled.run("compile").code == 1
    compiled.compile("--overwrite")


def test_a_full_disk(compiled: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full while files are staged: exit 5, the reason, and what stood there stands there."""
    before = compiled.standing()
    compiled.write(STORY, original(STORY).replace("= 8 ", "= 7 "))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        done = compiled.run("compile")
    is_the_machines_fault(done, code="out-unwritable", said="no space left on device")
    assert compiled.standing() == before
    compiled.compile()
    assert compiled.compared() == (0, {})


# --- killed, and two at once ---------------------------------------------------------------------


def killed(tree: Checkout, *, dice: random.Random) -> int:
    """Start a compile and kill it, now or then, once it has begun to write; its exit code."""
    process = Fork(tree, "compile")
    while process.poll() is None and not (tree.out / ".pending").exists():
        time.sleep(0.0005)
    time.sleep(dice.random() * 0.01)
    process.kill()
    return process.ended()


def check_killed(tree: Checkout, wanted: Standing, *, times: int) -> None:
    """Kill compiles at random points; after each no edit is found, and the next run ends in the whole tree."""
    dice = random.Random(0)
    ends: list[int] = []
    # A compile may be over before it is killed; then another one is.
    while len(ends) < times or (-signal.SIGKILL not in ends and len(ends) < 10 * times):
        if len(ends) % 2:  # from nothing, and from another tree
            shutil.rmtree(tree.out)
        else:
            tree.write(STORY, original(STORY).replace("= 8 ", "= 7 "))
            tree.compile()
            tree.write(STORY, original(STORY))
        ends.append(killed(tree, dice=dice))
        words = tree.compared()[1]
        assert not set(words.values()) & {"edited", "blocked", "foreign"}
        tree.compile()
        assert tree.standing() == wanted
        assert tree.compared() == (0, {})
    assert -signal.SIGKILL in ends


def test_killed_compiles(tree: Checkout, wanted: Standing) -> None:
    """A compile that is killed at any moment leaves nothing that the next one does not put right."""
    check_killed(tree, wanted, times=2)


@pytest.mark.slow
def test_many_killed_compiles(tree: Checkout, wanted: Standing) -> None:
    """The same, more often."""
    check_killed(tree, wanted, times=30)


def test_compiles_at_once(tree: Checkout, wanted: Standing) -> None:
    """Compiles of one tree at the same time each end well or say that another is at work; the tree is whole."""
    several = [Fork(tree, *words) for words in (("compile",), ("compile", STORY), ("compile",))]
    for done in [each.done() for each in several]:
        assert done.code == 0 or (done.code == 5 and "out-busy" in done.err)
    assert tree.standing() == wanted
    assert tree.compared() == (0, {})


# --- fuzzing -------------------------------------------------------------------------------------

FUZZED = (
    STORY,
    "base/kimi-k2.6",
    "base/service",
    "base/sglang-ddtree",
    "hw/8x-rtx-pro-6000",
    "boots/ct200-0.85",
)
VALUES = (
    *(
        "0",
        "-1",
        "1",
        "8",
        "200_000",
        "9223372036854775807",
        "9223372036854775808",
        "0.93",
        "1e400",
        "-0.0",
        "nan",
    ),
    *(
        "true",
        '""',
        '"x"',
        "'%h $x'",
        '"\\u0000"',
        '"é😀"',
        '"""\n\n"""',
        "[]",
        "[[]]",
        '["a", 1]',
        "{}",
    ),
    *(
        "{ a = 1 }",
        "1979-05-27",
        "07:32:00",
        "{ append = [1] }",
        '{ remove = ["x"] }',
        '{ file = "/x" }',
        '"fit"',
    ),
)
SCRAPS = (
    *(
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "=",
        ".",
        ",",
        "\n",
        "\r",
        "\t",
        "\0",
        "#",
        "\\",
        "\ufeff",
        "é",
        "\u2028",
    ),
    *(
        "[force.memory]\n",
        "[defaults]\n",
        "[accept]\n",
        "[targets.x]\n",
        "[[serve]]\n",
        "unset = ['serve']\n",
    ),
    *("extends = []\n", "schema = 1\n", "[env]\n", "a.b.c = 1\n", "'' = 1\n"),
)
TOKEN = re.compile(r'"[^"\n]*"|[\w.+-]+|\[[^\]\n]*\]|\S')


@st.composite
def mutants(draw: st.DrawFn) -> tuple[str, str]:
    """A profile's name, and its text with a few spans deleted, inserted, swapped, repeated, or of another type."""
    name = draw(st.sampled_from(FUZZED))
    text = original(name)
    for _ in range(draw(st.integers(1, 4))):
        text = draw(st.sampled_from((_cut, _insert, _swap, _repeat, _retype)))(draw, text)
    return name, text


def _tokens(draw: st.DrawFn, text: str) -> tuple[int, int]:
    spans = [each.span() for each in TOKEN.finditer(text)] or [(0, 0)]
    return draw(st.sampled_from(spans))


def _cut(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    return text[:start] + text[start + draw(st.integers(1, 60)) :]


def _insert(draw: st.DrawFn, text: str) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from(SCRAPS)) + text[at:]


def _swap(draw: st.DrawFn, text: str) -> str:
    (a, b), (c, d) = sorted((_tokens(draw, text), _tokens(draw, text)))
    return text if b > c else text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _repeat(draw: st.DrawFn, text: str) -> str:
    lines = text.split("\n")
    line = draw(st.sampled_from(lines))
    at = draw(st.integers(0, len(lines)))
    return "\n".join((*lines[:at], line, *lines[at:]))


def _retype(draw: st.DrawFn, text: str) -> str:
    start, end = _tokens(draw, text)
    return text[:start] + draw(st.sampled_from(VALUES)) + text[end:]


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Checkout]:
    """A tree in memory, where that is possible, for many small runs."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    yield checkout(folder / "tree")
    shutil.rmtree(folder)


def check_mutant(tree: Checkout, mutant: tuple[str, str]) -> None:
    """A mutated profile is judged or refused, and what is judged to be fine can be compiled; never a bug."""
    name, text = mutant
    try:
        tree.write(name, text)
        done = tree.run("check", STORY)
        assert done.code in (0, 1), done.err
        assert ("error[" in done.err) is (done.code == 1)
        if f"{STORY} on " in done.out and done.code == 0:
            compared = tree.run("compile", "--check", STORY)
            assert compared.code == 3, compared.err
    finally:
        tree.write(name, original(name))


QUICK = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=list(HealthCheck),
)


@QUICK
@given(mutant=mutants())
def test_mutated_profiles(fuzzed: Checkout, mutant: tuple[str, str]) -> None:
    """Whatever happens to the text of a real profile, `check` exits 0 or 1."""
    check_mutant(fuzzed, mutant)


@pytest.mark.slow
@settings(QUICK, max_examples=1_500)
@given(mutant=mutants())
def test_many_mutated_profiles(fuzzed: Checkout, mutant: tuple[str, str]) -> None:
    """The same, more often."""
    check_mutant(fuzzed, mutant)


@pytest.mark.slow
@settings(QUICK, max_examples=1_000)
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode(errors="replace"))
)
def test_arbitrary_files(fuzzed: Checkout, content: bytes) -> None:
    """Whatever a profile's file holds, `check` exits 0 or 1."""
    fuzzed.write("anything", content)
    assert fuzzed.run("check", "anything").code in (0, 1)
