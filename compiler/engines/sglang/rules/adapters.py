"""LoRA adapters: what must be said before the first one is there, and how many there may be."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_ON, _PATHS = "enable-lora", "lora-paths"
_RANK, _MODULES = "max-lora-rank", "lora-target-modules"
_LOADED, _BATCH = "max-loaded-loras", "max-loras-per-batch"
_USUAL_BATCH = 8


@rule("lora-shape", flags=(_ON,))
def shape_without_adapters(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Without an adapter to look at, the largest rank and the modules must be said (0.4.9.post6 to 0.5.23)."""
    given = given_by(plan)
    if not given.on(_ON) or given.words(_PATHS) or not given.since("0.4.9.post6"):
        return
    missing = [
        name
        for name, there in ((_RANK, given.whole(_RANK)), (_MODULES, given.words(_MODULES)))
        if not there
    ]
    if not missing:
        return
    yield refusal(
        given,
        "lora-shape",
        f"`--{_ON}` without adapters needs {' and '.join(f'`--{name}`' for name in missing)}",
        at(given, where, _ON, text="no adapter is given"),
        because="the server stops with an assertion at start: it cannot size the adapters' buffers",
        help=(
            f"set {' and '.join(f'`{name}`' for name in missing)}, or name adapters in `{_PATHS}`",
        ),
    )


@rule("lora-count", flags=(_LOADED,))
def counts_agree(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """As many adapters are kept as a batch may use, and as are given (0.5.1 to 0.5.23, `check_lora_server_args`)."""
    given = given_by(plan)
    loaded, paths = given.whole(_LOADED), given.words(_PATHS)
    if loaded is None or not (given.on(_ON) or paths) or not given.since("0.5.1"):
        return
    batch = given.whole(_BATCH) or _USUAL_BATCH
    if loaded < batch:
        fault, beside = f"a batch may use {batch}", {_BATCH: f"{batch} in a batch"}
    elif loaded < len(paths):
        fault, beside = f"{len(paths)} are given", {_PATHS: f"{len(paths)} adapters"}
    else:
        return
    yield refusal(
        given,
        "lora-count",
        f"{loaded} adapters may be loaded, and {fault}",
        at(given, where, _LOADED, text=f"{loaded} adapters", beside=beside),
        because="the server stops with an assertion at start",
        help=(f"set `{_LOADED} = {max(batch, len(paths))}` or more, or `{_BATCH}` to less",),
    )
