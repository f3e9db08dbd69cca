"""Raw launch commands, asked about in a line: the plan of one, and the lines of its budgets."""

from __future__ import annotations

from compiler.catalog import open_catalog
from compiler.plan import Line, Memory, Plan
from compiler.predict import Question, make_predictor


_CATALOG = open_catalog()


def planned(
    command: str,
    *,
    version: str,
    gpu: str = "h200",
    count: int = 8,
    public: bool = True,
    **env: str,
) -> Plan:
    """What a server would be started with; without the `public` boots that come with the catalogue where that is said."""
    words = f"python -m sglang.launch_server {command}".split()
    words = ["env", *(f"{name}={value}" for name, value in env.items()), *words] if env else words
    question = Question(gpu=gpu, count=count, engine="sglang", version=version, public=public)
    plan = make_predictor(_CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    return plan


def sized(
    command: str,
    *,
    version: str,
    gpu: str = "h200",
    count: int = 8,
    public: bool = True,
    **env: str,
) -> Memory:
    """Both budgets of a server that is priced."""
    plan = planned(command, version=version, gpu=gpu, count=count, public=public, **env)
    assert plan.memory is not None, plan.unknowns
    return plan.memory


def lines(memory: Memory) -> dict[str, Line]:
    """The lines of both budgets, by what they are."""
    return {each.item: each for each in (*memory.static, *memory.reserve_lines)}
