"""Scheduling, determinism, and TLS: flags that want or exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.engines.sglang.rules.vendors import runs_here
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_PRIORITY, _POLICY = "enable-priority-scheduling", "schedule-policy"
_BY_PRIORITY = frozenset({"fcfs", "lof"})
_DETERMINISTIC, _BACKEND = "enable-deterministic-inference", "attention-backend"
_KEY, _CERTIFICATE = "ssl-keyfile", "ssl-certfile"
_PADDING, _COMPILE = "disable-cuda-graph-padding", "enable-torch-compile"


@rule("priority-policy", flags=(_PRIORITY,))
def priorities_want_a_queue(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Priorities order a queue by arrival or by length of output (0.5.3 to 0.5.23, `check_server_args`)."""
    given = given_by(plan)
    policy = given.word(_POLICY) or "fcfs"
    if not given.on(_PRIORITY) or policy in _BY_PRIORITY or not given.since("0.5.3"):
        return
    yield refusal(
        given,
        "priority-policy",
        f"priorities do not run with the policy `{policy}`",
        at(given, where, _POLICY, text=f"`{policy}`", beside={_PRIORITY: "orders by priority"}),
        because="the server stops with an assertion at start",
        help=(f'set `{_POLICY} = "fcfs"` or `{_POLICY} = "lof"`',),
    )


_LEFT = "leave the choice of the backend to the server"


def _deterministic_backends(given: Given) -> frozenset[str]:
    """0.5.3 to 0.5.19 server_args.py, from 0.5.20 arg_groups/choices.py: `DETERMINISTIC_ATTENTION_BACKEND_CHOICES`."""
    backends = {"flashinfer", "fa3", "triton"}
    if not given.before("0.5.13"):
        backends.add("ascend")
    if not given.before("0.5.16"):
        backends.add("fa4")
    if not given.before("0.5.19"):
        backends.add("intel_xpu")
    return frozenset(backends)


@rule("deterministic-backend", flags=(_DETERMINISTIC,))
def same_answers(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Few backends give the same answers in every batch (0.5.3 to 0.5.23, `_handle_deterministic_inference`)."""
    given = given_by(plan)
    backend = given.word(_BACKEND)
    if not given.on(_DETERMINISTIC) or backend is None or not given.since("0.5.3"):
        return
    allowed = _deterministic_backends(given)
    if backend in allowed:
        return
    gpu = plan.gpu
    here = [each for each in sorted(allowed) if gpu is None or runs_here(given, gpu, each)]
    named = " or ".join(f'`engine.attention_backend = "{each}"`' for each in here)
    yield refusal(
        given,
        "deterministic-backend",
        f"the attention backend `{backend}` does not give the same answers in every batch",
        at(
            given,
            where,
            _BACKEND,
            text=f"`{backend}`",
            beside={_DETERMINISTIC: "wants the same answers"},
        ),
        because=f"the server refuses to start; it takes {', '.join(f'`{each}`' for each in sorted(allowed))}",
        help=(f"set {named}, or leave the choice to the server" if here else _LEFT,),
    )


@rule("tls-pair", flags=(_KEY, _CERTIFICATE))
def key_and_certificate(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """TLS needs both files (0.5.10 to 0.5.23, `_handle_ssl_validation`)."""
    given = given_by(plan)
    there = [name for name in (_KEY, _CERTIFICATE) if given.word(name)]
    if len(there) != 1 or not given.since("0.5.10"):
        return
    missing = _CERTIFICATE if there == [_KEY] else _KEY
    yield refusal(
        given,
        "tls-pair",
        f"`--{there[0]}` needs `--{missing}`, too",
        at(given, where, there[0], text="one of two files"),
        help=(f"set `{missing}`, or leave both out",),
    )


@rule("graphs-unpadded", flags=(_PADDING,))
def compiled_for_every_batch(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Compiling for each batch size without padding takes many minutes, and is refused (0.5.12 to 0.5.23)."""
    given = given_by(plan)
    if not given.on(_PADDING) or not given.on(_COMPILE) or not given.since("0.5.12"):
        return
    yield refusal(
        given,
        "graphs-unpadded",
        f"`--{_PADDING}` and `--{_COMPILE}` exclude each other",
        at(
            given,
            where,
            _PADDING,
            text="a graph for every batch size",
            beside={_COMPILE: "each compiled"},
        ),
        because="the server stops with an assertion at start: every batch size would be compiled and tuned",
        help=(f"leave {line(given, _PADDING)} or {line(given, _COMPILE)} out",),
    )
