"""Profiles that a test writes into a tree of its own, and what is found in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compiler.catalog import Catalog, FolderReader, open_catalog
from compiler.inputs import Inputs
from compiler.judged import Checked
from compiler.language.load import DiskReader
from compiler.pipeline import check_profiles
from compiler.plan import Memory, Plan


def check_text(
    profiles: Path, text: str, *, name: str = "case", catalog: Catalog | None = None
) -> Checked:
    """Write a profile below a folder `profiles`, and check it."""
    return check_texts(profiles, {name: text}, catalog=catalog)


def check_texts(
    profiles: Path, texts: Mapping[str, str], *, catalog: Catalog | None = None
) -> Checked:
    """Write profiles below a folder `profiles`, and check them together."""
    for name, text in texts.items():
        path = profiles / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    known = open_catalog(FolderReader(profiles)) if catalog is None else catalog
    return check_profiles(tuple(texts), Inputs(reader=DiskReader(profiles), catalog=known))


def only_plan(checked: Checked) -> Plan:
    """The one plan that came of it."""
    (judged,) = checked.judged
    assert judged.plan is not None, checked.all_diagnostics
    return judged.plan


def memory_of(checked: Checked) -> Memory:
    """Both budgets of the one plan."""
    memory = only_plan(checked).memory
    assert memory is not None, checked.all_diagnostics
    return memory


def codes_of(checked: Checked) -> list[str]:
    """The codes of all findings, sorted."""
    return sorted(each.code for each in checked.all_diagnostics)


def help_of(checked: Checked, code: str) -> str:
    """The help of the one finding of a code."""
    (found,) = (each for each in checked.all_diagnostics if each.code == code)
    return "\n".join(found.help)
