"""What reaches a server in a container, and advice in the lines of what a launch stands in."""

from __future__ import annotations

import pytest

from compiler.adopt.fitting import fitted
from compiler.adopt.form import Form
from compiler.adopt.launch import Command
from compiler.adopt.reach import unreached
from compiler.diagnostics import Diagnostic, warning
from launching import SERVER, outcome, read_text


COMPOSE = """\
services:
  llm:
    image: lmsysorg/sglang:v0.5.11
    {more}
    command: {server} --model-path /m/a {flags}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec:
  {more}
  containers:
    - name: a
      image: lmsysorg/sglang:v0.5.11
      command: [python3, -m, sglang.launch_server, --model-path, /m/a, --host, "{host}"]
      readinessProbe: {{httpGet: {{path: /health, port: 30000}}}}
"""
OPEN = warning("bind-open", "open", None, notes=("whoever reaches the host",), help=("a", "b"))


def compose(flags: str, more: str) -> list[str]:
    """The codes of what does not reach the server of a compose file."""
    text = COMPOSE.format(server=SERVER, flags=flags, more=more)
    return _unreached(text, "compose.yml")


def _unreached(text: str, name: str) -> list[str]:
    adopted = outcome(read_text(text, name=name)).adopted
    assert adopted is not None
    return [each.code for each in unreached(adopted)]


@pytest.mark.parametrize(
    ("flags", "more", "is_found"),
    [
        ("", 'ports: ["8000:30000"]', True),
        ("--host 127.0.0.1", 'ports: ["127.0.0.1:8000:30000"]', True),
        ("--host 127.0.0.1", "ports: [{target: 30000, published: 8000}]", True),
        ("--host 0.0.0.0", 'ports: ["8000:30000"]', False),
        ("", "network_mode: host", False),
        ("", 'expose: ["30000"]', False),
        ("--host ${ADDRESS}", 'ports: ["8000:30000"]', False),
        ("${MORE}", 'ports: ["8000:30000"]', False),
    ],
)
def test_a_published_port_that_nobody_listens_on(flags: str, more: str, is_found: bool) -> None:  # noqa: FBT001 - a parameter of a case
    """A port that is published of a server that hears its own container alone is told; any other is not."""
    assert compose(flags, more) == (["container-loopback"] if is_found else [])


def test_a_probe_comes_from_outside_of_a_pod() -> None:
    """The loopback of a pod is its own, but for one with the network of its node."""
    told = [
        _unreached(POD.format(more=more, host=host), "pod.yaml")
        for more, host in (
            ("restartPolicy: Always", "127.0.0.1"),
            ("restartPolicy: Always", "0.0.0.0"),
            ("hostNetwork: true", "127.0.0.1"),
        )
    ]
    assert told == [["container-loopback"], [], []]


def _fitted(text: str, name: str) -> Diagnostic | None:
    launch = read_text(text, name=name).launch
    assert launch is not None
    return fitted(OPEN, launch.command, by_file=True)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ('ports: ["8000:30000"]', '`ports: ["127.0.0.1:8000:30000"]`'),
        ("ports: [{target: 30000, published: 8000}]", '`ports: ["127.0.0.1:8000:30000"]`'),
        ("network_mode: host", "`--host 127.0.0.1`"),
    ],
)
def test_an_open_server_of_compose_is_closed_where_it_is_published(more: str, line: str) -> None:
    """The advice is a line of the file, and leaves the server reachable from the host."""
    found = _fitted(COMPOSE.format(server=SERVER, flags="--host 0.0.0.0", more=more), "compose.yml")
    assert found is not None
    assert line in found.help[-1]
    assert "secrets.api_key" not in "".join(found.help)


@pytest.mark.parametrize("more", ['ports: ["127.0.0.1:8000:30000"]', 'expose: ["30000"]'])
def test_a_server_that_is_published_to_its_host_alone_is_not_open(more: str) -> None:
    """Who follows the advice is not told again."""
    text = COMPOSE.format(server=SERVER, flags="--host 0.0.0.0", more=more)
    assert _fitted(text, "compose.yml") is None


def test_an_open_pod_is_closed_by_a_policy() -> None:
    """In a cluster a key comes out of a Secret, and a policy says who reaches a pod."""
    for more, by in (("restartPolicy: Always", "NetworkPolicy"), ("hostNetwork: true", "firewall")):
        found = _fitted(POD.format(more=more, host="0.0.0.0"), "pod.yaml")
        assert found is not None
        assert "secretKeyRef" in found.help[0]
        assert by in found.help[1]


def test_ports_of_docker_run() -> None:
    """Each published port that is not the host's alone is in the advice."""
    text = f"docker run -p 8000:30000 -p 127.0.0.1:9:9 -p 7 sglang:v0.5.11 {SERVER} --model-path /m/a\n"
    found = _fitted(text, "up.sh")
    assert found is not None
    assert found.help[1].endswith("`-p 127.0.0.1:8000:30000`, `-p 127.0.0.1::7`")


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (Form.SHELL, "set `A=1`"),
        (Form.UNIT, "set `Environment=A=1`"),
        (Form.COMPOSE, 'set `A: "1"` under `environment:`'),
        (Form.DOCKER, "set `-e A=1`"),
        (Form.QUADLET, "set `Environment=A=1`"),
        (Form.POD, 'set `{name: A, value: "1"}` under `env:`'),
        (Form.IMAGE, "set `ENV A=1`"),
        (Form.SUPERVISOR, 'set `environment=A="1"`'),
        (Form.APPTAINER, "set `--env A=1`"),
    ],
)
def test_a_variable_is_a_line_of_the_file(form: Form, line: str) -> None:
    """Advice about a variable is written as the file writes variables."""
    found = warning("any", "`env.A` is bad", None, help=('set `env.A = "1"`', "leave `env.A` out"))
    told = fitted(found, Command(words=(), form=form), by_file=True)
    assert told is not None
    assert (told.summary, told.help) == ("`A` is bad", (line, "leave `A` out"))


def test_a_directory_of_a_container_is_mounted() -> None:
    """A path in a container is none of the host."""
    found = warning("any", "x", None, help=("set `--model-path` to directories on the host",))
    for form in (Form.SHELL, Form.DOCKER):
        told = fitted(found, Command(words=(), form=form), by_file=True)
        assert told is not None
        assert told.help[0].endswith("mounts") is form.is_container
