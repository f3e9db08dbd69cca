"""How the typed settings are spelled for one release: full flag names, one order for ever.

A setting whose flag was renamed lists all its names, newest first; the first that the release has is written. A new
setting is one row of `_ROWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from compiler.engines.engine import Spelled
from compiler.engines.sglang.speculation import DSPARK
from compiler.facts import Release
from compiler.plan import Option, Variable
from compiler.profile import AUTO, Argument, Profile
from compiler.value import Value
from compiler.visibledevices import VISIBLE


ENTRY = ("-m", "sglang.launch_server")
"""How the server is started in every release (the `sglang` command exists since 0.5.5 only)."""

Words = tuple[str, ...]


@frozen(kw_only=True, eq=False, repr=False)
class Row(Value):
    """One typed setting: the names its flag had, newest first, and its words; `None` when it is not set."""

    setting: str
    flags: tuple[str, ...]
    words: Callable[[Profile], Words | None]
    why: str | None = None


def _given(value: object) -> Words | None:
    return None if value is None else (str(value),)


def _when(condition: bool) -> Words | None:  # noqa: FBT001 - a truth value is all there is to say
    return () if condition else None


def _beyond_one(size: int) -> Words | None:
    return None if size == 1 else (str(size),)


def _algorithm(profile: Profile) -> Words | None:
    return (profile.speculative.algorithm.upper(),) if profile.speculative else None


def _draft(profile: Profile) -> Words | None:
    speculative = profile.speculative
    return _given((speculative.draft_path or speculative.draft) if speculative else None)


def _kv_dtype(profile: Profile) -> Words | None:
    return None if profile.memory.kv_dtype == "auto" else (profile.memory.kv_dtype,)


def _secret_config(profile: Profile) -> Words | None:
    return _given(profile.secrets.api_key.file if profile.secrets.api_key else None)


def _speculative(name: str) -> Callable[[Profile], Words | None]:
    return lambda profile: (
        _given(getattr(profile.speculative, name)) if profile.speculative else None
    )


def _block(profile: Profile, *, dspark: bool) -> Words | None:
    speculative = profile.speculative
    drafts = speculative is not None and (speculative.algorithm == DSPARK) is dspark
    return _speculative("block_size")(profile) if drafts else None


_ROWS: tuple[Row, ...] = (
    Row(
        setting="model.path", flags=("--model-path",), words=lambda p: (p.model.path or p.model.id,)
    ),
    Row(
        setting="model.served_name",
        flags=("--served-model-name",),
        words=lambda p: _given(p.model.served_name),
    ),
    Row(
        setting="model.trust_remote_code",
        flags=("--trust-remote-code",),
        words=lambda p: _when(p.model.trust_remote_code),
        why="runs Python code that comes with the checkpoint",
    ),
    Row(setting="serve.host", flags=("--host",), words=lambda p: (p.serve.host,)),
    Row(setting="serve.port", flags=("--port",), words=lambda p: (str(p.serve.port),)),
    Row(
        setting="secrets.api_key",
        flags=("--config",),
        words=_secret_config,
        why="the API key: read from a file on the host, so that it stands in no argv",
    ),
    Row(
        setting="parallel.tensor",
        flags=("--tensor-parallel-size",),
        words=lambda p: (str(p.parallel.tensor),),
    ),
    Row(
        setting="parallel.pipeline",
        flags=("--pipeline-parallel-size",),
        words=lambda p: _beyond_one(p.parallel.pipeline),
    ),
    Row(
        setting="parallel.data",
        flags=("--data-parallel-size",),
        words=lambda p: _beyond_one(p.parallel.data),
    ),
    Row(
        setting="parallel.expert",
        flags=("--expert-parallel-size",),
        words=lambda p: _beyond_one(p.parallel.expert),
    ),
    Row(
        setting="parallel.dp_attention",
        flags=("--enable-dp-attention",),
        words=lambda p: _when(p.parallel.dp_attention),
    ),
    Row(
        setting="serve.context",
        flags=("--context-length",),
        words=lambda p: None if p.serve.context == AUTO else (str(p.serve.context),),
    ),
    Row(
        setting="serve.max_running_requests",
        flags=("--max-running-requests",),
        words=lambda p: _given(p.serve.max_running_requests),
        why="each request less frees reserve (graph buffers, logits)",
    ),
    Row(setting="memory.kv_dtype", flags=("--kv-cache-dtype",), words=_kv_dtype),
    Row(
        setting="memory.chunked_prefill",
        flags=("--chunked-prefill-size",),
        words=lambda p: _given(p.memory.chunked_prefill),
        why="the activations of one prefill step come out of the reserve",
    ),
    Row(
        setting="memory.page_size",
        flags=("--page-size",),
        words=lambda p: _given(p.memory.page_size),
    ),
    Row(
        setting="memory.max_pool_tokens",
        flags=("--max-total-tokens",),
        words=lambda p: _given(p.memory.max_pool_tokens),
        why="caps the pool below what fits",
    ),
    Row(
        setting="memory.cuda_graph_max_batch",
        flags=("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs"),
        words=lambda p: _given(p.memory.cuda_graph_max_batch),
    ),
    Row(
        setting="engine.attention_backend",
        flags=("--attention-backend",),
        words=lambda p: _given(p.engine.attention_backend),
    ),
    Row(setting="speculative.algorithm", flags=("--speculative-algorithm",), words=_algorithm),
    Row(setting="speculative.draft", flags=("--speculative-draft-model-path",), words=_draft),
    Row(
        setting="speculative.block_size",
        flags=("--speculative-dflash-block-size",),
        words=lambda p: _block(p, dspark=False),
    ),
    Row(
        setting="speculative.block_size",
        flags=("--speculative-dspark-block-size",),
        words=lambda p: _block(p, dspark=True),
        why="a request verifies one token more than this at once",
    ),
    Row(
        setting="speculative.draft_window",
        flags=("--speculative-draft-window-size", "--speculative-dflash-draft-window-size"),
        words=_speculative("draft_window"),
        why="bounds what the draft attends to; its pool keeps every token, and it gets a second request table",
    ),
    Row(
        setting="speculative.tree_budget",
        flags=("--speculative-ddtree-budget",),
        words=_speculative("tree_budget"),
        why="a request verifies one token more than this at once",
    ),
    Row(
        setting="speculative.tree_topk",
        flags=("--speculative-ddtree-topk-cap",),
        words=_speculative("tree_topk"),
    ),
    Row(
        setting="parsers.tool_call",
        flags=("--tool-call-parser",),
        words=lambda p: _given(p.parsers.tool_call),
    ),
    Row(
        setting="parsers.reasoning",
        flags=("--reasoning-parser",),
        words=lambda p: _given(p.parsers.reasoning),
    ),
)
# From 0.5.22 on one flag says both that attention is data parallel and how wide; the two older ones are about to go.
_ATTENTION_DATA = Row(
    setting="parallel.data",
    flags=("--attn-dp-size",),
    words=lambda p: (str(p.parallel.data),),
)
_FRACTION_BEFORE = "memory.kv_dtype"
_FRACTION_FLAG = "--mem-fraction-static"
_FRACTION_WHY = (
    "share of the free memory for weights and pool; the pool it gives is worked out in PLAN.md"
)


def spell(profile: Profile, release: Release | None, *, fraction: float | None) -> Spelled:
    """The command line and environment, for the nearest release whose flags are known."""
    python = profile.engine.python or "python3"
    return Spelled(
        command=(python, *ENTRY),
        options=(*_typed(profile, release, fraction), *_raw(profile, release)),
        environment=tuple(_environment(profile)),
    )


def typed_rows() -> tuple[Row, ...]:
    """The typed settings that flags are written for; the static fraction, which may have to be found, is none of them."""
    return _ROWS


def owned_flags() -> dict[str, str]:
    """Every flag a typed setting writes, in any release -> that setting."""
    owned = {flag: row.setting for row in (*_ROWS, _ATTENTION_DATA) for flag in row.flags}
    owned[_FRACTION_FLAG] = "memory.fraction"
    return owned


def _typed(profile: Profile, release: Release | None, fraction: float | None) -> Iterator[Option]:
    for row in _rows(profile, release):
        if row.setting == _FRACTION_BEFORE and fraction is not None:
            yield Option(
                flag=_FRACTION_FLAG,
                values=(repr(fraction),),
                setting="memory.fraction",
                why=_FRACTION_WHY,
            )
        words = row.words(profile)
        if words is not None:
            yield Option(flag=_name(row, release), values=words, setting=row.setting, why=row.why)


def _rows(profile: Profile, release: Release | None) -> Iterator[Row]:
    """The rows for a release, in order."""
    one_flag = profile.parallel.dp_attention and _has(release, _ATTENTION_DATA.flags[0])
    for row in _ROWS:
        if one_flag and row.setting == _ATTENTION_DATA.setting:
            yield _ATTENTION_DATA
        elif not (one_flag and row.setting == "parallel.dp_attention"):
            yield row


def _name(row: Row, release: Release | None) -> str:
    return next((flag for flag in row.flags if _has(release, flag)), row.flags[0])


def _has(release: Release | None, name: str) -> bool:
    return release is not None and (name in release.flags or name in release.aliases)


def _raw(profile: Profile, release: Release | None) -> Iterator[Option]:
    for name, value in sorted(profile.flags.items()):
        if value is not False:
            yield Option(flag=f"--{name}", values=_words(value), setting=f"flags.{name}")
        elif _has(release, f"--no-{name}"):
            # Without either flag of a pair the engine decides, so that only this says no.
            yield Option(flag=f"--no-{name}", values=(), setting=f"flags.{name}")


def _words(value: Argument) -> Words:
    if value is True:
        return ()
    if isinstance(value, tuple):
        return tuple(str(each) for each in value)
    return (str(value),)


def _environment(profile: Profile) -> Iterator[Variable]:
    variables = {
        name: Variable(name=name, value=value, setting=f"env.{name}")
        for name, value in profile.env.items()
    }
    if profile.gpus.indices:
        indices = ",".join(str(index) for index in profile.gpus.indices)
        variables.setdefault(VISIBLE, Variable(name=VISIBLE, value=indices, setting="gpus.indices"))
    for name in sorted(variables):
        yield variables[name]
