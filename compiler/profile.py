"""The typed profile: every setting with its type, default and meaning. No behaviour.

The field metadata is the reference: near names, the list edits of `merge`, the generated documentation and the JSON schema
are all read from here. A new setting is one field in this file and one line in the engine that spells it.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NewType

from attrs import field, frozen

from compiler.most import CAPTURED, DRAFTED, GPUS, LAST_PORT, LONGEST, PAGE, REQUESTS, TOKENS
from compiler.quantities import Duration
from compiler.value import Value


HostPath = NewType("HostPath", str)
"""An absolute path on the host, without control characters."""

CheckpointPath = NewType("CheckpointPath", str)
"""An absolute path on the host as the engine is to be told it: what it shows to clients may depend on the spelling."""

Text = NewType("Text", str)
"""Text without control characters."""

Name = NewType("Name", str)
"""Letters, digits and `.`, `_`, `-`: what a unit, a user or a served model may be called in a file name."""

UnitName = NewType("UnitName", str)
"""A `Name` without `.service`, which is added."""

Version = NewType("Version", str)
"""The number of a release, in full: `0.5.11`, `0.4.6.post5`."""

Argument = bool | int | float | str | tuple[str, ...]
"""A raw engine flag's value: `true` for a flag without one; a list for a flag that takes several words."""

KvDtype = Literal["auto", "bf16", "bfloat16", "fp8_e4m3", "fp8_e5m2"]
"""Number formats of a KV cache; `auto` follows the checkpoint."""

AUTO: Final = "auto"
"""Left to the engine: no flag is written."""

SCHEMA = 1
"""The version of the profile language this compiler reads."""


def setting(
    help: str,  # noqa: A002 - the word for it
    *,
    unit: str | None = None,
    at_least: int | Duration | None = None,
    at_most: int | Duration | None = None,
    **options: Any,  # noqa: ANN401 - as attrs.field has it
) -> Any:  # noqa: ANN401 - likewise
    """One setting; without a default it is required in a deployable profile.

    The bounds are what makes sense at all, of each item where the setting is a list; whether a value fits the engine
    or the model is a check's business.
    """
    bounds = {"at_least": at_least, "at_most": at_most}
    return field(metadata={"help": help, "unit": unit, **bounds}, **options)


@frozen(kw_only=True, eq=False, repr=False)
class Model(Value):
    """Which model, where its files are, and the name clients ask for."""

    id: Text = setting("catalogue id of the model, as on its public hub")
    path: CheckpointPath | None = setting("directory of the checkpoint on the host", default=None)
    served_name: Text | None = setting("name clients ask for; else the id", default=None)
    trust_remote_code: bool = setting("let the engine run code from the checkpoint", default=False)


@frozen(kw_only=True, eq=False, repr=False)
class Gpus(Value):
    """The cards of one server."""

    kind: Text = setting("catalogue id of the GPU")
    count: int = setting("how many of them the server uses", unit="GPUs", at_least=1, at_most=GPUS)
    indices: tuple[int, ...] = setting(
        "which of the host's GPUs, as `nvidia-smi` counts them, on each node; all when empty",
        at_least=0,
        at_most=GPUS - 1,
        default=(),
    )


@frozen(kw_only=True, eq=False, repr=False)
class Engine(Value):
    """The engine, its exact release, and how it is started."""

    name: Name = setting("engine")
    version: Version = setting("release, written in full")
    build: Name | None = setting("catalogue overlay for a private build", default=None)
    python: HostPath | None = setting(
        "the Python that has this release of the engine installed; one path for each release on a host",
        default=None,
    )
    attention_backend: Name | None = setting(
        "attention kernels; the engine chooses when not set", default=None
    )


@frozen(kw_only=True, eq=False, repr=False)
class Parallel(Value):
    """How the model is laid out over the GPUs."""

    tensor: int = setting("tensor parallel size", at_least=1, at_most=GPUS, default=1)
    pipeline: int = setting("pipeline parallel size", at_least=1, at_most=GPUS, default=1)
    data: int = setting("data parallel size", at_least=1, at_most=GPUS, default=1)
    expert: int = setting("expert parallel size", at_least=1, at_most=GPUS, default=1)
    dp_attention: bool = setting(
        "split attention, not the model, over data parallel ranks", default=False
    )

    def share(self, requests: int) -> int:
        """Of so many requests at once, spread evenly, the most that one replica has in its pool."""
        return -(-requests // self.data)

    @property
    def limit_shares(self) -> int:
        """What `serve.max_running_requests` is divided by: replicas of the attention share it, others each have it whole."""
        return self.data if self.dp_attention else 1

    def groups_for(self, experts: int) -> int:
        """The largest size of `expert`, no larger than it is, that divides both the ranks and so many experts."""
        sizes = range(min(self.expert, self.tensor), 0, -1)
        return next(each for each in sizes if self.tensor % each == experts % each == 0)

    def limit_of(self, each: int) -> int:
        """`serve.max_running_requests` for so many on each replica."""
        return each * self.limit_shares


@frozen(kw_only=True, eq=False, repr=False)
class Serve(Value):
    """What is promised: `concurrency` requests of `context` tokens.

    The pool must hold them; where data parallel replicas each have a pool, each must hold an even share of them.
    """

    context: int | Literal["auto"] = setting(
        'longest request, input and output together; "auto": what the engine derives from the checkpoint, and no flag',
        unit="tokens",
        at_least=16,
        at_most=TOKENS,
    )
    concurrency: int = setting(
        "requests of full context at the same time, over all data parallel replicas, which hold an even share each",
        at_least=1,
        at_most=REQUESTS,
        default=1,
    )
    max_running_requests: int | None = setting(
        "most requests the engine runs at once, on each data parallel replica, but with dp_attention on all of them together; "
        "the engine's own default when not set",
        at_least=1,
        at_most=REQUESTS,
        default=None,
    )
    host: Text = setting("address to listen on", default="127.0.0.1")
    port: int = setting("port to listen on", at_least=1, at_most=LAST_PORT, default=30000)

    @property
    def tokens(self) -> int:
        """The context as a number: in a plan that sizes memory "auto" has been worked out."""
        if isinstance(self.context, str):
            raise ValueError("the context was not worked out")  # noqa: TRY004 - a fault of ours, not a type
        return self.context


@frozen(kw_only=True, eq=False, repr=False)
class Memory(Value):
    """How the engine may divide the GPU's memory."""

    fraction: float | Literal["fit", "auto"] = setting(
        'share of the free memory for weights and KV pool; "fit": the least that keeps the promise; '
        '"auto": what the engine picks, and no flag'
    )
    kv_dtype: KvDtype = setting("number format of the KV cache", default="auto")
    chunked_prefill: int | None = setting(
        "tokens of a prompt computed in one step; -1: all at once",
        unit="tokens",
        at_least=-1,
        at_most=TOKENS,
        default=None,
    )
    page_size: int | None = setting(
        "tokens in a page of the pool", unit="tokens", at_least=1, at_most=PAGE, default=None
    )
    max_pool_tokens: int | None = setting(
        "upper limit for the pool", unit="tokens", at_least=1, at_most=TOKENS, default=None
    )
    cuda_graph_max_batch: int | None = setting(
        "largest batch captured as a CUDA graph",
        unit="requests",
        at_least=1,
        at_most=CAPTURED,
        default=None,
    )


@frozen(kw_only=True, eq=False, repr=False)
class Speculative(Value):
    """Speculative decoding."""

    algorithm: Literal[
        "dflash", "ddtree", "dspark", "eagle", "eagle3", "nextn", "standalone", "ngram"
    ] = setting("how tokens are drafted and verified")
    draft: Text | None = setting("catalogue id of the draft model", default=None)
    draft_path: CheckpointPath | None = setting("directory of the draft on the host", default=None)
    block_size: int | None = setting(
        "tokens drafted at once (DFlash, DDTree, DSpark)",
        unit="tokens",
        at_least=1,
        at_most=DRAFTED,
        default=None,
    )
    draft_window: int | None = setting(
        "tokens the draft attends to", unit="tokens", at_least=1, at_most=TOKENS, default=None
    )
    tree_budget: int | None = setting(
        "nodes of the verified tree (DDTree)", at_least=1, at_most=DRAFTED, default=None
    )
    tree_topk: int | None = setting(
        "most children of one node (DDTree)", at_least=1, at_most=DRAFTED, default=None
    )


@frozen(kw_only=True, eq=False, repr=False)
class Parsers(Value):
    """What the engine makes of the model's special tokens."""

    tool_call: Name | None = setting("tool call parser", default=None)
    reasoning: Name | None = setting("reasoning parser", default=None)


@frozen(kw_only=True, eq=False, repr=False)
class Secret(Value):
    """A secret that stays in a file on the host."""

    file: HostPath = setting("file on the host, readable by the service's user only")


@frozen(kw_only=True, eq=False, repr=False)
class Secrets(Value):
    """Secrets, by where they are; never their values."""

    api_key: Secret | None = setting("YAML file that holds `api-key:`", default=None)


@frozen(kw_only=True, eq=False, repr=False)
class Target(Value):
    """One way the profile is deployed; its name is a host's."""

    kind: Literal["systemd"] = setting("what is written")
    user: Name | None = setting("user the service runs as; root when not set", default=None)
    unit: UnitName | None = setting("unit without `.service`; else the served name", default=None)
    manager: Literal["system", "user"] = setting("which systemd manager runs it", default="system")
    state_dir: HostPath | None = setting("where the host keeps generations", default=None)
    start_timeout: Duration | None = setting(
        "how long a load may take; worked out from the checkpoint's size when not set",
        at_most=LONGEST,
        default=None,
    )
    stop_timeout: Duration = setting(
        "how long running requests may take to end", at_most=LONGEST, default=Duration(120)
    )
    restart_delay: Duration = setting(
        "pause before a restart", at_most=LONGEST, default=Duration(30)
    )
    restarts: int = setting(
        "starts that may fail before the unit gives up", at_least=1, at_most=1000, default=3
    )
    on_change: Literal["restart", "manual"] = setting(
        "what `switch` does to a running service that has changed: restart it, or leave that to a person",
        default="restart",
    )


@frozen(kw_only=True, eq=False, repr=False)
class Profile(Value):
    """One profile after merging, with its defaults filled in."""

    description: Text | None = setting("one line on what this deployment is for", default=None)
    model: Model = setting("which model")
    gpus: Gpus = setting("which GPUs")
    engine: Engine = setting("which engine")
    parallel: Parallel = setting("layout over the GPUs", factory=Parallel)
    serve: Serve = setting("what is promised")
    memory: Memory = setting("how memory is divided")
    speculative: Speculative | None = setting("speculative decoding; off when absent", default=None)
    parsers: Parsers = setting("output parsers", factory=Parsers)
    env: Mapping[str, Text] = setting("environment variables", factory=dict)
    flags: Mapping[str, Argument] = setting("any other engine flag, without dashes", factory=dict)
    secrets: Secrets = setting("secrets, by file", factory=Secrets)
    accept: Mapping[str, Text] = setting("findings accepted, each with its reason", factory=dict)
    targets: Mapping[str, Target] = setting("where it is deployed", factory=dict)
