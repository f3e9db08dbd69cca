"""The smallest changes that keep a promise, each with its price; and the most that a promise may ask for.

levers      what may be moved, one row each; a new one is a row, and a function in `moves`
raw         the levers of raw flags, `states` those of a pool of states
moves       how far each lever goes from where it stands, step by step
pairs       which levers belong together
change      the types: a lever, its moves, and what became of trying one
saying      what a change does, in words
trials      what other settings come to, asked once for each set of them
replanning  the plan and the balance of a service with other settings
objections  such a plan held against every rule, `beside` against its neighbours
search      the nearest move of a lever, or of a pair, that keeps the promise; or why none does
guessing    about which move that is, where a search begins
stretched   the fraction as far as the reserve bears, and something else just far enough
nearest     the fewest requests to give up where cheaper levers make up for the rest
ranking     which change comes first
advice      the help of a refusal
fitting     everything that `fit` answers
scales      everything that one setting may be
room        the most of one thing, given the rest
usual       the fraction of a new profile
"""

from __future__ import annotations

from compiler.remedy.advice import advise
from compiler.remedy.change import Remedy


__all__ = ["Remedy", "advise"]
