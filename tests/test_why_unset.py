"""What `why` says of what nobody sets, and of a key that is none: what it means, what the plan has, and what that comes from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkouts import STORY, Checkout, Done, checkout, compiled_checkout
from compiler.catalog import open_catalog
from compiler.checks.table import owned_flags
from compiler.engines.known import ENGINES
from compiler.language.settings import all_settings
from compiler.origins import dotted


BARE = """schema = 1
[model]
id = "{model}"
[gpus]
kind = "{gpu}"
count = {ranks}
[engine]
name = "sglang"
version = "{version}"
python = "/opt/sglang/bin/python"
[parallel]
tensor = {ranks}
{layout}
[serve]
context = "auto"
[memory]
fraction = "auto"
[targets.gpu1]
kind = "systemd"
user = "sglang"
"""
SMALL = {"model": "Qwen/Qwen3-32B", "gpu": "l40s", "ranks": 2, "version": "0.5.23", "layout": ""}
SHARED = {
    "model": "deepseek-ai/DeepSeek-V3",
    "gpu": "h200",
    "ranks": 8,
    "version": "0.5.11",
    "layout": "data = 8\ndp_attention = true",
}
DRAFTED = {
    "model": "moonshotai/Kimi-K2.6",
    "gpu": "rtx-pro-6000-blackwell",
    "ranks": 8,
    "version": "0.5.11",
    "layout": "[speculative]\nalgorithm = 'dflash'\ndraft = 'z-lab/Kimi-K2.6-DFlash'\ndraft_path = '/d'",
}


def bare(folder: Path, **options: object) -> Checkout:
    """A tree with one profile that leaves out all that it may."""
    tree = checkout(folder)
    for each in tree.root.glob("profiles/k2.6-*.toml"):
        each.unlink()
    tree.write("bare", BARE.format(**options))
    return tree


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Qwen3 32B on two cards; not to be changed."""
    return bare(tmp_path_factory.mktemp("small") / "tree", **SMALL)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A compiled tree; not to be changed."""
    return compiled_checkout(tmp_path_factory.mktemp("once") / "tree")


UNSET = [
    dotted(("targets", "gpu1", *each.path[2:]) if each.path[0] == "targets" else each.path)
    for each in all_settings()
    if each.path[-1] != "*" and not (each.required and each.within is None)
]


@pytest.mark.parametrize("key", UNSET)
def test_what_nobody_sets_is_told_with_what_it_means(small: Checkout, key: str) -> None:
    """Every setting that may be left out says what it is, as the reference has it, unless a file sets it."""
    done = small.run("why", "bare", key)
    assert (done.code, done.err) == (0, "")
    assert ("is not set" in done.out) is ("  means: " in done.out)
    assert ("is not set" in done.out) is ("sets it" not in done.out)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("serve.context", ["comes to 40,960 tokens, by the checkpoint", "Qwen3-32B.toml: context"]),
        (
            "memory.fraction",
            ["comes to 0.84, what the engine picks", "parallel.tensor = 2", "l40s.toml: total_mib"],
        ),
        ("memory.kv_dtype", ["comes to the model's own, 16 bits a number", "dtype_bits"]),
        ("memory.chunked_prefill", ["with 4096, the engine's choice", "l40s.toml: total_mib"]),
        ("memory.page_size", ["with 1, the engine's choice", "l40s.toml: compute_capability"]),
        ("memory.cuda_graph_max_batch", ["with 32, the engine's", "parallel.tensor = 2"]),
        ("serve.max_running_requests", ["with 2048, the engine's choice", "l40s.toml: total_mib"]),
        ("engine.attention_backend", ['with "flashinfer"', "compute_capability", "architecture"]),
        ("serve.port", ["the default is 30_000", "means: port to listen on", "given --port 30000"]),
        ("model.path", ["the engine is given --model-path Qwen/Qwen3-32B"]),
        ("targets.gpu1.unit", ['with "qwen3-32b": what of model.id = "Qwen/Qwen3-32B" stands']),
        (
            "targets.gpu1.state_dir",
            ['with "/var/lib/poolproof/qwen3-32b": /var/lib/poolproof, and below it the name'],
        ),
        (
            "targets.gpu1.start_timeout",
            ['with "10min": twice the 66 s to read 66 GB of weight files at 1 GB/s, and 5min for'],
        ),
    ],
)
def test_what_is_worked_out_is_told_with_its_reasons(
    small: Checkout, key: str, told: list[str]
) -> None:
    """Each value that a plan has in the place of one that nobody sets is told, with the figures, settings, or facts behind it."""
    done = small.run("why", "bare", key)
    assert done.code == 0
    assert [each for each in told if each not in done.out] == []


def test_a_unit_is_told_by_the_name_that_it_has(once: Checkout) -> None:
    """Where a profile gives a name for clients, the unit's is that one's."""
    told = once.run("why", STORY, "targets.ct200.unit").out
    assert '"kimi-k2.6": model.served_name = "kimi-k2.6", in small letters' in told


def test_a_start_of_an_unknown_model_is_told_as_the_least(tmp_path: Path) -> None:
    """Nothing is worked out from a checkpoint that nobody described, and that is said."""
    tree = bare(tmp_path / "tree", **{**SMALL, "model": "acme/unheard-of"})
    told = tree.run("why", "bare", "targets.gpu1.start_timeout").out
    assert 'with "10min": the least there is: nobody described the model' in told
    assert "reckons" not in tree.run("why", "bare", "memory.chunked_prefill").out


@pytest.mark.parametrize("options", [SMALL, SHARED, DRAFTED], ids=["small", "shared", "drafted"])
def test_what_is_told_is_what_a_profile_may_say_itself(
    tmp_path: Path, options: dict[str, object]
) -> None:
    """The values that `show` has for what is left out, written into the profile, change nothing of the plan."""
    tree = bare(tmp_path / "tree", **options)
    shown = tree.run("show", "bare").out
    before = tree.run("check", "bare", "--json").json["plans"][0]
    written = re.sub(
        r"^# (.*)  # (?:the engine's choice|worked out from the rest)$",
        r"\1",
        shown,
        flags=re.MULTILINE,
    )
    assert written.count("\n# ") < shown.count("\n# ") - 5
    tree.write("bare", written.replace("# bare, merged", "schema = 1"))
    after = tree.run("check", "bare", "--json").json["plans"][0]
    for key in ("pool", "reserve_margin_gib", "fraction", "verdict"):
        assert after[key] == before[key], key


# --- keys that are none ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("chunked_prefill", ["memory.chunked_prefill = 8192"]),
        ("chunked-prefill", ["memory.chunked_prefill = 8192"]),
        ("unit", ["targets.ct200.unit is not set"]),
        ("ct200.user", ['targets.ct200.user = "sglang"']),
        ("api_key", ["secrets.api_key.file = "]),
        ("host", ["serve.host = "]),
        ("targets.*.start_timeout", ['targets.ct200.start_timeout = "30min"']),
        ("targets.*", ["targets.ct200.kind = ", "targets.ct200.user = "]),
        ("*.tensor", ["parallel.tensor = 8"]),
        ("env.*", ["env.NCCL_P2P_LEVEL = "]),
    ],
)
def test_a_part_of_a_key_is_the_key(once: Checkout, asked: str, told: list[str]) -> None:
    """The last parts of one setting's key stand for it, and `*` for each name that the profile has."""
    done = once.run("why", STORY, asked)
    assert (done.code, done.err) == (0, "")
    assert [
        each for each in told if not re.search(rf"^{re.escape(each)}", done.out, re.MULTILINE)
    ] == []


def test_a_part_stands_for_each_target(tmp_path: Path) -> None:
    """With several targets their settings are told one after another."""
    tree = bare(tmp_path / "tree", **SMALL)
    with tree.profile("bare").open("a") as file:
        file.write('[targets.gpu2]\nkind = "systemd"\nunit = "other"\n')
    for asked in ("unit", "targets.*.unit"):
        told = tree.run("why", "bare", asked).out
        assert "targets.gpu1.unit is not set" in told
        assert 'targets.gpu2.unit = "other"' in told
    said = tree.run("why", "bare", "targets.gpu3.unit").err
    assert "its targets are `gpu1` and `gpu2`" in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("kind", "several end so: `gpus.kind` and `targets.ct200.kind`"),
        ("prefil", "a setting with a similar name exists: `memory.chunked_prefill`"),
        ("start_timout", "a setting with a similar name exists: `targets.ct200.start_timeout`"),
        ("memory.fractoin", "a setting with a similar name exists: `memory.fraction`"),
        ("parser", "a setting with a similar name exists: `parsers`"),
        ("size", "similar names exist: `memory.page_size` and `speculative.block_size`"),
        ("targets.NAME.start_timeout", f"`{STORY}` has no target `NAME`"),
        ("accept.*", f"no key of `{STORY}` fits"),
    ],
)
def test_a_key_that_is_none_is_answered_with_those_that_are(
    once: Checkout, asked: str, said: str
) -> None:
    """`unknown-key`: each key that is offered can be asked for, so that no hint leads back to itself."""
    done = once.run("why", STORY, asked)
    assert (done.code, done.out) == (1, "")
    told = re.sub(r"\s+", " ", done.err)
    assert said in told
    offered = re.findall(r"`([a-z0-9_.]+)`", told.partition("help:")[2])
    assert [each for each in offered if each != STORY and once.run("why", STORY, each).code] == []


def test_a_flag_without_its_dashes_is_the_same_setting(once: Checkout) -> None:
    """No last part of a key stands in the way of a flag of the same name."""
    release, _ = open_catalog().release("sglang", "0.5.11")
    owned = owned_flags(release, ENGINES["sglang"])
    asked = [flag for flag in owned if release is None or flag in release.flags]
    assert asked

    def head(done: Done) -> str:
        return done.out.partition("\n")[0]

    for flag in asked:
        with_dashes = once.run("why", STORY, flag)
        assert head(once.run("why", STORY, flag.removeprefix("--"))) == head(with_dashes), flag
