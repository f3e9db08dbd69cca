"""What nobody described, by name: the checks say it, and memory is not judged for it."""

from __future__ import annotations

from attrs import frozen

from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Unknown(Value):
    """Something nobody described, so that memory cannot be priced.

    Attributes:
        code: the code of the finding (`model-unknown`).
        name: what it is called.
        setting: the setting that names it.
        missing: what would have to be known.
        near: a known name like it.
        is_sure: whether that one is meant for certain.
        told_by: the raw flags with which it would be known, each as a line under `[flags]`.
        since: the release from which on it is known.
    """

    code: str
    name: str
    setting: str
    missing: str
    near: str | None = None
    is_sure: bool = False
    told_by: tuple[str, ...] = ()
    since: str | None = None
