"""Code that a checkpoint brings: it runs only where the engine is told to trust it."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, warning
from compiler.engines.sglang.given import given_by
from compiler.facts import comes_as_code
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_FLAGS = ("trust-remote-code", "skip-tokenizer-init", "tokenizer-path")
"""With any of these the checkpoint's own code is run, or its tokenizer is not asked for."""


@rule("code-untrusted")
def untrusted(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A tokenizer that comes as code is not loaded without leave, and the server ends with an error about it."""
    model = plan.model
    if model is None or not model.custom_code or given_by(plan).value(*_FLAGS) is not None:
        return
    yield warning(
        "code-untrusted",
        f"`{model.id}` brings code of its own, and nothing lets the engine run it",
        where.primary("model.trust_remote_code", "model.id", text=comes_as_code(model.custom_code)),
        notes=(
            "without it that part is not loaded, and the server does not start, unless the engine has the part itself",
            f"known from {model.sources.get('custom_code', 'the catalogue')}",
        ),
        help=("read the code, then set `model.trust_remote_code = true`",),
        path="model.trust_remote_code",
    )
