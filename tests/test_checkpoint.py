"""Reading a checkpoint's folder: its tensors are found, and everything that is wrong with it is named."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import (
    KIMI,
    QWEN_DENSE,
    Shapes,
    header_of,
    kimi,
    qwen_dense,
    write_checkpoint,
    write_file,
)
from compiler.catalog import open_catalog
from compiler.checkpoint import (
    Checkpoint,
    checkpoint_gib,
    describe_checkpoint,
    model_from_config,
    place_checkpoint,
    read_checkpoint,
)
from compiler.checkpoint.folder import INDEX, Kind
from compiler.checkpoint.headers import LARGEST_HEADER
from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import Split, exact_gib
from examples import examples
from fused_checkpoints import FUSED
from newer_checkpoints import DEEPSEEK, MINIMAX, deepseek, minimax


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(60))
FIRST = "model-00001-of-00002.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small sound checkpoint of two files."""
    return write_checkpoint(tmp_path / "ck", QWEN_DENSE, qwen_dense())


def sound(folder: Path) -> Checkpoint:
    """What a folder holds that nothing is wrong with."""
    found, faults = read_checkpoint(folder, shown="ck")
    assert faults == ()
    assert found is not None
    return found


def faults_of(folder: Path) -> list[tuple[str, str]]:
    """The file and the summary of each fault."""
    found, faults = read_checkpoint(folder, shown="ck")
    assert found is None
    assert {each.code for each in faults} == {"checkpoint-invalid"}
    return [(each.primary.span.file, each.summary) for each in faults if each.primary]


def described(checkpoint: Checkpoint) -> Model:
    """The model of a config that is described."""
    model = model_from_config(checkpoint.config, id_="a/b")
    assert isinstance(model, Model)
    return model


def test_a_sound_folder_is_read(folder: Path) -> None:
    """All tensors are counted, and their bytes are those of the weight files."""
    checkpoint = sound(folder)
    assert checkpoint.tensors == len(qwen_dense())
    assert checkpoint.bytes == header_of(qwen_dense())[1]
    assert checkpoint.config["hidden_size"] == 64


def test_alike_tensors_are_one_kind(folder: Path) -> None:
    """Numbers in names count as one, but for the layer."""
    kinds = sound(folder).kinds
    found = {(kind.name, kind.layer): count for kind, count in kinds.items()}
    assert found["model.layers.N.mlp.up_proj.weight", 2] == 1
    assert ("model.embed_tokens.weight", None) in found


def test_a_folder_without_an_index_is_read_as_it_stands(tmp_path: Path) -> None:
    """One file, or several under any name, are all read when no index says more."""
    (tmp_path / "config.json").write_text(json.dumps(QWEN_DENSE), encoding="utf-8")
    write_file(tmp_path / "model.safetensors", qwen_dense())
    assert sound(tmp_path).tensors == len(qwen_dense())


def replace_index(folder: Path, change: Callable[[dict[str, str]], object]) -> None:
    """Change the index of a folder."""
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    change(index["weight_map"])
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


def rewrite_header(path: Path, change: Callable[[dict[str, dict[str, object]]], object]) -> None:
    """Change the header of a file; the file keeps the room behind it."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    new = json.dumps(header).encode()
    path.write_bytes(len(new).to_bytes(8, "little") + new + data[8 + length :])


def test_a_missing_shard_is_named(folder: Path) -> None:
    """A file the index names and the folder lacks."""
    (folder / FIRST).unlink()
    assert faults_of(folder) == [
        (f"ck/{FIRST}", "the file cannot be read: no such file or directory")
    ]


@pytest.mark.parametrize(
    ("kept", "missing"),
    [
        (
            ("model-00001-of-00004", "model-00002-of-00004", "model-00004-of-00004"),
            "model-00003-of-00004",
        ),
        (("model-00001-of-00002",), "model-00002-of-00002"),
        (("a-0-of-3", "a-2-of-3", "b"), "a-1-of-3"),
        (("model-00002-of-00002", "extra-00001-of-00001"), "model-00001-of-00002"),
        (("model-1-of-999999999",), "model-2-of-999999999"),
    ],
)
def test_a_missing_shard_without_an_index_is_named(
    tmp_path: Path, kept: tuple[str, ...], missing: str
) -> None:
    """The names count the files, so that one that is not there is told even where no index names it."""
    (tmp_path / "config.json").write_text(json.dumps(QWEN_DENSE), encoding="utf-8")
    for at, name in enumerate(kept):
        write_file(tmp_path / f"{name}.safetensors", qwen_dense() if at == 0 else {})
    ((place, summary),) = faults_of(tmp_path)
    assert place == f"ck/{missing}.safetensors"
    assert summary.startswith("the file is missing: the names of its set count ")


@pytest.mark.parametrize(
    "names",
    [
        ("model-00000-of-00002", "model-00001-of-00002"),
        ("a-1-of-1", "b-1-of-2", "b-2-of-2"),
        ("x",),
    ],
)
def test_whole_sets_without_an_index_are_read(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Sets that are counted from 0 or from 1, and names without a number, lack nothing."""
    (tmp_path / "config.json").write_text(json.dumps(QWEN_DENSE), encoding="utf-8")
    for at, name in enumerate(names):
        write_file(tmp_path / f"{name}.safetensors", qwen_dense() if at == 0 else {})
    assert sound(tmp_path).tensors == len(qwen_dense())


@pytest.mark.parametrize("part", [".mlp.down_proj.", ".self_attn.", ".self_attn.v_proj."])
def test_a_layer_that_lacks_a_part_is_refused(tmp_path: Path, part: str) -> None:
    """Where an index and its files agree, but a layer has less than those like it, the load would find nothing for it."""
    tensors = {name: form for name, form in qwen_dense().items() if f".1{part}" not in name}
    folder = write_checkpoint(tmp_path / "ck", QWEN_DENSE, tensors)
    found, faults = describe_checkpoint(folder, id_="a/b", shown="ck")
    assert found is None
    assert all(each.is_error and each.code == "checkpoint-invalid" for each in faults)
    assert all(each.summary.startswith("layer 1 has no `model.layers.N") for each in faults)
    assert faults


def stretched(entries: dict[str, dict[str, object]], *, by: int, last: bool = False) -> None:
    """Move a tensor of a header, the second or the last one, so many bytes on."""
    names = [name for name in entries if name != "__metadata__"]
    entry = entries[names[-1 if last else 1]]
    offsets = entry["data_offsets"]
    assert isinstance(offsets, list)
    entry["data_offsets"] = [each + by for each in offsets]


@pytest.mark.parametrize(
    ("by", "why"), [(-2, "they overlap"), (-64, "they overlap"), (2, "nothing is between them")]
)
def test_tensors_that_overlap_or_leave_a_hole_are_named(folder: Path, by: int, why: str) -> None:
    """Tensors stand one behind the other without holes, as the format says; their order in the header does not matter."""
    rewrite_header(folder / FIRST, lambda entries: stretched(entries, by=by))
    ((place, summary),) = faults_of(folder)
    assert place == f"ck/{FIRST}"
    assert summary.endswith(why)


def test_bytes_behind_the_last_tensor_are_named(folder: Path) -> None:
    """The format has none."""
    with (folder / FIRST).open("ab") as file:
        file.write(b"x" * 5)
    ((place, summary),) = faults_of(folder)
    assert place == f"ck/{FIRST}"
    assert summary.startswith("the last tensor ends at byte ")


def test_tensors_may_stand_in_any_order(folder: Path) -> None:
    """A header lists them by name, or as its writer likes."""

    def reverse(entries: dict[str, dict[str, object]]) -> None:
        several = list(entries.items())
        entries.clear()
        entries.update(reversed(several))

    rewrite_header(folder / FIRST, reverse)
    assert sound(folder).tensors == len(qwen_dense())


@pytest.mark.parametrize("file", ["config.json", INDEX, FIRST])
def test_half_a_surrogate_pair_is_named(folder: Path, file: str) -> None:
    """No name can be printed that holds one; a whole pair is a character as any other."""
    path, half, pair = folder / file, r"\ud800", r"\ud83d\ude00"
    if file == FIRST:
        rewrite_header(path, lambda entries: entries.__setitem__("__metadata__", {"a": "XX"}))
    else:
        text = path.read_text(encoding="utf-8")
        path.write_text(text[:-1] + ', "a": "XX"}', encoding="utf-8")
    data = path.read_bytes()

    def put(word: str) -> None:
        new = data.replace(b'"XX"', f'"{word}"'.encode())
        if file == FIRST:
            new = (int.from_bytes(data[:8], "little") + len(word) - 2).to_bytes(8, "little") + new[
                8:
            ]
        path.write_bytes(new)

    put(pair)
    sound(folder)
    put(half)
    ((place, summary),) = faults_of(folder)
    assert place == f"ck/{file}"
    assert summary.endswith("it holds half a surrogate pair, which is no text")


@pytest.mark.parametrize("length", [0, 5])
def test_a_file_without_a_length_is_named(folder: Path, length: int) -> None:
    """A file that ends before the length of its header."""
    os.truncate(folder / FIRST, length)
    summary = f"the file has {length} bytes, too few for the length of a header"
    assert faults_of(folder) == [(f"ck/{FIRST}", summary)]


def test_a_cut_header_is_named(folder: Path) -> None:
    """A header that claims more bytes than the file has."""
    os.truncate(folder / FIRST, 20)
    [(file, summary)] = faults_of(folder)
    assert file == f"ck/{FIRST}"
    assert summary.startswith("the header claims ")
    assert summary.endswith(" bytes, and the file has 12 behind its length")


def test_an_enormous_header_is_not_read(folder: Path) -> None:
    """A length beyond the format's limit is refused before anything is read."""
    (folder / FIRST).write_bytes((LARGEST_HEADER + 1).to_bytes(8, "little"))
    [(_, summary)] = faults_of(folder)
    assert "more than the format allows (100,000,000)" in summary


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"{", "expecting property name enclosed in double quotes at line 1"),
        (b"\xff\xff", "it is not UTF-8"),
        (b"[]", "expected an object"),
        (b"[" * 200_000, "it nests too deep, or holds a number that is too long"),
    ],
)
def test_a_header_that_is_no_json_is_named(folder: Path, text: bytes, why: str) -> None:
    """What is wrong with the JSON is said in words."""
    (folder / FIRST).write_bytes(len(text).to_bytes(8, "little") + text)
    assert faults_of(folder) == [(f"ck/{FIRST}", f"the header is no JSON: {why}")]


NAME = "model.embed_tokens.weight"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"dtype": "BF17"}, "the number format `BF17` is not known"),
        ({"shape": [-1, 64]}, "`shape` is no list of whole numbers"),
        ({"shape": [640.0, 64]}, "`shape` is no list of whole numbers"),
        ({"shape": [2**40, 2**40]}, "its size overflows"),
        ({"data_offsets": [5, 2]}, "`data_offsets` are no stretch of the file"),
        ({"data_offsets": [0, "x"]}, "`data_offsets` are no stretch of the file"),
        ({"data_offsets": [0, 8]}, "its shape comes to 81,920 bytes, its `data_offsets` to 8"),
        ({"data_offsets": [0]}, "expected `dtype`, `shape`, and two `data_offsets`"),
        ({"shape": None}, "expected `dtype`, `shape`, and two `data_offsets`"),
        ({"shape": [[2], 3]}, "expected `dtype`, `shape`, and two `data_offsets`"),
    ],
)
def test_a_broken_entry_is_named(folder: Path, entry: dict[str, object], why: str) -> None:
    """Each entry of a header is checked, and the fault names its tensor."""
    rewrite_header(folder / FIRST, lambda header: header[NAME].update(entry))
    assert (f"ck/{FIRST}", f"`{NAME}`: {why}") in faults_of(folder)


def test_a_tensor_beyond_the_file_is_named(folder: Path) -> None:
    """Weights that were cut off."""
    path = folder / FIRST
    os.truncate(path, path.stat().st_size - 10)
    [(file, summary)] = faults_of(folder)
    assert file == f"ck/{FIRST}"
    assert "it ends at byte " in summary


def test_a_download_that_broke_off_is_one_fault(folder: Path) -> None:
    """All tensors behind the cut are one finding, which names the last of them and how many there are."""
    path = folder / FIRST
    header, _ = path.read_bytes()[8:].split(b"}}", 1)
    os.truncate(path, 8 + len(header) + 2)
    [(file, summary)] = faults_of(folder)
    assert file == f"ck/{FIRST}"
    count = len(json.loads(header + b"}}")) - 1  # all but `__metadata__`
    assert summary.endswith(f"the file has 0 behind its header; so do {count - 1} more")


def test_faults_of_all_entries_of_a_file_are_told_by_the_first(folder: Path) -> None:
    """A header has thousands of entries, and what broke one broke all."""

    def spoil(entries: dict[str, dict[str, object]]) -> None:
        for name in entries.keys() - {"__metadata__"}:
            entries[name]["dtype"] = "BF17"

    rewrite_header(folder / FIRST, spoil)
    _, faults = read_checkpoint(folder, shown="ck")
    assert len(faults) == 5
    assert [each.notes for each in faults[:4]] == [()] * 4
    (note,) = faults[4].notes
    assert note.endswith(" more of this file")


@pytest.mark.parametrize("values", [5, {"format": 1}])
def test_what_stands_beside_the_tensors_is_texts(folder: Path, values: object) -> None:
    """The format's own reader stops on anything else."""
    rewrite_header(
        folder / FIRST, lambda header: cast("dict[str, object]", header).update(__metadata__=values)
    )
    assert faults_of(folder) == [(f"ck/{FIRST}", "`__metadata__` is no table of texts")]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        (FIRST, "the file is no weight file"),
        (INDEX, "the file is no JSON"),
        ("config.json", "the file is no JSON"),
    ],
)
def test_a_pointer_of_git_lfs_is_called_one(folder: Path, name: str, start: str) -> None:
    """A clone without Git LFS has pointers in place of files, and is mended by one command."""
    (folder / name).write_text(POINTER, encoding="utf-8")
    why = "it is a pointer of Git LFS, and `git lfs pull` fetches the file"
    assert faults_of(folder) == [(f"ck/{name}", f"{start}: {why}")]


def test_weights_of_another_format_are_named(folder: Path) -> None:
    """What lies there in place of what is read."""
    for name in (*folder.glob("*.safetensors"), folder / INDEX):
        name.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    _, (fault,) = read_checkpoint(folder, shown="ck")
    assert fault.notes == ("`pytorch_model.bin` is not read",)


def test_a_table_of_modelopt_that_is_none_is_named(folder: Path) -> None:
    """It would say how the weights are stored, and the config does not."""
    (folder / "hf_quant_config.json").write_text('{"quantization": [1]}', encoding="utf-8")
    assert faults_of(folder) == [("ck/hf_quant_config.json", "`quantization` is no table")]


def test_an_index_that_disagrees_is_named(folder: Path) -> None:
    """A tensor that the index places in another file is wrong there, and missing here."""
    other = "model-00002-of-00002.safetensors"
    replace_index(folder, lambda places: places.update({NAME: other}))
    assert faults_of(folder) == [
        (f"ck/{INDEX}", f"`weight_map.{NAME}` should name `{FIRST}`, which holds it"),
        (f"ck/{other}", f"`{NAME}` is not in the file, and the index says that it is"),
    ]


@pytest.mark.parametrize(
    "place", ["../x.safetensors", "x.bin", 3, ".hidden.safetensors", "a\0.safetensors"]
)
def test_an_index_leads_nowhere_else(folder: Path, place: object) -> None:
    """The index names weight files of its own folder only."""
    replace_index(folder, lambda places: places.update({NAME: place}))  # type: ignore[dict-item]
    assert faults_of(folder) == [
        (f"ck/{INDEX}", f"`weight_map.{NAME}` names no file of the folder")
    ]


@pytest.mark.parametrize("text", ["{}", '{"weight_map": []}', '{"weight_map": {}}'])
def test_an_index_without_a_table_is_named(folder: Path, text: str) -> None:
    """An index has a table of names."""
    (folder / INDEX).write_text(text, encoding="utf-8")
    assert faults_of(folder) == [(f"ck/{INDEX}", "`weight_map` is no table of names")]


def test_a_missing_config_is_named_beside_other_faults(folder: Path) -> None:
    """All faults are found at once."""
    (folder / "config.json").unlink()
    (folder / FIRST).unlink()
    assert [file for file, _ in faults_of(folder)] == ["ck/config.json", f"ck/{FIRST}"]


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    """A folder without weight files is no checkpoint."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert faults_of(tmp_path) == [("ck", "the folder has no `*.safetensors` files")]


@PROPERTY
@given(data=st.binary(max_size=200))
def test_no_bytes_crash_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever a file holds, the answer is a checkpoint or faults."""
    folder = tmp_path_factory.mktemp("ck")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "a.safetensors").write_bytes(data)
    found, faults = read_checkpoint(folder)
    assert (found is None) == bool(faults)


@PROPERTY
@given(entry=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_entry_crashes_the_reader(
    tmp_path_factory: pytest.TempPathFactory, entry: object
) -> None:
    """Whatever stands in a header, the answer is faults, or a tensor of no bytes."""
    folder = tmp_path_factory.mktemp("ck")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    text = json.dumps({"x": {"dtype": "U8", "shape": entry, "data_offsets": [0, 0]}}).encode()
    (folder / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    found, faults = read_checkpoint(folder)
    assert (found is None) == bool(faults)


@pytest.mark.parametrize(
    ("config", "tensors"),
    [(DEEPSEEK, deepseek()), (MINIMAX, minimax()), *FUSED.values()],
    ids=["v4", "m3", *FUSED],
)
def test_a_family_is_described_as_its_tensors_are(
    tmp_path: Path, config: dict[str, object], tensors: Shapes
) -> None:
    """Every tensor has a role, and they come to what the config describes, on one GPU and on one of two."""
    folder = write_checkpoint(tmp_path / "ck", config, tensors)
    found, doubts = describe_checkpoint(folder, id_="a/b")
    assert found is not None
    assert [each.summary for each in doubts] == []
    split = Split(tensor=2)
    placed = place_checkpoint(found.checkpoint, found.model, split=split)
    assert placed.unplaced == ()
    share = exact_gib(target_tensors(found.model, split=split))
    assert exact_gib(placed.tensors) == pytest.approx(share, rel=0.01)


def test_layers_that_a_name_begins_with_are_told_apart(tmp_path: Path) -> None:
    """A stage of the pipeline holds its own layers, also where nothing stands before `layers`."""
    checkpoint = sound(write_checkpoint(tmp_path / "ck", DEEPSEEK, deepseek()))
    layers = {kind.layer for kind in checkpoint.kinds if kind.name.startswith("layers.N.attn")}
    assert layers == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_a_checkpoint_splits_as_its_description(folder: Path, ranks: int) -> None:
    """A dense model's own tensors come to what its description gives, but for the norms."""
    checkpoint = sound(folder)
    model, split = described(checkpoint), Split(tensor=ranks)
    placed = place_checkpoint(checkpoint, model, split=split)
    assert placed.unplaced == ()
    matrices = [each for each in placed.tensors if "norms" not in each.role]
    assert exact_gib(matrices) == exact_gib(target_tensors(model, split=split))


def test_stages_hold_all_layers_once(folder: Path) -> None:
    """Over the stages of a pipeline each tensor is held once, but for the rotary tables."""
    checkpoint = sound(folder)
    model = described(checkpoint)

    def held(pipeline: int) -> int:
        placed = (
            place_checkpoint(checkpoint, model, split=Split(pipeline=pipeline), stage=stage)
            for stage in range(pipeline)
        )
        kept = [t for each in placed for t in each.tensors if "rotary" not in t.role]
        return sum(each.bytes for each in kept if "norms" not in each.role)

    assert held(1) == held(3)


def test_an_unknown_name_is_told(tmp_path: Path) -> None:
    """A tensor that no role is known for is named, and not guessed at."""
    extra: Shapes = {"model.layers.1.flux.capacitor.weight": ("BF16", (8, 8))}
    folder = write_checkpoint(tmp_path / "ck", QWEN_DENSE, qwen_dense() | extra)
    checkpoint = sound(folder)
    placed = place_checkpoint(checkpoint, described(checkpoint), split=Split())
    assert placed.unplaced == ("model.layers.N.flux.capacitor.weight",)


def test_the_models_own_draft_is_left_out(tmp_path: Path) -> None:
    """Layers behind the last, and an `mtp` block, are not loaded with the model."""
    extra: Shapes = {
        "model.layers.3.mlp.up_proj.weight": ("BF16", (128, 64)),
        "mtp.fc.weight": ("BF16", (64, 128)),
    }
    plain = sound(write_checkpoint(tmp_path / "a", QWEN_DENSE, qwen_dense()))
    more = sound(write_checkpoint(tmp_path / "b", QWEN_DENSE, qwen_dense() | extra))
    model = described(plain)
    assert checkpoint_gib(more, model, split=Split()) == checkpoint_gib(plain, model, split=Split())


def test_kimi_comes_to_its_published_size(tmp_path: Path) -> None:
    """A seventh of Kimi K2.6's experts: its files, its description, and its split agree with each other."""
    text = {**KIMI["text_config"], "n_routed_experts": 48}  # type: ignore[dict-item]
    config = {**KIMI, "text_config": text}
    tensors = kimi(experts=48)
    for layer in range(1, 61):
        tensors[f"language_model.model.layers.{layer}.mlp.gate.weight"] = ("BF16", (48, 7168))
    checkpoint = sound(write_checkpoint(tmp_path / "ck", config, tensors, files=10))
    model, split = described(checkpoint), Split(tensor=8)
    placed = place_checkpoint(checkpoint, model, split=split)
    assert placed.unplaced == ()
    assert exact_gib(placed.tensors) == pytest.approx(
        exact_gib(target_tensors(model, split=split)), rel=2e-4
    )


def test_the_shipped_entry_of_kimi_is_what_its_config_gives() -> None:
    """The catalogue describes Kimi K2.6 as its config does."""
    model = model_from_config(KIMI, id_="moonshotai/Kimi-K2.6")
    shipped, _ = open_catalog().model("moonshotai/Kimi-K2.6")
    assert isinstance(model, Model)
    assert shipped is not None
    for name in ("attention", "moe", "vision", "rope", "quantization", "context", "pattern"):
        assert getattr(model, name) == getattr(shipped, name), name


def test_a_folder_is_described(folder: Path) -> None:
    """The model of a sound folder, with the size of its weight files."""
    found, faults = describe_checkpoint(folder, id_="a/b")
    assert faults == ()
    assert found is not None
    assert found.model.id == "a/b"
    assert found.model.checkpoint_gb == round(header_of(qwen_dense())[1] / 1e9, 2)


def test_a_broken_folder_is_not_described(folder: Path) -> None:
    """What is wrong with the folder comes first."""
    (folder / FIRST).unlink()
    found, faults = describe_checkpoint(folder, id_="a/b")
    assert found is None
    assert [each.code for each in faults] == ["checkpoint-invalid"]


@pytest.mark.parametrize(
    ("change", "code", "summary"),
    [
        (
            {"architectures": ["FluxForCausalLM"]},
            "model-unknown",
            "nobody described the architecture `FluxForCausalLM`",
        ),
        ({"architectures": None}, "checkpoint-invalid", "`architectures` is missing"),
        ({"hidden_size": None}, "checkpoint-invalid", "`hidden_size` is missing"),
    ],
)
def test_what_keeps_a_folder_from_being_described_is_named(
    tmp_path: Path, change: dict[str, object], code: str, summary: str
) -> None:
    """An architecture by its name, a missing figure by its key, both at the config."""
    folder = write_checkpoint(tmp_path / "ck", {**QWEN_DENSE, **change}, qwen_dense())
    found, faults = describe_checkpoint(folder, id_="a/b", shown="ck")
    assert found is None
    assert [(each.code, each.summary) for each in faults] == [(code, summary)]
    assert faults[0].primary is not None
    assert faults[0].primary.span.file == "ck/config.json"


def test_tensors_that_the_config_does_not_bear_out_are_told(tmp_path: Path) -> None:
    """A config of other shapes, and tensors of unknown roles, are warned about; the model is described."""
    extra: Shapes = {"model.layers.1.flux.weight": ("BF16", (8, 8))}
    config = {**QWEN_DENSE, "intermediate_size": 64}
    folder = write_checkpoint(tmp_path / "ck", config, qwen_dense() | extra)
    found, faults = describe_checkpoint(folder, id_="a/b")
    assert found is not None
    assert [(each.code, each.is_error) for each in faults] == [
        ("model-unknown", False),
        ("checkpoint-invalid", False),
    ]


@pytest.mark.parametrize(
    ("change", "summary"),
    [
        (
            {"hidden_size": 128},
            "`hidden_size` is 128, and `model.embed_tokens.weight` has 64 columns",
        ),
        ({"num_hidden_layers": 4}, "`num_hidden_layers` is 4, and the tensors are of 3 layers"),
        ({"num_hidden_layers": 2}, "`num_hidden_layers` is 2, and the tensors are of 3 layers"),
        (
            {"num_key_value_heads": 4},
            (
                "`num_key_value_heads` is 4, of 16 each, and `model.layers.N.self_attn.k_proj.weight` has 32 rows: 2"
                " heads"
            ),
        ),
        (
            {"head_dim": 24},
            "`num_key_value_heads` is 2, of 24 each, and `model.layers.N.self_attn.k_proj.weight` has 32 rows",
        ),
        (
            {"num_key_value_heads": 3},
            (
                "`num_attention_heads` and `num_key_value_heads` do not fit: 8 heads do not divide over 3 KV heads"
            ),
        ),
    ],
)
def test_a_config_that_its_tensors_belie_is_refused(
    tmp_path: Path, change: dict[str, object], summary: str
) -> None:
    """The key is named with both figures, in the file that it stands in."""
    folder = write_checkpoint(tmp_path / "ck", {**QWEN_DENSE, **change}, qwen_dense())
    found, faults = describe_checkpoint(folder, id_="a/b", shown="ck")
    assert found is None
    assert [(each.code, each.summary) for each in faults] == [("checkpoint-invalid", summary)]
    assert faults[0].is_error
    assert faults[0].primary is not None
    assert faults[0].primary.span.file == "ck/config.json"


def test_modules_that_a_layer_lacks_are_told_in_order(tmp_path: Path) -> None:
    """The same files give the same lines, however names happen to be hashed."""
    lost = ("mlp.down_proj", "mlp.up_proj", "self_attn.k_proj", "self_attn.q_proj")
    names = [f"model.layers.1.{each}.weight" for each in lost]
    left = {name: form for name, form in qwen_dense().items() if name not in names}
    _, faults = describe_checkpoint(write_checkpoint(tmp_path / "ck", QWEN_DENSE, left), id_="a/b")
    assert [each.summary for each in faults] == [
        f"layer 1 has no `model.layers.N.{each}`, and 2 layers like it have one" for each in lost
    ]


def test_a_vocabulary_that_the_tensors_do_not_have_is_refused(tmp_path: Path) -> None:
    """Each end has a row for each token; a head that has none is told beside an embedding that has."""
    config = {**QWEN_DENSE, "vocab_size": 1280}
    folder = write_checkpoint(tmp_path / "ck", config, qwen_dense())
    found, faults = describe_checkpoint(folder, id_="a/b")
    assert found is None
    assert [each.summary for each in faults] == [
        "`vocab_size` is 1,280, and `model.embed_tokens.weight` has 640 rows",
        "`vocab_size` is 1,280, and `lm_head.weight` has 640 rows",
    ]


@pytest.mark.parametrize(
    ("change", "prefix", "refused"),
    [
        ({}, "model.", True),
        ({"tie_word_embeddings": True}, "model.", False),
        ({"tie_word_embeddings": None}, "model.", False),
        ({}, "", False),  # what embeds texts is saved without a head
    ],
)
def test_a_head_that_is_not_there_is_told(
    tmp_path: Path, change: dict[str, object], prefix: str, *, refused: bool
) -> None:
    """Where the config says that the embedding does not stand for it, and the names are of a model that speaks."""
    tensors = {
        name.replace("model.", prefix, 1): form
        for name, form in qwen_dense().items()
        if name != "lm_head.weight"
    }
    folder = write_checkpoint(tmp_path / "ck", {**QWEN_DENSE, **change}, tensors)
    found, faults = describe_checkpoint(folder, id_="a/b")
    assert (found is None) is refused
    said = "`tie_word_embeddings` is false, and there is no head, such as `lm_head.weight`"
    assert (said in {each.summary for each in faults if each.is_error}) is refused


def test_latents_that_the_config_does_not_have_are_refused(tmp_path: Path) -> None:
    """Latent attention has no KV heads to compare: what a token keeps is."""
    changed = {"kv_lora_rank": 256, "num_hidden_layers": 2}
    text = {**KIMI["text_config"], **changed}  # type: ignore[dict-item]
    folder = write_checkpoint(
        tmp_path / "ck", {**KIMI, "text_config": text}, kimi(layers=2, experts=384)
    )
    found, faults = describe_checkpoint(folder, id_="a/b")
    assert found is None
    (fault,) = faults
    assert fault.summary.startswith("`kv_lora_rank` and `qk_rope_head_dim` come to 320, and `")
    assert fault.summary.endswith(".self_attn.kv_a_proj_with_mqa.weight` has 576 rows")


def test_a_draft_of_the_model_is_no_layer_too_many(tmp_path: Path) -> None:
    """Layers beyond the model's own are its draft's where the config says so, or a tensor of theirs does."""
    own = {name: form for name, form in qwen_dense().items() if ".layers.2." not in name}
    beyond = {name: form for name, form in qwen_dense().items() if ".layers.2." in name}
    named: Shapes = {"model.layers.2.eh_proj.weight": ("BF16", (64, 128))}
    config = {**QWEN_DENSE, "num_hidden_layers": 2}
    told = {**config, "num_nextn_predict_layers": 1}
    for number, (said, tensors) in enumerate(
        ((config, own | beyond | named), (told, own | beyond))
    ):
        folder = write_checkpoint(tmp_path / f"ck{number}", said, tensors)
        found, _ = describe_checkpoint(folder, id_="a/b")
        assert found is not None


def test_what_modelopt_keeps_beside_the_config_is_read(folder: Path) -> None:
    """Older exports say in a file of their own how they quantized, and which KV format they want."""
    stored = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    text = json.dumps({"producer": {}, "quantization": stored})
    (folder / "hf_quant_config.json").write_text(text, encoding="utf-8")
    model = described(sound(folder))
    assert model.quantization is not None
    assert model.quantization.kv_cache == "fp8_e4m3"


@pytest.mark.slow
def test_two_hundred_thousand_tensors_take_about_a_second(tmp_path: Path) -> None:
    """Kimi K2.6 in 200 files: 208,205 tensors, 595.15 GB, read in a few seconds even on a busy machine."""
    folder = write_checkpoint(tmp_path / "ck", KIMI, kimi(), files=200)
    start = time.process_time()
    checkpoint = sound(folder)
    assert time.process_time() - start < 5
    assert checkpoint.tensors == 208_205
    assert checkpoint.bytes == pytest.approx(595.15e9, rel=1e-4)
    exact = exact_gib(
        place_checkpoint(
            checkpoint, described(checkpoint), split=Split(tensor=8, rotary_halves=True)
        ).tensors
    )
    assert exact == pytest.approx(71.90, abs=0.005)


@pytest.mark.parametrize("name", ["config.json", INDEX, FIRST])
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a large file"])
def test_what_is_no_file_of_a_checkpoint_is_not_read(folder: Path, name: str, kind: str) -> None:
    """A pipe, a device, and a table of gigabytes are named; they would be read without end."""
    path = folder / name
    path.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(2**32)
    assert any(place.endswith(name) for place, _ in faults_of(folder))


def test_scales_of_an_expert_s_outputs_are_placed_whole() -> None:
    """Of GLM 4.7 in FP8 each of eight ranks has the scales of all 5,120 outputs, in 32 bits, and an eighth of the inner ones."""
    model, _ = open_catalog().model("zai-org/GLM-4.7-FP8")
    assert model is not None
    name = "model.layers.N.mlp.experts.N"
    kinds = {
        Kind(name=f"{name}.down_proj.weight_scale", bits=16, shape=(5120, 1), layer=5): 160,
        Kind(name=f"{name}.up_proj.weight_scale", bits=16, shape=(1536, 1), layer=5): 160,
    }
    checkpoint = Checkpoint(config={}, kinds=kinds, tensors=320, bytes=0)
    placed = place_checkpoint(checkpoint, model, split=Split(tensor=8))
    sizes = {each.role: each.bytes for each in placed.tensors if each.role.startswith("routed")}
    assert sizes == {
        "routed experts, down": 160 * 5120 * 4,
        "routed experts, gate and up": 160 * 1536 * 4 / 8,
    }
