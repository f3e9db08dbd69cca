"""What the server does not check and people needed: the hub, peer access, image transport, and settings without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.given import ALGORITHM, Given, given_by
from compiler.engines.sglang.launch import takes_images
from compiler.engines.sglang.rules.places import at, caution, line
from compiler.engines.sglang.settings import settings_of
from compiler.engines.sglang.speculation import BLOCK_FLAGS
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule
from compiler.value import Value


_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_OFFLINE_TRUE = frozenset({"1", "on", "yes", "true"})  # huggingface_hub constants.py


@rule("hub-offline")
def offline_wants_a_path(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """With the hub switched off a repository's name is looked up in the cache alone, each file of it."""
    given = given_by(plan)
    variable = next(
        (name for name in _OFFLINE if plan.profile.env.get(name, "").lower() in _OFFLINE_TRUE), None
    )
    named = _repository(given)
    if variable is None or named is None:
        return
    setting, name = named
    yield caution(
        "hub-offline",
        f"`{name}` is a repository's name, and the hub is switched off",
        at(given, where, f"env.{variable}", text="no downloads", beside={setting: "not a path"}),
        because="every file must be in the cache of the service's own user, in that revision; one that is missing ends the start",
        help=(
            "set `model.path`, and `speculative.draft_path` of a draft, to directories on the host",
            f"or leave `env.{variable}` out",
        ),
    )


def _repository(given: Given) -> tuple[str, str] | None:
    """The first of model and draft that is not a path, with its setting."""
    for name in ("model-path", "speculative-draft-model-path"):
        value = given.word(name)
        if value and not value.startswith(("/", ".", "~", "$")):
            return given.setting(name), value
    return None


_PAIR = 2


@rule("peer-access")
def two_cards_without_a_bridge(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Two PCIe cards reduce through each other's memory by the engine's own kernel, when a test of peer access passes.

    0.4.6 custom_all_reduce.py to 0.5.23 custom_all_reduce_utils.py: with more than two it is switched off. Public reports of
    what follows where the test passes and the host does not allow it: sgl-project/sglang#4814.
    """
    given, gpu, parallel = given_by(plan), plan.gpu, plan.profile.parallel
    if gpu is None or gpu.interconnect != "pcie" or platform(gpu) is not Platform.CUDA:
        return
    if (
        parallel.tensor != _PAIR
        or (given.whole("nnodes") or 1) > 1
        or given.on("disable-custom-all-reduce")
    ):
        return
    yield caution(
        "peer-access",
        "two PCIe cards exchange data by the engine's own kernel, which may hang or fail",
        at(
            given,
            where,
            "parallel.tensor",
            text="two ranks",
            beside={"gpus.kind": "cards on PCIe"},
        ),
        because="it is used where a test of peer access passes; with an IOMMU, or a driver that withholds peer access, it hangs or faults",
        help=(
            "set `disable-custom-all-reduce = true` under `[flags]`, unless it was seen to work on this host",
        ),
    )


@rule("image-transport")
def images_by_shared_memory(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """0.5.17 alone hands images over by CUDA IPC on its own (`_handle_multimodal_feature_transport`); 0.5.18 takes it back."""
    given, model = given_by(plan), plan.model
    if model is None or not given.since("0.5.17") or not given.before("0.5.18"):
        return
    own_choice = (
        given.word("mm-feature-transport") is None
        and "SGLANG_USE_CUDA_IPC_TRANSPORT" not in plan.profile.env
    )
    alone = (given.whole("nnodes") or 1) == 1 and given.word("disaggregation-mode") in {
        None,
        "null",
    }
    if not own_choice or not alone or plan.gpu is None or platform(plan.gpu) is not Platform.CUDA:
        return
    if not takes_images(settings_of(plan.profile, plan.release), model):
        return
    yield caution(
        "image-transport",
        "this release hands images over by CUDA IPC, which few hosts allow",
        at(
            given,
            where,
            "model.id",
            text="takes images",
            beside={"engine.version": "chooses `cuda_ipc` by itself"},
        ),
        because="it reserves up to 1 GiB on the first GPU, and where ptrace is restricted (Yama, seccomp of a container) the first image fails",
        help=('set `mm-feature-transport = "cpu"` under `[flags]`',),
    )


@frozen(kw_only=True, eq=False, repr=False)
class _Effect(Value):
    """What a flag needs to do anything: one of these flags, or a variable that is not one of some texts."""

    flags: tuple[str, ...] = ()
    variable: str | None = None
    without: tuple[str, ...] = ()
    since: str = "0.4.6"


_TIER = _Effect(flags=("enable-hierarchical-cache", "disaggregation-decode-enable-offload-kvcache"))
_PRIORITIES = _Effect(flags=("enable-priority-scheduling",), since="0.5.10")
_DRAFTS = _Effect(flags=(ALGORITHM,))
_EFFECTS: Mapping[str, _Effect] = {
    "hicache-ratio": _TIER,
    "hicache-size": _TIER,
    "hicache-storage-backend": _TIER,
    "hicache-write-policy": _TIER,
    # check_server_args, 0.5.10 to 0.5.23: two warnings.
    "disable-priority-preemption": _PRIORITIES,
    "default-priority-value": _PRIORITIES,
    "speculative-num-steps": _DRAFTS,
    "speculative-eagle-topk": _DRAFTS,
    "speculative-num-draft-tokens": _DRAFTS,
    "speculative-draft-model-path": _DRAFTS,
    **dict.fromkeys(BLOCK_FLAGS, _DRAFTS),
    # 0.5.16 to 0.5.23 arg_groups/speculative_hook.py, `_handle_dspark`: off under "static", the default.
    "speculative-dspark-sps-table-path": _Effect(
        variable="SGLANG_RAGGED_VERIFY_MODE", without=("", "static"), since="0.5.16"
    ),
}
"""Flag -> what it needs. The server takes them all, some with a warning in its log."""


@rule("setting-ineffective", flags=_EFFECTS)
def does_something(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A setting that does nothing without another one is most likely missing it; see `_EFFECTS` for the sources."""
    given = given_by(plan)
    for name, needs in _EFFECTS.items():
        if given.value(name) is None or not given.since(needs.since):
            continue
        if any(given.value(flag) is not None for flag in needs.flags):
            continue
        if needs.variable and plan.profile.env.get(needs.variable, "") not in needs.without:
            continue
        wanted = f"env.{needs.variable}" if needs.variable else f"--{needs.flags[0]}"
        yield caution(
            "setting-ineffective",
            f"`--{name}` does nothing without `{wanted}`",
            at(given, where, name, text="without effect"),
            because="the server takes the flag and does not use it",
            help=(f"set {_wanted(needs)}, or leave {line(given, name)} out",),
        )


def _wanted(needs: _Effect) -> str:
    """What is missing, as a profile has it; advice for a launch command turns it into the flag."""
    if needs.variable:
        return f"`env.{needs.variable}`"
    flag = needs.flags[0]
    return "`speculative.algorithm`" if flag == ALGORITHM else f"`{flag} = true` under `[flags]`"


_INDEXER = "SGLANG_OPT_DSV4_NONPAGED_INDEXER_MIN_QUERY_TOKENS"


@rule("setting-ineffective")
def steps_reach_the_indexer(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A step shorter than the least that the indexer takes never reaches it (0.5.15 to 0.5.23 environ.py)."""
    given = given_by(plan)
    parallel, chunk = plan.profile.parallel, plan.profile.memory.chunked_prefill
    least = plan.profile.env.get(_INDEXER, "")
    if not least.isdecimal() or chunk is None or chunk <= 0 or not given.since("0.5.15"):
        return
    step = chunk // (parallel.data if parallel.dp_attention else 1)
    if step >= int(least):
        return
    yield caution(
        "setting-ineffective",
        f"`{_INDEXER}` asks for steps of {int(least):,} tokens, and they have {step:,}",
        at(
            given,
            where,
            f"env.{_INDEXER}",
            text="never reached",
            beside={"memory.chunked_prefill": f"{step:,} tokens on each rank"},
        ),
        because="the path that it switches on is then never taken",
        help=(f"set `env.{_INDEXER}` to {step}",),
    )
