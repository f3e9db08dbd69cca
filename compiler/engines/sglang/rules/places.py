"""Labels at several settings, and how to be rid of one, for the rules of this engine."""

from __future__ import annotations

from compiler.diagnostics import Label, present
from compiler.origins import Origins
from compiler.plan import Plan


def labels(where: Origins, **texts: str) -> tuple[Label, ...]:
    """A label at each of these settings that a file sets; `__` stands for the dot."""
    return present(
        *(where.label(setting.replace("__", "."), text) for setting, text in texts.items())
    )


def removal(plan: Plan, where: Origins, *settings: str) -> str:
    """How to be rid of settings: what the profile sets itself is removed, what it inherits is unset."""
    origins = {setting: where.find(setting) for setting in settings}
    inherited = [
        setting
        for setting, origin in origins.items()
        if origin is not None and origin.winner.profile != plan.profile_name
    ]
    own = [f"`{setting}`" for setting in settings if setting not in inherited]
    steps = [f"remove {' and '.join(own)}"] if own else []
    if inherited:
        steps.append(f"add `unset = {inherited}`".replace("'", '"'))
    return " and ".join(steps)
