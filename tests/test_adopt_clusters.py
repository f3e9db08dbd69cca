"""Manifests of a cluster, tasks, Dockerfiles, and the variables of containers."""

from __future__ import annotations

import json

import pytest

from compiler.adopt.files import FileKind, kind_of
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from launching import SERVER, outcome, read_text


POD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
spec:
  replicas: 2
  template:
    spec:
      hostNetwork: true
      containers:
        - name: engine
          image: lmsysorg/sglang:v0.5.11
          command: ["python3", "-m", "sglang.launch_server"]
          args: ["--model-path", "/m/a", "--tp", "$(TP)", "--node-rank", "$(LWS_WORKER_INDEX)", "--port=8001"]
          env:
            - {name: TP, value: "2"}
            - {name: NAMED, value: "$(TP)x"}
            - {name: DOLLAR, value: "$$(TP)"}
            - name: HF_TOKEN
              valueFrom: {secretKeyRef: {name: hf, key: token}}
          envFrom: [{configMapRef: {name: more}}]
          resources: {limits: {nvidia.com/gpu: 8, memory: 64Gi}}
          ports: [{containerPort: 8001}]
          readinessProbe: {exec: {command: [python3, -m, sglang.launch_server]}}
---
apiVersion: v1
kind: Service
metadata: {name: chat}
"""


def test_a_deployment() -> None:
    """Command, arguments, and variables as the cluster makes them; all else is listed."""
    got = outcome(read_text(POD, name="a.yaml"), version=None)
    assert got.text, got.found
    assert got.settings["engine.version"] == "0.5.11"
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["serve.port"] == 8001
    assert got.settings["description"] == "chat, from a.yaml"
    assert got.settings["env.NAMED"] == "2x"
    assert got.settings["env.DOLLAR"] == "$(TP)"
    assert "env.HF_TOKEN" not in got.settings
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    for each in ("image: lmsys", "resources: ", "ports: ", "hostNetwork: true`", "replicas: 2`"):
        assert f"`{each}" in dropped
    unknown = "\n".join(got.changes(ChangeKind.UNKNOWN))
    assert "`--node-rank $(LWS_WORKER_INDEX)`" in unknown
    assert "`envFrom: " in unknown
    assert any("`HF_TOKEN`" in each for each in got.changes(ChangeKind.SECRET))
    assert any("is given 8 GPUs" in each for each in got.changes(ChangeKind.ASSUMED))


def test_a_variable_of_the_cluster_can_be_given() -> None:
    """As `--var` does."""
    got = outcome(read_text(POD, name="a.yaml", given={"LWS_WORKER_INDEX": "1"}))
    assert got.settings["flags.node-rank"] == 1


def container(*lines: str) -> str:
    told = "\n".join(f"      {each}" for each in lines)
    return f"kind: Pod\nspec:\n  containers:\n    - name: a\n{told}\n"


SCRIPT = f"""command: [/bin/sh, -c]
      args:
        - |
          export A=$B
          exec {SERVER} --model-path /m/a \\
            --tp 2 --node-rank $RANK"""
LISTED = "python3, -m, sglang.launch_server, --model-path, /m/a, --tp, '2'"

MANIFESTS = {
    "a shell's script": container("image: x", "env: [{name: B, value: c}]", SCRIPT),
    "words in `args` alone": container("image: x", f"args: [{LISTED}]"),
    "flags that the image takes": container("image: lmsysorg/sglang", "args: [--model-path, /m/a, --tp=2]"),
    "a text as a command": container("image: x", f'command: "{SERVER} --model-path /m/a --tp 2"'),
    "the values of a chart": f"groups:\n  chat:\n    image: {{repository: lmsysorg/sglang, tag: v0.5.11}}\n    command: [{LISTED}]\n",
    "another resource": "kind: X\nspec:\n  roles:\n  - runner: {image: x, command: [sglang, serve], args: [--model-path, /m/a, --tp, '2']}\n",
    "a task of SkyPilot": f"num_nodes: 2\nenvs: {{M: /m/a}}\nrun: |\n  {SERVER} --model-path $M --tp 2\n",
    "a service of dstack": f"type: service\nenv:\n  - M=/m/a\ncommands:\n  - pip list\n  - {SERVER} --model-path $M --tp 2\n",
    "JSON": '{"apiVersion": "v1", "spec": {"containers": [{"image": "x", "command": ["sglang", "serve", "--model-path", "/m/a", "--tp", "2"]}]}}',
}  # fmt: skip


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest(name: str) -> None:
    """Whatever holds the container, and however its words are told."""
    got = outcome(read_text(MANIFESTS[name], name="a.json" if name == "JSON" else "a.yaml"))
    assert got.text, got.found
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["model.path"] == "/m/a"


def test_two_containers() -> None:
    """Each is asked for by the line of its name."""
    one = POD.partition("---")[0]
    text = f"{one}---\n{one.replace('8001', '8002')}"
    assert outcome(read_text(text, name="a.yaml")).codes == ["launch-several"]
    line = len(one.splitlines()) + 12
    assert outcome(read_text(text, name="a.yaml", line=line)).settings["serve.port"] == 8002


def test_a_leader_and_a_worker() -> None:
    """Containers of one resource that say the same are one launch."""
    pod = "{containers: [{name: a, image: x, command: [sglang, serve, --model-path, /m/a, --node-rank, $(LWS_WORKER_INDEX)]}]}"
    text = f"kind: LeaderWorkerSet\nmetadata: {{name: l}}\nspec: {{leader: {pod}, worker: {pod}}}\n"
    assert outcome(read_text(text, name="a.yaml")).settings["model.path"] == "/m/a"


def test_shared_memory_of_a_pod() -> None:
    """A pod has no more of it than another container, unless a volume is mounted there."""
    bare = container("image: x", f"command: [{SERVER.replace(' ', ', ')}]")
    read = read_text(bare, name="a.yaml")
    (found,) = read.findings
    assert found.code == "container-shared-memory"
    assert "emptyDir" in found.help[0]
    mounted = bare + "      volumeMounts: [{name: shm, mountPath: /dev/shm}]\n"
    assert read_text(mounted, name="a.yaml").findings == ()


def test_a_chart_that_is_not_rendered() -> None:
    """It is no YAML, and how it becomes some is said."""
    got = outcome(read_text("kind: Pod\nspec: {{ .Values.x }}\n  y: {{- z }}\n", name="a.yaml"))
    assert got.codes == ["launch-unreadable"]
    assert "helm template" in got.found[0].summary


DOCKERFILE = """\
# A stage that is not the last.
ARG TAG=v0.5.11
FROM lmsysorg/sglang:${TAG} AS base
ENV HF_HOME=/cache NAME="a b" \\
    MODEL=/m/a
RUN <<END
CMD ["nothing"]
END
FROM base
EXPOSE 8001
"""

IMAGES = {
    "words": 'CMD ["python3", "-m", "sglang.launch_server", \\\n # said here\n  "--model-path", "/m/a", "--tp", "2"]\n',
    "words for the entry": f'ENTRYPOINT {json.dumps(SERVER.split())}\nCMD ["--model-path", "/m/a", "--tp=2"]\n',
    "a text for a shell": f"CMD {SERVER} --model-path $MODEL --tp ${{TP:-2}}\n",
    "the last one": f'CMD ["sleep", "1"]\nCMD exec {SERVER} --model-path ${{MODEL}} --tp 2\n',
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_a_dockerfile(name: str) -> None:
    """What a container of its last stage runs, with the variables of the stages it stands on."""
    got = outcome(read_text(DOCKERFILE + IMAGES[name], name="Dockerfile"), version=None)
    assert got.text, got.found
    assert got.settings["engine.version"] == "0.5.11"
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["model.path"] == "/m/a"
    assert got.settings["env.NAME"] == "a b"
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    assert "the image `lmsysorg/sglang:v0.5.11` is not carried" in dropped
    assert "`RUN`" in dropped
    assert "`EXPOSE`" in dropped


def test_flags_alone_in_a_dockerfile() -> None:
    """The image that it stands on starts the engine, and names its release."""
    text = 'FROM lmsysorg/sglang:v0.5.11\nCMD ["--model-path", "/m/a", "--tp", "2"]\n'
    got = outcome(read_text(text, name="Dockerfile"), version=None)
    assert got.settings["engine.version"] == "0.5.11"
    assert got.settings["parallel.tensor"] == 2
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    assert "the image `lmsysorg/sglang:v0.5.11` is not carried" in dropped


def test_an_entry_takes_the_words_of_its_base_away() -> None:
    """`CMD` of an earlier stage does not reach an `ENTRYPOINT` of its own."""
    entry = json.dumps([*SERVER.split(), "--model-path", "/m/a"])
    text = f'FROM x AS a\nCMD ["--tp", "8"]\nFROM a\nENTRYPOINT {entry}\n'
    got = outcome(read_text(text, name="Dockerfile"))
    assert "parallel.tensor" not in got.settings


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("stdin", "# x\n[Unit]\nDescription=x\n", FileKind.UNIT),
        ("stdin", "[Unit]\n[Container]\nImage=x\n", FileKind.QUADLET),
        ("stdin", "cat > a <<X\n[Service]\nX\n", FileKind.SCRIPT),
        ("run.sh", "[Service]\n", FileKind.SCRIPT),
        ("stdin", "services:\n  a: {}\n", FileKind.COMPOSE),
        ("stdin", "apiVersion: v1\nkind: Pod\n", FileKind.MANIFEST),
        ("a.yml", "run: x\n", FileKind.MANIFEST),
        ("compose.yml", "version: '3'\n", FileKind.COMPOSE),
        ("stdin", "# x\nARG A=1\nFROM x\n", FileKind.DOCKERFILE),
        ("serve.Dockerfile", "RUN x\n", FileKind.DOCKERFILE),
        ("Containerfile", "\n", FileKind.DOCKERFILE),
        ("a.conf", "; x\n[supervisord]\n[program:a]\ncommand=x\n", FileKind.SUPERVISOR),
        ("stdin", "#!/bin/sh\n", FileKind.SCRIPT),
    ],
)
def test_what_a_file_is(name: str, text: str, kind: FileKind) -> None:
    """By its name, and else by what comes first in it."""
    assert kind_of(Source(name, text)) is kind


def test_a_file_of_variables() -> None:
    """`--env-file` is read line by line as it is; `-e` comes after it, wherever it stands."""
    text = f"docker run -e A=2 --env-file v.env x {SERVER} --model-path /m/a\n"
    got = outcome(read_text(text, files={"v.env": "# x\nA=1\nB='q' # r\nHOME\n"}))
    assert got.settings["env.A"] == "2"
    assert got.settings["env.B"] == "'q' # r"
    assert "env.HOME" not in got.settings
    missing = outcome(read_text(text))
    assert any("`v.env` are not known" in each for each in missing.changes(ChangeKind.UNKNOWN))


def test_a_variable_that_is_passed_on() -> None:
    """A container that is told a name alone has the value that the script exports."""
    got = outcome(read_text(f"export A=1\ndocker run -e A -e B x {SERVER} --model-path /m/a\n"))
    assert got.settings["env.A"] == "1"
    assert "env.B" not in got.settings


def test_options_that_are_known_at_the_start_only() -> None:
    """A list of them does not stand for the image."""
    text = (
        "A=(--gpus all)\nif x; then A+=(-e B=1); fi\n"
        f'docker run "${{A[@]}}" lmsysorg/sglang:v0.5.11 {SERVER} --model-path /m/a\n'
    )
    got = outcome(read_text(text), version=None)
    assert got.settings["engine.version"] == "0.5.11"
    assert any("`${A[@]}`" in each for each in got.changes(ChangeKind.DROPPED))


def test_an_image_of_apptainer() -> None:
    """It has the caller's variables, unless it is told to be clean."""
    line = f"apptainer exec --nv {{}} --env B=2 --bind /d:/m s.sif {SERVER} --model-path /m/a\n"
    got = outcome(read_text("export A=1\n" + line.format("")))
    assert (got.settings["env.A"], got.settings["env.B"]) == ("1", "2")
    dropped = "\n".join(got.changes(ChangeKind.DROPPED))
    assert "`--bind /d:/m`" in dropped
    assert "`s.sif`" in dropped
    clean = outcome(read_text("export A=1\n" + line.format("--cleanenv")))
    assert "env.A" not in clean.settings


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("lmsysorg/sglang:v0.5.11-cu130", "0.5.11"),
        ("x/sglang0.5.11-tops1.10.6:2.2.0", "0.5.11"),
        ("ghcr.io/x/sglang-rtxpro6000:v2.5.3", None),
        ("lmsysorg/sglang:latest", None),
        ("lmsysorg/sglang:v0.5.11-rocm700-mi30x", "0.5.11"),
        ("lmsysorg/sglang:v0.5.4.post1", "0.5.4.post1"),
        ("lmsysorg/sglang:v0.5.3rc1", "0.5.3"),
        ("lmsysorg/sglang:nightly-dev-20260101-abcdef", None),
        ("lmsysorg/sglang:blackwell", None),
        ("lmsysorg/sglang:b200-cu129", None),
        ("lmsysorg/sglang:main-cann8.5.0-a3", None),
        ("lmsysorg/sglang:v0.5.3-cu129@sha256:9971a17304b3e3688a41d591ccd6538f", "0.5.3"),
        ("lmsysorg/sglang@sha256:3a78acc9d6c191f1a12c7c67631657580f06af3af562", None),
        ("lmsysorg/sglang-rocm:v0.5.14-rocm720-mi35x-20260704", "0.5.14"),
        ("127.0.0.1:5000/sglang:v0.5.9", "0.5.9"),
        ("10.0.0.1:5000/x/sglang:latest", None),
        ("nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.6.1", None),
    ],
)
def test_the_release_of_an_image(image: str, version: str | None) -> None:
    """A number of its builder's own is none."""
    got = outcome(read_text(f"docker run {image} {SERVER} --model-path /m/a\n"), version=None)
    told = any("does not name its release" in each for each in got.changes(ChangeKind.ASSUMED))
    assert told is (version is None)
    if version is not None:
        assert got.settings["engine.version"] == version
        assert any(
            each.endswith("the tag of the image names it")
            for each in got.changes(ChangeKind.ASSUMED)
        )


def test_an_image_that_is_known_at_start_only() -> None:
    """The variable that its tag is names the release."""
    text = f"docker run lmsysorg/sglang:${{TAG}} {SERVER} --model-path /m/a\n"
    got = outcome(read_text(text), version=None)
    assert any("`--var TAG=...`, or `--engine" in each for each in got.changes(ChangeKind.ASSUMED))
    told = outcome(read_text(text, given={"TAG": "v0.5.9"}), version=None)
    assert told.settings["engine.version"] == "0.5.9"


def test_an_early_build() -> None:
    """A candidate of a release may lack what the release has."""
    text = f"docker run lmsysorg/sglang:v0.5.3rc1 {SERVER} --model-path /m/a\n"
    got = outcome(read_text(text), version=None)
    assert any(
        "of which `0.5.3rc1` is an early build" in each for each in got.changes(ChangeKind.ASSUMED)
    )


PROGRAMS = f"""\
[supervisord]
nodaemon=true

[program:chat]
command={SERVER} --model-path /m/a ; the first
    --tp 2 --port %(ENV_PORT)s
environment=HF_HOME="/cache",A='b,c',D=%%e
user=llm
"""


def test_a_program_of_supervisord() -> None:
    """Its continued command with its variables; what else is said of it is listed."""
    got = outcome(read_text(PROGRAMS, name="supervisord.conf"))
    assert got.text, got.found
    assert got.settings["parallel.tensor"] == 2
    assert [got.settings[f"env.{name}"] for name in ("HF_HOME", "A", "D")] == [
        "/cache",
        "b,c",
        "%e",
    ]
    assert any("`--port %(ENV_PORT)s`" in each for each in got.changes(ChangeKind.UNKNOWN))
    assert got.changes(ChangeKind.DROPPED) == ["8: `user=llm` is not carried"]
    given = outcome(read_text(PROGRAMS, name="supervisord.conf", given={"PORT": "8001"}))
    assert given.settings["serve.port"] == 8001
