"""`fit` where adapters have buffers: fewer of them, or smaller ones, each with its price."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import Checkout
from compiler.remedy.raw import raw_levers
from deployments import check_text, only_plan


NUMBER, RANK = "flags.max-loras-per-batch", "flags.max-lora-rank"
FILE = """\
schema = 1

[model]
id = "Qwen/Qwen3-8B"
path = "/srv/models/qwen3-8b"

[gpus]
kind = "l40s"
count = 1

[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"

[serve]
context = 32_768
concurrency = 4
max_running_requests = 8

[memory]
fraction = 0.85

[flags]
max-lora-rank = 128
enable-lora = true
lora-target-modules = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]

[targets.box]
kind = "systemd"
user = "sglang"
"""


def buffers(tree: Checkout, text: str) -> dict[str, tuple[str, int]]:
    """What is offered alone of the buffers, with its value and its number."""
    tree.write("lora", text)
    return {name: told for name, told in tree.offered("lora").items() if name in {NUMBER, RANK}}


def given(**flags: int | str) -> str:
    """The file with more flags."""
    return FILE.replace(
        "[flags]\n",
        "[flags]\n" + "".join(f"{k.replace('_', '-')} = {v}\n" for k, v in flags.items()),
    )


def test_smaller_buffers_are_offered(tree: Checkout) -> None:
    """Fewer in a batch or a lower rank: the least that is enough, with its price, and each passes when written."""
    offered = buffers(tree, FILE)
    assert {setting: value for setting, (value, _) in offered.items()} == {NUMBER: "5", RANK: "64"}
    for setting, costs in ((NUMBER, "requests for others wait"), (RANK, "adapter_config.json")):
        done = tree.run("fit", "lora", "--write", str(offered[setting][1]))
        assert (done.code, costs in " ".join(done.out.split())) == (0, True), done.out
        assert tree.run("check", "lora", "--strict").code == 0
        tree.write("lora", FILE)
    tree.write("lora", given(max_loras_per_batch=6))
    assert tree.run("check", "lora", "--strict").code == 1


@pytest.mark.parametrize(("pinned", "least"), [("true", 2), ("false", 1)])
def test_a_pinned_adapter_keeps_its_buffer(pinned: str, least: int, tree: Checkout) -> None:
    """The engine loads no adapter pinned that leaves no buffer to the others, so that one more than are pinned stays."""
    one = f'{{"lora_name": "b", "lora_path": "/srv/b", "pinned": {pinned}}}'
    text = given(lora_paths=f"['a=/srv/a', '{one}']").replace("rank = 128", "rank = 1024")
    assert NUMBER not in buffers(tree, text)
    assert f"even {NUMBER} = {least}: " in tree.run("fit", "lora").out
    none = given(lora_paths=f"['{one}']", max_loras_per_batch=least)
    assert NUMBER not in buffers(tree, none.replace("rank = 128", "rank = 2048"))
    assert f"a batch may use {least}, and no fewer is possible" in tree.run("fit", "lora").out


def test_a_lower_rank_is_written_by_its_number_only(tree: Checkout) -> None:
    """Where that is the first that helps, `--write` alone is refused: nobody loses an adapter without having looked."""
    text = given(max_loras_per_batch=1).replace("rank = 128", "rank = 2048")
    text = text.replace("[memory]", '[memory]\nkv_dtype = "fp8_e4m3"')
    text = text.replace("concurrency = 4", "concurrency = 8")
    assert buffers(tree, text)[RANK] == ("512", 1)
    refused = tree.run("fit", "lora", "--write")
    assert (refused.code, "change 1 may keep adapters from loading" in refused.err) == (1, True)
    assert "rank = 2048" in tree.profile("lora").read_text("utf-8")


def test_a_lower_fraction_takes_fewer_adapters_with_it(tree: Checkout) -> None:
    """Where the reserve is short and the pool has nothing to spare, both are offered together, and pass when written."""
    short = FILE.replace("fraction = 0.85", "fraction = 0.98")
    text = short.replace("\nconcurrency = 4", "\nconcurrency = 5")
    tree.write("lora", text)
    refused = " ".join(tree.run("check", "lora").err.split())
    assert f"memory.fraction = 0.954 and {NUMBER} = 6" in refused
    done = tree.run("fit", "lora", "--write", "1")
    told = " ".join(done.out.split())
    assert f"memory.fraction = 0.954 and {NUMBER} = 6" in told
    assert "no fewer than at the higher fraction" in told
    assert tree.run("check", "lora", "--strict").code == 0
    tree.write("lora", short)  # here the lower fraction alone is enough
    assert f"and {NUMBER}" not in tree.run("fit", "lora").out


def test_nothing_is_tried_where_no_adapter_is_used(tmp_path: Path) -> None:
    """A plan without them has no such lever, so that a search asks for nothing more."""
    with_adapters = check_text(tmp_path / "profiles", FILE)
    without = check_text(tmp_path / "profiles", FILE.replace("enable-lora = true\n", ""))
    names = [
        [each.setting for each in raw_levers(only_plan(one))] for one in (with_adapters, without)
    ]
    assert names == [[NUMBER, RANK], []]
