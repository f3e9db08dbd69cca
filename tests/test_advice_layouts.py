"""Advice about nodes, GPUs, ports, backends, and builds that is taken as it stands passes, and says no more than applies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compiler.catalog import open_catalog
from compiler.engines.sglang.rules.tree import BUILD, BUILT_ON, NEEDS
from compiler.versions import is_release, release_in
from deployments import check_text, codes_of, help_of


PROFILE = """\
schema = 1
[model]
id = "Qwen/Qwen3-8B"
path = "/srv/models/Qwen3-8B"
[engine]
name = "sglang"
version = "0.5.23"
python = "/opt/sglang/bin/python"
{engine}
[gpus]
kind = "{gpu}"
count = {tensor}
{indices}
[parallel]
tensor = {tensor}
{parallel}
[serve]
context = 8192
[memory]
fraction = 0.8
[targets.a]
kind = "systemd"
user = "sglang"
[flags]
disable-custom-all-reduce = true
{flags}
"""


def profile(
    *,
    gpu: str = "h200",
    tensor: int = 2,
    indices: str = "",
    engine: str = "",
    parallel: str = "",
    flags: str = "",
) -> str:
    """A small model on two large cards."""
    return PROFILE.format(
        gpu=gpu, tensor=tensor, indices=indices, engine=engine, parallel=parallel, flags=flags
    )


def codes(tmp_path: Path, text: str) -> list[str]:
    return codes_of(check_text(tmp_path / "profiles", text))


def advised(tmp_path: Path, text: str, code: str) -> str:
    return help_of(check_text(tmp_path / "profiles", text), code)


@pytest.mark.parametrize(("tensor", "nodes", "rank"), [(2, 3, 0), (4, 3, 0), (4, 3, 2), (8, 6, 1)])
def test_a_number_of_nodes_that_divides(tmp_path: Path, tensor: int, nodes: int, rank: int) -> None:
    """Another number of nodes is advised, which this node is one of, and it passes."""
    flags = 'dist-init-addr = "10.0.0.2:5000"\nnode-rank = {}\nnnodes = {}'
    before = profile(tensor=tensor, flags=flags.format(rank, nodes))
    found = re.search(r"`nnodes = (\d+)`", advised(tmp_path, before, "nodes-not-divisible"))
    assert found is not None
    assert codes(tmp_path, profile(tensor=tensor, flags=flags.format(rank, found[1]))) == []


def test_no_number_of_nodes_is_left(tmp_path: Path) -> None:
    """Where this node is none of any that divide the ranks, the layout is what must change, and no size is made up."""
    flags = 'dist-init-addr = "10.0.0.2:5000"\nnode-rank = 2\nnnodes = 3'
    told = advised(tmp_path, profile(flags=flags), "nodes-not-divisible")
    assert told == "change the layout so that 3 divides `parallel.tensor` x `parallel.pipeline`"


@pytest.mark.parametrize(
    ("indices", "flags", "told", "mended"),
    [
        (
            "[0, 1]",
            "base-gpu-id = 3",
            "leave `base-gpu-id = 3` out",
            "",
        ),
        (
            "[0, 1]",
            "gpu-id-step = 2",
            "leave `gpu-id-step = 2` out",
            "",
        ),
        (
            "[0, 1]",
            "base-gpu-id = 1\ngpu-id-step = 2",
            "leave `base-gpu-id = 1` and `gpu-id-step = 2` out",
            "",
        ),
    ],
)
def test_a_first_gpu_that_is_there(
    tmp_path: Path, indices: str, flags: str, told: str, mended: str
) -> None:
    """No number below 0 is offered, which the server refuses, and what is advised passes."""
    before = profile(indices=f"indices = {indices}", flags=flags)
    assert advised(tmp_path, before, "gpu-ids") == told
    after = profile(indices=f"indices = {indices}", flags=mended)
    assert codes(tmp_path, after) == []


def test_stages_are_spoken_of_where_there_are_some(tmp_path: Path) -> None:
    """Advice about context parallelism does not ask for the one stage that is there."""
    told = advised(tmp_path, profile(flags="attn-cp-size = 3"), "context-parallel")
    assert told == "set sizes that divide 2, the tensor parallel size"


def test_the_build_of_the_tree_is_that_of_the_catalogue(tmp_path: Path) -> None:
    """All that the build needs is advised at once, as its own file has it."""
    release, _ = open_catalog().release("sglang", BUILT_ON, build=BUILD)
    assert release is not None
    assert release.build is not None
    assert release.build.release == BUILT_ON
    assert (release.build.needs["attention_backend"], release.build.needs["page_size"]) == NEEDS
    text = profile(gpu="l40s").replace(
        "[targets.a]", '[speculative]\nalgorithm = "ddtree"\n[targets.a]'
    )
    assert advised(tmp_path, text, "ddtree-needs-build").partition("\n")[0] == (
        'set `engine.build = "ddtree"`, `engine.version = "0.5.11"`, `engine.attention_backend = "triton"`, '
        "and install that build"
    )


def test_same_answers_on_this_card(tmp_path: Path) -> None:
    """Of the backends that give the same answers, those of other vendors and other generations are not offered."""
    text = profile(
        gpu="l40s",
        engine='attention_backend = "torch_native"',
        flags="enable-deterministic-inference = true",
    )
    told = advised(tmp_path, text, "deterministic-backend")
    assert re.findall(r'"(\w+)"', told) == ["fa3", "flashinfer", "triton"]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("0.5.11", "0.5.11"),
        ("0.4.6.post5", "0.4.6.post5"),
        ("0.5.3rc0", "0.5.3rc0"),
        ("0.5.4.dev12+gabc", "0.5.4.dev12+gabc"),
        ("v0.5.11", None),
        (">=0.5.11", None),
        ("0.5", None),
        ("0.5.x", None),
        ("latest", None),
        ("", None),
    ],
)
def test_a_release_is_one_number(text: str, release: str | None) -> None:
    """A branch, a tag with `v`, a series, and a range are no release, whatever number they hold."""
    assert is_release(text) == (release is not None)


@pytest.mark.parametrize(
    ("text", "release"),
    [("v0.5.11", "0.5.11"), (">=0.5.11", "0.5.11"), (">=0.5.9,<0.5.11", None), ("latest", None)],
)
def test_a_release_that_was_meant(text: str, release: str | None) -> None:
    """What holds one release means it; of several none is taken."""
    assert release_in(text) == release
