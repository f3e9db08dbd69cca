"""A second engine in the table: each verb works for it, or says plainly what is not there."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import cast

import pytest

from checkouts import Checkout
from compiler.engines.engine import Engine
from compiler.engines.known import ENGINES
from other_engine import TABLE, OtherEngine


PROFILE = """\
schema = 1

[model]
id = "Qwen/Qwen3-32B"
path = "/srv/models/qwen"

[engine]
name = "vllm"
version = "0.9.0"
python = "/opt/vllm/bin/python"

[gpus]
kind = "h100"
count = 1

[parallel]
tensor = 1

[serve]
host = "127.0.0.1"
port = 8000
context = 32768
concurrency = 1

[memory]
fraction = 0.85

[targets.ct1]
kind = "systemd"
user = "vllm"
"""
GPU = """\
id = "x-1"
names = ["ACME X-1"]
total_mib = 81_559
compute_capability = "9.0"
multiprocessors = 132
interconnect = "nvlink"

[sources]
"*" = "https://example.org/1"
"""
LAUNCH = ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen3-32B")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A tree with one profile of it; the table is the one object that every room looks it up in."""
    monkeypatch.setitem(cast("MutableMapping[str, Engine]", ENGINES), "vllm", OtherEngine())
    made = Checkout(tmp_path)
    (tmp_path / "poolproof.toml").write_text("", "utf-8")
    table = tmp_path / "profiles/catalog/engines/vllm/0.9.0.json"
    table.parent.mkdir(parents=True)
    table.write_text(TABLE, "utf-8")
    made.write("qwen", PROFILE)
    return made


def test_it_is_checked(tree: Checkout) -> None:
    """Its flags are checked; that its memory is not known is said by name."""
    done = tree.run("check")
    assert done.code == 0, done.err
    assert "it is not known how vllm 0.9.0 counts memory" in done.err
    tree.write("qwen", PROFILE.replace("[memory]", "[flags]\nmax-modle-len = 5\n\n[memory]"))
    misspelled = tree.run("check")
    assert misspelled.code == 1
    assert "`--max-model-len`" in misspelled.err


def test_its_unit_waits_for_no_probe(tree: Checkout) -> None:
    """Without a probe the unit runs none and lists no signal of one, and the review says what that comes to."""
    tree.compile()
    unit = (tree.out / "qwen/ct1/qwen3-32b.service").read_text("utf-8")
    assert "--max-model-len 32768" in unit
    assert not re.search("ExecStartPost|SIGPWR|[Pp]robe", unit)
    assert not (tree.out / "qwen/ct1/ready.py").exists()
    review = (tree.out / "qwen/PLAN.md").read_text("utf-8")
    assert "nobody wrote a readiness probe for vllm" in review
    assert "not known; nothing compares it" in review
    assert tree.run("compile", "--check").code == 0


def test_its_lines_have_their_reasons(tree: Checkout) -> None:
    """A line of its unit is traced to the setting that wrote it."""
    tree.compile()
    unit = (tree.out / "qwen/ct1/qwen3-32b.service").read_text("utf-8").splitlines()
    number = unit.index("  --max-model-len 32768") + 1
    done = tree.run("why", f"out/qwen/ct1/qwen3-32b.service:{number}")
    assert done.code == 0, done.err
    assert "serve.context" in done.out


def test_what_is_not_known_is_not_fitted(tree: Checkout) -> None:
    """A promise without a memory plan cannot be fitted."""
    done = tree.run("fit", "qwen")
    assert done.code == 1
    assert "`qwen` cannot be fitted: its memory is not known" in done.err


def test_two_of_its_trees_are_compared(tree: Checkout, tmp_path: Path) -> None:
    """A changed setting is a changed flag."""
    old = tree.copy(tmp_path / "old")
    tree.write("qwen", PROFILE.replace("32768", "16384"))
    done = tree.run("diff", str(old.root))
    assert done.code == 0, done.err
    assert "serve.context  32_768 -> 16_384" in done.out
    assert "restart command line" in done.out


def test_a_command_of_it_is_not_judged(tree: Checkout) -> None:
    """`predict` and `adopt` say that launches of it cannot be read: `reader-missing`."""
    asked = ("--gpu", "h100", "--engine", "vllm@0.9.0", "--", *LAUNCH)
    for words in (("predict", *asked), ("adopt", *asked), ("adopt", "--", *LAUNCH)):
        done = tree.run(*words)
        assert done.code == 1
        assert "error[reader-missing]: the launches of `vllm` cannot be read" in done.err


def test_a_release_that_nobody_described(tree: Checkout) -> None:
    """Where the release is not known either, that comes first: no `reader-missing`."""
    for verb in ("predict", "adopt"):
        done = tree.run(verb, "--gpu", "h100", "--engine", "vllm@0.8.0", "--", *LAUNCH)
        assert done.code == 1
        assert "error[release-unknown]: nobody described vllm 0.8.0" in done.err
        assert "reader-missing" not in done.err


def test_a_text_without_a_launch_names_what_is_known(tree: Checkout) -> None:
    """What starts an engine is told by the engines."""
    done = tree.run("adopt", "--", "python3", "serve.py")
    assert done.code == 1
    assert f"`sglang serve ...`, and `{OtherEngine().launches[0]}`" in " ".join(done.err.split())


def test_a_new_tree_for_it(tree: Checkout) -> None:
    """`init` writes its name, its interpreter, and its account, and no flag of another engine."""
    model = ("--model", "Qwen/Qwen3-32B", "--gpu", "h100", "--count", "1", "--host", "ct1")
    done = tree.run("init", "new", "--engine", "vllm@0.9.0", *model)
    assert done.code == 0, done.err
    text = "".join(each.read_text("utf-8") for each in (tree.root / "new/profiles").rglob("*.toml"))
    assert all(each in text for each in ('"vllm"', '"/opt/vllm/bin/python"', 'version = "0.9.0"'))
    assert "enable-metrics" not in text
    assert "sglang" not in text.lower()


def test_a_gpu_without_memory(tree: Checkout) -> None:
    """Where its log tells nothing of free memory, no line of another engine's is named."""
    entry = tree.root / "profiles/catalog/gpus/x-1.toml"
    entry.parent.mkdir()
    entry.write_text(GPU, "utf-8")
    tree.write("qwen", PROFILE.replace('"h100"', '"x-1"'))
    done = tree.run("check")
    assert "give its entry `free_before_load_gib`\n" in done.err


def test_what_a_server_of_it_says(tree: Checkout) -> None:
    """`measure` says that it cannot be observed."""
    done = tree.run("measure", "--log", "poolproof.toml", "--set", "engine=vllm")
    assert done.code == 1
    assert "nobody described what a server of `vllm` says of itself" in done.err
