"""What a shell is offered: for every option and argument of every verb that takes what is known here, and without a word else."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete

from checkouts import REPOSITORY, STORY, command, compiled_checkout, environment, run
from compiler.cli.commands import VERBS
from compiler.cli.commands import poolproof as group
from compiler.host.finding import find_units


GPU, MODEL, RELEASE = "rtx-pro-6000-blackwell", "moonshotai/Kimi-K2.6", "0.5.11"
OWN = {
    ("check", "engine"): RELEASE,
    ("check", "profiles"): STORY,
    ("compile", "profiles"): STORY,
    ("report", "profiles"): STORY,
    ("fit", "profile"): STORY,
    ("fit", "file"): "base/service",
    ("show", "profile"): STORY,
    ("why", "what"): STORY,
    ("explain", "code"): "pool-too-small",
    ("diff", "words"): STORY,
    ("affected", "files"): "base/service",
    ("fmt", "files"): "base/service",
    ("init", "model"): MODEL,
    ("init", "gpu"): GPU,
    ("init", "host"): "ct200",
    ("init", "release"): f"sglang@{RELEASE}",
    ("adopt", "gpu"): GPU,
    ("adopt", "engine"): RELEASE,
    ("adopt", "target"): "ct200",
    ("predict", "gpu"): "custom",
    ("predict", "engine"): RELEASE,
    ("catalog show", "words"): "z-lab/Kimi-K2.6-DFlash",
    ("catalog add-engine", "engine"): "sglang",
    ("catalog add-engine", "release"): RELEASE,
    ("switch", "tree"): f"out/{STORY}/ct200",
    ("verify", "profile"): STORY,
    ("measure", "profile"): STORY,
    ("measure", "told"): f"gpu={GPU}",
}
"""What is offered of each that takes a name of the tree or the catalogue: one of its names."""

UNITS = {
    *((verb, "unit") for verb in ("status", "generations", "gc", "retire", "verify", "measure")),
    ("rollback", "unit_and_number"),
}
"""What takes a unit of the host."""

FILES = {
    ("adopt", "words"): "file",
    ("predict", "words"): "file",
    ("init", "model_path"): "dir",
    ("init", "python"): "file",
}
"""What takes one of the shell's own things, and is not of click's type for it."""

FREE = {
    ("init", "user"): "an account of the host",
    ("init", "name"): "a new name",
    ("adopt", "given"): "a variable of the launch",
    ("gc", "younger_s"): "an age",
    ("verify", "url"): "an address",
    ("measure", "url"): "an address",
    ("verify", "stream"): "a dash",
    ("measure", "stream"): "a dash",
    ("catalog add-gpu", "id_"): "a new id",
    ("catalog add-gpu", "names"): "a name that a driver prints",
    ("catalog add-gpu", "compute_capability"): "a number",
    ("catalog add-gpu", "source"): "an address, or a log",
    ("catalog add-engine", "build"): "a new name",
    ("catalog add-model", "id_"): "a new id",
}
"""What nobody here knows, and why."""

_CLICKS = (click.Choice, click.Path, click.IntRange, click.types.FloatParamType)


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    """Every option and argument that takes a word, by its command, but for those whose type completes itself or is a number."""
    for name, each in _commands(group, click.Context(group), ()):
        for parameter in each.params:
            is_flag = isinstance(parameter, click.Option) and (
                parameter.is_flag or parameter.is_eager or parameter.name == "number"
            )
            if not is_flag and not isinstance(parameter.type, _CLICKS):
                yield name, parameter


def _commands(
    parent: click.Group, context: click.Context, above: tuple[str, ...]
) -> Iterator[tuple[str, click.Command]]:
    for verb in parent.list_commands(context):
        found = parent.get_command(context, verb)
        assert found is not None
        if isinstance(found, click.Group):
            yield from _commands(found, click.Context(found), (*above, verb))
        else:
            yield " ".join((*above, verb)), found


EVERY = {(name, each.name or ""): each for name, each in parameters()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled tree; not to be changed."""
    return compiled_checkout(tmp_path_factory.mktemp("once") / "tree").root


def offered(words: str, incomplete: str) -> list[CompletionItem]:
    """What a shell is offered for a word behind these."""
    return ShellComplete(group, {}, "poolproof", "X").get_completions(words.split(), incomplete)


def values(words: str, incomplete: str) -> list[str]:
    return [each.value for each in offered(words, incomplete)]


def asked(key: tuple[str, str]) -> str:
    """The words in front of an option's or an argument's value."""
    name, parameter = key[0], EVERY[key]
    return f"{name} {parameter.opts[-1]}" if isinstance(parameter, click.Option) else name


def test_every_option_and_argument_is_accounted_for() -> None:
    """Each that takes a word is offered something, or there is a reason why nothing is known of it."""
    assert {verb.partition(" ")[0] for verb, _ in EVERY} <= set(VERBS)
    assert set(EVERY) == {*OWN, *UNITS, *FILES, *FREE}


@pytest.mark.parametrize("key", OWN, ids=" ".join)
def test_a_name_that_is_known_is_offered(
    tree: Path, monkeypatch: pytest.MonkeyPatch, key: tuple[str, str]
) -> None:
    """Profiles, hosts, ids of GPUs and models, and releases are offered whole, and where they are begun."""
    monkeypatch.chdir(tree)
    name = OWN[key]
    start = f"{name.partition('=')[0]}=" if "=" in name else ""
    assert name in values(asked(key), start)
    assert name in values(asked(key), name[:-1])
    assert all(each.startswith(name[:-1]) for each in values(asked(key), name[:-1]))


@pytest.mark.parametrize("key", FILES, ids=" ".join)
def test_a_file_is_left_to_the_shell(key: tuple[str, str]) -> None:
    """What runs already, and a place on the host, are the shell's own files and folders."""
    assert [(each.value, each.type) for each in offered(asked(key), "x/y")] == [("x/y", FILES[key])]


@pytest.fixture(scope="module")
def image(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image on which a unit was switched to; not to be changed."""
    root = tmp_path_factory.mktemp("image")
    assert run("switch", f"out/{STORY}/ct200", "--root", str(root), here=tree).code == 0
    return root


@pytest.mark.parametrize("key", sorted(UNITS), ids=" ".join)
def test_a_unit_of_the_host_is_offered(
    image: Path, monkeypatch: pytest.MonkeyPatch, key: tuple[str, str]
) -> None:
    """Units that a switch made are offered, of an image too, and for a way back the numbers behind them."""
    name = key[0]
    if name in ("verify", "measure"):  # which work on no image
        monkeypatch.setattr("compiler.host.finding.find_units", lambda _: find_units(image))
        assert values(asked(key), "kimi") == ["kimi-k2.6.service"]
        return
    assert values(f"{name} --root {image}", "kimi") == ["kimi-k2.6.service"]
    if name == "rollback":
        assert values(f"{name} --root {image} kimi-k2.6.service", "") == ["1"]


@pytest.mark.parametrize(
    ("words", "incomplete", "wanted"),
    [
        ("catalog show gpus", "h10", "h100"),
        ("catalog show models", "qwen/qwen3-32", "Qwen/Qwen3-32B"),
        ("catalog show engines", "sglang@0.5.1", "sglang@0.5.11"),
        ("catalog show sglang @", "0.5.1", "0.5.11"),
        ("catalog show", "boo", "boots"),
        ("predict --gpu h100 --engine", "0.4.1", "0.4.1"),
        (f"why {STORY}", "targets.ct200.start", "targets.ct200.start_timeout"),
        (f"why {STORY}", "env.", "env.NCCL_P2P_LEVEL"),
        (f"why {STORY} serve.port", "memory.fr", "memory.fraction"),
        ("why no-such-profile", "memory.fr", "memory.fraction"),
        ("switch --out out", "k2.6-32k/", "k2.6-32k/ct200"),
        ("measure --set", "gp", "gpu="),
    ],
)
def test_what_stands_before_is_heeded(
    tree: Path, monkeypatch: pytest.MonkeyPatch, words: str, incomplete: str, wanted: str
) -> None:
    """Behind a kind its ids alone are offered, behind a profile its own keys, and ids in whatever case."""
    monkeypatch.chdir(tree)
    assert wanted in values(words, incomplete)


def test_branches_and_tags_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tree may be compared with is offered with the profiles."""
    tree = compiled_checkout(tmp_path / "tree").root
    for words in (("init", "-q", "-b", "trunk"), ("add", "."), ("commit", "-q", "-m", "a")):
        given = ("-c", "user.name=a", "-c", "user.email=a@example.org", *words)
        subprocess.run(["git", *given], cwd=tree, check=True)
    monkeypatch.chdir(tree)
    assert values("diff", "tr") == ["trunk"]
    assert values("diff trunk", STORY) == [STORY, f"{STORY}-fp8kv"]


HARD = (
    "check ",
    "check --engine bad ",
    "init --host ",
    "init --gpu l4",
    "init  --model q",
    "why a mem",
    "diff ",
    "switch ",
    "switch --out /dev/null ",
    "status --root /no/such/folder ",
    "rollback unit ",
    "catalog show b",
    "catalog no-such-verb x",
    "no-such-verb x",
    "verify --profile ",
    "measure --set x=y --set gpu=",
    "adopt --count x --gpu ",
    "fit --write x ",
)


@pytest.mark.parametrize("words", HARD)
def test_no_word_is_said_where_nothing_can_be_read(tmp_path: Path, words: str) -> None:
    """In a tree that is broken all over, and for words that are wrong, nothing is printed but what is offered."""
    (tmp_path / "poolproof.toml").write_text("requires = [")
    (tmp_path / "profiles/catalog").mkdir(parents=True)
    (tmp_path / "profiles/catalog/gpus").write_text("no folder")
    (tmp_path / "profiles/a.toml").write_text("= x")
    (tmp_path / "profiles/b.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "profiles/boots").symlink_to("boots")
    os.mkfifo(tmp_path / "profiles/c.toml")
    (tmp_path / "out").write_text("no folder")
    line = f"poolproof {words}"
    done = subprocess.run(
        command(),
        cwd=tmp_path,
        env=environment()
        | {
            "_POOLPROOF_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - (not line.endswith(" "))),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert all(each.partition(",")[0] in {"plain", "file", "dir"} for each in done.stdout.split())


def test_a_run_that_completes_nothing_loads_nothing_for_it() -> None:
    """Neither what finds the names, nor click's own part, is imported by a verb that runs."""
    code = (
        "import sys; from compiler.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({'compiler.cli.offers', 'click.shell_completion'} & set(sys.modules)))"
    )
    for words in (("check", STORY), ("catalog", "list", "gpus"), ("status", "--root", "/tmp")):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=REPOSITORY,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines()[-1] == "", words


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "stands"),
    [
        ("check --engine sglang@0.5.11", "check --engine sglang@0.5.11 "),
        ("check --engine=sglang@0.5.11", "check --engine=sglang@0.5.11 "),
        ("init --engine sglang@", "init --engine sglang@0."),
        ("init --gpu=b20", "init --gpu=b200 "),
        ('init --engine "sglang@0.4.1', 'init --engine "sglang@0.4.1" '),
        ("init --engine='sglang@0.4.1", "init --engine='sglang@0.4.1' "),
        ("measure --set gpu=rtx-pro-6", f"measure --set gpu={GPU} "),
        ("check --engine=sglang@0.5.11 k2.6-3", "check --engine=sglang@0.5.11 k2.6-32k "),
        (f"why out/{STORY}/ct200/laun", f"why out/{STORY}/ct200/launch.sh "),
        (f"why out/{STORY}/ct200/launch.sh:", f"why out/{STORY}/ct200/launch.sh:"),
        ("explain pool-t", "explain pool-too-small "),
    ],
)
def test_bash_completes_what_it_takes_for_several_words(
    tmp_path: Path, typed: str, stands: str
) -> None:
    """In an interactive bash the line becomes what was typed with its last word ended: nothing twice, nothing lost."""
    script = run("completion", "bash", here=tmp_path).out
    (tmp_path / "completion").write_text(script)
    named = tmp_path / "bin" / "poolproof"
    named.parent.mkdir()
    named.write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    named.chmod(0o755)
    assert after_a_tab(f"poolproof {typed}", tmp_path) == f"poolproof {stands}"


def after_a_tab(typed: str, folder: Path) -> str:
    """The line that an interactive bash has after a tab, as it tells by itself."""
    terminal, within = pty.openpty()
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    bash = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=REPOSITORY,
        env=environment(PATH=path, PS1="", TERM="dumb", HISTFILE="/dev/null"),
        stdin=within,
        stdout=within,
        stderr=within,
        start_new_session=True,
    )
    told = folder / "line"
    # A key that writes the line down is bound; it comes once the completion is over.
    begin = (
        f"source {shlex.quote(str(folder / 'completion'))}\n"
        f'tell() {{ printf %s "$READLINE_LINE" > {shlex.quote(str(folder))}/new; '
        f"mv {shlex.quote(str(folder))}/new {shlex.quote(str(told))}; }}\n"
        "bind -x '\"\\C-g\": tell'\nbind 'set bell-style none'\n"
    )
    try:
        os.write(terminal, begin.encode())
        os.write(terminal, f"{typed}\t\x07".encode())
        until = time.monotonic() + 30
        while not told.exists() and time.monotonic() < until:
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 65536)
        return told.read_text()
    finally:
        bash.kill()
        bash.wait()
        os.close(terminal)
        os.close(within)
