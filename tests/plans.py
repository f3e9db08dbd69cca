"""A plan made by hand: the story's deployment, without the planner, for whatever prints or judges plans."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from compiler.facts import Evidence
from compiler.plan import Effective, Line, Memory, Option, Plan, Pool, Reserve, Service, Variable
from compiler.profile import (
    CheckpointPath,
    Engine,
    Gpus,
    HostPath,
    Model,
    Name,
    Parallel,
    Parsers,
    Profile,
    Secret,
    Secrets,
    Serve,
    Speculative,
    Target,
    Text,
    Version,
)
from compiler.profile import Memory as MemorySettings
from compiler.quantities import Duration
from compiler.ranges import Range


PYTHON = HostPath("/opt/sglang/bin/python")
SECRET_FILE = HostPath("/etc/poolproof/secrets/k26.yaml")


def story_profile() -> Profile:
    """`k2.6-200k`: 200,000 tokens for one request, on eight cards, with DDTree."""
    return Profile(
        description=Text("Kimi K2.6, one 200k-token request at a time"),
        model=Model(
            id=Text("moonshotai/Kimi-K2.6"),
            path=CheckpointPath("/srv/models/Kimi-K2.6"),
            served_name=Text("kimi-k2.6"),
        ),
        gpus=Gpus(kind=Text("rtx-pro-6000-blackwell"), count=8),
        engine=Engine(
            name=Name("sglang"), version=Version("0.5.11"), build=Name("ddtree"), python=PYTHON
        ),
        parallel=Parallel(tensor=8),
        serve=Serve(context=200_000, concurrency=1, max_running_requests=8),
        memory=MemorySettings(fraction=0.93, kv_dtype="auto", chunked_prefill=8192),
        speculative=Speculative(
            algorithm="ddtree",
            draft=Text("z-lab/Kimi-K2.6-DFlash"),
            block_size=8,
            draft_window=2048,
            tree_budget=8,
            tree_topk=4,
        ),
        parsers=Parsers(tool_call=Name("kimi_k2"), reasoning=Name("kimi_k2")),
        env={"NCCL_P2P_LEVEL": Text("SYS")},
        flags={"enable-metrics": True},
        secrets=Secrets(api_key=Secret(file=SECRET_FILE)),
        targets={"ct200": story_target()},
    )


def story_target() -> Target:
    """`ct200`, with the system's manager."""
    return Target(kind="systemd", user=Name("sglang"), start_timeout=Duration(1800))


def story_memory() -> Memory:
    """Both budgets at 0.93, with few lines."""
    return Memory(
        fraction=0.93,
        free_before_load_gib=Range(94.0, 94.0, 94.14),
        pool=Pool(
            required_tokens=200_005,
            request_tokens=200_005,
            tokens=Range(205_748, 205_748, 216_038),
            cell_bytes=77_184,
            cell_choices={77_184: "the draft's layers are counted", 70_272: "they are not"},
            rest_gib=Range(14.14, 14.79, 14.79),
            evidence=Evidence.CARRIED,
            best_formula=("rest = 94.0 x 0.93 - 72.63 = 14.79 GiB",),
        ),
        static=(
            Line(
                item="target weights",
                gib=Range(72.63, 72.63, 73.28),
                evidence=Evidence.CARRIED,
                formula="94.0 x 0.85 - 101,134 x 77,184 B",
            ),
        ),
        reserve=Reserve(
            available_gib=Range(6.58, 7.32, 7.32),
            needed_gib=Range(4.7, 5.6, 6.6),
        ),
        reserve_lines=(
            Line(
                item="draft weights",
                gib=Range.exactly(1.46),
                evidence=Evidence.DERIVED,
                formula="0.738 + 0.574 + 0.145",
            ),
        ),
    )


def story_plan(**changes: Any) -> Plan:  # noqa: ANN401 - any attribute of a plan
    """The plan of `k2.6-200k` on `ct200`; `changes` are attributes to replace."""
    profile = story_profile()
    plan = Plan(
        profile_name="k2.6-200k",
        target_name="ct200",
        profile=profile,
        target=story_target(),
        service=Service(
            unit="kimi-k2.6",
            state_dir="/var/lib/poolproof/kimi-k2.6",
            start_timeout_s=1800,
            unit_start_timeout_s=1860,
            stop_timeout_s=120,
            restart_delay_s=30,
            restarts=3,
            start_limit_interval_s=8040,
        ),
        gpu=None,
        model=None,
        draft=None,
        release=None,
        command=(PYTHON, "-m", "sglang.launch_server"),
        options=story_options(),
        environment=(Variable(name="NCCL_P2P_LEVEL", value="SYS", setting="env.NCCL_P2P_LEVEL"),),
        verify_width=9,
        running_requests=8,
        memory=story_memory(),
        required_tokens=200_005,
        probe="sglang/ready.py",
        effective=Effective(context=200_000, concurrency=1),
    )
    return evolve(plan, **changes)


def story_options() -> tuple[Option, ...]:
    """The flags of the story, in the engine's order."""
    return (
        Option(flag="--model-path", values=("/srv/models/Kimi-K2.6",), setting="model.path"),
        Option(flag="--served-model-name", values=("kimi-k2.6",), setting="model.served_name"),
        Option(flag="--tp-size", values=("8",), setting="parallel.tensor"),
        Option(flag="--host", values=("127.0.0.1",), setting="serve.host"),
        Option(flag="--port", values=("30000",), setting="serve.port"),
        Option(flag="--context-length", values=("200000",), setting="serve.context"),
        Option(
            flag="--max-running-requests",
            values=("8",),
            setting="serve.max_running_requests",
            why="frees reserve, not pool: index buffers grow with requests x context",
        ),
        Option(
            flag="--mem-fraction-static",
            values=("0.93",),
            setting="memory.fraction",
            why="the pool this gives is worked out in PLAN.md",
        ),
        Option(flag="--chunked-prefill-size", values=("8192",), setting="memory.chunked_prefill"),
        Option(flag="--speculative-algorithm", values=("DDTREE",), setting="speculative.algorithm"),
        Option(
            flag="--speculative-draft-model-path",
            values=("/srv/models/Kimi-K2.6-DFlash",),
            setting="speculative.draft_path",
        ),
        Option(flag="--cuda-graph-bs", values=("1", "2", "4", "8"), setting="flags.cuda-graph-bs"),
        Option(flag="--enable-metrics", setting="flags.enable-metrics"),
        Option(flag="--config", values=(SECRET_FILE,), setting="secrets.api_key"),
    )
