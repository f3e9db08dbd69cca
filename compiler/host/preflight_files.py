"""The checks of `preflight` on users and files: who the service runs as, and what that user can reach."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import Final

from compiler.diagnostics import Diagnostic, error
from compiler.host.preflight_probe import Account, Entry, Untold
from compiler.host.situation import CheckResult, Situation, Skipped


_READ, _EXECUTE = 4, 1  # of the three bits of a mode
_ROOT: Final = 0
_MOST_OF_A_GENERATION: Final = 2  # the files, and those of a generation that is being written
_LEAST_FREE: Final = 1 << 20  # for folders, links and records, each of which takes a block


def check_account(situation: Situation) -> Iterator[CheckResult]:
    """The user must be there: systemd gives up with 217/USER otherwise."""
    if situation.account is None:
        name = situation.needs.user
        yield error(
            "host-user",
            f"there is no user `{name}` on this host",
            notes=("the unit runs as that user, and systemd would refuse to start it",),
            help=(f"`useradd --system {name}`", "or name another in the target: `user = ...`"),
            path="targets.user",
        )


def check_python(situation: Situation) -> Iterator[CheckResult]:
    """The engine's interpreter must be there, and the service's user able to run it."""
    path = situation.needs.python
    trail = situation.probe.trail(path)
    if isinstance(trail, Untold):
        yield Skipped(what="the engine's Python", why=trail.why)
    elif trail is None or not stat.S_ISREG(trail[-1].mode):
        what = "is not there" if trail is None else "is no file"
        yield error(
            "host-python",
            f"the engine's Python `{path}` {what}",
            help=("install the engine there, or correct `engine.python`, and compile again",),
            path="engine.python",
        )
    elif (barrier := _barrier(trail, situation.account, want=_EXECUTE)) is not None:
        yield error(
            "host-python",
            f"`{_name(situation)}` cannot run the engine's Python `{path}`",
            notes=(_why_not(barrier),),
            help=(f"let that user through: `chmod o+x {barrier.path}`",),
            path="engine.python",
        )


def check_models(situation: Situation) -> Iterator[CheckResult]:
    """What is named as a path must be there and readable; a public name is for the engine to find."""
    if not situation.needs.models:
        yield Skipped(what="the model's folder", why="how this engine is told it is not known")
    for setting, path in situation.needs.models.items():
        if not path.startswith("/"):
            why = f"`{path}` is a public name, which the engine looks up when it starts"
            yield Skipped(what=f"`{setting}`", why=why)
            continue
        trail = situation.probe.trail(path)
        if isinstance(trail, Untold):
            yield Skipped(what=f"`{setting}`", why=trail.why)
        elif trail is None:
            yield error(
                "host-model",
                f"`{path}` is not there",
                notes=("the server would fail to load it",),
                help=("put the checkpoint there", f"or correct `{setting}`, and compile again"),
                path=setting,
            )
        elif (barrier := _barrier(trail, situation.account, want=_READ)) is not None:
            yield error(
                "host-model",
                f"`{_name(situation)}` cannot read `{path}`",
                notes=(_why_not(barrier),),
                help=("let that user read it",),
                path=setting,
            )


def check_secrets(situation: Situation) -> Iterator[CheckResult]:
    """A secret must be readable by the service's user, and by nobody else but root."""
    for path in situation.needs.secrets:
        trail = situation.probe.trail(path)
        if isinstance(trail, Untold):
            yield Skipped(what=f"the secret `{path}`", why=trail.why)
        elif trail is None or not stat.S_ISREG(trail[-1].mode):
            yield _no_secret(
                situation, path, what="is not there" if trail is None else "is no file"
            )
        elif situation.account is not None:
            yield from _judge_secret(situation, situation.account, trail, path)


def _judge_secret(
    situation: Situation, account: Account, trail: tuple[Entry, ...], path: str
) -> Iterator[Diagnostic]:
    barrier = _barrier(trail, account, want=_READ)
    if barrier is not None:
        yield error(
            "host-secret",
            f"`{account.name}` cannot read the secret `{path}`",
            notes=(_why_not(barrier),),
            help=(f"`chown {account.name} {path} && chmod 600 {path}`",),
            path="secrets",
        )
        return
    readers = _other_readers(situation, account, trail[-1])
    if readers is not None:
        yield error(
            "host-secret",
            f"the secret `{path}` can be read by {readers}",
            notes=(f"only `{account.name}` needs it; its mode is {trail[-1].mode & 0o777:04o}",),
            help=(f"`chown {account.name} {path} && chmod 600 {path}`",),
            path="secrets",
        )


def _no_secret(situation: Situation, path: str, *, what: str) -> Diagnostic:
    name = _name(situation)
    return error(
        "host-secret",
        f"the secret `{path}` {what}",
        notes=("it stays on the host, so no compile can write it",),
        help=(f"write it, for `{name}` alone: `install -D -m 600 -o {name} /dev/stdin {path}`",),
        path="secrets",
    )


def _other_readers(situation: Situation, account: Account, entry: Entry) -> str | None:
    """Who else may read a file, in words; `None` when nobody but root does."""
    if entry.mode & stat.S_IROTH:
        return "everybody"
    if entry.uid not in (account.uid, _ROOT):
        return f"its owner, the user with number {entry.uid}"
    if entry.mode & stat.S_IRGRP:
        others = situation.probe.others_in_group(entry.gid, uid=account.uid)
        if others:
            return f"the group with number {entry.gid}: {', '.join(f'`{each}`' for each in others)}"
    return None


def check_disk(situation: Situation) -> Iterator[CheckResult]:
    """There must be room for a generation where it will be."""
    needs = situation.needs
    free = situation.probe.free_disk_bytes(needs.state_dir)
    needed = _MOST_OF_A_GENERATION * needs.size + _LEAST_FREE
    if isinstance(free, Untold):
        yield Skipped(what="free disk", why=free.why)
    elif free < needed:
        yield error(
            "host-disk",
            f"there is not enough room for a generation in `{needs.state_dir}`",
            notes=(f"{free:,} bytes are free, {needed:,} are needed",),
            help=("remove old generations: `poolproof gc`, or make room otherwise",),
            path="targets.state_dir",
        )


def _barrier(trail: tuple[Entry, ...], account: Account | None, *, want: int) -> Entry | None:
    """The first part of a path that keeps a user from it: each folder needs `x`, the end what is wanted."""
    if account is None:
        return None  # said by `check_account`
    for entry in trail[:-1]:
        if not _may(account, entry, want=_EXECUTE):
            return entry
    end = trail[-1]
    if stat.S_ISDIR(end.mode):
        want |= _EXECUTE
    return None if _may(account, end, want=want) else end


def _may(account: Account, entry: Entry, *, want: int) -> bool:
    """As the kernel decides by the mode: one of three classes, and no other."""
    if account.uid == _ROOT:
        return not want & _EXECUTE or stat.S_ISDIR(entry.mode) or bool(entry.mode & 0o111)
    if entry.uid == account.uid:
        bits = entry.mode >> 6
    elif entry.gid in account.gids:
        bits = entry.mode >> 3
    else:
        bits = entry.mode
    return bits & want == want


def _why_not(barrier: Entry) -> str:
    mode = stat.filemode(barrier.mode)
    return f"`{barrier.path}` is {mode}, of user {barrier.uid} and group {barrier.gid}"


def _name(situation: Situation) -> str:
    return situation.account.name if situation.account else situation.needs.user or "root"
