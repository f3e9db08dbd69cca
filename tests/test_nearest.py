"""Findings that no single profile triggers, at their borders: beside each state that gives one, the nearest that does not.

Those of the host verbs are in `test_host_nearest.py`, those of a running server in `test_observing_nearest.py`.
"""

from __future__ import annotations

import errno
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
from attrs import evolve

from checkouts import SHORT, STORY, UNIT, Checkout, checkout
from checkpoints import QWEN_DENSE, qwen_dense, write_checkpoint
from compiler import __version__
from compiler.adopt.proof import prove as prove_adopted
from compiler.adopt.writing import adopted_toml
from compiler.checkpoint import read_checkpoint
from compiler.engines.sglang.extract import extract
from compiler.language.graph import MOST_FILES, link
from compiler.language.load import load_document
from compiler.render import render_target
from compiler.render.proof import prove
from compiler.tree import OutTree, assemble, compare
from compiler.tree.files import OutFile
from launching import SERVER, SHELF, flags, outcome, read_text
from memory_reader import MemoryReader
from plans import story_plan
from repositories import repository
from test_catalog import BOOT, GPU, team
from test_cli import GPU as ADD_GPU
from test_fit import number_of
from test_fmt import MESSY, TIDY
from test_graph import extends
from test_load import FailingReader
from test_neighbours import BASE, check_tree, service, told
from test_predict import ask, codes_of, server
from trees import BEFORE, written


def code_in(err: str, code: str) -> bool:
    """Whether a finding was shown."""
    return f"error[{code}]" in err


# the catalogue and its boots


@pytest.mark.parametrize(
    ("old", "new", "is_fine"),
    [
        ("pool_tokens = 100_000", "pool_tokens = 1", True),
        ("pool_tokens = 100_000", "pool_tokens = 0", False),
        ("chunked_prefill = -1", "chunked_prefill = -1", True),
        ("chunked_prefill = -1", "chunked_prefill = -2", False),
        ("chunked_prefill = -1", "chunked_prefill = 1", True),
        ("chunked_prefill = -1", "chunked_prefill = 0", False),
    ],
)
def test_a_boot_at_its_limits(old: str, new: str, *, is_fine: bool) -> None:
    """`boot-invalid`: a figure one beyond what a start can have."""
    assert old in BOOT
    _, found = team(**{"boots/one": BOOT.replace(old, new)}).boots()
    assert [each.code for each in found] == ([] if is_fine else ["boot-invalid"])


@pytest.mark.parametrize(
    ("old", "new", "is_fine"),
    [
        ("total_mib = 81_559", "total_mib = 80_794", True),  # 78.9 GiB are free of it
        ("total_mib = 81_559", "total_mib = 80_793", False),
        ("total_mib = 81_559", "total_mib = 0", False),
        ("best = 78.5", "best = 78.0", True),
        ("best = 78.5", "best = 77.9", False),
        ("best = 78.5", "best = 78.9", True),
        ("best = 78.5", "best = 79.0", False),
        ('"*" =', "# the rest\n'*' =", True),
        ('"*" =', '"**" =', False),
    ],
)
def test_an_entry_at_its_limits(old: str, new: str, *, is_fine: bool) -> None:
    """`catalogue-invalid`: a figure beyond its range by the least, or without a source."""
    assert old in GPU
    gpu, found = team(gpus=GPU.replace(old, new)).gpu("x-1")
    assert (gpu is not None) is is_fine
    assert {each.code for each in found} == (set() if is_fine else {"catalogue-invalid"})


@pytest.mark.parametrize(
    ("id_", "is_fine"), [("our-gpu", True), ("our/gpu", False), ("our.gpu", True), ("..", False)]
)
def test_a_name_that_is_just_an_id(tree: Checkout, id_: str, *, is_fine: bool) -> None:
    """`catalogue-id`: a GPU's id is the name of a file, and leads nowhere else."""
    done = tree.run(*ADD_GPU[:2], id_, *ADD_GPU[3:], "--source", "x", "--free-before", "46.9")
    assert (done.code, code_in(done.err, "catalogue-id")) == ((0, False) if is_fine else (1, True))


@pytest.mark.parametrize("more", [0, -1, 1])
def test_a_byte_of_a_checkpoint(tmp_path: Path, more: int) -> None:
    """`checkpoint-invalid`: a weight file with a byte less than its header says, or one more."""
    folder = write_checkpoint(tmp_path / "ck", QWEN_DENSE, qwen_dense())
    file = folder / "model-00001-of-00002.safetensors"
    os.truncate(file, file.stat().st_size + more)
    found, faults = read_checkpoint(folder, shown="ck")
    assert (found is None) is (more != 0)
    assert {each.code for each in faults} == ({"checkpoint-invalid"} if more else set())


@pytest.mark.parametrize(
    ("calls", "is_one"), [("parser.add_argument('--a')", True), ("pass", False)]
)
def test_an_engine_of_one_flag(tmp_path: Path, calls: str, *, is_one: bool) -> None:
    """`engine-unreadable`: a tree that declares no flag at all is no engine, one with a single flag is."""
    source = tmp_path / "sglang/srt/server_args.py"
    source.parent.mkdir(parents=True)
    source.write_text(f"class ServerArgs:\n    def add_cli_args(parser):\n        {calls}\n")
    extracted, found = extract(tmp_path)
    assert (extracted is not None) is is_one
    assert [each.code for each in found] == ([] if is_one else ["engine-unreadable"])
    source.rename(source.with_name("server_arg.py"))
    extracted, found = extract(tmp_path)
    assert extracted is None
    assert [each.code for each in found] == ["engine-unreadable"]


# profiles and their files


@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"# \xc3\xbc", True),
        (b"# \xc3", False),
        (b"# \xf0\x9f\x92\xa9", True),
        (b"# \xf0\x9f\x92", False),
        (b"# \xed\x9f\xbf", True),  # U+D7FF, the last before the surrogates
        (b"# \xed\xa0\x80", False),
        (b"# \xf4\x8f\xbf\xbf", True),  # U+10FFFF, the last of all
        (b"# \xf4\x90\x80\x80", False),
    ],
)
def test_a_byte_of_a_character(data: bytes, *, is_text: bool) -> None:
    """`not-utf8`: a character that lacks a byte, or lies one beyond the last there is."""
    _, found = load_document(MemoryReader({"a": data}), "a")
    assert [each.code for each in found] == ([] if is_text else ["not-utf8"])


def test_a_file_that_is_just_not_there() -> None:
    """`profile-unreadable`: an error of the system; that there is no such file is `profile-missing`."""
    for number, wanted in ((errno.EACCES, "profile-unreadable"), (errno.EIO, "profile-unreadable")):
        reader = FailingReader(OSError(number, os.strerror(number)))
        _, found = link(reader, "a")
        assert [each.code for each in found] == [wanted]
    _, found = link(MemoryReader({}), "a")
    assert [each.code for each in found] == ["profile-missing"]


@pytest.mark.parametrize(("more", "wanted"), [(0, []), (1, ["extends-limit"])])
def test_a_chain_that_is_just_short_enough(more: int, wanted: list[str]) -> None:
    """`extends-limit`: a profile is made of 256 files, or of one more."""
    names = ["root", *(f"a{number}" for number in range(MOST_FILES - 1 + more))]
    files = {name: extends(above) for name, above in pairwise(names)} | {names[-1]: ""}
    _, found = link(MemoryReader(files), "root")
    assert [each.code for each in found] == wanted


@pytest.mark.parametrize(("last", "wanted"), [("root", ["extends-cycle"]), ("roo", [])])
def test_a_chain_that_just_ends(last: str, wanted: list[str]) -> None:
    """`extends-cycle`: the last of a chain leads back to the first, or to a file of another name."""
    files = {"root": extends("a"), "a": extends("b"), "b": extends(last), "roo": ""}
    _, found = link(MemoryReader(files), "root")
    assert [each.code for each in found] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("[targets.a]\n", ["extends-deployable"]), ("[targets]\n", []), ("[target.a]\n", [])],
)
def test_a_parent_with_just_no_target(text: str, wanted: list[str]) -> None:
    """`extends-deployable`: one target makes a profile deployable, an empty table of them does not."""
    _, found = link(MemoryReader({"root": extends("a"), "a": text}), "root")
    assert [each.code for each in found] == wanted


@pytest.mark.parametrize(
    ("parents", "wanted"),
    [
        ('["base/sglang-plain", "base/left"]', []),
        ('["base/sglang-plain", "base/below"]', ["base/left"]),
        ('["base/sglang-plain"]', ["base/below", "base/left"]),
    ],
)
def test_a_fragment_that_is_just_used(tmp_path: Path, parents: str, wanted: list[str]) -> None:
    """`fragment-unused`: nobody that is deployed reaches it; one profile far away is enough."""
    files = {
        "a": service(unit="a").replace('["base/sglang-plain"]', parents),
        "base/sglang-plain": BASE,
        "base/deep": "[parsers]\n",
        "base/left": 'extends = ["base/below"]\n',
        "base/below": "",
    }
    assert told(check_tree(files, tmp_path), "fragment-unused") == [
        f"no deployable profile extends `{each}`" for each in wanted
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f'requires = "=={__version__}"', None),
        (f'requires = ">={__version__}"', None),
        (f'requires = ">{__version__}"', "pin-mismatch"),
        (f'requires = "<={__version__}"', None),
        (f'requires = "<{__version__}"', "pin-mismatch"),
        (f'requires = "=={__version__}.1"', "pin-mismatch"),
        (f'requires = "{__version__}"', "pin-invalid"),
        ('requires = ""', None),
        ("requires = []", "pin-invalid"),
        (f'required = ">={__version__}"', "pin-invalid"),
    ],
)
def test_a_pin_at_this_version(tree: Checkout, text: str, code: str | None) -> None:
    """`pin-mismatch`, `pin-invalid`: a range that ends just before this compiler, and what is just no range."""
    (tree.root / "poolproof.toml").write_text(f"{text}\n")
    done = tree.run("check", SHORT)
    assert (done.code, done.err.count("error[")) == ((0, 0) if code is None else (1, 1))
    assert code is None or code_in(done.err, code)


def test_a_fragment_that_gets_a_target(tree: Checkout) -> None:
    """`profile-not-deployable`: the same profile with its last target gone."""
    text = tree.profile(SHORT).read_text("utf-8")
    whole, _, _ = text.rpartition("[targets.")
    assert tree.run("compile", SHORT).code == 0
    tree.write(SHORT, whole)
    done = tree.run("compile", SHORT)
    assert (done.code, code_in(done.err, "profile-not-deployable")) == (1, True)


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("../tree/profiles/x.toml", True),
        ("../tree/profiles/../profiles/x.toml", True),
        ("../tree/profiles/../x.toml", False),
        ("../tree/profiles-2/x.toml", False),
    ],
)
def test_a_path_beside_the_profiles(tree: Checkout, path: str, *, is_one: bool) -> None:
    """`profile-outside`: a folder that is named like `profiles/`, and one above it, hold none of its profiles."""
    text = tree.profile("base/service").read_text("utf-8")
    for name in ("profiles/x.toml", "profiles-2/x.toml", "x.toml"):
        (tree.root / name).parent.mkdir(exist_ok=True)
        (tree.root / name).write_text(text)
    done = tree.run("check", SHORT, path)
    assert code_in(done.err, "profile-outside") is not is_one


@pytest.mark.parametrize(
    ("kept", "is_one"),
    [
        (("profiles", "poolproof.toml"), True),
        (("profiles",), True),
        (("poolproof.toml",), True),
        ((), False),
    ],
)
def test_one_of_two_marks_of_a_tree(tree: Checkout, kept: tuple[str, ...], *, is_one: bool) -> None:
    """`tree-missing`: a tree has `profiles/` or `poolproof.toml`; with either it is one."""
    for name in {"profiles", "poolproof.toml"} - set(kept):
        (tree.root / name).rename(tree.root / f"{name}-2")
    assert code_in(tree.run("check").err, "tree-missing") is not is_one


# what is written


def out_file(path: str) -> OutFile:
    """A file of a tree, in the folder of its profile."""
    return OutFile(path=path, text="", profile=path.partition("/")[0])


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (f"k/{'x' * 255}", True),
        (f"k/{'x' * 256}", False),
        (f"k/{'é' * 127}", True),
        (f"k/{'é' * 128}", False),
        ("k/..x", True),
        ("k/..", False),
        ("k/x\u00ac", True),
        ("k/x\u00ad", False),  # a soft hyphen, which is not shown
        ("MANIFEST2/x", True),
        ("MANIFEST/x", False),
        ("k/MANIFEST", True),
        ("k/.pending", True),
        (".pending/x", False),
    ],
)
def test_a_path_at_its_limits(path: str, *, is_one: bool) -> None:
    """`out-path`: a name of a byte more than a file system takes, and the two names that we need ourselves."""
    made = assemble([out_file(path)])
    assert isinstance(made, OutTree) is is_one
    assert isinstance(made, OutTree) or [each.code for each in made] == ["out-path"]


@pytest.mark.parametrize(
    ("target", "wanted"), [("out", []), ("nothing", []), ("file", ["out-unreadable"])]
)
def test_where_a_link_called_out_leads(tmp_path: Path, target: str, wanted: list[str]) -> None:
    """`out-unreadable`: a link to a file; one to a folder, or to nothing yet, is only not compiled."""
    written(tmp_path / "out")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(target)
    found = compare(BEFORE, root=tmp_path / "link", profiles=None).diagnostics
    assert [each.code for each in found] == wanted


@pytest.mark.parametrize(("target", "is_fine"), [("folder", True), ("file", False)])
def test_where_out_is_to_be_written(tree: Checkout, target: str, *, is_fine: bool) -> None:
    """`out-unwritable`: `out/` is a link to a file; one to an empty folder is filled."""
    (tree.root / "folder").mkdir()
    (tree.root / "file").touch()
    tree.out.symlink_to(target)
    done = tree.run("compile", SHORT)
    assert (done.code, code_in(done.err, "out-unwritable")) == (
        (0, False) if is_fine else (5, True)
    )


@pytest.mark.parametrize(
    ("old", "new", "is_faithful"),
    [
        ("# Generated from", "# Made from", True),
        ("Type=exec\n", "\n  Type = exec  \n", True),
        ("Type=exec\n", "Type=exec\n\n", True),
        ("--tp-size 8", '"--tp-size" "8"', True),
        ("--tp-size 8", '"--tp-size" "8 "', False),
        ("--tp-size 8", "--tp-size 08", False),
    ],
)
def test_a_blank_of_a_rendered_file(old: str, new: str, *, is_faithful: bool) -> None:
    """`rendering-unfaithful`: a file that reads as something else than its plan; blanks and remarks say nothing."""
    plan = story_plan()
    files = render_target(plan)
    assert sum(old in each.text for each in files if each.path.endswith(".service")) == 1
    changed = tuple(
        evolve(each, text=each.text.replace(old, new)) if each.path.endswith(".service") else each
        for each in files
    )
    found = [each.code for each in prove(plan, changed)]
    assert found == ([] if is_faithful else ["rendering-unfaithful"])


def test_a_link_and_what_it_leads_to(tree: Checkout) -> None:
    """`edit-refused`: a profile that is a symlink is not laid out; the same file without the link between is."""
    (tree.root / "real.toml").write_text(MESSY)
    tree.profile("link").symlink_to("../real.toml")
    assert code_in(tree.run("fmt", "link").err, "edit-refused")
    tree.profile("link").unlink()
    os.link(tree.root / "real.toml", tree.profile("link"))
    assert tree.run("fmt", "link").code == 0
    assert tree.profile("link").read_text("utf-8") == TIDY


@pytest.mark.parametrize(("text", "is_fault"), [(MESSY, True), (TIDY, False)])
def test_a_full_disk_and_nothing_to_write(
    tree: Checkout, monkeypatch: pytest.MonkeyPatch, text: str, *, is_fault: bool
) -> None:
    """`edit-unwritable`: the system would not take what is to be written; nothing is where a file is laid out already."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tree.write("messy", text)
    monkeypatch.setattr(os, "fsync", full)
    done = tree.run("fmt", "messy")
    assert (done.code, code_in(done.err, "edit-unwritable")) == (
        (5, True) if is_fault else (0, False)
    )


LAST = 97
"""The most running requests of the other profile that leave its reserve enough beside the fraction of the first."""


@pytest.mark.parametrize(("requests", "is_proved"), [(LAST, True), (LAST + 1, False)])
def test_a_neighbour_that_just_bears_it(tree: Checkout, requests: int, *, is_proved: bool) -> None:
    """`edit-unproved`: a change to a shared file that leaves another profile's reserve short for one request."""
    tree.write("base/memory", "[memory]\nfraction = 0.85\n")
    for name, at in ((STORY, 8), (SHORT, requests)):
        text = tree.profile(name).read_text("utf-8")
        text = re.sub(r"fraction = .*", "", text)
        text = re.sub(r"max_running_requests = \d+", f"max_running_requests = {at}", text)
        tree.write(name, text.replace('"base/service",', '"base/service", "base/memory",'))
    asked = ("--write", number_of(tree, "memory.fraction"), "--in", "base/memory")
    done = tree.run("fit", STORY, *asked)
    assert (done.code, code_in(done.err, "edit-unproved")) == (
        (0, False) if is_proved else (1, True)
    )


@pytest.mark.parametrize(
    ("id_", "is_known"), [("moonshotai/Kimi-K2.6", True), ("moonshotai/Kimi-K2.66", False)]
)
def test_a_model_that_can_just_be_fitted(tree: Checkout, id_: str, *, is_known: bool) -> None:
    """`fit-impossible`: a model of a name with a digit more is nobody's, and there is nothing to fit."""
    text = tree.profile(SHORT).read_text("utf-8")
    tree.write(SHORT, f'{text}\n[force.model]\nid = "{id_}"\n')
    assert code_in(tree.run("fit", SHORT).err, "fit-impossible") is not is_known


# revisions and lines


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree in a repository of one commit; not to be changed."""
    made = checkout(tmp_path_factory.mktemp("once") / "tree")
    made.compile(SHORT, STORY)
    return repository(made)


@pytest.mark.parametrize(
    ("name", "is_one"), [("main", True), ("mai", False), ("HEAD", True), ("HEAD~1", False)]
)
def test_a_revision_that_is_just_there(once: Checkout, name: str, *, is_one: bool) -> None:
    """`revision-unknown`: a letter less, and the commit before the first."""
    done = once.run("diff", name)
    assert (done.code, code_in(done.err, "revision-unknown")) == (
        (0, False) if is_one else (1, True)
    )


def test_the_last_line_of_a_file(once: Checkout) -> None:
    """`line-unknown`: the lines of a file are counted from one to the last."""
    last = (once.out / UNIT).read_text("utf-8").count("\n")
    for line, is_one in ((0, False), (1, True), (last, True), (last + 1, False)):
        done = once.run("why", f"out/{UNIT}:{line}")
        assert (done.code, code_in(done.err, "line-unknown")) == (
            (0, False) if is_one else (1, True)
        ), line


# launches


@pytest.mark.parametrize(
    ("between", "wanted"),
    [
        ("", []),
        ("  --port 8000 \\\n", []),
        ("  # two cards\n", ["launch-cut"]),
        ("\n", ["launch-cut"]),
        ("  # two cards \\\n", ["launch-cut"]),
    ],
)
def test_a_line_between_joined_lines(between: str, wanted: list[str]) -> None:
    """`launch-cut`: what ends a command in a script; in a unit a comment between joined lines does not."""
    text = f"{SERVER} --model-path /m/a \\\n{between}  --tp 2\n"
    assert [each.code for each in read_text(text).diagnostics] == wanted
    unit = f"[Service]\nExecStart=/bin/{text}"
    is_ended = between == "\n"
    got = outcome(read_text(unit, name="a.service"))
    assert ("parallel.tensor" in got.settings) is not is_ended
    assert "launch-cut" not in got.codes


@pytest.mark.parametrize(("version", "is_taken"), [("0.5.11", True), ("0.5.23", False)])
def test_a_flag_and_the_release_that_has_it(version: str, *, is_taken: bool) -> None:
    """`command-refused`: the same words, for a release whose parser takes them and one whose does not."""
    words = server("--model-path Qwen/Qwen3-8B --cuda-graph-bs 8")
    judged = ask(words, gpu="h200", count=1, version=version)
    assert ("command-refused" in codes_of(judged)) is not is_taken


@pytest.mark.parametrize(("value", "is_known"), [("$MODEL", False), ("${MODEL:-/m/a}", True)])
def test_a_model_that_is_just_known(value: str, *, is_known: bool) -> None:
    """`launch-incomplete`: a variable that nothing sets; one with a default is a model."""
    got = outcome(read_text(f"{SERVER} --model-path {value} --tp 8\n"))
    assert got.codes == ([] if is_known else ["launch-incomplete"])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("a b", []), ("a\nb", ["launch-lost"]), ("a\tb", ["launch-lost"]), ("", [])],
)
def test_a_value_that_a_profile_just_holds(name: str, wanted: list[str]) -> None:
    """`launch-lost`: a value with a tab or of two lines has no place in a profile; one of two words has."""
    text = f"{SERVER} --model-path /m/a --served-model-name '{name}'\n"
    assert outcome(read_text(text)).codes == wanted


def test_one_file_of_settings() -> None:
    """`launch-refused`: the parser takes one file of settings, and not two."""
    one = "--model-path /m/a --config a.yaml"
    assert "launch-refused" not in flags(one).codes
    assert flags(f"{one} --config b.yaml").codes == ["launch-refused"]


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("", ["launch-several"]),
        ("exec ", ["launch-several"]),
        ("# ", []),
        ("echo ", []),
        ("printf '%s ' ", []),
        (": ", []),
    ],
)
def test_a_second_launch_that_just_is_none(before: str, wanted: list[str]) -> None:
    """`launch-several`: a launch that is only remarked on, or printed, is no second one."""
    launch, second = (f"{SERVER} --model-path /m/{each}\n" for each in "ab")
    assert [each.code for each in read_text(f"{launch}{before}{second}").diagnostics] == wanted


@pytest.mark.parametrize(
    ("old", "new", "is_faithful"),
    [
        ("tensor = 2", "tensor = 2  # two", True),
        ("tensor = 2", "tensor = 0x2", True),
        ("tensor = 2", "tensor = 1", False),
        ('A = "b"', "A = 'b'", True),
        ('A = "b"', 'A = "b "', False),
    ],
)
def test_a_blank_of_an_adopted_profile(old: str, new: str, *, is_faithful: bool) -> None:
    """`launch-unfaithful`: a profile that is compiled to another launch; how it is spelt does not matter."""
    got = outcome(read_text(f"A=b {SERVER} --model-path /m/a --tp 2\n"))
    assert got.adopted is not None
    text = adopted_toml(got.adopted, whole=True)
    assert text.count(old) == 1
    found = prove_adopted(text.replace(old, new), got.adopted, SHELF.catalog)
    assert [each.code for each in found] == ([] if is_faithful else ["launch-unfaithful"])


@pytest.mark.parametrize(
    ("name", "text", "is_read"),
    [
        ("a.sh", f"{SERVER} --model-path '/m/a'\n", True),
        ("a.sh", f"{SERVER} --model-path '/m/a\n", False),
        ("a.service", f"[Service]\nExecStart=/bin/{SERVER} --model-path '/m/a'\n", True),
        ("a.service", f"[Service]\nExecStart=/bin/{SERVER} --model-path '/m/a\n", False),
        (
            "a.service",
            f"[Service]\n[Unit]\n[Service]\nExecStart=/bin/{SERVER} --model /m/a\n",
            True,
        ),
        (
            "a.service",
            f"[Service]\n[Unit\n[Service]\nExecStart=/bin/{SERVER} --model /m/a\n",
            False,
        ),
    ],
)
def test_a_quote_that_is_just_closed(name: str, text: str, *, is_read: bool) -> None:
    """`launch-unreadable`: a quote or a bracket is left open, or is not."""
    found = [each.code for each in read_text(text, name=name).diagnostics]
    assert found == ([] if is_read else ["launch-unreadable"])


def test_a_misspelt_fragment(once: Checkout) -> None:
    """`file-unknown`: a letter less of a fragment's name."""
    assert once.run("affected", "base/service").code == 0
    assert code_in(once.run("affected", "base/servic").err, "file-unknown")


def test_a_tree_without_its_repository(tmp_path: Path, once: Checkout) -> None:
    """`git-unusable`: `.git` moved aside by one letter; a folder can be compared without it."""
    tree = once.copy(tmp_path / "tree")
    limits = {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    assert tree.run("diff", "HEAD", **limits).code == 0
    (tree.root / ".git").rename(tree.root / ".gi")
    assert code_in(tree.run("diff", "HEAD", **limits).err, "git-unusable")
    assert tree.run("diff", str(once.root), **limits).code == 0
