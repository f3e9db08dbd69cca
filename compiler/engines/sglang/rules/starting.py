"""Rules about how the server is started: its secrets file, its groups, its name, and what it is to answer."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, labels, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Parallel
from compiler.quantities import counted
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
        help=(
            f"set `parallel.data` to a size that divides {parallel.tensor}, such as `parallel.data = {_below(parallel)}`",
        ),
        path="parallel.data",
    )


def _below(parallel: Parallel) -> int:
    """The largest number of groups below the one that is set that the ranks divide into."""
    return next(each for each in range(parallel.data, 0, -1) if parallel.tensor % each == 0)


@rule("requests-below-groups")
def a_request_for_each_group(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Groups of the attention share the running requests out, and none may be left with nothing.

    0.4.2 to 0.5.22 managers/tp_worker.py asserts `max_running_request is zero`; 0.5.23 gives each one
    (mem_cache/kv_cache_configurator.py, `resolve_max_num_reqs`).
    """
    given, groups = given_by(plan), plan.profile.parallel.limit_shares
    asked = plan.profile.serve.max_running_requests
    if asked is None or asked >= groups or given.before("0.4.2") or given.since("0.5.23"):
        return
    yield refusal(
        given,
        "requests-below-groups",
        f"{counted(asked, 'running request')} cannot be shared out over {groups} groups of the attention",
        at(
            given,
            where,
            "serve.max_running_requests",
            text=f"{asked} // {groups} = 0 on each",
            beside={"parallel.data": f"{groups} groups"},
        ),
        because="each is left with none, and the server stops: `max_running_request is zero`",
        help=(f"set `serve.max_running_requests = {groups}` or more",),
    )


_SERVED = "served-model-name"
_OBJECT_STORES = ("s3://", "gs://", "az://")  # utils/runai_utils.py, SUPPORTED_SCHEMES


@rule("model-name-colon")
def served_name_without_colon(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A colon in the served name separates an adapter's name (0.5.6 to 0.5.23, `check_server_args`); the path stands in for it.

    From 0.5.10 on an address in an object store is let through (`is_runai_obj_uri`; 0.5.9 has no such exception, 0.5.11 has).
    """
    model, given = plan.profile.model, given_by(plan)
    served = given.word(_SERVED)
    name = served or model.path or model.id
    if ":" not in name or given.before("0.5.6"):
        return
    if given.since("0.5.10") and name.lower().startswith(_OBJECT_STORES):
        return
    setting = "served name" if served else "path, which is also the served name,"
    yield error(
        "model-name-colon",
        f"the model's {setting} holds a colon: `{name}`",
        where.primary(
            *([given.setting(_SERVED)] if served else ["model.path", "model.id"]),
            text="a colon separates an adapter's name",
        ),
        notes=("the server refuses to start",),
        help=(f"set `model.served_name`, for instance to `{_plain(name)}`",),
        path=given.setting(_SERVED) if served else "model.served_name",
    )


def _plain(name: str) -> str:
    return name.rpartition("/")[2].replace(":", "-")


_EMBEDDING = "is-embedding"


@rule("embedding-off")
def embeds(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """An architecture of a language model is served as one, unless the flag says otherwise (`is_generation_model`)."""
    model = plan.model
    if model is None or not model.embeds or given_by(plan).value(_EMBEDDING):
        return
    yield warning(
        "embedding-off",
        f"`{model.id}` is made for embeddings, and is served as a model that writes text",
        where.primary(
            "model.id", text=f"its architecture is a language model's, `{model.architecture}`"
        ),
        notes=(
            f"without `--{_EMBEDDING}` the server starts, and refuses each request for an embedding",
            f"known from {model.sources.get('embeds', 'the catalogue')}",
        ),
        help=(f"set `{_EMBEDDING} = true` under `[flags]`",),
        path="model.id",
    )
