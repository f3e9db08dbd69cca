"""A whole model that drafts for a larger one: its entry as a model says all that one as a draft would."""

from __future__ import annotations

from compiler.architecture import LayerKind
from compiler.diagnostics import listed
from compiler.facts import Draft, Gqa, Model


STANDALONE = "standalone"


def as_draft(model: Model | None) -> Draft | None:
    """A model as a draft that stands alone; `None` where it is more than dense layers of one kind in plain numbers."""
    if model is None:
        return None
    attention = model.attention
    if not isinstance(attention, Gqa) or _beyond(model):
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
        likeness=model.likeness,
        sources=model.sources,
        shipped=model.shipped,
    )


def _beyond(model: Model) -> list[str]:
    """What a model has that no entry of a draft tells, in words."""
    kinds = set(model.pattern)
    parts = (
        ("latent or compressed attention", not isinstance(model.attention, Gqa)),
        ("experts", model.moe is not None),
        ("layers with a state", model.state is not None or LayerKind.STATE in kinds),
        ("windows", model.window is not None or LayerKind.WINDOW in kinds),
        ("images", model.vision is not None),
        ("weights in few bits", model.quantization is not None),
        ("an MLP of two matrices", not model.gated_mlp),
    )
    return [name for name, there in parts if there]


def no_draft(model: Model, *, algorithm: str) -> str:
    """Why a model of the catalogue is not priced as the draft of an algorithm; what would have to be known."""
    if algorithm != STANDALONE:
        return f"how it drafts with `{algorithm}`; the catalogue has it as a whole model, which drafts with `{STANDALONE}`"
    return f"what its {listed(_beyond(model))} take in a draft; the catalogue has it as a model"
