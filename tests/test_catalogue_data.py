"""What the shipped catalogue says: its files load, its figures have sources, and figures derived twice agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attrs import evolve

from benchmarks.publish import files
from compiler.catalog import Catalog, FolderReader, Kind, open_catalog
from compiler.diagnostics import Diagnostic
from compiler.facts import Action, Build, Draft, Flag, Gpu, Mla, Model, Quantization, Vision
from compiler.language.syntax import parse_toml
from compiler.source import Source
from rows import folded


ROOT = Path(__file__).parent.parent
DATA = ROOT / "compiler" / "catalog" / "data"
BOOTS = sorted(DATA.glob("boots/*/*.toml"))
TOML_FILES = sorted(
    {*DATA.rglob("*.toml")}
    - {*BOOTS, *DATA.rglob("moves.toml"), DATA / "variants.toml", DATA / "custom_code.toml"}
)
DEPLOYED_MODEL = "moonshotai/Kimi-K2.6"
DEPLOYED_DRAFT = "z-lab/Kimi-K2.6-DFlash"
TABLES = sorted(DATA.glob("engines/*/*.json"))

# A figure comes from the web, from a file of this repository, from the shapes, or from a log that can be told apart.
SOURCE = re.compile(r"https://|README|profiles/boots/|benchmarks/data/|from the shapes")


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    """The shipped catalogue, and the recorded boots of this repository."""
    return open_catalog(FolderReader(ROOT / "profiles"))


def known_model(catalogue: Catalog, id_: str) -> Model:
    """A model the catalogue has."""
    model, faults = catalogue.model(id_)
    assert model is not None, faults
    return model


def known_draft(catalogue: Catalog, id_: str) -> Draft:
    """A draft the catalogue has."""
    draft, faults = catalogue.draft(id_)
    assert draft is not None, faults
    return draft


def look_up(
    catalogue: Catalog, folder: Path, id_: str
) -> tuple[Gpu | Model | Draft | Build | None, tuple[Diagnostic, ...]]:
    """The entry of an id in a folder of the catalogue, and what is wrong with it."""
    if folder.name == "builds":
        release, faults = catalogue.release(folder.parent.name, "0.5.11", id_)
        return (release.build if release else None), faults
    lookups = {"gpus": catalogue.gpu, "models": catalogue.model, "drafts": catalogue.draft}
    return lookups[folder.name](id_)


def flags_of(catalogue: Catalog, version: str, build: str | None = None) -> dict[str, Flag]:
    """The flags of an SGLang release the catalogue has."""
    release, faults = catalogue.release("sglang", version, build)
    assert release is not None, faults
    assert faults == ()
    return dict(release.flags)


@folded("path", TOML_FILES, ids=lambda path: path.stem)
def test_every_entry_loads_without_a_complaint(catalogue: Catalog, path: Path) -> None:
    """Each shipped file is found under the id its name stands for, and nothing is wrong with it."""
    id_ = path.stem.replace("--", "/")
    found, faults = look_up(catalogue, path.parent, id_)
    assert faults == ()
    assert found is not None
    assert found.id == id_
    assert found.shipped


@folded("path", TOML_FILES, ids=lambda path: path.stem)
def test_every_source_says_where_a_figure_is_from(path: Path) -> None:
    """Each source is an address, a derivation, a file of this repository, or a log whose address was not kept."""
    values, _ = parse_toml(Source(path.name, path.read_text(encoding="utf-8")))
    assert values is not None
    for key, source in values["sources"].items():
        assert SOURCE.search(source) or "address was not kept" in source, key


@folded("path", TOML_FILES, ids=lambda path: path.stem)
def test_every_key_has_a_source(path: Path) -> None:
    """A source stands for each key of a file but its id, or one stands for all."""
    values, _ = parse_toml(Source(path.name, path.read_text(encoding="utf-8")))
    assert values is not None
    sources = values["sources"]
    missing = set(values) - {"id", "sources"} - set(sources)
    assert "*" in sources or not missing


@folded("path", BOOTS, ids=lambda path: path.stem)
def test_every_public_boot_loads(catalogue: Catalog, path: Path) -> None:
    """Each shipped boot is found under its model, which the catalogue has like its GPU, and says where it is from."""
    model = path.parent.name.replace("--", "/")
    (boot,) = (each for each in catalogue.public_boots(model) if each.name == f"public/{path.stem}")
    assert boot.shipped
    assert boot.model == model
    assert catalogue.model(model)[0] is not None
    assert catalogue.gpu(boot.gpu)[0] is not None
    assert boot.draft in {None, model} or catalogue.draft(boot.draft or "")[0] is not None
    assert SOURCE.search(boot.source) or "address was not kept" in boot.source
    shown = catalogue.boot_file(boot.name)
    assert shown is not None
    assert shown.data == path.read_bytes()


def test_the_public_boots_are_those_of_the_benchmark(catalogue: Catalog) -> None:
    """`python -m benchmarks.publish` would change nothing, and every folder is that of a model."""
    wanted = files()
    there = {path.relative_to(DATA / "boots").as_posix(): path.read_text("utf-8") for path in BOOTS}
    assert there == wanted
    folders = {path.parent.name.replace("--", "/") for path in BOOTS}
    assert set(catalogue.public_models()) == folders


def test_the_recorded_boot_loads(catalogue: Catalog) -> None:
    """The boot the README tells of is there, and the model, GPU and draft it names are in the catalogue."""
    boots, faults = catalogue.boots()
    assert faults == ()
    boot = next(each for each in boots if each.name == "boots/ct200-0.85")
    assert boot.pool_tokens == 101_134
    assert boot.model in catalogue.ids(Kind.MODEL)
    assert boot.gpu in catalogue.ids(Kind.GPU)
    assert boot.draft in catalogue.ids(Kind.DRAFT)
    assert boot.build in catalogue.builds(boot.engine)


def test_the_recorded_draft_pool_is_what_its_shapes_give(catalogue: Catalog) -> None:
    """K and V of the draft over the boot's tokens, on one rank, come to the two figures its log printed."""
    boots, _ = catalogue.boots()
    boot = next(each for each in boots if each.name == "boots/ct200-0.85")
    draft = known_draft(catalogue, DEPLOYED_DRAFT)
    heads = draft.attention.kv_heads // boot.tensor
    for width, logged in (
        (draft.attention.head_dim, boot.draft_k_gib),
        (draft.attention.v_head_dim, boot.draft_v_gib),
    ):
        gib = boot.pool_tokens * draft.layers * heads * width * draft.dtype_bits / 8 / 2**30
        assert logged == pytest.approx(gib, abs=0.005)


def test_the_catalogue_stays_small() -> None:
    """All files together stay under 600 kB: they are read by people, and installed with the compiler."""
    total = sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file())
    assert 10_000 < total < 600_000


def test_no_entry_names_a_package_registry_or_a_local_path() -> None:
    """Sources are public addresses, none of them a registry's or a path of somebody's machine."""
    forbidden = re.compile(r"pypi\.org|files\.pythonhosted|(?<![\w.])/(?:home|root|tmp|work)/")
    for path in (*TOML_FILES, *BOOTS, *TABLES, *(ROOT / "profiles" / "boots").glob("*.toml")):
        assert not forbidden.search(path.read_text(encoding="utf-8")), path.name


@folded("id_", open_catalog().ids(Kind.GPU))
def test_free_memory_is_a_little_under_all_of_it(catalogue: Catalog, id_: str) -> None:
    """What is free before weights load lies between eight tenths and all of the card's memory: a desktop takes 2 GiB of 10."""
    gpu, _ = catalogue.gpu(id_)
    assert gpu is not None
    if gpu.free_before_load_gib is not None:
        total = gpu.total_mib / 1024
        assert 0.8 * total < gpu.free_before_load_gib.low
        assert gpu.free_before_load_gib.high < total
    if gpu.free_alone_gib is not None and gpu.free_before_load_gib is not None:
        assert gpu.free_alone_gib.high < total
        assert gpu.free_alone_gib.best > 0.99 * gpu.free_before_load_gib.best


def test_the_deployed_gpu_is_what_public_logs_print(catalogue: Catalog) -> None:
    """The card of the README has the figures of public logs: 97,887 MiB, 188 multiprocessors, 94.01 to 94.11 free of several."""
    gpu, _ = catalogue.gpu("rtx-pro-6000-blackwell")
    assert gpu is not None
    assert (gpu.total_mib, gpu.multiprocessors) == (97_887, 188)
    assert gpu.free_before_load_gib is not None
    assert gpu.free_before_load_gib.low < 94.01
    assert gpu.free_before_load_gib.high > 94.11


def draft_parameters(draft: Draft) -> int:
    """Parameters of a DFlash draft: its blocks, their norms, and the projection of the taps with its norm."""
    shape = draft.attention
    queries = 2 * draft.hidden * draft.heads * shape.head_dim
    keys_and_values = draft.hidden * shape.kv_heads * (shape.head_dim + shape.v_head_dim)
    mlp = 3 * draft.hidden * draft.intermediate
    norms = 2 * draft.hidden + 2 * shape.head_dim
    block = queries + keys_and_values + mlp + norms
    return draft.layers * block + draft.taps * draft.hidden**2 + 2 * draft.hidden


def test_the_draft_has_the_parameters_its_files_hold(catalogue: Catalog) -> None:
    """The shapes of the K2.6 draft give its 3.479e9 parameters, 6.48 GiB in bf16."""
    draft = known_draft(catalogue, DEPLOYED_DRAFT)
    assert draft_parameters(draft) == pytest.approx(3.479e9, rel=0.001)
    assert draft_parameters(draft) * draft.dtype_bits / 8 / 2**30 == pytest.approx(6.48, abs=0.005)


def mla_parameters(model: Model, shape: Mla) -> int:
    """Parameters of one attention layer."""
    query = shape.q_lora_rank * model.heads * (shape.qk_nope_head_dim + shape.qk_rope_head_dim)
    down = model.hidden * (shape.q_lora_rank + shape.kv_lora_rank + shape.qk_rope_head_dim)
    up = shape.kv_lora_rank * model.heads * (shape.qk_nope_head_dim + shape.v_head_dim)
    return query + down + up + model.heads * shape.v_head_dim * model.hidden


def vision_parameters(vision: Vision) -> int:
    """Parameters of a vision tower and its projector; a block's biases and norms included."""
    attention = 4 * vision.hidden**2 + 4 * vision.hidden
    mlp = 2 * vision.hidden * vision.intermediate + vision.intermediate + vision.hidden
    block = attention + mlp + 4 * vision.hidden
    return vision.layers * block + vision.projector_parameters + vision.other_parameters


def checkpoint_bytes(model: Model, quantization: Quantization) -> float:
    """Bytes of the weights: quantized routed experts with their scales, everything else at the model's own width."""
    assert isinstance(model.attention, Mla)
    assert model.moe is not None
    assert model.vision is not None
    expert_layers = model.layers - model.dense_layers
    expert = 3 * model.hidden * model.moe.intermediate
    (stored,) = quantization.formats
    scaled = stored.bits + stored.scale_bits / stored.group_size
    routed = expert_layers * model.moe.routed_experts * expert * scaled / 8
    rest = 2 * model.vocabulary * model.hidden + vision_parameters(model.vision)
    rest += model.layers * mla_parameters(model, model.attention)
    rest += model.dense_layers * 3 * model.hidden * model.intermediate
    router = model.hidden * model.moe.routed_experts
    rest += expert_layers * (model.moe.shared_experts * expert + router)
    return routed + rest * model.dtype_bits / 8


@pytest.mark.parametrize("id_", [DEPLOYED_MODEL, "moonshotai/Kimi-K2.5"])
def test_the_shapes_give_the_size_of_the_weight_files(catalogue: Catalog, id_: str) -> None:
    """Experts of 4.5 bits and the rest in bf16 come to the checkpoint's size, much closer than the 2 % asked for."""
    model = known_model(catalogue, id_)
    assert model.quantization is not None
    size = checkpoint_bytes(model, model.quantization)
    assert size == pytest.approx(595.15e9, rel=0.0005)
    assert model.checkpoint_gb is not None
    assert size == pytest.approx(model.checkpoint_gb * 1e9, rel=0.0005)


def test_the_vision_tower_has_the_parameters_its_family_is_known_for(catalogue: Catalog) -> None:
    """MoonViT has about 0.42e9 parameters, and the projector another 0.054e9."""
    vision = known_model(catalogue, DEPLOYED_MODEL).vision
    assert vision is not None
    tower = vision_parameters(evolve(vision, projector_parameters=0))
    assert tower == pytest.approx(0.417e9, rel=0.001)
    assert vision.projector_parameters == pytest.approx(0.054e9, rel=0.01)


def test_both_kimi_models_have_the_same_shapes(catalogue: Catalog) -> None:
    """K2.6 is K2.5 with other weights: the two entries differ in id and sources only."""
    newer, older = (
        known_model(catalogue, each) for each in (DEPLOYED_MODEL, "moonshotai/Kimi-K2.5")
    )
    assert evolve(newer, id=older.id, sources=older.sources) == older


@folded("id_", open_catalog().ids(Kind.DRAFT))
def test_a_draft_fits_the_models_it_is_for(catalogue: Catalog, id_: str) -> None:
    """A draft reads the target's hidden states, so the hidden sizes are the same, and its targets are described."""
    draft = known_draft(catalogue, id_)
    assert draft.targets
    for target in draft.targets:
        model = known_model(catalogue, target)
        assert (draft.target_hidden or draft.hidden) == model.hidden
        assert draft.context <= model.context


@folded("id_", open_catalog().ids(Kind.DRAFT))
def test_a_draft_is_of_one_kind(catalogue: Catalog, id_: str) -> None:
    """A block drafter has a block, and uses the target's head; a head that drafts token by token has its own."""
    draft = known_draft(catalogue, id_)
    blocks = draft.algorithms in {("dflash",), ("dspark",)}
    assert (draft.block_size > 1) == blocks
    assert (draft.head_vocabulary == 0) == blocks
    assert draft.wide_input == (draft.algorithms == ("eagle3",))
    assert draft.heads % draft.attention.kv_heads == 0


def test_the_flag_table_is_the_release_parser(catalogue: Catalog) -> None:
    """The 0.5.11 parser has 374 options, three of them with a `--no-` form."""
    flags = flags_of(catalogue, "0.5.11")
    assert len(flags) == 374
    assert len([each for each in flags.values() if each.action is Action.PAIR]) == 3
    assert [each.name for each in flags.values() if each.required] == ["--model-path"]
    assert len([each for each in flags.values() if each.deprecated]) == 6


@pytest.mark.parametrize(
    ("name", "takes", "default"),
    [
        ("--mem-fraction-static", "float", None),
        ("--context-length", "int-with-suffix", None),
        ("--max-running-requests", "int", None),
        ("--kv-cache-dtype", "str", "auto"),
        ("--trust-remote-code", None, None),
        ("--triton-attention-num-kv-splits", "int", 8),
        ("--limit-mm-data-per-request", "json", None),
    ],
)
def test_flags_take_what_the_parser_takes(
    catalogue: Catalog, name: str, takes: str | None, default: object
) -> None:
    """The kind of value and the default of flags the compiler writes are the parser's own."""
    flag = flags_of(catalogue, "0.5.11")[name]
    assert (flag.takes, flag.default) == (takes, default)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_a_flag_table_is_one_flag_a_line_and_says_no_default_twice(path: Path) -> None:
    """A review shows one changed flag as one changed line, and what is left out is what `Flag` has by itself."""
    text = path.read_text(encoding="utf-8")
    table = json.loads(text)
    lines = [line for line in text.splitlines() if line.startswith('{"name"')]
    assert [json.loads(line.rstrip(",")) for line in lines] == table["flags"]
    for flag in table["flags"]:
        assert not [key for key, value in flag.items() if value is None], flag
        said = {key: value for key, value in flag.items() if key not in {"default", "const"}}
        assert not [key for key, value in said.items() if value in (False, [])], flag


def test_the_tree_build_adds_three_things(catalogue: Catalog) -> None:
    """The build widens the choice of algorithm and adds two flags; everything else is the release's."""
    stock, built = flags_of(catalogue, "0.5.11"), flags_of(catalogue, "0.5.11", "ddtree")
    assert set(built) - set(stock) == {
        "--speculative-ddtree-budget",
        "--speculative-ddtree-topk-cap",
    }
    changed = [name for name, flag in stock.items() if built[name] != flag]
    assert changed == ["--speculative-algorithm"]
    widened, plain = (table["--speculative-algorithm"] for table in (built, stock))
    assert widened == evolve(plain, choices=(*plain.choices, "DDTREE"))
