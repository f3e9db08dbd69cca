"""What `adopt` says of what comes next: what `compile` would refuse, what is not judged, and which secrets are kept well."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compiler.cli.adopt import command as adopt
from compiler.cli.check import command as check
from compiler.engines.adopting import ChangeKind
from compiler.secrecy import quoted_without_secrets
from launching import SERVER, outcome, read_text


IMAGE = "lmsysorg/sglang:v0.5.12"
WORDS = f"{SERVER} --model-path Qwen/Qwen3-8B --tp 2"
KEY = "sk-abcdefghijklmnop"
SOURCES = {
    "a.sh": f"{WORDS}\n",
    "small.sh": f"/opt/v/bin/{WORDS} --context-length 32768 --mem-fraction-static 0.2\n",
    "whole.sh": f"/opt/v/bin/{WORDS}\n",
    "docker.sh": f"docker run --gpus all --ipc host {IMAGE} {WORDS}\n",
    "a.yaml": f"services:\n  a:\n    image: {IMAGE}\n    command: {WORDS}\n",
    "a.container": f"[Container]\nImage={IMAGE}\nExec={WORDS}\n[Install]\nWantedBy=default.target\n",
    "a.service": f"[Service]\nExecStart=/opt/v/bin/{WORDS}\n[Install]\nWantedBy=default.target\n",
    "open.sh": f"/opt/v/bin/{SERVER} --model-path $MODEL\n",
    "two.sh": f"CUDA_VISIBLE_DEVICES=0,1,2 /opt/v/bin/{WORDS}\n",
}


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree without profiles."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profiles").mkdir()
    return tmp_path


def run(*words: str) -> Result:
    done = CliRunner().invoke(adopt, list(words), standalone_mode=False)
    assert done.exception is None, done.exception
    return done


def judged(path: str) -> Result:
    done = CliRunner().invoke(check, [path, "--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    return done


@pytest.mark.parametrize("target", [True, False], ids=["a target", "none"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_error_of_the_profile_is_said_when_it_is_adopted(name: str, *, target: bool) -> None:
    """What `check` refuses in what was written is the same as what `adopt` called open, with a target and before it has one."""
    Path(name).write_text(SOURCES[name])
    options = ("--target", "box") if target else ()
    done = run(name, "-o", "profiles/p.toml", "--gpu", "rtx-3090", *options)
    text = Path("profiles/p.toml").read_text()
    if "\n[targets." not in text:
        assert "open: it has no target: its promise is not judged" in done.stderr
        Path("profiles/p.toml").write_text(f'{text}\n[targets.box]\nkind = "systemd"\n')
    told = json.loads(judged("profiles/p.toml").stdout)
    found = [*told["diagnostics"], *(each for one in told["plans"] for each in one["diagnostics"])]
    errors = {each["code"] for each in found if each["severity"] == "error"}
    said = set(re.findall(r"^open: `compile` refuses it by `([a-z-]+)`", done.stderr, re.MULTILINE))
    assert said == errors
    for each in said:
        assert f"# open: `compile` refuses it by `{each}`" in text


def test_the_lines_that_were_said_make_it_compile() -> None:
    """A quadlet that is adopted compiles once its Python is said: its target is the system's, or has a place for its state."""
    Path("a.container").write_text(SOURCES["a.container"])
    home = "/home/llm/.config/containers/systemd/a.container"
    for name in ("a.container", home):
        got = outcome(read_text(SOURCES["a.container"], name=name), version=None)
        manager = got.settings.get("targets.host.manager")
        state = got.settings.get("targets.host.state_dir")
        user = ("user", "/home/llm/.local/state/poolproof/a")
        assert (manager, state) == (user if name == home else (None, None))
    run("a.container", "-o", "profiles/p.toml", "--gpu", "h200")
    path = Path("profiles/p.toml")
    path.write_text(
        path.read_text().replace("\n[engine]\n", '\n[engine]\npython = "/opt/sglang/bin/python"\n')
    )
    assert judged("profiles/p.toml").return_value == 0


def test_what_comes_next_is_true() -> None:
    """A profile without a target is not said to be judged, one with something open is said to be refused."""
    Path("a.sh").write_text(SOURCES["a.sh"])
    Path("whole.sh").write_text(SOURCES["whole.sh"])
    ways = (
        (("a.sh",), "it has no target, so that `poolproof check profiles/p.toml` does not judge"),
        (("a.sh", "--target", "box"), "refuses it until what is `open` above is mended"),
        (("whole.sh", "--target", "box", "--gpu", "h200"), "`poolproof check profiles/p.toml` judges it"),
    )  # fmt: skip
    for words, said in ways:
        done = run(*words, "-o", "profiles/p.toml", "--overwrite")
        assert said in done.stderr.splitlines()[-1]
        assert ("--target HOST" in done.stderr) == (len(words) == 1)


def test_a_fragment_is_said_not_to_be_judged() -> None:
    """Whoever names it reads that its promise was not looked at."""
    Path("a.sh").write_text(SOURCES["a.sh"])
    run("a.sh", "-o", "profiles/p.toml")
    done = CliRunner().invoke(check, ["profiles/p.toml"], standalone_mode=False)
    assert "p  not judged: a fragment without a target" in done.stdout
    assert "its promise is not" in done.stdout


@pytest.mark.parametrize("notify", ["", "Notify=healthy\n"])
def test_the_start_timeout_of_a_quadlet(notify: str) -> None:
    """Podman bounds the pull with it; it bounds the load where the container itself says that it is ready."""
    text = f"[Container]\nImage={IMAGE}\nExec={WORDS}\n{notify}[Service]\nTimeoutStartSec=1800\n"
    got = outcome(read_text(text, name="x.container"), version=None)
    assert "start-timeout-unbinding" not in [each.code for each in got.read.findings]
    assert got.settings.get("targets.host.start_timeout") == ("30min" if notify else None)
    said = "it bounds the pull of the image" in "\n".join(got.changes(ChangeKind.DROPPED))
    assert said == (not notify)


MODES = {
    "private": (0o600, 0, ()),
    "for a group": (0o640, 0, ()),
    "for all": (0o644, 1, ("error[secret-in-env]", "every user of the host reads it")),
}


@pytest.mark.parametrize("kind", ["unit", "compose"])
@pytest.mark.parametrize("name", MODES)
def test_a_secret_in_a_file_of_the_host(tree: Path, kind: str, name: str) -> None:
    """Its mode decides: what others cannot read is where it should be; the file is named for the host either way."""
    mode, code, said = MODES[name]
    file = tree / "a.env"
    file.write_text(f"OPENAI_API_KEY={KEY}\n")
    file.chmod(mode)
    if kind == "unit":
        source = f"[Service]\nEnvironmentFile={file}\nExecStart=/opt/v/bin/{WORDS}\n"
        Path("a.service").write_text(source)
    else:
        Path("a.yaml").write_text(
            f"services:\n  a:\n    image: {IMAGE}\n    ipc: host\n    env_file: a.env\n    command: {WORDS}\n"
        )
    launch = "a.service" if kind == "unit" else "a.yaml"
    done = run("--check", launch, "--gpu", "h200")
    assert done.return_value == code, done.stderr
    assert ("refused by secret-in-env; memory: " in done.stdout) == (code == 1)
    assert all(each in done.stderr for each in said)
    assert ("secret-in-env" in done.stderr) == bool(said)
    done = run(launch)
    assert "stays as it is on the host" in done.stderr
    assert KEY not in done.output


def test_a_secret_in_a_copy_of_a_file(tree: Path) -> None:
    """Who reads the file that a copy stands for is not known, and that is what is said."""
    (tree / "a.env").write_text(f"OPENAI_API_KEY={KEY}\n")
    Path("a.service").write_text(
        f"[Service]\nEnvironmentFile=/no/such/a.env\nExecStart=/opt/v/bin/{WORDS}\n"
    )
    done = run("--check", "a.service", "--gpu", "h200")
    assert done.return_value == 0
    assert "warning[secret-in-env]" in done.stderr
    assert "who reads the file is not known here" in done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`Secret=x-abcdefgh` is not carried", "`Secret=***` is not carried"),
        ("`API_KEY=a` has no effect: `API_KEY=b` comes later", "`API_KEY=***` comes later"),
        ("`API_KEY=a`b` is gone", "`API_KEY=***` is gone"),
        ("no quote: API_KEY=a b", "no quote: API_KEY=***"),
    ],
)
def test_a_covered_value_leaves_its_quote_closed(text: str, shown: str) -> None:
    """What is behind the quoted value is our own sentence; of the value nothing is left."""
    assert quoted_without_secrets(text, ()) == shown


def test_podman_s_secret_is_listed() -> None:
    """`Secret=` names a secret that Podman keeps."""
    text = f"[Container]\nImage={IMAGE}\nExec={WORDS}\nSecret=tok,type=env\n"
    got = outcome(read_text(text, name="x.container"), version=None)
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    assert "Podman's secret `tok,type=env`" in dropped


def test_a_model_that_the_catalogue_spells_otherwise() -> None:
    """The profile keeps the launch's own name, so that its command stays the same, and says which name is judged."""
    words = f"/opt/v/bin/{SERVER} --model-path qwen/qwen3-8b"
    Path("a.sh").write_text(f"{words}\n")
    done = run("a.sh", "--target", "box")
    assert 'id = "qwen/qwen3-8b"' in done.stdout
    assert (
        "the catalogue describes `Qwen/Qwen3-8B`, and the launch says `qwen/qwen3-8b`"
        in done.stderr
    )
    told = run("--check", "--gpu", "h100", "a.sh")
    assert told.stdout.startswith("a.sh  pass")
    Path("a.sh").write_text(f"{words.replace('qwen/', 'unsloth/')}\n")
    other = run("a.sh", "--target", "box")
    assert "the catalogue describes" not in other.stderr, "somebody else's may be another"


def test_changes_with_their_figures_are_listed_elsewhere() -> None:
    """A table of changes is not run together: an open line is one sentence, which says where the table is."""
    text = f"/opt/v/bin/{SERVER} --model-path Qwen/Qwen3-32B --tp 2 --context-length 40960 --mem-fraction-static 0.8\n"
    Path("a.sh").write_text(text)
    done = run("a.sh", "--gpu", "l40s", "--target", "box")
    (said,) = (each for each in done.stderr.splitlines() if "refuses it by" in each)
    assert "`poolproof check` of the profile lists the changes that mend it" in said
    assert "best estimates" not in done.output
    assert f"# {said}" in done.stdout
