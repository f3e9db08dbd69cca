"""A whole model that drafts for a larger one: its entry as a model says all that one as a draft would."""

from __future__ import annotations

from compiler.architecture import LayerKind
from compiler.facts import Draft, Gqa, Model


STANDALONE = "standalone"


def as_draft(model: Model | None) -> Draft | None:
    """A model as a draft that stands alone; `None` where it is more than dense layers of one kind in plain numbers."""
    if model is None:
        return None
    attention = model.attention
    others = (model.moe, model.state, model.window, model.vision, model.quantization)
    plain = not any(others) and set(model.pattern) == {LayerKind.FULL} and model.gated_mlp
    if not isinstance(attention, Gqa) or not plain:
        return None
    return Draft(
        id=model.id,
        algorithms=(STANDALONE,),
        targets=(),
        hidden=model.hidden,
        layers=model.layers,
        intermediate=model.intermediate,
        heads=model.heads,
        attention=attention,
        taps=0,
        head_vocabulary=0 if model.tied else model.vocabulary,
        embedding_vocabulary=model.vocabulary,
        other_parameters=model.other_parameters,
        context=model.context,
        dtype_bits=model.dtype_bits,
        sources=model.sources,
        shipped=model.shipped,
    )
