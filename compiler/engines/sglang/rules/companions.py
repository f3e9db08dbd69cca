"""Flags that want another one beside them, or do not stand it: tables, one row a check of the server."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class _Pair(Value):
    """Two flags of which the first wants or does not stand the second, from a release on."""

    flag: str
    other: str
    since: str


# 0.5.23 arg_groups/validation_hook.py `check_server_args`, serving_hook.py, speculative_hook.py, and before them
# server_args.py: the releases are those whose text has the message.
_WANTS = (
    _Pair(flag="export-metrics-to-file", other="export-metrics-to-file-dir", since="0.5.6"),
    _Pair(flag="enable-prefix-mm-cache", other="encoder-only", since="0.5.7"),
    _Pair(flag="enable-ssl-refresh", other="ssl-certfile", since="0.5.10"),
    _Pair(flag="enable-hisparse", other="disable-radix-cache", since="0.5.10"),
    _Pair(
        flag="speculative-draft-sink-size", other="speculative-draft-window-size", since="0.5.21"
    ),
    _Pair(flag="watermark-config", other="enable-watermark", since="0.5.22"),
)
_EXCLUDES = (
    _Pair(
        flag="enable-tokenizer-batch-encode", other="enable-dynamic-batch-tokenizer", since="0.5.3"
    ),
    _Pair(flag="encoder-only", other="language-only", since="0.5.7"),
)


@rule("flag-companion", flags=[each.flag for each in _WANTS])
def wants_another(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A flag that the server refuses without another one; see `_WANTS`."""
    given = given_by(plan)
    for pair in _WANTS:
        if given.value(pair.flag) is None or given.value(pair.other) is not None:
            continue
        if given.since(pair.since):
            yield refusal(
                given,
                "flag-companion",
                f"`--{pair.flag}` needs `--{pair.other}`",
                at(given, where, pair.flag, text="not by itself"),
                help=(f"set `{pair.other}`, or leave {line(given, pair.flag)} out",),
            )


@rule("flags-exclusive", flags=[each.flag for each in _EXCLUDES])
def excludes_another(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Two flags that the server refuses together; see `_EXCLUDES`."""
    given = given_by(plan)
    for pair in _EXCLUDES:
        if given.value(pair.flag) is None or given.value(pair.other) is None:
            continue
        if given.since(pair.since):
            yield refusal(
                given,
                "flags-exclusive",
                f"`--{pair.flag}` and `--{pair.other}` exclude each other",
                at(given, where, pair.flag, text="one of two", beside={pair.other: "the other"}),
                help=(f"leave {line(given, pair.flag)} or {line(given, pair.other)} out",),
            )


@rule("multiplexing", flags=("enable-pdmux",))
def prefill_and_decode_at_once(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Prefill and decode on the same GPU at once (0.5.4 to 0.5.23, `check_server_args`: four assertions)."""
    given, parallel = given_by(plan), plan.profile.parallel
    if not given.on("enable-pdmux") or not given.since("0.5.4"):
        return
    wanted = {
        "`memory.chunked_prefill = -1`": plan.profile.memory.chunked_prefill == -1,
        "`parallel.pipeline = 1`": parallel.pipeline == 1,
        "no `disaggregation-mode`": given.word("disaggregation-mode") in {None, "null"},
        "`disable-overlap-schedule = true`": given.on("disable-overlap-schedule"),
    }
    missing = [name for name, there in wanted.items() if not there]
    if not missing:
        return
    yield refusal(
        given,
        "multiplexing",
        f"`--enable-pdmux` needs {', '.join(missing)}",
        at(given, where, "enable-pdmux", text="prefill and decode at once"),
        because="the server stops with an assertion at start",
        help=(f"set {' and '.join(missing)}, or leave `enable-pdmux = true` out",),
    )
