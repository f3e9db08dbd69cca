"""Random TOML documents as people write them: comments everywhere, blanks where they may be, tables in any order."""

from __future__ import annotations

from hypothesis import strategies as st


_BLANKS = st.sampled_from(["", " ", "  ", "\t"])
_WORDS = st.text("abz #=[]{},.'_-é", max_size=8)
_SCALARS = st.one_of(
    st.integers(-(10**7), 10**7).map(str),
    st.sampled_from(["1_0", "0x1F", "0.50", "1e3", "nan", "-inf", "true", "1979-05-27 07:32:00"]),
    st.sampled_from(["''", '""', "'a\\b'", "'say \"x\"'", "'plain # text'", '"tab\\t\\u00e9"']),
    _WORDS.map(lambda word: '"' + word.replace('"', "") + '"'),
    st.sampled_from(
        ['"""a\n  # no comment\n\nb"""', "'''c\n[not]\n'''", '"""x""""', '"""\\\n  y"""']
    ),
)


@st.composite
def _list(draw: st.DrawFn, items: st.SearchStrategy[str]) -> str:
    several = draw(st.lists(items, max_size=4))
    breaks = st.sampled_from(["", " ", "\n", "\n\n  ", " # in a list\n", "\n# alone\n\t"])
    text = "[" + draw(breaks)
    for number, item in enumerate(several):
        last = number == len(several) - 1
        comma = "," if not last or draw(st.booleans()) else ""
        text += item + draw(breaks) + comma + draw(breaks)
    return text + "]"


@st.composite
def _inline(draw: st.DrawFn, items: st.SearchStrategy[str]) -> str:
    keys = draw(st.lists(st.sampled_from(["a", "b", '"c d"', "'e'"]), unique=True, max_size=3))
    blank = draw(_BLANKS)
    pairs = [f"{key}{draw(_BLANKS)}={draw(_BLANKS)}{draw(items)}" for key in keys]
    return "{" + blank + f"{blank},{blank}".join(pairs) + blank + "}"


VALUES = st.recursive(_SCALARS, lambda inner: st.one_of(_list(inner), _inline(inner)), max_leaves=6)
_TABLES = (
    "serve",
    "memory",
    "env",
    "targets.ct200",
    'targets . "x y"',
    "defaults.memory",
    "force.serve",
    "unknown",
    "parallel",
    "unknown.below",
)
_KEYS = ("context", "port", "fraction", "a", '"quoted key"', "x . y", "x.z")
_TOP = ("description", "schema", "extends", "unset", "top", "dotted.a", "dotted . b")


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A valid document; each of its comments has a number of its own."""
    number = 0

    def comment() -> str:
        nonlocal number
        number += 1
        return f"#{draw(st.sampled_from(['', ' ']))}note {number}{draw(_BLANKS)}"

    def noise() -> list[str]:
        return [
            draw(_BLANKS) + (comment() if kind else "")
            for kind in draw(st.lists(st.booleans(), max_size=4))
        ]

    def statement(text: str) -> list[str]:
        behind = draw(_BLANKS) + comment() if draw(st.booleans()) else draw(_BLANKS)
        return [*noise(), draw(_BLANKS) + text + behind]

    def pairs(keys: tuple[str, ...]) -> list[str]:
        chosen = draw(st.lists(st.sampled_from(keys), unique=True, max_size=4))
        return [
            line
            for key in chosen
            for line in statement(f"{key}{draw(_BLANKS)}={draw(_BLANKS)}{draw(VALUES)}")
        ]

    lines = pairs(_TOP)
    for table in draw(st.lists(st.sampled_from(_TABLES), unique=True, max_size=5)):
        lines += statement(f"[{draw(_BLANKS)}{table}{draw(_BLANKS)}]") + pairs(_KEYS)
    for _ in range(draw(st.integers(0, 2))):
        lines += statement("[[ many ]]") + pairs(_KEYS)
    lines += noise()
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n\n"]))
