"""What SGLang prints while it starts, in every release that is described, read back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.engines.observing import FlagState, KvPool, LogReading, Phase, StatePool
from compiler.engines.sglang.log import OBSERVER
from compiler.engines.sglang.log.arguments import read_arguments
from compiler.engines.sglang.log.lines import GraphEnd, LoadEnd, Pool, Window, events_in
from compiler.engines.sglang.spelling import owned_flags
from examples import examples
from stub_engine import Engine, Scenario, parse_arguments, start_lines


ROOT = Path(__file__).parents[1]
RELEASES = tuple(
    json.loads((ROOT / "compiler/catalog/data/engines/sglang/flags.json").read_text("utf-8"))[
        "releases"
    ]
)
KEY = "sk-0123456789-very-secret"
ARGUMENTS = ("--model-path", "/srv/models/M", "--mem-fraction-static", "0.93", "--api-key", KEY)


def log_of(scenario: Scenario, *words: str) -> bytes:
    """The log of one whole start."""
    lines = [line for _, line in start_lines(scenario, parse_arguments((*ARGUMENTS, *words)))]
    ready = "[2026-05-20 10:00:00] The server is fired up and ready to roll!"
    return "\n".join([*lines, ready, ""]).encode()


def read(log: bytes, *, block: int = 1 << 20) -> LogReading:
    """The log, read in blocks of a size."""
    return OBSERVER.read_log(log[at : at + block] for at in range(0, len(log), block))


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_is_read(release: str) -> None:
    """The figures of a model with a draft come back whatever the release's wording, order, and rounding."""
    scenario = Scenario(
        release=release,
        draft_weights_gib=1.46,
        draft_kv_gib=(0.29, 0.31),
        running_requests=8,
        context=200_000,
    )
    reading = read(log_of(scenario, "--tensor-parallel-size", "2"))
    start = reading.start
    assert reading.is_complete
    assert reading.notes == ()
    assert start is not None
    assert start.settings["mem_fraction_static"] == 0.93
    assert start.settings["tp_size"] == 2
    assert (start.free_before_gib, start.weights_gib) == (94.08, 72.7)
    assert start.draft_weights_gib == 1.46
    assert start.static_weights_gib == (74.16 if scenario.version >= (0, 5, 14) else 72.7)
    assert start.target is not None
    assert (start.target.tokens, start.target.kv_gib, start.target.k_gib) == (205_837, 13.47, None)
    assert start.draft is not None
    assert (start.draft.k_gib, start.draft.v_gib) == (0.29, 0.31)
    assert (start.pool_tokens, start.running_requests, start.context) == (205_837, 8, 200_000)
    assert start.free_gib == (4.2 if scenario.version >= (0, 4, 7) else None)
    assert start.graphs_gib == 1.5
    assert (start.ranks, start.is_serving) == (2, True)


@pytest.mark.parametrize("release", ["0.5.3", "0.5.6", "0.5.7", "0.5.13", "0.5.23"])
def test_windows_and_states_have_pools_of_their_own(release: str) -> None:
    """Windowed layers are allocated before the full ones, and states before both."""
    scenario = Scenario(
        release=release,
        kv_gib=(4.0, 4.1),
        window_kv_gib=(1.5, 1.6),
        state_gib=(0.1, 2.0, 0.5, 0.25),
    )
    start = read(log_of(scenario)).start
    assert start is not None
    dtype = "torch.bfloat16" if scenario.version >= (0, 5, 13) else None
    assert start.window == KvPool(tokens=4096, k_gib=1.5, v_gib=1.6, dtype=dtype)
    assert start.target == KvPool(tokens=205_837, k_gib=4.0, v_gib=4.1, dtype=dtype)
    assert start.states == StatePool(slots=64, gib=2.85)
    assert start.draft is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "[2025-10-16 09:06:10 DP1 PP0 TP5 EP5] Load weight end. type=X, dtype=torch.bfloat16, avail mem=57.03 GB, mem usage=80.26 GB.",
            LoadEnd(free_gib=57.03, taken_gib=80.26),
        ),
        (
            "[2026-06-01 10:00:00] Load weight end. elapsed=3.50 s, type=X, quant=fp8, fmt=e4m3, avail mem=57.03 GB, mem usage=80.26 GB.",
            LoadEnd(free_gib=57.03, taken_gib=80.26),
        ),
        (
            "Post-capture KV sizing: KV cache allocated. dtype: torch.float8_e4m3fn, #tokens: 7168, KV size: 1.25 GB, avail mem=3.00 GB",
            Pool(
                pool=KvPool(tokens=7168, kv_gib=1.25, dtype="torch.float8_e4m3fn"),
                is_bound=False,
                is_final=True,
                is_draft=False,
            ),
        ),
        (
            "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 9, K size: 1.00 GB, V size: 1.00 GB",
            Pool(
                pool=KvPool(tokens=9, k_gib=1.0, v_gib=1.0, dtype="torch.bfloat16"),
                is_bound=True,
                is_final=False,
                is_draft=False,
            ),
        ),
        ("Use sliding window memory pool (all SWA). swa_layer_tokens=4096", Window(tokens=4096)),
        (
            "Capture cuda graph end. Time elapsed: 9.41 s. avail mem=6.02 GB. mem usage=1.50 GB.",
            GraphEnd(taken_gib=1.5),
        ),
        (
            "Capture piecewise CUDA graph end. Time elapsed: 9.41 s. mem usage=0.75 GB. avail mem=6.02 GB.",
            GraphEnd(taken_gib=0.75),
        ),
        (
            "Capture target prefill CUDA graph end. elapsed=9.41 s, mem usage=0.75 GB, avail mem=6.02 GB.",
            GraphEnd(taken_gib=0.75),
        ),
        ("Capture Frozen-KV MTP draft cuda graph end.", None),
        (
            "KV Cache skipped (no-op pool). Logical #tokens: 9, physical K/V size: ~1.0 KB placeholder",
            None,
        ),
        ("Decode batch. #running-req: 1, #token: 77, token usage: 0.31, cuda graph: True", None),
    ],
)
def test_lines_of_the_releases(line: str, said: object) -> None:
    """The wordings that no scenario prints are read as well, and lines that only look like them are not."""
    assert [each.said for each in events_in(line)] == ([] if said is None else [said])


@pytest.mark.parametrize(
    "line",
    [
        "KV Cache is allocated. #tokens: {}, KV size: 1.00 GB",
        "Load weight begin. avail mem={} GB",
        "Use sliding window memory pool. full_layer_tokens={0}, swa_layer_tokens={0}",
        "max_total_num_tokens={0}, chunked_prefill_size=1, max_prefill_tokens=1, max_running_requests=1, context_len={0}",
    ],
)
def test_numbers_without_an_end(line: str) -> None:
    """A number of thousands of digits is no figure of a server, and neither a bug."""
    text = line.format("9" * 5000)
    assert list(events_in(text)) == []
    OBSERVER.phase(text)


@pytest.mark.parametrize(
    "word",
    [
        "Capture ",
        "Load weight end. ",
        "KV Cache is allocated. ",
        "Mamba Cache is allocated. ",
        "Capturing batches: 1% ",
        "Loading shards: 1% ",
        "[2026-05-20 10:00:00 TP0] Memory pool end. avail mem=1.00 GB",
        "server_args=ServerArgs(",
    ],
)
def test_a_line_that_only_looks_like_one(word: str) -> None:
    """A line of a megabyte, made to be tried again and again, is read about as fast as any other."""
    line = word * (2**20 // len(word)) + " raph end. #tokens: avail mem= ready to roll"
    begin = time.process_time()
    list(events_in(line))
    OBSERVER.phase(line)
    assert time.process_time() - begin < 5  # some tenths of a second; quadratic, it takes minutes


def test_two_records_in_one_line() -> None:
    """What two processes wrote into one line is told apart, each with its rank."""
    line = (
        "[2026-05-20 10:00:00 TP0] Memory pool end. avail mem=7.00 GB"
        "[2026-05-20 10:00:01 TP1] Memory pool end. avail mem=6.50 GB"
    )
    assert [each.rank for each in events_in(line)] == ["TP0", "TP1"]


def test_the_last_complete_start_counts() -> None:
    """Of several starts the last that came as far as its pool is read, and the reader is told which that is."""
    first = log_of(Scenario(pool_tokens=1000))
    second = log_of(Scenario(pool_tokens=2000))
    died = b"\n".join(log_of(Scenario(pool_tokens=3000)).split(b"\n")[:9]) + b"\n"
    reading = read(first + b"GET / 200 OK\n" * 1000 + second + died)
    assert reading.start is not None
    assert reading.is_complete
    assert reading.start.pool_tokens == 2000
    chosen, later = reading.notes
    assert "3 starts" in chosen
    assert "number 2" in chosen
    assert later == "the start after it did not come as far as the pool's size"


def test_a_start_that_is_not_complete() -> None:
    """A log that ends in the load gives what it has, and is not called complete."""
    whole = log_of(Scenario())
    reading = read(whole[: whole.index(b"KV Cache")])
    assert not reading.is_complete
    assert reading.start is not None
    assert reading.start.weights_gib == 72.7
    assert reading.start.pool_tokens is None


def test_a_log_that_begins_too_late() -> None:
    """Without the beginning of a start its pool is known, and nobody says whose KV lines these are."""
    whole = log_of(Scenario(draft_weights_gib=1.46, draft_kv_gib=(0.1, 0.1)))
    reading = read(whole[whole.index(b"Memory pool end") :].partition(b"\n")[2])
    assert reading.is_complete
    assert reading.start is not None
    assert reading.start.pool_tokens == 205_837
    assert reading.start.settings == {}
    assert "begins after that start did" in " ".join(reading.notes)
    late = whole[whole.index(b"max_total_num_tokens") :]
    assert read(late).notes[0].endswith("whose each pool is, is not told")


def test_replicas_and_stages() -> None:
    """Running requests add up over data parallel replicas and not over pipeline stages; the smallest pool counts."""
    line = (
        "[2026-05-20 10:00:00 {}] max_total_num_tokens={}, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=8, context_len=4096, available_gpu_mem=5.00 GB\n"
    )
    several = [
        ("DP0 PP0 TP0", 900),
        ("DP0 PP1 TP0", 800),
        ("DP1 PP0 TP0", 950),
        ("DP1 PP1 TP0", 950),
    ]
    start = read("".join(line.format(*each) for each in several).encode()).start
    assert start is not None
    assert (start.pool_tokens, start.running_requests) == (800, 16)


def test_no_start_at_all() -> None:
    """A log of something else, and an empty one, hold no start."""
    assert read(b"") == read(b"hello\n" * 9) == LogReading(start=None, is_complete=False)


@pytest.mark.parametrize("release", ["0.4.6", "0.5.18", "0.5.19", "0.5.23"])
def test_secrets_are_not_kept(release: str) -> None:
    """An API key that the server prints among its arguments is in nothing that was read."""
    log = log_of(Scenario(release=release, settings={"admin_api_key": KEY}))
    assert KEY.encode() in log
    assert KEY not in repr(read(log))


def test_arguments_that_cannot_be_read_whole() -> None:
    """A value that is no literal is left out; what stands behind it, or before a cut, is read."""
    line = "server_args=ServerArgs(tp_size=8, device=<Device.CUDA: 1>, note='a, b=(', page_size=1, cut='x"
    start = read(f"{line}\nmax_total_num_tokens=1\n".encode()).start
    assert start is not None
    assert dict(start.settings) == {"tp_size": 8, "note": "a, b=(", "page_size": 1}


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab'\"\\\\,=([{}]) \n", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab,'", max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(told=st.dictionaries(st.from_regex("[a-z]{1,8}", fullmatch=True), LITERALS, max_size=5))
def test_arguments_come_back(told: dict[str, object]) -> None:
    """Whatever stands in the server's arguments, both ways of printing them give the same values back."""
    as_class = ", ".join(f"{name}={value!r}" for name, value in told.items())
    plain = {name: value for name, value in told.items() if name not in {"key", "token", "keys"}}
    assert read_arguments(f"ServerArgs({as_class})") == plain
    assert read_arguments(repr(told)) == plain


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(block=st.integers(1, 5000))
def test_blocks_do_not_matter(block: int) -> None:
    """However the bytes come, the same is read."""
    log = (
        log_of(Scenario(shards=4))
        + b"GET / 200 OK\n" * 20
        + log_of(Scenario(pool_tokens=2000, shards=2))
    )
    assert read(log, block=block).start == read(log).start


MARKED = st.sampled_from(
    [
        b"avail mem=",
        b"#tokens: 9",
        b"server_args={",
        b"Load weight begin. ",
        b"\n",
        b"[2026-05-20 10:00:00 TP0] ",
    ]
)


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(parts=st.lists(st.one_of(st.binary(max_size=30), MARKED), max_size=30))
def test_garbage_is_survived(parts: list[bytes]) -> None:
    """No bytes make the reader fail, and without a summary none are taken for a complete start."""
    assert not read(b"".join(parts)).is_complete


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_answers(release: str) -> None:
    """What the endpoints of a release tell is read, and no more is made of it."""
    scenario = Scenario(release=release, context=200_000, running_requests=8)
    engine = Engine(scenario, parse_arguments((*ARGUMENTS, "--enable-metrics")))
    info = "/server_info" if scenario.version >= (0, 5, 6) else "/get_server_info"
    status, body = engine.answer(info, key=KEY)
    start = OBSERVER.read_answer(info, body=body)
    assert status == 200
    assert KEY.encode() in body
    assert start is not None
    assert KEY not in repr(start)
    assert (start.version, start.pool_tokens) == (release, 205_837)
    assert start.settings["mem_fraction_static"] == 0.93
    has_memory, has_requests = scenario.version >= (0, 4, 9), scenario.version >= (0, 5, 10)
    assert (start.weights_gib, start.graphs_gib) == ((72.7, 1.25) if has_memory else (None, None))
    assert start.running_requests == (8 if has_requests else None)
    gauges = OBSERVER.read_answer("/metrics", body=engine.answer("/metrics", key=None)[1])
    assert (gauges is None) is (scenario.version < (0, 5, 6))
    if gauges is not None:
        assert gauges.pool_tokens == 205_837
        assert gauges.context == (200_000 if scenario.version >= (0, 5, 11) else None)


def test_the_smallest_replica_counts_by_http_too() -> None:
    """Each data parallel rank has a pool and a limit of its own: the least pool, and all requests."""
    states = [
        {
            "memory_usage": {"weight": 1.0, "token_capacity": tokens},
            "effective_max_running_requests_per_dp": 8,
        }
        for tokens in (900, 800)
    ]
    told = {"model_path": "m", "max_total_num_tokens": 900, "internal_states": states}
    start = OBSERVER.read_answer("/server_info", body=json.dumps(told).encode())
    assert start is not None
    assert (start.pool_tokens, start.running_requests) == (800, 16)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
TOLD = (
    "max_total_num_tokens",
    "internal_states",
    "memory_usage",
    "version",
    "context_length",
    "effective_max_running_requests_per_dp",
    "chunked_prefill_size",
    "max_running_requests",
)


@settings(derandomize=True, deadline=None, max_examples=examples(50))
@given(
    told=st.dictionaries(
        st.sampled_from(TOLD), JSON | st.lists(st.fixed_dictionaries({"memory_usage": JSON}))
    )
)
def test_answers_of_any_shape(told: dict[str, object]) -> None:
    """No JSON makes the reader fail, and a pool is a whole number above zero or not told."""
    start = OBSERVER.read_answer(
        "/server_info", body=json.dumps({**told, "model_path": "m"}).encode()
    )
    assert start is not None
    assert start.pool_tokens is None or start.pool_tokens > 0


def test_phases_in_order() -> None:
    """The lines of a start lead through its phases in their order, with the shards counted."""
    seen = [OBSERVER.phase(line) for line in log_of(Scenario()).decode().split("\n")]
    phases = [each[0] for each in seen if each is not None]
    assert list(dict.fromkeys(phases)) == list(Phase)
    assert (Phase.LOADING, "12/64 shards") in seen
    assert (Phase.POOL, "205,837 tokens") in seen


def test_flags_as_the_server_resolved_them() -> None:
    """A flag is the same, changed by the engine, different, or not told; a secret is never shown."""
    argv = (
        "python -m sglang.launch_server --tensor-parallel-size 8 --speculative-algorithm NEXTN --enable-metrics "
        f"--served-model-name one --not-there 3 --mem-fraction-static 0.930 --lora-paths a b --api-key {KEY}"
    ).split()
    running = {
        "tp_size": 8,
        "speculative_algorithm": "EAGLE",
        "enable_metrics": True,
        "served_model_name": "two",
        "mem_fraction_static": 0.93,
        "lora_paths": ["a", "b"],
        "api_key": KEY,
    }
    seen = {each.flag: each for each in OBSERVER.compare(argv, settings=running)}
    assert {flag: each.state for flag, each in seen.items()} == {
        "--tensor-parallel-size": FlagState.SAME,
        "--speculative-algorithm": FlagState.CHANGED,
        "--enable-metrics": FlagState.SAME,
        "--served-model-name": FlagState.DIFFERENT,
        "--not-there": FlagState.UNTOLD,
        "--mem-fraction-static": FlagState.SAME,
        "--lora-paths": FlagState.SAME,
        "--api-key": FlagState.UNTOLD,
    }
    assert KEY not in repr(seen)


def test_flags_by_their_other_names() -> None:
    """What a flag is stored under is found, in whatever release; which model runs is never the engine's to change."""
    given = (
        "--attention-context-parallel-size=2",
        "--decode-context-parallel-size=2",
        "--ep=4",
        "--fp8-gemm-backend=cutlass",
        "--speculative-dflash-draft-window-size=2048",
        "--cuda-graph-max-bs=8",
        "--model-path=/a",
        "--tokenizer-path=/b",
    )
    running = {
        "attn_cp_size": 2,
        "dcp_size": 2,
        "ep_size": 4,
        "fp8_gemm_runner_backend": "deep_gemm",
        "speculative_draft_window_size": 2048,
        "cuda_graph_max_bs_decode": 8,
        "model_path": "/c",
        "tokenizer_path": "/c",
    }
    states = [each.state for each in OBSERVER.compare(given, settings=running)]
    same, changed, different = FlagState.SAME, FlagState.CHANGED, FlagState.DIFFERENT
    assert states == [same, same, same, changed, same, same, different, different]


BUSY = (
    b"[2026-05-20 10:00:01 TP0] Decode batch. #running-req: 3, #token: 1234, token usage: 0.31, "
    b"cuda graph: True, gen throughput (token/s): 112.31, #queue-req: 0, \n"
    b'[2026-05-20 10:00:01] INFO:     127.0.0.1:4711 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)

MEASURE = r"""
import re, sys, time
from compiler.engines.sglang.log import OBSERVER
from compiler.host.observe import BLOCK
def blocks():
    with open(sys.argv[1], "rb", buffering=0) as file:
        while block := file.read(BLOCK):
            yield block

begin = time.perf_counter()
reading = OBSERVER.read_log(blocks())
took = time.perf_counter() - begin
peak_kb = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
print(reading.start.pool_tokens, took, peak_kb * 1024 / 1e6)
"""


def large_log(path: Path, size: int) -> None:
    """A start, then the lines of a busy server up to a size, then another start."""
    chunk = BUSY * 4000
    with path.open("wb") as file:
        file.write(log_of(Scenario(pool_tokens=1000)))
        while file.tell() < size:
            file.write(chunk)
        file.write(log_of(Scenario(pool_tokens=2000)))


@pytest.fixture
def measured(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[int, float, float, float]]:
    """A log of so many bytes, read by a process of its own: its pool, MB/s, the most MB it held, and MB/s of `grep -c`."""
    path = tmp_path / "large.log"
    large_log(path, request.param)
    subprocess.run(["cat", str(path)], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    tokens, took, peak_mb = map(float, done.stdout.split())
    begin = time.perf_counter()
    subprocess.run(
        ["grep", "-c", "KV Cache is allocated", str(path)], check=True, capture_output=True
    )
    grep_s = time.perf_counter() - begin
    size_mb = path.stat().st_size / 1e6
    yield int(tokens), size_mb / took, peak_mb, size_mb / grep_s
    path.unlink()


@pytest.mark.parametrize("measured", [50 * 10**6], indirect=True)
def test_a_large_log_is_streamed(measured: tuple[int, float, float, float]) -> None:
    """A log is read in bounded memory, and the start behind everything else is found."""
    tokens, _, peak_mb, _ = measured
    assert tokens == 2000
    assert peak_mb < 50


@pytest.mark.slow
@pytest.mark.parametrize("measured", [10**9], indirect=True)
def test_a_log_of_a_gigabyte(
    measured: tuple[int, float, float, float], capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of 1 GB streams at disk-like speed in under 50 MB; beside it what `grep -c` does in the same run."""
    tokens, speed, peak_mb, grep_speed = measured
    with capsys.disabled():
        sys.stdout.write(
            f"\n1 GB log: {speed:.0f} MB/s in {peak_mb:.0f} MB; grep -c: {grep_speed:.0f} MB/s\n"
        )
    assert tokens == 2000
    assert peak_mb < 50
    # A SATA disk gives 500 MB/s; on a busy machine `grep` is slow as well.
    assert speed > min(200, grep_speed / 10)


def test_the_folders_of_a_command_are_those_that_are_spelled() -> None:
    """Every flag that a compile writes for the model's and the draft's folder is read back as one, in every release."""
    named = {"model.path", "speculative.draft"}
    flags = [flag for flag, setting in owned_flags().items() if setting in named]
    argv = ["x", *(word for flag in flags for word in (flag, "/srv/a"))]
    assert [setting for setting, _ in OBSERVER.folders(argv)] == [
        "model.path",
        "speculative.draft_path",
    ]
