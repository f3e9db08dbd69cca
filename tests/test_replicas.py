"""A promise over data parallel replicas: each pool holds an even share, and limits of requests are those of the whole server."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.judged import Verdict
from compiler.plan import Plan
from compiler.planner import look_up, plan_profile
from compiler.remedy.fitting import fit
from compiler.remedy.moves import fewer_requests
from compiler.remedy.ranking import given_up
from compiler.remedy.replanning import Replanner
from compiler.remedy.trials import Trials
from compiler.render.review import render_review
from compiler.report.verdicts import verdict_lines
from compiler.why.influence import influences
from compiler.why.naming import named
from deployments import check_text, help_of, only_plan
from test_pool_layouts import CATALOG


LAYOUTS = {
    "replicas": "[gpus]\nkind = 'h200'\ncount = 4\n[parallel]\ndata = 4",
    "groups": "[gpus]\nkind = 'h200'\ncount = 4\n[parallel]\ntensor = 4\ndata = 4\ndp_attention = true",
}
ONE = 4_096 - 4 + 1


def profile(
    layout: str, *, concurrency: int, running: int | None = 64, pool: int = 2 * ONE, more: str = ""
) -> str:
    limit = "" if running is None else f"max_running_requests = {running}\n"
    return f"""
schema = 1
{LAYOUTS[layout]}
[engine]
name = "sglang"
version = "0.5.11"
python = "/opt/sglang/bin/python"
[model]
id = "Qwen/Qwen3-30B-A3B"
path = "/srv/models/q"
[serve]
context = 4_096
concurrency = {concurrency}
{limit}
[memory]
fraction = 0.85
max_pool_tokens = {pool}
{more}
[targets.box]
kind = "systemd"
user = "sglang"
"""


def planned(tmp_path: Path, text: str) -> Plan:
    return only_plan(check_text(tmp_path, text, catalog=CATALOG))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("concurrency", "needed", "verdict"),
    [
        (1, ONE, Verdict.PASS),
        (4, ONE, Verdict.PASS),
        (5, 2 * ONE, Verdict.PASS),
        (8, 2 * ONE, Verdict.PASS),
        (9, 3 * ONE, Verdict.REFUSED),
    ],
)
def test_each_pool_holds_its_share(
    layout: str, concurrency: int, needed: int, verdict: Verdict, tmp_path: Path
) -> None:
    """Two requests fit in each of four pools: eight are kept, and nine are not."""
    checked = check_text(tmp_path, profile(layout, concurrency=concurrency), catalog=CATALOG)
    (judged,) = checked.judged
    assert (only_plan(checked).required_tokens, judged.verdict) == (needed, verdict)


def test_the_share_is_told(tmp_path: Path) -> None:
    """A refusal says how many of the promised requests one pool would have to hold."""
    checked = check_text(tmp_path, profile("replicas", concurrency=9), catalog=CATALOG)
    (found,) = (each for each in checked.all_diagnostics if each.code == "pool-too-small")
    assert found.primary is not None
    assert found.primary.text == "3 of 9 full requests need 12,279 slots on each of 4 replicas"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_a_client_gets_counts_all_pools(layout: str, tmp_path: Path) -> None:
    """Four pools of two requests serve eight at once."""
    plan = planned(tmp_path, profile(layout, concurrency=1))
    assert plan.effective is not None
    assert plan.effective.concurrency == 8


@pytest.mark.parametrize(
    ("layout", "asked", "each"),
    [
        ("replicas", 2, 2),
        ("groups", 8, 2),
        ("groups", 11, 2),  # what is left over runs nowhere
        ("groups", 12, 3),
    ],
)
def test_the_limit_of_the_whole_server(layout: str, asked: int, each: int, tmp_path: Path) -> None:
    """Groups of the attention share the limit, and whole copies each take it."""
    plan = planned(tmp_path, profile(layout, concurrency=1, running=asked))
    assert (plan.running_each, plan.running_requests) == (each, 4 * each)


@pytest.mark.parametrize(("layout", "mends"), [("replicas", 3), ("groups", 12)])
def test_the_limit_that_is_advised_mends(layout: str, mends: int, tmp_path: Path) -> None:
    """Nine requests at once want three on a replica, and the advice is what the setting then has to be."""
    running = {"replicas": 2, "groups": 8}[layout]
    short = profile(layout, concurrency=9, running=running, pool=3 * ONE)
    assert f"serve.max_running_requests = {mends} " in help_of(
        check_text(tmp_path, short, catalog=CATALOG), "concurrency-beyond-limit"
    )
    enough = profile(layout, concurrency=9, running=mends, pool=3 * ONE)
    assert not check_text(tmp_path, enough, catalog=CATALOG).refused


@pytest.mark.parametrize(("layout", "mends"), [("replicas", 3), ("groups", 12)])
def test_a_limit_below_the_promise_is_raised(layout: str, mends: int, tmp_path: Path) -> None:
    """`fit` offers first what keeps the whole promise: as many running requests as it wants on each replica."""
    running = {"replicas": 2, "groups": 8}[layout]
    plan = planned(tmp_path, profile(layout, concurrency=9, running=running, pool=3 * ONE))
    trials = Trials(replan=Replanner(plan=plan, catalog=CATALOG))
    first = fit(plan, trials, refused=True).remedies[0]
    assert first.settings == (("serve.max_running_requests", str(mends)),)
    assert given_up(plan, first.plan) == 0


@pytest.mark.parametrize(("layout", "last"), [("replicas", 2), ("groups", 8)])
def test_fewer_requests_keep_the_promise(layout: str, last: int, tmp_path: Path) -> None:
    """The fewest running requests that are tried still run the eight that are promised."""
    plan = planned(tmp_path, profile(layout, concurrency=8))
    moves = fewer_requests(plan)
    assert not isinstance(moves, str)
    fewest = moves.at(moves.count).profile
    assert fewest.serve.max_running_requests == last
    (after,) = plan_profile("case", fewest, CATALOG).plans
    assert after.running_requests == 8


@pytest.mark.parametrize(
    ("concurrency", "pool", "said"),
    [
        (
            8,
            3 * ONE,
            "at worst all come to one, which has room for 3 at once, and the others wait",
        ),
        (
            8,
            8 * ONE,
            "one has room for all of them",
        ),
    ],
)
def test_the_spread_is_said(concurrency: int, pool: int, said: str, tmp_path: Path) -> None:
    """The plan and the verdict say what is taken for granted, and what the worst comes to."""
    text = profile("replicas", concurrency=concurrency, pool=pool)
    checked = check_text(tmp_path, text, catalog=CATALOG)
    spread = "the 8 requests are taken as spread evenly over 4 replicas, no more than 2 on one"
    assert f"{spread}; {said}" in only_plan(checked).assumptions
    assert said in render_review(checked.judged)
    assert "2 of 8 requests on each of 4 replicas" in "\n".join(verdict_lines(checked.judged))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_request_is_not_spread(layout: str, tmp_path: Path) -> None:
    """With one request at a time there is nothing to take for granted."""
    plan = planned(tmp_path, profile(layout, concurrency=1))
    assert not any("spread" in each for each in plan.assumptions)


def test_the_reasons_of_the_spread_are_found(tmp_path: Path) -> None:
    """What is taken for granted hangs on the settings that it speaks of."""
    plan = planned(tmp_path, profile("replicas", concurrency=8))
    (said,) = (each for each in plan.assumptions if "spread" in each)
    facts, _, _ = look_up(plan.profile, CATALOG)

    def parts_of(plans: tuple[Plan, ...]) -> dict[str, object]:
        return dict(named({"assumptions": list(plans[0].assumptions)}))

    found = influences("case", plan.profile, facts, parts_of=parts_of)
    settings = {each.setting for each in found[f"assumptions[{said}]"]}
    assert {"serve.concurrency", "parallel.data"} <= settings
