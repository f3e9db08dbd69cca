"""The numbers of speculation that drafts token by token, and of NGRAM: which are refused, and which are changed."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import ALGORITHM, BACKEND, BACKENDS, Given, given_by
from compiler.engines.sglang.rules.pages import used_page
from compiler.engines.sglang.rules.places import STOPS, at, caution, line, refusal
from compiler.engines.sglang.speculation import BLOCK_DRAFTED, DSPARK, NGRAM, STEPWISE
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


_STEPS, _TOPK, _TOKENS = (
    "speculative-num-steps",
    "speculative-eagle-topk",
    "speculative-num-draft-tokens",
)
_ADAPTIVE = "speculative-adaptive"
_BREADTH = "speculative-ngram-max-bfs-breadth"
_USUAL_BREADTH = 10
_OVERLAP_VARIABLE = "SGLANG_ENABLE_SPEC_V2"


def _algorithm(plan: Plan) -> str | None:
    return plan.profile.speculative.algorithm if plan.profile.speculative is not None else None


@rule("draft-numbers", flags=(ALGORITHM,))
def all_or_none(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Steps, branches and tokens are given together, or none of them.

    0.4.6 to 0.5.23 (server_args.py, from 0.5.13 arg_groups/speculative_hook.py): without steps the others must not be there;
    with steps, branches are compared with 1 as they are. One branch needs no tokens: they are set to steps + 1.
    """
    given = given_by(plan)
    if _algorithm(plan) not in STEPWISE or given.on(_ADAPTIVE):
        return
    steps, topk, tokens = (given.whole(each) for each in (_STEPS, _TOPK, _TOKENS))
    if (steps, topk, tokens) == (None, None, None):
        return
    missing = [
        name
        for name, value in ((_STEPS, steps), (_TOPK, topk), (_TOKENS, tokens))
        if value is None and not (name == _TOKENS and topk == 1)
    ]
    if not missing:
        return
    there = {name: "given" for name in (_STEPS, _TOPK, _TOKENS) if name not in missing}
    yield refusal(
        given,
        "draft-numbers",
        f"{' and '.join(f'`--{name}`' for name in missing)} must be given, too",
        at(
            given,
            where,
            *there,
            text="not without the others",
            beside=dict(list(there.items())[1:]),
        ),
        because="the server stops at start, with a bare assertion or an error about `None`",
        help=(
            "give all three: one branch with steps + 1 tokens is the usual chain (3, 1, and 4)",
            "or none: the server then chooses",
        ),
    )


@rule("draft-tokens-changed", flags=(ALGORITHM,))
def chain_of_steps(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """With one branch a request drafts steps + 1 tokens, whatever is asked for (0.4.6 to 0.5.23)."""
    given = given_by(plan)
    steps, topk, tokens = (given.whole(each) for each in (_STEPS, _TOPK, _TOKENS))
    if _algorithm(plan) not in STEPWISE or topk != 1 or steps is None:
        return
    if tokens is None or tokens == steps + 1:
        return
    yield caution(
        "draft-tokens-changed",
        f"the server drafts {counted(steps + 1, 'token')}, not {tokens}",
        at(
            given,
            where,
            _TOKENS,
            text=counted(tokens, "token"),
            beside={_STEPS: counted(steps, "step"), _TOPK: "one branch"},
        ),
        because=f"one branch of {counted(steps, 'step')} has {steps} + 1 tokens; the server changes the number with a warning in its log",
        help=(f"set `speculative-num-draft-tokens = {steps + 1}`",),
    )


@rule("draft-steps-ignored", flags=(ALGORITHM,))
def block_has_no_steps(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A block is drafted at once: steps and branches are set to 1 (0.5.11 to 0.5.23, `_handle_dflash`, `_handle_dspark`)."""
    given, asked = given_by(plan), plan.profile.speculative
    if asked is None or asked.algorithm not in BLOCK_DRAFTED:
        return
    ignored = [name for name in (_STEPS, _TOPK) if given.whole(name) not in {None, 1}]
    if not ignored:
        return
    yield caution(
        "draft-steps-ignored",
        f"{'DSpark' if asked.algorithm == DSPARK else 'DFlash'} runs with 1 for {' and '.join(f'`--{name}`' for name in ignored)}",
        at(
            given,
            where,
            *ignored,
            text="set to 1",
            beside={"speculative.algorithm": "drafts a block"},
        ),
        because="the server changes it with a warning in its log; the block is what decides",
        help=(
            f"leave {' and '.join(line(given, name) for name in ignored)} out, and set `speculative.block_size`",
        ),
    )


def _branches(plan: Plan, given: Given) -> int:
    """Branches of a drafted tree; 1 when it is a line, or when the server chooses."""
    algorithm = _algorithm(plan)
    if algorithm == NGRAM:
        return given.whole(_BREADTH) or _USUAL_BREADTH
    return (given.whole(_TOPK) or 1) if algorithm in STEPWISE else 1


def _paged_tree_backends(plan: Plan, given: Given) -> frozenset[str] | None:
    """The backends that verify a tree over pages of several tokens; `None` when the release does not ask."""
    if _algorithm(plan) == NGRAM:
        return frozenset({"flashinfer"}) if given.since("0.5.3") else None
    if not given.since("0.5.2"):
        return None
    if given.before("0.5.6"):
        return frozenset({"flashinfer"})
    return frozenset({"flashinfer", "fa3"} | (set() if given.before("0.5.13") else {"triton"}))


def _for_both_steps(plan: Plan, given: Given) -> str | None:
    """The backend that the server compares; `None` where one step has another and the common one is not said."""
    both, *split = (given.word(each) for each in BACKENDS)
    if both is not None:
        return both
    return None if any(split) else plan.attention_backend


@rule("draft-topk-page", flags=(ALGORITHM,))
def tree_over_pages(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A tree of drafted tokens over pages of several tokens.

    EAGLE: 0.5.2 to 0.5.23; NGRAM, whose tree is 10 wide: 0.5.3 to 0.5.23 (server_args.py, from 0.5.13 speculative_hook.py).
    0.4.6 to 0.4.8 set the branches to 1.
    """
    given = given_by(plan)
    branches = _branches(plan, given)
    if branches == 1:
        return
    backend, page = _for_both_steps(plan, given), used_page(given)
    allowed = _paged_tree_backends(plan, given)
    if page == 1 or backend is None or allowed is None or backend in allowed:
        return
    if backend == "trtllm_mha":
        return  # verifies no tree at all, which is said elsewhere
    width = _BREADTH if _algorithm(plan) == NGRAM else _TOPK
    named = " or ".join(f"`{each}`" for each in sorted(allowed))
    yield refusal(
        given,
        "draft-topk-page",
        f"a tree with {branches} branches is not verified over pages of {page} tokens by `{backend}`",
        at(
            given,
            where,
            width,
            "speculative.algorithm",
            text=f"{branches} branches",
            beside={"memory.page_size": f"pages of {page}", BACKEND: f"`{backend}`"},
        ),
        because=f"the server refuses to start: of the backends {named} can",
        help=(
            *(("set `memory.page_size = 1`",) if page == plan.profile.memory.page_size else ()),
            f"set `{width} = 1`",
            f"set the backend {named}",
        ),
    )


@rule("draft-topk-backend", flags=(ALGORITHM,))
def tree_needs_a_mask(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Backends that verify a line only, or nothing; see `_unverified`."""
    given = given_by(plan)
    found = _unverified(given, _branches(plan, given)) if _algorithm(plan) is not None else None
    if found is None:
        return
    backend, branches = found
    tree = branches > 1
    what = f"a tree with {branches} branches" if tree else "drafted tokens"
    yield refusal(
        given,
        "draft-topk-backend",
        f"the attention backend `{backend}` does not verify {what}",
        at(
            given,
            where,
            *((_TOPK, *BACKENDS) if tree else (BACKEND,)),
            text=f"{branches} branches" if tree else f"`{backend}`",
            beside=dict.fromkeys(BACKENDS, f"`{backend}`") if tree else {},
        ),
        help=(f"set `{_TOPK} = 1`, or another backend" if tree else "choose another backend",),
    )


def _unverified(given: Given, branches: int) -> tuple[str, int] | None:
    """The backend that is asked for, and the branches that it does not verify; 1 where it verifies nothing.

    `flex_attention`: 0.5.3 to 0.5.23 (`_handle_attention_backend_compatibility`). With a tree, `trtllm_mha`: 0.5.1 to 0.5.23;
    `fa3`: an assertion in 0.4.4.post4 to 0.4.5.post2 (layers/attention/flashattention_backend.py).
    """
    if given.word(BACKEND) == "flex_attention" and given.since("0.5.3"):
        return "flex_attention", 1
    asked = {given.word(each) for each in BACKENDS}
    if branches == 1 or _algorithm(given.plan) not in STEPWISE:
        return None
    if "trtllm_mha" in asked and given.since("0.5.1"):
        return "trtllm_mha", branches
    if "fa3" in asked and given.since("0.4.4.post4") and given.before("0.4.5.post3"):
        return "fa3", branches
    return None


@rule("draft-topk-overlap", flags=(ALGORITHM,))
def overlapped_line(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The worker that overlaps drafts a line only: refused with a tree in 0.5.7 to 0.5.10 (server_args.py).

    0.5.5 and 0.5.6 start, and fail in the first step: sgl-project/sglang#13352.
    """
    given = given_by(plan)
    branches = given.whole(_TOPK) or 1
    if _algorithm(plan) not in STEPWISE or branches == 1:
        return
    if not given.switched_on(_OVERLAP_VARIABLE):
        return
    if not given.since("0.5.5") or not given.before("0.5.11"):
        return
    yield refusal(
        given,
        "draft-topk-overlap",
        f"`{_OVERLAP_VARIABLE}` drafts one branch, not {branches}",
        at(
            given,
            where,
            _TOPK,
            text=f"{branches} branches",
            beside={f"env.{_OVERLAP_VARIABLE}": "the overlapping worker"},
        ),
        because=STOPS
        if given.since("0.5.7")
        else "the server starts, and fails in the first step: shapes of the tree do not match",
        help=(
            f"set `{_TOPK} = 1`, and the tokens to steps + 1",
            f"or leave `env.{_OVERLAP_VARIABLE}` out",
        ),
    )
