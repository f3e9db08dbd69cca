"""What a manifest holds beside commands: secrets that flags are made of, parts of volumes, units, and lists of words."""

from __future__ import annotations

import pytest

from compiler.engines.adopting import ChangeKind
from launching import SERVER, Outcome, outcome, read_text


SECRET = "Tr0ub4dor-and-3-horses-correct"
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  volumes: [{{name: v, hostPath: {{path: /data}}}}]
  containers:
    - name: engine
      image: lmsysorg/sglang:v0.5.11
      command: [python3, -m, sglang.launch_server, {words}]
      env: [{env}]
      volumeMounts: [{mounts}]
"""


def pod(
    words: str, *, env: str = "", mounts: str = "{name: v, mountPath: /m}", **given: str
) -> Outcome:
    text = POD.format(words=words, env=env, mounts=mounts)
    return outcome(read_text(text, name="a.yaml", given=given), version=None)


@pytest.mark.parametrize("value", [SECRET, "short"])
def test_a_variable_that_a_secret_flag_is_made_of(value: str) -> None:
    """The flag says that it is a secret, whatever it is called; so is what is made of it."""
    env = f'{{name: K, value: {value}}}, {{name: Q, value: "$(K)-x"}}, {{name: PLAIN, value: y}}'
    got = pod('--model-path, /m/a, --api-key, "$(K)"', env=env)
    assert "env.K" not in got.settings
    assert "env.Q" not in got.settings
    assert got.settings["env.PLAIN"] == "y"
    assert got.text
    assert value not in got.text
    told = got.changes(ChangeKind.SECRET)
    assert any("`K`" in each for each in told)
    assert any("`Q`" in each for each in told)


def test_a_variable_that_holds_a_secret_of_another_name() -> None:
    """The same text under a name that says nothing is no less a secret."""
    got = pod(f"--model-path, /m/a, --api-key, {SECRET}", env=f"{{name: R, value: x-{SECRET}-y}}")
    assert "env.R" not in got.settings
    assert got.text
    assert SECRET not in got.text


PATHS = {
    "--lora-paths, x=/m/l": ("flags.lora-paths", "x=/data/l"),
    '--lora-paths, \'{"lora_name":"z","lora_path":"/m/l"}\'': (
        "flags.lora-paths",
        '{"lora_name":"z","lora_path":"/data/l"}',
    ),
    "--chat-template, /m/c.jinja": ("flags.chat-template", "/data/c.jinja"),
    "--tokenizer-path=/m/t": ("flags.tokenizer-path", "/data/t"),
    "--ssl-keyfile, /m/k.pem": ("flags.ssl-keyfile", "/data/k.pem"),
    "--hicache-storage-backend-extra-config, '@/m/h.toml'": (
        "flags.hicache-storage-backend-extra-config",
        "@/data/h.toml",
    ),
    '--json-model-override-args, \'{"p": "/m/q"}\'': (
        "flags.json-model-override-args",
        '{"p": "/data/q"}',
    ),
    "--served-model-name, /m/a": ("model.served_name", "/m/a"),
    "--fastapi-root-path, /m/api": ("flags.fastapi-root-path", "/m/api"),
    "--load-publish-endpoint, 'tcp://m/m:1'": ("flags.load-publish-endpoint", "tcp://m/m:1"),
}


@pytest.mark.parametrize("words", PATHS)
def test_the_paths_of_a_word(words: str) -> None:
    """Each is the host's, wherever it stands in a word; a name that clients use is none."""
    got = pod(f"--model-path, /m/a, {words}")
    name, value = PATHS[words]
    assert got.settings["model.path"] == "/data/a"
    assert got.settings[name] in (value, [value])


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ('subPathExpr: "$(POD)/c"', "`$(POD)/c`, which is known at start only"),
        ("subPath: ../../etc", "`../../etc` Kubernetes refuses"),
        ("subPath: /etc", "`/etc` Kubernetes refuses"),
    ],
)
def test_a_part_of_a_volume_that_has_no_place(part: str, what: str) -> None:
    """What the cluster fills in or refuses leads to no folder of the host."""
    got = pod(
        "--model-path, /m/a, --lora-paths, x=/m/l",
        env="{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}",
        mounts=f"{{name: v, mountPath: /m, {part}}}",
    )
    told = [each for each in got.changes(ChangeKind.UNKNOWN) if what in each]
    assert len(told) == 2
    assert not any("/data" in each for each in got.changes(ChangeKind.ASSUMED))


def test_a_part_of_a_volume_by_a_variable() -> None:
    """A variable of the container, or one that is said, completes it."""
    mounts = '{name: v, mountPath: /m, subPathExpr: "$(P)/$(Q)"}'
    got = pod("--model-path, /m/a", env="{name: P, value: p}", mounts=mounts, Q="q")
    assert got.settings["model.path"] == "/data/p/q/a"


UNIT = f"""\
[Unit]
Description=Chat
[Service]
User=llm
Environment=CUDA_VISIBLE_DEVICES=2,3
ExecStart=/v/bin/{SERVER} --model-path /m/a --tp 2
"""


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


HOLDING = {
    "copy": "- hosts: all\n  tasks:\n    - name: unit\n      copy:\n"
    "        dest: /etc/systemd/system/chat.service\n        content: |\n" + indented(UNIT, 10),
    "ConfigMap": "apiVersion: v1\nkind: ConfigMap\ndata:\n  chat.service: |\n" + indented(UNIT, 4),
    "write_files": "write_files:\n  - path: /etc/systemd/system/chat.service\n    content: |\n"
    + indented(UNIT, 6),
    "here": "- hosts: all\n  tasks:\n    - shell: |\n"
    + indented(f"cat > /etc/systemd/system/chat.service <<'EOF'\n{UNIT}EOF\n", 8),
}


@pytest.mark.parametrize("way", HOLDING)
def test_a_unit_in_a_manifest(way: str) -> None:
    """It is read as the unit that it becomes, with its places in the manifest."""
    text = HOLDING[way]
    got = outcome(read_text(text, name="a.yml"), version=None)
    assert got.settings["description"] == "Chat"
    assert got.settings["gpus.indices"] == [2, 3]
    assert got.settings["targets.host.user"] == "llm"
    assert got.settings["targets.host.unit"] == "chat"
    assert "env.ExecStart" not in got.settings
    line = next(at for at, each in enumerate(text.split("\n"), start=1) if "ExecStart" in each)
    assert got.adopted is not None
    span = got.adopted.launch.command.words[0].span
    assert span is not None
    assert (span.file, span.line) == ("a.yml", line)


def test_a_command_as_a_list_of_a_task() -> None:
    """The task has its variables and its name."""
    text = f"""\
- hosts: all
  tasks:
    - name: start it
      environment: {{CUDA_VISIBLE_DEVICES: "2,3"}}
      ansible.builtin.command:
        argv: [{", ".join(SERVER.split())}, --model-path, /m/a, --tp, "2"]
        chdir: /opt
"""
    got = outcome(read_text(text, name="a.yml"), version=None)
    assert got.settings["parallel.tensor"] == 2
    assert got.settings["gpus.indices"] == [2, 3]
    assert got.settings["description"] == "start it, from a.yml"
    assert any("`chdir: /opt`" in each for each in got.changes(ChangeKind.DROPPED))
