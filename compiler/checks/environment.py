"""Environment variables that something else here already decides."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, present
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule
from compiler.visibledevices import VISIBLE, Shown, shown_by


@rule("variable-owned")
def visible_devices(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Which GPUs the server sees is a typed setting: the count of GPUs and the layout are judged by it."""
    value = plan.profile.env.get(VISIBLE)
    if value is None:
        return
    shown = shown_by(value)
    yield error(
        "variable-owned",
        f"`{VISIBLE}` is written by `gpus.indices`",
        where.primary(f"env.{VISIBLE}", text="would decide which GPUs the server sees"),
        secondary=present(where.label("gpus.indices", "names the GPUs, too")),
        notes=(
            "the plan judges the GPUs of `[gpus]`, and the server would take those of the variable",
        ),
        help=(_instead(shown),),
        path=f"env.{VISIBLE}",
    )


def _instead(shown: Shown) -> str:
    """What to write in place of the variable, as far as it can be known here."""
    if shown.indices is not None and shown.because is None:
        return f"set `gpus.indices = {list(shown.indices)}`, and remove `env.{VISIBLE}`"
    names = [each for each in shown.gpus if not each.isdigit()]
    if names:
        from compiler.checks.meant.indices import by_index  # noqa: PLC0415 - only a mistake pays for it

        found = by_index(names, f"env.{VISIBLE}")
        is_slice = names[0].startswith("MIG-")
        return found if is_slice else f"{found}: set `gpus.indices`, and remove `env.{VISIBLE}`"
    return f"set `gpus.indices`, and remove `env.{VISIBLE}`"
