"""What a finding says beside its place: the labels, notes, and advice that hang on a figure. The cases in `rules/` pin the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checkouts import run
from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.checks.memory import FOLLOWING
from compiler.diagnostics import Diagnostic
from deployments import check_text, check_texts
from test_predict import ask, codes_of


RULES = Path(__file__).parent / "rules"
SHARED = RULES / "shared"
SMALL = 'schema = 1\nextends = ["base/small"]\n'
STORY = (
    "schema = 1\n"
    'extends = ["base/kimi-k2.6", "base/service", "base/sglang-{engine}", "hw/8x-rtx-pro-6000"]\n'
)
TARGET = '\n[targets.ct200]\nkind = "systemd"\nuser = "sglang"\n'


def said(found: Diagnostic) -> str:
    """All that a finding says, a part a line."""
    labels = (found.primary, *found.secondary)
    parts = (
        found.summary,
        *(each.text for each in labels if each is not None),
        *found.notes,
        *found.help,
    )
    return "\n".join(parts)


def words_of(profiles: Path, catalog: Catalog, text: str, code: str) -> str:
    """What the one finding of a code says."""
    checked = check_text(profiles, text + TARGET, catalog=catalog)
    (found,) = (each for each in checked.all_diagnostics if each.code == code)
    return said(found)


@pytest.mark.parametrize(
    ("body", "code", "part", "is_said"),
    [
        (
            '[env]\nCUDA_VISIBLE_DEVICES = "0, 1"',
            "variable-owned",
            "`gpus.indices = [0, 1]`",
            True,
        ),
        (
            '[env]\nCUDA_VISIBLE_DEVICES = "GPU-1"',
            "variable-owned",
            "`nvidia-smi -L` on the host says which index `GPU-1` has: set `gpus.indices`, and",
            True,
        ),
        (
            '[env]\nCUDA_VISIBLE_DEVICES = "MIG-1"',
            "variable-owned",
            "a slice of MIG has no index",
            True,
        ),
        ('[env]\nCUDA_VISIBLE_DEVICES = "0,0"', "variable-owned", "gpus.indices = [", False),
        ('[env]\nCUDA_VISIBLE_DEVICES = "0,0"', "gpu-count", "`0` twice, and CUDA shows no", True),
        (
            '[gpus]\nkind = "gb10"\n[memory]\nfraction = 0.85',
            "unified-memory",
            "`memory.fraction = 0.8` or less: of 101 to 114 GiB free it leaves 20 to 23 GiB",
            True,
        ),
        (
            '[gpus]\nkind = "gb10"\n[memory]\nfraction = 0.85',
            "unified-memory",
            "`MemoryMax=` does not bound it",
            True,
        ),
        ("[memory]\nfraction = 99", "fraction-range", "write `0.99` for 99 %", True),
        ("[memory]\nfraction = 100", "fraction-range", "write a share like `0.9`", True),
        ("[memory]\nfraction = 1", "fraction-range", "write a share like `0.9`", True),
        (
            "[gpus]\ncount = 3\n[parallel]\ntensor = 3",
            "heads-not-divisible",
            "that divide: 1, 2, 4, 8, 16, 32",
            True,
        ),
        (
            "[gpus]\ncount = 6\n[parallel]\ntensor = 6\ndata = 2\ndp_attention = true",
            "heads-not-divisible",
            "that divide: 2, 4, 8, 16, 32, 64",
            True,
        ),
        (
            "[serve]\nconcurrency = 9",
            "concurrency-beyond-limit",
            "the engine's own limit here",
            False,
        ),
        (
            "[serve]\nmax_running_requests = 8\nconcurrency = 9",
            "concurrency-beyond-limit",
            "8 requests run at once",
            True,
        ),
        (
            '[gpus]\nkind = "NVIDIA GeForce RTX 4090"',
            "gpu-unknown",
            'set `gpus.kind = "rtx-4090"`',
            True,
        ),
        ('[gpus]\nkind = "dgx-spark"', "gpu-unknown", 'set `gpus.kind = "gb10"`', True),
        ('[gpus]\nkind = "h2000"', "gpu-unknown", "take it only if it is that card", True),
        (
            '[gpus]\nkind = "unlogged-96gb"',
            "gpu-unknown",
            "take it only if it is that card",
            False,
        ),
        ('[gpus]\nkind = "unlogged-96gb"', "gpu-unknown", "`free_before_load_gib`", True),
    ],
)
def test_what_a_finding_advises(
    profiles: Path, catalog: Catalog, body: str, code: str, part: str, *, is_said: bool
) -> None:
    """Advice holds the figures of the profile, and only what applies to it."""
    text = words_of(profiles, catalog, f"{SMALL}\n{body}\n", code)
    assert (part in text) is is_said, text


def story(engine: str, *, context: int, fraction: float, concurrency: int = 1) -> str:
    """The deployment of the README, with other figures."""
    return (
        STORY.format(engine=engine)
        + f"[serve]\ncontext = {context}\nconcurrency = {concurrency}\nmax_running_requests = 8\n"
        + f"[memory]\nfraction = {fraction}\n"
    )


def test_how_much_a_pool_is_short(profiles: Path, catalog: Catalog) -> None:
    """By the best estimate, or only at worst; of one request or of several, which are then shown as well."""
    one = words_of(
        profiles, catalog, story("plain", context=200_000, fraction=0.85), "pool-too-small"
    )
    assert "one full request needs" in one
    assert "requests of full context at the same time" not in one
    assert "short by" in one
    two = words_of(
        profiles,
        catalog,
        story("plain", context=100_000, fraction=0.85, concurrency=2),
        "pool-too-small",
    )
    assert "2 full requests need" in two
    assert "requests of full context at the same time" in two


def test_which_flag_was_meant(profiles: Path, catalog: Catalog) -> None:
    """A beginning that several flags have in common is completed to none of them."""
    for flag, part, is_said in (
        ("schedule-conserv", "write it in full: `--schedule-conservativeness`", True),
        ("schedule", "write it in full", False),
        ("sched", "write it in full", False),
    ):
        text = words_of(profiles, catalog, f"{SMALL}\n[flags]\n{flag} = 0.3\n", "flag-unknown")
        assert (part in text) is is_said, text


def test_a_name_with_white_space(profiles: Path, catalog: Catalog) -> None:
    """`name-unwritable`: any white space in a profile's name would end it in the manifest, a blank or another."""
    for name, wanted in (("a b", True), ("a\u2003b", True), ("ab", False)):
        found = check_texts(profiles, {name: SMALL + TARGET}, catalog=catalog).all_diagnostics
        assert ("name-unwritable" in {each.code for each in found}) is wanted, name


def test_what_two_services_share_is_shown_once(profiles: Path, catalog: Catalog) -> None:
    """Of two services whose GPUs stand in one fragment there is one place, of others there are two."""
    for own, places in (("", 1), ("gpus.indices = [0]\n", 2)):
        texts = {
            name: f"{SMALL}serve.port = {port}\n{own}{TARGET}unit = '{name}'\n"
            for name, port in (("a", 30000), ("b", 31000))
        }
        found = check_texts(profiles, texts, catalog=catalog).all_diagnostics
        (shared,) = (each for each in found if each.primary and "indices" in (each.path or ""))
        assert 1 + len(shared.secondary) == places, said(shared)


@pytest.mark.parametrize(
    ("context", "code", "part"),
    [
        (192_744, "pool-uncertain", "enough by the best estimate, short by 105 at worst"),
        (192_745, "pool-likely-short", "needed 192,750; short by 1\n"),
    ],
)
def test_a_pool_at_its_best_estimate(
    profiles: Path, catalog: Catalog, context: int, code: str, part: str
) -> None:
    """A pool that is as large as needed by the best estimate is short at worst only."""
    text = words_of(profiles, catalog, story("ddtree", context=context, fraction=0.92), code)
    assert part in text


def test_what_does_not_load_comes_first(tmp_path: Path) -> None:
    """Weights that do not fit are the one finding about memory, with what helps: all that follows would hide it."""
    text = (
        'schema = 1\nextends = ["base/small"]\n[model]\nid = "deepseek-ai/DeepSeek-V3.1"\n'
        '[gpus]\nkind = "rtx-3090"\ncount = 4\n[parallel]\ntensor = 4\n'
        '[serve]\nconcurrency = 64\n[targets.a]\nkind = "systemd"\nuser = "sglang"\n'
    )
    shutil.copytree(SHARED, tmp_path / "profiles")
    errors = [
        each for each in check_text(tmp_path / "profiles", text).all_diagnostics if each.is_error
    ]
    assert errors[0].code == "weights-too-large"
    assert "more GPUs" in errors[0].help[0]
    assert not {each.code for each in errors} & FOLLOWING


@pytest.mark.parametrize(("accepted", "code"), [(False, 1), (True, 0)])
def test_strict_takes_what_is_accepted(tmp_path: Path, *, accepted: bool, code: int) -> None:
    """A warning that a profile accepts with a reason passes `--strict`, so that both can be used together."""
    case = Path(__file__).parent / "rules" / "reserve-unpriced" / "two-batches.toml"
    shutil.copytree(case.parent.parent / "shared", tmp_path / "profiles")
    reason = '[accept]\nreserve-unpriced = "seen to leave 3 GiB"\n' if accepted else ""
    (tmp_path / "profiles" / "a.toml").write_text(case.read_text("utf-8") + reason, "utf-8")
    assert run("check", "--strict", "a", here=tmp_path).code == code


@pytest.mark.parametrize("way", [(), ("--format", "github")])
def test_what_is_accepted_is_one_line_with_its_reason(tmp_path: Path, way: tuple[str, ...]) -> None:
    """At each run an accepted warning says what it is and why it stands, and neither quotes nor explains; JSON has all of it."""
    case = Path(__file__).parent / "rules" / "peer-access" / "kernel.toml"
    shutil.copytree(case.parent.parent / "shared", tmp_path / "profiles")
    reason = '[accept]\npeer-access = "p2pBandwidthLatencyTest passes"\n'
    (tmp_path / "profiles" / "a.toml").write_text(case.read_text("utf-8") + reason, "utf-8")
    done = run("check", "a", *way, here=tmp_path)
    lines = (done.out if way else done.err).splitlines()
    (said,) = (each for each in lines if "peer-access" in each)
    assert said.endswith("(accepted: p2pBandwidthLatencyTest passes)")
    assert not any("note:" in each or " --> " in each for each in lines)
    (plan,) = run("check", "a", "--json", here=tmp_path).json["plans"]
    (found,) = (each for each in plan["diagnostics"] if each["code"] == "peer-access")
    assert found["notes"][0] == "accepted: p2pBandwidthLatencyTest passes"
    assert len(found["notes"]) > 1


def test_what_decides_a_pool_is_shown(profiles: Path, catalog: Catalog) -> None:
    """How a build prices its draft is a doubt where the pool hangs on it, and none where the pool is capped."""
    whole = story("ddtree", context=192_745, fraction=0.92)
    doubt = "not known how it prices the draft's layers"
    assert doubt in words_of(profiles, catalog, whole, "pool-likely-short")
    capped = words_of(profiles, catalog, f"{whole}max_pool_tokens = 50_000\n", "pool-too-small")
    assert "caps the pool" in capped
    assert doubt not in capped


@pytest.mark.parametrize("python", ["python", "/opt/o'brien/bin/python"])
def test_what_is_judged_and_not_written(python: str) -> None:
    """`unrepresentable` is about a unit: the words of a command that somebody runs by hand are written nowhere."""
    words = (
        f"{python} -m sglang.launch_server --model-path Qwen/Qwen3-8B --served-model-name a\ufdd0b"
    )
    judged = ask(words, gpu="h200", count=1)
    assert judged.plan is not None
    assert judged.plan.target is None
    assert "unrepresentable" not in codes_of(judged)


def test_what_nobody_described_says_what_it_leaves_open(profiles: Path, catalog: Catalog) -> None:
    """Where the least fraction is asked for, a card that nobody described tells of it, and that a number would do."""
    fitted = '[gpus]\nkind = "zz-9000"\n[memory]\nfraction = "fit"\n'
    told = words_of(profiles, catalog, SMALL + fitted, "gpu-unknown")
    assert '`memory.fraction = "fit"` cannot be worked out without it' in told
    assert "or write a fraction, such as" in told
    plain = words_of(profiles, catalog, SMALL + '[gpus]\nkind = "zz-9000"\n', "gpu-unknown")
    assert "fraction" not in plain
    misspelt = words_of(profiles, catalog, SMALL + fitted.replace("zz-9000", "H200"), "gpu-unknown")
    assert misspelt.splitlines()[-1] == 'set `gpus.kind = "h200"`'
    assert "fraction" not in misspelt


LATE = RULES / "weights-uncertain" / "quantized-late.toml"
LATE_BOOT = """
engine = "sglang"
version = "{version}"
model = "google/medgemma-27b-text-it"
gpu = "l40s"
gpu_count = 1
tensor = 1
kv_dtype = "auto"
page_size = 1
fraction = 0.9
context = 16_384
max_running_requests = 8
chunked_prefill = 8192
pool_tokens = 27_000
source = "our log"
[flags]
quantization = "fp8"
enable-metrics = true
"""


def late_words(profiles: Path, text: str) -> list[str]:
    """The help of the finding that the weights may not fit while they load, if there is one."""
    catalog = open_catalog(FolderReader(profiles))
    found = check_text(profiles, text, catalog=catalog).all_diagnostics
    return [line for each in found if each.code == "weights-uncertain" for line in each.help]


def test_a_load_that_may_not_fit_says_what_leaves_room(profiles: Path) -> None:
    """The fewest GPUs that are offered take the finding away, and nothing is offered where the GPUs are named."""
    text = LATE.read_text("utf-8")
    first, *others = late_words(profiles, text)
    assert first == "`gpus.count = 2 and parallel.tensor = 2` leaves room for the load"
    more = text.replace("count = 1", "count = 2").replace("tensor = 1", "tensor = 2")
    assert late_words(profiles, more) == []
    named = text.replace("count = 1", "count = 1\nindices = [0]")
    assert late_words(profiles, named) == others


@pytest.mark.parametrize(("version", "is_said"), [("0.5.11", False), ("0.5.12", True)])
def test_a_recorded_boot_shows_that_the_weights_load(
    profiles: Path, version: str, *, is_said: bool
) -> None:
    """A boot of this release, model and layout has loaded, so that nothing is said; one of another release may load otherwise."""
    boots = profiles / "boots"
    boots.mkdir(exist_ok=True)
    (boots / "late.toml").write_text(LATE_BOOT.format(version=version), "utf-8")
    assert bool(late_words(profiles, LATE.read_text("utf-8"))) is is_said
