"""What nobody described, beside what the catalogue does have: a name like it, or the same thing as something else."""

from __future__ import annotations

from attrs import evolve

from compiler.catalog.lookup import Catalog
from compiler.catalog.shelves import Kind
from compiler.profile import Profile
from compiler.unknown import Unknown


_KINDS = {
    "gpu-unknown": Kind.GPU,
    "model-unknown": Kind.MODEL,
    "draft-unknown": Kind.DRAFT,
}


def beside_catalogue(unknown: Unknown, catalog: Catalog, profile: Profile) -> Unknown:
    """The same with the name of the catalogue that was probably meant, if there is one; a draft that it has as a model is known."""
    kind = _KINDS.get(unknown.code)
    if kind is None:
        return unknown
    if kind is Kind.GPU:
        from compiler.catalog.gpunames import gpu_id, near_gpu  # noqa: PLC0415 - only a name that is not known pays for it

        sure = gpu_id(unknown.name, catalog)
        if sure != unknown.name:
            return evolve(unknown, near=sure, is_sure=True)
        return evolve(unknown, near=near_gpu(unknown.name, catalog))
    model = catalog.model(unknown.name)[0] if kind is Kind.DRAFT else None
    if model is not None and profile.speculative is not None:
        from compiler.catalog.standing import no_draft  # noqa: PLC0415 - as above

        missing = no_draft(model, algorithm=profile.speculative.algorithm)
        return evolve(unknown, code="draft-unpriced", missing=missing)
    return evolve(unknown, near=catalog.near(kind, unknown.name))
