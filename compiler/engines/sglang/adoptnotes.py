"""What there is to say about a flag on its way into a profile, or out of it."""

from __future__ import annotations

from compiler.engines.adopting import Carried, ChangeKind, Noted
from compiler.engines.sglang.grouping import Group


def repeated(carried: Carried) -> Noted:
    """Of a refused flag that is given several times."""
    text = f"`{carried.flag}` is given again later; only the last one is carried"
    return Noted(kind=ChangeKind.FOLDED, text=text, words=carried.words)


def not_known(group: Group) -> Noted:
    """Of what hangs on the start."""
    shown = " ".join(word.text for word in group.words)
    text = (
        f"`{shown}` is not known before the start"
        if group.name is not None
        else f"`{shown}` may hold more flags, known at the start only"
    )
    return Noted(kind=ChangeKind.UNKNOWN, text=text, words=group.places)
