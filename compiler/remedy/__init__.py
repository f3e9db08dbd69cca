"""The smallest changes that keep a promise, each with its price; and the most that a promise may ask for.

levers    what may be moved, one row each: the only place a new one is added to
change    the types: a lever, its moves, and what became of trying one
trials    planning again, once for each set of settings
search    the nearest move of a lever, or of a pair, that keeps the promise; or why none does
advice    the help of a refusal
fitting   everything that `fit` answers
room      the most of one thing, given the rest
usual     the fraction of a new profile
"""

from __future__ import annotations

from compiler.remedy.advice import advise
from compiler.remedy.change import Remedy


__all__ = ["Remedy", "advise"]
