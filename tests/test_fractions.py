"""The fraction a server picks by itself, against the values that the releases' own code gives.

The values were computed by calling each release's function with the GPU's total memory (MiB as `nvidia-smi` prints it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import pytest

from compiler.catalog import open_catalog
from compiler.catalog.shelves import Kind
from compiler.engines.sglang.fractions import tower_as_read, vision_factor
from compiler.engines.sglang.launch import Launch, launch
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.settings import settings_of
from compiler.facts import Gpu, Model
from compiler.profile import (
    Engine,
    Gpus,
    Memory,
    Name,
    Parallel,
    Profile,
    Serve,
    Speculative,
    Text,
    Version,
)
from compiler.profile import Model as ModelSettings
from servers import sized
from wheels import fetch_wheel, unpack


CATALOG = open_catalog()
RANKS = (1, 2, 4, 8)
TEXT, LATENT, IMAGES = "Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-V3", "moonshotai/Kimi-K2.6"


def gpu_of(id_: str) -> Gpu:
    gpu, _ = CATALOG.gpu(id_)
    assert gpu is not None
    return gpu


def model_of(id_: str) -> Model:
    model, _ = CATALOG.model(id_)
    assert model is not None
    return model


def launched(
    version: str,
    gpu: str,
    *,
    model: str = TEXT,
    ranks: int = 1,
    algorithm: str | None = None,
    flags: Mapping[str, bool] = MappingProxyType({}),
    env: Mapping[str, str] = MappingProxyType({}),
    fraction: float | Literal["auto"] = 0.5,
) -> Launch:
    """What a server of one release starts with, everything at its default."""
    rule = counting(version)
    assert rule is not None
    profile = Profile(
        model=ModelSettings(id=Text(model)),
        gpus=Gpus(kind=Text(gpu), count=ranks),
        engine=Engine(name=Name("sglang"), version=Version(version)),
        parallel=Parallel(tensor=ranks),
        serve=Serve(context=32_768),
        memory=Memory(fraction=fraction),
        flags=flags,
        env={name: Text(value) for name, value in env.items()},
        speculative=Speculative(algorithm=algorithm) if algorithm else None,  # type: ignore[arg-type]  # as a test has it
    )
    release, _ = CATALOG.release("sglang", version)
    settings = settings_of(profile, release)
    return launch(settings, rule=rule, gpu=gpu_of(gpu), model=model_of(model), draft=None)


@pytest.mark.parametrize(
    ("version", "gpu", "values"),
    [
        ("0.4.1", "h200", (0.88, 0.87, 0.85, 0.81)),
        ("0.4.5", "h200", (0.88, 0.87, 0.85, 0.81)),
        ("0.4.5.post3", "h100", (0.88, 0.87, 0.85, 0.81)),
        ("0.4.6.post1", "h200", (0.907, 0.907, 0.907, 0.907)),
        ("0.4.6.post2", "h200", (0.872, 0.872, 0.872, 0.872)),
        ("0.4.6", "h100", (0.88, 0.87, 0.85, 0.81)),
        ("0.4.9", "rtx-pro-6000-blackwell", (0.869, 0.864, 0.854, 0.833)),
        ("0.4.9", "h100", (0.874, 0.868, 0.856, 0.831)),
        ("0.4.9", "rtx-4090", (0.879, 0.875, 0.867, 0.850)),
        ("0.5.3", "rtx-pro-6000-blackwell", (0.863, 0.861, 0.854, 0.848)),
        ("0.5.3", "h100", (0.835, 0.834, 0.824, 0.818)),
        ("0.5.3", "rtx-4090", (0.848, 0.842, 0.827, 0.806)),
        ("0.5.9", "h200", (0.907, 0.906, 0.900, 0.897)),
        ("0.5.9", "rtx-5090", (0.885, 0.881, 0.869, 0.854)),
        ("0.5.11", "rtx-pro-6000-blackwell", (0.858, 0.857, 0.849, 0.844)),
        ("0.5.11", "h100", (0.830, 0.828, 0.819, 0.812)),
        ("0.5.11", "h200", (0.903, 0.902, 0.897, 0.893)),
        ("0.5.11", "b200", (0.854, 0.853, 0.852, 0.849)),
        ("0.5.18", "rtx-5090", (0.874, 0.870, 0.859, 0.843)),
        ("0.5.20", "rtx-5090", (0.777, 0.773, 0.758, 0.742)),
    ],
)
def test_the_automatic_fraction(version: str, gpu: str, values: tuple[float, ...]) -> None:
    """Each release's formula, over tensor parallel sizes 1, 2, 4, and 8."""
    found = tuple(launched(version, gpu, ranks=ranks).automatic_fraction for ranks in RANKS)
    assert found == pytest.approx(values, abs=0.0011)


@pytest.mark.parametrize("version", ["0.5.3", "0.5.11", "0.5.20", "0.5.23"])
def test_a_large_card_keeps_ten_gib(version: str) -> None:
    """However small the chunk and the graphs: 97,887 MiB less 10,240, in every release from 0.5.3 on."""
    words = "--model-path Qwen/Qwen3-8B --chunked-prefill-size 2048 --max-running-requests 8"
    memory = sized(words, version=version, gpu="rtx-pro-6000-blackwell", count=1)
    assert memory.fraction == pytest.approx(0.895)


@pytest.mark.parametrize(
    ("version", "gpu", "ranks", "value"),
    [("0.5.11", "h200", 1, 0.875), ("0.5.11", "h200", 8, 0.865), ("0.5.9", "h100", 8, 0.793)],
)
def test_speculation_lowers_it(version: str, gpu: str, ranks: int, value: float) -> None:
    """Up to 0.5.13 the engine keeps 2 or 4 GiB for a draft and its graphs."""
    found = launched(version, gpu, ranks=ranks, algorithm="eagle").automatic_fraction
    assert found == pytest.approx(value, abs=0.0005)


def test_from_0_5_14_a_draft_is_measured() -> None:
    """The draft's weights are loaded before the pool is sized, and nothing is kept for them."""
    plain, drafting = (launched("0.5.15", "h200", algorithm=each) for each in (None, "eagle"))
    assert plain.automatic_fraction == drafting.automatic_fraction


@pytest.mark.parametrize(
    ("gpu", "value"), [("rtx-pro-6000-blackwell", 0.833), ("h100", 0.799), ("h200", 0.886)]
)
def test_latent_attention_keeps_more_for_graphs(gpu: str, value: float) -> None:
    """MLA at eight ranks, from 0.5.11 on."""
    found = launched("0.5.11", gpu, model=LATENT, ranks=8).automatic_fraction
    assert found == pytest.approx(value, abs=0.0005)


def test_a_vision_tower_scales_it() -> None:
    """Kimi K2.6 with DFlash on eight 96 GB cards: 0.806 times 0.90974, which leaves no room for the weights."""
    found = launched(
        "0.5.11", "rtx-pro-6000-blackwell", model=IMAGES, ranks=8, algorithm="dflash"
    ).automatic_fraction
    assert found == pytest.approx(0.7332, abs=0.0001)


@pytest.mark.parametrize(
    ("version", "model", "factor"),
    [
        ("0.5.11", "google/gemma-3n-E4B-it", 0.95 * 0.8),
        ("0.5.11", "google/gemma-3n-E2B-it", 0.95 * 0.8),
        ("0.5.11", "deepseek-ai/DeepSeek-OCR", 0.95),
        ("0.5.18", "google/gemma-4-12B-it", 0.95),
        ("0.5.15", "XiaomiMiMo/MiMo-V2.5", 0.95),  # its vision config is a plain dictionary
        ("0.5.11", "google/gemma-3-4b-it", 1.0),  # takes no images unless asked to
    ],
)
def test_what_sees_without_a_tower_of_layers_scales_it(
    version: str, model: str, factor: float
) -> None:
    """The defaults of `adjust_mem_fraction_for_vlm` stand where a vision config lacks layers or a width."""
    # Images switch off the graphs of prefill, which would keep memory of their own.
    flags = {"disable-piecewise-cuda-graph": True}
    plain = launched(version, "h100", model=model, flags={**flags, "language-only": True})
    found = launched(version, "h100", model=model, flags=flags)
    assert found.automatic_fraction == pytest.approx(plain.automatic_fraction * factor, abs=1e-9)
    assert found.multimodal is (factor < 1)


def test_a_tower_by_another_name_scales_nothing() -> None:
    """Nemotron Nano Omni takes images, and its config has no `vision_config` once it is read."""
    model = model_of("nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4")
    assert tower_as_read(model) == (32, 1280)
    assert vision_factor(model) == 1.0


_LIST = "multimodal_model_archs"


def multimodal(version: str, folder: Path) -> Iterator[str]:
    """The architectures that a release takes for multimodal; those of MiMo V2 are so by their config alone."""
    unpack(fetch_wheel(version, folder), folder)
    source = (folder / "sglang/srt/configs/model_config.py").read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
            continue
        if any(isinstance(each, ast.Name) and each.id == _LIST for each in node.targets):
            yield from (
                str(each.value) for each in node.value.elts if isinstance(each, ast.Constant)
            )


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
def test_whatever_the_engine_takes_for_multimodal_is_so_here(version: str, tmp_path: Path) -> None:
    """No model of the catalogue is of such an architecture, and passes for one that sees nothing."""
    names = set(multimodal(version, tmp_path))
    models = [model_of(each) for each in CATALOG.ids(Kind.MODEL)]
    seeing = [each for each in models if each.architecture in names]
    assert seeing
    assert [each.id for each in seeing if tower_as_read(each) is None] == []


def test_aiter_scales_a_given_fraction_too() -> None:
    """With a context above 8,192 tokens AMD's backend gets 0.85 of what is asked for."""
    assert launched("0.5.17", "mi355x").fraction_scale == 0.85
    assert launched("0.5.17", "h200").fraction_scale == 1.0


def test_a_variable_spares_a_fraction_that_is_given() -> None:
    """From 0.5.19 on aiter leaves it alone then; the automatic one is lessened all the same."""
    spared = {"SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION": "1"}
    assert launched("0.5.19", "mi355x", env=spared).fraction_scale == 1.0
    assert launched("0.5.18", "mi355x", env=spared).fraction_scale == 0.85
    assert launched("0.5.19", "mi355x", env=spared, fraction="auto").fraction_scale == 0.85


@pytest.mark.parametrize(
    ("version", "model", "ranks", "value"),
    [
        ("0.5.18", TEXT, 1, 0.841),
        ("0.5.18", LATENT, 8, 0.831),
        ("0.5.13", TEXT, 1, 0.830),
    ],
)
def test_one_switch_turns_all_graphs_off(
    version: str, model: str, ranks: int, value: float
) -> None:
    """From 0.5.14 on nothing is kept for graphs of prefill steps either; the first two are what public logs of 0.5.18 print."""
    off = {"disable-cuda-graph": True}
    found = launched(version, "h100", model=model, ranks=ranks, flags=off)
    assert found.automatic_fraction == pytest.approx(value, abs=0.0005)
    assert (found.prefill_graph_tokens == 0) == (version != "0.5.13")
