#!/usr/bin/env python3
"""A test double for a GPU server: takes SGLang's flags, prints its lines, serves its endpoints. Figures from a scenario.

It stands in for the engine's Python, as `engine.python` of a profile:

    stub_engine.py -m sglang.launch_server --model-path ... --port 30000      the server
    stub_engine.py ready.py --url ... --timeout ...                           any other script, by the real Python

The scenario is the JSON file that STUB_SCENARIO names; every key is optional, see `Scenario`. What the lines say and when is
as in the releases from 0.4.6 to 0.5.23. Standard library only, so that it runs under a private systemd.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


ENTRY = ["-m", "sglang.launch_server"]
FAULTS = ("die", "hang", "late", "ignore-sigterm")
STORED_AS = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
}


@dataclass(frozen=True)
class Scenario:
    """What the server is like. Sizes in GiB of one GPU, as it prints them."""

    release: str = "0.5.11"
    pool_tokens: int = 205_837
    free_before_gib: float = 94.08
    weights_gib: float = 72.70
    draft_weights_gib: float | None = None
    kv_gib: tuple[float, ...] = (13.47,)
    """One figure for an MLA pool, two for keys and values."""
    draft_kv_gib: tuple[float, ...] | None = None
    window_kv_gib: tuple[float, ...] | None = None
    window_tokens: int = 4096
    state_gib: tuple[float, ...] | None = None
    """Of linear attention: conv, ssm, and with speculation their intermediate ones."""
    state_slots: int = 64
    graphs_gib: float = 1.25
    free_gib: float = 4.20
    running_requests: int = 48
    context: int = 32_768
    chunked_prefill: int = 8192
    shards: int = 64
    step_s: float = 0.0
    """Between two lines."""
    warmup_s: float = 0.0
    """Between listening and ready: health answers 503."""
    faults: tuple[str, ...] = ()
    """Of `FAULTS`: die or hang half-way through the load, become ready `late_s` later, ignore SIGTERM."""
    late_s: float = 2.0
    exit_code: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the engine resolves settings to, in place of what it is given."""

    @classmethod
    def read(cls, path: str | None) -> Scenario:
        """The scenario of a file; a key that is none is a mistake of the test."""
        told = {} if path is None else json.loads(Path(path).read_text("utf-8"))
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
        }
        scenario = cls(**given)
        unknown = set(scenario.faults) - set(FAULTS)
        if unknown:
            raise ValueError(f"no such fault: {unknown}")
        return scenario

    @property
    def version(self) -> tuple[int, ...]:
        """The release as numbers; a post release is above its own."""
        return tuple(int(each) for each in re.findall(r"\d+", self.release))


def parse_arguments(words: Sequence[str]) -> dict[str, Any]:
    """The settings by the names the server stores them under. A YAML of `--config` gives the API key."""
    settings: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": 30000,
        "tp_size": 1,
        "pp_size": 1,
        "dp_size": 1,
        "ep_size": 1,
        "page_size": 1,
        "kv_cache_dtype": "auto",
        "api_key": None,
        "enable_metrics": False,
        "node_rank": 0,
    }
    flag = None
    given: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            flag, joined, value = word[2:].partition("=")
            given[flag] = [value] if joined else []
        elif flag is not None:
            given[flag].append(word)
    for name, values in given.items():
        stored = name.replace("-", "_")
        settings[STORED_AS.get(stored, stored)] = (
            [typed(each) for each in values] if len(values) > 1 else typed(*values)
        )
    config = settings.pop("config", None)
    if config is not None:
        found = re.search(r"^api[-_]key: *(.+)$", Path(config).read_text("utf-8"), re.MULTILINE)
        settings["api_key"] = found[1].strip("\"'") if found else None
    return settings


def typed(word: str | None = None) -> object:
    """A word as the type it looks like; none at all is a flag that is on."""
    if word is None:
        return True
    try:
        return json.loads(word) if re.fullmatch(r"-?\d+(\.\d+)?", word) else word
    except ValueError:
        return word


def start_lines(scenario: Scenario, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a start prints, each line with the phase it belongs to; `load` lines may be cut off by a fault."""
    s = scenario
    ranks = (
        [f" TP{rank}" for rank in range(settings["tp_size"])] if settings["tp_size"] > 1 else [""]
    )
    told = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    yield (
        "start",
        prefixed(
            "",
            f"server_args=ServerArgs({told})"
            if s.version < (0, 5, 19)
            else f"server_args={dict(settings)}",
        ),
    )
    drafts = s.draft_weights_gib is not None
    both_first = s.version >= (0, 5, 14)
    yield from on_all(ranks, distributed(s), "start")
    yield from load(s, ranks, gib=s.weights_gib, before=s.free_before_gib)
    after = s.free_before_gib - s.weights_gib
    if drafts and both_first:
        yield from load(s, ranks, gib=s.draft_weights_gib or 0.0, before=after)
    yield from on_all(ranks, target_pools(s), "pool")
    if not both_first:
        yield from graphs(s, ranks, "target")
        if drafts:
            yield from load(s, ranks, gib=s.draft_weights_gib or 0.0, before=s.free_gib + 2)
    if s.draft_kv_gib is not None:
        yield from on_all(ranks, draft_pool(s), "pool")
    if both_first:
        yield from graphs(s, ranks, "target")
    if drafts:
        yield from graphs(s, ranks, "draft")
    if settings["node_rank"] == 0:  # it is the first rank that says so
        yield "listen", prefixed(ranks[0], summary(s))


def on_all(ranks: Sequence[str], texts: Sequence[str], phase: str) -> Iterator[tuple[str, str]]:
    """Each text by each rank; the ranks run side by side."""
    for text in texts:
        for rank in ranks:
            yield phase, prefixed(rank, text)


def prefixed(rank: str, text: str) -> str:
    """A line as the server's logger writes it."""
    return f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{rank}] {text}"


def distributed(s: Scenario) -> list[str]:
    """The processes meet."""
    if s.version >= (0, 5, 21):
        return ["Memory baseline taken. mem usage=0.80 GB"]
    elapsed = " elapsed=3.21 s," if s.version >= (0, 5, 9) else ""
    return [
        "Init torch distributed begin.",
        f"Init torch distributed ends.{elapsed} mem usage=0.80 GB",
    ]


def load(
    s: Scenario, ranks: Sequence[str], *, gib: float, before: float
) -> Iterator[tuple[str, str]]:
    """A load of weights, the target's or the draft's. One rank shows its progress."""
    yield from on_all(ranks, [f"Load weight begin. avail mem={before:.2f} GB"], "load")
    for shard in range(s.shards + 1):
        share = round(100 * shard / s.shards)
        bar = f"{share:3d}% Completed | {shard}/{s.shards} [00:{shard % 60:02d}<00:44,  1.17it/s]"
        yield "load", f"Loading safetensors checkpoint shards: {bar}"
    elapsed = "elapsed=31.42 s, " if s.version >= (0, 5, 9) else ""
    kind = "quant=compressed-tensors, " if s.version >= (0, 5, 10) else "dtype=torch.bfloat16, "
    end = (
        f"Load weight end. {elapsed}type=KimiK25ForConditionalGeneration, {kind}"
        f"avail mem={before - gib:.2f} GB, mem usage={gib:.2f} GB."
    )
    yield from on_all(ranks, [end], "load")


def kv_line(s: Scenario, tokens: int, gib: Sequence[float]) -> str:
    """One KV pool."""
    dtype = "dtype: torch.bfloat16, " if s.version >= (0, 5, 13) else ""
    sizes = (
        f"KV size: {gib[0]:.2f} GB"
        if len(gib) == 1
        else f"K size: {gib[0]:.2f} GB, V size: {gib[1]:.2f} GB"
    )
    return f"KV Cache is allocated. {dtype}#tokens: {tokens}, {sizes}"


def target_pools(s: Scenario) -> list[str]:
    """Everything of the target that is sized from the fraction."""
    lines = []
    if s.state_gib is not None:
        slots = f"max_mamba_cache_size: {s.state_slots}, " if s.version >= (0, 5, 3) else ""
        conv, ssm, *between = s.state_gib
        line = f"Mamba Cache is allocated. {slots}conv_state size: {conv:.2f}GB, ssm_state size: {ssm:.2f}GB "
        names = ("intermediate_ssm_state_cache", "intermediate_conv_window_cache")
        lines.append(
            line + "".join(f"{n} size: {g:.2f}GB " for n, g in zip(names, between, strict=False))
        )
    if s.window_kv_gib is not None:
        word = "Sliding" if s.version < (0, 5, 7) else "sliding"
        sizes = f"full_layer_tokens={s.pool_tokens}, swa_layer_tokens={s.window_tokens}"
        lines.append(f"Use {word} window memory pool. {sizes}")
        lines.append(kv_line(s, s.window_tokens, s.window_kv_gib))
    lines.append(kv_line(s, s.pool_tokens, s.kv_gib))
    taken = sum((*s.kv_gib, *(s.window_kv_gib or ()), *(s.state_gib or ())))
    lines.append(f"Memory pool end. avail mem={s.free_before_gib - s.weights_gib - taken:.2f} GB")
    return lines


def draft_pool(s: Scenario) -> list[str]:
    """The draft's pool."""
    return [
        kv_line(s, s.pool_tokens, s.draft_kv_gib or ()),
        f"Memory pool end. avail mem={s.free_gib + 1:.2f} GB",
    ]


def graphs(s: Scenario, ranks: Sequence[str], role: str) -> Iterator[tuple[str, str]]:
    """The capture of one role's graphs. One rank shows its progress, which one line holds."""
    before, taken = s.free_gib + s.graphs_gib, s.graphs_gib if role == "target" else 0.25
    if s.version >= (0, 5, 14):
        name = f"{role} decode CUDA graph"
        width = "num_tokens_per_req" if s.version >= (0, 5, 18) else "num_tokens_per_bs"
        begin = f"Capture {name} begin. backend=triton, {width}=1, bs=[1, 2, 4, 8], avail mem={before:.2f} GB"
        end = f"elapsed=4.10 s, mem usage={taken:.2f} GB, avail mem={before - taken:.2f} GB."
    else:
        name = "draft cuda graph" if role == "draft" else "cuda graph"
        begin = (
            f"Capture {name} begin. This can take up to several minutes. avail mem={before:.2f} GB"
        )
        sizes = [f"mem usage={taken:.2f} GB.", f"avail mem={before - taken:.2f} GB."]
        end = " ".join(
            ["Time elapsed: 4.10 s.", *(sizes if s.version > (0, 4, 6) else sizes[::-1])]
        )
    bars = "".join(
        f"\rCapturing batches (bs={8 >> at} avail_mem={before:.2f} GB): {25 * at:3d}%|{'#' * at}   | {at}/4 [00:00<00:01]"
        for at in range(5)
    )
    yield from on_all(ranks, [begin], "graphs")
    yield "graphs", bars
    yield from on_all(ranks, [f"Capture {name} end. {end}"], "graphs")


def summary(s: Scenario) -> str:
    """The scheduler's line."""
    free = f", available_gpu_mem={s.free_gib:.2f} GB" if s.version >= (0, 4, 7) else ""
    return (
        f"max_total_num_tokens={s.pool_tokens}, chunked_prefill_size={s.chunked_prefill}, "
        f"max_prefill_tokens=16384, max_running_requests={s.running_requests}, context_len={s.context}{free}"
    )


class Engine:
    """One running server."""

    def __init__(self, scenario: Scenario, settings: dict[str, Any]) -> None:
        """Not listening yet."""
        self.scenario = scenario
        self.settings = settings
        self.is_ready = False

    def info(self) -> dict[str, Any]:
        """`/server_info`: memory since 0.4.9, running requests since 0.5.10, the ranks' states in a list since 0.4.7."""
        s = self.scenario
        graphs: dict[str, Any] = {"graph": {"decode": s.graphs_gib}}
        if s.version < (0, 5, 18):
            graphs = {"graph" if s.version >= (0, 5, 2) else "cuda_graph": s.graphs_gib}
        state: dict[str, Any] = {"last_gen_throughput": 0.0}
        if s.version >= (0, 4, 9):
            kv = round(sum(s.kv_gib), 2)
            memory = {"weight": s.weights_gib, "kvcache": kv, "token_capacity": s.pool_tokens}
            state["memory_usage"] = {**memory, **graphs}
        if s.version >= (0, 5, 10):
            state["effective_max_running_requests_per_dp"] = s.running_requests
        told = {
            **self.settings,
            "status": "ready",
            "max_total_num_tokens": s.pool_tokens,
            "max_req_input_len": s.context - 6,
            "version": s.release,
        }
        return {**told, **state} if s.version < (0, 4, 7) else {**told, "internal_states": [state]}

    def metrics(self) -> str:
        """`/metrics`, as far as figures of the start are in it."""
        s = self.scenario
        names: dict[str, float] = {"token_usage": 0.0, "num_running_reqs": 0.0}
        if s.version >= (0, 5, 6):
            names["max_total_num_tokens"] = s.pool_tokens
        if s.version >= (0, 5, 11):
            names |= {"context_len": s.context, "startup_available_gpu_memory_gb": s.free_gib}
        labels = f'{{engine_type="unified",model_name="{self.settings.get("served_model_name")}",tp_rank="0"}}'
        return "".join(
            f"# TYPE sglang:{name} gauge\nsglang:{name}{labels} {float(value)}\n"
            for name, value in names.items()
        )

    def answer(self, path: str, *, key: str | None) -> tuple[int, bytes]:
        """The status and the body for a path."""
        if self.settings["node_rank"] > 0:  # `launch_dummy_health_check_server`
            healthy = ("/health", "/health_generate", "/ping")
            known = healthy if self.scenario.version >= (0, 5, 4) else healthy[:2]
            return (200 if path in known else 404), b""
        open_to_all = path.startswith(("/health", "/metrics"))
        if not open_to_all and self.settings["api_key"] not in (None, key):
            return 401, b'{"error":"Unauthorized"}'
        if path in ("/health", "/health_generate"):
            return (200 if self.is_ready else 503), b""
        if path == "/metrics" and self.settings["enable_metrics"]:
            return 200, self.metrics().encode()
        new = self.scenario.version >= (0, 5, 6)
        bodies: dict[str, Any] = {"/get_server_info": self.info()}
        model = {"model_path": self.settings.get("model_path"), "is_generation": True}
        bodies["/get_model_info"] = model
        bodies["/v1/models"] = {
            "object": "list",
            "data": [{"id": self.settings.get("served_model_name"), "object": "model"}],
        }
        if new:
            bodies |= {"/server_info": self.info(), "/model_info": model}
        return (200, json.dumps(bodies[path]).encode()) if path in bodies else (404, b"")

    def listen(self) -> ThreadingHTTPServer:
        """Answer from now on."""
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                header = self.headers.get("Authorization", "")
                status, body = engine.answer(self.path, key=header.removeprefix("Bearer "))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - as in the base
                say(prefixed("", f"INFO:     {self.client_address[0]} - {format % words}"))

        server = ThreadingHTTPServer((self.settings["host"], self.settings["port"]), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def run(self) -> int:
        """Start, serve, and end at a signal."""
        s = self.scenario
        half = f"| {s.shards // 2}/{s.shards} "
        for phase, line in start_lines(s, self.settings):
            say(line)
            time.sleep(s.step_s)
            if phase == "load" and half in line and "die" in s.faults:
                say("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0")
                return s.exit_code
            while phase == "load" and half in line and "hang" in s.faults:
                time.sleep(60)
        self.listen()
        if self.settings["node_rank"] > 0:
            say(prefixed("", "Dummy health check server started in background thread"))
            while True:
                time.sleep(60)
        say("INFO:     Application startup complete.")
        say(f"INFO:     Uvicorn running on http://{self.settings['host']}:{self.settings['port']}")
        time.sleep(s.warmup_s + (s.late_s if "late" in s.faults else 0.0))
        self.is_ready = True
        say(prefixed("", "The server is fired up and ready to roll!"))
        while True:
            time.sleep(60)


def say(line: str) -> None:
    """Print at once, as the server's logger does."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - it stands for a program


def main(words: list[str]) -> int:
    """The server, or any other script by the real Python."""
    if words[:2] != ENTRY:
        os.execv(sys.executable, [sys.executable, *words])
    scenario = Scenario.read(os.environ.get("STUB_SCENARIO"))
    settings = {**parse_arguments(words[2:]), **scenario.settings}
    if "ignore-sigterm" in scenario.faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    return Engine(scenario, settings).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
