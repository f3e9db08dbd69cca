"""Attention in groups of GPUs, which `fit` and `check` offer where every GPU keeps a copy of the same latents."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import Checkout


PROFILE = """schema = 1
[model]
id = "{model}"
path = "/srv/models/it"
[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"
[gpus]
kind = "h200"
count = {gpus}
[parallel]
tensor = {tensor}
data = {data}
[serve]
context = 131_072
concurrency = 16
max_running_requests = 32
[memory]
fraction = 0.85
[targets.a]
kind = "systemd"
user = "sglang"
"""
SPREAD = "parallel.data = 8 and parallel.dp_attention = true"


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """An empty tree."""
    (tmp_path / "profiles").mkdir()
    return Checkout(tmp_path)


def write(
    tree: Checkout, *, model: str = "deepseek-ai/DeepSeek-R1", tensor: int = 8, data: int = 1
) -> None:
    """A promise of sixteen long requests, which a pool of copies does not hold."""
    gpus = tensor * data
    tree.write("a", PROFILE.format(model=model, tensor=tensor, data=data, gpus=gpus))


def test_groups_keep_the_whole_promise(tree: Checkout) -> None:
    """Where only a part of the promise is left otherwise, groups come first, `check` names them, and once written they pass."""
    write(tree)
    done = tree.run("fit", "a")
    assert f"\n1  {SPREAD}\n   pass; " in done.out
    assert (
        "costs: the attention of a request runs on 1 GPU, not 8: by itself it is slower" in done.out
    )
    assert SPREAD in tree.run("check", "a").err
    assert tree.run("fit", "a", "--write").code == 0
    text = tree.profile("a").read_text("utf-8")
    assert ("data = 8\n" in text, "dp_attention = true\n" in text) == (True, True)
    assert tree.run("check", "a").code == 0


def test_no_more_groups_than_the_promise_needs(tree: Checkout) -> None:
    """The fewest groups that are enough: a request by itself is the slower, the fewer GPUs it runs on."""
    write(tree)
    text = tree.profile("a").read_text("utf-8")
    tree.write("a", text.replace("concurrency = 16", "concurrency = 6"))
    offered = [each["settings"] for each in tree.run("fit", "a", "--json").json["changes"]]
    (groups,) = [each for each in offered if each[0]["setting"] == "parallel.data"]
    assert [each["value"] for each in groups] == ["2", "true"]


def test_heads_are_shared_out_already(tree: Checkout) -> None:
    """A model whose keys and values have heads keeps no copies, so groups are not even tried."""
    write(tree, model="Qwen/Qwen3-235B-A22B", tensor=4)
    assert "dp_attention" not in tree.run("fit", "a").out


def test_replicas_stay_as_they_are(tree: Checkout) -> None:
    """What is copied already is not split up in another way."""
    write(tree, data=2)
    done = tree.run("fit", "a").out
    assert "parallel.dp_attention: there are several replicas already\n" in done
