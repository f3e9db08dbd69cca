"""Secrets stay in files on the host: never in argv, which every user of the host can read, nor in what is committed."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, Label, error
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule
from compiler.secrecy import is_secret, secret_parts


def _hidden(where: Origins, setting: str, text: str) -> Label:
    origin = where.find(setting)
    if origin is None:
        return where.primary(setting, text=text)
    return Label(origin.winner.value_span, text, secret=True)


@rule("secret-in-argv")
def in_argv(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A key on the command line is read by `ps` and stands in the repository."""
    for option in plan.options:
        if any(is_secret(option.flag, value) for value in option.values):
            yield error(
                "secret-in-argv",
                f"`{option.flag}` would put a secret on the command line",
                _hidden(where, option.setting, "looks like a secret"),
                notes=(
                    "every user of the host reads a command line, and everybody with the repository reads the unit",
                ),
                help=(
                    'put it into a YAML file on the host, readable by the service\'s user only, and set `secrets.api_key = { file = "/etc/poolproof/secrets/NAME.yaml" }`',
                    "change the secret: this one stands in a file of the repository",
                ),
                path=option.setting,
            )


@rule("secret-in-env")
def in_environment(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A key among the environment variables stands in the committed env file."""
    for variable in plan.environment:
        if is_secret(variable.name, variable.value):
            yield error(
                "secret-in-env",
                f"the variable `{variable.name}` would put a secret into the env file",
                _hidden(where, variable.setting, "looks like a secret"),
                notes=("the env file is committed and reviewed",),
                help=(
                    f"remove `{variable.setting}` and set the variable on the host, in a drop-in that is not committed",
                    "change the secret: this one stands in a file of the repository",
                ),
                path=variable.setting,
            )


@rule("secret-in-text")
def in_text(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A description and the reason of an accept are written into the unit, the plan and every report."""
    reasons = {f"accept.{code}": reason for code, reason in plan.profile.accept.items()}
    for setting, text in {"description": plan.profile.description or "", **reasons}.items():
        if secret_parts(text):
            yield error(
                "secret-in-text",
                f"`{setting}` would put a secret into what is committed",
                _hidden(where, setting, "holds what looks like a secret"),
                notes=("it stands in the unit, in the plan, and in every report of this service",),
                help=(
                    f"leave the secret out of `{setting}`",
                    "change the secret: this one stands in a file of the repository",
                ),
                path=setting,
            )
