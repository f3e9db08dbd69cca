"""Every change that a help text offers, applied: does it really mend what it is offered for?"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.memory.outcome import Outcome, pool_outcome, reserve_outcome
from compiler.plan import Plan
from compiler.remedy import Remedy
from compiler.remedy.advice import pool_remedies, reserve_remedies
from compiler.remedy.fitting import fit
from compiler.remedy.replanning import Replanner
from compiler.remedy.trials import Trials
from deployments import check_text, codes_of, memory_of, only_plan


SHARED = Path(__file__).parent / "rules" / "shared"
TARGET = '[targets.ct200]\nkind = "systemd"\n'
HEAD = 'schema = 1\nextends = ["base/kimi-k2.6", "base/service", "base/{engine}", "hw/8x-rtx-pro-6000"]\n'

REFUSED = {
    "story 0.85": "serve.context = 200_000\nserve.max_running_requests = 64\nmemory.fraction = 0.85",
    "story 0.92": "serve.context = 200_000\nserve.max_running_requests = 8\nmemory.fraction = 0.92",
    "both short": "serve.context = 200_000\nserve.max_running_requests = 64\nmemory.fraction = 0.92",
    "default requests": "serve.context = 200_000\nmemory.fraction = 0.88",
    "many at once": "serve.context = 100_000\nserve.concurrency = 3\nserve.max_running_requests = 64\nmemory.fraction = 0.9",
    "many at once, no reserve": "serve.context = 100_000\nserve.concurrency = 3\nserve.max_running_requests = 64\nmemory.fraction = 0.97",
    "longest": "serve.context = 262_144\nserve.max_running_requests = 16\nmemory.fraction = 0.93",
    "narrow already": 'serve.context = 200_000\nserve.concurrency = 2\nserve.max_running_requests = 8\nmemory.fraction = 0.89\nmemory.kv_dtype = "fp8_e4m3"',
    "capped": "serve.context = 200_000\nserve.max_running_requests = 8\nmemory.fraction = 0.93\nmemory.max_pool_tokens = 150_000",
    "fit, too much": 'serve.context = 200_000\nserve.concurrency = 4\nserve.max_running_requests = 8\nmemory.fraction = "fit"',
    "uncertain": "serve.context = 192_700\nserve.max_running_requests = 8\nmemory.fraction = 0.92",
    "no room for graphs": "serve.context = 100_000\nserve.max_running_requests = 64\nmemory.fraction = 0.945",
    "thin": "serve.context = 200_000\nserve.max_running_requests = 8\nmemory.fraction = 0.93",
    "whole prompts": "serve.context = 100_000\nserve.max_running_requests = 8\nmemory.fraction = 0.9\nmemory.chunked_prefill = -1",
    "default chunk": 'unset = ["memory.chunked_prefill"]\n'
    "serve.context = 200_000\nserve.max_running_requests = 8\nmemory.fraction = 0.94",
}


ENGINES = ("sglang-ddtree", "sglang-dflash", "sglang-plain")
HOPELESS = frozenset({"many at once, no reserve"})
"""Those that no single setting mends: both budgets are short, and each lever eases only one."""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with what the cases of the rules share."""
    folder = tmp_path_factory.mktemp("tree") / "profiles"
    shutil.copytree(SHARED, folder)
    return folder


@pytest.fixture(scope="module")
def catalog(profiles: Path) -> Catalog:
    """What is known in that tree."""
    return open_catalog(FolderReader(profiles))


def fragment(settings: str, *, engine: str) -> str:
    return f"{HEAD.format(engine=engine)}{settings}\n"


def offers(plan: Plan, catalog: Catalog) -> Iterable[Remedy]:
    again = Replanner(plan=plan, catalog=catalog)
    assert plan.memory is not None
    if pool_outcome(plan.memory) is not Outcome.PASSES:
        yield from pool_remedies(plan, Trials(replan=again))
    if (
        reserve_outcome(plan.memory) is not Outcome.PASSES
        and pool_outcome(plan.memory) <= Outcome.UNCERTAIN
    ):
        yield from reserve_remedies(plan, Trials(replan=again))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_offered_mends(name: str, engine: str, profiles: Path, catalog: Catalog) -> None:
    """A profile that takes an offer over passes where it failed, and is refused nowhere else."""
    refused = fragment(REFUSED[name], engine=engine)
    before = check_text(profiles, refused + TARGET, name="refused", catalog=catalog)
    (profiles / "refused.toml").write_text(refused)
    failing = {each for each in codes_of(before) if each.startswith("pool-")} or set(
        codes_of(before)
    )
    for offer in offers(only_plan(before), catalog):
        taken = "\n".join(f"{setting} = {value}" for setting, value in offer.settings)
        text = f'schema = 1\nextends = ["refused"]\n{taken}\n{TARGET}'
        after = check_text(profiles, text, name="taken", catalog=catalog)
        assert not after.refused, (str(offer), codes_of(after))
        assert failing.isdisjoint(codes_of(after)), (str(offer), codes_of(after))
        assert memory_of(after) == offer.plan.memory


@pytest.mark.parametrize("name", REFUSED)
def test_something_is_offered(name: str, profiles: Path, catalog: Catalog) -> None:
    """Some single setting mends each of these, but for the hopeless."""
    text = fragment(REFUSED[name], engine="sglang-ddtree") + TARGET
    plan = only_plan(check_text(profiles, text, name="refused", catalog=catalog))
    assert bool(list(offers(plan, catalog))) == (name not in HOPELESS)


@pytest.mark.parametrize("name", sorted(HOPELESS))
def test_what_was_tried_in_vain_is_named(name: str, profiles: Path, catalog: Catalog) -> None:
    """There is more to change than is tried, so that the help denies nothing but what it names."""
    text = fragment(REFUSED[name], engine="sglang-ddtree") + TARGET
    found = check_text(profiles, text, name="refused", catalog=catalog).all_diagnostics
    (line,) = [each for one in found for each in one.help if "none alone mends" in each]
    assert "`memory.fraction`" in line
    assert "gpus.count" not in line


def test_room_is_made_for_requests_that_are_promised(profiles: Path, catalog: Catalog) -> None:
    """Where the limit has to be raised and the reserve then is short, both are mended, and the whole promise is kept."""
    settings = "serve.context = 2000\nserve.concurrency = 64\nserve.max_running_requests = 2\nmemory.fraction = 0.965"
    text = fragment(settings, engine="sglang-ddtree") + TARGET
    plan = only_plan(check_text(profiles, text, name="refused", catalog=catalog))
    first, *_ = fit(
        plan, Trials(replan=Replanner(plan=plan, catalog=catalog)), refused=True
    ).remedies
    assert [name for name, _ in first.settings] == ["serve.max_running_requests", "memory.fraction"]
    taken = "\n".join(f"{setting} = {value}" for setting, value in first.settings)
    (profiles / "refused.toml").write_text(fragment(settings, engine="sglang-ddtree"))
    mended = f'schema = 1\nextends = ["refused"]\n{taken}\n{TARGET}'
    assert not check_text(profiles, mended, name="taken", catalog=catalog).refused
