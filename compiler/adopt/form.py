"""What a launch stands in goes in; how a line of that is written comes out: a variable, a file with a key, shared memory, a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum


class Form(StrEnum):
    """What a launch stands in, by how its lines are written."""

    SHELL = "shell"
    UNIT = "unit"
    SUPERVISOR = "supervisor"
    DOCKER = "docker run"
    APPTAINER = "apptainer"
    COMPOSE = "compose"
    QUADLET = "quadlet"
    POD = "pod"
    IMAGE = "image"

    @property
    def is_container(self) -> bool:
        """Whether paths are those of a container."""
        return self not in {Form.SHELL, Form.UNIT, Form.SUPERVISOR}

    @property
    def has_own_network(self) -> bool:
        """Whether its addresses are not the host's, where nothing else is said."""
        return self.is_container and self is not Form.APPTAINER


_VARIABLES: Mapping[Form, str] = {
    Form.SHELL: "`{name}={value}`",
    Form.UNIT: "`Environment={name}={value}`",
    Form.SUPERVISOR: '`environment={name}="{value}"`',
    Form.DOCKER: "`-e {name}={value}`",
    Form.APPTAINER: "`--env {name}={value}`",
    Form.COMPOSE: '`{name}: "{value}"` under `environment:`',
    Form.QUADLET: "`Environment={name}={value}`",
    Form.POD: '`{{name: {name}, value: "{value}"}}` under `env:`',
    Form.IMAGE: "`ENV {name}={value}`",
}
_KEY_ON_HOST, _KEY_INSIDE = "/etc/llm/key.yaml", "/run/key.yaml"
_MOUNTED = f"{_KEY_ON_HOST}:{_KEY_INSIDE}:ro"
_KEYS: Mapping[Form, str] = {
    Form.DOCKER: f"`-v {_MOUNTED}`",
    Form.APPTAINER: f"`--bind {_MOUNTED}`",
    Form.COMPOSE: f'`volumes: ["{_MOUNTED}"]`',
    Form.QUADLET: f"`Volume={_MOUNTED}`",
    Form.IMAGE: f"`-v {_MOUNTED}` of `docker run`",
}
_MEMORY: Mapping[Form, str] = {
    Form.COMPOSE: "`shm_size: 16g`, or `ipc: host`",
    Form.QUADLET: "`ShmSize=16g`, or `PodmanArgs=--ipc=host`",
}
_SECRETS: Mapping[Form, str] = {
    Form.POD: "keep it in a Secret, and name that by `secretKeyRef` under `env:`",
    Form.COMPOSE: "write `${NAME}` for it, and its value into `.env` beside the compose file, which only you read",
    Form.DOCKER: "keep it in a file that only you read, and give that by `--env-file FILE`",
    Form.QUADLET: "keep it in a file that only the service's user reads, and name that by `EnvironmentFile=`",
    Form.UNIT: "keep it in a file that only the service's user reads, and name that by `EnvironmentFile=`",
    Form.IMAGE: "leave it out of the image, and give it where that is started: `--env-file FILE` of `docker run`",
}
_PORTS: Mapping[Form, str] = {
    Form.QUADLET: "`PublishPort={port}`",
    Form.IMAGE: "`-p {port}` of `docker run`",
}


def variable_line(form: Form, name: str, value: str) -> str:
    """A variable of the server's, as a line of it."""
    return _VARIABLES[form].format(name=name, value=value)


def key_advice(form: Form, *, by_file: bool, flag: str = "--api-key") -> str:
    """How the server is given a key, or what another `flag` gives, that nobody reads who should not.

    `by_file`: its release reads one from a file.
    """
    name = flag.removeprefix("--")
    if form is Form.POD:
        variable = name.upper().replace("-", "_")
        return f"give it a key out of a Secret: `{flag} $({variable})`, and `{variable}` by `secretKeyRef` under `env:`"
    if not by_file:
        return f"give it `{flag}`, or put something that asks in front of it"
    if form in _KEYS:
        return f"put `{name}: ...` into a file that others cannot read, mount it by {_KEYS[form]}, and give it by `--config {_KEY_INSIDE}`"
    return f"put `{name}: ...` into a YAML file on the host that only the server's user reads, and give it by `--config FILE`"


def variable_secret_advice(form: Form) -> str:
    """Where a secret that a variable holds goes instead."""
    return _SECRETS.get(
        form, "set the variable on the host, in a file that only the service's user reads"
    )


def memory_advice(form: Form) -> str:
    """How a container gets enough of shared memory."""
    how = _MEMORY.get(form, "`--shm-size 16g`, or `--ipc host`")
    return f"give it a size of its own, for instance 16 GiB, or the host's: {how}"


def port_lines(form: Form, ports: Sequence[str]) -> str:
    """Published ports."""
    if form is Form.COMPOSE:
        shown = ", ".join(f'"{each}"' for each in ports)
        return f"`ports: [{shown}]`"
    return ", ".join(_PORTS.get(form, "`-p {port}`").format(port=each) for each in ports)
