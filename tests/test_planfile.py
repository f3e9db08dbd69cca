"""The layout of plan.json: what stands on one of its lines is written as Python's own `json` writes it."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.render.planfile import lay_out
from examples import examples


WRITABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
)


@given(WRITABLE)
@settings(derandomize=True, deadline=None, max_examples=examples(100))
def test_a_line_is_what_json_writes(value: object) -> None:
    """Texts, numbers, and tables of any depth."""
    assert lay_out({"a": [value]}) == (
        f'{{\n  "a": [\n    {json.dumps(value, ensure_ascii=False)}\n  ]\n}}\n'
    )
