"""The tokens of a page: what the server uses, where that is not what was asked for, and whole pages in a prefill step."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import page, page_size
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import ASSERTS, at, caution, refusal
from compiler.engines.sglang.settings import settings_of
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


_SIZE, _CHUNK = "memory.page_size", "memory.chunked_prefill"
_BACKENDS = ("decode-attention-backend", "attention-backend")


def used_page(given: Given) -> int:
    """Tokens of a page, whatever was asked for; by the backend alone where the model or the GPU is not known."""
    plan = given.plan
    backend = given.word(_BACKENDS[0]) or plan.attention_backend or given.word(_BACKENDS[1]) or ""
    if plan.model is None or plan.gpu is None:
        return page_size(backend, plan.profile.memory.page_size)
    settings = settings_of(plan.profile, plan.release)
    return page(settings, gpu=plan.gpu, model=plan.model, backend=backend)


def _deciders(given: Given) -> dict[str, str]:
    """The settings that may decide the page, each with what it says."""
    backend = given.word(*_BACKENDS) or given.plan.attention_backend
    return {
        **dict.fromkeys(_BACKENDS, f"`{backend}`"),
        "model.id": "decides with its backend",
    }


@rule("page-size-changed", flags=("page-size",))
def page_stays(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A page size that the server puts in place of the one asked for (server_args.py, 0.4.6 on; overrides.py)."""
    asked = plan.profile.memory.page_size
    if asked is None:
        return
    given = given_by(plan)
    used = used_page(given)
    if used == asked:
        return
    yield caution(
        "page-size-changed",
        f"the server runs with pages of {counted(used, 'token')}, not {asked}",
        at(given, where, _SIZE, text=f"pages of {asked}", beside=_deciders(given)),
        because="the server changes it with a warning in its log; the plan counts with what it really uses",
        help=(f"set `{_SIZE} = {used}`",),
    )


@rule("chunk-not-paged")
def chunk_in_whole_pages(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A prefill step takes whole pages (0.4.6 to 0.5.23, `check_server_args`), after the ranks' share of the step."""
    given, parallel = given_by(plan), plan.profile.parallel
    own = plan.profile.memory.chunked_prefill
    asked, used = plan.prefill_chunk if own is None else own, used_page(given)
    if asked is None or asked <= 0 or given.word("disaggregation-mode") == "decode":
        return
    groups = parallel.data if parallel.dp_attention else 1
    chunk = asked // groups
    if chunk % used == 0:
        return
    share = f", a share of {asked:,}," if groups > 1 else ""
    pages = {_SIZE: f"pages of {counted(used, 'token')}"}
    if used != plan.profile.memory.page_size:
        pages = _deciders(given)
    yield refusal(
        given,
        "chunk-not-paged",
        f"a prefill step of {counted(chunk, 'token')}{share} is no multiple of pages of {used}",
        at(
            given,
            where,
            *((_CHUNK,) if own is not None else (_SIZE, "engine.attention_backend")),
            text=f"steps of {counted(chunk, 'token')}"
            if own is not None
            else f"pages of {counted(used, 'token')}",
            beside=pages if own is not None else {},
        ),
        because=ASSERTS,
        help=(f"set `{_CHUNK} = {max(1, chunk // used) * used * groups}`",),
    )
