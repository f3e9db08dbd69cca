"""Algorithms of speculation that a release does not have, and that its parser takes all the same."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, listed
from compiler.engines.sglang.given import ALGORITHM, given_by
from compiler.engines.sglang.held import ALGORITHMS
from compiler.engines.sglang.rules.places import at, refusal
from compiler.engines.sglang.speculation import DSPARK_SINCE, TREE
from compiler.near import near
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_READ_SINCE = "0.5.13"
"""The parser's list of them ends before it."""
# `SpeculativeAlgorithm` and the aliases in speculative/spec_info.py of 0.5.13 to 0.5.23, by the first release.
_ALGORITHMS = {
    **dict.fromkeys(("DFLASH", "EAGLE", "EAGLE3", "FROZEN_KV_MTP", "NEXTN", "NGRAM"), _READ_SINCE),
    **dict.fromkeys(("NONE", "STANDALONE"), _READ_SINCE),
    "DSPARK": DSPARK_SINCE,
    "UNO": "0.5.20",
}


_TYPED = "speculative.algorithm"


def _written(name: str) -> str:
    """An algorithm as a profile has it: in its own setting, or raw where that has no word for it."""
    typed = name.lower()
    return f'{_TYPED} = "{typed}"' if typed in ALGORITHMS else f'{ALGORITHM} = "{name}"'


def _advice(meant: str, setting: str, where: Origins) -> str:
    """What to set; where a file has the flag raw, the setting takes its place."""
    written = _written(meant)
    is_moved = written.startswith(_TYPED) and setting != _TYPED and where.find(setting)
    return f"set `{written}` in place of `{setting}`" if is_moved else f"set `{written}`"


@rule("flag-value", flags=(ALGORITHM,))
def algorithm_is_there(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """From 0.5.13 on any word is parsed, and one that nothing is registered for ends the server (`from_string`).

    A build may register its own: those of a described one are known.
    """
    given = given_by(plan)
    asked, engine = given.word(ALGORITHM), plan.profile.engine
    if asked is None or not given.since(_READ_SINCE) or engine.build is not None:
        return
    speculative = plan.profile.speculative
    if speculative is not None and speculative.algorithm == TREE:
        return  # `ddtree-needs-build` says it, and what has it
    known = sorted(name for name, since in _ALGORITHMS.items() if given.since(since))
    if asked.upper() in known:
        return
    meant = near(asked.upper(), known)
    since = _ALGORITHMS.get(asked.upper())
    yield refusal(
        given,
        "flag-value",
        f"`{asked}` is no speculation algorithm of {engine.name} {engine.version}",
        at(given, where, ALGORITHM, text=f"from {since} on" if since else "no such algorithm"),
        because=f"the parser takes any word, and the server stops with this one; it has {listed(known)}",
        help=() if meant is None else (_advice(meant, given.setting(ALGORITHM), where),),
    )
