"""Rules about how the server is started: its secrets file and its Python."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.engines.sglang.backends import page_size
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import labels
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


@rule("secret-not-yaml")
def secret_is_yaml(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """`--config` reads files that end in .yaml or .yml only (server_args_config_parser.py), and one of them only."""
    secret = plan.profile.secrets.api_key
    if secret is None or secret.file.lower().endswith((".yaml", ".yml")):
        return
    yield error(
        "secret-not-yaml",
        f"the API key's file must end in `.yaml` or `.yml`, not `{secret.file.rpartition('/')[2]}`",
        where.primary("secrets.api_key.file", text="read by `--config`"),
        notes=("the server refuses any other name before it reads the file",),
        help=("name it like `/etc/poolproof/secrets/NAME.yaml`, with the one line `api-key: ...`",),
        path="secrets.api_key.file",
    )


@rule("chunk-not-paged")
def chunk_in_whole_pages(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A prefill step takes whole pages (server_args.py, line 6825), after the backend's own page size and the ranks' share."""
    memory, parallel = plan.profile.memory, plan.profile.parallel
    backend = plan.attention_backend or plan.profile.engine.attention_backend or ""
    page = page_size(backend, memory.page_size)
    asked = plan.prefill_chunk if memory.chunked_prefill is None else memory.chunked_prefill
    only_decodes = given_by(plan).word("disaggregation-mode") == "decode"
    if asked is None or asked <= 0 or only_decodes:
        return
    groups = parallel.data if parallel.dp_attention else 1
    chunk = asked // groups
    if chunk % page == 0:
        return
    share = f", a share of {asked}," if groups > 1 else ""
    own = page == memory.page_size
    pages = {"memory__page_size" if own else "engine__attention_backend": f"pages of {page} tokens"}
    yield error(
        "chunk-not-paged",
        f"a prefill step of {chunk} tokens{share} is no multiple of pages of {page}",
        where.primary("memory.chunked_prefill", text=f"steps of {chunk} tokens")
        if memory.chunked_prefill is not None
        else where.primary(
            "memory.page_size", "engine.attention_backend", text=f"pages of {page} tokens"
        ),
        secondary=labels(where, **pages) if memory.chunked_prefill is not None else (),
        notes=("the server stops with an assertion at start",),
        help=(f"set `memory.chunked_prefill` to {max(1, chunk // page) * page * groups}",),
        path="memory.chunked_prefill",
    )


@rule("dp-attention-ranks")
def ranks_divide(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Data parallel attention shares the tensor parallel ranks out evenly."""
    parallel = plan.profile.parallel
    if not parallel.dp_attention or parallel.data == 1 or parallel.tensor % parallel.data == 0:
        return
    yield error(
        "dp-attention-ranks",
        f"{parallel.tensor} tensor parallel ranks do not divide into {parallel.data} for attention",
        where.primary("parallel.data", text=f"{parallel.data} groups"),
        secondary=labels(where, parallel__tensor=f"{parallel.tensor} ranks"),
        notes=("the server stops with a bare assertion at start",),
        help=("choose a data parallel size that divides the tensor parallel size",),
        path="parallel.data",
    )


@rule("model-name-colon")
def served_name_without_colon(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A colon in the served name separates an adapter's name (server_args.py, line 6804); the path stands in for it."""
    model = plan.profile.model
    name = model.served_name or model.path or model.id
    if ":" not in name:
        return
    setting = "served name" if model.served_name else "path, which is also the served name,"
    yield error(
        "model-name-colon",
        f"the model's {setting} holds a colon: `{name}`",
        where.primary(
            *(["model.served_name"] if model.served_name else ["model.path", "model.id"]),
            text="a colon separates an adapter's name",
        ),
        notes=("the server refuses to start",),
        help=(f"set `model.served_name`, for instance to `{_plain(name)}`",),
        path="model.served_name",
    )


def _plain(name: str) -> str:
    return name.rpartition("/")[2].replace(":", "-")
