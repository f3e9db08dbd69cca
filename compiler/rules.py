"""What a rule is: a function from a plan and its origins to findings. Rules judge, they never repair."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable
from importlib import import_module

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.value import Value


Judge = Callable[[Plan, Origins], Iterable[Diagnostic]]


@frozen(eq=False, repr=False)
class Rule(Value):
    """One rule with the codes it may give.

    Attributes:
        flags: of an engine, without dashes; where none of them is given there is nothing to judge. None for a rule that
            judges every plan.
    """

    codes: tuple[str, ...]
    judge: Judge
    flags: frozenset[str] = frozenset()


def rule(*codes: str, flags: Iterable[str] = ()) -> Callable[[Judge], Rule]:
    """Make a function a `Rule`; `codes` are all it may give, each with an explanation page; `flags` as in `Rule`."""

    def wrap(judge: Judge) -> Rule:
        return Rule(codes, judge, frozenset(flags))

    return wrap


def collect(package: str, *, without: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules of a package, in the order of their codes: those of each file in its folder, and none of folders below.

    A folder below is for what a rule loads only where it finds something. Files in `without` are not loaded.
    """
    (folder,) = sys.modules[package].__path__
    files = os.listdir(folder)
    names = sorted(each.removesuffix(".py") for each in files if each.endswith(".py"))
    modules = [
        import_module(f"{package}.{name}") for name in names if name not in ("__init__", *without)
    ]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Rule)]
    return tuple(sorted(found, key=lambda each: each.codes))
