"""A name or a path that is too long for a file, wherever a person can type one: an answer, and never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import STORY, Checkout, compiled_checkout, run
from repositories import repository


NAME = "x" * 300
PATH = "x/" * 3000 + "x"
LAUNCH = ("--", "python", "-m", "sglang.launch_server", "--model-path", "x/y")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree in a repository of one commit; not to be changed."""
    return repository(compiled_checkout(tmp_path_factory.mktemp("once") / "tree"))


CASES = [
    ("adopt", "LONG"),
    ("adopt", "LONG", "--bogus"),
    ("affected", "LONG"),
    ("affected", "LONG.toml"),
    ("affected", "./LONG"),
    ("affected", "profiles/LONG/"),
    ("affected", "compiler/catalog/data/gpus/LONG.toml"),
    ("catalog", "add-engine", "LONG"),
    ("catalog", "add-model", "LONG", "--id", "a/b"),
    ("catalog", "add-model", "LONG/config.json", "--id", "a/b"),
    ("check", "LONG"),
    ("diff", "LONG"),
    ("diff", "HEAD", "LONG"),
    ("diff", "..LONG"),
    ("fmt", "LONG.toml"),
    ("predict", "--gpu", "h100", "--boot", "LONG", *LAUNCH),
    ("predict", "--gpu", "h100", "--checkpoint", "LONG", *LAUNCH),
    ("predict", "--gpu", "h100", "--model-config", "LONG", *LAUNCH),
    ("report", "-o", "LONG"),
    ("show", "LONG"),
    ("switch", "LONG"),
    ("verify", "--log", "LONG", "--profile", STORY),
    ("why", "out/LONG:3"),
]


@pytest.mark.parametrize("long", [NAME, PATH], ids=["name", "path"])
@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_a_name_that_is_too_long_is_answered(
    once: Checkout, words: tuple[str, ...], long: str
) -> None:
    """No verb takes what the system says of such a name for a fault of its own; the exit is a documented one."""
    done = once.run(*(each.replace("LONG", long) for each in words))
    assert done.code in (1, 2, 5), done.err[-500:]
    assert done.err


INIT = ("--model", "Qwen/Qwen3-8B", "--gpu", "h100", "--count", "1", "--host", "a")


@pytest.mark.parametrize("long", [NAME, PATH], ids=["name", "path"])
def test_init_in_a_folder_whose_name_is_too_long(tmp_path: Path, long: str) -> None:
    """Nothing is written, and the reason is the system's."""
    done = run("init", long, *INIT, here=tmp_path)
    assert (done.code, list(tmp_path.iterdir())) == (5, [])
    assert "cannot be written: file name too long" in done.err.lower()
