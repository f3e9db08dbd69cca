"""The catalogue's loader: formats, ids, a team's own entries, releases and builds, boots, and broken files."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve, field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.catalog import Catalog, FolderReader, Kind, open_catalog
from compiler.catalog.shelves import Shelf, file_stem, id_of
from compiler.catalog.writing import gpu_toml
from compiler.diagnostics import Diagnostic
from compiler.facts import Flag, Gpu, Gqa, Mla
from compiler.language.shapes import is_control
from compiler.ranges import Range
from examples import examples


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(100))

# One tiny example of each format.

GPU = """\
id = "x-1"
names = ["ACME X-1"]
total_mib = 81_559
free_before_load_gib = { low = 78.0, best = 78.5, high = 78.9 }
compute_capability = "9.0"
multiprocessors = 132
interconnect = "nvlink"

[sources]
total_mib = "https://example.org/1"
"*" = "https://example.org/2"
"""
MODEL = """\
id = "acme/Big-1"
architecture = "BigForCausalLM"
context = 131_072
vocabulary = 1000
hidden = 64
layers = 4
dense_layers = 0
intermediate = 128
heads = 8
attention = { kind = "mla", kv_lora_rank = 512, qk_rope_head_dim = 64, qk_nope_head_dim = 128, v_head_dim = 128, q_lora_rank = 0 }
checkpoint_gb = 1.5

[sources]
"*" = "https://example.org/config.json"
"""
DRAFT = """\
id = "acme/Big-1-draft"
algorithms = ["dflash"]
targets = ["acme/Big-1"]
hidden = 64
layers = 1
intermediate = 128
heads = 8
attention = { kv_heads = 2, head_dim = 16, v_head_dim = 16 }
block_size = 8
taps = 2
context = 4096

[sources]
hidden = "https://example.org/draft"
layers = "https://example.org/draft"
intermediate = "https://example.org/draft"
heads = "https://example.org/draft"
"attention.kv_heads" = "https://example.org/draft"
"attention.head_dim" = "https://example.org/draft"
"attention.v_head_dim" = "https://example.org/draft"
block_size = "https://example.org/draft"
taps = "https://example.org/draft"
context = "https://example.org/draft"
"""
FLAGS = """\
{"engine": "sglang", "version": "0.5.3",
"source": "https://example.org/server_args.py",
"flags": [
{"name": "--model-path", "aliases": ["--model"], "takes": "str", "required": true},
{"name": "--algorithm", "takes": "str", "choices": ["A", "B"]},
{"name": "--layers", "takes": "int", "nargs": "+", "choices": [1, 2], "default": 1},
{"name": "--old", "deprecated": "use --new"},
{"name": "--enable-metrics"}
]}
"""
BUILD = """\
id = "tree"
release = "0.5.3"
algorithms = ["ddtree"]
draft_pricing = ["layer-scaled", "none"]
assumptions = ["it is a test"]
needs = { page_size = "1" }

[[flags]]
name = "--algorithm"
takes = "str"
choices = ["A", "B", "C"]

[[flags]]
name = "--budget"
aliases = ["-b"]
takes = "int"
default = -1
"""
BOOT = """\
engine = "sglang"
version = "0.5.3"
model = "acme/Big-1"
gpu = "x-1"
gpu_count = 8
tensor = 8
kv_dtype = "auto"
page_size = 1
fraction = 0.85
context = 4096
chunked_prefill = -1
pool_tokens = 100_000
draft_k_gib = 0.0
source = "the log of a test"
"""

TEAM: dict[str, str | bytes] = {
    "catalog/gpus/x-1.toml": GPU,
    "catalog/models/acme--Big-1.toml": MODEL,
    "catalog/drafts/acme--Big-1-draft.toml": DRAFT,
    "catalog/engines/sglang/0.5.3.json": FLAGS,
    "catalog/engines/sglang/builds/tree.toml": BUILD,
    "boots/one.toml": BOOT,
}


@frozen
class Files:
    """A reader of files that are given as text; an `OSError` is raised instead."""

    files: Mapping[str, str | bytes | OSError]
    asked: list[str] = field(factory=list)

    def read(self, name: str) -> bytes | None:
        """The bytes of a file."""
        self.asked.append(name)
        found = self.files.get(name)
        if isinstance(found, OSError):
            raise found
        return found.encode() if isinstance(found, str) else found

    def list(self, folder: str) -> tuple[str, ...]:
        """The names in a folder."""
        start = f"{folder}/" if folder and not folder.endswith("/") else folder
        below = {name.removeprefix(start) for name in self.files if name.startswith(start)}
        return tuple(sorted({name.split("/")[0] for name in below}))


def team(**changed: str | bytes | OSError) -> Catalog:
    """The team's catalogue alone, with some of its files changed, by their keys' last words."""
    files: dict[str, str | bytes | OSError] = dict(TEAM)
    for word, text in changed.items():
        (name,) = (each for each in files if word in each)
        files[name] = text
    catalog = open_catalog(Files(files))
    return evolve(catalog, shelves=catalog.shelves[:1])


def only_fault(faults: tuple[Diagnostic, ...]) -> Diagnostic:
    """The one finding."""
    assert len(faults) == 1, faults
    return faults[0]


def place(fault: Diagnostic) -> tuple[str, int, int]:
    """File, line and column of a finding."""
    assert fault.primary is not None
    span = fault.primary.span
    return span.file, span.line, span.column


# What is read


def test_a_gpu_is_read() -> None:
    """A GPU's file becomes a `Gpu`, marked as the team's own."""
    gpu, faults = team().gpu("x-1")
    assert faults == ()
    assert gpu == Gpu(
        id="x-1",
        names=("ACME X-1",),
        total_mib=81_559,
        free_before_load_gib=Range(78.0, 78.5, 78.9),
        compute_capability="9.0",
        multiprocessors=132,
        interconnect="nvlink",
        sources={"total_mib": "https://example.org/1", "*": "https://example.org/2"},
        shipped=False,
    )


def test_a_model_and_a_draft_are_read() -> None:
    """An id with a slash finds the file that has `--` for it; `kind` tells the attention."""
    model, faults = team().model("acme/Big-1")
    assert faults == ()
    assert model is not None
    assert isinstance(model.attention, Mla)
    draft, faults = team().draft("acme/Big-1-draft")
    assert faults == ()
    assert draft is not None
    assert draft.attention == Gqa(kv_heads=2, head_dim=16, v_head_dim=16)


def test_a_release_is_read() -> None:
    """A flag table becomes flags by name, absent keys as defaults, numbers among the choices as words."""
    release, faults = team().release("sglang", "0.5.3")
    assert faults == ()
    assert release is not None
    assert (release.version, release.read_version, release.build) == ("0.5.3", "0.5.3", None)
    assert release.flags["--enable-metrics"] == Flag(name="--enable-metrics")
    assert release.flags["--layers"] == Flag(
        name="--layers", takes="int", nargs="+", choices=("1", "2"), default=1
    )
    assert release.aliases == {"--model": "--model-path"}


def test_a_build_is_laid_over_its_release() -> None:
    """A build's flags are added to the release's, and replace those of the same name."""
    release, faults = team().release("sglang", "0.5.3", "tree")
    assert faults == ()
    assert release is not None
    assert release.build is not None
    assert release.build.needs == {"page_size": "1"}
    assert release.flags["--algorithm"].choices == ("A", "B", "C")
    assert release.flags["--budget"].default == -1
    assert release.flags["--model-path"].required
    assert release.aliases["-b"] == "--budget"


def test_a_build_nobody_described_leaves_the_release() -> None:
    """Without an overlay the release stands, and says that it has no build."""
    release, faults = team().release("sglang", "0.5.3", "other")
    assert faults == ()
    assert release is not None
    assert release.build is None


def test_a_build_for_another_release_says_so() -> None:
    """An overlay keeps the release it was written for, also when it is laid over another."""
    release, faults = team().release("sglang", "0.5.4", "tree")
    assert release is not None
    assert release.build is not None
    assert (release.version, release.build.release) == ("0.5.4", "0.5.3")
    fault = only_fault(faults)
    assert (fault.code, fault.is_error, fault.path) == (
        "build-other-release",
        False,
        "engine.build",
    )
    assert place(fault)[0] == "profiles/catalog/engines/sglang/builds/tree.toml"
    assert fault.summary == "the build `tree` is described for sglang 0.5.3, not for sglang 0.5.4"


def test_boots_are_read_by_name() -> None:
    """Each boot has the name and the file it was found under."""
    boots, faults = team().boots()
    assert faults == ()
    assert [(each.name, each.file) for each in boots] == [("boots/one", "profiles/boots/one.toml")]
    assert boots[0].pool_tokens == 100_000


def test_what_nobody_described_is_none() -> None:
    """An unknown name is `None` without a complaint; the near id is there for who asks."""
    catalog = team()
    assert catalog.gpu("x-2") == (None, ())
    assert catalog.near(Kind.GPU, "x-2") == "x-1"
    assert catalog.model("Acme/big-1") == (None, ())
    assert catalog.near(Kind.MODEL, "Acme/big-1") == "acme/Big-1"
    assert catalog.release("vllm", "0.5.3") == (None, ())
    assert open_catalog().boots() == ((), ())


@pytest.mark.parametrize(
    "id_", ["", "..", "../x-1", "a/../x-1", "/x-1", "x-1/", "x--1", "x\0", "x\n", "ä", "x" * 201]
)
def test_a_name_no_entry_can_have_is_never_looked_for(id_: str) -> None:
    """A name that could lead out of the folder, or is no file's name, is unknown and no file is opened."""
    reader = Files(TEAM)
    catalog = open_catalog(reader)
    assert catalog.gpu(id_) == (None, ())
    assert catalog.model(id_) == (None, ())
    assert catalog.release(id_, "0.5.3") == (None, ())
    assert catalog.release("sglang", id_) == (None, ())
    assert reader.asked == []


def test_ids_and_files_agree() -> None:
    """The stem of an id leads back to the id."""
    for id_ in ("x-1", "moonshotai/Kimi-K2.6", "a/b/c+d"):
        stem = file_stem(id_)
        assert stem is not None
        assert "/" not in stem
        assert id_of(stem) == id_


# Which entry counts


def test_a_teams_entry_counts_before_a_shipped_one() -> None:
    """A team's file of a shipped id is used, is told from it, and is listed once."""
    text = GPU.replace('id = "x-1"', 'id = "h100"')
    catalog = open_catalog(Files({"catalog/gpus/h100.toml": text}))
    gpu, faults = catalog.gpu("h100")
    assert faults == ()
    assert gpu is not None
    assert (gpu.shipped, gpu.names) == (False, ("ACME X-1",))
    assert catalog.ids(Kind.GPU) == open_catalog().ids(Kind.GPU)
    shipped, _ = catalog.gpu("h200")
    assert shipped is not None
    assert shipped.shipped


def test_a_broken_entry_of_a_team_hides_the_shipped_one() -> None:
    """A team's broken file is reported; the shipped one does not stand in for it."""
    catalog = open_catalog(Files({"catalog/gpus/h100.toml": "id ="}))
    gpu, faults = catalog.gpu("h100")
    assert gpu is None
    assert only_fault(faults).code == "catalogue-invalid"


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n"])
def test_an_empty_entry_is_one_finding(text: str) -> None:
    """What a shell emptied before it was filled is said to be empty, once, and not to lack each key."""
    catalog = open_catalog(Files({"catalog/gpus/h100.toml": text}))
    gpu, faults = catalog.gpu("h100")
    assert gpu is None
    assert only_fault(faults).summary == "the file is empty"
    assert "delete it to use the shipped one" in only_fault(faults).help[0]


def test_only_what_is_asked_for_is_read_and_only_once() -> None:
    """A lookup opens its own file, not its neighbours, and a second one opens nothing."""
    reader = Files(TEAM)
    catalog = open_catalog(reader)
    assert reader.asked == []
    first = catalog.gpu("x-1")
    assert catalog.gpu("x-1") == first
    assert reader.asked == ["catalog/gpus/x-1.toml"]


RELEASES = ("0.4.6.post5", "0.5.3rc0", "0.5.3", "0.5.11", "main")


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("0.5.11", "0.5.11"),
        ("0.5.12", "0.5.11"),
        ("0.5.11.post1", "0.5.11"),
        ("0.5.10", "0.5.3"),
        ("0.5.3", "0.5.3"),
        ("0.5.3rc1", "0.5.3rc0"),
        ("0.5.3rc0", "0.5.3rc0"),
        ("0.5.2", "0.4.6.post5"),
        ("0.4.6.post4", None),
        ("0.4.6", None),
        ("main", "main"),
        ("latest", None),
    ],
)
def test_the_nearest_lower_release_stands_in(asked: str, read: str | None) -> None:
    """A release that was not read is taken for the nearest lower one; below the lowest there is none."""
    files = {
        f"catalog/engines/acme/{each}.json": json.dumps(
            {"engine": "acme", "version": each, "flags": []}
        )
        for each in RELEASES
    }
    catalog = open_catalog(Files(files))
    release, faults = catalog.release("acme", asked)
    assert faults == ()
    assert (release.read_version if release else None) == read
    assert release is None or release.version == asked


def test_what_there_is_can_be_listed() -> None:
    """Ids, engines, releases and builds are listed in order, whoever's they are; other files are passed over."""
    catalog = open_catalog(
        Files({**TEAM, "catalog/gpus/README.md": "x", "catalog/gpus/.x.toml": ""})
    )
    assert "x-1" in catalog.ids(Kind.GPU)
    assert "h100" in catalog.ids(Kind.GPU)
    assert not {"README.md", ".x", "README"} & set(catalog.ids(Kind.GPU))
    assert "acme/Big-1" in catalog.ids(Kind.MODEL)
    assert list(catalog.ids(Kind.GPU)) == sorted(catalog.ids(Kind.GPU))
    assert "sglang" in catalog.engines()
    assert catalog.versions("sglang") == open_catalog().versions("sglang")
    assert "0.5.3" in catalog.versions("sglang")
    assert "tree" in catalog.builds("sglang")


# What is refused


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "wording"),
    [
        ('id = "x-1"', 'id = "x-2"', 1, 6, "`id`: expected `x-1`, which the file's name"),
        (
            "total_mib = 81",
            "total_mb = 81",
            1,
            1,
            "`total_mib`: expected a whole number, found nothing",
        ),
        ("total_mib = 81", "total_mib = -81", 3, 13, "`total_mib`: expected more than zero"),
        ("multiprocessors = 132", "multiprocessors = 0", 6, 19, "expected more than zero"),
        ("best = 78.5", "best = 99", 4, 24, "`low` <= `best` <= `high`"),
        ('"*" =', "names =", 6, 19, "`multiprocessors`: expected a source for it"),
        ('"*" =', "nothing =", 11, 11, "`sources.nothing`: expected the key of a figure"),
        ('"https://example.org/1"', '""', 10, 13, "`sources.total_mib`: expected a source"),
        (
            "total_mib = 81_559",
            "total_mib = 80",
            4,
            24,
            "`free_before_load_gib`: expected at most the card's total, 80 MiB: 0.08 GiB",
        ),
        ('"nvlink"', '"NVLink"', 7, 16, "`interconnect`: expected `nvlink`, `pcie`, or `xgmi`"),
        ('names = ["ACME X-1"]', "names = [1]", 2, 10, "`names.0`: expected text"),
        ("[sources]", "shipped = true\n[sources]", 9, 1, "unknown key `shipped`"),
        ("id =", "id", 1, 4, "invalid TOML"),
    ],
)
def test_a_broken_entry_is_shown_where_it_is_wrong(
    old: str, new: str, line: int, column: int, wording: str
) -> None:
    """What is wrong with a catalogue file is an error at the place in that file."""
    gpu, faults = team(gpus=GPU.replace(old, new)).gpu("x-1")
    assert gpu is None
    fault = next(each for each in faults if wording in each.summary)
    assert fault.code == "catalogue-invalid"
    assert place(fault) == ("profiles/catalog/gpus/x-1.toml", line, column)


@pytest.mark.parametrize(
    ("old", "new", "wording"),
    [
        ("dense_layers = 0", "dense_layers = 5", "`dense_layers`: expected at most `layers`, "),
        (
            "checkpoint_gb",
            "moe = { routed_experts = 8, active_experts = 9, shared_experts = 0, intermediate = 8 }\ncheckpoint_gb",
            "`moe.active_experts`: expected at most `moe.routed_experts`, which is 8",
        ),
        (
            'kind = "mla", kv_lora_rank = 512, qk_rope_head_dim = 64, qk_nope_head_dim = 128, v_head_dim = 128, q_lora_rank = 0',
            'kind = "gqa", kv_heads = 3, head_dim = 8, v_head_dim = 8',
            "`attention.kv_heads`: expected a divisor of `heads`, which is 8",
        ),
    ],
)
def test_a_model_whose_figures_do_not_go_together_is_refused(
    old: str, new: str, wording: str
) -> None:
    """Each figure may be right by itself; no engine builds a model of both."""
    model, faults = team(models=MODEL.replace(old, new)).model("acme/Big-1")
    assert model is None
    assert only_fault(faults).summary.startswith(wording)


def test_an_unknown_key_has_the_near_one() -> None:
    """An unknown key of an entry is told the key it is like."""
    _, faults = team(gpus=GPU.replace("total_mib = 81", "total_mb = 81")).gpu("x-1")
    fault = next(each for each in faults if "unknown key" in each.summary)
    assert fault.help == ("a similar name exists: `total_mib`",)
    assert place(fault)[1:] == (3, 1)


def test_each_figure_of_a_table_needs_a_source() -> None:
    """A source of one key of a table does not cover its neighbours."""
    text = DRAFT.replace('"attention.head_dim" =', '"attention.v_head_dim" =', 1).replace(
        '"attention.v_head_dim" = "https://example.org/draft"\n', "", 1
    )
    _, faults = team(drafts=text).draft("acme/Big-1-draft")
    assert "`attention.head_dim`: expected a source" in only_fault(faults).summary


def test_a_file_that_is_no_utf8_is_refused_at_the_byte() -> None:
    """The first byte that is no UTF-8 is where the message points."""
    _, faults = team(gpus=b'id = "x-1"\nnames = ["\xff"]').gpu("x-1")
    assert place(only_fault(faults)) == ("profiles/catalog/gpus/x-1.toml", 2, 11)


def test_a_file_that_cannot_be_read_is_reported() -> None:
    """A file that is there and cannot be read is an error with the system's reason."""
    catalog = team(
        gpus=PermissionError(13, "Permission denied"), boots=IsADirectoryError(21, "Is a directory")
    )
    fault = only_fault(catalog.gpu("x-1")[1])
    assert fault.summary == "`profiles/catalog/gpus/x-1.toml` cannot be read: permission denied"
    assert only_fault(catalog.boots()[1]).code == "boot-invalid"


@pytest.mark.parametrize("flag", ["node-rank = 0", "random-seed = 0", "tokenizer-worker-num = -1"])
def test_a_boot_may_have_been_given_nought(flag: str) -> None:
    """What a flag was set to is no figure of the boot: the first of several hosts has rank 0."""
    files = {**TEAM, "boots/two.toml": f"{BOOT}\n[flags]\n{flag}\n"}
    boots, faults = open_catalog(Files(files)).boots()
    assert faults == ()
    assert [each.name for each in boots] == ["boots/one", "boots/two"]


def test_boots_with_flags_are_held_against_each_other() -> None:
    """Of the same flags two pools disagree; of others they may be what they are."""
    flags, less = "\n[flags]\nenable-mixed-chunk = true\n", ("100_000", "90_000")
    other = BOOT.replace(*less) + flags
    files = {**TEAM, "boots/two.toml": BOOT + flags, "boots/two-b.toml": other}
    assert "boots/two-b" in only_fault(open_catalog(Files(files)).boots()[1]).summary
    files["boots/two-b.toml"] = other.replace("mixed-chunk", "lora")
    assert open_catalog(Files(files)).boots()[1] == ()


@pytest.mark.parametrize(
    ("old", "new", "wording"),
    [
        ("pool_tokens = 100_000", "pool_tokens = 0", "`pool_tokens`: expected more than zero"),
        (
            "chunked_prefill = -1",
            "chunked_prefill = -2",
            "`chunked_prefill`: expected more than zero",
        ),
        (
            "page_size = 1",
            "page_size = 100_001",
            "`page_size`: expected at most the pool, which is 100,000 tokens in whole pages",
        ),
        (
            "draft_k_gib = 0.0",
            "free_before_load_gib = 70.0\nweights_gib = 70.0",
            "`weights_gib`: expected less than `free_before_load_gib`, which is 70",
        ),
        ("source =", "sauce =", "`source`: expected text, found nothing"),
        ("engine =", "name =", "unknown key `name`"),
        ('engine = "sglang"', "engine = [", "invalid TOML"),
    ],
)
def test_a_broken_boot_is_left_out_and_reported(old: str, new: str, wording: str) -> None:
    """A broken boot is an error of its own code; the other boots are still there."""
    files = {**TEAM, "boots/two.toml": BOOT.replace(old, new)}
    boots, faults = open_catalog(Files(files)).boots()
    assert [each.name for each in boots] == ["boots/one"]
    fault = next(each for each in faults if wording in each.summary)
    assert fault.code == "boot-invalid"
    assert place(fault)[0] == "profiles/boots/two.toml"


@pytest.mark.parametrize(
    ("old", "new", "line", "wording"),
    [
        ('"0.5.3"', '"0.5.4"', 1, "expected the table of `sglang` `0.5.3`"),
        ('"engine": "sglang", ', "", 1, "the key `engine` is missing"),
        ('"source"', '"sauce"', 1, "unknown key `sauce`"),
        ('"takes": "int"', '"takes": 1', 6, "`--layers`: `takes` has the wrong type"),
        ('"nargs"', '"narg"', 6, "`--layers`: unknown key `narg`"),
        ('["A", "B"]', '["A", {}]', 5, "`--algorithm`: expected words in `choices`"),
        ('"--old"', '"old"', 7, "`old` is no name of a flag"),
        ('"--old"', '"--model"', 7, "`--model` is in the table twice"),
        ('{"name": "--enable-metrics"}', '{"takes": "int"}', 1, "the key `name` is missing"),
        ('{"name": "--enable-metrics"}', "1", 1, "expected an object"),
        ('"use --new"', '"\\ud800"', 7, "expected the character itself"),
        ('"--old"', "--old", 7, "invalid JSON"),
        (FLAGS, "[" * 100_000, 1, "nests too deep"),
        (FLAGS, "[]", 1, "expected an object"),
    ],
)
def test_a_broken_flag_table_is_shown_where_it_is_wrong(
    old: str, new: str, line: int, wording: str
) -> None:
    """What is wrong with a flag table is an error at the flag, or at the file's start."""
    release, faults = team(json=FLAGS.replace(old, new, 1)).release("sglang", "0.5.3")
    assert release is None
    fault = only_fault(faults)
    assert wording in fault.summary
    assert place(fault)[:2] == ("profiles/catalog/engines/sglang/0.5.3.json", line)


def test_a_broken_build_leaves_the_release() -> None:
    """A broken overlay is an error; the release stands without it."""
    release, faults = team(builds=BUILD.replace("takes", "tekes", 1)).release(
        "sglang", "0.5.3", "tree"
    )
    assert release is not None
    assert release.build is None
    assert "unknown key `flags.0.tekes`" in only_fault(faults).summary


def test_the_text_of_a_file_is_there_for_messages() -> None:
    """A file named in a diagnostic can be quoted, a shipped one and a boot too; other files cannot be read."""
    catalog = open_catalog(Files(TEAM))
    for shown, text in (
        ("profiles/catalog/gpus/x-1.toml", 'id = "x-1"'),
        ("profiles/boots/one.toml", 'engine = "sglang"'),
    ):
        source = catalog.source(shown)
        assert source is not None
        assert source.line(1) == text
    shipped = catalog.source("compiler/catalog/data/gpus/h100.toml")
    assert shipped is not None
    assert 'id = "h100"' in shipped.text
    assert catalog.source("profiles/k.toml") is None
    assert catalog.source("compiler/catalog/data/../../profile.py") is None


def test_a_folder_is_read_from_disk(tmp_path: Path) -> None:
    """On disk, what is not there is `None` and an empty folder; what is, is read."""
    reader = FolderReader(tmp_path)
    assert reader.read("catalog/gpus/x-1.toml") is None
    assert reader.list("catalog/gpus") == ()
    (tmp_path / "catalog" / "gpus").mkdir(parents=True)
    (tmp_path / "catalog" / "gpus" / "x-1.toml").write_text(GPU, encoding="utf-8")
    assert reader.list("catalog") == ("gpus",)
    assert reader.read("catalog/gpus/x-1.toml/more") is None
    gpu, faults = open_catalog(reader).gpu("x-1")
    assert faults == ()
    assert gpu is not None
    (tmp_path / "catalog" / "gpus" / "x-2.toml").mkdir()
    assert "cannot be read" in only_fault(open_catalog(reader).gpu("x-2")[1]).summary


# What is written


def test_a_gpu_is_written_as_it_is_read() -> None:
    """The text of a GPU's file reads back to the same GPU, and has no line that is too long to review."""
    gpu, _ = team().gpu("x-1")
    assert gpu is not None
    text = gpu_toml(gpu)
    assert team(gpus=text).gpu("x-1") == (gpu, ())
    assert max(map(len, text.splitlines())) <= 120
    assert text == gpu_toml(gpu)


TEXTS = st.text().filter(lambda text: text != "" and not any(map(is_control, text)))


@PROPERTY
@given(
    names=st.lists(TEXTS, max_size=3),
    sources=st.dictionaries(TEXTS, TEXTS, max_size=3),
    total=st.integers(1, 2**40),
    free=st.none()
    | st.lists(st.floats(1e-300, 1e300), min_size=3, max_size=3).map(
        lambda few: Range(*sorted(few))
    ),
)
def test_whatever_a_gpu_holds_is_written_so_that_toml_reads_it(
    names: list[str], sources: dict[str, str], total: int, free: Range | None
) -> None:
    """Quotes, backslashes and odd characters survive being written, in keys and in values."""
    gpu = Gpu(
        id='a"b\\c',
        names=tuple(names),
        total_mib=total,
        free_before_load_gib=free,
        compute_capability="12.0",
        multiprocessors=188,
        interconnect="pcie",
        sources=sources,
    )
    values = tomllib.loads(gpu_toml(gpu))
    assert values["id"] == gpu.id
    assert values["names"] == names
    assert values["total_mib"] == total
    assert values["sources"] == sources
    range_ = values.get("free_before_load_gib")
    assert (Range(**range_) if range_ else None) == free


def test_a_control_character_is_written_as_an_escape() -> None:
    """A control character, which no entry may hold, is at least written as valid TOML."""
    gpu, _ = team().gpu("x-1")
    assert gpu is not None
    values = tomllib.loads(gpu_toml(evolve(gpu, names=("a\0\n\x7f\u2028",))))
    assert values["names"] == ["a\0\n\x7f\u2028"]


# What it costs


def test_a_lookup_imports_only_what_it_needs() -> None:
    """A sound GPU is looked up without JSON or near names being imported."""
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from compiler.catalog import open_catalog
assert open_catalog().gpu("h100")[0] is not None
print(*sorted({{"json", "difflib", "importlib.resources"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.strip() == ""


def test_shelves_of_a_team_are_apart_from_the_shipped_one() -> None:
    """Without a team there is the shipped shelf only."""
    assert [each.shipped for each in open_catalog().shelves] == [True]
    assert [each.shipped for each in open_catalog(Files({})).shelves] == [False, True]
    assert isinstance(open_catalog().shelves[0], Shelf)


@pytest.mark.parametrize(
    ("draft", "meant"),
    [
        ("Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("qwen/qwen3-0.6b", "Qwen/Qwen3-0.6B"),
        ("Qwen/Qwen3-0.6", "Qwen/Qwen3-0.6B"),
        ("Kimi-K2.6-DFlash", "z-lab/Kimi-K2.6-DFlash"),
        ("somebody/Qwen3-8B-mine", None),
        ("mine/draft", None),
    ],
)
def test_a_draft_without_its_owner(draft: str, meant: str | None) -> None:
    """The id that ends so is proposed, a draft's own or that of a model; a model that it is only called after is not."""
    assert open_catalog().near(Kind.DRAFT, draft) == meant
