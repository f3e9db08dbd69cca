"""What a launch has around it, and a service of the host has not: paths, ports, other commands, spent variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.cli.adopt import command
from compiler.engines.adopting import ChangeKind
from launching import SERVER, Outcome, outcome, read_text


IMAGE = "lmsysorg/sglang:v0.5.11"
ARGS = "--model-path /models/q --chat-template=/t/x.jinja --tokenizer-path /img/q --port 30000"
COMPOSE = """\
services:
  a:
    image: {image}
    environment: {{HF_HOME: /models/hf}}
    volumes:
    - {volume}
    - type: bind
      source: /srv/t
      target: /t/
    ports:
    - {port}
    command: {server} {args}
"""
WAYS = {
    "docker": ("a.sh", f"docker run -v /srv/m:/models:ro --mount type=bind,src=/srv/t,dst=/t -e HF_HOME=/models/hf -p 127.0.0.1:8000:30000/tcp {IMAGE} {SERVER} {ARGS}\n"),
    "compose": ("compose.yaml", COMPOSE.format(image=IMAGE, volume="/srv/m:/models", port="8000:30000", server=SERVER, args=ARGS)),
    "compose, in the long form": ("compose.yaml", COMPOSE.format(image=IMAGE, volume="{type: bind, source: /srv/m, target: /models}", port='{target: 30000, published: "8000"}', server=SERVER, args=ARGS)),
    "a default of its own": ("compose.yaml", COMPOSE.format(image=IMAGE, volume='"${M:-/srv/m}:/models"', port="${P:-8000}:30000", server=SERVER, args=ARGS)),
    "a quadlet": ("a.container", f"[Container]\nImage={IMAGE}\nVolume=/srv/m:/models\nVolume=/srv/t:/t\nEnvironment=HF_HOME=/models/hf\nPublishPort=8000:30000\nExec={SERVER} {ARGS}\n"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_paths_of_a_container_are_those_of_the_host(way: str) -> None:
    """What is below a mounted folder has its place there, and each is said; all else is named as the container's own."""
    name, text = WAYS[way]
    got = outcome(read_text(text, name=name), version=None)
    assert got.settings["model.path"] == "/srv/m/q"
    assert got.settings["flags.chat-template"] == "/srv/t/x.jinja"
    assert got.settings["flags.tokenizer-path"] == "/img/q"
    assert got.settings["env.HF_HOME"] == "/srv/m/hf"
    told = "\n".join(got.changes(ChangeKind.ASSUMED))
    assert "`/models/q` in the container is `/srv/m/q` on the host" in told
    assert "`/t/x.jinja` in the container is `/srv/t/x.jinja` on the host" in told
    assert "taken to be the host's own, too: `/img/q`" in told


@pytest.mark.parametrize("way", WAYS)
def test_a_port_that_clients_use_comes_first(way: str) -> None:
    """A published port of another number stands in a remark of its own, before all else that is dropped."""
    name, text = WAYS[way]
    first, *rest = outcome(read_text(text, name=name), version=None).changes(ChangeKind.DROPPED)
    assert "clients use port 8000, which is the container's 30000" in first
    assert not any("clients use" in each for each in rest)
    same = text.replace("8000:", "30000:").replace('"8000"', '"30000"').replace("-8000}", "-30000}")
    assert not any(
        "clients use" in each
        for each in outcome(read_text(same, name=name), version=None).changes(ChangeKind.DROPPED)
    )


@pytest.mark.parametrize("source", ["~/m", "./m", "$DIR", "${DIR:?}/m"])
def test_a_folder_that_is_not_known_moves_nothing(source: str) -> None:
    """The container's own path stays, and it is said where the host has it."""
    text = f"docker run -v {source}:/models {IMAGE} {SERVER} --model-path /models/q\n"
    got = outcome(read_text(text), version=None)
    assert got.settings["model.path"] == "/models/q"
    assert (
        f"`/models/q` is the container's own path: on the host it is `{source}/q`"
        in got.changes(ChangeKind.UNKNOWN)[0]
    )


def test_a_volume_with_a_name_is_no_folder_of_the_host() -> None:
    """Where it is, its container engine knows."""
    text = f"docker run -v models:/models {IMAGE} {SERVER} --model-path /models/q\n"
    got = outcome(read_text(text), version=None)
    assert got.settings["model.path"] == "/models/q"
    (told,) = got.changes(ChangeKind.UNKNOWN)
    assert (
        told
        == "1: `/models/q` is in the container's volume `models`: set its place on the host in the profile"
    )


MODELS = f"{IMAGE} {SERVER} --model-path /models/q"
FROM_HERE = {
    "docker": ("a.sh", f"docker run -v {{}}/models:/models {MODELS}\n"),
    "--mount": ("a.sh", f"docker run --mount type=bind,src={{}}/models,dst=/models {MODELS}\n"),
    "apptainer": (
        "a.sh",
        f"apptainer exec --nv --bind {{}}/models:/models x.sif {SERVER} --model-path /models/q\n",
    ),
    "compose": (
        "compose.yaml",
        f"services:\n  a:\n    image: {IMAGE}\n    volumes: ['{{}}/models:/models']\n    command: {SERVER} --model-path /models/q\n",
    ),
    "quadlet": (
        "a.container",
        f"[Container]\nImage={IMAGE}\nVolume={{}}/models:/models\nExec={SERVER} --model-path /models/q\n",
    ),
}


@pytest.mark.parametrize("way", FROM_HERE)
def test_a_folder_from_where_it_is_run(way: str) -> None:
    """A relative folder is the host's own once somebody says from where; before, it is told, and nothing is moved."""
    name, text = FROM_HERE[way]
    got = outcome(read_text(text.format("."), name=name), version=None)
    assert got.settings["model.path"] == "/models/q"
    assert any(
        "`./models/q`, from the folder that it is run in: say that folder, `--var PWD=...`" in each
        for each in got.changes(ChangeKind.UNKNOWN)
    )
    told = outcome(read_text(text.format("."), name=name, given={"PWD": "/srv/x"}), version=None)
    assert told.settings["model.path"] == "/srv/x/models/q"
    up = outcome(read_text(text.format(".."), name=name, given={"PWD": "/srv/x"}), version=None)
    assert up.settings["model.path"] == "/srv/models/q"


@pytest.mark.parametrize("here", ["$PWD", "${PWD}", '"$PWD"', "$(pwd)", '"$(pwd)"', "`pwd`"])
def test_the_folder_that_a_shell_is_in(here: str) -> None:
    """However a script spells it."""
    text = f"docker run -v {here}/models:/models {MODELS}\n"
    got = outcome(read_text(text, given={"PWD": "/srv/x"}), version=None)
    assert got.settings["model.path"] == "/srv/x/models/q"


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ("/srv/hf:/root/.cache/huggingface", "which is `/srv/hf` on the host: set `HF_HOME` under `[env]` to that folder"),
        ("/srv/cache:/root/.cache", "which is `/srv/cache/huggingface` on the host"),
        ("hf:/root/.cache/huggingface", "in its volume `hf`: they are loaded again"),
    ],
)  # fmt: skip
def test_where_models_are_kept_that_have_a_name(volume: str, said: str) -> None:
    """A service has another home, so that it would load them once more; not so where the launch says where they are."""
    front = f"docker run -v {volume}"
    back = f"{IMAGE} {SERVER} --model-path"
    got = outcome(read_text(f"{front} {back} Qwen/Qwen3-8B\n"), version=None)
    assert any(said in each for each in got.changes(ChangeKind.DROPPED))
    for other in (f"{front} -e HF_HOME=/x {back} Qwen/Qwen3-8B", f"{front} {back} /m/a"):
        quiet = outcome(read_text(f"{other}\n"), version=None)
        assert not any("are kept in" in each for each in quiet.changes(ChangeKind.DROPPED))


POD = f"""\
kind: Pod
spec:
  containers:
    - image: {IMAGE}
      command: [python3, -m, sglang.launch_server, --model-path, /models/q, --chat-template, /tpl/a]
      volumeMounts:
        - {{name: models, mountPath: /models/, subPath: llm}}
        - {{name: tpl, mountPath: /tpl}}
        - {{name: gone, mountPath: /gone}}
  volumes:
    - name: models
      hostPath: {{path: /data/}}
    - {{name: tpl, configMap: {{name: x}}}}
"""


def test_the_volumes_of_a_pod() -> None:
    """A `hostPath` is the host's folder; what any other volume holds is to be put there first."""
    got = outcome(read_text(POD, name="pod.yaml"), version=None)
    assert got.settings["model.path"] == "/data/llm/q"
    assert got.settings["flags.chat-template"] == "/tpl/a"
    assert any(
        "`/tpl/a` is in the container's volume `tpl` (configMap)" in each
        for each in got.changes(ChangeKind.UNKNOWN)
    )


def test_the_inner_folder_counts() -> None:
    """A folder that is mounted below another hides what the other has there."""
    text = f"docker run -v /a/q:/models/q -v /b:/models {IMAGE} {SERVER} --model-path /models/q/x\n"
    assert outcome(read_text(text), version=None).settings["model.path"] == "/a/q/x"


INNER = f"pip install -q foo && ulimit -n 100000 && python3 /patch.py; {SERVER} --model-path /m/a | tee /log"
SCRIPTS = {
    "compose": (
        "compose.yaml",
        f'services:\n  a:\n    image: {IMAGE}\n    command: sh -c "{INNER}"\n',
    ),
    "docker": ("a.sh", f'docker run {IMAGE} bash -lc "{INNER}"\n'),
    "a unit": ("a.service", f"[Service]\nExecStart=/bin/bash -c '{INNER}'\n"),
    "a script": ("a.sh", f"{INNER}\n"),
}


@pytest.mark.parametrize("way", SCRIPTS)
def test_the_other_commands_of_a_script_are_listed(way: str) -> None:
    """Wherever the script stands; a program that runs a file is told with it."""
    name, text = SCRIPTS[way]
    got = outcome(read_text(text, name=name), version=None)
    told = "the script's other commands are not carried: `pip install`, `ulimit`, `python3 /patch.py`, `tee`"
    assert any(each.endswith(told) for each in got.changes(ChangeKind.DROPPED))


def test_what_changes_the_server_comes_first() -> None:
    """Ports, volumes, and other commands stand before the rest, which is one line; no key is left out in silence."""
    text = f"""\
services:
  a:
    container_name: x
    profiles: [gpu]
    labels: {{a: b}}
    restart: always
    pull_policy: never
    image: {IMAGE}
    ports: ["8000:30000"]
    volumes: ["/srv/m:/models"]
    command: sh -c "python3 /patch.py && {SERVER} --model-path /models/q"
"""
    several = outcome(read_text(text, name="compose.yaml"), version=None).changes(
        ChangeKind.DROPPED
    )
    front = ("clients use port 8000", "other commands", '`ports: ["8000:30000"]`, `volumes:')
    assert len(several) == len(front) + 1
    for part, line in zip(front, several, strict=False):
        assert part in line
    for key in (
        "container_name: x",
        "profiles: [gpu]",
        "labels: {a: b}",
        "restart: always",
        "pull_policy: never",
        "image:",
    ):
        assert f"`{key}" in several[-1]


SPENT = ("TP", "CTX", "PORT", "MODEL_PATH")
SPENDING = {
    "a unit": ("a.service", "[Service]\nEnvironmentFile=/e\nExecStart=/v/bin/{go}\n"),
    "a shell in a unit": (
        "a.service",
        "[Service]\nEnvironmentFile=/e\nExecStart=/bin/bash -c 'exec {go}'\n",
    ),
    "a script of a unit": ("a.service", "[Service]\nEnvironmentFile=/e\nExecStart=/s.sh\n"),
    "a script": ("a.sh", "set -a\nsource /e\n{go}\n"),
    "through another": ("a.sh", f'set -a\nsource /e\nset +a\nM="$MODEL_PATH"\nA=(--tp "$TP" --context-length $CTX)\n{SERVER} --model-path "$M" "${{A[@]}}" --port $PORT --log-level $SGLANG_LEVEL\n'),
}  # fmt: skip
USING = (
    f"{SERVER} --model-path ${{MODEL_PATH}} --tp ${{TP}} --context-length ${{CTX}} --port ${{PORT}}"
)


@pytest.mark.parametrize("way", SPENDING)
def test_variables_that_the_command_line_is_made_of_are_left_out(way: str) -> None:
    """They are listed; what the server may read stays, whether the command line uses it, too, or not."""
    name, text = SPENDING[way]
    use = f"{USING} --log-level $SGLANG_LEVEL"
    files = {
        "/e": "TP=2\nCTX=4096\nPORT=9000\nMODEL_PATH=/m/a\nNCCL_DEBUG=INFO\nSGLANG_LEVEL=info\nOWN=1\n",
        "/s.sh": f"exec {use}\n",
    }
    got = outcome(read_text(text.replace("{go}", use), name=name, files=files))
    assert (got.settings["serve.context"], got.settings["parallel.tensor"]) == (4096, 2)
    kept = {each.removeprefix("env.") for each in got.settings if each.startswith("env.")}
    assert kept == {"NCCL_DEBUG", "SGLANG_LEVEL", "OWN"}
    (told,) = (each for each in got.changes(ChangeKind.DROPPED) if "not in `[env]`" in each)
    assert all(f"`{each}`" in told for each in SPENT)


KEY = "sk-0123456789abcdef0123456789"


def secret(text: str, path: str) -> str:
    """What is said of the secret variable of a compose file."""
    files = {path: f"API_KEY={KEY}\n"}
    got = outcome(read_text(text, name="legacy/compose.yaml", files=files), version=None)
    (told,) = (each for each in got.changes(ChangeKind.SECRET) if "the variable" in each)
    return told


def test_a_secret_that_a_flag_is_made_of_needs_no_drop_in() -> None:
    """The file of `[secrets]` takes its place; one that the server reads goes into a drop-in, by an absolute path."""
    text = f"services:\n  a:\n    image: {IMAGE}\n    env_file: x.env\n    command: sh -c '{SERVER} --model-path /m/a%s'\n"
    told = secret(text % " --api-key $$API_KEY", "legacy/x.env")
    assert "the file of `[secrets]` takes its place" in told
    assert "EnvironmentFile" not in told
    told = secret(text % "", "legacy/x.env")
    assert "by its absolute path" in told
    assert "EnvironmentFile=legacy" not in told
    assert "`EnvironmentFile=/etc/x.env`" in secret(
        (text % "").replace("x.env", "/etc/x.env"), "/etc/x.env"
    )


def test_an_unread_file_is_no_model_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file that may name the model cannot be read, nothing is said of a model."""
    monkeypatch.chdir(tmp_path)
    Path("a.service").write_text(
        f"[Service]\nEnvironmentFile=/gone/q.env\nExecStart=/v/bin/{SERVER} --model-path $M\n",
        "utf-8",
    )
    for options in ((), ("--check", "--gpu", "h200")):
        done = CliRunner().invoke(command, [*options, "a.service"], standalone_mode=False)
        assert done.return_value == 1
        assert "`/gone/q.env` is not here" in done.stderr
        for word in (
            "catalog/models",
            "launch-incomplete",
            "the model `model`",
            "unknown-model",
        ):
            assert word not in done.output


def test_a_model_that_is_not_named_is_not_to_be_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch that takes its model from the start is asked for it, and for no file of the catalogue."""
    monkeypatch.chdir(tmp_path)
    Path("a.sh").write_text(f"{SERVER} --model-path $M\n", "utf-8")
    done = CliRunner().invoke(command, ["--check", "--gpu", "h200", "a.sh"], standalone_mode=False)
    assert "`--var M=...`" in done.stderr
    assert "catalog/models" not in done.stderr


def told_of_file(where: dict[str, str]) -> Outcome:
    """A script that gives a container a file of variables."""
    text = f"docker run --env-file ./x.env {IMAGE} {SERVER} --model-path /m/a\n"
    return outcome(read_text(text, name="s/a.sh", files=where), version=None)


@pytest.mark.parametrize("place", ["x.env", "s/x.env"])
def test_a_file_of_variables_is_looked_for_beside_its_script(place: str) -> None:
    """From here, then beside the script; where it is in neither, both are said."""
    assert told_of_file({place: "NCCL_DEBUG=INFO\n"}).settings["env.NCCL_DEBUG"] == "INFO"
    (told,) = (each for each in told_of_file({}).changes(ChangeKind.UNKNOWN) if "./x.env" in each)
    assert "it is not here (`x.env` or `s/x.env` would be read)" in told
